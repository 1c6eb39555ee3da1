"""The state of a running smoke test: its settings, its children, and one queue of stages for each GPU."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from rocm_doctor.smoke import watch
from rocm_doctor.workers import process
from rocm_doctor.workers.smoke.table import Stage

WORDS = {"failed": "FAILED", "skipped": "skipped", "died": "DIED", "timeout": "TIMED OUT"}
Record = dict[str, Any]


class Settings(Struct, frozen=True):
    """Settings of the whole smoke test. `device`: auto, cpu or cuda; `folder`: for the children's results; `token`: marks our
    processes; `tell`: prints a progress line; `limit`: seconds for every stage instead of its own; `prelude`: a file that the
    child runs first; `environment`: added to ours."""

    python: str
    level: int
    device: str
    folder: str
    token: str
    tell: Callable[[str], None]
    kernel: watch.KernelLog
    limit: float | None = None
    prelude: str | None = None
    framework: str = "torch"
    environment: Mapping[str, str] = {}


class SmokeWorker(Struct):
    """The child of a queue and its progress. `offset`: bytes read of `results`; `stage`: the running one; `doing`: what that
    waits for; `since`: when the stage or the wait around it began; `told`: the last event or progress line; `ended`: its finished
    stages; `exit_message`: its last event, bye or leave."""

    child: process.Child
    results: Path
    offset: int = 0
    stage: str = ""
    doing: str = ""
    since: float = field(default_factory=time.monotonic)
    told: float = field(default_factory=time.monotonic)
    ended: set[str] = field(default_factory=set)
    exit_message: str = ""
    verdict: Record | None = None


class DeviceQueue(Struct):
    """The stages of one GPU. `pending`: those to run; `records` and `words` become its artifacts; `states`: the status of each
    stage so far; `hello`: the child's first event; `children`: how many were started; `kind`: hip, cuda or cpu by the device
    stage, before it empty."""

    name: str
    settings: Settings
    pending: list[Stage]
    index: int = 0
    worker: SmokeWorker | None = None
    records: list[Record] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    states: dict[str, str] = field(default_factory=dict)
    hello: Record = field(default_factory=dict)
    children: int = 0
    kind: str = ""

    @property
    def title(self) -> str:
        """The queue's name: `cpu` for a build without GPU support, whatever the queue was started for; `jax-gpu0` for JAX."""
        name = "cpu" if self.kind == "cpu" else self.name
        return name if self.settings.framework == "torch" else f"{self.settings.framework}-{name}"

    @property
    def speaker(self) -> str:
        """The device in progress lines, which is unknown until the device stage has run."""
        unknown = self.settings.device == "auto" and self.index == 0 and "device" not in self.states
        return self.settings.framework if unknown else self.title

    @property
    def busy(self) -> bool:
        """True while the queue has a child or stages left."""
        return bool(self.worker or self.pending)


def record(queue: DeviceQueue, *, stage: str, status: str, **more: Any) -> None:
    """Add a result. The message of a failure also goes to the words, to be searched like a log."""
    trace = str(more.pop("traceback", ""))
    details = {key: value for key, value in more.items() if value not in ("", None)}
    queue.records.append({"kind": "result", "stage": stage, "status": status} | details)
    if queue.states.get(stage, "passed") == "passed":
        queue.states[stage] = status
    if stage == "device":
        queue.kind = str((more.get("details") or {}).get("kind", ""))
    why = ": ".join(str(more[key]) for key in ("reason", "message") if more.get(key))
    if status in ("failed", "died", "timeout"):
        queue.words += [f"== {stage} {WORDS[status]}: {why}", *(line for line in trace.splitlines() if line.strip())]
    _report(queue, stage, status, why)


def _report(queue: DeviceQueue, stage: str, status: str, why: str) -> None:
    """Print a progress line for a failure."""
    if status not in ("passed", "not-run"):
        queue.settings.tell(
            ": ".join([f"{queue.speaker}: {stage} {WORDS[status]}", *([why.partition("\n")[0][:300]] if why else [])])
        )
