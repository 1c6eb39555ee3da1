"""Output head and cross entropy in one, by chunks of tokens, so that the logits of all tokens are never there at once."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import partial
from typing import Any

import torch


def fused(ids: Any) -> Callable[[Any, Any], Any]:
    """The loss of these tokens, of hidden states and the head's weight: Liger-Kernel's, or the one below where it is not installed."""
    labels = ids.flatten()
    if importlib.util.find_spec("liger_kernel") is None:
        return partial(Chunked.apply, labels)
    from liger_kernel.transformers import LigerFusedLinearCrossEntropyLoss

    loss = LigerFusedLinearCrossEntropyLoss()
    return lambda hidden, weight: loss(weight, hidden, labels)


class Chunked(torch.autograd.Function):
    """The mean loss. As Liger-Kernel's, it takes as many tokens at a time as keep the logits near the size of the hidden states, and makes
    the gradients in the forward pass.
    """

    @staticmethod
    def forward(ctx: Any, labels: Any, hidden: Any, weight: Any) -> Any:
        """Loss and gradients of one chunk after the other."""
        device = hidden.device.type
        dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else hidden.dtype
        with torch.autocast(device, enabled=False):
            head, total = weight.to(dtype), hidden.new_zeros((), dtype=torch.float32)
            to_hidden = torch.empty_like(hidden)
            to_weight = torch.zeros_like(weight) if ctx.needs_input_grad[2] else None
            for part in slices(hidden.shape, weight.shape[0]):
                states = hidden[part].to(dtype)
                logits = (states @ head.t()).float()
                total += torch.nn.functional.cross_entropy(logits, labels[part], reduction="sum")
                slope = logits.softmax(-1)
                slope[torch.arange(len(slope), device=slope.device), labels[part]] -= 1.0
                slope = (slope / len(labels)).to(dtype)
                to_hidden[part] = slope @ head
                if to_weight is not None:
                    to_weight += slope.t() @ states
        ctx.save_for_backward(to_hidden, to_weight)
        return total / len(labels)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        """The gradients, times that of the loss."""
        to_hidden, to_weight = ctx.saved_tensors
        return None, to_hidden * grad, None if to_weight is None else to_weight * grad


def slices(shape: tuple[int, int], vocabulary: int) -> list[slice]:
    """The chunks of the tokens: a power of two, near tokens x hidden / vocabulary."""
    tokens, width = shape
    parts = -(-vocabulary // width)
    chunk = 1 << max(0, (-(-tokens // parts) - 1).bit_length())
    return [slice(start, start + chunk) for start in range(0, tokens, chunk)]
