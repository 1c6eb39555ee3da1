"""One installer: progress while it is silent, and time to end when the doctor is interrupted."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

from rocm_doctor.plan.commands import Argv
from rocm_doctor.plan.environment import tied
from rocm_doctor.workers.process import HAS_GROUPS, MIB, Child, ChildResult, ChildSpec, done, pump, run, start, stop

LIMIT = 3600.0
"""Seconds for one installation: a torch wheel has some gigabytes."""
PATIENCE = 15.0
"""Seconds that an interrupted installer has to end by itself."""
_EVERY = 2.0
Say = Callable[[str], None]


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the program as Ctrl-C does: through the code that brings back what was there."""

    def leave(number: int, _: FrameType | None) -> None:
        raise SystemExit(128 + number)

    names = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    if threading.current_thread() is not threading.main_thread():
        names = []
    before = {name: signal.signal(name, leave) for name in names}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)


def shown(command: Argv, say: Say) -> ChildResult:
    """Run an installer, and say its latest line every two seconds: a large download is silent for long otherwise."""
    ask = ChildSpec(tied(command), LIMIT, cap=8 * MIB, keep="tail")
    if not HAS_GROUPS:
        return run(list(command), limit=LIMIT)
    child = start(ask)
    said = child.started
    try:
        while pump([child], timeout=0.5):
            latest = _latest(child)
            if latest and _since(child) - said > _EVERY:
                said = _since(child)
                say(f"  {latest}")
    except BaseException:
        _ask_to_end(child, say)
        raise
    finally:
        stop(child)
    return done(child)


def _ask_to_end(child: Child, say: Say) -> None:
    """Interrupt the installer as Ctrl-C would, and give it time to clean up."""
    if child.proc is None or child.ended is not None:
        return
    say(f"interrupted: waiting up to {PATIENCE:.0f} s for the installer")
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.proc.pid, signal.SIGINT)
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and pump([child], timeout=0.2):
        pass


def _since(child: Child) -> float:
    return child.spoke or child.started


def _latest(child: Child) -> str:
    lines = bytes(child.out[-2000:]).decode("utf-8", "replace").split("\n")
    return next((line.strip()[:100] for line in reversed(lines) if line.strip()), "")
