"""A plan for the terminal: commands, reasons and sources; or what would have to change, if nothing is known to work."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rocm_doctor.commands import remarks
from rocm_doctor.model import GRADES, Shell
from rocm_doctor.plan.answer import Plan
from rocm_doctor.plan.candidates import Rejected
from rocm_doctor.plan.catalog import SystemStep
from rocm_doctor.plan.commands import (
    Tool,
    create_environment,
    install,
    join_words,
    replacements,
    target_interpreter,
    verify_commands,
)
from rocm_doctor.plan.machine import Machine
from rocm_doctor.plan.search import Stack
from rocm_doctor.plan.variables import PlanVariable, variable_lines
from rocm_doctor.reports.lines import wrap_words
from rocm_doctor.versions import release

WIDTH = 100
REASONS = 2
"""Reasons for the first stack that are shown without -v."""


def text(plan: Plan, *, verbose: bool = False, tool: Tool = "pip") -> str:
    """The plan as text; with `verbose` also why each other build is ruled out."""
    body = _done(plan) if plan.done else _findings(plan, tool, verbose) if plan.best else _nothing(plan)
    return "\n".join([*body, *(_why_not(plan) if verbose else ())]) + "\n"


def headline(plan: Plan) -> str:
    """The answer in one sentence."""
    machine = plan.machine
    if plan.works:
        unset = any(not _is_set(variable, machine) for variable in plan.variables)
        todo = "Nothing to install; the variables are below" if unset else "Nothing to do"
        return f"What you have works: {f'torch {machine.torch} for ' if machine.torch else ''}{machine.gfx}. {todo}."
    if plan.keeps and plan.best and plan.best.candidate.override:
        return (
            f"Nothing to install: torch {machine.torch} has no {machine.gfx} code, but runs on this GPU with the variable below."
        )
    if plan.keeps:
        stays = f"torch {machine.torch} is a build for {machine.gfx}, and all packages go with it"
        first = (
            next((finding.title for finding in plan.report.findings if finding.severity == "error" and finding.leads), "")
            if plan.report
            else ""
        )
        return f"Nothing to install. Mend this first: {first}. {stays}." if first else f"Nothing to install: {stays}."
    if plan.best:
        return f"{plan.best.name} for {machine.words()} (evidence: {plan.best.grade})"
    wish = f" with {', '.join(plan.wish)}" if plan.wish else ""
    return f"Nothing is known to work for {machine.words()}{wish}."


def blocking_packages(plan: Plan) -> Iterator[str]:
    """A sentence for each installed package that no stack goes with."""
    for package in plan.blocked:
        instead = "the plan is without it" if package.removed else "the plan replaces it"
        yield f"{package.name} {package.version} is in the way: {package.finding.title}; {instead}"


def undecided_lines(plan: Plan) -> Iterator[str]:
    """What `check` leaves open of what is installed, before a stack that is known to work."""
    if plan.report and plan.report.verdict == "undetermined":
        yield from wrap(f"What you have may work: {plan.report.summary}.", "", "  ")
        yield "If it does not, this is known to work:"


def _done(plan: Plan) -> Iterator[str]:
    yield from wrap(headline(plan), "", "  ")
    if plan.works:
        yield "  This was read from files. rocm-doctor smoke tests it on the GPU."
    yield from _by_hand(plan)
    shell = plan.machine.shell
    settings = variable_lines(tuple(v for v in plan.variables if not _is_set(v, plan.machine)), shell)
    yield from ("", *(f"  {line}" for line in settings)) if settings else ()
    other = next((stack for stack in plan.stacks if stack is not plan.best or not plan.keeps), None)
    if other and plan.works and (release(other.candidate.build.torch) or ()) > (release(plan.machine.torch) or ()):
        yield from wrap(f"Newer: {other.name}. rocm-doctor plan --upgrade prints the commands.", "  ", "    ")


def _is_set(variable: PlanVariable, machine: Machine) -> bool:
    return machine.base.get(f"env.{variable.name}").value == variable.value


def _by_hand(plan: Plan) -> Iterator[str]:
    if plan.by_hand:
        yield ""
        yield "To do by hand (rocm-doctor check shows why):"
    for one in {one.title: one for one in plan.by_hand}.values():
        yield from wrap(f"{one.title}: {one.advice}" if one.advice else one.title, "  - ", "    ")
        yield from (f"      {command.text}" + (f"  # {note}" if (note := remarks(command)) else "") for command in one.commands)


def _findings(plan: Plan, tool: Tool, verbose: bool) -> Iterator[str]:
    stack = plan.stacks[0]
    yield from undecided_lines(plan)
    yield from (line for words in blocking_packages(plan) for line in wrap(words, "", "  "))
    yield from wrap(headline(plan), "", "  ")
    for claim in sorted(stack.candidate.claims, key=lambda one: (not one.known_good, GRADES.index(one.grade)))[
        : None if verbose else REASONS
    ]:
        it = "it " if claim.of_code else ""
        yield from wrap(f"{it}{claim.words} ({claim.grade}; {claim.source})", "  because ", "          ")
    since = f"published {stack.candidate.build.released}; " if stack.candidate.build.released else ""
    run = "a run on {} is reported" if stack.candidate.known_good else "no report of a run of it on {} was read"
    yield from wrap(since + run.format(plan.machine.gfx), "  runs    ", "          ")
    for note in {note.title: note for note in stack.notes}.values():
        yield from wrap(f"{note.title} ({next(iter(note.sources), '')})", "  note    ", "          ")
    for name, one in stack.packages.items():
        if one.built and plan.machine.gfx not in one.native and one.env:
            yield f"  note    {name} is built here with its Triton back end; hipcc is not needed"
        elif one.built:
            yield f"  note    {name} is compiled on this machine, with hipcc and ROCm's development files"
    if stack.candidate.index.nightly:
        yield from wrap(stack.candidate.index.words, "  note    ", "          ")
    yield from (line for said in plan.remarks for line in wrap(said, "  note    ", "          "))
    yield from (line for said in replacements(stack, plan.machine) for line in wrap(said, "  change  ", "          "))
    if plan.cuda:
        gone = ", ".join(f"{name} {plan.machine.installed_version(name)}" for name in plan.cuda)
        yield from wrap(f"without what is for CUDA: {gone}", "  change  ", "          ")
    yield from _by_hand(plan)
    yield ""
    if plan.steps:
        yield from (*step_lines(plan.steps), "")
    yield from (f"  {line}" for line in commands(plan, stack, tool))
    if others := plan.alternatives():
        count = len(plan.stacks) - 1
        yield ""
        yield f"{count} other stack{' works' if count == 1 else 's work'}. The next ones, those with a reported run first:"
        yield from (line for other in others for line in _alternative(other))
    yield from _count_rejected(plan)


def step_lines(steps: Iterable[SystemStep]) -> Iterator[str]:
    """What the system needs before Python, each step with its source and commands."""
    for number, step in enumerate(steps):
        yield from () if number else ("First, on the system:",)
        yield from wrap(f"{step.words} ({step.sources[0]})", "  - ", "    ")
        yield from (f"      {command}" for command in step.commands)


def commands(plan: Plan, stack: Stack, tool: Tool) -> Iterator[str]:
    """The shell lines of a plan in this order: creation of the environment, variables, installation with `tool`, the pins of
    torch, verification. They are quoted for the machine's shell. A step that the plan does not need has no lines."""
    shell = plan.machine.shell
    python = target_interpreter(plan.machine)
    yield from (join_words(command, shell) for command in create_environment(plan.machine))
    yield from variable_lines(plan.variables, shell)
    yield from (join_words(command, shell) for command in install(stack, plan.machine, tool, python, plan.drop))
    yield from pin_lines(stack, shell)
    yield from (join_words(command, shell) for command in verify_commands(plan.machine))


def pin_lines(stack: Stack, shell: Shell) -> Iterator[str]:
    """Lines that keep pip from replacing this torch in this shell; none for a nightly, which has no number."""
    build = stack.candidate.build
    if build.local and not stack.candidate.index.nightly:
        yield "# keep it: pip installs no other torch while this constraint is set"
        pin = f"torch=={build.local}"
        # pip splits PIP_CONSTRAINT at blanks, hence a URL, which has none.
        if shell == "powershell":
            yield f"Set-Content rocm-pins.txt '{pin}'; $env:PIP_CONSTRAINT = ([uri]\"$PWD\\rocm-pins.txt\").AbsoluteUri"
        else:
            here = "$(pwd | sed 's/%/%25/g; s/ /%20/g; s/#/%23/g')"
            yield f'echo "{pin}" > rocm-pins.txt; export PIP_CONSTRAINT="file://{here}/rocm-pins.txt"'


def _alternative(stack: Stack) -> Iterator[str]:
    claim = next((s for s in stack.candidate.claims if s.known_good), stack.candidate.claims[0])
    with_ = "".join(f", {name} {one.version}" for name, one in stack.packages.items())
    yield from wrap(f"{stack.name}{with_} ({stack.grade}): {claim.words} ({claim.grade}; {claim.source})", "  ", "      ")


def _nothing(plan: Plan) -> Iterator[str]:
    yield from wrap(headline(plan), "", "  ")
    reasons = [(why, found) for why, found in _reasons_against(plan) if not found[0].absent]
    for why, builds in sorted(reasons, key=lambda reason: not any(r.finding for r in reason[1]))[:REASONS]:
        yield from wrap(f"{len(builds)} of {len(plan.rejected)} builds are out: {why} ({builds[0].source})", "  ", "      ")
    yield ""
    yield "What would change that:" if plan.nearest else "No similar setup is known to work."
    for change in plan.nearest:
        yield from wrap(f"{change.what}: {change.then}" + (f" ({change.source})" if change.source else ""), "  ", "      ")
        yield from (f"      {command}" for command in change.commands)
    yield from _count_rejected(plan)


def _count_rejected(plan: Plan) -> Iterator[str]:
    yield ""
    yield f"{len(plan.rejected)} builds of the catalog are ruled out; -v lists the reasons. Matrix {plan.known.matrix.version}."


def _reasons_against(plan: Plan) -> list[tuple[str, list[Rejected]]]:
    """Pairs of a reason and the builds rejected for it; the reason with the most builds first."""
    groups: dict[str, list[Rejected]] = {}
    for rejected in plan.rejected:
        groups.setdefault(rejected.why, []).append(rejected)
    return sorted(groups.items(), key=lambda item: -len(item[1]))


def _why_not(plan: Plan) -> Iterator[str]:
    yield "Why not the others:"
    for why, builds in _reasons_against(plan):
        yield from wrap(f"{why} ({builds[0].source})", "  ", "    ")
        yield from wrap(", ".join(rejected.build.key for rejected in builds), "      ", "      ")


def wrap(line: str, first: str, rest: str) -> list[str]:
    """The lines of one sentence, with their indents."""
    return wrap_words(line, WIDTH, first, rest)
