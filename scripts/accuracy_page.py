"""docs/accuracy.md and the README's line, from docs/accuracy.json (which scripts/score.py --save writes)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PAGE = "https://github.com/rocm-doctor/rocm-doctor/blob/main/docs/accuracy.md"
SAVED = Path(__file__).resolve().parent.parent / "docs" / "accuracy.json"

INTRODUCTION = """# How often is the doctor right?

Measured on real threads in which the cause was confirmed. The doctor is given what the person could paste before knowing the
answer, and nothing else; its answer is the list of findings that are errors or warnings, in the order given. `first`: the
confirmed cause (or one that a fair judge accepts) is named first; `top 3`: among the first three; `silent`: nothing was said.
A false alarm is an error, or a warning above low confidence, on a report whose environment is fine.

The sets differ in how much the rows had seen of them, and the difference between them is the point of this page.
"""

METHOD = """
## What the figures are worth

- Texts are condensed excerpts of public threads; many are two or three lines long. Where the thread gave more (a whole
  rocminfo, a log), more facts decide.
- One and the same author labelled the held-out sets and wrote rows. In about a quarter of the held-out half the text was filled
  up from the thread's title and the tool's known wording where the copy at hand was cut; the texts of the first contact are
  excerpts unchanged.
- A set that has been looked at is spent: rows were written after each of them for the causes that it showed to be missing. Only
  a new set says how the present rows do, which is why the figures of the first contacts stay as they were. Expect what the last
  of them says, not what the shared corpus says. Their false alarms were taken out of the rows after the figures had been made.
- The cases are not part of this repository. `python scripts/score.py CASES_DIR --ablate` makes these tables for your own cases.
"""


def saved() -> dict[str, Any]:
    kept: dict[str, Any] = json.loads(SAVED.read_text(encoding="utf-8")) if SAVED.is_file() else {}
    return dict(sorted(kept.items(), key=lambda item: item[1].get("order", 9)))


def share(counts: dict[str, int], name: str) -> str:
    return f"{100 * counts[name] / counts['n']:.0f} %" if counts.get("n") else "-"


def block() -> str:
    """The first table: one line for each set."""
    lines = ["| cases | n | first | top 3 | first, where an expert can tell | false alarms |", "|---|--:|--:|--:|--:|--:|"]
    for name, one in saved().items():
        sure = one["determinable"].get("yes", {})
        alarms = f"{one['controls']['alarms']} of {one['controls']['n']}"
        total = one["all"]
        cells = (name, str(total["n"]), share(total, "first"), share(total, "three"), share(sure, "first"), alarms)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", *(f"- *{name}* ({one['date']}): {one['note']}" for name, one in saved().items())])


def line() -> str:
    """The README's line: the newest set of fresh threads that has a hundred; a smaller one is mostly chance."""
    name, one = [(name, one) for name, one in saved().items() if one["all"]["n"] >= 100][-1]
    total, sure, controls = one["all"], one["determinable"].get("yes", {}), one["controls"]
    return (
        f"On {total['n']} fresh bug reports with a confirmed cause ({name}), scored once: the cause is named first in "
        f"{share(total, 'first')} ({share(sure, 'first')} where an expert can tell from the text), among the first three in "
        f"{share(total, 'three')}; {controls['alarms']} false alarms on {controls['n']} healthy ones. "
        f"[All figures]({PAGE})."
    )


def page() -> str:
    """docs/accuracy.md."""
    parts = [INTRODUCTION, block(), ""]
    for name, one in saved().items():
        if one["all"]["n"] < 100:
            continue  # the parts of a small set are chance
        parts += [f"\n## {name[0].upper()}{name[1:]}\n", one["note"] + "\n", _counts(one)]
        if "ablation" in one:
            parts += ["\nWhat each kind of evidence adds:\n", _ablation(one["ablation"])]
    return "\n".join([*parts, METHOD])


def _counts(one: dict[str, Any]) -> str:
    lines = ["| an expert can tell | n | first | top 3 | silent |", "|---|--:|--:|--:|--:|"]
    lines += [
        f"| {name} | {c['n']} | {share(c, 'first')} | {share(c, 'three')} | {share(c, 'silent')} |"
        for name, c in one["determinable"].items()
    ]
    return "\n".join(lines)


def _ablation(steps: dict[str, dict[str, int]]) -> str:
    lines = ["| evidence | first | top 3 | false alarms |", "|---|--:|--:|--:|"]
    return "\n".join(
        [*lines, *(f"| {name} | {share(c, 'first')} | {share(c, 'three')} | {c['alarms']} |" for name, c in steps.items())]
    )
