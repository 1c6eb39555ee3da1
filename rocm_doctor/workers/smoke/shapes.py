"""Narrow LoRA operands where a kernel that reads or writes past them is caught: at the very end of an allocation, and beside
NaN.

On gfx1200 and gfx1201 with ROCm 7.2 and later hipBLASLt takes a tile of 64 columns for an operand of 16 and reads past its end
without the bounds check that older releases had (ROCm/rocm-libraries#7992 and #11714). Training dies at a step that depends on
the data; a plain product and one tiny step can pass on such a machine. Each product of a LoRA layer is made twice:

* both operands end where their allocation ends, so that a read beyond touches what may not be mapped (a memory fault, SIGABRT);
* both are followed by NaN within a larger buffer, so that a read beyond which is used shows in the result, and the result is
  written in front of a guard, so that a write beyond shows in the guard.

The first can only fault when the memory after the allocation is unmapped: a pass proves nothing, which is why a version row speaks
too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .compare import Wrong, tolerance
from .on_torch import TorchContext
from .products import SPLIT_STEPS

RANKS = (1, 2, 3, 4, 8, 16, 32, 64)
LENGTHS = (1, 7, 33, 257)
WIDTH, WIDE = 1024, 4096
"""Width of the layer at level 1 and from level 2 on."""
SEGMENT = 24 << 20
"""Bytes. torch gives an allocation of 10 MiB and more, in whole multiples of 2 MiB, a segment of its own: its end is the end of
the mapping.
"""
GUARD = 1024


def lora_shapes(context: TorchContext) -> dict[str, Any]:
    """x a^T, h b^T and their gradients for all ranks and lengths. Reasons: mismatch, nan, zeros, wrote-beyond, or the process
    dies."""
    torch = context.torch
    tested: dict[str, Any] = {}
    # A CPU has no such kernels, and an old one adds single rows up in 16 bits: there fp32 exercises the stage itself.
    for dtype in (torch.float16, torch.bfloat16) if context.on_gpu else (torch.float32,):
        reaches = Reach(context, dtype), Reach(context, dtype)
        tested[str(dtype)[6:]] = sum(one_rank(context, reaches, rank, dtype) for rank in RANKS)
    return tested


def one_rank(context: TorchContext, reaches: tuple[Reach, Reach], rank: int, dtype: Any) -> int:
    """All products of one rank; how many."""
    context.report(f"{str(dtype)[6:]} products of rank {rank}, operands at the end of their allocation")
    width, tested = WIDTH if context.level == 1 else WIDE, 0
    x, a = context.random(max(LENGTHS), width, dtype=dtype), context.random(rank, width, dtype=dtype)
    h, b = context.random(max(LENGTHS), rank, dtype=dtype), context.random(width, rank, dtype=dtype)
    for length in LENGTHS if rank in (1, 16, 64) else LENGTHS[2:]:
        for name, left, right in operands(x[:length], a, h[:length], b):
            tested += one_product(context, reaches, f"{name}, rank {rank}, length {length}", left, right, dtype)
    return tested


def operands(x: Any, a: Any, h: Any, b: Any) -> Iterator[tuple[str, Any, Any]]:
    """The products of a LoRA layer, each as left @ right; a factor that a layer reads transposed is transposed here as well."""
    yield "x a^T", x, a.t()
    yield "h b^T", h, b.t()
    yield "gradient of a", h.t(), x
    yield "gradient of h", x, b
    yield "gradient of x", h, a


class Reach:
    """Buffers for one operand: one whose end is the end of its allocation, one that holds NaN wherever the operand does not."""

    def __init__(self, context: TorchContext, dtype: Any) -> None:
        torch = context.torch
        number = SEGMENT * 8 // torch.finfo(dtype).bits
        self.edge = torch.zeros(number, dtype=dtype, device=context.device)
        self.sea = torch.full((number,), float("nan"), dtype=dtype, device=context.device)
        self.wet = 0

    def place_at_end(self, tensor: Any) -> Any:
        """The tensor at the end of its allocation."""
        return place(self.edge, tensor, self.edge.numel() - tensor.numel())

    def place_in_nan(self, tensor: Any) -> Any:
        begin = self.sea.numel() // 2
        self.sea[begin : begin + self.wet].fill_(float("nan"))
        self.wet = tensor.numel()
        return place(self.sea, tensor, begin)


def place(buffer: Any, tensor: Any, begin: int) -> Any:
    """The tensor's values in the buffer from there on, in its own layout (a transposed matrix stays transposed)."""
    transposed = not tensor.is_contiguous()
    plain = tensor.t() if transposed else tensor
    view = buffer[begin : begin + plain.numel()].view(plain.shape).copy_(plain)
    return view.t() if transposed else view


def one_product(context: TorchContext, reaches: tuple[Reach, Reach], name: str, left: Any, right: Any, dtype: Any) -> int:
    """Check a product with both operands at the end of their allocation, then surrounded by NaN. Allowed is what rounding
    explains of a 16-bit product. Raises Wrong, with the reason wrote-beyond if the result's neighbours changed."""
    torch, (left_reach, right_reach) = context.torch, reaches
    want, allowed = left.double() @ right.double(), tolerance(torch.finfo(dtype).eps, left.shape[1], SPLIT_STEPS)
    size = context.product_size(left, right)
    got = left_reach.place_at_end(left) @ right_reach.place_at_end(right)
    context.check(name + ", operands at the end of their allocation", got, want, allowed, size)
    shore = torch.full((want.numel() + GUARD,), 7.0, dtype=dtype, device=context.device)
    result = shore[: want.numel()].view(want.shape)
    torch.mm(left_reach.place_in_nan(left), right_reach.place_in_nan(right), out=result)
    context.check(name + ", operands followed by NaN", result, want, allowed, size)
    if not bool((shore[want.numel() :] == 7.0).all()):
        raise Wrong("wrote-beyond", name + ": the product wrote past the end of its result")
    return 2
