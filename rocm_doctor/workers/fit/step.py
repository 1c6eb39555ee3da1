"""One training step, the same for the meta device and for a GPU."""

from __future__ import annotations

import contextlib
from typing import Any

import torch

from . import loss


def loss_of(model: Any, ids: Any, job: dict[str, Any]) -> Any:
    """The loss of one batch."""
    fused = loss.fused_loss(ids, job)
    with casting(job):
        if fused is None:
            return model(input_ids=ids, labels=ids).loss
        core = model.get_base_model() if hasattr(model, "get_base_model") else model
        hidden = core.model(input_ids=ids)[0]
        return fused(hidden.reshape(-1, hidden.shape[-1]), core.get_output_embeddings().weight)


def casting(job: dict[str, Any]) -> Any:
    """The autocast context of the job: the real one on a GPU, its stand-in on the meta device."""
    if not job["autocast"]:
        return contextlib.nullcontext()
    dtype = getattr(torch, job["autocast"])
    if job["device"] == "meta":
        from .kernels import Autocast

        return Autocast(dtype)
    return torch.autocast(job["device"], dtype=dtype)
