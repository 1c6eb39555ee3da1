"""uv's `--torch-backend=auto` beside `rocm-doctor plan`, for every target: writes the table of docs/plan.md.

    python scripts/plan_uv.py [--check]

What uv does is stated here as facts, read from crates/uv-torch/src (accelerator.rs, backend.rs) at the commit named below: the
targets it knows, and for each the newest of the rocm indexes that it goes through. It takes the first index that has torch,
hence the newest torch of that index. What becomes of that torch on the card is judged as `plan` judges it, by the matrix.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rocm_doctor.matrix import load
from rocm_doctor.plan.candidates import Rejected
from rocm_doctor.plan.catalog import Catalog, known
from rocm_doctor.plan.machine import declared
from rocm_doctor.plan.stacks import Stack, resolve
from rocm_doctor.versions import sort_key

READ = "astral-sh/uv crates/uv-torch/src/backend.rs, accelerator.rs@26a9dd4b21 (2026-08-21)"
# The newest index of each target; uv stops with "Unknown AMD GPU architecture" at every other one.
_VEGA_TO_CDNA = ("gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx950")
_RDNA = ("gfx1030", "gfx1100", "gfx1101", "gfx1102", "gfx1150", "gfx1151", "gfx1200", "gfx1201")
UV = dict.fromkeys(_VEGA_TO_CDNA + _RDNA, "rocm7.2")
DOC = Path(__file__).resolve().parents[1] / "docs" / "plan.md"
BEGIN, END = "<!-- uv table: scripts/plan_uv.py -->", "<!-- end of uv table -->"


def row(gfx: str, known_of: Catalog) -> str:
    """One line: what uv does, what we do, and who is right by which evidence. Linux, Python 3.12, driver not known."""
    stacks, rejected = resolve(declared(gfx, "3.12", known_of.matrix), known_of)
    mine = stacks[0] if stacks else None
    ours = f"{mine.name} ({mine.grade})" if mine else "nothing known"
    index = UV.get(gfx)
    if index is None:
        return f"| {gfx} | error: unknown architecture | {ours} | {_refused(mine, rejected)} |"
    theirs = newest(index, known_of)
    return f"| {gfx} | {theirs} | {ours} | {_verdict(theirs, index, stacks, rejected)} |"


def newest(index: str, known_of: Catalog) -> str:
    """The newest torch that was seen on an index."""
    seen = [b for b in known_of.matrix.torch if b.index.endswith("/" + index) and b.evidence not in ("inferred", "build matrix")]
    return max(seen, key=lambda b: sort_key(b.torch)).local


def _refused(mine: Stack | None, rejected: list[Rejected]) -> str:
    if mine is None:
        last = next((r for r in reversed(rejected) if r.finding or "harmful" in r.why), rejected[-1])
        return f"both refuse; {last.why} ({last.source})"
    return f"ours: {mine.candidate.said[0].words} ({mine.candidate.said[0].source})"


def _verdict(theirs: str, index: str, stacks: list[Stack], rejected: list[Rejected]) -> str:
    fate = next((r for r in rejected if r.build.local == theirs), None)
    if fate is None:
        if stacks[0].candidate.build.index.endswith("/" + index):
            return "same index; ours takes the main build of it, uv the newest"
        return f"both run; ours: {stacks[0].candidate.said[0].words} ({stacks[0].candidate.said[0].source})"
    who = "ours" if stacks else "neither"
    return f"{who}: {fate.why} ({fate.source})"


def table(known_of: Catalog) -> str:
    head = ["| target | uv installs | ours | who is right, by which evidence |", "|---|---|---|---|"]
    return "\n".join([*head, *(row(gfx, known_of).replace("\n", " ") for gfx in known_of.matrix.gfx)])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="Only say whether the table is that of today's matrix.")
    request = parser.parse_args()
    text = DOC.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    fresh = f"{before}{BEGIN}\n\nuv as read in {READ}.\n\n{table(known(load()))}\n\n{END}{after}"
    if request.check:
        print("up to date" if fresh == text else f"{DOC.name} is not that of this matrix: python scripts/plan_uv.py")
        return int(fresh != text)
    DOC.write_text(fresh, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
