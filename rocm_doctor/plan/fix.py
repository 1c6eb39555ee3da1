"""Apply a plan inside a virtual environment so that it can be taken back at any moment.

Only pip and uv are started, only for an interpreter in an environment of its own: drivers, system files and the system's Python
are never touched. The order makes each step safe to interrupt: download what will be installed; keep what is there as a tree of
links (rocm_doctor.plan.keep); note in the journal that the environment is about to change; change it. An interruption, a failed
command or a full disk leads back to what was there, at once, or with the next `fix` if the doctor itself was killed.
"""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from rocm_doctor.plan.commands import Argv
from rocm_doctor.plan.environment import Environment, EnvironmentProblem, installed, tied, trees
from rocm_doctor.plan.installer import Say, ended_by_signals, shown
from rocm_doctor.plan.journal import Ran, Run, folder, interrupted, kept_in, last_run, read_record, timestamp, write
from rocm_doctor.plan.keep import keep, remove, restore
from rocm_doctor.workers.process import run

_INTERRUPTED = ("fetching", "changing", "undoing")


def steps(place: Environment, commands: Sequence[Argv]) -> tuple[list[Argv], list[Argv]]:
    """What downloads, and what then changes the environment without a network.

    Packages that are compiled here are fetched when they are built: their setup imports the new torch. uv needs no download
    of its own: it fetches everything before it removes anything.
    """
    if place.tool == "uv":
        return [], list(commands)
    wheels = str(folder(place) / "wheels")
    fetch = [
        (*_pip(one), "download", "-d", wheels, "--find-links", wheels, *_arguments(one)) for one in commands if _is_fetched(one)
    ]
    return fetch, [_offline(one, wheels) if _is_fetched(one) else one for one in commands]


def apply(place: Environment, commands: Sequence[Argv], stack: str, say: Say) -> Run:
    """Run the commands in order, or leave the environment as it was. Raises EnvironmentProblem where nothing could be begun."""
    with _alone(place), ended_by_signals():
        _recover(place, say)
        if not _would_change(place, commands):
            say("everything is installed already")
            now = installed(place)
            return Run(timestamp(), stack, "done", now, now)
        return _applied(place, commands, Run(timestamp(), stack, "fetching", installed(place), kept=trees(place)), say)


def undo(place: Environment, say: Say) -> Run:
    """Undo the last run. Raises EnvironmentProblem if there is none."""
    with _alone(place), ended_by_signals():
        back = _recover(place, say)
        if back is not None:
            return back
        runs = read_record(place).runs
        number = last_run(place, runs)
        if not kept_in(place, number).is_dir():
            raise EnvironmentProblem(f"{kept_in(place, number)} is gone: without it this run cannot be undone")
        return _back(place, number, "undone")


def resume(place: Environment, say: Say) -> None:
    """Bring back what was there before an interrupted run, so that a plan is made for the environment as it will be."""
    if interrupted(place):
        with _alone(place), ended_by_signals():
            _recover(place, say)


def _recover(place: Environment, say: Say) -> Run | None:
    """Undo an interrupted run, and return it; None if there was none."""
    runs = read_record(place).runs
    number = next((n for n, one in enumerate(runs) if one.state in _INTERRUPTED), None)
    if number is None:
        return None
    if runs[number].state == "fetching":
        remove(kept_in(place, number))
        write(place, number, msgspec.structs.replace(runs[number], state="failed"))
        return None
    say(f"the run of {runs[number].started} was interrupted: bringing back what was there before it")
    return _back(place, number, "undone" if runs[number].state == "undoing" else "failed")


def _applied(place: Environment, commands: Sequence[Argv], current: Run, say: Say) -> Run:
    number = len(read_record(place).runs)
    fetch, change = steps(place, commands)
    write(place, number, current)
    ran: list[Ran] = []
    if not _all(fetch, ran, say):
        return write(place, number, msgspec.structs.replace(current, state="failed", commands=tuple(ran), after=current.before))
    for name, tree in enumerate(current.kept):
        keep(Path(place.prefix, tree), kept_in(place, number) / str(name))
    current = write(place, number, msgspec.structs.replace(current, state="changing"))
    try:
        worked = _all(change, ran, say)
        current = msgspec.structs.replace(current, commands=tuple(ran), after=installed(place) if worked else current.before)
        if worked:
            write(place, number, msgspec.structs.replace(current, state="done"))
    except BaseException:
        say("interrupted: bringing back what was there")
        _back(place, number, "failed")
        raise
    if not worked:
        return _back(place, number, "failed", tuple(ran))
    remove(folder(place) / "wheels")
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
            current = write(place, number, msgspec.structs.replace(current, state="undoing"))
    for name, tree in enumerate(current.kept):
        restore(kept_in(place, number) / str(name), Path(place.prefix, tree))
    if state == "undone":
        remove(folder(place) / "wheels")
    current = write(place, number, msgspec.structs.replace(current, state=state, commands=ran or current.commands))
    remove(kept_in(place, number))
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


@contextlib.contextmanager
def _alone(place: Environment) -> Iterator[None]:
    """Hold the environment's lock. An error of the file system becomes EnvironmentProblem once the environment is restored."""
    try:
        folder(place).mkdir(exist_ok=True)
        with (folder(place) / "lock").open("a") as file:
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
