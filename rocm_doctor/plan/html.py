"""A plan as HTML: a piece for notebooks, and a page."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_doctor.plan.answer import Plan
from rocm_doctor.plan.stacks import Stack
from rocm_doctor.plan.text import REASONS, blocking_packages, commands, headline, text
from rocm_doctor.redaction.shared import redact_plain
from rocm_doctor.reports.html import block, document, embed, header, items, prose, redacted, source, table


def shown(plan: Plan, form: str) -> str:
    """The redacted text, or HTML for a notebook."""
    return redacted(embed(_body(plan))) if form == "html" else redact_plain(text(plan))


def page(plan: Plan) -> str:
    """The same as a page of its own."""
    return document(f"rocm-doctor plan: {headline(plan)}", _body(plan))


def _body(plan: Plan) -> str:
    body = _findings(plan, plan.best) if plan.best and not plan.done else _explain_nothing(plan)
    return "\n".join([*body, *_elsewhere(plan)])


def _findings(plan: Plan, stack: Stack) -> Iterator[str]:
    yield header("ready", "Plan", headline(plan), f"matrix {plan.matrix_version}")
    yield items("In the way", map(prose, blocking_packages(plan)))
    if plan.steps:
        yield "<section><h2>First, on the system</h2>"
        yield from (f"<p>{prose(step.words)} ({source(step.sources[0])})</p>{block(step.commands)}" for step in plan.steps)
        yield "</section>"
    yield f"<section><h2>Install</h2>{block(commands(plan, stack, 'pip'))}</section>"
    reasons = [f"{prose(one.words)} ({one.grade}; {source(one.source)})" for one in stack.candidate.said[:REASONS]]
    yield items("Because", [*reasons, *map(prose, plan.remarks)])
    yield table("Also", ("Stack", "Grade", "Because"), ((prose(one.name), one.grade, _first(one)) for one in plan.alternatives()))


def _first(stack: Stack) -> str:
    said = next((one for one in stack.candidate.said if one.known_good), stack.candidate.said[0])
    return f"{prose(said.words)} ({source(said.source)})"


def _explain_nothing(plan: Plan) -> Iterator[str]:
    """Nothing is to be installed, or nothing is known to work."""
    yield header("ready" if plan.done else "problems", "Plan", headline(plan), f"matrix {plan.matrix_version}")
    yield items("What would change that", [f"{prose(f'{one.what}: {one.then}')}{block(one.commands)}" for one in plan.nearest])


def _elsewhere(plan: Plan) -> Iterator[str]:
    left = [f"{prose(one.title)}{block(command.text for command in one.commands)}" for one in plan.elsewhere]
    yield items("To do by hand", left)
