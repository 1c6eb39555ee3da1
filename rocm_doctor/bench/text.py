"""The report of `bench` as text with bars."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_doctor.figures.types import BenchReport, Conditions, Device, Figure
from rocm_doctor.model import Finding
from rocm_doctor.reports.lines import wrap

BAR = 16
MARKS = {"as expected": "ok", "slow": "SLOW", "cannot tell": "?"}


def page(report: BenchReport, width: int = 100) -> str:
    """The whole report in at most `width` columns: figures by GPU, then causes, then what was not measured."""
    parts = [[*_gpu(report, gpu)] for gpu in report.gpus]
    parts += [[*_cause(cause)] for cause in report.causes]
    missing = [f"  {gap.stage}: {gap.status}{': ' + gap.reason if gap.reason else ''}" for gap in report.not_measured]
    parts += [["not measured:", *missing]] if missing else []
    parts.append([summary(report)])
    return "\n\n".join("\n".join(row for line in part for row in wrap(line, width)) for part in parts)


def summary(report: BenchReport) -> str:
    """One sentence: how many figures are slow, and how many causes are known."""
    slow = [f for f in report.figures if f.verdict == "slow"]
    judged = [f for f in report.figures if f.verdict != "cannot tell"]
    first = f"{len(slow)} of {len(judged)} judged figures {'is' if len(slow) == 1 else 'are'} slow"
    words = (
        f"{first}, {len(report.causes) or 'no'} known cause{'' if len(report.causes) == 1 else 's'}"
        if slow
        else f"{len(judged)} {'figure is' if len(judged) == 1 else 'figures are'} as expected, none is slow"
    )
    return words + ("; interrupted: the rest was not measured" if report.interrupted else "")


def heading(report: BenchReport, gpu: Device) -> str:
    """The GPU, its limits and torch, in one line."""
    parts = [
        f"GPU {gpu.index}: {gpu.name}" if gpu.kind != "cpu" else "CPU",
        gpu.gfx,
        f"torch {report.torch}" if report.torch else "",
    ]
    parts.append(f"{gpu.power_cap_watts:.0f} W" if gpu.power_cap_watts else "")
    parts.append(f"{gpu.link_speed} x{gpu.link_width}" if gpu.link_speed and gpu.link_width else "")
    return ", ".join(filter(None, parts))


def _gpu(report: BenchReport, gpu: Device) -> Iterator[str]:
    yield heading(report, gpu)
    for figure in (f for f in report.figures if f.gpu == gpu.index):
        bar = _bar(figure.share) if figure.share is not None else " " * BAR
        value = f"{figure.value:>9.4g} {figure.unit:<8} ±{100 * figure.spread:>4.1f} %"
        yield f"  {figure.name:<28}{value}  {bar}  {MARKS[figure.verdict]:<4} {verdict_words(figure)}".rstrip()
    beside = [(f.name, describe(f)) for f in report.figures if f.gpu == gpu.index and gpu.kind != "cpu"]
    if any(words for _, words in beside):
        yield "  measured with:"
        yield from (f"    {name:<28}{words}" for name, words in beside if words)


def verdict_words(figure: Figure) -> str:
    """Why this verdict; nothing for a figure without a reference."""
    return "" if figure.why == "no reference" else figure.why


def describe(figure: Figure) -> str:
    """Shape, library or path, and the sensors during the measurement."""
    detail = figure.detail
    shape = " x ".join(map(str, detail.get("shape") or ()))
    parts = [shape, str(detail.get("library") or ""), str(detail.get("path") or ""), describe_load(figure.conditions)]
    return ", ".join(filter(None, parts))


def describe_load(loaded: Conditions) -> str:
    """The sensors in words."""
    parts = [
        f"{loaded.clock_mhz:.0f} of {loaded.clock_max_mhz:.0f} MHz" if loaded.clock_mhz and loaded.clock_max_mhz else "",
        f"{loaded.power_watts:.0f} W" if loaded.power_watts else "",
        f"{loaded.temperature_c:.0f} °C" if loaded.temperature_c else "",
    ]
    return ", ".join(filter(None, parts))


def _bar(share: float) -> str:
    full = round(min(1.0, max(0.0, share)) * BAR)
    return "█" * full + "░" * (BAR - full)


def _cause(cause: Finding) -> Iterator[str]:
    yield f"why: {cause.title} [{cause.row}]"
    yield from dict.fromkeys(f"  read: {reading.quote}" for reading in cause.evidence)
    yield f"  do: {cause.advice}"
    yield from (f"    {command.text}" for command in cause.commands)
