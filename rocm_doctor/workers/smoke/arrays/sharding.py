"""All devices in one process: the rows of a batch divided over them, gradients summed, compared with one float64 process."""

from __future__ import annotations

from typing import Any

from ..compare import Wrong, tolerance
from ..several import TRAINING_STEPS
from .basics import need_devices
from .context import EPS, ArrayContext
from .lora import ADAPTERS, loss_of, problem
from .products import wide

STEPS, RATE = 3, 0.1


def sharding(context: ArrayContext) -> dict[str, Any]:
    """Three LoRA steps with the batch divided over all devices. Reasons: mismatch, nan, zeros, or a hang in the collective."""
    count = need_devices(context, 2)
    parts, x, y = problem(context)
    rows = len(x) // count * count
    x, y = x[:rows], y[:rows]
    exact, worst = {name: wide(context, part) for name, part in parts.items()}, []
    allowed = tolerance(EPS["float32"], x.shape[1], TRAINING_STEPS)
    for step in range(STEPS):
        context.doing(f"LoRA step {step + 1} of {STEPS} over {count} devices")
        with context.precision("highest"):
            frozen = {name: part for name, part in parts.items() if name not in ADAPTERS}
            adapters = {name: parts[name] for name in ADAPTERS}
            loss, gradients = context.sharded_step(adapters, x, y, loss_of(context, frozen, "float32"))
        right, wanted = context.references.lora_step(exact, wide(context, x), wide(context, y))
        if not abs(loss - right) <= allowed * abs(right):
            raise Wrong("mismatch", f"the loss over {count} devices is {loss:.7g} instead of {right:.7g}")
        for name in ADAPTERS:
            if wanted[name].any():
                worst.append(context.check(f"gradient of {name} over {count} devices", gradients[name], wanted[name], allowed))
            parts[name] = parts[name] - context.np.float32(RATE) * context.get(gradients[name])
            exact[name] = exact[name] - RATE * wanted[name]
    return {"devices": count, "worst_error": max(worst)}
