"""A plan as HTML: a piece for notebooks, and a page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rocm_doctor.plan.answer import Plan
from rocm_doctor.plan.stacks import Stack
from rocm_doctor.plan.text import REASONS, commands, headline, in_the_way
from rocm_doctor.reports.html import document, embedded, escape, prose, source


def part(plan: Plan) -> str:
    """What to install, why, and what else works; or what would have to change. For a notebook."""
    return embedded(_body(plan))


def page(plan: Plan) -> str:
    """The same as a page of its own."""
    return document(f"rocm-doctor plan: {headline(plan)}", _body(plan))


def _body(plan: Plan) -> str:
    body = _found(plan, plan.best) if plan.best and not plan.done else _without_commands(plan)
    return "\n".join([*body, *_elsewhere(plan)])


def _found(plan: Plan, stack: Stack) -> Iterator[str]:
    yield from _header("ready", "Plan", headline(plan), f"matrix {plan.matrix_version}")
    yield _list("In the way", map(prose, in_the_way(plan)))
    if plan.steps:
        yield "<section><h2>First, on the system</h2>"
        yield from (f"<p>{prose(step.words)} ({source(step.sources[0])})</p>{_block(step.commands)}" for step in plan.steps)
        yield "</section>"
    yield f"<section><h2>Install</h2>{_block(commands(plan, stack, 'pip'))}</section>"
    reasons = [f"{prose(one.words)} ({one.grade}; {source(one.source)})" for one in stack.candidate.said[:REASONS]]
    yield _list("Because", [*reasons, *map(prose, plan.remarks)])
    others = plan.alternatives()
    rows = "".join(
        f"<tr><th scope='row'>{escape(one.name)}</th><td>{escape(one.grade)}</td><td>{_first(one)}</td></tr>" for one in others
    )
    if rows:
        yield f"<section><h2>Also</h2><div class='scroll'><table><tbody>{rows}</tbody></table></div></section>"


def _first(stack: Stack) -> str:
    said = next((one for one in stack.candidate.said if one.known_good), stack.candidate.said[0])
    return f"{prose(said.words)} ({source(said.source)})"


def _without_commands(plan: Plan) -> Iterator[str]:
    """Nothing is to be installed, or nothing is known to work."""
    yield from _header("ready" if plan.done else "problems", "Plan", headline(plan), f"matrix {plan.matrix_version}")
    yield _list("What would change that", [f"{prose(f'{one.what}: {one.then}')}{_block(one.commands)}" for one in plan.nearest])


def _elsewhere(plan: Plan) -> Iterator[str]:
    items = [f"{prose(one.title)}{_block(command.text for command in one.commands)}" for one in plan.elsewhere]
    yield _list("What this plan does not mend", items)


def _header(kind: str, mark: str, title: str, below: str) -> Iterator[str]:
    yield f'<header class="{kind}"><p class="mark">{mark}</p><h1>{prose(title)}</h1><p>{escape(below)}</p></header>'


def _block(lines: Iterable[str]) -> str:
    text = "\n".join(lines)
    return f"<pre>{escape(text)}</pre>" if text else ""


def _list(title: str, items: Iterable[str]) -> str:
    body = "".join(f"<li>{item}</li>" for item in items)
    return f"<section><h2>{title}</h2><ul>{body}</ul></section>" if body else ""
