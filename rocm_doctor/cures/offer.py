"""The commands that a finding shows: the one place that decides them.

Rows, rules, diagnoses and cures propose commands. This module replaces those that `plan` and `fix` do better, drops those that have
no effect on this machine, and writes the rest for its shell and interpreter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from rocm_doctor.binaries.targets import covers
from rocm_doctor.commands import changed_variables, fill, select_commands, settings
from rocm_doctor.cures.kernels import offer_reachable_kernel
from rocm_doctor.cures.values import subject_gpu
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Command, Finding, Reading, ReportKind, Snapshot
from rocm_doctor.rules.build import python_series
from rocm_doctor.rules.findings import comment_out, training_gpus
from rocm_doctor.rules.frameworks import PLAN, TORCH, Framework, frameworks_in_question, is_usable
from rocm_doctor.rules.logs import Logs

_ENVIRONMENTS = ("venv", "uv")
"""Kinds of environments beside which `fix` builds a new one."""
_PYTHON = "torch|python|pip install|pip3|pip list|.py|conda|venv|jax|tensorflow"
"""What a text mentions that is about a program in Python."""


def offer_commands(
    findings: Iterable[Finding], facts: Snapshot, kind: ReportKind, matrix: Matrix, *, python: bool
) -> list[Finding]:
    """The findings with the commands that this machine can use. `python`: the report is about a program in Python."""
    return drop_contradictions(_offer(finding, facts, kind, matrix, python) for finding in findings)


def speaks_of_python(facts: Snapshot, logs: Logs, matrix: Matrix) -> bool:
    """True if a known fact is about Python or a package, or a line is. Always False for a program with a GPU runtime of its own
    (Ollama): commands for Python do nothing there."""
    program = facts.value("said.program")
    if any(application.key == program and application.own_runtime for application in matrix.applications):
        return False
    read = any(name.startswith(("torch.", "python.", "pkg.", "jax.")) and facts.value(name) for name in facts.facts)
    return read or logs.find(_PYTHON) is not None


def _offer(finding: Finding, facts: Snapshot, kind: ReportKind, matrix: Matrix, python: bool) -> Finding:
    here = kind in ("machine", "smoke")
    offered = offer_reachable_kernel(finding, facts, matrix)
    if here:
        offered = _replace_plan(_plan_packages(offered, facts, matrix), facts, matrix)
    elif kind == "capture" and offered.confidence == "low":
        # A hypothesis on another machine's text changes nothing there: a wrong change costs more than a right one helps.
        harmless = tuple(c for c in offered.commands if c.effect == "reads" or c.purpose == "variable")
        offered = msgspec.structs.replace(offered, commands=harmless)
    commands = plan_and_fix(offered, facts, matrix) if here else complete_plans(offered.commands, facts, matrix)
    examined = _examined_python(facts) if here and all(c.purpose != "fix" for c in commands) else ""
    verify = dict.fromkeys(check_command(c, facts, matrix, examined) for c in offered.verify)
    settle = [check_command(offered.settle, facts, matrix, examined)] if offered.settle else []
    system, os_name = (value if isinstance(value, str) else "" for value in map(facts.value, ("platform", "os")))

    def usable(commands: Iterable[Command]) -> tuple[Command, ...]:
        return select_commands((c for c in commands if is_usable(c, facts, python)), system, os_name)

    offered = msgspec.structs.replace(
        offered, commands=usable(commands), verify=usable(verify), settle=next(iter(usable(settle)), None)
    )
    return name_startup_files(offered, facts, matrix) if here else offered


def drop_contradictions(findings: Iterable[Finding]) -> list[Finding]:
    """The findings without the commands that set a variable otherwise than the command of a finding before them."""
    stated: dict[str, str | None] = {}
    left = []
    for finding in findings:
        kept = [c for c in finding.commands if all(stated.get(name, value) == value for name, value in settings(c).items())]
        for command in kept:
            stated = {**settings(command), **stated}
        left.append(finding if len(kept) == len(finding.commands) else msgspec.structs.replace(finding, commands=tuple(kept)))
    return left


def plan_and_fix(finding: Finding, facts: Snapshot, matrix: Matrix) -> tuple[Command, ...]:
    """The commands of a finding on this machine: `plan` and `fix` take the place of every command that installs, removes or pins
    torch. They read neither logs nor the smoke test. So for a finding of these only a `plan` is replaced, by one that replaces
    what looks sound (`--upgrade`)."""
    row = matrix.row(finding.row) if finding.row else None
    unread = row is not None and any(name.startswith(("log", "smoke.")) for name in row.when)
    replaced = [
        c for c in finding.commands if c.text == PLAN or (not unread and c.purpose == "install" and "torch" in c.packages)
    ]
    if not replaced:
        return finding.commands
    ours = matrix.classify(_plan_commands(facts, _frameworks_option(facts) or (" --upgrade" if unread else "")))
    kept = (ours if c in replaced else () if _is_done_by_plan(c) else (c,) for c in finding.commands)
    return tuple(dict.fromkeys(c for some in kept for c in some))


def _is_done_by_plan(command: Command) -> bool:
    """True for a command that `plan` and `fix` make needless: it pins versions, or removes torch or Triton."""
    return command.purpose == "pin" or (command.purpose == "remove" and command.packages[:1] in (("torch",), ("triton",)))


def _plan_commands(facts: Snapshot, options: str) -> Iterator[str]:
    if not _plan_elsewhere(facts):
        yield PLAN + " --gpu NAME" + options
        return
    yield PLAN + options
    if facts.value("python.env") == "doctor":
        yield "rocm-doctor fix" + options + " --apply"
    elif facts.value("python.env") in _ENVIRONMENTS:
        yield from fill("rocm-doctor fix" + options + " --python {path} --apply", path=facts.value("python.prefix"))


def complete_plans(commands: Iterable[Command], facts: Snapshot, matrix: Matrix) -> tuple[Command, ...]:
    """The commands for another machine: a bare `plan` names its GPU, system and Python, each `plan` the frameworks of the report."""
    option, elsewhere = _frameworks_option(facts), _plan_elsewhere(facts) or PLAN
    texts = ((elsewhere if c.text == PLAN else c.text) + option if c.purpose == "plan" else c for c in commands)
    return tuple(dict.fromkeys(matrix.classify(texts)))


def _frameworks_option(facts: Snapshot) -> str:
    """The option of `plan` for the frameworks that the report is about; none where torch is among them."""
    frameworks = frameworks_in_question(facts)
    return "" if TORCH in frameworks else f" --with {','.join(framework.key for framework in frameworks)}"


def _plan_elsewhere(facts: Snapshot) -> str:
    """The `plan` command for another machine; empty if the target of its first GPU is not known: that of another GPU would mislead."""
    gfx = next((gpu.value("gfx") for _, gpu in training_gpus(facts)), None)
    if not isinstance(gfx, str):
        return ""
    system = "windows" if facts.value("platform") == "windows" else "wsl" if facts.value("wsl") is True else ""
    minor = python_series(facts)
    template = PLAN + " --gpu {gfx}" + (f" --os {system}" if system else "") + (" --python {version}" if minor else "")
    return next(iter(fill(template, gfx=gfx, version=minor)), "")


def check_command(command: Command, facts: Snapshot, matrix: Matrix, examined: str) -> Command:
    """A command that verifies or settles: with the program of the report's framework in place of torch's, run by the examined
    interpreter (empty: the shell's)."""
    frameworks = frameworks_in_question(facts)
    if TORCH not in frameworks and "torch" in command.packages:
        (command,) = matrix.classify([frameworks[0].devices])
    program, _, rest = command.text.partition(" ")
    return matrix.classify([f"{examined} {rest}"])[0] if examined and program == "python" else command


def _examined_python(facts: Snapshot) -> str:
    """The interpreter that was examined; empty on Windows and where it is not known. The one of the shell may be another."""
    unix = facts.value("platform") != "windows"
    return next(iter(fill("{path}/bin/python", path=facts.value("python.prefix")) if unix else ()), "")


def _plan_packages(finding: Finding, facts: Snapshot, matrix: Matrix) -> Finding:
    """The finding with `plan` in place of each command that installs another release of packages that `plan` chooses: its release fits
    the rest of the machine, too."""
    if finding.severity == "note" or all(c.purpose != "install" for c in finding.commands):
        return finding
    from rocm_doctor.plan.catalog import load_catalog

    packages = load_catalog(matrix).packages.items()
    planned = {name for name, package in packages if package.releases and isinstance(facts.value(f"pkg.{name}"), str)}
    texts = (PLAN if c.purpose == "install" and c.packages and planned.issuperset(c.packages) else c for c in finding.commands)
    return msgspec.structs.replace(finding, commands=tuple(dict.fromkeys(matrix.classify(texts))))


def _replace_plan(finding: Finding, facts: Snapshot, matrix: Matrix) -> Finding:
    """The finding without `plan` and what goes with it for a GPU that no build serves, and with what is known instead."""
    gpu = subject_gpu(finding, facts)
    gfx = str(gpu.value("gfx")) if gpu else ""
    if gfx not in matrix.gfx or all(command.text != PLAN for command in finding.commands):
        return finding
    frameworks = frameworks_in_question(facts)
    if frameworks and TORCH not in frameworks:
        return _advise_instead(finding, frameworks[0], facts, matrix)
    if has_build(gfx, matrix):
        return finding
    wheels = [fact for fact in matrix.facts if fact.subject == "community wheels" and gfx in fact.gfx]
    community = "".join(f" Neither AMD nor PyTorch builds or tests these: {fact.words}" for fact in wheels)
    sources = tuple(fact.sources[0] for fact in wheels)
    advice = (
        f"No torch of a known index has code for {gfx}, so there is nothing to install; a torch for the CPU can stay.{community}"
    )
    grade = wheels[0].grade if wheels else finding.cure_grade
    return msgspec.structs.replace(finding, advice=advice, commands=(), cure_grade=grade, cure_sources=sources)


def _advise_instead(finding: Finding, framework: Framework, facts: Snapshot, matrix: Matrix) -> Finding:
    """The finding about JAX or TensorFlow: with what would run in its place where no release is for this machine."""
    from rocm_doctor.plan.catalog import load_catalog
    from rocm_doctor.plan.frameworks import framework_plan
    from rocm_doctor.plan.machine import machine_from_snapshot

    machine = machine_from_snapshot(facts)
    plan = framework_plan(framework.key, machine, load_catalog(matrix)) if machine else None
    if plan is None or plan.release:
        return finding
    advice = " ".join([plan.headline, *(f"What would run: {words}." for words, _ in plan.instead)])
    return msgspec.structs.replace(finding, advice=advice, commands=matrix.classify([command for _, command in plan.instead]))


def has_build(gfx: str, matrix: Matrix) -> bool:
    """True if a build of the catalog has code for the target, or for a sibling that an override reaches."""
    from rocm_doctor.plan.catalog import load_catalog

    siblings = [entry.value for entry in matrix.gfx[gfx].overrides if entry.verdict in ("sibling", "faulty")]
    catalog = load_catalog(matrix)
    for build in matrix.torch:
        index = catalog.build_index(build)
        targets = build.gfx or (index.devices if index else ())
        if any(covers(targets, gfx, override) is True for override in (None, *siblings)):
            return True
    return False


def name_startup_files(finding: Finding, facts: Snapshot, matrix: Matrix) -> Finding:
    """The finding with more evidence and commands. Evidence: lines of start-up files that set a variable which its commands
    change. Commands: they comment out such a line of a variable to unset, which the next login would set again."""
    changed = changed_variables(finding.commands)
    read = {name: facts.get(f"startup.{name}").readings for name in changed}
    gone = [text for name, value in changed.items() if value is None for reading in read[name] for text in _comment_out(reading)]
    places = tuple(reading for readings in read.values() for reading in readings)
    if not places:
        return finding
    unset = max((n for n, c in enumerate(finding.commands) if settings(c)), default=-1) + 1
    commands = (*finding.commands[:unset], *matrix.classify(gone), *finding.commands[unset:])
    return msgspec.structs.replace(finding, evidence=(*finding.evidence, *places), commands=commands)


_OF_USER = "sed -i '{value}s/^/# /' ~/{path}"


def _comment_out(line: Reading) -> tuple[str, ...]:
    """The command that turns a line of a start-up file into a comment."""
    place, (owner, _, name) = line.place.removeprefix("line "), line.artifact.partition("/")
    if owner == "user":
        return tuple(text.replace("~//", "~/") for text in fill(_OF_USER, value=place, path=f"/{name}"))
    return comment_out(place, f"/{line.artifact}")
