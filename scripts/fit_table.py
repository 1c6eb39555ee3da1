"""Predicted against measured peak memory, row by row, with two other tools' figures on the same rows.

    python scripts/fit_table.py [--fast] [--python PATH] [measured.csv ...]

Takes any CSV in the format of compat_matrix/measured/memory_h200.csv, by default that one: a row is a run, its settings and what the
allocator said, in bytes and seconds; lines that begin with # are comments. The simulation needs torch, transformers and peft in PATH's
interpreter; --fast leaves it out. The rows count as measured on an NVIDIA GPU.

accelerate: what `accelerate estimate-memory` prints as "Training using Adam" (its own function, on the parameters of the
model). peft-doctor: the formula of peft-doctor 0.9.2, `estimator.py`, told the true parameter count, width and depth; it knows
LoRA only.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import statistics
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from rocm_doctor.fit import closed_form, runner
from rocm_doctor.fit.allocator import GIB, Peak
from rocm_doctor.fit.card import workspace_of
from rocm_doctor.fit.job import CUDA, SEVEN, Job
from rocm_doctor.fit.presets import config_of
from rocm_doctor.fit.shape import Shape, ShapeError, shape_of
from rocm_doctor.matrix import Matrix, load
from rocm_doctor.reports.table import simple

OWN = Path(__file__).resolve().parents[1] / "compat_matrix" / "measured" / "memory_h200.csv"
HOPPER = workspace_of("sm_90")
HEADS = (
    "run",
    "measured GiB",
    "simulation",
    "closed form",
    "reserved GiB",
    "simulation ",
    "closed form ",
    "accelerate",
    "peft-doctor",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, default=[OWN])
    parser.add_argument("--fast", action="store_true", help="closed form only")
    parser.add_argument("--python", help="interpreter to simulate with")
    options = parser.parse_args()
    matrix = load()
    lines = []
    for row in (row for file in options.files for row in read(file)):
        try:
            lines.append(line_of(row, matrix, options.fast, options.python))
        except (ValueError, runner.WorkerError) as exc:
            print(f"left out: {name_of(row)}: {exc}", file=sys.stderr)
    shown = [[line[0], *(_shown(n, value) for n, value in enumerate(line[1:], 1))] for line in lines]
    for cells, heads in ((shown, HEADS), (summary(lines), ("error", "rows", "median", "worst"))):
        text = [[str(cell) for cell in line] for line in cells]
        print(simple(text, heads, [max(map(len, column)) for column in zip(heads, *text)], right=True), end="\n\n")


def read(path: Path) -> list[dict[str, str]]:
    """The rows of a file of measurements."""
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def job_of(row: Mapping[str, str], matrix: Matrix) -> Job:
    """The run of a row. Raises presets.ModelError for a model that has no preset, ValueError for a setting that is none."""
    fields: dict[str, Any] = {
        "config": config_of(row["model"], matrix)[0], "method": row["method"], "dtype": row["dtype"], "kernels": CUDA,
        "rank": int(row["rank"] or 0) or 16, "targets": tuple(row["targets"].split("+")) if row["targets"] else SEVEN,
        "batch": int(row["batch"]), "seq": int(row["seq"]), "checkpointing": row["checkpointing"] == "True",
        "implementation": row["attn"], "optimizer": row["optimizer"], "autocast": row.get("autocast") or None,
        "grad_accum": int(row.get("grad_accum") or 1), "dropout": float(row.get("dropout") or 0),
        "quant_bits": int(row.get("quant_bits") or 0), "double_quant": row.get("double_quant") == "True",
        "kbit_prepare": row.get("kbit_prepare") != "False",
    }  # fmt: skip
    return msgspec.convert(fields, Job)


def line_of(row: Mapping[str, str], matrix: Matrix, fast: bool, python: str | None) -> list[float | str | None]:
    """Name, then measured peaks in GiB and the errors of each prediction as fractions, in the order of HEADS."""
    job = job_of(row, matrix)
    try:
        shape = shape_of(job.config)
    except ShapeError:
        shape = None
    allocated, reserved = int(row["peak_allocated"]), int(row["peak_reserved"])
    near = near_of(job)
    far = None if fast else runner.peak_of(runner.simulate(job, python), HOPPER)
    far_errors = (far.allocated / allocated - 1, far.reserved / reserved - 1) if far else (None, None)
    other = [accelerate_bytes(job, shape), peft_doctor_bytes(job, shape)] if shape else [None, None]
    return [
        name_of(row),
        allocated / GIB,
        far_errors[0],
        near.allocated / allocated - 1 if near else None,
        reserved / GIB,
        far_errors[1],
        near.reserved / reserved - 1 if near else None,
        *(value and value / allocated - 1 for value in other),
    ]


def near_of(job: Job) -> Peak | None:
    """The closed form's peak; None for an architecture that it does not cover."""
    try:
        return closed_form.predict(job, HOPPER)
    except ShapeError:
        return None


def name_of(row: Mapping[str, str]) -> str:
    cast = f"/{row['autocast']}" if row.get("autocast") else ""
    marks = " ".join(word for word, on in (("ckpt", row["checkpointing"] == "True"), (row["attn"], row["attn"] != "sdpa")) if on)
    return f"{row['model']} {row['method']} {row['dtype']}{cast} {row['batch']}x{row['seq']} {row['optimizer']} {marks}".rstrip()


def accelerate_bytes(job: Job, shape: Shape) -> float | None:
    """None where accelerate is not installed."""
    try:
        theirs = importlib.import_module("accelerate.commands.estimate")
    except ImportError:
        return None
    return float(max(theirs.estimate_training_usage(shape.parameters * 4, job.dtype).values()))


def peft_doctor_bytes(job: Job, shape: Shape) -> float:
    billions = shape.parameters / 1e9
    weights = billions * 1e9 * (0.58 if job.method == "qlora" else 2.0) / GIB
    adapter = max(0.25, billions * 0.055) if job.method != "full" else 0.0
    states = 0.35 if job.method == "qlora" else weights * 2 if job.method == "full" else adapter * 2
    activations = job.tokens * shape.hidden * shape.layers * (2 if job.checkpointing else 4) * 2 / GIB
    parts = weights + adapter + states + activations
    return (parts + max(1.0, parts * 0.12)) * GIB


def summary(lines: list[list[float | str | None]]) -> list[list[str]]:
    """Median and worst absolute error of each column of errors."""
    out = []
    for column in (2, 3, 5, 6, 7, 8):
        name = "reserved, " if column in (5, 6) else "allocated, "
        errors = [abs(value) for line in lines if isinstance(value := line[column], float)]
        if errors:
            out.append([name + HEADS[column].strip(), str(len(errors)), f"{statistics.median(errors):.2%}", f"{max(errors):.2%}"])
    return out


def _shown(column: int, value: float | str | None) -> str:
    if not isinstance(value, float):
        return "-"
    return f"{value:.2f}" if column in (1, 4) else f"{value:+.1%}" if abs(value) >= 0.0995 else f"{value:+.2%}"


if __name__ == "__main__":
    main()
