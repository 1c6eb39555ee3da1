"""A prelude for the smoke worker that makes the machine calculate wrongly, below torch's operators and before any comparison.

`WRONG` in the environment: one `stage operator dtype kind` a line. The first call of that operator that gives such a tensor
on the device under test returns a damaged result: `zeros`, `nan`, `spike` (one element), `scale` (all elements, by a tenth),
`flip` (one byte).
"""

from __future__ import annotations

import importlib
import os
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

stages: dict[str, Any] = globals()["stages"]
bench: Any = globals()["bench"]


def damage(tensor: Any, kind: str) -> None:
    middle = tuple(size // 2 for size in tensor.shape)
    if kind == "zeros":
        tensor.zero_()
    elif kind == "nan":
        tensor.fill_(float("nan"))
    elif kind == "scale":
        tensor.mul_(1.1)
    elif kind == "spike":
        tensor[middle] += 40 * tensor.double().pow(2).mean().sqrt().to(tensor.dtype)
    elif kind == "flip":
        tensor.view(torch.uint8).view(-1)[tensor.numel() // 2] ^= 4


class Wrong(TorchDispatchMode):  # type: ignore[misc]
    def __init__(self, operator: str, dtype: str, kind: str) -> None:
        super().__init__()
        self.operator, self.dtype, self.kind, self.left = operator, getattr(torch, dtype), kind, 1

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if str(func).split(".")[1] == self.operator and self.left:
            for one in result if isinstance(result, (tuple, list)) else [result]:
                if (
                    isinstance(one, torch.Tensor)
                    and one.dtype == self.dtype
                    and one.device.type == bench.device.type
                    and one.numel()
                ):
                    self.left = 0
                    damage(one, self.kind)
        return result


def wrongly(name: str, mode: Wrong) -> Any:
    package = type(bench).__module__.rpartition(".")[0]
    stage = importlib.import_module(package + ".table").BY_NAME[name]

    def function(bench: Any) -> Any:
        bench.load()
        with mode:
            details = stage(bench)
        return dict(details or {}, damaged=not mode.left)

    return function


for line in os.environ["WRONG"].splitlines():
    name, operator, dtype, kind = line.split()
    stages[name] = wrongly(name, Wrong(operator, dtype, kind))
