"""Engines against the real thing on this machine: ssh to a server on loopback, Open MPI."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import many_nodes
import pytest
from called import called
from fleet_nodes import nodes, well
from loopback_sshd import aliases, why_not

PACKAGE = Path(__file__).parents[1]
pytestmark = pytest.mark.slow


def installed(name: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(importlib.util.find_spec(name) is None, reason=f"{name} is not installed")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return nodes(tmp_path_factory.mktemp("nodes"), 3)


def run(root: Path, *words: str, code: int = 0, **env: str) -> dict[str, dict[str, Any]]:
    argv = [
        sys.executable,
        "-m",
        "rocm_doctor",
        "fleet",
        "run",
        "--doctor",
        str(root / "doctor"),
        *words,
        "--",
        "check",
        "--no-smoke",
    ]
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE), **env}
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == code, done.stderr
    return {line["host"]: line for line in map(json.loads, done.stdout.splitlines())}


def _name(node: str) -> str:
    from socket import gethostname

    return f"{gethostname()}-{node[:8]}"


@pytest.fixture
def config(tmp_path: Path) -> Iterator[Path]:
    if reason := why_not():
        pytest.skip(reason)
    with aliases(tmp_path) as made:
        yield made


def test_ssh_to_a_server_on_loopback(root: Path, config: Path) -> None:
    """One machine under two names is two nodes; each that fails has its own reason."""
    for host in ("a1", "a2"):
        well(root, host)
    words = ("--engine", "ssh", "--nodes", "a[1-2],down,nowhere,silent,password", f"--engine-arg=-F{config}", "--limit", "20")
    found = {host: str(line.get("verdict", line.get("error"))) for host, line in run(root, *words, code=3).items()}
    assert found["a1"] == found["a2"] == "ready"
    assert found["down"] == "ssh: connect to host 127.0.0.1 port 9: Connection refused"
    assert found["nowhere"].startswith("ssh: Could not resolve hostname")
    assert "Permission denied" in found["password"]
    assert "timed out" in found["silent"]


def test_ssh_names_a_missing_program(config: Path) -> None:
    words = ("--engine", "ssh", "--nodes", "a1", f"--engine-arg=-F{config}", "--doctor", "/nowhere/rocm-doctor")
    assert "/nowhere/rocm-doctor" in run(Path("/"), *words, code=3)["a1"]["error"]


def test_hosts_that_hang_hold_up_no_other(config: Path, tmp_path: Path) -> None:
    doctor = tmp_path / "doctor"
    doctor.write_text(
        """#!/bin/sh\necho '{"kind":"bench","schema_version":1,"figures":[{"name":"x","value":1}],"host":"me"}'\n"""
    )
    doctor.chmod(0o755)
    names = ",".join([*(f"a{n}" for n in range(1, 181)), *(f"silent{n}" for n in range(20))])
    words = ("--engine", "ssh", "--nodes", names, f"--engine-arg=-F{config}", "--limit", "20", "--doctor", str(doctor))
    found = run(Path("/"), *words, code=3)
    assert sum("error" not in line for line in found.values()) == 180
    assert {found[f"silent{n}"]["error"] for n in range(20)} == {"Connection timed out during banner exchange"}


def test_a_thousand_nodes_are_asked_asked_again_and_judged(tmp_path: Path) -> None:
    machine = many_nodes._machine()
    for n in range(1000):
        (tmp_path / f"n{n}").write_text(json.dumps({**many_nodes.report(n, 1000, machine), "host": f"n{n}"}) + "\n")
    doctor = tmp_path / "doctor"
    doctor.write_text(
        f"#!/bin/sh\n[ -e {tmp_path}/up ] || case $4 in *00|*50) echo 'no route' >&2; exit 5 ;; esac\nexec cat {tmp_path}/$4\n"
    )
    doctor.chmod(0o755)
    night = tmp_path / "night.jsonl"
    words = ("--doctor", str(doctor), "--nodes", "n[0-999]", "-o", str(night), "--resume", "--", "check")
    for code, came in ((3, 981), (0, 1000)):
        assert called("fleet", "run", *words).returncode == code
        assert night.read_text().count('"verdict"') == came
        (tmp_path / "up").touch()
    judged = called("fleet", "judge", str(night))
    assert (judged.returncode, judged.stdout.splitlines()[-1]) == (1, "1000 nodes: 25 with problems, 975 ready")


def test_open_mpi_by_addresses_and_names(root: Path) -> None:
    """What a node calls itself does not matter, and a host that cannot be resolved concerns no other."""
    if not shutil.which("mpirun"):
        pytest.skip("openmpi-bin is not installed")
    hosts = {"127.0.0.1": "ready", "localhost": "ready", "nowhere.invalid": ""}
    for host in hosts:
        well(root, host)
    extra = ["--engine-arg=--allow-run-as-root", "--engine-arg=--oversubscribe"]
    found = run(root, "--engine", "mpi", "--nodes", ",".join(hosts), *extra, code=3)
    assert {name: line.get("verdict", "") for name, line in found.items()} == hosts
    assert found["nowhere.invalid"]["error"]
    missing = run(root, "--engine", "mpi", "--nodes", "localhost", *extra, "--doctor", "/nowhere/rocm-doctor", code=3)
    assert "executable" in missing["localhost"]["error"]
