"""`fleet run` with bad nodes; what is asked again, and exit codes."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fleet_nodes import nodes

from rocm_doctor.fleet.engines import EngineError, RunRequest, plan
from rocm_doctor.fleet.node import COMMANDS, first_lines

PACKAGE = Path(__file__).parents[1]
linux = pytest.mark.skipif(sys.platform != "linux", reason="sysfs, shell scripts")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return nodes(tmp_path_factory.mktemp("nodes"), 6)


@pytest.fixture
def faults(root: Path) -> Iterator[dict[str, str]]:
    """What the doctor does on some nodes; written by `fleet`, removed after the test."""
    yield {}
    for one in root.glob("*.fault"):
        one.unlink()


def fleet(root: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "rocm_doctor", "fleet", *words]
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE), **env}
    return subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=100, check=False)


def lines(ran: subprocess.CompletedProcess[str]) -> dict[str, dict[str, Any]]:
    return {line["host"]: line for line in map(json.loads, ran.stdout.splitlines())}


def run(root: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    return fleet(root, "run", "--doctor", str(root / "doctor"), *words, "--", "check", "--no-smoke", **env)


@linux
@pytest.mark.torch
def test_bad_nodes_are_named_and_the_rest_is_judged(root: Path, faults: dict[str, str], tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    faults |= {
        "n3": "words[words.index('--limit') + 1] = '1'; words[words.index('check'):] = ['smoke', '--device', 'cpu', '--python', sys.executable]",
        "n4": "print('x' * 9_000_000); sys.exit(0)",
        "n5": 'print(\'{"host": "n5", "snap\'); sys.exit(0)',
        "n6": "sys.stderr.write('kernel panic\\\\n'); os.abort()",
    }
    for name, fault in faults.items():
        (root / f"{name}.fault").write_text(fault)
    ran = run(root, "--nodes", "n[1-6]", "--limit", "40")
    assert ran.returncode == 3, ran.stderr
    said = {host: line.get("error", "") for host, line in lines(ran).items()}
    assert said["n1"] == said["n2"] == ""
    assert said["n3"] == "timed out after 1 s"
    assert said["n4"].startswith("ended without") or said["n4"].startswith("x")
    assert said["n5"] == "only a part of its report came"
    assert said["n6"].startswith("kernel panic")
    (tmp_path / "lines.jsonl").write_text(ran.stdout)
    judged = fleet(root, "judge", str(tmp_path / "lines.jsonl"), "--format", "json")
    summary = json.loads(judged.stdout)
    assert (judged.returncode, summary["nodes"], [one["count"] for one in summary["groups"] if one["state"] == "silent"]) == (
        1,
        2,
        [1, 1, 1, 1],
    )


@linux
def test_an_interrupt_keeps_what_came(root: Path, faults: dict[str, str], tmp_path: Path) -> None:
    (root / "n3.fault").write_text("import time; print('started', flush=True); time.sleep(60)")
    out = tmp_path / "lines.jsonl"
    argv = [
        sys.executable,
        "-m",
        "rocm_doctor",
        "fleet",
        "run",
        "--doctor",
        str(root / "doctor"),
        "--nodes",
        "n[1,3]",
        "-o",
        str(out),
    ]
    argv += ["--", "check", "--no-smoke"]
    with subprocess.Popen(argv, env={**os.environ, "PYTHONPATH": str(PACKAGE)}, stderr=subprocess.PIPE, text=True) as child:
        assert child.stderr
        assert child.stderr.readline() == "1/2 n1: reported\n"
        child.send_signal(signal.SIGINT)
        assert child.wait(20) == 130
    kept = {line["host"]: line.get("error", "") for line in map(json.loads, out.read_text().splitlines())}
    assert kept == {"n1": "", "n3": "interrupted"}


@pytest.mark.slow
@linux
def test_the_name_of_the_engine_counts(root: Path) -> None:
    ran = fleet(root, "node", "--as", "rack1-n7", "--", "check", "--no-smoke")
    assert json.loads(ran.stdout)["host"] == "rack1-n7"
    for words in (("--as", "$(id)", "--", "check"), ("--", "fix")):
        assert fleet(root, "node", *words).returncode == 2
    assert fleet(root, "run", "--", "lint").returncode == 2
    assert fleet(root, "run", "--engine", "ssh", "--", "check").returncode == 2


def test_commands_of_a_node_take_their_options() -> None:
    for name, options in COMMANDS.items():
        command = importlib.import_module(f"rocm_doctor.cli.{name}").command
        known = {option for param in command.params for option in param.opts}
        assert {option for option in options if option.startswith("-")} <= known, name


def test_a_host_name_is_not_an_option() -> None:
    for engine in ("ssh", "mpi"):
        with pytest.raises(EngineError, match="needs --nodes"):
            plan(engine, RunRequest([], ["check"], 60))
    _, launch = plan("ssh", RunRequest(["n1", "n2"], ["check", "--log", "a b; rm -rf x"], 60)).launches
    assert launch.argv[-2] == "n2"
    assert launch.argv[-1].endswith("-- check --log 'a b; rm -rf x'")
    one, two = plan("mpi", RunRequest(["n1", "127.0.0.1"], ["check"], 60, extra=["--allow-run-as-root"])).launches
    assert [list(each.argv[:5]) for each in (one, two)] == [
        ["mpirun", "--host", host, "-np", "1"] for host in ("n1", "127.0.0.1")
    ]
    assert "--as 127.0.0.1" in " ".join(two.argv)


@linux
def test_a_run_without_a_report_is_no_success(root: Path, tmp_path: Path) -> None:
    """The exit code tells, and the line says why."""
    out = tmp_path / "night.jsonl"
    ran = fleet(root, "run", "--doctor", "/nowhere/rocm-doctor", "--nodes", "n1", "-o", str(out), "--", "check")
    assert ran.returncode == 3, ran.stderr
    assert json.loads(out.read_text())["host"] == "n1"
    (tmp_path / "empty").touch()
    for fail_on, code in ((), 3), (("--fail-on", "never"), 3):
        assert fleet(root, "judge", str(tmp_path / "empty"), *fail_on).returncode == code


@linux
def test_a_full_disk_is_named(root: Path) -> None:
    ran = fleet(root, "run", "--doctor", "/nowhere/rocm-doctor", "--nodes", "n1", "-o", "/dev/full", "--", "check")
    assert (ran.returncode, ran.stderr.splitlines()[-1]) == (2, "Error: /dev/full: No space left on device")


def script(path: Path, body: str) -> Path:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


@linux
def test_a_run_goes_on_where_it_ended(tmp_path: Path) -> None:
    """Only nodes without a report are asked again, and judge takes what each said last."""
    doctor = script(
        tmp_path / "doctor",
        f"""echo $4 >> {tmp_path}/asked
[ -e {tmp_path}/up ] || [ $4 != n2 ] || {{ echo 'no route' >&2; exit 5; }}
echo '{{"kind":"bench","schema_version":1,"figures":[{{"name":"x","value":1}}],"host":"'$4'"}}' """
        "",
    )
    out = tmp_path / "night.jsonl"
    words = ("run", "--doctor", str(doctor), "--nodes", "n[1-3]", "-o", str(out), "--resume", "--", "bench")
    assert fleet(tmp_path, *words).returncode == 3
    kept = {line["host"]: line.get("error", "") for line in map(json.loads, out.read_text().splitlines())}
    assert kept == {"n1": "", "n2": "no route", "n3": ""}
    (tmp_path / "up").touch()
    (tmp_path / "asked").unlink()
    ran = fleet(tmp_path, *words)
    assert (ran.returncode, ran.stderr) == (0, "1/1 n2: reported\n")
    assert (tmp_path / "asked").read_text() == "n2\n"
    judged = fleet(tmp_path, "judge", str(out), "--format", "pass")
    assert (judged.returncode, judged.stdout.split()) == (0, ["n1", "n2", "n3"])
    assert fleet(tmp_path, *words).returncode == 0  # nobody is left to ask


@linux
def test_a_report_that_was_cut_is_asked_for_again(root: Path, faults: dict[str, str]) -> None:
    """srun drops output where other tasks of its job fail."""
    once = f'Path({str(root)!r}, \'n1.fault\').unlink(); print(\'{{"host": "n1", "snap\'); sys.exit(0)'
    (root / "n1.fault").write_text(once)
    ran = run(root, "--nodes", "n1")
    assert (ran.returncode, lines(ran)["n1"]["verdict"]) == (0, "ready")


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("-----\nmpirun was unable to find the executable.\n\nNode:  vm\nExecutable: x\n-----\n", "mpirun was unable to find the executable."),
        ("slurmstepd: error: execve(): rocm-doctor: No such file or directory\n\nsrun: error: n3: task 0: Exited with exit code 2\n",
         "slurmstepd: error: execve(): rocm-doctor: No such file or directory"),
        ("srun: error: n4: task 0: Exited\nTraceback (most recent call last):\n  File x\nImportError: no module\n", "ImportError: no module"),
        ("---\n***\n", ""),
    ],
)  # fmt: skip
def test_a_reason_is_the_first_thing_that_was_said(said: str, why: str) -> None:
    assert first_lines(said) == why
