"""Judge mutated and spliced reports, many of them: none may raise, and none may take a second.

    python scripts/mutate_reports.py --inputs 100000 [--seed 1] [--jobs 2]

Each input is one or two labelled reports, cut, spliced, shuffled, repeated, or with bytes of another inserted (scripts/fuzz.py). Seconds
are those of the processor. Runs from a source tree as scripts/fuzz.py does. An `error` must come from a row or a rule, whatever a text repeats.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import NamedTuple

from corpus import load
from fuzz import HANGS, at_most, mutated

from rocm_doctor import pipeline
from rocm_doctor.matrix import load as load_matrix
from rocm_doctor.sources.paste import cut

LIMIT = 1.0
MATRIX = load_matrix()
TEXTS = [entry.text for entry in load() if not entry.testing]


class Judged(NamedTuple):
    number: int
    fault: str
    seconds: float
    size: int


def spliced(rng: random.Random) -> str:
    """Two reports joined line by line at random places, or one with its lines shuffled or repeated."""
    one, other = rng.choice(TEXTS).split("\n"), rng.choice(TEXTS).split("\n")
    way = rng.randrange(4)
    if way == 0:
        lines = one[: rng.randrange(len(one) + 1)] + other[rng.randrange(len(other)) :]
    elif way == 1:
        lines = [line for pair in zip(one, other) for line in pair]
    elif way == 2:
        lines = rng.sample(one, len(one))
    else:
        lines = one + [rng.choice(one)] * rng.choice((10, 300, 3000))
    return "\n".join(lines)


def judge(job: tuple[int, int]) -> Judged:
    seed, number = job
    rng = random.Random(f"{seed}-{number}")
    text = spliced(rng) if number % 2 else mutated(rng, TEXTS)
    start = time.process_time()
    fault = ""
    try:
        with at_most(HANGS):
            report = pipeline.judge(cut(text, "report"), MATRIX, source="report", kind="capture")
        fault = "; ".join(
            f"{f.id}: an error of the differential alone"
            for f in report.findings
            if f.severity == "error" and f.origin == "differential"
        )
    except Exception as exc:
        fault = f"{type(exc).__name__}: {exc}"
    return Judged(number, fault, time.process_time() - start, len(text))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    args = parser.parse_args()
    faults, slowest, total = 0, Judged(0, "", 0.0, 0), 0.0
    with ProcessPoolExecutor(args.jobs, get_context("fork")) as pool:
        for one in pool.map(judge, ((args.seed, n) for n in range(args.inputs)), chunksize=50):
            total += one.seconds
            slowest = max(slowest, one, key=lambda judged: judged.seconds)
            if one.fault or one.seconds > LIMIT:
                faults += 1
                print(f"input {one.number} ({one.size} characters): {one.fault or f'{one.seconds:.2f} s'}", flush=True)
    mean = 1000 * total / max(1, args.inputs)
    print(f"{args.inputs} reports, {faults} faults, {mean:.1f} ms each, slowest {slowest.seconds:.2f} s (input {slowest.number})")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
