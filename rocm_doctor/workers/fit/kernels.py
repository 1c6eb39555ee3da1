"""Stand-ins on the meta device for what a GPU does out of the dispatcher's sight: fused attention, autocast.

A fused attention kernel keeps only its output and one float32 logsumexp per query for the backward pass. What each takes as
scratch: CUDA, aten/src/ATen/native/transformers/cuda (flash_attn/flash_api.cpp, attention_backward.cu): row sums, a float32 dQ,
and with grouped heads dK and dV of every query head. HIP, hip/flash_attn/aot/mha_all_aot.hip: two rows of float32 per query;
groups are native.
"""

from __future__ import annotations

import contextlib
from typing import Any

import torch
from torch.overrides import TorchFunctionMode, wrap_torch_function

HALF = (torch.float16, torch.bfloat16)


def fused_attention(tracker: Any, hip: bool) -> Any:
    """A function (query, key, value, mask) -> output that allocates what a fused kernel does. A boolean mask becomes one of the
    query's dtype in every layer and is kept (ATen's `convert_boolean_attn_mask`)."""

    class Fused(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, query: Any, key: Any, value: Any, mask: Any) -> Any:
            batch, heads, queries = query.shape[:3]
            out = query.new_empty((batch, queries, heads, value.shape[-1])).transpose(1, 2)
            logsumexp = query.new_empty((batch, heads, queries), dtype=torch.float32)
            bias = mask if mask is None or mask.dtype != torch.bool else query.new_empty(mask.shape)
            ctx.save_for_backward(query, key, value, out, logsumexp, bias)
            return out

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            query, key, value = ctx.saved_tensors[:3]
            grads = (torch.empty_like(query), torch.empty_like(key), torch.empty_like(value))
            tracker.transient(backward_scratch(query, key, hip), "attention scores")
            return (*grads, None)

    return Fused.apply


def backward_scratch(query: Any, key: Any, hip: bool) -> list[int]:
    """Bytes of the buffers that the backward kernel takes beside the three gradients."""
    batch, heads, queries, dim = query.shape
    if hip:
        return [batch * heads * queries * 4] * 2
    rows = batch * heads * ((queries + 127) // 128 * 128)
    sizes = [rows * 4]
    if query.dtype in HALF:
        sizes.append(rows * ((dim + 31) // 32 * 32) * 4)
    if key.shape[1] != heads:
        sizes += [batch * heads * key.shape[2] * dim * query.element_size()] * 2
    return sizes


def choose_kernel(card: dict[str, bool], query: Any, key: Any, value: Any, mask: Any) -> str:
    """The kernel that ATen's chooser takes (native/transformers/cuda/sdp_utils.cpp) among those that `card` has for these
    inputs."""
    grouped = query.shape[1] != key.shape[1]
    same_width = query.shape[-1] == value.shape[-1]
    if (
        card["flash"]
        and query.dtype in HALF
        and mask is None
        and same_width
        and query.shape[-1] <= 256
        and (not grouped or card["flash_gqa"])
    ):
        return "flash"
    if card["efficient"] and (not grouped or card["efficient_gqa"]):
        return "efficient"
    return "math"


def patched_attention(tracker: Any, card: dict[str, bool], chosen: dict[str, int]) -> Any:
    """`scaled_dot_product_attention` of the examined GPU: its fused kernels where they apply, the composite one elsewhere."""
    composite = torch.nn.functional.scaled_dot_product_attention

    @wrap_torch_function(lambda query, key, value, *args, **kwargs: (query, key, value))
    def scaled_dot_product_attention(
        query: Any,
        key: Any,
        value: Any,
        attn_mask: Any = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: Any = None,
        enable_gqa: bool = False,
    ) -> Any:
        kernel = choose_kernel(card, query, key, value, attn_mask)
        chosen[kernel] = chosen.get(kernel, 0) + 1
        if kernel != "math":
            return fused_attention(tracker, card["hip"])(query, key, value, attn_mask)
        options = {"enable_gqa": True} if enable_gqa else {}
        return composite(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, **options)

    return scaled_dot_product_attention


class Dropout(torch.autograd.Function):
    """The fused dropout of a GPU, which keeps a mask of one byte a value; the meta device would take the composite one."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x.new_empty(x.shape, dtype=torch.bool))
        return torch.empty_like(x)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return torch.empty_like(grad)


def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Dropout that keeps a mask of one byte a value."""
    return Dropout.apply(input) if training and p > 0 else input


class _Grouped(torch.autograd.Function):
    """The product of each expert's tokens with its weights, in any dtype; the meta device has it in bfloat16 only."""

    @staticmethod
    def forward(ctx: Any, tokens: Any, weights: Any) -> Any:
        ctx.save_for_backward(tokens if ctx.needs_input_grad[1] else None, weights)
        ctx.shape = tokens.shape
        return tokens.new_empty((tokens.shape[0], weights.shape[-1]))

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        _, weights = ctx.saved_tensors
        wanted = ctx.needs_input_grad
        return grad.new_empty(ctx.shape) if wanted[0] else None, torch.empty_like(weights) if wanted[1] else None


def grouped_mm(mat_a: Any, mat_b: Any, *, offs: Any = None, bias: Any = None, out_dtype: Any = None) -> Any:
    """torch.nn.functional.grouped_mm as transformers calls it for experts."""
    return _Grouped.apply(mat_a, mat_b)


def autocast(device_type: str, *args: Any, real: Any = torch.autocast, **more: Any) -> Any:
    """torch.autocast, which refuses the meta device: peft turns it off around LoRA on the tensors of experts."""
    return contextlib.nullcontext() if device_type == "meta" else real(device_type, *args, **more)


LOWER = {
    "linear", "matmul", "mm", "bmm", "addmm", "baddbmm", "addbmm", "__matmul__", "__rmatmul__",
    "scaled_dot_product_attention", "einsum",
}  # fmt: skip
RAISE = {
    "softmax", "log_softmax", "cross_entropy", "nll_loss", "pow", "__pow__", "rsqrt", "exp", "log", "norm", "layer_norm",
    "sum", "prod", "cumsum", "softplus",
}  # fmt: skip
"""Functions that autocast runs in the lower format, and in float32."""


class Autocast(TorchFunctionMode):
    """torch.autocast for meta tensors, which the real one passes by: the same lists of operators
    (aten/src/ATen/autocast_mode.h), and the same cache, that keeps the copy of a trainable weight until the context is left."""

    def __init__(self, dtype: Any) -> None:
        super().__init__()
        self.dtype = dtype
        self.cache: dict[int, Any] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        kwargs = kwargs or {}
        if name in LOWER:
            return func(*[self._lower(a) for a in args], **{k: self._lower(v) for k, v in kwargs.items()})
        if name in RAISE:
            return func(*[_raise(a) for a in args], **kwargs)
        return func(*args, **kwargs)

    def __exit__(self, *exc: Any) -> Any:
        self.cache.clear()
        return super().__exit__(*exc)

    def _lower(self, value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or not value.is_floating_point() or value.dtype == self.dtype:
            return value
        if not (value.is_leaf and value.requires_grad):
            return value.to(self.dtype)
        if id(value) not in self.cache:
            self.cache[id(value)] = value.to(self.dtype)
        return self.cache[id(value)]


def _raise(value: Any) -> Any:
    return value.float() if isinstance(value, torch.Tensor) and value.dtype in HALF else value
