"""A stack as requirements and as the commands that install it. Every command is a list of words; text is made of it by shlex."""

from __future__ import annotations

import re
import shlex
from collections.abc import Container, Iterable
from typing import Literal

from rocm_doctor.model import Shell
from rocm_doctor.plan.candidates import Candidate
from rocm_doctor.plan.machine import TORCH, Machine
from rocm_doctor.plan.search import Stack
from rocm_doctor.plan.stack_judge import companions, local_version

Tool = Literal["pip", "uv"]
Kind = Literal["plain", "alone", "built"]
KINDS: tuple[Kind, ...] = ("plain", "alone", "built")
Argv = tuple[str, ...]
"""A program and its arguments."""


def torch_requirements(candidate: Candidate, machine: Machine) -> list[str]:
    """torch and its companions, pinned to this build where it has a number of its own."""
    extra = f"[{','.join(f'device-{gfx}' for gfx in machine.targets)}]" if candidate.index.extras else ""
    build = candidate.build
    pins = [_pin("torch", extra, build.local or build.torch, candidate)]
    pins += [_pin("torchvision", extra, local_version(build.torchvision, build), candidate)] if build.torchvision else []
    return pins + ([_pin("torchaudio", "", local_version(build.torchaudio, build), candidate)] if build.torchaudio else [])


def _pin(name: str, extra: str, version: str, candidate: Candidate) -> str:
    return f"{name}{extra}=={version}" + (".*" if candidate.index.nightly else "")


def package_requirements(stack: Stack, kind: Kind = "plain", names: Container[str] | None = None) -> list[str]:
    """Pinned requirements for the packages of a stack of one kind: `plain`; `alone`, installed without dependencies; `built`,
    compiled here. `names`: only these."""
    wanted = ((name, release) for name, release in stack.packages.items() if names is None or name in names)
    kinds = ((name, release, "built" if release.built else "alone" if release.alone else "plain") for name, release in wanted)
    return [f"{name}=={release.version}" for name, release, of in kinds if of == kind]


def install(stack: Stack, machine: Machine, tool: Tool = "pip", python: str = "", drop: Iterable[str] = ()) -> list[Argv]:
    """What to run, in this order; what is installed already is left out. The pin of torch goes into every command, so that none of
    them can replace it.

    `python`: the interpreter to install for; empty for the one of the shell. `drop`: installed packages that go.
    """
    candidate = stack.candidate
    here = machine.installed_version if machine.probed else _nothing
    same = machine.has_build(candidate.build)
    torch = [] if same and machine.intact else torch_requirements(candidate, machine)
    add, remove = verbs(tool, python)
    other_triton = [name for name in TORCH if "triton" in name and name != candidate.build.triton.partition("==")[0] and torch]
    gone = [*(name for name in TORCH if here(name) and (not same or name in other_triton)), *drop]
    commands: list[Argv] = [(*remove, *gone)] if gone else []
    commands += [(*add, *torch, "--index-url", candidate.index.url)] if torch else []
    pin = _pin("torch", "", candidate.build.local or candidate.build.torch, candidate)
    wanted = {name: release for name, release in stack.packages.items() if here(name) != release.version}
    plain, alone, built = (package_requirements(stack, kind, wanted) for kind in KINDS)
    plain += dict.fromkeys(name for release in wanted.values() if release.alone for name in release.build_with)
    commands += [(*add, pin, *plain)] if plain else []
    commands += [(*add, "--no-deps", *alone)] if alone else []
    with_ = dict.fromkeys(name for release in wanted.values() if release.built for name in release.build_with)
    commands += [(*add, *with_)] if with_ else []
    commands += [(*add, "--no-build-isolation", pin, *built)] if built else []
    return commands


def _nothing(_: str) -> str:
    return ""


def verbs(tool: Tool, python: str) -> tuple[Argv, Argv]:
    """The beginnings of the commands that install and that remove packages, for an interpreter (empty: that of the shell)."""
    if tool == "uv":
        at = ("--python", python) if python else ()
        return ("uv", "pip", "install", *at), ("uv", "pip", "uninstall", *at)
    pip = (python, "-m", "pip") if python else ("pip",)
    return (*pip, "install"), (*pip, "uninstall", "-y")


def replacements(stack: Stack, machine: Machine) -> list[str]:
    """Installed packages that the plan replaces, as text: `torch 2.9.1+rocm6.3 in place of 2.5.0+cu124`."""
    build = stack.candidate.build
    packages = {name: release.version for name, release in stack.packages.items()}
    wanted = {"torch": build.local or build.torch, **companions(stack.candidate), **packages}
    pairs = [(name, machine.installed_version(name), version) for name, version in wanted.items() if version]
    return [f"{name} {version} in place of {mine}" for name, mine, version in pairs if mine and mine != version]


def target_interpreter(machine: Machine) -> str:
    """The interpreter to install for: that of the new environment that a plan creates, or the examined one; empty for the shell's."""
    if machine.probed and not machine.creates:
        return machine.interpreter
    at = r".venv\Scripts\python.exe" if machine.system == "windows" else ".venv/bin/python"
    return at if machine.python else ""


def join_words(command: Argv, shell: Shell) -> str:
    """The command as one line of that shell. PowerShell takes text in single quotes as it is."""
    if shell != "powershell":
        return shlex.join(command)
    return " ".join(word if re.fullmatch(r"[\w.:/\\=+-]+", word) else "'" + word.replace("'", "''") + "'" for word in command)


def create_environment(machine: Machine) -> list[Argv]:
    """The command that creates the new environment; none if an existing one is used or the Python is not known. Nothing is
    activated: later commands name its interpreter."""
    if (machine.probed and not machine.creates) or not machine.python:
        return []
    python = ("py", f"-{machine.python}") if machine.system == "windows" else (f"python{machine.python}",)
    return [(*python, "-m", "venv", ".venv")]


def verify_commands(machine: Machine) -> list[Argv]:
    """Commands that verify the installation."""
    python = target_interpreter(machine)
    commands = ("check", "smoke") if machine.system != "windows" else ("check",)
    return [("rocm-doctor", command, *(("--python", python) if python else ())) for command in commands]
