"""`fleet run --engine slurm` and the hooks for Slurm, on a real cluster of eight nodes on loopback."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fleet_nodes import doctor, sick, well
from loopback_slurm import Cluster, cluster, why_not

from rocm_doctor.fleet.files import text

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(why_not()), reason=why_not())]
PACKAGE = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    root = tmp_path_factory.mktemp("slurm")
    for n in range(1, 9):
        well(root, f"n{n}")
    hook = root / "rocm-doctor.sh"
    hook.write_text(
        f"#!/bin/sh\n[ -e {root}/hook ] || exit 0\nexport ROCM_DOCTOR={doctor(root)} SLURM_CONF={root}/slurm.conf\n"
        + text("slurm.sh")
    )
    hook.chmod(0o755)
    with cluster(root, hook, interval=0) as made:
        yield made


def fleet(slurm: Cluster, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "rocm_doctor", "fleet", *words]
    env = {**slurm.env, "PYTHONPATH": str(PACKAGE), **more}
    return subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60, check=False)


def collect(slurm: Cluster, *words: str) -> list[dict[str, object]]:
    ran = fleet(slurm, "run", "--engine", "slurm", "--doctor", str(slurm.root / "doctor"), *words, "--", "check", "--no-smoke")
    assert ran.returncode == 0, ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()]


def hook(slurm: Cluster, node: str) -> int:
    """The exit code of the health check, run as slurmd runs it on a node."""
    env = {**slurm.env, "SLURMD_NODENAME": node}
    return subprocess.run([str(slurm.root / "rocm-doctor.sh")], env=env, timeout=30, check=False).returncode


def test_sick_nodes_are_found_drained_and_returned(slurm: Cluster) -> None:
    slurm.wait({f"n{n}": "idle" for n in range(1, 9)})
    for name in ("n3", "n6", "n8"):
        sick(slurm.root, name)
    lines = slurm.root / "lines.jsonl"
    lines.write_text("\n".join(map(json.dumps, collect(slurm))))
    judged = fleet(slurm, "judge", str(lines), "--format", "nodeset")
    assert (judged.returncode, judged.stdout) == (1, "n[3,6,8]\n")
    assert {state.partition("|")[0] for state in slurm.states().values()} == {"idle"}

    # Tonight's job: its prolog drains the two. n8 has no GPU in Slurm's configuration and is left alone.
    (slurm.root / "hook").touch()
    for name in ("n3", "n6", "n8"):
        slurm.run("sbatch", f"--nodelist={name}", f"--output={slurm.root}/{name}-job.log", "--wrap=hostname")
    states = slurm.wait({"n3": "drain", "n6": "drain"}, 60)
    assert "rocm-doctor: /dev/kfd exists, but no render node" in states["n3"]
    slurm.run("scancel", "--user=root", "--state=PENDING")
    slurm.wait({"n3": "drained", "n6": "drained", **{f"n{n}": "idle" for n in (1, 2, 4, 5, 7, 8)}}, 60)
    answers = {str(line["host"]): line for line in collect(slurm)}
    assert {name for name, line in answers.items() if "error" in line} == {"n3", "n6"}
    assert str(answers["n6"]["error"]).startswith("drained: rocm-doctor: /dev/kfd")

    for name in ("n3", "n6"):
        well(slurm.root, name)
        assert hook(slurm, name) == 0
    slurm.wait({f"n{n}": "idle" for n in range(1, 9)})


def test_a_drain_by_somebody_else_stays(slurm: Cluster) -> None:
    (slurm.root / "hook").touch()
    slurm.run("scontrol", "update", "NodeName=n2", "State=DRAIN", "Reason=disk replaced on Monday")
    assert hook(slurm, "n2") == 0
    sick(slurm.root, "n2")
    assert hook(slurm, "n2") == 1
    assert slurm.wait({"n2": "drained"})["n2"] == "drained|disk replaced on Monday"
    well(slurm.root, "n2")
    slurm.run("scontrol", "update", "NodeName=n2", "State=RESUME")


def test_a_doctor_that_fails_drains_nothing(slurm: Cluster) -> None:
    (slurm.root / "hook").touch()
    for fault in ("sys.exit(4)", "import time; time.sleep(60)"):
        (slurm.root / "fails").write_text(f"#!{sys.executable}\nimport sys\n{fault}\n")
        (slurm.root / "fails").chmod(0o755)
        copy = slurm.root / "copy.sh"
        copy.write_text(text("slurm.sh"))
        env = {**slurm.env, "SLURMD_NODENAME": "n5", "ROCM_DOCTOR": str(slurm.root / "fails"), "ROCM_DOCTOR_LIMIT": "1"}
        assert subprocess.run(["sh", str(copy)], env=env, timeout=30, check=False).returncode == 0
    assert slurm.states()["n5"].startswith("idle")


def test_an_interrupt_cancels_the_job(slurm: Cluster) -> None:
    (slurm.root / "hook").unlink(missing_ok=True)
    (slurm.root / "n4.fault").write_text("import time; time.sleep(50)")
    argv = [sys.executable, "-m", "rocm_doctor", "fleet", "run", "--engine", "slurm", "--nodes", "n[1-2,4]"]
    argv += ["--doctor", str(slurm.root / "doctor"), "--", "check", "--no-smoke"]
    with subprocess.Popen(
        argv, env={**slurm.env, "PYTHONPATH": str(PACKAGE)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert child.stdout
        lines = [json.loads(child.stdout.readline()) for _ in range(2)]
        child.send_signal(signal.SIGINT)
        lines += map(json.loads, child.stdout.read().splitlines())
        assert child.wait(30) == 130
    (slurm.root / "n4.fault").unlink()
    assert {line["host"]: line.get("error", "") for line in lines} == {"n1": "", "n2": "", "n4": "interrupted"}
    until = time.monotonic() + 15
    while slurm.run("squeue", "--noheader").stdout.strip():
        assert time.monotonic() < until
        time.sleep(0.2)
