"""What to install for a target, by system: the commands of the first plan, why it, and what speaks against the next newer build."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_doctor.matrix import Matrix, Target
from rocm_doctor.plan.answer import Plan
from rocm_doctor.plan.catalog import System
from rocm_doctor.plan.stacks import Stack
from rocm_doctor.plan.summary import PYTHON, answers
from rocm_doctor.plan.text import commands
from website.claims import system
from website.sources import source
from website.text import block, esc, heading, outside, prose, wrong

REASONS = 2


def plans(matrix: Matrix) -> dict[str, dict[System, Plan]]:
    """The plan of every target on every system."""
    return {gfx: answers(gfx, matrix).of for gfx in matrix.gfx}


def cited(matrix: Matrix) -> Iterator[tuple[str, str, str]]:
    """Every source of every plan, with the plan's home and its name."""
    for gfx, of_target in matrix.once(plans).items():
        for name, plan in of_target.items():
            found = [one.source for one in plan.nearest] + [one for step in plan.steps for one in step.sources]
            if plan.best:
                found += [one.source for one in plan.best.candidate.said] + [
                    one for note in plan.best.notes for one in note.sources
                ]
            yield from ((one, f"gpu/{gfx}/#{gfx}-{name}", f"plan {gfx} {name}") for one in found if one)


def tabs(target: Target, of_target: dict[System, Plan]) -> Iterator[str]:
    """The commands of each system in a tab of its own, without a script; the system on which something works is open."""
    opened = next((name for name, plan in of_target.items() if plan.best), "linux")
    yield '<div class="tabs">'
    for name in of_target:
        one, state = f"tab-{target.gfx}-{name}", " checked" if name == opened else ""
        yield f'<input type="radio" name="tab-{target.gfx}" id="{one}"{state}><label for="{one}">{system(name)}</label>'
    for plan in of_target.values():
        yield f'<div class="tab">{"".join(_tab(plan, plan.best) if plan.best else _nothing(plan))}</div>'
    yield "</div>\n"


def _tab(plan: Plan, stack: Stack) -> Iterator[str]:
    yield block("\n".join(commands(plan, stack, "pip")))
    yield f"<p><strong>{esc(stack.name)}</strong> ({esc(stack.grade)}), Python {PYTHON}. {wrong(_entry(plan))}</p>"
    yield from _steps(plan)
    yield _reasons("Because:", [(one.words, one.source, one.grade) for one in stack.candidate.said[:REASONS]])
    yield _reasons("Note:", [(one.title, next(iter(one.sources), ""), one.grade) for one in stack.notes])


def _steps(plan: Plan) -> Iterator[str]:
    for number, step in enumerate(plan.steps):
        yield _reasons("" if number else "First, on the system:", [(step.words, step.sources[0], step.grade)])
        if step.commands:
            yield block("\n".join(step.commands))


def section(target: Target, of_target: dict[System, Plan]) -> Iterator[str]:
    """The plans of a target, one heading for each system."""
    for name, plan in of_target.items():
        yield heading(3, f"Install PyTorch on {system(name)} ({target.gfx})", f"{target.gfx}-{name}") + "\n"
        yield "\n".join(_found(plan, plan.best) if plan.best else _nothing(plan)) + "\n"


def _found(plan: Plan, stack: Stack) -> Iterator[str]:
    yield f"<p><strong>{esc(stack.name)}</strong> ({esc(stack.grade)}), Python {PYTHON}. {wrong(_entry(plan))}</p>"
    yield _reasons("Because:", [(one.words, one.source, one.grade) for one in stack.candidate.said[:REASONS]])
    yield _reasons("Note:", [(one.title, next(iter(one.sources), ""), one.grade) for one in stack.notes])
    yield from _steps(plan)
    yield "<p>Type:</p>"
    yield block("\n".join(commands(plan, stack, "pip")))


def _nothing(plan: Plan) -> Iterator[str]:
    yield f"<p>Nothing is known to work for {esc(plan.machine.words())}. {wrong(_entry(plan))}</p>"
    changes = [(f"{one.what}: {one.then}", one.source, "") for one in plan.nearest]
    yield _reasons("What would change that:", changes)


def _entry(plan: Plan) -> str:
    return f"plan {plan.machine.gfx} {plan.machine.system}"


def _reasons(title: str, reasons: list[tuple[str, str, str]]) -> str:
    """A titled list of statements, each with its source."""
    lines = "".join(f"<li data-claim>{prose(words)} {_said(said, grade)}</li>" for words, said, grade in reasons if said)
    return (f"<p>{esc(title)}</p>" if title else "") + f"<ul>{lines}</ul>" if lines else ""


def _said(said: str, grade: str) -> str:
    return f"({esc(grade)}: {source(said)})" if grade else f"({source(said)})"


def more(gfx: str) -> str:
    """How to ask for other systems, Pythons and libraries."""
    tool = outside("https://github.com/rocm-doctor/rocm-doctor#install", "rocm-doctor")
    asked = block(
        f"rocm-doctor plan --gpu {gfx} --python 3.13 --with bitsandbytes\nrocm-doctor fit --gpu {gfx} --model qwen2.5-7b --method lora"
    )
    return f"<p>Another Python, a library, a memory prediction: ask {tool}.</p>{asked}"
