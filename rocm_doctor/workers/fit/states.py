"""Optimizers whose update is one GPU kernel: on the meta device only their states matter."""

from __future__ import annotations

from typing import Any

import torch


class Moments(torch.optim.Optimizer):
    """AdamW with two states per parameter, updated in place.

    `bits` None: both in the parameter's dtype (torch's fused AdamW). `bits` 8: one byte each and one float32 scale per 256
    values, float32 below 4096 values (bitsandbytes/optim/optimizer.py). `paged`: in host memory that the driver pages in, so
    nothing is allocated.
    """

    def __init__(self, params: Any, bits: int | None, paged: bool) -> None:
        super().__init__(params, {"bits": bits, "paged": paged})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None and not self.state[parameter] and not group["paged"]:
                    self.state[parameter].update(_new_states(parameter, group["bits"]))


def _new_states(parameter: Any, bits: int | None) -> dict[str, Any]:
    if bits is None:
        return {"first": torch.zeros_like(parameter), "second": torch.zeros_like(parameter)}
    if parameter.numel() < 4096:
        return {name: torch.zeros_like(parameter, dtype=torch.float32) for name in ("first", "second")}
    blocks = -(-parameter.numel() // 256)
    made = {name: torch.zeros_like(parameter, dtype=torch.uint8) for name in ("first", "second")}
    made.update({name + "_scale": parameter.new_zeros(blocks, dtype=torch.float32) for name in ("first", "second")})
    return made
