"""`rocm-doctor tune` against the exhaustive grid, on this machine's GPU: is its choice as fast, and how much of the grid's time does it take?

    python scripts/tune_grid.py -o grid.json "--model qwen2.5-0.5b --vram 12GiB --sequences 4" "--model ./mine --method full"

Each argument holds the options of one `rocm-doctor tune`. The grid runs every configuration that is predicted to fit, each by a long run; one
process runs all grids, and its start counts for each of them, as it does for `tune`. The fastest ones and the chosen one are then measured
again in turn, since a few percent between single runs mean nothing.
"""

from __future__ import annotations

import argparse
import json
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

AGAIN, TURNS = 3, 2
"""The fastest configurations that are measured again, and how often."""


def main() -> None:
    """Tune each model, run its grid, print a summary and write all runs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("options", nargs="+")
    args = parser.parse_args()
    began, found = time.monotonic(), []
    with runner.worker(None, packages=("transformers", "peft")) as worker:
        hello = worker.start()
        start = time.monotonic() - began
        for options in args.options:
            tuned, seconds = by_tune(shlex.split(options))
            chosen = msgspec.convert(tuned["best"]["choice"], Choice)
            grid, again, took = exhaustive(worker, hello, command.make_context("tune", shlex.split(options)).params, chosen)
            summary = summed(tuned, seconds, chosen, grid, again, start + took)
            print(json.dumps(summary, indent=1), flush=True)
            found.append({"summary": summary, "tuned": tuned, "grid": msgspec.to_builtins(grid)})
            args.output.write_text(json.dumps(found))


def by_tune(options: list[str]) -> tuple[dict[str, Any], float]:
    """The outcome of the command, and its seconds."""
    began = time.monotonic()
    tune = [sys.executable, "-m", "rocm_doctor", "tune", *options, "--format", "json"]
    return json.loads(subprocess.run(tune, check=True, stdout=subprocess.PIPE).stdout), time.monotonic() - began


def exhaustive(
    worker: runner.Worker, hello: runner.Hello, options: dict[str, Any], chosen: Choice
) -> tuple[list[Measured], dict[Choice, list[float]], float]:
    """Every configuration by a long run; the fastest again, in turn; the seconds of the grid."""
    matrix, began = load(), time.monotonic()
    card = card_of(hello, options["vram"], matrix)
    asked = {key: options[key] for key in ("model", "method", "rank", "seq")}
    worker.base = resolve.resolve(resolve.Request(asked), card.gfx, hello.torch, matrix).job
    able = [choice for choice in Space(options["sequences"], fused_loss=(False, True)).every() if fits(choice, worker.base, card)]
    worker.measure(able[0], *search.SHORT)  # as in `tune`: the first run also pays for the libraries' start
    grid = [worker.measure(choice, *search.LONG) for choice in able]
    took = time.monotonic() - began
    best = sorted(grid, key=lambda one: -one.tokens_s)[:AGAIN]
    again: dict[Choice, list[float]] = {choice: [] for choice in [*(one.choice for one in best), chosen]}
    for _ in range(TURNS):
        for choice, found in again.items():
            found.append(worker.measure(choice, *search.LONG).tokens_s)
    return grid, again, took


def summed(
    tuned: dict[str, Any], seconds: float, chosen: Choice, grid: list[Measured], again: dict[Choice, list[float]], took: float
) -> dict[str, Any]:
    """The figures of docs/bench.md."""
    middle = {choice: statistics.median(values) for choice, values in again.items()}
    best = max(middle, key=lambda one: middle[one])
    runs = sum(run["wall_s"] for run in tuned["runs"])
    return {
        "model": tuned["model"],
        "configurations": len(grid),
        "runs of tune": len(tuned["runs"]),
        "seconds of tune": round(seconds, 1),
        "seconds of the grid": round(took, 1),
        "share": round(seconds / took, 3),
        "share without starts": round(runs / sum(one.wall_s for one in grid), 3),
        "chosen": chosen.words,
        "best of the grid": best.words,
        "chosen against best": round(middle[chosen] / middle[best], 3),
        "again": {choice.words: [round(value) for value in values] for choice, values in again.items()},
        "slowest against best": round(min(one.tokens_s for one in grid if one.tokens_s) / max(one.tokens_s for one in grid), 3),
        "errors": sorted({one.error for one in grid if one.error} | {run["error"] for run in tuned["runs"] if run["error"]}),
        "most reserved, GiB": round(
            max([*(one.peak_reserved for one in grid), *(run["peak_reserved"] for run in tuned["runs"])]) / 2**30, 1
        ),
        "effects": {f"{e['factor']} {e['value']}": e["change"] for e in tuned["effects"]},
    }


if __name__ == "__main__":
    main()
