"""A page for each environment variable: who reads it, what it does, what it costs, and the rows that judge a setting of it."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_doctor.matrix import EnvVar, Matrix
from rocm_doctor.matrix.ranges import all_conditions
from rocm_doctor.model import Row
from website import claims
from website.claims import OVERRIDE, at_home, cell, line, listed
from website.sources import full
from website.text import Page, esc, heading, items, link, prose, slug, table, wrong

CRUMBS = (("", "Home"), ("variable", "Variables"))
_EXISTS = {
    "yes": "", "no": "Nothing reads it: setting it has no effect.", "deprecated": "Deprecated.",
    "build-time": "Read when something is compiled, never when it runs.", "old": "An older name.",
}  # fmt: skip


def pages(matrix: Matrix) -> Iterator[Page]:
    """The list, then a page for each variable."""
    yield _index(matrix)
    yield from (_page(matrix, one) for one in matrix.env.values())


def _index(matrix: Matrix) -> Page:
    about = "Environment variables of ROCm, HIP, RCCL, MIOpen and PyTorch on AMD GPUs: who reads each, what it does and what it breaks."
    rows = (
        f'<tr data-claim="{esc(one.name)}"><th scope="row">{link(f"variable/{slug(one.name)}", f"<code>{esc(one.name)}</code>")}</th>'
        f"<td>{esc(one.use)}</td><td>{esc(one.reader)}</td><td>{prose(one.effect)}</td>{cell(claims.of_variable(one))}</tr>"
        for one in matrix.env.values()
    )
    body = table(("Variable", "For", "Read by", "Effect", "Source"), rows, "Environment variables", "claims filterable")
    title = "ROCm and PyTorch environment variables on AMD GPUs"
    return Page("variable", title, about, f"{about}\n\n{body}", CRUMBS[:1])


def _page(matrix: Matrix, one: EnvVar) -> Page:
    facts = [
        ("Read by", one.reader),
        ("System", one.platform),
        ("Values", one.values),
        ("Default", one.default),
        ("Also named", ", ".join(one.also)),
    ]
    known = "".join(f"<tr><th scope='row'>{name}</th><td>{prose(text)}</td></tr>" for name, text in facts if text)
    said = f"({at_home(claims.of_variable(one))}; {wrong(one.name)})"
    lines = [
        f'<p data-claim="{esc(one.name)}">{prose(" ".join(part for part in (_EXISTS[one.exists], one.effect) if part))} {said}</p>\n',
        f'<p data-claim="{esc(one.name)}"><strong>What it costs or breaks.</strong> {prose(one.harm)} {said}</p>\n'
        if one.harm
        else "",
        f'<table class="claims"><caption>{esc(one.name)} in short</caption><tbody>{known}</tbody></table>\n',
    ]
    if one.name == OVERRIDE:
        lines += _overrides(matrix)
    name = f"env.{one.name}"
    asking = [row for row in matrix.rows if name in all_conditions(row)]
    advising = [row for row in matrix.rows if row not in asking and _names(row, one.name)]
    for title, rows in (("When it is the problem", asking), ("When it is advised or named", advising)):
        if rows:
            lines += [heading(2, title) + "\n", listed(map(claims.of_row, rows), f"{title}: {one.name}") + "\n"]
    lines += [heading(2, "Sources") + "\n", items(map(full, one.sources), searched=False) + "\n"]
    title = f"{one.name}: what it does on AMD GPUs (ROCm)"
    return Page(f"variable/{slug(one.name)}", title, f"{one.name}: {one.effect} {one.harm}".strip(), "\n".join(lines), CRUMBS)


def _names(row: Row, variable: str) -> bool:
    """Whether the advice or a command of a row has the variable."""
    return variable in f" {row.advice} {row.cause} {' '.join(one.text for one in row.commands)} ".replace("=", " ").split()


def _overrides(matrix: Matrix) -> Iterator[str]:
    """The home of every value on every target."""
    yield heading(2, "Values by GPU", "values") + "\n"
    for target in matrix.gfx.values():
        if target.overrides:
            yield heading(3, f"{target.gfx}: {', '.join(target.names[:4])}", target.gfx) + "\n"
            rows = (line(claims.of_override(target, one), slug(f"{target.gfx}-{one.value}")) for one in target.overrides)
            yield table(claims.COLUMNS, rows, f"{OVERRIDE} on {target.gfx}") + "\n"
