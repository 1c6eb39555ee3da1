"""All ranks of a job at once: torchrun starts a rank for each GPU, and this module says in words what they found."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Union

import msgspec

from rocm_doctor.bounded import Unreadable, files, jsons
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.workers import START, process

STARTING = 120.0
"""Seconds for all ranks to import torch."""
ROUNDS = 60
"""Steps and rounds of a search, at most, in the time limit of the whole."""
ENDING = 10.0
"""Seconds for torchrun to end after rank 0 wrote the result; a rank that hangs keeps it longer."""
_FAILED = regex(r"rank\s*: (\d+) \(local_rank: \d+\)\s+exitcode\s*: (-?\d+)")
"""torchrun's summary of its own ranks. Only the root cause counts: it ends the others itself."""


class Rank(msgspec.Struct, frozen=True):
    """A rank, and where it ran."""

    rank: int
    host: str
    node: int


class Step(msgspec.Struct, frozen=True):
    """One step over all ranks."""

    step: str
    bytes: int
    seconds: float
    wrong: bool
    gb_per_s: Union[float, None] = None
    """Bytes that each rank sends at least, over the seconds of the slowest."""


class Culprit(msgspec.Struct, frozen=True):
    """A culprit: one list of ranks for a bad rank or node, two for a bad pair."""

    step: str
    symptom: str
    ranks: tuple[tuple[int, ...], ...]


class Across(msgspec.Struct, frozen=True):
    """`fleet across --format json`."""

    world: int
    ranks: tuple[Rank, ...] = ()
    steps: tuple[Step, ...] = ()
    found: tuple[Culprit, ...] = ()
    lost: tuple[int, ...] = ()
    """Ranks that died or gave no answer."""
    error: str = ""
    rounds: int = 0
    """Measurements that the searches took."""

    @property
    def sound(self) -> bool:
        """True if all steps ran, with right numbers, and nothing was slow."""
        return bool(self.steps) and not (self.found or self.lost or self.error or any(step.wrong for step in self.steps))


def argv(
    ranks: int, nodes: int, rendezvous: str, result: Path, python: str, limit: float, device: str, prelude: str | None
) -> list[str]:
    """torchrun's command on this node."""
    where = ["--rdzv-backend=c10d", f"--rdzv-endpoint={rendezvous}", f"--nnodes={nodes}"] if rendezvous else ["--standalone"]
    own = ["across", "--result", str(result), "--limit", f"{limit:g}", "--device", device]
    return [
        python, "-m", "torch.distributed.run", *where, f"--nproc-per-node={ranks}", str(Path(START) / "__main__.py"), *own,
        *(["--prelude", prelude] if prelude else []),
    ]  # fmt: skip


def run_ranks(
    ranks: int,
    *,
    nodes: int = 1,
    rendezvous: str = "",
    python: str | None = None,
    limit: float = 60.0,
    device: str = "auto",
    prelude: str | None = None,
) -> Across | None:
    """What the ranks found. None on a node without rank 0: the result is printed on rank 0's node."""
    with tempfile.TemporaryDirectory(prefix="rocm-doctor-") as folder:
        result = Path(folder) / "result.json"
        command = argv(ranks, nodes, rendezvous, result, python or sys.executable, limit, device, prelude)
        done = _wait_for_end(command, result, STARTING + limit * ROUNDS)
        failed = _failures(done.stderr)
        try:
            found = jsons.decode(files.read(result), Across)
        except (OSError, Unreadable):
            if done.state == "finished" and not done.returncode:
                return None
            return Across(ranks * nodes, lost=tuple(failed), error=_why(done, failed))
        return msgspec.structs.replace(found, lost=tuple(sorted({*found.lost, *failed})))


def _wait_for_end(command: Sequence[str], result: Path, limit: float) -> process.ChildResult:
    """Wait for torchrun to end; once the result is written, for ENDING seconds only."""
    child = process.start(process.ChildSpec(command, limit=limit, keep="tail"))
    until = float("inf")
    try:
        while process.pump([child], timeout=0.5) and time.monotonic() < until:
            until = min(until, time.monotonic() + ENDING) if result.exists() else until
    finally:
        process.stop(child, "finished")
    return process.make_result(child)


def _failures(said: str) -> dict[int, int]:
    """Rank and exit code of the first failure."""
    cause = said.partition("Root Cause")[2]
    return {int(rank): int(code) for rank, code in _FAILED.findall(cause)[:1]}


def _why(done: process.ChildResult, failed: Mapping[int, int]) -> str:
    if failed:
        return "; ".join(f"the job ended when rank {rank} {_describe_exit(code)}" for rank, code in failed.items())
    return (
        "no result in time"
        if done.state == "timeout"
        else "".join(done.stderr.strip().splitlines()[-1:])[:200] or f"exit code {done.returncode}"
    )


def _describe_exit(code: int) -> str:
    return f"was killed by signal {-code}" if code < 0 else f"exited with {code}"


def lines(found: Across) -> Iterator[str]:
    """The result for people."""
    hosts = {one.rank: one.host for one in found.ranks}

    def name_ranks(ranks: Sequence[int]) -> str:
        where = ", ".join(dict.fromkeys(hosts[rank] for rank in ranks if rank in hosts))
        word = "rank" if len(ranks) == 1 else "ranks"
        return f"{word} {', '.join(map(str, ranks))}" + (f" ({where})" if where else "")

    for step in found.steps:
        rate = f"{step.gb_per_s:8.3f} GB/s" if step.gb_per_s else ""
        words = "wrong numbers" if step.wrong else "numbers right"
        yield f"  {step.step:<11} {step.bytes:>9} bytes {step.seconds * 1e3:9.2f} ms {rate}  {words}"
    for one in found.found:
        what = "computes wrong" if one.symptom == "wrong" else "is slow"
        pair = " between " + " and ".join(map(name_ranks, one.ranks)) if len(one.ranks) > 1 else ""
        yield f"✗ {one.step}{pair} {what}" if pair else f"✗ {name_ranks(one.ranks[0])}: {one.step} {what}"
    if found.lost:
        yield f"✗ {name_ranks(found.lost)} died or gave no answer"
    if found.error:
        yield f"✗ {found.error}"
    if found.sound:
        yield f"✓ {found.world} ranks: numbers right, none slower than the others"
