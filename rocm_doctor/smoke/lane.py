"""A lane is one GPU (or the CPU, or all GPUs as one crew) and the stages it has yet to run, each in a child that may die.

The lane starts a crew of children on its next stages, follows the events they append, ends those that overrun their limit, and
after a death goes on in a new crew with the stages that do not depend on what died.
"""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Struct, field

from rocm_doctor.smoke import watch
from rocm_doctor.smoke.worker.table import Stage, all_needs
from rocm_doctor.sources import process

WORKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "worker")
START_LIMIT = 60.0
"""Seconds for the interpreter itself, before its first stage."""
END_LIMIT = 20.0
"""Seconds for the interpreter to exit after its last stage."""
STACK_TIME = 0.3
"""Seconds that a child has to print its Python stack before it is ended."""
PATIENCE = 10.0
"""Seconds of silence until a line says what is being waited for, and between such lines."""
CREW_GRACE = 15.0
"""Seconds that the other ranks have to end a stage after one rank has failed in it: as a rule they wait for it in vain."""
TAIL_BYTES = 1 << 16
TAIL_LINES = 40
WORDS = {"failed": "FAILED", "skipped": "skipped", "died": "DIED", "timeout": "TIMED OUT"}
UNITS = (("tflops", "TFLOP/s"), ("to_device_gb_s", "GB/s to the device"), ("to_host_gb_s", "GB/s back"))

Record = dict[str, Any]


class Settings(Struct, frozen=True):
    """What holds for the whole smoke test. `limit` replaces every stage's limit, `memory_limit` is bytes of main memory per child."""

    python: str
    level: int
    device: str
    folder: str
    token: str
    tell: Callable[[str], None]
    kernel: watch.KernelLog
    limit: float | None = None
    memory_limit: int | None = None
    prelude: str | None = None
    environment: Mapping[str, str] = {}


class Worker(Struct):
    """One child and how far it has come."""

    child: process.Child
    results: str
    rank: int
    offset: int = 0
    stage: str = ""
    doing: str = ""
    since: float = field(default_factory=time.monotonic)
    told: float = field(default_factory=time.monotonic)
    ended: set[str] = field(default_factory=set)
    farewell: str = ""
    verdict: Record | None = None


class Lane(Struct):
    """The stages of one GPU. `records` and `words` are what its artifacts will hold, `states` the worst status of each stage so far."""

    name: str
    settings: Settings
    pending: list[Stage]
    index: int = 0
    world: int = 1
    workers: list[Worker] = field(default_factory=list)
    batch: list[Stage] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    states: dict[str, str] = field(default_factory=dict)
    hello: Record = field(default_factory=dict)
    failed_at: dict[str, float] = field(default_factory=dict)
    crews: int = 0

    @property
    def busy(self) -> bool:
        return bool(self.workers or self.pending)

    @property
    def children(self) -> list[process.Child]:
        return [worker.child for worker in self.workers]


def advance(lane: Lane) -> None:
    """Take in what has happened, and start, end or follow up children accordingly. Never blocks for long."""
    if not lane.workers:
        _bar(lane)
        if lane.pending:
            _start(lane)
        return
    for worker in lane.workers:
        _follow(lane, worker)
        _enforce(lane, worker)
        _remind(lane, worker)
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
            _record(lane, stage=worker.stage, status="not-run", reason="interrupted", seconds=_elapsed(worker), rank=worker.rank)
    lane.workers = []
    for stage in lane.pending:
        if stage.name not in lane.states:
            _record(lane, stage=stage.name, status="not-run", reason="interrupted")
    lane.pending = []


def _bar(lane: Lane) -> None:
    """Take from the pending stages those whose result would say nothing, with the stage to blame."""
    for stage in list(lane.pending):
        blame = next((need for need in all_needs(stage.name) if lane.states.get(need, "passed") != "passed"), None)
        if blame is not None:
            lane.pending.remove(stage)
            _record(
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
        results = os.path.join(lane.settings.folder, f"{lane.name}-{lane.crews}-{rank}.jsonl")
        open(results, "wb").close()
        ask = _ask(lane, results, rank, port)
        lane.workers.append(Worker(process.start(ask) if process.HAS_GROUPS else _whole(ask, lane.batch), results, rank))


def _ask(lane: Lane, results: str, rank: int, port: int) -> process.Ask:
    settings = lane.settings
    options = {
        "results": results,
        "stages": ",".join(stage.name for stage in lane.batch),
        "device": settings.device,
        "gpu": str(rank if lane.world > 1 else lane.index),
        "level": str(settings.level),
        "rank": str(rank),
        "world": str(lane.world),
        "port": str(port),
    } | ({"prelude": settings.prelude} if settings.prelude else {})
    argv = [settings.python, WORKER, *(word for name, value in options.items() for word in (f"--{name}", value))]
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
    with open(worker.results, "rb") as file:
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
            lane.settings.tell(f"{lane.name}: {worker.stage} ({_about(lane, worker.stage)})")
    elif kind == "doing":
        worker.doing = str(event.get("text"))
    elif kind == "end":
        worker.ended.add(worker.stage)
        worker.stage = ""
        worker.since = time.monotonic()
        _record(lane, rank=worker.rank, **{key: value for key, value in event.items() if key != "event"})
    elif kind in ("bye", "leave"):
        worker.farewell = str(kind)


def _about(lane: Lane, name: str) -> str:
    return next((stage.about for stage in lane.batch if stage.name == name), name)


def _elapsed(worker: Worker) -> float:
    return round(time.monotonic() - worker.since, 3)


def _enforce(lane: Lane, worker: Worker) -> None:
    """End a child that is over its time or its memory; its verdict says which."""
    if worker.child.ended is not None or worker.child.proc is None:
        return
    limit = _limit(lane, worker)
    used = watch.resident_bytes(worker.child.proc.pid) if lane.settings.memory_limit else None
    if used is not None and used > (lane.settings.memory_limit or 0):
        worker.verdict = {"status": "died", "reason": "memory-limit", "resident_bytes": used}
    elif time.monotonic() - worker.since > limit:
        _ask_for_stack(worker)
        asleep = process.asleep_in(worker.child.proc.pid)
        worker.verdict = {"status": "timeout", "limit": limit} | ({"asleep_in": asleep} if asleep else {})
    if worker.verdict:
        process.stop(worker.child, "timeout")
        if worker.child.state == "abandoned":
            worker.verdict |= {"reason": "unkillable", "pid": worker.child.proc.pid}


def _limit(lane: Lane, worker: Worker) -> float:
    if worker.stage:
        limit = lane.settings.limit or next((s.limit for s in lane.batch if s.name == worker.stage), START_LIMIT)
        failed = lane.failed_at.get(worker.stage)
        return limit if failed is None else min(limit, failed + CREW_GRACE - worker.since)
    return END_LIMIT if worker.farewell else START_LIMIT


def _ask_for_stack(worker: Worker) -> None:
    """The worker prints its Python stack on SIGUSR1: the tail of its stderr then says where it hangs."""
    assert worker.child.proc is not None
    if worker.ended or worker.stage:
        os.kill(worker.child.proc.pid, signal.SIGUSR1)
        until = time.monotonic() + STACK_TIME
        while worker.child.ended is None and time.monotonic() < until:
            process.pump([worker.child], timeout=STACK_TIME / 5)


def _remind(lane: Lane, worker: Worker) -> None:
    """After some silence, say what is being waited for: kernel compilation with a cold cache looks like a hang."""
    if worker.child.ended is not None or time.monotonic() - worker.told < PATIENCE:
        return
    worker.told = time.monotonic()
    waits = worker.doing or ("the interpreter to end" if worker.farewell else worker.stage or "the interpreter to start")
    left = _limit(lane, worker)
    lane.settings.tell(
        f"{lane.name}: {worker.stage} has run for {_elapsed(worker):.0f} s (limit {left:.0f} s), waiting for: {waits}"
    )


def _settle(lane: Lane) -> None:
    """All children of the crew have ended: record deaths, drop what is done, and leave the rest for the next crew."""
    for worker in lane.workers:
        _follow(lane, worker)
    broken = [worker for worker in lane.workers if _broken(worker)]
    # In a crew the first to go takes the others with it: they were ended by us while they waited for it.
    for worker in [w for w in broken if w.verdict or w.child.state == "finished"] or broken:
        _mourn(lane, worker)
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


def _broken(worker: Worker) -> bool:
    """Whether the child did not come to its end. One that left after an exception on the GPU may well fall over on its way out."""
    done = process.done(worker.child)
    well = worker.farewell == "leave" or (worker.farewell == "bye" and done.returncode == 0)
    return bool(worker.verdict) or done.state != "finished" or not well


def _mourn(lane: Lane, worker: Worker) -> None:
    """Record the death of a child: its last living stage, how it went, and its last words."""
    done = process.done(worker.child)
    stage = worker.stage or (
        "exit" if worker.farewell else next((s.name for s in lane.batch if s.name not in worker.ended), "exit")
    )
    how = worker.verdict or _how(done)
    kernel = lane.settings.kernel.new_lines()
    words = [line for line in done.stderr.splitlines() if line.strip()][-TAIL_LINES:]
    _record(
        lane, stage=stage, rank=worker.rank, seconds=_elapsed(worker), doing=worker.doing, stderr_bytes=len(done.stderr), **how
    )
    lane.words += [line[:1000] for line in words] + [f"kernel: {line[:1000]}" for line in kernel]


def _how(done: process.Done) -> Record:
    """How a child died that we did not end: by a signal, with an exit code, or without having said anything."""
    if done.state in ("not-found", "denied"):
        return {"status": "died", "reason": f"interpreter-{done.state}", "message": done.stderr}
    code = done.returncode or 0
    if code < 0:
        name = signal.Signals(-code).name if -code in signal.valid_signals() else f"signal-{-code}"
        return {"status": "died", "reason": name, "returncode": code}
    return {"status": "died", "reason": "no-result" if code == 0 else f"exit-{code}", "returncode": code}


def _record(lane: Lane, *, stage: str, status: str, **more: Any) -> None:
    """Add a result; a stage's state is the worst of its ranks'. What a failure says goes to the words as well, to be searched like a log."""
    trace = str(more.pop("traceback", ""))
    if lane.world == 1:
        more.pop("rank", None)
    lane.records.append({"kind": "result", "stage": stage, "status": status} | {k: v for k, v in more.items() if v not in ("", None)})
    if lane.states.get(stage, "passed") == "passed":
        lane.states[stage] = status
    why = ": ".join(str(more[key]) for key in ("reason", "message") if more.get(key))
    if status in ("failed", "died", "timeout"):
        lane.failed_at.setdefault(stage, time.monotonic())
        lane.words += [f"== {stage} {WORDS[status]}: {why}", *(line for line in trace.splitlines() if line.strip())]
    _tell(lane, stage, status, why, more.get("details"))


def _tell(lane: Lane, stage: str, status: str, why: str, details: Any) -> None:
    """A line for what did not pass, and for what was measured."""
    measured = [f"{details[key]} {unit}" for key, unit in UNITS if key in details] if isinstance(details, dict) else []
    if status == "passed" and measured:
        lane.settings.tell(f"{lane.name}: {stage} passed, {', '.join(measured)}")
    elif status not in ("passed", "not-run"):
        lane.settings.tell(": ".join([f"{lane.name}: {stage} {WORDS[status]}", *([why.partition("\n")[0][:300]] if why else [])]))
