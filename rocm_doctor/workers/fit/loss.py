"""The loss of one training step, the same on the meta device, a CPU and a GPU, so that what is simulated is what is measured.

The fused loss takes output head and cross entropy in one, by chunks of tokens: the logits of all tokens are never there at once.
"""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Callable
from typing import Any

import torch


def batch_loss(model: Any, ids: Any, job: dict[str, Any]) -> Any:
    """The loss of one batch."""
    fused = fused_loss(ids, job)
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


def fused_loss(ids: Any, job: dict[str, Any]) -> Callable[[Any, Any], Any] | None:
    """The loss of these tokens, of hidden states and the head's weight; None where the job has the plain loss. Liger-Kernel's on a GPU where
    it is installed, else the one below."""
    if not job["fused_loss"]:
        return None
    labels = ids.flatten()
    if job["device"] != "cuda" or importlib.util.find_spec("liger_kernel") is None:
        dtype = getattr(torch, job["autocast"] or job["dtype"])
        return lambda hidden, weight: Chunked.apply(labels, dtype, hidden, weight)
    from liger_kernel.transformers import LigerFusedLinearCrossEntropyLoss

    loss = LigerFusedLinearCrossEntropyLoss()
    return lambda hidden, weight: loss(weight, hidden, labels)


class Chunked(torch.autograd.Function):
    """The mean loss. As Liger-Kernel's, it takes a few tokens at a time and makes the gradients in the forward pass."""

    @staticmethod
    def forward(ctx: Any, labels: Any, dtype: Any, hidden: Any, weight: Any) -> Any:
        """Loss and gradients of one chunk after the other."""
        head, total = weight.to(dtype), hidden.new_zeros((), dtype=torch.float32)
        to_hidden = torch.empty_like(hidden)
        to_weight = torch.zeros_like(weight) if ctx.needs_input_grad[3] else None
        for part in slices(hidden.shape, weight.shape[0]):
            states, places = hidden[part].to(dtype), labels[part].unsqueeze(1)
            logits = (states @ head.t()).float()
            logits -= logits.amax(-1, keepdim=True)
            total -= logits.gather(1, places).sum()
            logits.exp_()
            rows = logits.sum(-1, keepdim=True)
            total += rows.log().sum()
            logits /= rows
            logits.scatter_add_(1, places, torch.full_like(places, -1, dtype=torch.float32))
            logits /= len(labels)
            slope = logits.to(dtype)
            del logits
            to_hidden[part] = slope @ head
            if to_weight is not None:
                to_weight += slope.t() @ states
            del slope
        ctx.save_for_backward(to_hidden, to_weight)
        return total / len(labels)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        """The gradients, times that of the loss."""
        to_hidden, to_weight = ctx.saved_tensors
        return (
            None,
            None,
            to_hidden * grad.to(to_hidden.dtype),
            None if to_weight is None else to_weight * grad.to(to_weight.dtype),
        )


LEAST = 256
"""Tokens of a chunk: with fewer the products are too small for a GPU (a quarter of the speed on an H200 with 32)."""


def slices(shape: tuple[int, int], vocabulary: int) -> list[slice]:
    """The chunks of the tokens: a power of two, near tokens x hidden / vocabulary, LEAST at least."""
    tokens, width = shape
    parts = -(-vocabulary // width)
    chunk = max(LEAST, 1 << max(0, (-(-tokens // parts) - 1).bit_length()))
    return [slice(start, min(start + chunk, tokens)) for start in range(0, tokens, chunk)]
