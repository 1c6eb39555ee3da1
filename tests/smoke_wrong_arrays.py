"""A prelude for the smoke worker that makes JAX calculate wrongly, between the framework and any comparison.

`WRONG` in the environment: one `stage where which kind` a line. `where` is `copy_on_device`, `get` (what comes from the device; `which`
is the number format), or `compile` (a compiled function; `which` 0 is its result, 1 and more its gradients). The first such value of the
stage is damaged: `zeros`, `nan`, `scale` (by a tenth), `spike` (one element), `flip` (one byte). `spin` as `where` is a kernel that never
ends.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

stages: dict[str, Any] = globals()["stages"]
bench: Any = globals()["bench"]


def damaged(value: Any, kind: str) -> Any:
    np = bench.np
    array = np.array(bench_get(value))
    if kind == "zeros":
        array[...] = 0
    elif kind == "nan":
        array[...] = np.nan
    elif kind == "scale":
        array = (array.astype(np.float64) * 1.1).astype(array.dtype)
    elif kind == "spike":
        place = tuple(size // 2 for size in array.shape)
        array[place] += np.asarray(40 * np.sqrt((array.astype(np.float64) ** 2).mean())).astype(array.dtype)
    elif kind == "flip":
        array.reshape(-1).view(np.uint8)[array.nbytes // 2] ^= 4
    return array


bench_get = bench.get


def plant(where: str, which: str, kind: str) -> None:
    left = [1]
    right = getattr(bench, where)

    def once(value: Any) -> Any:
        return damaged(value, kind) if left and left.pop() else value

    def get(value: Any) -> Any:
        return once(value) if str(value.dtype) == which or getattr(value.dtype, "name", "") == which else right(value)

    def compile_function(function: Any) -> Any:
        call = right(function)

        def both(operands: Any, pull: Any) -> Any:
            result, gradients = call(operands, pull)
            every = [result, *gradients]
            every[int(which)] = bench.put(once(every[int(which)]))
            return every[0], every[1:]

        return both

    setattr(bench, where, {"copy_on_device": lambda value: once(right(value)), "get": get, "compile": compile_function}[where])


def spin(bench: Any) -> None:
    jax = bench.load()
    bench.report("a kernel that never ends")
    jax.lax.while_loop(lambda x: x >= 0, lambda x: (x + 1) % 7, jax.numpy.zeros((), "int32")).block_until_ready()


def wrongly(name: str, where: str, which: str, kind: str) -> Any:
    table = importlib.import_module(type(bench).__module__.rpartition(".")[0] + ".table")
    stage = table.stage_table(bench.framework)[name]

    def function(bench: Any) -> Any:
        bench.load()
        bench.take_device()
        plant(where, which, kind)
        try:
            return stage(bench)
        finally:
            delattr(bench, where)

    return function


for line in os.environ["WRONG"].splitlines():
    name, where, which, kind = line.split()
    stages[name] = spin if where == "spin" else wrongly(name, where, which, kind)
