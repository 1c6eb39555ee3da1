"""What a language model is sent: the redacted text, what was read in it, and what is known, each within a limit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from rocm_doctor import pipeline
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.matrix import Matrix
from rocm_doctor.matrix.rows import Row
from rocm_doctor.model import Artifact, Finding, Gpu, Report
from rocm_doctor.reader.answer import SCHEMA
from rocm_doctor.reports.places import finding_name
from rocm_doctor.rules.logs import readable_logs

TEXT = 14_000
"""Characters of the text that are sent: its beginning and, of a longer one, more of its end."""
_HEAD = 5_000
_SECTION = 4_000
"""Characters of each other section."""
_LINE = 300
_ROWS, _SOLVED, _BUILDS = 8, 5, 6
_NEAR = 0.2
"""Likeness from which on a solved report is sent."""
_WORD = regex(r"[a-z_][a-z0-9_./-]{4,}")

RULES = Path(__file__).with_name("prompt.txt")
"""What the model is told before the schema of its answer."""


def messages(report: Report, artifacts: Sequence[Artifact], matrix: Matrix) -> list[dict[str, str]]:
    """The messages of one exchange, for a report and artifacts that were redacted."""
    text, diagnoses = (
        own_text(artifacts),
        "\n".join(f"{diagnosis.id}: {diagnosis.title}" for diagnosis in matrix.diagnoses.values()),
    )
    parts = {
        "facts": _facts(report),
        "findings": (line for finding in report.findings if finding.severity != "note" for line in _finding(finding)),
        "guess": (f"{guess.id}: {guess.title}" for guess in report.guesses),
        "rows that could apply": _rows(report, text, matrix),
        "solved reports that read alike": solved_lines(artifacts, matrix),
        "known": known_lines(report, matrix),
    }
    told = [f"<diagnoses>\n{diagnoses}\n</diagnoses>"]
    told += [f"<{name}>\n{body}\n</{name}>" for name, lines in parts.items() if (body := bound_lines(lines))]
    report_text = text if len(text) <= TEXT else f"{text[:_HEAD]}\n[cut]\n{text[_HEAD - TEXT :]}"
    asked = "\n\n".join([*told, f"<report>\n{_inert(report_text)}\n</report>"])
    return [{"role": "system", "content": RULES.read_text(encoding="utf-8") + SCHEMA}, {"role": "user", "content": asked}]


def own_text(artifacts: Iterable[Artifact]) -> str:
    """The texts of a person and of failing programs, one behind the other."""
    return "\n".join(log.text for log in readable_logs(artifacts)).strip()


def _inert(text: str) -> str:
    """The text without the marks that end it."""
    return text.replace("</report", "< /report")


def bound_lines(lines: Iterable[str]) -> str:
    """The lines, each cut to its limit, as far as they fit into a section."""
    kept, left = [], _SECTION
    for line in dict.fromkeys(lines):
        flat = " ".join(line.split())
        flat = flat if len(flat) <= _LINE else flat[:_LINE] + "..."
        left -= len(flat) + 1
        if left < 0:
            break
        kept.append(_inert(flat))
    return "\n".join(kept)


def _facts(report: Report) -> Iterator[str]:
    named = [(name, fact) for name, fact in report.snapshot.facts.items() if not name.endswith(".")]
    named += [(f"GPU {n} {name}", fact) for n, gpu in enumerate(report.snapshot.gpus) for name, fact in gpu.facts.items()]
    for name, fact in named:
        first = next(iter(fact.readings), None)
        if fact.known and first and first.origin == "text":
            yield f"{name}: {fact.words} ({first.artifact} {first.place}: {first.quote[:120]})"


def is_decided(one: Finding) -> bool:
    """True for a finding of high confidence that follows from none and is more than a note."""
    return one.confidence == "high" and one.severity != "note" and one.leads


def _finding(one: Finding) -> Iterator[str]:
    sure = "decided" if is_decided(one) else f"{one.confidence} confidence"
    yield f"[{sure}] {finding_name(one)}: {one.title}. {one.cause}"
    yield from (f"  read: {r.artifact} {r.place}: {r.quote}" for r in one.evidence[:2])
    yield f"  cure: {one.advice}"
    yield from (f"  command: {command.text}" for command in one.commands)


def _rows(report: Report, text: str, matrix: Matrix) -> Iterator[str]:
    """The rows that lack a fact only and that share most words with the text."""
    words = frozenset(_WORD.findall(text.casefold()))
    lacking = [row for one in report.undecided if (row := matrix.row(one.row))]

    def shared(row: Row) -> int:
        return len(words.intersection(_WORD.findall(f"{row.title} {row.cause} {row.example}".casefold())))

    for row in sorted(lacking, key=shared, reverse=True)[:_ROWS]:
        if shared(row) > 1:
            yield f"{row.key} ({row.diagnosis}): {row.title}. {row.advice or matrix.diagnoses[row.diagnosis].advice}"


def solved_lines(artifacts: Sequence[Artifact], matrix: Matrix) -> Iterator[str]:
    """A line for each of the nearest solved reports: thread, diagnosis, cause and fix."""
    near = [one for one in pipeline.find_solved(artifacts, matrix) if one.likeness >= _NEAR]
    yield from (f"{one.thread} ({one.label}): {one.cause} Fix: {one.fix}" for one in near[:_SOLVED])


def known_lines(report: Report, matrix: Matrix) -> Iterator[str]:
    """The builds that a GPU of the report can use, the values of its override, how its program is changed, and the releases of ROCm."""
    for gfx in dict.fromkeys(gpu_target(gpu) for gpu in report.snapshot.gpus):
        if gfx in matrix.gfx:
            yield f"{gfx}: {', '.join(matrix.gfx[gfx].names[:6])}"
            yield from _builds(report, gfx, matrix)
            yield from (f"HSA_OVERRIDE_GFX_VERSION={o.value} on {gfx}: {o.verdict}. {o.words}" for o in matrix.gfx[gfx].overrides)
    named = report.snapshot.value("said.program")
    for program in matrix.applications:
        if program.key == named:
            yield from (f"{program.title}, {what}: {sentence}" for what, sentence in program.how.items())
    for major in dict.fromkeys(one.version.partition(".")[0] for one in matrix.rocm):
        yield f"releases of ROCm {major}: {', '.join(r.version for r in matrix.rocm if r.version.partition('.')[0] == major)}"


def _builds(report: Report, gfx: str, matrix: Matrix) -> Iterator[str]:
    from rocm_doctor.plan.candidates import candidates
    from rocm_doctor.plan.catalog import load_catalog
    from rocm_doctor.plan.machine import declare_machine, system_from_snapshot

    found, _ = candidates(declare_machine(gfx, "", matrix, system_from_snapshot(report.snapshot)), load_catalog(matrix))
    for one in found[:_BUILDS]:
        override = f" with HSA_OVERRIDE_GFX_VERSION={one.override.value}" if one.override else ""
        yield f"torch {one.build.local or one.build.torch} has code for {gfx}{override}: --index-url {one.index.url}"
    if not found:
        yield f"no build of torch is known for {gfx} on this system"


def gpu_target(gpu: Gpu) -> str:
    """The target of a GPU; empty where it is not known."""
    value = gpu.value("gfx")
    return value if isinstance(value, str) else ""
