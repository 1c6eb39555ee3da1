"""What commands start from: the matrix, the interpreter, a GPU's target, an earlier report. What cannot be read is a usage error that names
the remedy."""

from __future__ import annotations

import datetime
import os
import shlex
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Literal

import click

from rocm_doctor.bounded import files
from rocm_doctor.model import Report

OLD = 60
"""Days after which `check` prints the age of the matrix."""


class InputError(click.ClickException):
    """Invalid input (a path, a row): the message names it and the remedy; exit code 2."""

    exit_code = 2


@contextmanager
def input_errors(name: object, remedy: str = "") -> Iterator[None]:
    """Within this block an input that cannot be read, or is not what it should be, is an InputError about `name`."""
    try:
        yield
    except (OSError, ValueError) as exc:
        why = exc.strerror if isinstance(exc, OSError) and exc.strerror else exc
        raise InputError(f"{name}: {why}{remedy and f'; {remedy}'}") from exc


def load_matrix() -> Any:
    """The matrix; a note says once where a newer one is installed that cannot be used."""
    from rocm_doctor.matrix import load

    matrix = load()
    _say_once(matrix.refused and f"note: {matrix.refused}; the matrix {matrix.version} of the tool is used")
    return matrix


def matrix_age(matrix: Any) -> str:
    """`matrix 2026.11.22, 12 days old`; without the age if the matrix has no calendar version."""
    days = matrix.age(datetime.date.today())
    age = "" if days is None else ", of today" if days < 1 else f", {days} day{'s' if days > 1 else ''} old"
    return f"matrix {matrix.version}{age}"


def say_when_old(matrix: Any) -> None:
    """Print one note on standard error if the matrix is older than OLD days, with the command that installs a newer one beside this tool."""
    if (matrix.age(datetime.date.today()) or 0) > OLD:
        from importlib.util import find_spec

        from rocm_doctor.matrix.installed import NAME

        python = shlex.quote(sys.executable)
        pip = f"{python} -m pip install" if find_spec("pip") else f"uv pip install --python {python}"
        click.echo(f"note: {matrix_age(matrix)}: newer releases and fixes come with: {pip} --upgrade {NAME}", err=True)


def interpreter(python: str | None) -> str | None:
    """The interpreter to examine: the one that --python names (a path, a name on PATH, an environment's folder), else that of the
    active environment. None: our own. Raises InputError if there is none."""
    if python is None:
        return _active_interpreter()
    import shutil

    from rocm_doctor.sources.live.python import locate
    from rocm_doctor.workers.process import run

    path = shutil.which(python) or python
    examined = locate(path, Path("/"), os.environ)
    if isinstance(examined, str):
        raise InputError(f"--python {examined}")
    program = examined.executable if Path(path).is_dir() else path
    trial = run([program, "-c", "print(8 * 2)"], limit=20)
    if trial.stdout.strip() != "16":
        why = trial.stderr.strip().rpartition("\n")[2] or trial.state
        raise InputError(f"--python {python}: no Python found: {program} does not start ({why[:200]}): make its environment anew")
    return program


def _active_interpreter() -> str | None:
    """The interpreter of the active environment; None if it is ours (after pipx or uvx it is not), if there is none, and under
    `python -m rocm_doctor`. Says on stderr what is examined."""
    from rocm_doctor.sources.live.python import active_folder, active_interpreter, own_is_active

    folder, program = active_folder(os.environ), active_interpreter(os.environ)
    if folder and not program and not own_is_active(os.environ):
        what = "has no Python" if folder.is_dir() else "is not there"
        _say_once(f"{folder}, the active environment, {what}; examining the doctor's own")
    program = None if Path(sys.argv[0]).name == "__main__.py" else program
    if program:
        _say_once(f"examining {program}, of the active environment; --python examines another")
    return program


@cache
def _say_once(words: str) -> None:
    if words:
        click.echo(words, err=True)


def this_system(release: Path = Path("/proc/sys/kernel/osrelease")) -> Literal["linux", "windows", "wsl"]:
    """The system that runs the doctor; WSL by the release of its kernel."""
    if sys.platform == "win32":
        return "windows"
    return "wsl" if release.exists() and "microsoft" in release.read_text(errors="replace").lower() else "linux"


def resolve_gpu(text: str, matrix: Any, where: str = "") -> str:
    """The gfx target that `text` names, as a target or as a product. Raises InputError if it names none or several; the message
    lists the candidates, or all targets of the catalog. `where` is put directly behind the quoted text in the message, so it
    begins with a blank."""
    from rocm_doctor.facts.enrich import find_target

    try:
        return find_target(text, matrix, where)
    except ValueError as exc:
        raise InputError(str(exc)) from exc


def read_report_file(path: Path) -> Report:
    """The report in a JSON file; InputError for another file."""
    from rocm_doctor.reports.json import read

    with input_errors(f"{path}: not a report of rocm-doctor", f"make one with `check --format json -o {path.name}`"):
        return read(files.read(path))


@contextmanager
def notice_when_slow(words: str, after: float = 2.0) -> Iterator[None]:
    """Print `words` on standard error if the block takes longer than `after` seconds.

    A signal says it, and nothing where there is none: a thread would keep the block's children from naming their group before they start
    (`guard.single_threaded`), and one of them could outlive a doctor that is killed.
    """
    import threading

    if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGALRM, lambda *_: click.echo(words, err=True))
    signal.setitimer(signal.ITIMER_REAL, after)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before or signal.SIG_DFL)
