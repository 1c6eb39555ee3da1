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

CURES = """
## Does the first answer cure?

The cause alone does not help: the fix must work. Judges who do not know the tool read the report, the confirmed fix and the tool's
first answer, and say what follows for a person who does what it says: the fault is gone (right), he is closer to the fix (partly), nothing
changes (no), or he is worse off (harmful). The protocol is in
[scripts/cure_score.py](../scripts/cure_score.py), which draws the threads and counts the verdicts of three judges.
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
- The cases are not part of this repository. `python scripts/score.py CASES_DIR --ablate` makes these figures for your own cases.
"""


def saved() -> dict[str, Any]:
    kept: dict[str, Any] = json.loads(SAVED.read_text(encoding="utf-8")) if SAVED.is_file() else {}
    return dict(sorted(kept.items(), key=lambda item: item[1].get("order", 9)))


def share(counts: dict[str, int], name: str) -> str:
    return f"{100 * counts[name] / counts['n']:.0f} %" if counts.get("n") else "-"


def block() -> str:
    """The first table: one line for each set."""
    lines = ["| cases | n | first | top 3 | first, where an expert can tell | false alarms |", "|---|--:|--:|--:|--:|--:|"]
    for name, one in _classes():
        sure = one["determinable"].get("yes", {})
        alarms = f"{one['controls']['alarms']} of {one['controls']['n']}"
        total = one["all"]
        cells = (name, str(total["n"]), share(total, "first"), share(total, "three"), share(sure, "first"), alarms)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", *(f"- *{name}* ({one['date']}): {one['note']}" for name, one in _classes())])


def _classes() -> list[tuple[str, dict[str, Any]]]:
    """The sets on which causes were named."""
    return [(name, one) for name, one in saved().items() if "all" in one]


def line() -> str:
    """The README's line: the newest set of fresh threads that has a hundred; a smaller one is mostly chance."""
    name, one = [(name, one) for name, one in _classes() if one["all"]["n"] >= 100][-1]
    total, sure, controls = one["all"], one["determinable"].get("yes", {}), one["controls"]
    return (
        f"On {total['n']} fresh bug reports with a confirmed cause ({name}), scored once: the cause is named first in "
        f"{share(total, 'first')} ({share(sure, 'first')} where an expert can tell from the text), among the first three in "
        f"{share(total, 'three')}; {controls['alarms']} false alarms on {controls['n']} healthy ones. "
        f"[All figures]({PAGE})."
    )


def cures() -> str:
    """The cure scores: a line for each set and for the whole output of each; then the first answers by diagnosis."""
    sets = [(name, one) for name, one in saved().items() if "cures" in one]
    if not sets:
        return "No set was judged yet."
    lines = ["| threads | read | n | right | partly | no | harmful |", "|---|---|--:|--:|--:|--:|--:|"]
    for name, one in sets:
        for part, groups in one["cures"].items():
            lines.append(_cells(name, f"the {part} answer" if part == "first" else "the whole output", groups.get("all", {})))
    newest = {name: counts for name, counts in sets[-1][1]["cures"]["first"].items() if name != "all"}
    if newest:
        lines += ["", "By diagnosis, first answers of the newest set:", "", "| diagnosis | | n | right | partly | no | harmful |",
                  "|---|---|--:|--:|--:|--:|--:|"]  # fmt: skip
        lines += [_cells(name, "", counts) for name, counts in newest.items()]
    return "\n".join([*lines, "", *(f"- *{name}* ({one['date']}): {one['note']}" for name, one in sets)])


def _cells(name: str, part: str, counts: dict[str, int]) -> str:
    total = sum(counts.values())
    said = (str(counts.get(word, 0)) for word in ("right", "partly", "no", "harmful"))
    return f"| {name} | {part} | {total} | {' | '.join(said)} |"


def page() -> str:
    """docs/accuracy.md."""
    return "\n".join([INTRODUCTION, block(), "", CURES, cures(), METHOD])
