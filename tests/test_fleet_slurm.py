"""`fleet run --engine slurm` and the hooks for Slurm, on a real cluster of twelve nodes and two partitions on loopback."""

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
TWO = "PartitionName=a Nodes=n[1-6] Default=YES MaxTime=10 State=UP\nPartitionName=b Nodes=n[7-12] MaxTime=10 State=UP"
EVERY = {f"n{n}" for n in range(1, 13)}
PACKAGE = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    root = tmp_path_factory.mktemp("slurm")
    for n in range(1, 13):
        well(root, f"n{n}")
    hook = root / "rocm-doctor.sh"
    hook.write_text(
        f"#!/bin/sh\n[ -e {root}/hook ] || exit 0\nexport ROCM_DOCTOR={doctor(root)} SLURM_CONF={root}/slurm.conf\n"
        + text("slurm.sh")
    )
    hook.chmod(0o755)
    with cluster(root, hook, interval=0, count=12, partitions=TWO) as made:
        yield made


def fleet(slurm: Cluster, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "rocm_doctor", "fleet", *words]
    env = {**slurm.env, "PYTHONPATH": str(PACKAGE), **more}
    return subprocess.run(argv, env=env, capture_output=True, text=True, timeout=100, check=False)


def collect(slurm: Cluster, *words: str) -> list[dict[str, object]]:
    ran = fleet(slurm, "run", "--engine", "slurm", "--doctor", str(slurm.root / "doctor"), *words, "--", "check", "--no-smoke")
    found = [json.loads(line) for line in ran.stdout.splitlines()]
    assert ran.returncode == (3 if any("error" in line for line in found) else 0), ran.stderr
    return found


def errors(slurm: Cluster, *words: str) -> dict[str, str]:
    """Why each node did not report; empty for one that did."""
    return {str(line["host"]): str(line.get("error", "")) for line in collect(slurm, *words)}


def hook(slurm: Cluster, node: str) -> int:
    """The exit code of the health check, run as slurmd runs it on a node."""
    env = {**slurm.env, "SLURMD_NODENAME": node}
    return subprocess.run([str(slurm.root / "rocm-doctor.sh")], env=env, timeout=30, check=False).returncode


def test_sick_nodes_are_found_drained_and_returned(slurm: Cluster) -> None:
    slurm.wait(dict.fromkeys(EVERY, "idle"))
    for name in ("n3", "n6", "n12"):
        sick(slurm.root, name)
    lines = slurm.root / "lines.jsonl"
    lines.write_text("\n".join(map(json.dumps, collect(slurm))))
    judged = fleet(slurm, "judge", str(lines), "--format", "fail")
    assert (judged.returncode, [line.split("\t")[0] for line in judged.stdout.splitlines()]) == (1, ["n12", "n3", "n6"])
    assert {state.partition("|")[0] for state in slurm.states().values()} == {"idle"}

    # Tonight's job: its prolog drains the two. n12 has no GPU in Slurm's configuration and is left alone.
    (slurm.root / "hook").touch()
    for name in ("n3", "n6", "n12"):
        slurm.run(
            "sbatch",
            f"--partition={'b' if name == 'n12' else 'a'}",
            f"--nodelist={name}",
            f"--output={slurm.root}/{name}-job.log",
            "--wrap=hostname",
        )
    states = slurm.wait({"n3": "drain", "n6": "drain"}, 60)
    assert "rocm-doctor/health: amdgpu is loaded and has not claimed the GPU" in states["n3"]
    # The jobs wait; they are not held, so that they start when the nodes are back.
    slurm.wait({"n3": "drained", "n6": "drained", **dict.fromkeys(EVERY - {"n3", "n6"}, "idle")}, 60)
    assert "held" not in slurm.run("squeue", "--noheader", "--format=%r").stdout
    answers = {str(line["host"]): line for line in collect(slurm)}
    assert {name for name, line in answers.items() if "error" in line} == {"n3", "n6"}
    assert str(answers["n6"]["error"]).startswith("drained: rocm-doctor/health: amdgpu is loaded")

    for name in ("n3", "n6"):
        well(slurm.root, name)
        assert hook(slurm, name) == 0
    well(slurm.root, "n12")
    slurm.wait(dict.fromkeys(EVERY, "idle"), 60)
    slurm.run("scancel", "--user=root")


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


def test_a_busy_cluster_reports(slurm: Cluster) -> None:
    """A job holds n1, and a larger one waits for it and for n2 to n6: their nodes are planned, and a minute fits before it."""
    (slurm.root / "hook").unlink(missing_ok=True)
    slurm.wait(dict.fromkeys(EVERY, "idle"), 30)
    slurm.run("sbatch", "--nodelist=n1", "--ntasks=2", "--output=/dev/null", "--wrap=sleep 100")
    slurm.run("sbatch", "--nodes=6", "--ntasks=12", "--time=1", "--output=/dev/null", "--wrap=sleep 1")
    slurm.wait({"n1": "allocated"})
    try:
        said = errors(slurm, "--limit", "20", "--engine-arg=--immediate=15")
        assert said.keys() == EVERY
        assert "busy" in said.pop("n1")
        assert set(said.values()) == {""}
    finally:
        slurm.run("scancel", "--user=root")
        slurm.wait(dict.fromkeys(EVERY, "idle"), 30)


def test_nodes_of_two_partitions(slurm: Cluster) -> None:
    assert errors(slurm, "--nodes", "n[5-8]") == dict.fromkeys(("n5", "n6", "n7", "n8"), "")
    assert errors(slurm, "--partition", "b").keys() == {f"n{n}" for n in range(7, 13)}


def test_nodes_under_maintenance_are_what_it_is_for(slurm: Cluster) -> None:
    made = ("reservationname=m1", "starttime=now", "duration=10", "users=root", "nodes=n2", "flags=maint")
    slurm.run("scontrol", "create", "reservation", *made)
    try:
        slurm.wait({"n2": "maint"}, 40)
        assert errors(slurm, "--nodes", "n2", "--engine-arg=--reservation=m1") == {"n2": ""}
        assert "--reservation=NAME" in errors(slurm, "--nodes", "n2")["n2"]
    finally:
        slurm.run("scontrol", "delete", "reservation=m1")


def test_each_node_has_its_own_reason(slurm: Cluster) -> None:
    slurm.wait(dict.fromkeys(EVERY, "idle"), 60)
    faults = {
        "n2": "os.kill(os.getpid(), 9)",
        "n3": "sys.exit(7)",
        "n4": "os.execv('/nowhere', ['x'])",
    }
    for name, fault in faults.items():
        (slurm.root / f"{name}.fault").write_text(fault)
    slurm.run("scontrol", "update", "NodeName=n5", "State=DOWN", "Reason=fan")
    try:
        said = errors(slurm, "--nodes", "n[1-6]")
    finally:
        for name in faults:
            (slurm.root / f"{name}.fault").unlink()
        slurm.run("scontrol", "update", "NodeName=n5", "State=RESUME")
    assert "Killed" in said["n2"]
    assert said["n3"].endswith("exit code 7")
    assert "No such file or directory" in said["n4"]
    assert said["n5"] == "down: fan"
    assert said["n1"] == said["n6"] == ""


def test_a_cancelled_job_is_named(slurm: Cluster) -> None:
    (slurm.root / "n4.fault").write_text("import time; time.sleep(50)")
    argv = [sys.executable, "-m", "rocm_doctor", "fleet", "run", "--engine", "slurm", "--nodes", "n[3-4]"]
    argv += ["--doctor", str(slurm.root / "doctor"), "--", "check", "--no-smoke"]
    with subprocess.Popen(
        argv, env={**slurm.env, "PYTHONPATH": str(PACKAGE)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert child.stdout
        lines = [json.loads(child.stdout.readline())]
        slurm.run("scancel", "--user=root")
        lines += map(json.loads, child.stdout.read().splitlines())
        assert child.wait(30) == 3
    (slurm.root / "n4.fault").unlink()
    said = {line["host"]: line.get("error", "") for line in lines}
    assert said["n3"] == ""
    assert "CANCELLED" in said["n4"]
