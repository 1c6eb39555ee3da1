"""Applying a plan inside a virtual environment, with a record of what was done, and the way back.

Only pip and uv are started, only for an interpreter whose prefix is an environment of its own: drivers, system files and the
system's Python are never touched. What was there is written down before anything is run: an interrupted run can be undone.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import shlex
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from rocm_doctor.plan.commands import Command
from rocm_doctor.workers.process import HAS_GROUPS, MIB, Child, ChildResult, ChildSpec, done, pump, run, start, stop

RECORD = "rocm-doctor-fix.json"
"""The file inside the environment."""
LIMIT = 3600.0
"""Seconds for one installation: a torch wheel has some gigabytes."""
_EVERY = 2.0
_PROBE = (
    "import json, sys; print(json.dumps({'prefix': sys.prefix, 'base': sys.base_prefix, 'executable': sys.executable, "
    "'version': '%d.%d' % sys.version_info[:2]}))"
)
Say = Callable[[str], None]


class EnvironmentProblem(Exception):
    """Nothing is done in this place, or it cannot be; the text says why and what would help."""


class Environment(msgspec.Struct, frozen=True):
    """An interpreter that was asked where it lives. `tool`: what installs into it."""

    prefix: str
    base: str
    executable: str
    version: str
    tool: Literal["pip", "uv"] = "pip"


class Ran(msgspec.Struct, frozen=True):
    """One command that was run; `returncode` None: it did not end by itself."""

    argv: tuple[str, ...]
    returncode: int | None
    seconds: float


class Run(msgspec.Struct, frozen=True):
    """One time that a plan was applied: packages before and after as `name==version`, and how it ended."""

    started: str
    stack: str
    state: Literal["running", "done", "failed", "undone"]
    before: tuple[str, ...]
    after: tuple[str, ...] = ()
    commands: tuple[Ran, ...] = ()
    index: str = ""


class Record(msgspec.Struct, frozen=True):
    schema_version: int = 1
    runs: tuple[Run, ...] = ()


def environment(python: str) -> Environment:
    """Where an interpreter lives. Raises NotHere when it does not answer."""
    place = Path(python)
    folder = next((p for p in (place / "bin" / "python", place / "Scripts" / "python.exe") if p.is_file()), None)
    answered = run([str(folder or python), "-I", "-c", _PROBE], limit=30.0)
    if answered.returncode != 0:
        raise EnvironmentProblem(f"{python} is no Python that answers ({answered.state}: {answered.stderr.strip()[-200:]})")
    try:
        return msgspec.json.decode(answered.stdout, type=Environment)
    except msgspec.MsgspecError as exc:
        raise EnvironmentProblem(f"{python} answered something else: {answered.stdout.strip()[:200]}") from exc


def writable(python: str) -> Environment:
    """The environment of an interpreter, if it is one in which things may be installed. Raises NotHere."""
    found = environment(python)
    if found.prefix == found.base:
        raise EnvironmentProblem(
            f"{found.executable} is no virtual environment, and a system's Python is not ours to change; "
            "make one: python3 -m venv .venv, then give --python .venv"
        )
    if not os.access(found.prefix, os.W_OK):
        raise EnvironmentProblem(
            f"{found.prefix} cannot be written by this user; make an environment of your own: python3 -m venv .venv"
        )
    if run([found.executable, "-c", "import pip"], limit=60.0).returncode == 0:
        return found
    if run(["uv", "--version"], limit=30.0).returncode == 0:
        return msgspec.structs.replace(found, tool="uv")
    raise EnvironmentProblem(f"{found.prefix} has no pip, and uv is not on PATH; run {found.executable} -m ensurepip")


def read_record(place: Environment) -> Record:
    """What was done in this environment before. Raises NotHere for a record that cannot be read."""
    path = Path(place.prefix) / RECORD
    if not path.is_file():
        return Record()
    try:
        return msgspec.json.decode(path.read_bytes(), type=Record)
    except msgspec.MsgspecError as exc:
        raise EnvironmentProblem(f"{path}: no record of rocm-doctor ({exc}); move it away to go on without undo") from exc


def apply(place: Environment, commands: Sequence[Command], stack: str, index: str, say: Say) -> Run:
    """Run the commands in order, stop at the first that fails, and leave the record of it. Raises NotHere beforehand."""
    old = read_record(place)
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    current = Run(now, stack, "running", installed(place), index=index)
    return _kept(place, old.runs, current, commands, "done", say)


def last_run(place: Environment, runs: Sequence[Run]) -> int:
    """The number of the last run that was not undone yet. Raises NotHere when there is none."""
    number = next((n for n in range(len(runs) - 1, -1, -1) if runs[n].state != "undone"), None)
    if number is None:
        raise EnvironmentProblem(f"{place.prefix}: nothing was applied here that could be undone")
    return number


def undo(place: Environment, say: Say) -> Run:
    """Bring back what was installed before the last run that was not undone yet. Raises NotHere when there is none."""
    runs = read_record(place).runs
    number = last_run(place, runs)
    last = runs[number]
    commands = undoing(place, last, installed(place))
    kept = msgspec.structs.replace(last, commands=())
    return _kept(place, runs[:number], kept, commands, "undone", say, later=runs[number + 1 :])


def undoing(place: Environment, last: Run, now: Sequence[str]) -> list[Command]:
    """The commands that lead from what is installed now to what was before the run."""
    before, here = by_name(last.before), by_name(now)
    add, remove = installer(place)
    gone = [name for name in here if name not in before]
    back = [line for name, line in before.items() if here.get(name) != line]
    index = ("--extra-index-url", last.index) if last.index else ()
    return [*([(*remove, *gone)] if gone else []), *([(*add, "--no-deps", *back, *index)] if back else [])]


def installer(place: Environment) -> tuple[Command, Command]:
    """How to install into this environment and how to remove from it, without a question."""
    if place.tool == "uv":
        return ("uv", "pip", "install", "--python", place.executable), ("uv", "pip", "uninstall", "--python", place.executable)
    pip = (place.executable, "-m", "pip")
    return (*pip, "install", "--disable-pip-version-check"), (*pip, "uninstall", "-y", "--disable-pip-version-check")


def installed(place: Environment) -> tuple[str, ...]:
    """Every distribution of the environment, as `name==version` or `name @ url`. Raises NotHere when it cannot be had."""
    list_: Command = ("uv", "pip", "freeze", "--python", place.executable)
    if place.tool == "pip":
        list_ = (place.executable, "-m", "pip", "--disable-pip-version-check", "freeze", "--all")
    answered = run(list(list_), limit=120.0)
    if answered.returncode != 0:
        raise EnvironmentProblem(f"the packages of {place.prefix} could not be listed: {answered.stderr.strip()[-200:]}")
    return tuple(line.strip() for line in answered.stdout.splitlines() if line.strip() and not line.startswith(("#", "-e")))


def by_name(lines: Iterable[str]) -> dict[str, str]:
    """Lines of a package list by canonical name."""
    return {line.partition("==")[0].partition(" @ ")[0].lower().replace("_", "-"): line for line in lines}


def _kept(
    place: Environment,
    earlier: tuple[Run, ...],
    current: Run,
    commands: Sequence[Command],
    ends: Literal["done", "undone"],
    say: Say,
    later: tuple[Run, ...] = (),
) -> Run:
    """Run the commands; the record is on disk before the first and after the last, also when the person interrupts."""
    ran: list[Ran] = []
    state: Literal["done", "failed", "undone"] = "failed"
    _write(place, (*earlier, current, *later))
    try:
        for command in commands:
            say(f"$ {shlex.join(command)}")
            answered = shown(command, say)
            ran.append(Ran(command, answered.returncode, round(answered.seconds, 1)))
            if answered.returncode != 0:
                say((answered.stderr or answered.stdout).strip()[-2000:])
                break
        else:
            state = ends
    finally:
        after = current.after
        with contextlib.suppress(EnvironmentProblem):
            after = installed(place)
        current = msgspec.structs.replace(current, state=state, commands=tuple(ran), after=after)
        _write(place, (*earlier, current, *later))
    return current


def _write(place: Environment, runs: tuple[Run, ...]) -> None:
    path = Path(place.prefix) / RECORD
    beside = path.with_suffix(".tmp")
    beside.write_text(json.dumps(msgspec.to_builtins(Record(runs=runs)), indent=1) + "\n", encoding="utf-8")
    beside.replace(path)


def shown(command: Command, say: Say) -> ChildResult:
    """Run an installer, with its latest line said every two seconds: a large download is silent for long otherwise."""
    ask = ChildSpec(list(command), LIMIT, cap=8 * MIB, keep="tail")
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
    finally:
        stop(child)
    return done(child)


def _since(child: Child) -> float:
    return child.spoke or child.started


def _latest(child: Child) -> str:
    lines = bytes(child.out[-2000:]).decode("utf-8", "replace").split("\n")
    return next((line.strip()[:100] for line in reversed(lines) if line.strip()), "")
