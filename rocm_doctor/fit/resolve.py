"""From options, a configuration file and a GPU to one `Job`: options win over the file, the file over the defaults."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from rocm_doctor.fit import attention, config, presets, quantised
from rocm_doctor.fit.job import AOTRITON, MATH, Job, Kernels
from rocm_doctor.fit.shape import FUSED
from rocm_doctor.matrix import Matrix


class Request(msgspec.Struct, frozen=True):
    """What the user said: `options` are fields of `Job` and `model`; `attention` is auto, math, flash or eager; `torch` a
    version."""

    options: Mapping[str, Any]
    file: Path | None = None
    attention: str | None = None
    torch: str | None = None


class Resolved(msgspec.Struct, frozen=True):
    """The run, where its model comes from, what was decided on the way, and what bitsandbytes has for the card."""

    job: Job
    source: str
    notes: tuple[str, ...]
    bitsandbytes: quantised.Wheels = quantised.Wheels()


def resolve(request: Request, gfx: str, installed: str | None, matrix: Matrix) -> Resolved:
    """`gfx` may be empty and `installed` (the torch beside the GPU) None.

    Raises ValueError (config.ConfigError, presets.ModelError, attention without an entry) with what to give instead.
    """
    settings = config.read(request.file) if request.file else None
    model = request.options.get("model") or (settings.model if settings else None)
    if not model:
        raise ValueError("which model? give --model (a preset, a config.json, a folder) or a --config that names one")
    fields, source = presets.config_of(model, matrix)
    given = {**(settings.fields if settings else {}), **{k: v for k, v in request.options.items() if k != "model"}}
    if request.attention == "eager":
        given["implementation"] = "eager"
    kernels, words = _kernels(request, gfx, request.torch or installed, matrix)
    job = msgspec.convert({**_completed(given, fields), "config": fields, "kernels": kernels}, Job)
    notes = (f"read from {request.file.name} ({settings.framework})",) if settings and request.file else ()
    return Resolved(job, source, (*notes, words), quantised.wheels(gfx, request.torch or installed, matrix))


def _kernels(request: Request, gfx: str, torch: str | None, matrix: Matrix) -> tuple[Kernels, str]:
    """auto: those of the GPU; an unnamed GPU is taken to have fused attention, and the note says so."""
    if request.attention in (None, "auto"):
        if not gfx:
            return (
                AOTRITON,
                "no GPU is named: fused attention is assumed; one without it (gfx906, gfx10xx) takes more, give --gpu",
            )
        return attention.kernels_of(gfx, torch, os.environ.get(attention.FLAG) == "1", matrix)
    if request.attention == "flash":
        return Kernels(flash=True, efficient=True, flash_gqa=True, hip=not gfx.startswith("sm_")), "fused attention, as asked"
    return MATH, f"{request.attention} attention, as asked"


def _completed(given: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """What one setting implies of another: QLoRA is 4 bits, a fused architecture has other layer names."""
    out = dict(given)
    if "method" not in out and out.get("quant_bits"):
        out["method"] = "qlora"
    if out.get("method") == "qlora":
        out.setdefault("quant_bits", 4)
    fused = FUSED.get(str(fields.get("model_type")))
    if fused and "targets" not in out:
        out["targets"] = fused
    return out
