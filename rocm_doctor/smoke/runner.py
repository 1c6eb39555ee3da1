"""The smoke test as text: runs the worker in the examined interpreter, one child per GPU, and returns what happened as
artifacts.

An artifact `smoke/gpu0.jsonl` (or `smoke/cpu.jsonl`, or `smoke/crew.jsonl` for what all GPUs do together) holds JSON lines:

* `header`: schema, lane, interpreter and its version, device, level, the stages planned, whether the kernel's log was readable;
* `result`: stage, status (passed, failed, skipped, died, timeout, not-run), reason, message, seconds, details, rank;
* `stragglers`: processes that had to be ended after their parent.

What was printed by stages that failed (the end of stderr, tracebacks, new lines of the kernel's log) stands in
`smoke/gpu0.log`. The text is judged like any other, also when it is replayed from a bundle; nothing here decides what it means.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from rocm_doctor.model import Artifact
from rocm_doctor.smoke import lane as lanes
from rocm_doctor.smoke import watch
from rocm_doctor.smoke.state import Lane, Settings
from rocm_doctor.workers import process
from rocm_doctor.workers.smoke.table import BY_NAME, STAGES, Stage

SCHEMA = 1
TICK = 0.1
"""Seconds between looks at the children's events."""
CPU_CREW = 2
"""Ranks of a crew where there are no GPUs to count."""


def run_smoke(
    python: str | None = None,
    *,
    level: int = 1,
    device: str = "auto",
    stages: Sequence[str] = (),
    gpu: int | None = None,
    memory_limit: int | None = None,
    limit: float | None = None,
    prelude: str | None = None,
    environment: dict[str, str] | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> list[Artifact]:
    """Run the smoke test up to `level`, or the named stages, in this interpreter (default: the one that runs us); its artifacts.

    `gpu`: this index alone, and no falling back to the CPU; by default every GPU that torch shows. `memory_limit` is bytes of
    main memory per child, `limit` seconds per stage instead of the table's. `prelude` is a Python file that the worker runs
    first, for tests. An interrupt ends the children, and the artifacts say so in their note. Raises KeyError for a stage that
    does not exist.
    """
    plan = planned(level, stages)
    with tempfile.TemporaryDirectory(prefix="rocm-doctor-smoke-", ignore_cleanup_errors=True) as folder:
        settings = Settings(
            python=python or sys.executable,
            level=max([level, *(stage.level for stage in plan)]),
            device="cuda" if device == "auto" and gpu is not None else device,
            folder=folder,
            token=uuid.uuid4().hex,
            tell=on_progress or (lambda line: None),
            kernel=watch.KernelLog(),
            limit=limit,
            memory_limit=memory_limit,
            prelude=prelude,
            environment=environment or {},
        )
        done: list[Lane] = []
        try:
            return _all_lanes(settings, plan, gpu, done)
        finally:
            settings.kernel.close()
            for child in (child for lane in done for child in lane.children):
                process.stop(child)


def planned(level: int, names: Sequence[str]) -> list[Stage]:
    """The stages of this level and below, or those named; torch and the device come first in any case. Raises KeyError."""
    wanted = {full for name in names for full in matching(name)} or {stage.name for stage in STAGES if stage.level <= level}
    return [stage for stage in STAGES if stage.name in wanted | {"import", "device"}]


def matching(name: str) -> list[str]:
    """The stage of that name, or the stages of that family: `attention` is all whose name begins so. Raises KeyError for none."""
    name = name.replace("_", "-")
    found = [name] if name in BY_NAME else [full for full in BY_NAME if full.startswith(name + "-")]
    if not found:
        raise KeyError(name)
    return found


def _all_lanes(settings: Settings, plan: list[Stage], gpu: int | None, done: list[Lane]) -> list[Artifact]:
    """The first GPU tells how many there are; the others join it side by side, and then comes what they do together."""
    began, note = time.monotonic(), ""
    alone, together = [s for s in plan if s.crew != "all"], [s for s in plan if s.crew == "all"]
    try:
        done.append(Lane("cpu" if settings.device == "cpu" else f"gpu{gpu or 0}", settings, list(alone), index=gpu or 0))
        while _tick(done) or (gpu is None and len(done) < _gpu_count(done[0])):
            if gpu is None and len(done) < _gpu_count(done[0]):
                each = [stage for stage in alone if stage.crew != "first"]
                done += [Lane(f"gpu{n}", settings, list(each), index=n) for n in range(1, _gpu_count(done[0]))]
        if together:
            done.append(_crew(settings, together, _gpu_count(done[0]) if _gpus_shown(done[0]) else CPU_CREW, done))
        while _tick(done):
            pass
    except KeyboardInterrupt:
        note = "interrupted"
        for lane in done:
            lanes.interrupt(lane)
    seconds = round(time.monotonic() - began, 3)
    return [artifact for lane in done for artifact in _artifacts(lane, done[0], seconds, note)]


def _tick(some: list[Lane]) -> bool:
    """One look at all lanes, and a short wait for their children; whether there is more to come."""
    for lane in some:
        lanes.advance(lane)
    if process.HAS_GROUPS:
        process.pump([child for lane in some for child in lane.children], timeout=TICK)
    return any(lane.busy for lane in some)


def _details(lane: Lane, stage: str) -> dict[str, Any]:
    """What a stage of the lane told beside its status; empty where it told nothing."""
    results = (r for r in lane.records if r["kind"] == "result" and r["stage"] == stage)
    details = next(results, {}).get("details")
    return details if isinstance(details, dict) else {}


def _gpus_shown(lane: Lane) -> bool:
    return _details(lane, "device").get("kind") in ("cuda", "hip")


def _gpu_count(lane: Lane) -> int:
    return int(_details(lane, "device").get("count", 1)) if _gpus_shown(lane) else 1


def _crew(settings: Settings, stages: list[Stage], world: int, done: list[Lane]) -> Lane:
    """One process per GPU as ranks of one job. A stage that failed on one GPU counts as failed for what needs it."""
    states: dict[str, str] = {}
    for lane in done:
        for name, status in lane.states.items():
            if states.get(name, "passed") == "passed":
                states[name] = status
    return Lane("crew", settings, list(stages), world=world, states=states)


def _artifacts(lane: Lane, first: Lane, seconds: float, note: str) -> list[Artifact]:
    lines = [_header(lane, lane if lane.world == 1 else first), *lane.records]
    text = "".join(msgspec.json.encode(line).decode() + "\n" for line in lines)
    results = Artifact(f"smoke/{lane.title}.jsonl", "smoke", text, seconds=seconds, note=note)
    return [results] + ([Artifact(f"smoke/{lane.title}.log", "smoke", "\n".join(lane.words) + "\n")] if lane.words else [])


def _meant(asked: str, torch: dict[str, Any]) -> str:
    """The kind of device when none was reached: hip or cuda by torch's build, cpu where that was asked for, else unknown."""
    return "cpu" if asked == "cpu" else next((kind for kind in ("hip", "cuda") if torch.get(kind)), "unknown")


def _header(lane: Lane, teller: Lane) -> dict[str, Any]:
    """Who ran what on what. `teller`: the lane that looked at torch and the device; a crew does not look again."""
    torch, device = _details(teller, "import"), _details(teller, "device")
    return {
        "kind": "header",
        "schema": SCHEMA,
        "lane": lane.title,
        "interpreter": lane.settings.python,
        "python": lane.hello.get("python"),
        "torch": torch.get("torch"),
        "hip": torch.get("hip"),
        "cuda": torch.get("cuda"),
        "device": device.get("kind") or _meant(lane.settings.device, torch),
        "name": device.get("name"),
        "index": lane.index,
        "world": lane.world,
        "level": lane.settings.level,
        "children": lane.crews * lane.world,
        "kernel_log": "denied"
        if lane.settings.kernel.denied
        else "read"
        if lane.settings.kernel.descriptor is not None
        else "absent",
        "system": os.name,
    }
