"""How often does the doctor name the confirmed cause of a bug report? On cases of your own as well as on ours.

    python scripts/score.py CASES_DIR [--misses]
    python scripts/score.py testing                 # the reports that are for testing only: to be scored, not read
    python scripts/score.py testing:2026-11-22      # one sample of them that was drawn for testing as a whole

A case is a folder with `case.md` (what a person could paste before knowing the answer; nothing else is read) and `label.yaml`:
`primary` (the diagnosis id that is right, or `none` where the environment is fine), `acceptable` (others that a judge takes),
and for the tables `determinable` (yes, partly, no), `gfx` (a list), `year`. The answer is the list of ids of the findings that
are errors or warnings, in the order given.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import corpus
import yaml
from corpus import Entry

from rocm_doctor import pipeline
from rocm_doctor.matrix import Matrix, load
from rocm_doctor.sources.paste import cut

TESTING = "testing"
"""Means the reports of fixtures/reports that are for testing only."""


class Result(NamedTuple):
    """One case: what was right, what the doctor said, and whether it was loud: an error, or a warning above low confidence, that
    does not lay it to a release of the program."""

    case: str
    primary: str
    right: frozenset[str]
    determinable: str
    gfx: tuple[str, ...]
    year: str
    said: tuple[str, ...]
    loud: bool
    likely: tuple[str, ...] = ()

    @property
    def control(self) -> bool:
        return self.primary == "none"

    @property
    def first(self) -> bool:
        return next(iter((*self.said, *self.likely)), "") in self.right

    @property
    def among_three(self) -> bool:
        return any(s in self.right for s in tuple(dict.fromkeys((*self.said, *self.likely)))[:3])

    @property
    def alarm(self) -> bool:
        return self.control and self.loud and not self.first


def ask(entry: Entry, matrix: Matrix) -> Result:
    """One report. What its words read like counts behind the findings, and first where there are none."""
    report = pipeline.judge(cut(entry.text, entry.id), matrix)
    found = [f for f in report.findings if f.severity in ("error", "warning")]
    return Result(
        entry.id,
        entry.label,
        frozenset([entry.label, *entry.acceptable]),
        entry.determinable or "yes",
        entry.gfx,
        str(entry.year or "unknown"),
        tuple(dict.fromkeys(f.id for f in found)),
        any(f.severity == "error" or f.confidence != "low" for f in found if f.id != "version.program-regression"),
        tuple(one.id for one in report.differential if one.title),
    )


def cases(place: str) -> list[Entry]:
    """The labelled reports of a folder of cases, or those for testing only."""
    kind, _, sample = place.partition(":")
    if kind == TESTING:
        asked = {sample} if sample else {"", *corpus.SCORED}
        return [e for e in corpus.load() if e.testing and e.sample in asked]
    return [_case(path.parent) for path in sorted(Path(place).glob("*/label.yaml"))]


def _case(folder: Path) -> Entry:
    label = yaml.safe_load((folder / "label.yaml").read_text(encoding="utf-8"))
    sure = str(label.get("determinable", "yes")).lower()
    year = str(label.get("year", ""))
    return Entry(
        id=folder.name,
        label=label["primary"],
        text=(folder / "case.md").read_text(encoding="utf-8"),
        acceptable=tuple(label.get("acceptable") or ()),
        determinable={"true": "yes", "false": "no"}.get(sure, sure),  # type: ignore[arg-type]
        gfx=tuple(label.get("gfx") or ()),
        year=int(year) if year.isdigit() else 0,
        cause=str(label.get("cause") or ""),
        fix=str(label.get("fix") or ""),
    )


def score(place: str | Path) -> list[Result]:
    """Every report, by name."""
    matrix = load()
    return [ask(entry, matrix) for entry in cases(str(place))]


def tally(results: Iterable[Result]) -> dict[str, int]:
    """Counts of a group of cases that have something wrong."""
    group = list(results)
    counts = {"n": len(group), "first": sum(r.first for r in group), "three": sum(r.among_three for r in group)}
    return {**counts, "silent": sum(not (r.said or r.likely) for r in group)}


def share(counts: dict[str, int], name: str) -> str:
    """A count in percent of its group."""
    return f"{100 * counts[name] / counts['n']:.0f} %" if counts.get("n") else "-"


def generations(result: Result, matrix: Matrix) -> list[str]:
    return sorted({matrix.gfx[g].family if g in matrix.gfx else "other" for g in result.gfx}) or ["not stated"]


def figures(results: Sequence[Result], matrix: Matrix) -> dict[str, Any]:
    """All tables: the whole, by determinability, by label, by GPU generation, by year, and the controls."""
    faulty = [r for r in results if not r.control]
    controls = [r for r in results if r.control]

    def by(keys: Callable[[Result], Iterable[str]]) -> dict[str, dict[str, int]]:
        names = sorted({k for r in faulty for k in keys(r)})
        return {name: tally(r for r in faulty if name in keys(r)) for name in names}

    return {
        "all": tally(faulty),
        "determinable": by(lambda r: [r.determinable]),
        "label": by(lambda r: [r.primary]),
        "generation": by(lambda r: generations(r, matrix)),
        "year": by(lambda r: [r.year]),
        "controls": {"n": len(controls), "alarms": sum(r.alarm for r in controls)},
    }


def table(made: dict[str, Any]) -> str:
    kinds = ("determinable", "label", "generation", "year")
    rows = [("all", made["all"]), *((f"{kind} {k}", v) for kind in kinds for k, v in made[kind].items())]
    lines = [f"{'':42}{'n':>4}{'first':>8}{'top 3':>8}{'silent':>8}"]
    lines += [f"{name:42}{v['n']:4}{share(v, 'first'):>8}{share(v, 'three'):>8}{share(v, 'silent'):>8}" for name, v in rows]
    return "\n".join([*lines, f"controls {made['controls']['n']}, false alarms {made['controls']['alarms']}"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", help="a folder of cases, `testing` (those drawn by hash) or `testing:SAMPLE`")
    parser.add_argument("--misses", action="store_true", help="list what was not right at first place, and the false alarms")
    args = parser.parse_args()
    results = score(args.cases)
    if not results:
        parser.error(f"{args.cases} holds no folder with a label.yaml")
    print(table(figures(results, load())))
    if args.misses:
        missed = [r for r in results if r.alarm or not (r.control or r.first)]
        print(*(f"{r.case}: wanted {r.primary}, said {', '.join(r.said[:3]) or 'nothing'}" for r in missed), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
