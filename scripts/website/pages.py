"""The pages of the site: for each thing of the matrix what `explain` says of it, the table of GPUs, lists of names, the first page."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple
from urllib.parse import quote, urlencode

from rocm_doctor._version import PROJECT, SOURCE
from rocm_doctor.explain import IndexEntry, NamedThing, explain_entry, index
from rocm_doctor.explain.index import Kind
from rocm_doctor.matrix import Matrix
from rocm_doctor.matrix.citations import parse_citation
from rocm_doctor.matrix.rows import Row
from rocm_doctor.model import Command
from rocm_doctor.plan.summary import STATES, TITLES, answers, stack_words, verdict
from rocm_doctor.reports.page import CitedLine, Line, Section
from rocm_doctor.reports.page import Page as Explained

FORM = "wrong-statement.yml"
PICTURES = "docs/pictures"
LISTS: dict[Kind, str] = {
    "gpu": "AMD GPUs and the torch that runs on each", "diagnosis": "Errors of ROCm and PyTorch on AMD GPUs", "library": "Libraries",
    "variable": "Environment variables", "torch": "torch builds for ROCm", "rocm": "ROCm releases", "system": "Operating systems",
}  # fmt: skip
"""Kinds of things that have pages, with the title of their list."""
ABOUT = "Which PyTorch runs on which AMD GPU with ROCm, why it does not train, and what to type. Every statement has a source and a date."
_CODE = re.compile(r"`([^`\s][^`]*)`")
_ADDRESS = re.compile(r"https://[\w.-]+(?:/[\w./%#?=&+~@:,;()!-]*)?")
_KEY = re.compile(r"\[([a-z0-9.-]+)\]")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_BRANDS = ("Radeon RX ", "Radeon AI ", "Radeon PRO ", "Instinct ")


class Page(NamedTuple):
    """A page: its address below the site's, its title, its body in markdown with HTML, and words by which the search finds it."""

    path: str
    title: str
    body: str
    found_by: tuple[str, ...] = ()


def pages(matrix: Matrix) -> Iterator[Page]:
    """The first page, a list for each kind of thing, and a page for each thing; a GPU has one for its target and one for each product."""
    things = {kind: dict(_things(matrix, kind)) for kind in LISTS}
    yield _home(matrix)
    for kind, found in things.items():
        body = (
            _gpu_table(matrix) if kind == "gpu" else items(link(path, entry.name, entry.words) for path, entry in found.items())
        )
        yield Page(kind, LISTS[kind], body)
        for path, entry in found.items():
            yield _page(matrix, path, entry)


def _things(matrix: Matrix, kind: Kind) -> Iterator[tuple[str, IndexEntry]]:
    """The address and the entry of each thing of a kind. Releases are things of their own."""
    for entry in index(matrix).entries:
        if entry.kind == kind and (kind == "gpu" or entry.name == entry.of or kind in ("library", "system")):
            yield f"{kind}/{slug(typed(entry.name) if kind == 'gpu' else entry.of)}", entry
    if kind == "torch":
        for version in dict.fromkeys(build.torch for build in matrix.torch):
            yield f"torch/{slug(version)}", IndexEntry("torch", "torch", f"torch {version}", "its builds for ROCm")
    if kind == "rocm":
        for release in dict.fromkeys(".".join(one.version.split(".")[:2]) for one in matrix.rocm):
            yield f"rocm/{slug(release)}", IndexEntry("rocm", "rocm", f"ROCm {release}", "what AMD lists for it")


def _page(matrix: Matrix, path: str, entry: IndexEntry) -> Page:
    """What `explain` says of a thing. A product shows the short form and leads to its target; a diagnosis shows each of its rows."""
    version = entry.name.partition(" ")[2] if entry.kind in ("torch", "rocm") else ""
    found = explain_entry(NamedThing(entry, version), matrix)
    product = entry.kind == "gpu" and entry.name != entry.of
    parts = [f'<p class="answer {found.state}"><strong>{esc(found.mark)}</strong></p>'] if found.state else []
    parts += _body(matrix, found, short=product)
    if product:
        parts.append(f"<p>All that is known of this chip: {link(f'gpu/{entry.of}', entry.of)}.</p>")
    rows = [row for row in matrix.rows if row.diagnosis == entry.of]
    for row in rows:
        explained = explain_entry(NamedThing(IndexEntry("row", row.key, row.key)), matrix)
        parts += [heading(2, row.title, row.key), *_body(matrix, explained, level=3)]
    names = (
        [one.name for one in index(matrix).entries if (one.kind, one.of) == (entry.kind, entry.of)]
        if not product
        else [entry.name]
    )
    synonyms = [name for one in matrix.synonyms if {entry.of, entry.name} & set(one.see) for name in one.names]
    lines = [line for row in rows for line in _telling_lines(row)]
    parts.append(f'<p class="facts">{wrong(entry.name)}</p>')
    return Page(path, found.title, "\n\n".join(parts), tuple(dict.fromkeys([*names, *synonyms, *lines])))


def _telling_lines(row: Row) -> list[str]:
    """Lines of a log that lead to a row, as its conditions and its example have them."""
    asked = (condition for name, condition in row.when.items() if name in ("log", "log.2") and "!" not in condition)
    return [*(line.replace("*", " ").strip() for condition in asked for line in condition.split("|")), *row.example.splitlines()]


def _body(matrix: Matrix, page: Explained, level: int = 2, *, short: bool = False) -> Iterator[str]:
    """The sections of a page. `short`: no more of each than the terminal shows."""
    for part in page.sections:
        lines = part.lines if not short or part.short is None else part.lines[: part.short]
        if lines:
            yield from _section(matrix, part._replace(lines=lines), level)


def _section(matrix: Matrix, part: Section, level: int) -> Iterator[str]:
    """A heading, then sentences as a list and commands as blocks, in their order."""
    if part.label and level == 2:
        yield f"## {part.label}"
    elif part.label:
        yield f"<p><strong>{esc(part.label)}</strong></p>"
    for is_block, lines in groupby(part.lines, _belongs_to_a_block):
        if is_block:
            yield block("\n".join(one.text if isinstance(one, Command) else str(one) for one in lines))
        else:
            said = [_sentence(matrix, one) for one in lines]
            yield items(said) if len(said) > 1 else f"<p>{said[0]}</p>"


def _belongs_to_a_block(line: Line) -> bool:
    """Whether the line is a command or the comment above one."""
    return isinstance(line, Command) or (isinstance(line, str) and line.startswith("# "))


def _sentence(matrix: Matrix, line: Line) -> str:
    """A sentence with links: the source behind it, addresses in it, keys of rows in brackets."""
    if isinstance(line, CitedLine):
        return f"{_sentence(matrix, line.words)} ({source(line.source)})"
    assert isinstance(line, str)
    if _ADDRESS.fullmatch(parse_citation(line).ref):
        return source(line)

    def lead(key: re.Match[str]) -> str:
        row = matrix.by_key.get(key[1])
        return f"[{link(f'diagnosis/{row.diagnosis}/#{row.key}', row.key)}]" if row else key[0]

    return _KEY.sub(lead, _CODE.sub(r"<code>\1</code>", esc(line)))


def source(text: str) -> str:
    """A source with the place in it, as a link where it has an address."""
    one = parse_citation(text)
    if not _ADDRESS.fullmatch(one.ref):
        return esc(text)
    rest = esc(text.removeprefix(one.ref))
    return f'<a href="{html.escape(one.ref)}">{esc(one.ref.removeprefix("https://"))}</a>{rest and f" {rest}"}'


def typed(name: str) -> str:
    """A product as people type it: `RX 6700 XT`, `MI300X`, `AI PRO R9700`; `Radeon VII` stays."""
    brand = next((one for one in _BRANDS if name.startswith(one)), "")
    return name.removeprefix(brand.split()[0] + " ") if brand else name


def _gpu_table(matrix: Matrix) -> str:
    """The first plan of every product on each system."""
    columns = ("GPU", "Target", *TITLES.values())
    head = "".join(f'<th scope="col">{name}</th>' for name in columns)
    rows = []
    for target in reversed(matrix.gfx.values()):
        plans = answers(target.gfx, matrix)
        cells = [link(f"gpu/{target.gfx}", target.gfx), *(esc(stack_words(one)) for one in plans.values())]
        shown = "".join(f'<td data-name="{name}">{cell}</td>' for name, cell in zip(columns[1:], cells))
        for name in target.names or (target.codename,):
            rows.append(
                f'<tr class="{STATES[verdict(plans)]}"><th scope="row">{link(f"gpu/{slug(typed(name))}", name)}</th>{shown}</tr>'
            )
    caption = "The first plan for every product, with its sources on its page"
    return f'<table class="claims filterable"><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'


def _home(matrix: Matrix) -> Page:
    """What the tool answers, how to run it, and the lists."""
    words = "Output of rocm-doctor check --example: what was read, its sources, and the command that fixes it"
    picture = "".join(
        f'<img class="only-{theme}" src="{PICTURES}/check-{theme}.svg" alt="{words}">' for theme in ("light", "dark")
    )
    lists = items(link(kind, title) for kind, title in LISTS.items())
    run = block(f"uvx --from {SOURCE} rocm-doctor check")
    body = f"{ABOUT}\n\n## Find your GPU, an error, a library\n\n{lists}\n\n## Ask your machine\n\n{run}\n\n{picture}\n\nMatrix {esc(matrix.version)}."
    return Page("", "Does PyTorch run on your AMD GPU?", body)


def esc(text: str) -> str:
    """Text for an element or a quoted attribute, on one line: a blank line would end an HTML block of markdown."""
    return html.escape(" ".join(_CONTROL.sub("\ufffd", text).split()), quote=True)


def block(text: str) -> str:
    """A command or lines as they are printed. An empty line is written as a reference, since markdown ends an HTML block at one."""
    return "<pre><code>" + "&#10;".join(html.escape(_CONTROL.sub("\ufffd", text)).splitlines()) + "</code></pre>"


def heading(level: int, text: str, anchor: str) -> str:
    """A heading of plain text with its anchor."""
    return f'<h{level} id="{esc(anchor)}">{esc(text)}</h{level}>'


def items(lines: Iterable[str]) -> str:
    """A list of HTML lines; empty when there are none."""
    body = "".join(f"<li>{line}</li>" for line in lines)
    return f"<ul>{body}</ul>" if body else ""


def slug(text: str) -> str:
    """A name for an address: `RX 6700 XT` becomes `rx-6700-xt`."""
    return re.sub(r"[^a-z0-9._]+", "-", text.lower()).strip("-")


def link(there: str, text: str, words: str = "") -> str:
    """A link inside the site, and words behind it."""
    return f'<a href="site:{there}">{esc(text)}</a>' + (f": {esc(words)}" if words else "")


def wrong(entry: str) -> str:
    """The link to the issue form, with the entry filled in."""
    asked = urlencode({"template": FORM, "entry": entry}, quote_via=quote)
    return f'<a href="{html.escape(f"{PROJECT}/issues/new?{asked}")}">wrong?</a>'
