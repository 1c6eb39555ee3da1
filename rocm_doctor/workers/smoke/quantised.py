"""The 4-bit layer of bitsandbytes, forward and backward, against plain arithmetic on the weights that it really holds.

The check comes in two halves that need no knowledge of the library's blocks or codebook. First, the weights it gives back
are close to those it took: NF4's widest gap lies between its codes -1 and -0.6962 (Dettmers et al., "QLoRA", 2023, appendix E),
so no weight is off by more than 0.152 of its block's largest. Second, its product equals the product with the weights it gives
back, up to the rounding of the 16-bit format. On wave64 and wave32 chips the block sizes differ, and wrong wavefront
assumptions show in the first half.
"""

from __future__ import annotations

from typing import Any

from .compare import Wrong, tolerance
from .on_torch import TorchContext
from .peft_step import package
from .products import SPLIT_STEPS

ROWS, INPUTS, OUTPUTS = 33, 256, 192
NF4_HALF_GAP = 0.152


def bitsandbytes(context: TorchContext) -> dict[str, Any]:
    """The version, and the worst error of a 4-bit layer by format. Reasons: import-bitsandbytes, mismatch, nan (up to 0.49 on
    ROCm)."""
    torch, library = context.torch, package("bitsandbytes")
    worst = {}
    for dtype in (torch.float16, torch.bfloat16):
        if context.on_gpu or dtype != torch.float16:
            worst[f"4-bit {str(dtype)[6:]}"] = four_bits(context, library, dtype)
    return {"version": library.__version__, "worst_error": worst}


def four_bits(context: TorchContext, library: Any, dtype: Any) -> float:
    """The relative error of a 4-bit layer against its dequantised weight. Raises Wrong."""
    torch, short = context.torch, str(dtype)[6:]
    context.report(f"4-bit layer in {short}")
    weight = context.random(OUTPUTS, INPUTS, dtype=dtype)
    layer = library.nn.Linear4bit(INPUTS, OUTPUTS, bias=False, compute_dtype=dtype, quant_type="nf4")
    layer.weight = library.nn.Params4bit(weight.clone(), requires_grad=False, quant_type="nf4")
    layer = layer.to(context.device)
    unpacked = library.functional.dequantize_4bit(layer.weight.data, layer.weight.quant_state).to("cpu")
    if unpacked.shape != weight.shape:
        unpacked = unpacked.view(weight.shape)
    off = (unpacked.double() - weight.double()).abs().max() / weight.double().abs().max()
    if not bool(torch.isfinite(unpacked).all()) or float(off) > NF4_HALF_GAP * 1.02:
        raise Wrong(
            "nan" if float(off) != float(off) else "mismatch",
            f"4-bit weights in {short} come back off by {float(off):.2g} of the largest",
        )
    return product(context, f"4-bit layer in {short}", layer, unpacked.double(), dtype)


def product(context: TorchContext, name: str, layer: Any, weight: Any, dtype: Any) -> float:
    """Result and gradient of the input, as QLoRA needs them."""
    x, pull = context.random(ROWS, INPUTS, dtype=dtype), context.random(ROWS, OUTPUTS, dtype=dtype)
    here = context.put(x).requires_grad_(True)
    result = layer(here)
    result.backward(context.put(pull))
    eps = context.torch.finfo(dtype).eps
    allowed = tolerance(eps, INPUTS, SPLIT_STEPS)
    forward = context.check(
        f"result of the {name}", result, x.double() @ weight.t(), allowed, context.product_size(x, weight.t())
    )
    back = context.check(
        f"gradient through the {name}", here.grad, pull.double() @ weight, allowed, context.product_size(pull, weight)
    )
    return max(forward, back)
