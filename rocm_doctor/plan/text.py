"""A plan for the terminal: commands, reasons and sources; or what would have to change, if nothing is known to work."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from rocm_doctor.model import GRADES
from rocm_doctor.plan.answer import Plan
from rocm_doctor.plan.commands import environment, install, interpreter, joined, replaces, verify
from rocm_doctor.plan.stacks import Stack
from rocm_doctor.plan.variables import Variable, lines

WIDTH = 100
REASONS = 2
"""Reasons for the first stack that are shown without -v."""


def text(plan: Plan, *, verbose: bool = False, tool: str = "pip") -> str:
    """The plan as text; with `verbose` also why each other build is ruled out."""
    body = _found(plan, tool, verbose) if plan.best else _nothing(plan)
    return "\n".join([*body, *(_why_not(plan) if verbose or not plan.best else ())]) + "\n"


def _found(plan: Plan, tool: str, verbose: bool) -> Iterator[str]:
    stack = plan.stacks[0]
    yield from _wrap(f"{stack.name} for {plan.machine.words()} ({stack.grade})", "", "  ")
    for said in sorted(stack.candidate.said, key=lambda one: (not one.known_good, GRADES.index(one.grade)))[
        : None if verbose else REASONS
    ]:
        yield from _wrap(f"{said.words} ({said.grade}; {said.source})", "  because ", "          ")
    for note in stack.notes:
        yield from _wrap(f"{note.title} ({next(iter(note.sources), '')})", "  note    ", "          ")
    for name, one in stack.packages.items():
        if one.built and plan.machine.gfx not in one.native and one.env:
            yield f"  note    {name} is built here with its Triton back end; hipcc is not needed"
        elif one.built:
            yield f"  note    {name} is compiled on this machine, with hipcc and ROCm's development files"
    if stack.candidate.index.nightly:
        yield from _wrap(stack.candidate.index.words, "  note    ", "          ")
    yield from (line for said in plan.remarks for line in _wrap(said, "  note    ", "          "))
    yield from (line for said in replaces(stack, plan.machine) for line in _wrap(said, "  replaces ", "          "))
    if plan.newer:
        why = "; ".join(reason for reason, _ in plan.newer.reasons)
        yield from _wrap(f"{plan.newer.build.key}: {why} ({plan.newer.reasons[0][1]})", "  newer   ", "          ")
    yield ""
    if plan.steps:
        yield "First, on the system:"
    for step in plan.steps:
        yield from _wrap(f"{step.words} ({step.sources[0]})", "  - ", "    ")
        yield from (f"      {command}" for command in step.commands)
    if plan.steps:
        yield ""
    yield from (f"  {line}" for line in commands(plan, stack, tool))
    others = plan.alternatives()
    if others:
        yield ""
        yield f"{len(plan.stacks) - 1} other stacks work. The next ones, and those with a reported run:"
        yield from (line for other in others for line in _alternative(other))
    yield ""
    yield f"{len(plan.rejected)} builds of the catalog are ruled out; -v lists the reasons. Matrix {plan.matrix_version}."


def commands(plan: Plan, stack: Stack, tool: str) -> Iterator[str]:
    """The commands: variables, installation, verification."""
    shell = "powershell" if plan.machine.system == "windows" else "bash"
    python = interpreter(plan.machine)
    yield from (joined(command, shell) for command in environment(plan.machine))
    yield from lines(plan.variables, shell)
    yield from (joined(command, shell) for command in install(stack, plan.machine, "uv" if tool == "uv" else "pip", python))
    yield from (joined(command, shell) for command in verify(plan.machine))


def _alternative(stack: Stack) -> Iterator[str]:
    said = next((s for s in stack.candidate.said if s.known_good), stack.candidate.said[0])
    with_ = "".join(f", {name} {one.version}" for name, one in stack.packages.items())
    yield from _wrap(f"{stack.name}{with_} ({stack.grade}): {said.words} ({said.grade}; {said.source})", "  ", "      ")


def _nothing(plan: Plan) -> Iterator[str]:
    wish = f" with {', '.join(plan.wish)}" if plan.wish else ""
    yield from _wrap(f"Nothing is known to work for {plan.machine.words()}{wish}.", "", "  ")
    yield ""
    yield "What would change that:" if plan.nearest else "No similar setup is known to work."
    for change in plan.nearest:
        yield from _wrap(f"{change.what}: {change.then}" + (f" ({change.source})" if change.source else ""), "  ", "      ")
        yield from (f"      {command}" for command in change.commands)
    yield ""


def _why_not(plan: Plan) -> Iterator[str]:
    """The builds that are ruled out, grouped by reason, each reason with its source."""
    groups: dict[str, list[str]] = {}
    sources: dict[str, str] = {}
    for one in plan.rejected:
        groups.setdefault(one.why, []).append(one.build.key)
        sources.setdefault(one.why, one.source)
    yield "Why not the others:"
    for why, keys in sorted(groups.items(), key=lambda item: -len(item[1])):
        yield from _wrap(f"{why} ({sources[why]})", "  ", "    ")
        yield from _wrap(", ".join(keys), "      ", "      ")


def variables_text(found: tuple[Variable, ...], shell: str) -> str:
    """Lines of one shell; empty when nothing is to be set or unset."""
    return "".join(f"{line}\n" for line in lines(found, shell))


def _wrap(line: str, first: str, rest: str) -> list[str]:
    return textwrap.wrap(
        line, WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )
