"""The commands of a finding, completed for the machine: `rocm-doctor plan` with its GPU for a capture, `fix` where that can build a new
environment, a kernel whose package this release has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from rocm_doctor.commands import fill, settings
from rocm_doctor.coords import COORDS
from rocm_doctor.matrix import Matrix
from rocm_doctor.matrix.ranges import all_conditions
from rocm_doctor.matrix.types import KernelPackage
from rocm_doctor.model import Command, Fact, Finding, Purpose, Reading, ReportKind, Row, Snapshot
from rocm_doctor.rules.conditions import holds
from rocm_doctor.rules.findings import comment_out, training_gpus
from rocm_doctor.rules.frameworks import TORCH, frameworks_in_question
from rocm_doctor.rules.logs import Logs

PLAN = "rocm-doctor plan"
_ENVIRONMENTS = ("venv", "uv")
"""Kinds of environments beside which `fix` builds a new one."""


def complete_commands(one: Finding, facts: Snapshot, kind: ReportKind, matrix: Matrix) -> tuple[Command, ...]:
    """The commands of a finding, with every bare `plan` completed.

    On the machine itself `plan` and `fix` stand in place of every command that installs torch: they judge the whole machine. What a log
    or the smoke test shows they do not read, so there they are told to replace what looks sound, and other commands stay.
    """
    if kind not in ("machine", "smoke"):
        plans = [text + _wish(facts) for text in _capture_options(facts) or (PLAN,)]
        found = [
            text for command in one.commands for text in (plans if command.text == PLAN else (complete_plan(command, facts),))
        ]
        return matrix.classify(tuple(dict.fromkeys(found)))
    row = matrix.row(one.row) if one.row else None
    unread = row is not None and any(name.startswith(("log", "smoke.")) for name in row.when)
    replaced = [c.text == PLAN or (not unread and c.purpose == "install" and "torch" in c.packages) for c in one.commands]
    if not any(replaced):
        return one.commands
    first = replaced.index(True)
    ours = tuple(_plan_options(facts, _wish(facts) or (" --upgrade" if unread else "")))
    rest = [(n, c) for n, c in enumerate(one.commands) if not replaced[n] and not _is_done_by_plan(c)]
    return matrix.classify((*(c for n, c in rest if n < first), *ours, *(c for n, c in rest if n > first)))


def _is_done_by_plan(command: Command) -> bool:
    """True for a command that `plan` and `fix` make needless: it removes or pins torch and Triton."""
    return command.purpose == "pin" or (command.purpose == "remove" and command.packages[:1] in (("torch",), ("triton",)))


def complete_plan(command: Command, facts: Snapshot) -> Command | str:
    """A `rocm-doctor plan` with the frameworks of the report added; any other command as it is."""
    return command.text + _wish(facts) if command.purpose == "plan" and " --with " not in command.text else command


def _wish(facts: Snapshot) -> str:
    """The option of `plan` for the frameworks that the report is about; none where torch is among them."""
    found = frameworks_in_question(facts)
    return "" if TORCH in found else f" --with {','.join(one.key for one in found)}"


def _plan_options(facts: Snapshot, options: str) -> Iterator[str]:
    if not _capture_options(facts):
        yield PLAN + " --gpu NAME" + options
        return
    yield PLAN + options
    if facts.value("python.env") == "doctor":
        yield "rocm-doctor fix" + options + " --apply"
    elif facts.value("python.env") in _ENVIRONMENTS:
        yield from fill("rocm-doctor fix" + options + " --python {path} --apply", path=facts.value("python.prefix"))


_PYTHON = "torch|python|pip install|pip3|pip list|.py|conda|venv|jax|tensorflow"
"""What a text mentions that is about a program in Python."""
_OF_PYTHON: tuple[Purpose, ...] = ("install", "remove", "pin", "python")


def name_startup_files(one: Finding, facts: Snapshot, matrix: Matrix) -> Finding:
    """The finding with more evidence and commands. Evidence: lines of start-up files that set a variable which its commands
    change. Commands: they comment out such a line of a variable to unset, which the next login would set again."""
    changed = {name: value for command in one.commands for name, value in settings(command).items()}
    read = {name: facts.get(f"startup.{name}").readings for name in changed}
    gone = [text for name, value in changed.items() if value is None for reading in read[name] for text in _comment_out(reading)]
    places = tuple(reading for readings in read.values() for reading in readings)
    if not places:
        return one
    unset = max((n for n, c in enumerate(one.commands) if settings(c)), default=-1) + 1
    commands = (*one.commands[:unset], *matrix.classify(gone), *one.commands[unset:])
    return msgspec.structs.replace(one, evidence=(*one.evidence, *places), commands=commands)


_OF_USER = "sed -i '{value}s/^/# /' ~/{path}"


def _comment_out(line: Reading) -> tuple[str, ...]:
    """The command that turns a line of a start-up file into a comment."""
    place, (owner, _, name) = line.place.removeprefix("line "), line.artifact.partition("/")
    if owner == "user":
        return tuple(text.replace("~//", "~/") for text in fill(_OF_USER, value=place, path=f"/{name}"))
    return comment_out(place, f"/{line.artifact}")


def speaks_of_python(facts: Snapshot, logs: Logs, matrix: Matrix) -> bool:
    """True if a known fact is about Python or a package, or a line is. Always False for a program with a GPU runtime of its own
    (Ollama): commands for Python do nothing there."""
    program = facts.value("said.program")
    if any(one.key == program and one.own_runtime for one in matrix.applications):
        return False
    read = any(name.startswith(("torch.", "python.", "pkg.", "jax.")) and facts.value(name) for name in facts.facts)
    return read or logs.find(_PYTHON) is not None


def drop_python(commands: Iterable[Command]) -> tuple[Command, ...]:
    """The commands that do not run Python, its installers, or the smoke test in Python."""
    return tuple(one for one in commands if one.purpose not in _OF_PYTHON)


def use_examined(commands: Iterable[Command], facts: Snapshot, kind: ReportKind, matrix: Matrix) -> tuple[Command, ...]:
    """The commands, with `python -c` as the interpreter that was examined: the one of the shell may be another."""
    here = kind in ("machine", "smoke") and facts.value("platform") != "windows"
    python = next(iter(fill("{path}/bin/python", path=facts.value("python.prefix")) if here else ()), "python")
    return tuple(
        matrix.classify([python + one.text.removeprefix("python")])[0] if one.text.startswith("python -c ") else one
        for one in commands
    )


def _capture_options(facts: Snapshot) -> tuple[str, ...]:
    """The `plan` command for another machine; none if the target of its first GPU is not known: that of another GPU would
    mislead."""
    gfx = next((gpu.value("gfx") for _, gpu in training_gpus(facts)), None)
    if not isinstance(gfx, str):
        return ()
    system = "windows" if facts.value("platform") == "windows" else "wsl" if facts.value("wsl") is True else ""
    python = facts.value("python.version")
    minor = ".".join(python.split(".")[:2]) if isinstance(python, str) else ""
    template = PLAN + " --gpu {gfx}" + (f" --os {system}" if system else "") + (" --python {version}" if minor else "")
    return fill(template, gfx=gfx, version=minor)


_RELEASE = "$(lsb_release -rs)"


def offer_reachable_kernel(made: Finding, row: Row, snapshot: Snapshot, matrix: Matrix) -> Finding:
    """The finding with commands that lead to a kernel without the fault of its row. If the kernel package of this release has the
    fault too, the upgrade to the next release comes before it; if that has it too, the package is not offered."""
    affected, os = all_conditions(row).get("kernel"), snapshot.value("os")
    if not affected or not isinstance(os, str):
        return made
    packages = matrix.section("kernels", KernelPackage)
    here = next((one for one in packages if os.startswith((one.os, *one.derivatives))), None)
    if here is None:  # no package of that name is known to be there
        kept = tuple(one for one in made.commands if _RELEASE not in one.text)
        words = f"No newer kernel package of {os} is known here. Install a kernel of its backports, a newer release of the system, or AMD's driver module."
        return msgspec.structs.replace(made, commands=kept, advice=made.advice if kept else words)
    stuck = [one for one in made.commands if _installs(one, here)]
    if not stuck or not _has_fault(affected, here):
        return msgspec.structs.replace(made, commands=tuple(_fill_release(one, here) for one in made.commands))
    advice, commands, sources = f"No kernel package of {here.os} is newer than {here.kernel}. ", [], here.sources
    after = next((one for one in packages if one.os == here.successor and not _has_fault(affected, one)), None)
    if after:
        advice += f"Upgrade to {after.os} and install {after.name}, which brings {after.kernel}; or install AMD's driver module."
        commands = [msgspec.structs.replace(stuck[0], text=here.upgrade), *stuck]
        sources += after.sources
    else:
        advice += "Install AMD's driver module, or another release of the system."
    others = tuple(one for one in made.commands if one not in stuck)
    return msgspec.structs.replace(
        made, advice=advice, commands=(*commands, *others), sources=tuple(dict.fromkeys((*made.sources, *sources)))
    )


def _fill_release(command: Command, one: KernelPackage) -> Command:
    """The command with the release that the package is named for; lsb_release of a derivative prints another."""
    text = command.text.replace(_RELEASE, one.release)
    return command if text == command.text else msgspec.structs.replace(command, text=text, distributions=())


def _installs(command: Command, one: KernelPackage) -> bool:
    return one.name in _fill_release(command, one).text.split()


def _has_fault(affected: str, one: KernelPackage) -> bool:
    return holds(COORDS["kernel"].kind, affected, Fact(one.kernel)) is True
