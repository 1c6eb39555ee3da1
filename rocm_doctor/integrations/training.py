"""Hooks for training: the machine is checked before the first step, and a crash writes the ticket bundle.

    with guarded(min_vram="24GiB"):          # Trainer, accelerate, a loop of your own
        trainer.train()
    trainer.train = guarded()(trainer.train)  # the same as a decorator
    Trainer(..., callbacks=[trainer_callback(gpus=2)])
    lightning.Trainer(callbacks=[lightning_callback(gpus=2)])

Nothing of transformers, accelerate or lightning is imported before it is needed.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

TICKET = "rocm-doctor-ticket.zip"
_log = logging.getLogger("rocm_doctor")


@contextmanager
def guarded(*, ticket: str | Path | None = TICKET, **requirements: Any) -> Iterator[None]:
    """A context or decorator that calls `require` first, and writes a ticket bundle if the body raises.

    ticket: the bundle's file, None for none; with several processes each adds its rank. requirements: as for `require`.
    A machine without an AMD GPU passes: the same script runs on other hardware.

    Raises NotReady before the body if the machine does not meet the requirements.
    """
    if not _ready(requirements):
        yield
        return
    try:
        yield
    except Exception as error:
        write_ticket(error, ticket)
        raise


def write_ticket(error: BaseException, ticket: str | Path | None = TICKET) -> None:
    """Write the bundle for an exception and log where it is. Raises nothing: the exception itself matters more."""
    if ticket is None:
        return
    from rocm_doctor.integrations.ticket import crash_ticket

    path = _of_rank(Path(ticket))
    try:
        report = crash_ticket(error, path)
        _log.warning("rocm-doctor: %s; %s holds the details without names and addresses", report.summary, path)
    except Exception as problem:
        _log.warning("rocm-doctor: no ticket was written: %s: %s", type(problem).__name__, problem)


def _ready(requirements: dict[str, Any]) -> bool:
    """True on a machine that meets the requirements, False without an AMD GPU. Raises NotReady."""
    from rocm_doctor import api

    try:
        api.require(**requirements)
    except api.NoAmdGpu:
        return False
    return True


def _of_rank(path: Path) -> Path:
    rank = os.environ.get("RANK", "0")
    return path if rank in ("", "0") or not rank.isdigit() else path.with_name(f"{path.stem}-rank{rank}{path.suffix}")


def trainer_callback(*, ticket: str | Path | None = TICKET, **requirements: Any) -> Any:
    """A TrainerCallback of transformers: `require` when training begins, a ticket if an exception ends the program.

    A Trainer tells its callbacks nothing of an exception, so the ticket is written where Python reports an uncaught one. In a notebook
    nothing is uncaught: use `guarded` there.
    """
    from transformers import TrainerCallback

    class Doctor(TrainerCallback):  # type: ignore[misc]
        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            self.earlier = sys.excepthook
            if _ready(requirements):
                sys.excepthook = self.uncaught

        def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            sys.excepthook = self.earlier

        def uncaught(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
            if isinstance(error, Exception):
                write_ticket(error, ticket)
            self.earlier(kind, error, trace)

    return Doctor()


def lightning_callback(*, ticket: str | Path | None = TICKET, **requirements: Any) -> Any:
    """A Callback of Lightning: `require` before fitting, a ticket on an exception."""
    from lightning.pytorch import Callback

    class Doctor(Callback):  # type: ignore[misc]
        amd = False

        def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
            self.amd = _ready(requirements)

        def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
            if self.amd and isinstance(exception, Exception):
                write_ticket(exception, ticket)

    return Doctor()
