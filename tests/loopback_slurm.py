"""A Slurm cluster on loopback: munged, slurmctld and a slurmd for each node name, all ended by their process ids."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from socket import gethostname, socket
from typing import NamedTuple

PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sinfo", "scontrol", "scancel")
CONF = """
ClusterName=loopback
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={root}/munge.socket
CredType=cred/munge
StateSaveLocation={root}/state
SlurmdSpoolDir={root}/spool-%n
SlurmctldPidFile={root}/slurmctld.pid
SlurmdPidFile={root}/slurmd-%n.pid
SlurmctldLogFile={root}/slurmctld.log
SlurmdLogFile={root}/slurmd-%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
ReturnToService=1
KillWait=1
UnkillableStepTimeout=10
MessageTimeout=10
GresTypes=gpu
SchedulerParameters=sched_interval=1,bf_interval=3,nohold_on_prolog_fail
Prolog={prolog}
HealthCheckProgram={prolog}
HealthCheckInterval={interval}
NodeName=n[1-{gpus}] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first}-{before_last}] CPUs=2 RealMemory=100 Gres=gpu:8
NodeName=n{count} NodeHostname={host} NodeAddr=127.0.0.1 Port={last} CPUs=2 RealMemory=100
{partitions}
"""

ONE = "PartitionName=all Nodes=ALL Default=YES MaxTime=10 State=UP"


class Cluster(NamedTuple):
    """A running cluster: the environment of its commands, and its folder."""

    env: dict[str, str]
    root: Path

    def run(self, *argv: str, limit: float = 30) -> subprocess.CompletedProcess[str]:
        """A command of Slurm."""
        return subprocess.run(argv, env=self.env, capture_output=True, text=True, timeout=limit, check=False)

    def states(self) -> dict[str, str]:
        """State and reason of each node."""
        rows = self.run("sinfo", "--noheader", "--Node", "--format=%N|%T|%E").stdout.splitlines()
        return {row.split("|")[0]: row.split("|", 1)[1] for row in rows if "|" in row}

    def wait(self, wanted: dict[str, str], limit: float = 20) -> dict[str, str]:
        """The states, as soon as the state of each wanted node begins as wanted. Fails after `limit` seconds."""
        until = time.monotonic() + limit
        while not all(self.states().get(name, "").startswith(state) for name, state in wanted.items()):
            assert time.monotonic() < until, self.states()
            time.sleep(0.2)
        return self.states()


def why_not() -> str:
    """Why no cluster can be started here; empty if one can."""
    missing = [program for program in PROGRAMS if not shutil.which(program, path=_path())]
    return f"not installed: {', '.join(missing)}" if missing else "" if os.geteuid() == 0 else "slurmd needs root"


def _path() -> str:
    return os.environ["PATH"] + ":/usr/sbin:/usr/local/sbin"


@contextmanager
def cluster(root: Path, prolog: Path, interval: int, count: int = 8, partitions: str = ONE, **env: str) -> Iterator[Cluster]:
    """A cluster of the nodes n1 to n`count`, of which the last has no GPU, while the block runs. `prolog` is the health check, too."""
    ports = _free_ports(count + 1)
    (root / "state").mkdir()
    (root / "slurm.conf").write_text(
        CONF.format(
            host=gethostname(), root=root, prolog=prolog, interval=interval, port=ports[0], first=ports[1],
            before_last=ports[1] + count - 2, last=ports[1] + count - 1, gpus=count - 1, count=count, partitions=partitions,
        )
    )  # fmt: skip
    for number in range(8):
        (root / f"gpu{number}").touch()
    (root / "gres.conf").write_text(f"NodeName=n[1-{count - 1}] Name=gpu File={root}/gpu[0-7]\n")
    (root / "munge.key").write_bytes(os.urandom(1024))
    (root / "munge.key").chmod(0o600)
    environment = {**os.environ, "PATH": _path(), "SLURM_CONF": str(root / "slurm.conf"), **env}
    munge = [f"--key-file={root}/munge.key", f"--socket={root}/munge.socket", f"--pid-file={root}/munged.pid", "--num-threads=2"]
    munge += [f"--log-file={root}/munged.log", f"--seed-file={root}/munge.seed"]
    nodes = [["slurmd", "-D", "-N", f"n{n}"] for n in range(1, count + 1)]
    started: list[subprocess.Popen[bytes]] = []
    try:
        for argv in (["munged", "--foreground", "--force", *munge], ["slurmctld", "-D", "-i"], *nodes):
            with (root / "output.log").open("ab") as out:
                started.append(subprocess.Popen(argv, env=environment, stdout=out, stderr=out))
            if argv[0] == "munged":
                _appears(root / "munge.socket")
        made = Cluster(environment, root)
        made.wait({f"n{n}": "" for n in range(1, count + 1)})
        yield made
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            with suppress(subprocess.TimeoutExpired):
                process.wait(5)
            process.kill()
            process.wait()


def _appears(path: Path) -> None:
    until = time.monotonic() + 10
    while not path.exists():
        assert time.monotonic() < until, f"{path} does not appear"
        time.sleep(0.05)


def _free_ports(count: int) -> list[int]:
    """A free port, and the first of as many free ones in a row as nodes need."""
    for first in range(21000 + os.getpid() % 5000, 32000, count):
        held = []
        try:
            for port in range(first, first + count):
                one = socket()
                held.append(one)
                one.bind(("127.0.0.1", port))
        except OSError:
            continue
        finally:
            for one in held:
                one.close()
        return [first, first + 1]
    raise OSError("no free ports")
