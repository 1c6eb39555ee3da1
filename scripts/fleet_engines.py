"""`fleet run` on real engines, all on loopback: Slurm of twelve nodes, OpenSSH under 200 names, Open MPI, Ray, and a thousand nodes.

python scripts/fleet_engines.py [slurm] [ssh] [mpi] [ray] [thousand]

Prints a row for each case: what came, the exit code, and the seconds. As root; Debian: slurmctld slurmd slurm-client munge openssh-server
openmpi-bin; `pip install ray`. The nodes are made up (tests/fleet_nodes.py); what is real is the engine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import bench_fleet

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from fleet_nodes import doctor, sick, well  # noqa: E402
from loopback_slurm import Cluster, cluster  # noqa: E402
from loopback_sshd import aliases  # noqa: E402

TWO = "PartitionName=a Nodes=n[1-6] Default=YES MaxTime=10 State=UP\nPartitionName=b Nodes=n[7-12] MaxTime=10 State=UP"
NODES = [f"n{n}" for n in range(1, 13)]


def run(case: str, *words: str, env: Mapping[str, str] | None = None, during: Callable[[], object] | None = None) -> None:
    """Run `rocm-doctor fleet` and print its row. `during` is called after two seconds."""
    argv = [sys.executable, "-m", "rocm_doctor", "fleet", "run", *words]
    argv += [] if "--" in words else ["--", "check", "--no-smoke"]
    began = time.monotonic()
    with subprocess.Popen(
        argv,
        env={**os.environ, "PYTHONPATH": str(ROOT), **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        if during:
            time.sleep(2)
            during()
        out, err = child.communicate(timeout=400)
    lines = [json.loads(line) for line in out.splitlines()]
    whys = Counter(f"{line['error'][:90]}" for line in lines if "error" in line)
    said = "; ".join(f"{count} × {why}" for why, count in whys.most_common(4)) or ("" if lines else err.strip().splitlines()[-1])
    came = sum("error" not in line for line in lines)
    print(f"| {case} | {came} of {len(lines)} | {child.returncode} | {time.monotonic() - began:.1f} | {said} |", flush=True)


def slurm() -> None:
    """Slurm idle, busy, with a reservation, drained, hung, cancelled."""
    with tempfile.TemporaryDirectory(prefix="fleet-") as folder:
        root = Path(folder)
        for name in NODES:
            well(root, name)
        sick(root, "n3")
        doctor(root)
        (root / "hook").write_text("#!/bin/sh\nexit 0\n")
        (root / "hook").chmod(0o755)
        with cluster(root, root / "hook", 0, 12, TWO) as made:
            made.wait(dict.fromkeys(NODES, "idle"))
            _slurm_cases(made)


def _slurm_cases(made: Cluster) -> None:
    words = ("--engine", "slurm", "--doctor", str(made.root / "doctor"))
    run("Slurm, idle, two partitions", *words, env=made.env)
    run("Slurm, `--nodes n[5-8]` of both partitions", *words, "--nodes", "n[5-8]", env=made.env)
    made.run("sbatch", "--nodelist=n1", "--ntasks=2", "--output=/dev/null", "--wrap=sleep 200")
    made.run("sbatch", "--nodes=6", "--ntasks=12", "--time=1", "--output=/dev/null", "--wrap=sleep 1")
    made.wait({"n1": "allocated"})
    run("Slurm, n1 busy, a larger job waits", *words, "--limit", "5", env=made.env)
    made.run("scancel", "--user=root")
    made.wait(dict.fromkeys(NODES, "idle"), 60)
    made.run(
        "scontrol",
        "create",
        "reservation",
        "reservationname=m1",
        "starttime=now",
        "duration=10",
        "users=root",
        "nodes=n2",
        "flags=maint",
    )
    made.wait({"n2": "maint"}, 60)
    run("Slurm, n2 under maintenance", *words, "--nodes", "n2", "--engine-arg=--reservation=m1", env=made.env)
    run("Slurm, n2 under maintenance, without its reservation", *words, "--nodes", "n2", env=made.env)
    made.run("scontrol", "delete", "reservation=m1")
    made.run("scontrol", "update", "NodeName=n4", "State=DRAIN", "Reason=disk")
    run("Slurm, n4 drained", *words, env=made.env)
    made.run("scontrol", "update", "NodeName=n4", "State=RESUME")
    (made.root / "n6.fault").write_text("import time; time.sleep(300)")
    run("Slurm, n6 hangs, limit 5", *words, "--limit", "5", env=made.env)
    run("Slurm, scancel", *words, "--nodes", "n[5-6]", env=made.env, during=lambda: made.run("scancel", "--user=root"))


def ssh() -> None:
    """OpenSSH: 180 names that answer, 20 that hang, and those that fail in other ways."""
    with tempfile.TemporaryDirectory(prefix="fleet-") as folder, aliases(Path(folder)) as config:
        program = reports(Path(folder))
        names = ",".join([*(f"a{n}" for n in range(1, 181)), *(f"silent{n}" for n in range(20))])
        words = ("--engine", "ssh", f"--engine-arg=-o-F {config}", "--doctor", str(program), "--limit", "20")
        run("ssh, 200 names, 20 hang, limit 20", *words, "--nodes", names, "--", "bench")
        run("ssh, down, no such host, a password, hangs", *words, "--nodes", "a1,down,nowhere,password,silent1", "--", "bench")


def reports(folder: Path) -> Path:
    """A program that prints a report at once, whichever node it is."""
    made = folder / "doctor"
    report = '{"kind":"bench","schema_version":1,"figures":[{"name":"x","value":1}],"host":"me"}'
    made.write_text(f"#!/bin/sh\necho '{report}'\n")
    made.chmod(0o755)
    return made


def mpi() -> None:
    """Open MPI by an address, a name, and one that does not exist."""
    with tempfile.TemporaryDirectory(prefix="fleet-") as folder:
        words = ("--engine", "mpi", "--engine-arg=--allow-run-as-root", "--engine-arg=--oversubscribe")
        program = str(reports(Path(folder)))
        hosts = "127.0.0.1,127.0.0.2,localhost,nowhere.invalid"
        run("Open MPI, addresses, a name, no such host", *words, "--doctor", program, "--nodes", hosts, "--", "bench")
        run("Open MPI, no such program", *words, "--doctor", "/nowhere/rocm-doctor", "--nodes", "localhost", "--", "bench")


def ray() -> None:
    """Ray with three raylets, and a head that is gone."""
    with tempfile.TemporaryDirectory(prefix="fleet-") as folder, _raylets() as address:
        words = ("--engine", "ray", "--doctor", str(reports(Path(folder))), "--", "bench")
        run("Ray, three raylets", *words, env={"RAY_ADDRESS": address})
        run("Ray, the head is gone", *words, env={"RAY_ADDRESS": "127.0.0.1:9"})


@contextmanager
def _raylets() -> Iterator[str]:
    import ray.cluster_utils

    made: Any = ray.cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        for _ in range(2):
            made.add_node(num_cpus=1)
        yield str(made.address)
    finally:
        made.shutdown()


def thousand() -> None:
    """A thousand nodes through the fan-out: 20 fail at first, are asked again, and all are judged."""
    with tempfile.TemporaryDirectory(prefix="fleet-") as folder:
        root, machine = Path(folder), bench_fleet._machine()
        for n in range(1000):
            (root / f"n{n}").write_text(json.dumps({**bench_fleet.report(n, 1000, machine), "host": f"n{n}"}) + "\n")
        program = root / "doctor"
        program.write_text(
            f'#!/bin/sh\n[ -e {root}/up ] || case $4 in *00|*50) echo "no route" >&2; exit 5 ;; esac\nexec cat {root}/$4\n'
        )
        program.chmod(0o755)
        words = ("--doctor", str(program), "--nodes", "n[0-999]", "-o", str(root / "night.jsonl"), "--resume")
        for _ in range(2):
            began = time.monotonic()
            argv = [sys.executable, "-m", "rocm_doctor", "fleet", "run", *words, "--", "check"]
            done = subprocess.run(argv, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)})
            said = done.stderr.splitlines()[-1]
            print(f"| 1,000 nodes, fan-out 64 | {said} | {done.returncode} | {time.monotonic() - began:.1f} | |", flush=True)
            (root / "up").touch()
        began = time.monotonic()
        argv = [sys.executable, "-m", "rocm_doctor", "fleet", "judge", str(root / "night.jsonl")]
        done = subprocess.run(argv, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)})
        said = done.stdout.splitlines()[-1]
        print(f"| judge these | {said} | {done.returncode} | {time.monotonic() - began:.1f} | |", flush=True)


if __name__ == "__main__":
    print("| Case | Reports | Exit code | Seconds | Why not |\n|---|---|--:|--:|---|")
    cases = {"slurm": slurm, "ssh": ssh, "mpi": mpi, "ray": ray, "thousand": thousand}
    for name in sys.argv[1:] or cases:
        cases[name]()
