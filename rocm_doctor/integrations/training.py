"""A guard around training: the machine is checked before the first step, and a crash writes the ticket bundle.

with guarded(min_vram="24GiB"):          # Trainer, accelerate, Lightning, a loop of your own
    trainer.train()
trainer.train = guarded()(trainer.train)  # the same as a decorator
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
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
    if not _require(requirements):
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

    path = _path_of_rank(Path(ticket))
    try:
        report = crash_ticket(error, path)
        _log.warning("rocm-doctor: %s; %s holds the details without names and addresses", report.summary, path)
    except Exception as problem:
        _log.warning("rocm-doctor: no ticket was written: %s: %s", type(problem).__name__, problem)


def _require(requirements: dict[str, Any]) -> bool:
    """True on a machine that meets the requirements, False without an AMD GPU. Raises NotReady if the machine does not meet
    them."""
    from rocm_doctor import api

    try:
        api.require(**requirements)
    except api.NoAmdGpu:
        return False
    return True


def _path_of_rank(path: Path) -> Path:
    rank = os.environ.get("RANK", "0")
    return path if rank in ("", "0") or not rank.isdigit() else path.with_name(f"{path.stem}-rank{rank}{path.suffix}")
