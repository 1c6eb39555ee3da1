"""From options, a configuration and a GPU to one `Job`: options win over the file, the file over the defaults."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from rocm_doctor import training
from rocm_doctor.fit import presets, quantised
from rocm_doctor.fit.job import AOTRITON, BYTES, CUDA, MATH, Job, Kernels
from rocm_doctor.fit.shape import FUSED
from rocm_doctor.matrix import Matrix
from rocm_doctor.versions import contains

FLAG = "TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL"


class FitRequest(msgspec.Struct, frozen=True):
    """What the user said: `options` are fields of `Job` and `model`; `attention` is auto, math, flash or eager; `torch` a version; `file`
    is a configuration or script."""

    options: Mapping[str, Any]
    file: Path | None = None
    attention: str | None = None
    torch: str | None = None


class Resolved(msgspec.Struct, frozen=True):
    """`source`: where the model's config comes from; `notes`: sentences on what was decided on the way; `bitsandbytes`: what it
    has for the GPU; `config`: the file without what options replace; None without a file."""

    job: Job
    source: str
    notes: tuple[str, ...]
    bitsandbytes: quantised.QuantSupport = quantised.QuantSupport()
    config: training.TrainingRun | None = None


def resolve(request: FitRequest, gfx: str, installed: str | None, matrix: Matrix) -> Resolved:
    """The run, with options before the file and the file before the defaults. `gfx` may be empty and `installed` (the torch
    beside the GPU) None. Raises ValueError with what to give instead: no model, ModelError, ConfigError."""
    run = read_configuration(request, matrix)
    model = request.options.get("model") or (run.value("model") if run else None)
    if not model:
        raise ValueError("which model? give --model (a preset, a config.json, a folder) or a --config that names one")
    fields, source = presets.load_model_config(model, matrix)
    given = {**(_job_fields(run, fields) if run else {}), **{k: v for k, v in request.options.items() if k != "model"}}
    if request.attention == "eager":
        given["implementation"] = "eager"
    kernels, words = _choose_kernels(request, gfx, request.torch or installed, matrix)
    job = msgspec.convert({**_fill_implied(given, fields), "config": fields, "kernels": kernels}, Job)
    notes = (f"read from {Path(run.file).name} ({run.framework})", *_assumptions(run, given)) if run else ()
    support = quantised.find_support(gfx, request.torch or installed, matrix)
    return Resolved(job, source, (*notes, words), support, run)


def read_configuration(request: FitRequest, matrix: Matrix) -> training.TrainingRun | None:
    """The configuration of the file, without the unread keys that options replace; None without a file. Raises ConfigError if the
    file cannot be read, or if an unread key needs an option that is not given."""
    if request.file is None:
        return None
    run = training.read(request.file, matrix)
    unread_keys = tuple(unread for unread in run.unread if request.options.get(unread.field) is None)
    for unread in unread_keys:
        if unread.field in training.OPTIONS:
            raise training.ConfigError(f"{run.file}: {unread.words}: give {training.OPTIONS[unread.field]}")
    return msgspec.structs.replace(run, unread=unread_keys)


def _job_fields(run: training.TrainingRun, config: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of `Job` in a configuration."""
    fields = {name: run.value(name) for name in Job.__struct_fields__ if name in run.settings}
    if run.value("attention"):
        fields["implementation"] = "eager" if run.value("attention") == "eager" else "sdpa"
    if fields.get("dtype") == "checkpoint":
        stored = str(config.get("dtype") or config.get("torch_dtype"))
        fields["dtype"] = stored if stored in BYTES else "bfloat16"
    return fields


def _assumptions(run: training.TrainingRun, given: Mapping[str, Any]) -> tuple[str, ...]:
    """A sentence if the type of the weights is left to the checkpoint; else none."""
    if run.value("dtype") != "checkpoint":
        return ()
    return (
        f"weights in the checkpoint's type, {given['dtype']}, as transformers 5 loads them (4 loads float32: --dtype float32)",
    )


def _choose_kernels(request: FitRequest, gfx: str, torch: str | None, matrix: Matrix) -> tuple[Kernels, str]:
    """(kernels, words on why): those of the GPU with `attention` auto, else those that are asked for. An unnamed GPU is taken to
    have fused attention."""
    if request.attention in (None, "auto"):
        if not gfx:
            return (
                AOTRITON,
                "no GPU is named: fused attention is assumed; one without it (gfx906, gfx10xx) takes more, give --gpu",
            )
        return gpu_kernels(gfx, torch, os.environ.get(FLAG) == "1", matrix)
    if request.attention == "flash":
        return Kernels(flash=True, efficient=True, flash_gqa=True, hip=not gfx.startswith("sm_")), "fused attention, as asked"
    return MATH, f"{request.attention} attention, as asked"


def gpu_kernels(gfx: str, torch: str | None, experimental: bool, matrix: Matrix) -> tuple[Kernels, str]:
    """(kernels, words on why): torch's fused attention kernels for a GPU, by the catalog's `attention` section; MATH if it has
    none. Without a torch version the newest entry is assumed, and the words state it."""
    if gfx.startswith("sm_") or gfx == "cuda":
        return CUDA, "NVIDIA: flash for half precision, memory-efficient for the rest"
    row = next((row for row in reversed(matrix.plain("attention") or []) if torch is None or contains(row["torch"], torch)), None)
    if row is None:
        return MATH, f"no entry for torch {torch}: the math path is assumed"
    about = f"torch {torch}" if torch else f"torch {row['torch']} (assumed: none was given or found; set it with --torch)"
    if gfx in row["stable"]:
        return _fused_kernels(row["grouped"]), f"{about} has AOTriton's flash and memory-efficient attention for {gfx}"
    if gfx in row["experimental"]:
        if experimental:
            return _fused_kernels(row["grouped"]), f"{about} has AOTriton's attention for {gfx} behind {FLAG}=1, which is set"
        return MATH, f"{about} takes the math path on {gfx}, which keeps all scores; {FLAG}=1 would turn fused attention on"
    return MATH, f"{about} has no fused attention for {gfx}: the math path keeps a score for every pair of tokens"


def _fused_kernels(grouped: bool) -> Kernels:
    return Kernels(flash=True, efficient=True, flash_gqa=grouped, efficient_gqa=False, hip=True)


def _fill_implied(given: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """What one setting implies of another: QLoRA is 4 bits, a fused architecture has other layer names."""
    out = dict(given)
    if "method" not in out and out.get("quant_bits"):
        out["method"] = "qlora"
    if out.get("method") == "qlora":
        out.setdefault("quant_bits", 4)
    if out.get("method") in ("full", "lora"):
        out.pop("quant_bits", None)
    fused = FUSED.get(str(fields.get("model_type")))
    if fused and "targets" not in out:
        out["targets"] = fused
    return out
