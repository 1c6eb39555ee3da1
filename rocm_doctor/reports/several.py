"""Reports of several machines, or for several declared targets, as one document: a report each, and one summary line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from rocm_doctor.model import Report
from rocm_doctor.reports import RenderOptions, render_cleaned
from rocm_doctor.reports.neutral import clean, defuse


class Summary(msgspec.Struct, frozen=True):
    """How many machines have each verdict, and that in words."""

    machines: int
    ready: int
    problems: int
    undetermined: int
    words: str


def summary(reports: Sequence[Report]) -> Summary:
    """The reports in one line: `4 machines: 3 ready, 1 with problems (node04)`."""
    counts: Counter[str] = Counter(report.verdict for report in reports)
    said = [f"{counts['ready']} ready"] if counts["ready"] else []
    for verdict, words in (("problems", "with problems"), ("undetermined", "undetermined")):
        names = ", ".join(report.source for report in reports if report.verdict == verdict)
        said += [f"{counts[verdict]} {words} ({names})"] if names else []
    what = "targets" if all(report.kind == "environment" for report in reports) else "machines"
    line = f"{len(reports)} {what}: {', '.join(said)}"
    return Summary(len(reports), counts["ready"], counts["problems"], counts["undetermined"], line)


def render_several(format_: str, reports: Sequence[Report], look: RenderOptions) -> str:
    """The reports in that format, without control sequences and CI commands, also in their names."""
    return defuse(_join(format_, [clean(report) for report in reports], look), commands=format_ == "github")


def _join(format_: str, reports: Sequence[Report], look: RenderOptions) -> str:
    each = [render_cleaned(format_, report, look) for report in reports]
    if format_ == "json":
        body = {"machines": [msgspec.json.decode(one) for one in each], "summary": summary(reports)}
        return msgspec.json.format(msgspec.json.encode(body), indent=1).decode() + "\n"
    if format_ == "sarif":
        first, *others = [msgspec.json.decode(one) for one in each]
        first["runs"] += [run for other in others for run in other["runs"]]
        return msgspec.json.format(msgspec.json.encode(first), indent=1).decode() + "\n"
    if format_ == "junit":
        head, tail = "<testsuites>\n", "</testsuites>"
        suites = "".join(one.partition(head)[2].rpartition(tail)[0] for one in each)
        return f"{each[0].partition(head)[0]}{head}{suites}{tail}\n"
    if format_ == "text":
        blocks = [f"{report.source}\n{text}" for report, text in zip(reports, each)]
        return "\n".join([*blocks, summary(reports).words]) + "\n"
    tail = f"\n{summary(reports).words}\n" if format_ == "markdown" else ""
    return "".join(each) + tail
