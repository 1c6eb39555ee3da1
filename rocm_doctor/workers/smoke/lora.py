"""LoRA in plain torch: a frozen network, low-rank adapters, a few steps of training, compared with the same steps in float64."""

from __future__ import annotations

from typing import Any

from .compare import Wrong, check, tolerance
from .context import StageContext
from .products import precision

WIDTH, RANK, ROWS, STEPS, RATE = 128, 8, 64, 6, 1.0
TRAJECTORY_STEPS = 256
"""Roundings allowed along the loss curve: 6 steps, each through 2 layers of 2 products forward and 4 backward and the update
(about 16), and as many again for each earlier step, since the updates of plain gradient descent feed on one another: 6 * 16 * 6
/ 2, rounded down.
"""


def build(context: StageContext, width: int = WIDTH, rank: int = RANK) -> dict[str, Any]:
    """Two frozen layers with adapters: a is random and b zero, as LoRA starts (Hu et al., 2021, section 4.1)."""
    parts = {}
    for n in (1, 2):
        parts[f"w{n}"] = context.random(width, width) / width**0.5
        parts[f"a{n}"] = context.random(rank, width) / width**0.5
        parts[f"b{n}"] = context.torch.zeros(width, rank)
    return parts


def forward(torch: Any, parts: dict[str, Any], x: Any) -> Any:
    for n in ("1", "2"):
        x = x @ parts["w" + n].t() + 2.0 * (x @ parts["a" + n].t()) @ parts["b" + n].t()
        x = torch.nn.functional.gelu(x) if n == "1" else x
    return x


def train(context: StageContext, parts: dict[str, Any], x: Any, y: Any, steps: int = STEPS, rate: float = RATE) -> list[Any]:
    """Plain gradient descent on the adapters, in place; the losses. Plain, because Adam's quotient blows up the rounding of
    tiny gradients.
    """
    torch = context.torch
    adapters = [parts[name].requires_grad_(True) for name in parts if name[0] in "ab"]
    losses = []
    for _ in range(steps):
        for tensor in adapters:
            tensor.grad = None
        loss = (forward(torch, parts, x).float() if x.dtype != torch.float64 else forward(torch, parts, x)).sub(y).pow(2).mean()
        loss.backward()
        losses.append(loss.detach())
        with torch.no_grad():
            for tensor in adapters:
                tensor -= rate * tensor.grad.to(tensor.dtype)
    return losses


def problem(context: StageContext) -> Any:
    """Inputs, and the answers of the same network with other adapters."""
    torch = context.torch
    parts, x = build(context), context.random(ROWS, WIDTH)
    teacher = dict(parts, b1=context.random(WIDTH, RANK) / 8, b2=context.random(WIDTH, RANK) / 8)
    return parts, x, forward(torch, {k: v.double() for k, v in teacher.items()}, x.double()).float()


def lora(context: StageContext) -> dict[str, Any]:
    """fp32 against float64 step by step; then fp16 and bf16 by autocast, whose losses must fall like the reference's."""
    torch = context.torch
    parts, x, y = problem(context)
    want = torch.stack(train(context, {k: v.double() for k, v in parts.items()}, x.double(), y.double()))
    with precision(torch, "highest"):
        context.doing(f"{STEPS} LoRA steps in fp32")
        here = {key: context.put(value) for key, value in parts.items()}
        got = torch.stack(train(context, here, context.put(x), context.put(y)))
    check(torch, "loss curve in fp32", got, want, tolerance(torch.finfo(torch.float32).eps, WIDTH, TRAJECTORY_STEPS))
    sound(context, parts, here, got)
    ends = {"float32": float(got[-1])}
    for dtype in (torch.float16, torch.bfloat16) if context.on_gpu else (torch.bfloat16,):
        ends[str(dtype)[6:]] = under_autocast(context, dtype, parts, x, y, want)
    return {"first_loss": float(got[0]), "last_loss": ends}


def sound(context: StageContext, before: dict[str, Any], after: dict[str, Any], losses: Any) -> None:
    """The loss fell, every adapter has finite gradients that are not all zero, the frozen weights are what they were."""
    torch = context.torch
    if not float(losses[-1]) < float(losses[0]):
        raise Wrong("no-progress", f"the loss went from {float(losses[0]):.4g} to {float(losses[-1]):.4g}")
    for name, tensor in after.items():
        if name[0] == "w" and not torch.equal(tensor.detach().to("cpu"), before[name]):
            raise Wrong("base-changed", f"the frozen weight {name} changed")
        if name[0] in "ab":
            gradient = tensor.grad.to("cpu")
            if not bool(torch.isfinite(gradient).all()):
                raise Wrong("nan", f"the gradient of {name} is not finite")
            if not bool(gradient.any()):
                raise Wrong("zeros", f"the gradient of {name} is all zero")


def under_autocast(context: StageContext, dtype: Any, parts: dict[str, Any], x: Any, y: Any, want: Any) -> float:
    """The final loss. Allowed: 16 roundings of the format for each step, as in TRAJECTORY_STEPS, relative to the first loss."""
    torch, short = context.torch, str(dtype)[6:]
    context.doing(f"{STEPS} LoRA steps in {short} by autocast")
    here = {key: context.put(value) for key, value in parts.items()}
    with torch.autocast(context.device.type, dtype=dtype):
        got = torch.stack(train(context, here, context.put(x), context.put(y))).to("cpu").double()
    sound(context, parts, here, got)
    check(torch, f"loss curve in {short}", got, want, tolerance(torch.finfo(dtype).eps, WIDTH, 16))
    return float(got[-1])
