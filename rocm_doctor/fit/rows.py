"""Measured steps as CSV: one row a run, settings and what the allocator said (bytes, seconds). Lines that begin with # are
comments.

Columns: model (preset), method, dtype, targets (joined by +), rank, batch, seq, checkpointing, attn, optimizer, params,
trainable, weight_bytes, base_bytes, peak_allocated, peak_reserved, step_s, loss; after these, where a run has them: autocast,
grad_accum, dropout, quant_bits, double_quant,
kbit_prepare.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from rocm_doctor.fit.job import SEVEN, Job, Kernels
from rocm_doctor.fit.presets import config_of
from rocm_doctor.matrix import Matrix

SETTINGS = ("model", "method", "dtype", "targets", "rank", "batch", "seq", "checkpointing", "attn", "optimizer")
FIGURES = ("params", "trainable", "weight_bytes", "base_bytes", "peak_allocated", "peak_reserved", "step_s", "loss")
FURTHER = ("autocast", "grad_accum", "dropout", "quant_bits", "double_quant", "kbit_prepare")
COLUMNS = (*SETTINGS, *FIGURES, *FURTHER)


def read(path: Path) -> list[dict[str, str]]:
    """The rows of a file of measurements."""
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def job_of(row: Mapping[str, str], matrix: Matrix, kernels: Kernels) -> Job:
    """The run of a row. Raises presets.ModelError for a model that has no preset, ValueError for a setting that is none."""
    fields: dict[str, Any] = {
        "config": config_of(row["model"], matrix)[0], "method": row["method"], "dtype": row["dtype"], "kernels": kernels,
        "rank": int(row["rank"] or 0) or 16, "targets": tuple(row["targets"].split("+")) if row["targets"] else SEVEN,
        "batch": int(row["batch"]), "seq": int(row["seq"]), "checkpointing": row["checkpointing"] == "True",
        "implementation": row["attn"], "optimizer": row["optimizer"], "autocast": row.get("autocast") or None,
        "grad_accum": int(row.get("grad_accum") or 1), "dropout": float(row.get("dropout") or 0),
        "quant_bits": int(row.get("quant_bits") or 0), "double_quant": row.get("double_quant") == "True",
        "kbit_prepare": row.get("kbit_prepare") != "False",
    }  # fmt: skip
    return msgspec.convert(fields, Job)
