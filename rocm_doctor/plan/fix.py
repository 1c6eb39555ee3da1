"""Apply a plan inside a virtual environment so that it can be taken back at any moment.

Only pip and uv are started, only for an interpreter in an environment of its own: drivers, system files and the system's Python
are never touched. The order makes each step safe to interrupt: download what will be installed; keep what is there as a tree of
links (rocm_doctor.plan.keep); note in the journal that the environment is about to change; change it. An interruption, a failed
command or a full disk leads back to what was there, at once, or with the next `fix` if the doctor itself was killed.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import shlex
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Literal

import msgspec

from rocm_doctor.bounded import Unreadable, files, jsons
from rocm_doctor.plan.commands import Argv
from rocm_doctor.plan.environment import Environment, EnvironmentProblem, installed, tied, trees
from rocm_doctor.plan.keep import keep, remove, restore
from rocm_doctor.workers.process import HAS_GROUPS, MIB, Child, ChildResult, ChildSpec, done, pump, run, start, stop

FOLDER = "rocm-doctor-fix"
"""The folder inside the environment that holds everything of this module."""
RECORD = FOLDER + "/record.json"
LIMIT = 3600.0
"""Seconds for one installation: a torch wheel has some gigabytes."""
PATIENCE = 15.0
"""Seconds that an interrupted installer has to end by itself."""
_EVERY = 2.0
_INTERRUPTED = ("fetching", "changing", "undoing")
Say = Callable[[str], None]


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


def steps(place: Environment, commands: Sequence[Argv]) -> tuple[list[Argv], list[Argv]]:
    """What downloads, and what then changes the environment without a network.

    Packages that are compiled here are fetched when they are built: their setup imports the new torch. uv needs no download
    of its own: it fetches everything before it removes anything.
    """
    if place.tool == "uv":
        return [], list(commands)
    wheels = str(_folder(place) / "wheels")
    fetch = [
        (*_pip(one), "download", "-d", wheels, "--find-links", wheels, *_arguments(one)) for one in commands if _is_fetched(one)
    ]
    return fetch, [_offline(one, wheels) if _is_fetched(one) else one for one in commands]


def apply(place: Environment, commands: Sequence[Argv], stack: str, say: Say) -> Run:
    """Run the commands in order, or leave the environment as it was. Raises EnvironmentProblem where nothing could be begun."""
    with _alone(place), _ended_by_signals():
        _recover(place, say)
        if not _would_change(place, commands):
            say("everything is installed already")
            now = installed(place)
            return Run(_now(), stack, "done", now, now)
        return _applied(place, commands, Run(_now(), stack, "fetching", installed(place), kept=trees(place)), say)


def undo(place: Environment, say: Say) -> Run:
    """Undo the last run. Raises EnvironmentProblem if there is none."""
    with _alone(place), _ended_by_signals():
        back = _recover(place, say)
        if back is not None:
            return back
        runs = read_record(place).runs
        number = last_run(place, runs)
        if not _kept(place, number).is_dir():
            raise EnvironmentProblem(f"{_kept(place, number)} is gone: without it this run cannot be undone")
        return _back(place, number, "undone")


def resume(place: Environment, say: Say) -> None:
    """Bring back what was there before an interrupted run, so that a plan is made for the environment as it will be."""
    if interrupted(place):
        with _alone(place), _ended_by_signals():
            _recover(place, say)


def _recover(place: Environment, say: Say) -> Run | None:
    """Undo an interrupted run, and return it; None if there was none."""
    runs = read_record(place).runs
    number = next((n for n, one in enumerate(runs) if one.state in _INTERRUPTED), None)
    if number is None:
        return None
    if runs[number].state == "fetching":
        remove(_kept(place, number))
        _write(place, number, msgspec.structs.replace(runs[number], state="failed"))
        return None
    say(f"the run of {runs[number].started} was interrupted: bringing back what was there before it")
    return _back(place, number, "undone" if runs[number].state == "undoing" else "failed")


def last_run(place: Environment, runs: Sequence[Run]) -> int:
    """The number of the last run that can be undone. Raises EnvironmentProblem when there is none."""
    number = next((n for n in range(len(runs) - 1, -1, -1) if runs[n].state not in ("undone", "failed", "fetching")), None)
    if number is None:
        raise EnvironmentProblem(f"{place.prefix}: no applied plan to undo")
    return number


def _applied(place: Environment, commands: Sequence[Argv], current: Run, say: Say) -> Run:
    number = len(read_record(place).runs)
    fetch, change = steps(place, commands)
    _write(place, number, current)
    ran: list[Ran] = []
    if not _all(fetch, ran, say):
        return _write(place, number, msgspec.structs.replace(current, state="failed", commands=tuple(ran), after=current.before))
    for name, tree in enumerate(current.kept):
        keep(Path(place.prefix, tree), _kept(place, number) / str(name))
    current = _write(place, number, msgspec.structs.replace(current, state="changing"))
    try:
        worked = _all(change, ran, say)
        current = msgspec.structs.replace(current, commands=tuple(ran), after=installed(place) if worked else current.before)
        if worked:
            _write(place, number, msgspec.structs.replace(current, state="done"))
    except BaseException:
        say("interrupted: bringing back what was there")
        _back(place, number, "failed")
        raise
    if not worked:
        return _back(place, number, "failed", tuple(ran))
    remove(_folder(place) / "wheels")
    return msgspec.structs.replace(current, state="done")


def _all(commands: Sequence[Argv], ran: list[Ran], say: Say) -> bool:
    """Run commands until one fails; True if all succeeded."""
    for command in commands:
        say(f"$ {shlex.join(command)}")
        answered = shown(command, say)
        ran.append(Ran(command, answered.returncode, round(answered.seconds, 1)))
        if answered.returncode != 0:
            say((answered.stderr or answered.stdout).strip()[-2000:])
            return False
    return True


def _back(place: Environment, number: int, state: Literal["failed", "undone"], ran: tuple[Ran, ...] = ()) -> Run:
    """Restore what was kept before a run. On a full disk the room for the journal is there only afterwards."""
    current = read_record(place).runs[number]
    if current.state == "done":
        with contextlib.suppress(OSError):
            current = _write(place, number, msgspec.structs.replace(current, state="undoing"))
    for name, tree in enumerate(current.kept):
        restore(_kept(place, number) / str(name), Path(place.prefix, tree))
    if state == "undone":
        remove(_folder(place) / "wheels")
    current = _write(place, number, msgspec.structs.replace(current, state=state, commands=ran or current.commands))
    remove(_kept(place, number))
    return current


def _would_change(place: Environment, commands: Sequence[Argv]) -> bool:
    """True if the commands would remove or install something: the plan may be installed already."""
    if not all(_is_install(one) for one in commands):
        return True
    wanted = [word for one in commands for word in _requirements(one)]
    dry: Argv = (place.executable, "-m", "pip", "install", "--dry-run", "--no-index", "--disable-pip-version-check")
    if place.tool == "uv":
        dry = ("uv", "pip", "install", "--python", place.executable, "--dry-run", "--offline")
    answered = run(tied((*dry, *wanted)), limit=120.0)
    said = answered.stdout + answered.stderr
    return answered.returncode != 0 or "Would install" in said or "Would download" in said


def _is_install(command: Argv) -> bool:
    return "install" in command[:4]


def _is_fetched(command: Argv) -> bool:
    return _is_install(command) and "--no-build-isolation" not in command


def _pip(command: Argv) -> Argv:
    return command[: command.index("install")]


def _arguments(command: Argv) -> Argv:
    return command[command.index("install") + 1 :]


def _requirements(command: Argv) -> list[str]:
    words = _arguments(command)
    return [word for n, word in enumerate(words) if not word.startswith("-") and words[n - 1] not in ("--index-url", "--python")]


def _offline(command: Argv, wheels: str) -> Argv:
    return (*_pip(command), "install", "--no-index", "--find-links", wheels, *_requirements(command))


def _folder(place: Environment) -> Path:
    return Path(place.prefix, FOLDER)


def _kept(place: Environment, number: int) -> Path:
    return _folder(place) / f"before-{number}"


def _now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


def _write(place: Environment, number: int, current: Run) -> Run:
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


@contextlib.contextmanager
def _alone(place: Environment) -> Iterator[None]:
    """Hold the environment's lock. An error of the file system becomes EnvironmentProblem once the environment is restored."""
    try:
        _folder(place).mkdir(exist_ok=True)
        with (_folder(place) / "lock").open("a") as file:
            if not _locked(file.fileno()):
                raise EnvironmentProblem(f"another rocm-doctor fix is running in {place.prefix}; wait for it to finish")
            yield
    except OSError as exc:
        state = "is changed in part; run the same command again" if interrupted(place) else "is as it was"
        raise EnvironmentProblem(f"{exc}; {place.prefix} {state}") from exc


def _locked(descriptor: int) -> bool:
    """Take the lock, which the system gives back when this process ends; False if another process has it."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
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
