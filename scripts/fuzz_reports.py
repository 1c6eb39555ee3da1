"""Mutated and spliced reports through the whole line, in this process: no exception, no crashed probe, none over a second.

    python scripts/fuzz_reports.py [--runs 100000] [--seed 1] [--minutes 60]

Seeds are the texts under fixtures/ and, in a checkout that has it beside it, ../shared/corpus. What breaks is written to a file
in the folder that --keep names, with the seed and the number of the run.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from rocm_doctor import pipeline
from rocm_doctor.matrix import Matrix, load
from rocm_doctor.sources.paste import cut

ROOT = Path(__file__).resolve().parent.parent
PLACES = (ROOT / "fixtures", ROOT.parent / "shared" / "corpus")
LIMIT = 1.0
"""Seconds that one report may take (process time: a busy machine is not the program's fault)."""
LARGEST = 60_000
LETTERS = (0, 9, 10, 32, 42, 58, 92, 124, 0x2028, 0x130, 0x1F600)
HOSTILE = (
    "{" * 400, "\0", "\ufffd" * 50, "a|b*c" * 200, "%s%n" * 50, "((((" * 300, "1." * 2000, "gfx" * 900, "\u0130" * 100, "\r",
    "\x1b[31m", "`" * 999, "HSA_OVERRIDE_GFX_VERSION=" * 80, "/" * 3000, "-" * 5000, "torch==" * 300, "{crash}",
    "rocm" + "0" * 2000, " " * 4000 + "x",
)  # fmt: skip
TEXTS = (".md", ".txt", ".log", ".json")


def seeds() -> list[str]:
    """Texts to start from, cut to a size that keeps a run short."""
    found = (p for place in PLACES for p in sorted(place.rglob("*")) if p.suffix in TEXTS and p.is_file())
    texts = (p.read_bytes().decode("utf-8", "replace")[:LARGEST] for p in found)
    return [text for text in texts if text.strip()]


def dropped(rng: random.Random, text: str, other: str) -> str:
    lines = text.split("\n")
    return "\n".join(line for line in lines if rng.random() > 0.2)


def shuffled(rng: random.Random, text: str, other: str) -> str:
    lines = text.split("\n")
    rng.shuffle(lines)
    return "\n".join(lines)


def spliced(rng: random.Random, text: str, other: str) -> str:
    return text[: rng.randrange(len(text) + 1)] + other[rng.randrange(len(other)) :]


def interleaved(rng: random.Random, text: str, other: str) -> str:
    return "\n".join(line for pair in zip(text.split("\n"), other.split("\n")) for line in pair)


def scratched(rng: random.Random, text: str, other: str) -> str:
    letters = list(text)
    for _ in range(1 + len(letters) // 50):
        letters[rng.randrange(len(letters))] = chr(rng.choice((*LETTERS, rng.randrange(1, 0xD7FF))))
    return "".join(letters)


def hostile(rng: random.Random, text: str, other: str) -> str:
    place = rng.randrange(len(text) + 1)
    return text[:place] + rng.choice(HOSTILE) * rng.randrange(1, 4) + text[place:]


def joined(rng: random.Random, text: str, other: str) -> str:
    return text.replace("\n", rng.choice((" ", "", "\r", "\n> ", "\n    ", "\r\n")))


Mutation = Callable[[random.Random, str, str], str]
MUTATIONS: tuple[Mutation, ...] = (dropped, shuffled, spliced, interleaved, scratched, hostile, joined)


def mutated(rng: random.Random, texts: list[str]) -> str:
    text = rng.choice(texts)
    for _ in range(rng.randrange(1, 4)):
        text = rng.choice(MUTATIONS)(rng, text or "x", rng.choice(texts))[:LARGEST]
    return text


def fault(text: str, matrix: Matrix) -> tuple[str, float]:
    """What went wrong with this report (nothing: an empty text), and the seconds it took."""
    start = time.process_time()
    try:
        report = pipeline.judge(cut(text, "fuzz"), matrix)
        wrong = "; ".join(r.quote for r in report.snapshot.errors if r.artifact.startswith("probe "))
    except Exception as exc:
        wrong = f"{type(exc).__name__}: {exc}"
    took = time.process_time() - start
    return wrong or (f"{took:.2f} s" if took > LIMIT else ""), took


def campaign(runs: int, seed: int, minutes: float) -> Iterator[tuple[int, str, str, float]]:
    """(number, text, what went wrong, seconds) of every run."""
    matrix, texts, stop = load(), seeds(), time.monotonic() + 60 * minutes
    for number in range(runs):
        if time.monotonic() > stop:
            return
        text = mutated(random.Random(f"{seed}-{number}"), texts)
        yield (number, text, *fault(text, matrix))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=600.0)
    parser.add_argument("--keep", type=Path, default=Path("fuzz-faults"), help="folder for the reports that broke something")
    args = parser.parse_args()
    done, faults, slowest = 0, 0, 0.0
    for number, text, wrong, took in campaign(args.runs, args.seed, args.minutes):
        done, slowest = done + 1, max(slowest, took)
        if wrong:
            faults += 1
            args.keep.mkdir(parents=True, exist_ok=True)
            (args.keep / f"{args.seed}-{number}.txt").write_text(text, encoding="utf-8", errors="surrogatepass")
            print(f"run {number}: {wrong}", flush=True)
        if done % 2000 == 0:
            print(f"{done} runs, {faults} faults, slowest {slowest:.2f} s", file=sys.stderr, flush=True)
    print(f"{done} reports, {faults} faults, slowest {slowest:.2f} s of process time")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
