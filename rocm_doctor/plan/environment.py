"""A virtual environment: where its interpreter lives, what installs into it, what is installed, and which folders an installer changes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec

from rocm_doctor.bounded import Unreadable, jsons
from rocm_doctor.plan.commands import Argv
from rocm_doctor.workers.process import run

_PROBE = (
    "import json, sys, sysconfig; p = sysconfig.get_paths(); print(json.dumps({'prefix': sys.prefix, "
    "'base': sys.base_prefix, 'executable': sys.executable, 'version': '%d.%d' % sys.version_info[:2], "
    "'folders': [p['purelib'], p['platlib'], p['scripts']]}))"
)


_TIED = (
    "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, 9); "
    "os.getppid() == int(sys.argv[1]) and os.execvp(sys.argv[2], sys.argv[2:])"
)
"""Run a program that Linux kills (PR_SET_PDEATHSIG, SIGKILL) when its parent dies. A wrapper, as code between fork and exec is unsafe."""


class EnvironmentProblem(Exception):
    """The environment cannot be changed, or must not be; the text says why and what would help."""


class Environment(msgspec.Struct, frozen=True):
    """An interpreter and its folders of packages and programs. `tool`: what installs into it."""

    prefix: str
    base: str
    executable: str
    version: str
    folders: tuple[str, ...] = ()
    tool: Literal["pip", "uv"] = "pip"


def environment(python: str) -> Environment:
    """The environment of an interpreter or of a folder. Raises EnvironmentProblem when the interpreter does not answer."""
    place = Path(python)
    folder = next((p for p in (place / "bin" / "python", place / "Scripts" / "python.exe") if p.is_file()), None)
    answered = run(tied((str(folder or python), "-I", "-c", _PROBE)), limit=30.0)
    if answered.returncode != 0:
        why = "; ".join(answered.stderr.strip().splitlines()[-1:]) or answered.state
        raise EnvironmentProblem(f"{python}: no Python found ({why[:200]}): give the path of an interpreter or its environment")
    try:
        return jsons.decode(answered.stdout, Environment)
    except Unreadable as exc:
        raise EnvironmentProblem(f"{python} answered something else: {answered.stdout.strip()[:200]}") from exc


def writable(python: str) -> Environment:
    """The environment of an interpreter, if packages may be installed there. Raises EnvironmentProblem."""
    found = environment(python)
    if found.prefix == found.base:
        raise EnvironmentProblem(
            f"{found.executable} is not in a virtual environment, and a system's Python is never changed; "
            "make an environment: python3 -m venv .venv, then give --python .venv"
        )
    if not os.access(found.prefix, os.W_OK):
        raise EnvironmentProblem(
            f"{found.prefix} is not writable for this user; make an environment of your own: python3 -m venv .venv"
        )
    if run(tied((found.executable, "-c", "import pip")), limit=60.0).returncode == 0:
        return found
    if run(["uv", "--version"], limit=30.0).returncode == 0:
        return msgspec.structs.replace(found, tool="uv")
    raise EnvironmentProblem(f"{found.prefix} has no pip, and uv is not on PATH; run {found.executable} -m ensurepip")


def tied(command: Argv) -> list[str]:
    """The command as one that cannot outlive this process, where the system supports it."""
    tie = (sys.executable, "-I", "-S", "-c", _TIED, str(os.getpid())) if sys.platform == "linux" else ()
    return [*tie, *command]


def trees(place: Environment) -> tuple[str, ...]:
    """The folders that an installer changes, relative to the prefix, each once: packages and programs."""
    prefix = Path(place.prefix).resolve()
    real = dict.fromkeys(Path(folder).resolve() for folder in place.folders)
    return tuple(str(folder.relative_to(prefix)) for folder in real if folder.is_relative_to(prefix) and folder != prefix)


def installed(place: Environment) -> tuple[str, ...]:
    """Every distribution of the environment, as `name==version` or `name @ url`. Raises EnvironmentProblem when pip cannot list them."""
    list_: Argv = ("uv", "pip", "freeze", "--python", place.executable)
    if place.tool == "pip":
        list_ = (place.executable, "-m", "pip", "--disable-pip-version-check", "freeze", "--all")
    answered = run(tied(list_), limit=120.0)
    if answered.returncode != 0:
        raise EnvironmentProblem(f"the packages of {place.prefix} could not be listed: {answered.stderr.strip()[-200:]}")
    return tuple(line.strip() for line in answered.stdout.splitlines() if line.strip() and not line.startswith(("#", "-e")))


def by_name(lines: Iterable[str]) -> dict[str, str]:
    """Lines of a package list by canonical name."""
    return {line.partition("==")[0].partition(" @ ")[0].lower().replace("_", "-"): line for line in lines}
