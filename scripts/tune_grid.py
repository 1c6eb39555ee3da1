"""`rocm-doctor tune` against the exhaustive grid, on this machine's GPUs: is its choice as fast, and how much of the grid's time does it take?

    python scripts/tune_grid.py RESULTS "--model qwen2.5-0.5b --vram 24GiB --sequences 8" "--model ./mine --method full"
    python scripts/tune_grid.py RESULTS --summary

Each argument after the folder holds the options of one `rocm-doctor tune`. The grid runs every configuration that is predicted to fit, each by a
long run, in random order. Processes with the same folder share the work, one for each GPU (CUDA_VISIBLE_DEVICES). At the end the fastest
configurations and the chosen one are measured again in turn, since a few percent between single runs mean nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shlex
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

from rocm_doctor.cli.tune import card_of, command
from rocm_doctor.fit import resolve
from rocm_doctor.matrix import load
from rocm_doctor.tune import runner, search
from rocm_doctor.tune.search import Measured
from rocm_doctor.tune.space import Choice, Space, fits

AGAIN, TURNS = 4, 3
"""The fastest configurations that are measured again, and how often."""
WAIT = 60.0
"""Seconds for the last runs of the other processes."""
Line = dict[str, Any]


def main() -> None:
    """Do what no other process has claimed, or print the summaries."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("options", nargs="*")
    parser.add_argument("--until", type=float, default=1e9, help="Start no further run of the grid after so many seconds.")
    parser.add_argument("--summary", action="store_true")
    args = parser.parse_args()
    if args.summary:
        print(
            json.dumps(
                [summed(args.results, one.stem.partition("-")[2]) for one in sorted(args.results.glob("grid-*.jsonl"))], indent=1
            )
        )
    else:
        args.results.mkdir(exist_ok=True)
        measure(args.results, args.options, time.monotonic() + args.until)


def measure(results: Path, models: list[str], until: float) -> None:
    """Tune, run the grids, and the fastest again; all of it where no other process does."""
    for number, options in enumerate(models):
        if claimed(results, f"tune-{number}"):
            by_tune(results / f"tune-{number}.json", shlex.split(options))
    with runner.worker(None, packages=("transformers", "peft")) as worker:
        hello = worker.start()
        note(results / "starts.jsonl", {"seconds": hello.start_seconds})
        for number, options in enumerate(models):
            grid(worker, hello, results, number, options, until)
        for number, options in enumerate(models):
            if claimed(results, f"again-{number}"):
                again(worker, hello, results, number, options)


def claimed(results: Path, what: str) -> bool:
    """Whether this process is the first to claim it."""
    try:
        os.close(os.open(results / f"{what}.claim", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def note(path: Path, line: Line) -> None:
    """Append a line of JSON, whole even if other processes append, too."""
    with path.open("ab", buffering=0) as file:
        file.write(msgspec.json.encode(line) + b"\n")


def noted(path: Path) -> list[Line]:
    """The lines so far."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def by_tune(path: Path, options: list[str]) -> None:
    """The outcome of the command, with its seconds."""
    began = time.monotonic()
    tune = [sys.executable, "-m", "rocm_doctor", "tune", *options, "--format", "json"]
    found = json.loads(subprocess.run(tune, check=True, stdout=subprocess.PIPE).stdout)
    path.write_text(json.dumps({**found, "options": shlex.join(options), "whole_seconds": time.monotonic() - began}))


def able(worker: runner.Worker, hello: runner.Hello, options: str) -> list[Choice]:
    """The configurations that are predicted to fit. They are the worker's from now on."""
    asked, matrix = command.make_context("tune", shlex.split(options)).params, load()
    card = card_of(hello, asked["vram"], matrix)
    request = resolve.Request({key: asked[key] for key in ("model", "method", "rank", "seq")})
    worker.base = resolve.resolve(request, card.gfx, hello.torch, matrix).job
    return [one for one in Space(asked["sequences"], fused_loss=(False, True)).every() if fits(one, worker.base, card)]


def grid(worker: runner.Worker, hello: runner.Hello, results: Path, number: int, options: str, until: float) -> None:
    """A long run of each configuration that no other process has claimed. The first run, which pays for the libraries' start, counts apart."""
    choices = able(worker, hello, options)
    order = random.Random(number).sample(range(len(choices)), len(choices))
    first = timed(worker, choices[0], search.SHORT)["took"]
    for n in order:
        if time.monotonic() < until and claimed(results, f"run-{number}-{n}"):
            note(results / f"grid-{number}.jsonl", {**timed(worker, choices[n], search.LONG), "first": first, "of": len(choices)})


def timed(worker: runner.Worker, choice: Choice, length: tuple[int, int]) -> Line:
    """A run, and its seconds with all that belongs to it."""
    began = time.monotonic()
    found: Line = msgspec.to_builtins(worker.measure(choice, *length))
    return {**found, "took": time.monotonic() - began}


def again(worker: runner.Worker, hello: runner.Hello, results: Path, number: int, options: str) -> None:
    """The fastest configurations of the whole grid and the chosen one, in turn."""
    choices, until = able(worker, hello, options), time.monotonic() + WAIT
    path, tuned = results / f"grid-{number}.jsonl", results / f"tune-{number}.json"
    while (len(noted(path)) < len(list(results.glob(f"run-{number}-*"))) or not tuned.exists()) and time.monotonic() < until:
        time.sleep(0.5)
    best = sorted(noted(path), key=lambda one: -one["tokens_s"])[:AGAIN]
    chosen = msgspec.convert(json.loads(tuned.read_text())["best"]["choice"], Choice)
    picked = dict.fromkeys([*(msgspec.convert(one["choice"], Choice) for one in best), chosen])
    worker.measure(choices[0], *search.SHORT)
    for _ in range(TURNS):
        for choice in picked:
            note(results / f"again-{number}.jsonl", timed(worker, choice, search.LONG))


def summed(results: Path, number: str) -> Line:
    """The figures of docs/bench.md for one model."""
    tuned, runs = json.loads((results / f"tune-{number}.json").read_text()), noted(results / f"grid-{number}.jsonl")
    by: dict[Choice, list[float]] = {}
    for one in noted(results / f"again-{number}.jsonl"):
        by.setdefault(msgspec.convert(one["choice"], Choice), []).append(one["tokens_s"])
    middle = {choice: statistics.median(values) for choice, values in by.items()}
    chosen = msgspec.convert(tuned["best"]["choice"], Choice)
    best = max(middle, key=lambda one: middle[one])
    start = statistics.median(one["seconds"] for one in noted(results / "starts.jsonl"))
    whole = statistics.median(one["first"] for one in runs) + sum(one["took"] for one in runs)
    both = [*runs, *tuned["runs"]]
    found = [msgspec.convert({key: one[key] for key in Measured.__struct_fields__}, Measured) for one in runs]
    return {
        "options": tuned["options"],
        "configurations": f"{len(runs)} of {runs[0]['of']}",
        "runs of tune": len(tuned["runs"]),
        "seconds of tune": round(tuned["whole_seconds"], 1),
        "of them its start": round(tuned["gpu"]["start_seconds"], 1),
        "seconds of the grid": round(whole + start, 1),
        "share": round(tuned["whole_seconds"] / (whole + start), 3),
        "share without starts": round((tuned["whole_seconds"] - tuned["gpu"]["start_seconds"]) / whole, 3),
        "chosen": chosen.words,
        "best again": best.words,
        "chosen against best": round(middle[chosen] / middle[best], 3),
        "again": {choice.words: [round(value) for value in values] for choice, values in by.items()},
        "fastest once": round(max(one.tokens_s for one in found)),
        "slowest against fastest": round(
            min(one.tokens_s for one in found if one.tokens_s) / max(one.tokens_s for one in found), 3
        ),
        "errors": sorted({one["error"] for one in both if one["error"]}),
        "most reserved, GiB": round(max(one["peak_reserved"] for one in both) / 2**30, 1),
        "joules a token": [
            tuned["best"]["joules_per_token"],
            min((one.joules_per_token for one in found if one.joules_per_token), default=None),
        ],
        "effects": {f"{one['factor']} {one['value']}": one["change"] for one in tuned["effects"]},
    }


if __name__ == "__main__":
    main()
