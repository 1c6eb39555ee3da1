"""Is the work on a text linear in its length, whatever it is full of? Every pair of characters that a keyboard prints, as a banner of two sizes.

    python scripts/linear_work.py [--every 20]

A banner stands between lines that tools print, and is judged and redacted as `check -o FILE` does. Four times the banner may take at most
six times as long; a pair that takes longer is measured again with four times the letters, where the start of the work is nothing any more.
Prints the pairs that break the bound and the slowest others, and ends with 1 for any that does. Runs from a source tree (PYTHONPATH=.).
"""

from __future__ import annotations

import argparse
import string
import sys
import time
from collections.abc import Sequence
from itertools import permutations

from rocm_doctor import pipeline
from rocm_doctor.matrix import load
from rocm_doctor.redaction.redactor import Redactor
from rocm_doctor.redaction.shared import redact_report
from rocm_doctor.reports import RenderOptions, render
from rocm_doctor.sources.paste import cut

PAIRS = tuple(map("".join, permutations(string.digits + string.ascii_letters + string.punctuation, 2)))
PRINTED = "Agent 2\n*******\n  Name:                    gfx1100\n[ 12.345678] amdgpu 0000:03:00.0: amdgpu: ring gfx timeout\n"
SIZES = (3_000, 12_000)
MOST = 6.0
"""Times as long that four times the text may take."""


def seconds(pair: str, size: int) -> float:
    """Processor time of judging, redacting and rendering a banner of `size` letters."""
    text = f"{PRINTED}{pair * (size // 2)}\n{PRINTED}"
    start = time.process_time()
    report = redact_report(pipeline.judge(cut(text, "banner"), load(), kind="capture"), Redactor())
    render("markdown", report, RenderOptions(verbose=True))
    Redactor().text(text)
    return time.process_time() - start


def ratio(pair: str, sizes: Sequence[int] = SIZES) -> tuple[float, float]:
    """How many times as long the longer banner of a pair takes, and the seconds that it takes; the least of up to three tries."""
    tries: list[tuple[float, float]] = []
    while len(tries) < 3 and not (tries and min(tries)[0] <= MOST):
        scale = 4 if tries else 1
        short, long = (seconds(pair, scale * size) for size in sizes)
        tries.append((long / short, long / scale))
    return min(tries)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1, help="take every Nth pair")
    args = parser.parse_args()
    seconds("ab", 1_000)  # reads the matrix
    measured = sorted(((*ratio(pair), pair) for pair in PAIRS[:: args.every]), reverse=True)
    broken = [one for one in measured if one[0] > MOST]
    for times, took, pair in (*broken, *measured[:5], *sorted(measured, key=lambda one: -one[1])[:5]):
        print(f"{pair}: {times:.2f} times, {took:.3f} s")
    print(
        f"{len(measured):,} pairs, {len(broken)} over {MOST:g} times, the worst {measured[0][0]:.2f}; the slowest {max(m[1] for m in measured):.3f} s"
    )
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
