"""The journal of an environment that `fix` changes: every run, what it kept and how it ended, on the disk before the next step."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from rocm_doctor.bounded import Unreadable, files, jsons
from rocm_doctor.plan.environment import Environment, EnvironmentProblem

FOLDER = "rocm-doctor-fix"
"""The folder inside the environment that holds everything of `fix`."""
RECORD = FOLDER + "/record.json"


class Ran(msgspec.Struct, frozen=True):
    """One command that was run; `returncode` None: it did not end by itself."""

    argv: tuple[str, ...]
    returncode: int | None
    seconds: float


class Run(msgspec.Struct, frozen=True):
    """One application of a plan: packages before and after as `name==version`, and how it ended.

    `fetching`: nothing has changed yet. `changing`, `undoing`: interrupted if no process holds the lock. `failed`, `undone`:
    what was there before is back. `kept`: the folders that were kept, relative to the prefix, in the order of their numbers.
    """

    started: str
    stack: str
    state: Literal["fetching", "changing", "done", "undoing", "undone", "failed"]
    before: tuple[str, ...]
    after: tuple[str, ...] = ()
    commands: tuple[Ran, ...] = ()
    kept: tuple[str, ...] = ()


class Record(msgspec.Struct, frozen=True):
    """The journal of an environment: every run, the oldest first."""

    schema_version: int = 1
    runs: tuple[Run, ...] = ()


def read_record(place: Environment) -> Record:
    """The runs in this environment so far. Raises EnvironmentProblem for a record that cannot be read."""
    path = Path(place.prefix) / RECORD
    if not path.is_file():
        return Record()
    try:
        return jsons.decode(files.read(path), Record)
    except (OSError, Unreadable) as exc:
        raise EnvironmentProblem(f"{path}: not a record of rocm-doctor ({exc}); move it away to go on without undo") from exc


def interrupted(place: Environment) -> bool:
    """Whether a run was cut off while it changed the environment."""
    return any(one.state in ("changing", "undoing") for one in read_record(place).runs)


def last_run(place: Environment, runs: Sequence[Run]) -> int:
    """The number of the last run that can be undone. Raises EnvironmentProblem when there is none."""
    number = next((n for n in range(len(runs) - 1, -1, -1) if runs[n].state not in ("undone", "failed", "fetching")), None)
    if number is None:
        raise EnvironmentProblem(f"{place.prefix}: no applied plan to undo")
    return number


def folder(place: Environment) -> Path:
    """The folder of `fix` in an environment."""
    return Path(place.prefix, FOLDER)


def kept_in(place: Environment, number: int) -> Path:
    """What was there before the run of that number, as a tree of links."""
    return folder(place) / f"before-{number}"


def timestamp() -> str:
    """The time as the journal writes it."""
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


def write(place: Environment, number: int, current: Run) -> Run:
    """Put a run into the journal, on the disk before anything else happens."""
    runs = list(read_record(place).runs)
    runs[number : number + 1] = [current]
    path = Path(place.prefix) / RECORD
    beside = path.with_suffix(".tmp")
    with beside.open("w", encoding="utf-8") as file:
        file.write(json.dumps(msgspec.to_builtins(Record(runs=tuple(runs))), indent=1) + "\n")
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
    return current
