"""A lane is one GPU (or the CPU, or all GPUs as one crew) and the stages it has yet to run, each in a child that may die.

The lane starts a crew of children on its next stages, follows the events they append, ends those that overrun their limit, and
after a death goes on in a new crew with the stages that do not depend on what died.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterable
from pathlib import Path

import msgspec

from rocm_doctor.smoke import watch
from rocm_doctor.smoke.endings import START_LIMIT, broken, elapsed, enforce, mourn, remind
from rocm_doctor.smoke.state import Lane, Record, Worker, record
from rocm_doctor.workers import START, process
from rocm_doctor.workers.smoke.table import Stage, all_needs

TAIL_BYTES = 1 << 16


def advance(lane: Lane) -> None:
    """Take in what has happened, and start, end or follow up children accordingly. Never blocks for long."""
    if not lane.workers:
        _bar(lane)
        if lane.pending:
            _start(lane)
        return
    for worker in lane.workers:
        _follow(lane, worker)
        enforce(lane, worker)
        remind(lane, worker)
    if any(worker.verdict or (worker.child.ended is not None and not worker.farewell) for worker in lane.workers):
        for worker in lane.workers:
            process.stop(worker.child, "timeout")
    if all(worker.child.ended is not None for worker in lane.workers):
        _settle(lane)


def interrupt(lane: Lane) -> None:
    """End the children; what ran is interrupted, what did not run is not run."""
    for worker in lane.workers:
        process.stop(worker.child)
        _follow(lane, worker)
        if worker.stage:
            record(lane, stage=worker.stage, status="not-run", reason="interrupted", seconds=elapsed(worker), rank=worker.rank)
    watch.end_marked(_mark(lane))
    lane.workers = []
    for stage in lane.pending:
        if stage.name not in lane.states:
            record(lane, stage=stage.name, status="not-run", reason="interrupted")
    lane.pending = []


def _bar(lane: Lane) -> None:
    """Take from the pending stages those whose result would say nothing, with the stage to blame."""
    for stage in list(lane.pending):
        blame = next((need for need in all_needs(stage.name) if lane.states.get(need, "passed") != "passed"), None)
        if blame is not None:
            lane.pending.remove(stage)
            record(
                lane, stage=stage.name, status="not-run", reason=f"needs-{blame}", message=f"{blame} {_past(lane.states[blame])}"
            )


def _past(status: str) -> str:
    return {"died": "died", "timeout": "timed out", "not-run": "was not run", "skipped": "was skipped"}.get(status, status)


def _start(lane: Lane) -> None:
    """A crew for the next stages: all that one process can run in a row, or one stage that wants a process of its own."""
    fresh = lane.pending[0].crew == "fresh"
    lane.batch = lane.pending[:1] if fresh else [s for s in lane.pending if s.crew != "fresh"]
    lane.crews += 1
    port = free_port() if lane.world > 1 else 0
    for rank in range(lane.world):
        results = Path(lane.settings.folder) / f"{lane.name}-{lane.crews}-{rank}.jsonl"
        results.touch()
        ask = _ask(lane, results, rank, port)
        lane.workers.append(Worker(process.start(ask) if process.HAS_GROUPS else _whole(ask, lane.batch), results, rank))


def _ask(lane: Lane, results: Path, rank: int, port: int) -> process.Ask:
    settings = lane.settings
    options = {
        "results": str(results),
        "stages": ",".join(stage.name for stage in lane.batch),
        "device": settings.device,
        "gpu": str(rank if lane.world > 1 else lane.index),
        "level": str(settings.level),
        "rank": str(rank),
        "world": str(lane.world),
        "port": str(port),
    } | ({"prelude": settings.prelude} if settings.prelude else {})
    argv = [settings.python, START, "smoke", *(word for name, value in options.items() for word in (f"--{name}", value))]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", **settings.environment, watch.MARK: _mark(lane)}
    return process.Ask(argv, limit=float("inf"), env=environment, cap=TAIL_BYTES, keep="tail")


def _whole(ask: process.Ask, batch: Iterable[Stage]) -> process.Child:
    """Without process groups: the whole batch in one blocking call under one limit."""
    done = process.run(ask.argv, limit=START_LIMIT + sum(stage.limit for stage in batch), env=ask.env)
    now = time.monotonic()
    return process.Child(
        ask, now - done.seconds, err=bytearray(done.stderr.encode()), ended=now, state=done.state, returncode=done.returncode
    )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _follow(lane: Lane, worker: Worker) -> None:
    """Read the events that were appended since the last look; a line that is not whole yet is left for the next."""
    with worker.results.open("rb") as file:
        file.seek(worker.offset)
        new = file.read()
    whole = new[: new.rfind(b"\n") + 1]
    worker.offset += len(whole)
    for line in whole.splitlines():
        try:
            event = msgspec.json.decode(line)
        except msgspec.DecodeError:
            continue
        if isinstance(event, dict):
            _take(lane, worker, event)


def _take(lane: Lane, worker: Worker, event: Record) -> None:
    kind, worker.told = event.get("event"), time.monotonic()
    if kind == "hello":
        lane.hello = lane.hello or event
    elif kind == "start":
        worker.stage, worker.since, worker.doing = str(event.get("stage")), time.monotonic(), ""
        if worker.rank == 0:
            lane.settings.tell(f"{lane.speaker}: {worker.stage} ({_about(lane, worker.stage)})")
    elif kind == "doing":
        worker.doing = str(event.get("text"))
    elif kind == "end":
        worker.ended.add(worker.stage)
        worker.stage = ""
        worker.since = time.monotonic()
        record(lane, rank=worker.rank, **{key: value for key, value in event.items() if key != "event"})
    elif kind in ("bye", "leave"):
        worker.farewell = str(kind)


def _about(lane: Lane, name: str) -> str:
    return next((stage.about for stage in lane.batch if stage.name == name), name)


def _settle(lane: Lane) -> None:
    """All children of the crew have ended: record deaths, drop what is done, and leave the rest for the next crew."""
    for worker in lane.workers:
        _follow(lane, worker)
    fallen = [worker for worker in lane.workers if broken(worker)]
    # In a crew the first to go takes the others with it: they were ended by us while they waited for it.
    for worker in [w for w in fallen if w.verdict or w.child.state == "finished"] or fallen:
        mourn(lane, worker)
    stragglers = watch.end_marked(_mark(lane))
    if stragglers:
        lane.records.append({"kind": "stragglers", "processes": stragglers})
    done = set.intersection(*(worker.ended for worker in lane.workers))
    tried = done | {record["stage"] for record in lane.records if record["kind"] == "result"}
    lane.pending = [stage for stage in lane.pending if stage.name not in tried]
    lane.workers, lane.batch = [], []


def _mark(lane: Lane) -> str:
    """What the children of this lane, and theirs, are known by: other lanes run beside it."""
    return f"{lane.settings.token}-{lane.name}"
