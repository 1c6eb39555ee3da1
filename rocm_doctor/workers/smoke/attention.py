"""Scaled dot product attention, each backend forced, forward and backward against float64.

**Tolerances**, in roundings to the format (see compare.py), with scores of at most about 4 in size because queries and keys are
normal and scaled: rounding the scores, and the two halves of the scale, moves the exponent by 4 * 1.5 roundings; then the
probabilities and the result are rounded: 7 in all for the forward pass. The backward pass repeats the forward error in the
probabilities, rounds their gradient, cancels its row mean (a factor of two) and rounds the product: 16.
"""

from __future__ import annotations

import contextlib
import math
import warnings
from typing import Any

from .compare import Skip, check, tolerance
from .context import StageContext

FORWARD_STEPS, BACKWARD_STEPS = 7, 16
CASES = ((2, 4, 128, 64, True), (1, 2, 77, 64, False), (1, 2, 96, 128, True))
"""Batch, heads, length, width of a head, causal: the usual one, an odd length, a wide head."""
NO_KERNEL = ("No available kernel", "No viable backend", "Invalid backend")


def math_backend(context: StageContext) -> dict[str, Any]:
    """The backend made of plain products, which every chip has; without it, attention written out here."""
    return backend(context, "MATH", "enable_math")


def efficient_backend(context: StageContext) -> dict[str, Any]:
    """The memory-efficient kernel (on ROCm: AOTriton). Skipped, with torch's reason, where there is none for this chip."""
    return backend(context, "EFFICIENT_ATTENTION", "enable_mem_efficient")


def flash_backend(context: StageContext) -> dict[str, Any]:
    """The flash kernel (on ROCm: AOTriton). NaN in bf16 was seen on gfx1151 (unslothai/unsloth#3385)."""
    return backend(context, "FLASH_ATTENTION", "enable_flash")


def backend(context: StageContext, name: str, switch: str) -> dict[str, Any]:
    """Runs attention with one backend only."""
    torch = context.torch
    if name != "MATH" and not hasattr(torch.nn.functional, "scaled_dot_product_attention"):
        raise Skip("no-choice", "this torch has no scaled_dot_product_attention")
    dtypes = [torch.float16, torch.bfloat16] + ([] if name == "FLASH_ATTENTION" else [torch.float32])
    worst: dict[str, float] = {}
    refused: list[str] = []
    for dtype in dtypes:
        try:
            worst[str(dtype)[6:]] = max(one_case(context, name, switch, dtype, *case) for case in CASES)
        except NoKernel as error:
            refused.append(f"{str(dtype)[6:]}: {error}")
    if not worst:
        raise Skip("no-kernel", "; ".join(refused)[:1500])
    return {"worst_error": worst, "refused": refused}


class NoKernel(Exception):
    """torch has no kernel of this backend for these operands; the message holds its warnings, which give the reason."""


def one_case(
    context: StageContext, name: str, switch: str, dtype: Any, batch: int, heads: int, length: int, width: int, causal: bool
) -> float:
    """One shape of attention, compared with the reference."""
    torch = context.torch
    what = f"{name.lower()} attention in {str(dtype)[6:]}, length {length}, width {width}{', causal' if causal else ''}"
    context.doing(what + " (kernels may be compiled)")
    operands = [context.random(batch, heads, length, width, dtype=dtype) for _ in range(4)]
    want = results([x.double() for x in operands], lambda q, k, v: reference(torch, q, k, v, causal))
    with only_backend(torch, name, switch):
        got = attempt(
            context, lambda: results([context.put(x) for x in operands], lambda q, k, v: attention(torch, q, k, v, causal))
        )
    eps, errors = torch.finfo(dtype).eps, []
    for part, mine, right in zip(("result", "gradient of q", "gradient of k", "gradient of v"), got, want):
        steps = FORWARD_STEPS if part == "result" else BACKWARD_STEPS
        errors.append(check(torch, f"{part} of {what}", mine, right, tolerance(eps, length, steps)))
    return max(errors)


def results(operands: list[Any], action: Any) -> tuple[Any, ...]:
    """The action's result on q, k, v, and the gradients for the given gradient of the result."""
    q, k, v = (x.clone().requires_grad_(True) for x in operands[:3])
    result = action(q, k, v)
    result.backward(operands[3])
    return result, q.grad, k.grad, v.grad


def reference(torch: Any, q: Any, k: Any, v: Any, causal: bool) -> Any:
    """Attention as products and a softmax."""
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if causal:
        later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
        scores = scores.masked_fill(later, float("-inf"))
    return torch.softmax(scores, dim=-1) @ v


def attention(torch: Any, q: Any, k: Any, v: Any, causal: bool) -> Any:
    """torch's fused attention."""
    if not hasattr(torch.nn.functional, "scaled_dot_product_attention"):
        return reference(torch, q, k, v, causal)
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)


@contextlib.contextmanager
def only_backend(torch: Any, name: str, switch: str) -> Any:
    """Only this backend may be taken. torch 2.3 and later name backends, 2.0 has switches, older ones have no choice."""
    chooser = getattr(getattr(torch.nn, "attention", None), "sdpa_kernel", None)
    if chooser is not None:
        with chooser(getattr(torch.nn.attention.SDPBackend, name)):
            yield
    elif hasattr(torch.nn.functional, "scaled_dot_product_attention"):
        switches = {"enable_math": False, "enable_mem_efficient": False, "enable_flash": False}
        with torch.backends.cuda.sdp_kernel(**dict(switches, **{switch: True})):
            yield
    else:
        yield


def attempt(context: StageContext, action: Any) -> Any:
    """The result of a backend; Skip if torch has none."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            return action()
        except RuntimeError as error:
            absent = any(words in str(error) for words in NO_KERNEL)
            if absent or (not context.on_gpu and "not implemented for" in str(error)):
                raise NoKernel("; ".join([str(error)] + [str(w.message) for w in heard])) from None
            raise
