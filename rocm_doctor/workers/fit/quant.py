"""Linear layers over a 4- or 8-bit base, as bitsandbytes keeps them, for the meta device where bitsandbytes cannot run.

4 bit (bitsandbytes/nn/modules.py Linear4bit, functional.py quantize_4bit): half a byte a weight and, per 64 weights, one scale:
float32, or with double quantisation one byte and one float32 per 256 scales. Both passes make the whole weight anew in the
compute dtype. 8 bit (Linear8bitLt, autograd/_functions.py MatMul8bitLt): one byte a weight and one float32 a row; its input is
kept, though only a trained weight would need it, and the backward pass makes the weight anew.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import nn


def quantise(model: Any, job: dict[str, Any]) -> None:
    """Replace every linear layer but the output head; what stays dense becomes float32, as peft's
    `prepare_model_for_kbit_training` does. On a GPU the layers are bitsandbytes' own."""
    make = make_stand_in if job["device"] == "meta" else bitsandbytes_layer
    children = [(module, name, layer) for module in list(model.modules()) for name, layer in module.named_children()]
    linears = [child for child in children if isinstance(child[2], nn.Linear) and child[1] != "lm_head"]
    for module, name, layer in linears:
        setattr(module, name, make(layer, job))
    for parameter in model.parameters():
        parameter.requires_grad_(False)
        if job["kbit_prepare"] and parameter.dtype in (torch.float16, torch.bfloat16) and not hasattr(parameter, "packed"):
            parameter.data = parameter.data.float()


def make_stand_in(layer: Any, job: dict[str, Any]) -> Any:
    """A quantised linear without weights."""
    return QuantLinear(layer, job["quant_bits"], job["double_quant"], getattr(torch, job["dtype"]))


def bitsandbytes_layer(layer: Any, job: dict[str, Any]) -> Any:
    """A layer of bitsandbytes with small random weights, quantised as they move to the GPU."""
    import bitsandbytes.nn as bnb

    weight = random_weight(tuple(layer.weight.shape), getattr(torch, job["dtype"]))
    sizes, bias = (layer.in_features, layer.out_features), layer.bias is not None
    # On the meta device: a linear layer would first draw weights of its own, on the CPU, to be thrown away.
    with torch.device("meta"):
        packed = (
            bnb.Linear4bit(
                *sizes, bias=bias, compute_dtype=weight.dtype, compress_statistics=job["double_quant"], quant_type="nf4"
            )
            if job["quant_bits"] == 4
            else bnb.Linear8bitLt(*sizes, bias=bias, has_fp16_weights=False)
        )
    if job["quant_bits"] == 4:
        packed.weight = bnb.Params4bit(weight, requires_grad=False, compress_statistics=job["double_quant"], quant_type="nf4")
    else:
        packed.weight = bnb.Int8Params(weight, requires_grad=False, has_fp16_weights=False)
    if bias:
        packed.bias = nn.Parameter(torch.zeros(layer.out_features, dtype=weight.dtype), requires_grad=False)
    return packed.to("cuda")


@functools.cache
def random_weight(shape: tuple[int, ...], dtype: Any) -> Any:
    """Small random weights in system memory, where bitsandbytes wants them; one tensor for all layers of a shape. The values are
    no matter, and a CPU draws some 50 million a second: minutes for a model of 8 billion."""
    return torch.randn(shape, dtype=dtype) * 0.02


class QuantLinear(nn.Module):
    """A frozen quantised linear layer; `weight` is the packed storage, `scales` what is needed to unpack it."""

    def __init__(self, layer: Any, bits: int, double: bool, dtype: Any) -> None:
        super().__init__()
        self.in_features, self.out_features, self.bits, self.dtype = layer.in_features, layer.out_features, bits, dtype
        count, device = layer.weight.numel(), layer.weight.device
        self.weight = pack(torch.empty(count * bits // 8, dtype=torch.uint8, device=device))
        self.scales = nn.ParameterList([pack(s) for s in scales(layer, bits, double, device)])
        self.bias = None if layer.bias is None else nn.Parameter(layer.bias.detach(), requires_grad=False)

    def forward(self, x: Any) -> Any:
        shape = (self.out_features, self.in_features)
        out = Product8.apply(x, self.weight, shape) if self.bits == 8 else Product4.apply(x.to(self.dtype), self.weight, shape)
        return (out if self.bias is None else out + self.bias.to(out.dtype)).to(x.dtype)


def pack(tensor: Any) -> Any:
    """A parameter that must keep its dtype."""
    parameter: Any = nn.Parameter(tensor, requires_grad=False)
    parameter.packed = True
    return parameter


def scales(layer: Any, bits: int, double: bool, device: Any) -> list[Any]:
    """The scales of a quantised weight, as empty tensors."""
    if bits == 8:
        return [torch.empty(layer.out_features, device=device)]
    blocks = -(-layer.weight.numel() // 64)
    if not double:
        return [torch.empty(blocks, device=device)]
    return [torch.empty(blocks, dtype=torch.uint8, device=device), torch.empty(-(-blocks // 256), device=device)]


class Product4(torch.autograd.Function):
    """x @ unpacked(weight).T; the unpacked weight lives only during each pass and is not saved."""

    @staticmethod
    def forward(ctx: Any, x: Any, weight: Any, shape: tuple[int, int]) -> Any:
        ctx.shape = shape
        return x @ torch.empty(shape, dtype=x.dtype, device=x.device).t()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad @ torch.empty(ctx.shape, dtype=grad.dtype, device=grad.device), None, None


class Product8(torch.autograd.Function):
    """The input rounded to int8, an int32 product, and that scaled back."""

    @staticmethod
    def forward(ctx: Any, x: Any, weight: Any, shape: tuple[int, int]) -> Any:
        ctx.kept, ctx.shape = x, shape
        half = x.to(torch.float16)
        levels = torch.empty(half.shape, dtype=torch.int8, device=x.device)
        exact = torch.empty(levels.shape[:-1] + shape[:1], dtype=torch.int32, device=x.device)
        return exact.to(torch.float16).to(x.dtype)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad.to(ctx.kept.dtype) @ torch.empty(ctx.shape, dtype=ctx.kept.dtype, device=grad.device), None, None
