"""One self-contained HTML page: no script, no outside resource, readable on a phone and in the dark.

Everything from outside passes `escape`; a source becomes a link only if it is plain https.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.commands import remarks
from rocm_doctor.matrix.citations import parse_citation
from rocm_doctor.model import Command, Fact, Finding, Gpu, Report, Snapshot
from rocm_doctor.reports import RenderOptions
from rocm_doctor.reports.answer import lines
from rocm_doctor.reports.html_style import STYLE
from rocm_doctor.reports.machine import gpu_lines, show_value
from rocm_doctor.reports.neutral import clean
from rocm_doctor.reports.packed import pack
from rocm_doctor.reports.places import SURE, finding_name, followers, location, request, where

_MARK = {"ready": "Ready", "problems": "Problems", "undetermined": "Undetermined"}
# The facts of the table, from the kernel up; facts behind a finding are always shown.
_ROWS = (
    ("platform", "Platform"), ("kernel", "Kernel"), ("driver.version", "amdgpu driver"), ("kfd.openable", "/dev/kfd opens"),
    ("rocm.version", "ROCm"), ("python.version", "Python"), ("torch.version", "torch"), ("torch.build", "torch build"),
    ("torch.rocm", "torch's ROCm"), ("pkg.transformers", "transformers"), ("pkg.peft", "peft"),
    ("pkg.bitsandbytes", "bitsandbytes"),
)  # fmt: skip
_SEVERE = ("error", "warning", "note")
_SPAN = regex(r"`([^`\s][^`]*)`")
_LINK = regex(r"https://[\w.-]+(?:/[\w./%#?=&+~@:,;()-]*)?")


_OURS = "table, pre, code { color: inherit; } tr { background: none; }"
"""Jupyter colours tables and code by its own theme, which need not be the reader's."""


def part(report: Report) -> str:
    """The report without its page, for a notebook."""
    return embed("\n".join(_body(clean(report), folded=True)))


def part_of_finding(finding: Finding) -> str:
    """One finding, for a notebook."""
    return embed("\n".join(_finding(finding, [])))


def embed(body: str) -> str:
    """A piece of another page: the style sheet applies to it alone, and before that page's."""
    style = re.sub(r"(?:(?<=[\s}])|^):root(?= \{)|\bbody(?= \{)", "&", STYLE)
    return f'<div class="rocm-doctor"><style>{".rocm-doctor" * 3} {{{_OURS}{style}}}</style>\n{body}\n</div>'


def render(report: Report, look: RenderOptions) -> str:
    """A whole document."""
    return document(f"rocm-doctor: {report.summary}", "\n".join((*_body(report), pack(report))))


def document(title: str, body: str, style: str = "") -> str:
    """A page of its own around a body. `style`: what it needs beside the common style sheet."""
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{escape(title)}</title><style>{STYLE}{style}</style>"
    )
    return f'<!doctype html>\n<html lang="en">\n<head>{head}</head>\n<body>\n{body}\n</body>\n</html>\n'


def header(state: str, mark: str, title: str, *below: str) -> str:
    """What a page begins with: the state (ready, problems, undetermined) gives its colour."""
    lines = "".join(f"<p>{escape(line)}</p>" for line in below)
    return f'<header class="{state}"><p class="mark">{escape(mark)}</p><h1>{prose(title)}</h1>{lines}</header>'


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A titled table of cells that are HTML; nothing without rows. On a phone each cell is shown behind the name of its column."""
    names = [f' data-name="{escape(one)}"' if one else "" for one in columns]
    body = "".join("<tr>" + "".join(f"<td{name}>{cell}</td>" for name, cell in zip(names, row)) + "</tr>" for row in rows)
    heads = "".join(f"<th>{escape(one)}</th>" for one in columns)
    head = f"<thead><tr>{heads}</tr></thead>" if any(columns) else ""
    section = f'<section><h2>{escape(title)}</h2><div class="scroll"><table>{head}<tbody>{body}</tbody></table></div></section>'
    return section if body else ""


def block(lines: Iterable[str]) -> str:
    """Lines to copy; nothing without lines."""
    text = "\n".join(lines)
    return f"<pre>{escape(text)}</pre>" if text else ""


def items(title: str, lines: Iterable[str]) -> str:
    """A titled list of items that are HTML; nothing without items."""
    body = "".join(f"<li>{one}</li>" for one in lines)
    return f"<section><h2>{escape(title)}</h2><ul>{body}</ul></section>" if body else ""


def _body(report: Report, folded: bool = False) -> Iterator[str]:
    proven = f"; ran: {', '.join(report.proven)}" if report.proven else ""
    versions = f"rocm-doctor {report.tool_version} · matrix {report.matrix_version}{proven}"
    yield header(report.verdict, _MARK[report.verdict], report.summary, f"{report.source} · {versions}")
    yield "<main>"
    roots = [f for f in report.findings if f.leads]
    if roots:
        yield f"<section><h2>Findings ({len(roots)})</h2>"
        for finding in roots:
            yield from _finding(finding, followers(report, finding))
        yield "</section>"
    beside = [line for line in lines(report) if line.label != "possible"]
    if beside:
        yield "<section>"
        for line in beside:
            yield f'<p><span class="dim">{line.label}</span> {prose(line.words)}</p>'
            yield from map(command, line.commands)
        yield "</section>"
    if report.questions:
        yield f"<section><h2>To ask</h2><p>{request(report)}</p>{block(q.command.text for q in report.questions)}</section>"
    yield from ("<details><summary>What decided</summary>", *_table(report), "</details>") if folded else _table(report)
    yield from _list("Undecided: missing facts", (f"{u.row or u.id}: needs {', '.join(u.missing)}" for u in report.undecided))
    yield from _list("Readings that disagree", report.disputes)
    yield from _list("Not read", (f"{e.artifact} {e.place}: {e.quote}" for e in report.snapshot.errors))
    yield "</main>"


def _table(report: Report) -> Iterator[str]:
    """The facts, each with the findings that it decided; a missing one is shown as unknown."""
    decided = _findings_by_reading(report)
    machine = report.snapshot.facts
    shown_rows = [(label, machine.get(key)) for key, label in _ROWS if key in machine]
    listed = {key for key, _ in _ROWS}
    more = [
        (key, fact)
        for key, fact in machine.items()
        if key not in listed and not key.endswith(".") and _decided_findings(fact, decided)
    ]
    gpus = [(f"{label}: {words}", _first(report.snapshot, label)) for label, words in gpu_lines(report.snapshot)]
    if not (gpus or shown_rows or more):
        return
    yield '<section><h2>What decided</h2><div class="scroll"><table><thead><tr><th>Part</th><th>Found</th><th>Read in</th>'
    yield "<th>Decides</th></tr></thead><tbody>"
    for label, gpu in gpus:
        target = gpu.get("gfx")
        yield _row(
            label,
            target,
            list({f.fingerprint: f for fact in gpu.facts.values() for f in _decided_findings(fact, decided)}.values()),
        )
    for label, fact in [*shown_rows, *more]:
        if fact is not None:
            yield _row(label, fact, _decided_findings(fact, decided))
    yield "</tbody></table></div></section>"


def _first(snapshot: Snapshot, label: str) -> Gpu:
    """The first GPU of a line of `gpu_lines`, which numbers those of a machine."""
    number = label.removeprefix("GPU ").partition("-")[0]
    return snapshot.gpus[int(number) if number.isdigit() else 0]


def _findings_by_reading(report: Report) -> dict[tuple[str, str, str], list[Finding]]:
    """Findings by the readings that are their evidence."""
    found: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in report.findings:
        for r in finding.evidence:
            found.setdefault((r.artifact, r.place, r.quote), []).append(finding)
    return found


def _decided_findings(fact: Fact, decided: dict[tuple[str, str, str], list[Finding]]) -> list[Finding]:
    hits = [f for r in fact.readings for f in decided.get((r.artifact, r.place, r.quote), [])]
    return list({id(f): f for f in hits}.values())


def _row(label: str, fact: Fact, findings: list[Finding]) -> str:
    worst = min((_SEVERE.index(f.severity) for f in findings), default=3)
    state = _SEVERE[worst] if worst < 3 else "plain" if fact.known else "unknown"
    where = "; ".join(f"{r.artifact} {r.place}".strip() for r in fact.readings[:2])
    links = ", ".join(f'<a href="#{_anchor(f)}">{escape(f.row or f.id)}</a>' for f in findings)
    cells = f'<td>{escape(_value(fact))}</td><td class="dim">{escape(where)}</td><td>{links}</td>'
    return f'<tr class="{state}"><th scope="row">{escape(label)}</th>{cells}</tr>'


def _value(fact: Fact) -> str:
    return {True: "yes", False: "no"}[fact.value] if isinstance(fact.value, bool) else show_value(fact)


def _anchor(finding: Finding) -> str:
    return "f-" + (re.sub(r"[^0-9a-zA-Z-]", "-", finding.fingerprint or finding.id) or "x")


def _finding(finding: Finding, following: list[Finding]) -> Iterator[str]:
    sure = SURE[finding.confidence]
    yield f'<article id="{_anchor(finding)}" class="{finding.severity}"><h3>{prose(finding.title + where(finding))}</h3>'
    file, line = location(finding)
    at = f"{escape(file)}:{line} · " if line else ""
    yield f'<p class="dim">{at}{finding.severity}{sure} · {escape(finding_name(finding))}</p><p>{prose(finding.cause)}</p>'
    if finding.advice:
        yield f"<p>{prose(finding.advice)}</p>"
    yield from map(command, finding.commands)
    yield from ("<p>Then check:</p>", *map(command, finding.verify)) if finding.verify else ()
    yield from ("<p>To settle it:</p>", command(finding.settle)) if finding.settle else ()
    read = "".join(
        f"<li><code>{escape(f'{r.artifact} {r.place}'.strip())}</code> <q>{escape(r.quote)}</q></li>" for r in finding.evidence
    )
    says = "".join(f"<li>{finding.grade}: {source(s)}</li>" for s in finding.sources)
    yield f"<details><summary>Evidence and sources</summary><ul>{read}{says}</ul></details>"
    if following:
        yield f'<p class="dim">Leads to: {prose("; ".join(f.title for f in following))}</p>'
    yield "</article>"


def command(one: Command) -> str:
    """A command to copy, with what to know beside it."""
    said = remarks(one)
    return f"<pre>{escape(one.text)}</pre>" + (f'<p class="dim">{escape(said)}</p>' if said else "")


def source(text: str) -> str:
    """A citation, as a link if its address is plain https."""
    ref = parse_citation(text).ref
    return f'<a href="{escape(ref)}" rel="noreferrer">{escape(text)}</a>' if _LINK.fullmatch(ref) else escape(text)


def _list(title: str, lines: Iterable[str]) -> Iterator[str]:
    body = "".join(f"<li>{escape(line)}</li>" for line in lines)
    if body:
        yield f"<section><details><summary>{title}</summary><ul>{body}</ul></details></section>"


def prose(text: str) -> str:
    """Sentences, in which `words` in backticks are code."""
    return _SPAN.sub(r"<code>\1</code>", escape(text))


def escape(text: str) -> str:
    """Text for an element or a quoted attribute; control characters, which HTML has no place for, are shown as \ufffd."""
    return html.escape(re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]", "\ufffd", text), quote=True)
