"""The 8-bit and 4-bit layers of bitsandbytes, forward and backward, against plain arithmetic on the weights they really hold.

The 4-bit check comes in two halves that need no knowledge of the library's blocks or codebook. First, the weights it gives back
are close to those it took: NF4's widest gap lies between its codes -1 and -0.6962 (Dettmers et al., "QLoRA", 2023, appendix E),
so no weight is off by more than 0.152 of its block's largest. Second, its product equals the product with the weights it gives
back, up to the rounding of the 16-bit format. On wave64 and wave32 chips the block sizes differ, and wrong wavefront
assumptions show in the first half.
"""

from __future__ import annotations

from typing import Any

from .compare import Wrong, check, product_size, tolerance
from .context import StageContext
from .peft_step import package
from .products import SPLIT_STEPS

ROWS, INPUTS, OUTPUTS = 33, 256, 192
NF4_HALF_GAP = 0.152
INT8_STEPS = 127


def bitsandbytes(context: StageContext) -> dict[str, Any]:
    """Both layer kinds in fp16 and, for 4 bits, bf16. Reasons: import-bitsandbytes, mismatch, nan (4-bit NaN up to 0.49 on
    ROCm).
    """
    torch, library = context.torch, package("bitsandbytes")
    worst = {}
    for dtype in (torch.float16, torch.bfloat16):
        if context.on_gpu or dtype != torch.float16:
            worst[f"4-bit {str(dtype)[6:]}"] = four_bits(context, library, dtype)
    if context.on_gpu:
        worst["8-bit float16"] = eight_bits(context, library)
    return {"version": library.__version__, "worst_error": worst}


def four_bits(context: StageContext, library: Any, dtype: Any) -> float:
    """A 4-bit layer, compared with its dequantised weight."""
    torch, short = context.torch, str(dtype)[6:]
    context.doing(f"4-bit layer in {short}")
    weight = context.random(OUTPUTS, INPUTS, dtype=dtype)
    layer = library.nn.Linear4bit(INPUTS, OUTPUTS, bias=False, compute_dtype=dtype, quant_type="nf4")
    layer.weight = library.nn.Params4bit(weight.clone(), requires_grad=False, quant_type="nf4")
    layer = layer.to(context.device)
    held = library.functional.dequantize_4bit(layer.weight.data, layer.weight.quant_state).to("cpu")
    if held.shape != weight.shape:
        held = held.view(weight.shape)
    off = (held.double() - weight.double()).abs().max() / weight.double().abs().max()
    if not bool(torch.isfinite(held).all()) or float(off) > NF4_HALF_GAP * 1.02:
        raise Wrong(
            "nan" if float(off) != float(off) else "mismatch",
            f"4-bit weights in {short} come back off by {float(off):.2g} of the largest",
        )
    return product(context, f"4-bit layer in {short}", layer, held.double(), dtype)


def product(context: StageContext, name: str, layer: Any, weight: Any, dtype: Any) -> float:
    """Result and gradient of the input, as QLoRA needs them."""
    x, pull = context.random(ROWS, INPUTS, dtype=dtype), context.random(ROWS, OUTPUTS, dtype=dtype)
    here = context.put(x).requires_grad_(True)
    result = layer(here)
    result.backward(context.put(pull))
    eps = context.torch.finfo(dtype).eps
    allowed = tolerance(eps, INPUTS, SPLIT_STEPS)
    forward = check(context.torch, f"result of the {name}", result, x.double() @ weight.t(), allowed, product_size(x, weight.t()))
    back = check(
        context.torch, f"gradient through the {name}", here.grad, pull.double() @ weight, allowed, product_size(pull, weight)
    )
    return max(forward, back)


def eight_bits(context: StageContext, library: Any) -> float:
    """Allowed: both operands are rounded to 127 steps of their row's largest value; a uniform error of one step has a deviation
    of 1/sqrt(12).
    """
    torch = context.torch
    context.doing("8-bit layer")
    weight, x = context.random(OUTPUTS, INPUTS, dtype=torch.float16), context.random(ROWS, INPUTS, dtype=torch.float16)
    layer = library.nn.Linear8bitLt(INPUTS, OUTPUTS, bias=False, has_fp16_weights=False, threshold=0.0)
    layer.weight = library.nn.Int8Params(weight.clone(), requires_grad=False, has_fp16_weights=False)
    layer = layer.to(context.device)
    got = layer(context.put(x))
    steps = sum(float((m.abs().amax(dim=1) / m.std(dim=1)).mean()) / INT8_STEPS / 12**0.5 for m in (weight.float(), x.float()))
    allowed = 2 * steps + tolerance(torch.finfo(torch.float16).eps, INPUTS, SPLIT_STEPS)
    return check(torch, "result of the 8-bit layer", got, x.double() @ weight.double().t(), allowed, product_size(x, weight.t()))
