"""Measured peaks of memory: the rows of compat_matrix/measured/memory_h200.csv and of files like it."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from rocm_doctor.fit.job import CUDA, SEVEN, Job
from rocm_doctor.fit.presets import load_model_config
from rocm_doctor.matrix import Matrix


def read(path: Path) -> list[dict[str, str]]:
    """The rows of a file of measurements."""
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def job_of(row: Mapping[str, str], matrix: Matrix) -> Job:
    """The run of a row. Raises presets.ModelError for a model that has no preset, ValueError for a setting that is none."""
    fields: dict[str, Any] = {
        "config": load_model_config(row["model"], matrix)[0], "method": row["method"], "dtype": row["dtype"], "kernels": CUDA,
        "rank": int(row["rank"] or 0) or 16, "targets": tuple(row["targets"].split("+")) if row["targets"] else SEVEN,
        "batch": int(row["batch"]), "seq": int(row["seq"]), "checkpointing": row["checkpointing"] == "True",
        "implementation": row["attn"], "optimizer": row["optimizer"], "autocast": row.get("autocast") or None,
        "grad_accum": int(row.get("grad_accum") or 1), "dropout": float(row.get("dropout") or 0),
        "quant_bits": int(row.get("quant_bits") or 0), "double_quant": row.get("double_quant") == "True",
        "kbit_prepare": row.get("kbit_prepare") != "False",
    }  # fmt: skip
    return msgspec.convert(fields, Job)
