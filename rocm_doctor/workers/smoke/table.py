"""The stages in order of blame: the first that fails is the one to look at. Read by the worker and by the runner."""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple


class Stage(NamedTuple):
    """`run`: its function below the package of workers (`smoke.basics.copy`); `level`: the lowest one that has it; `limit`:
    seconds with a cold kernel cache; `needs`: stages without which its result means nothing; `about`: what it does, in words;
    `arguments`: what it takes beside the context; `once`: it is not run on several GPUs side by side."""

    name: str
    run: str
    level: int
    limit: float
    needs: tuple[str, ...]
    about: str
    arguments: tuple[str, ...] = ()
    once: bool = False

    def __call__(self, context: Any) -> Any:
        """The details of the stage. Raises what the stage raises."""
        module, _, function = self.run.rpartition(".")
        workers = __name__.rpartition(".smoke.")[0]
        return getattr(importlib.import_module(f"{workers}.{module}"), function)(context, *self.arguments)


ALL = ("float32", "float16", "bfloat16")
# Limits are ten times and more what a healthy machine needs. The first convolution may compile for over four minutes with an
# empty MIOpen cache (ROCm/MIOpen#2740), hence the long limit of `backward`.
STAGES = (
    Stage("import", "smoke.basics.import_framework", 1, 180, (), "import the framework"),
    Stage("device", "smoke.basics.device", 1, 120, ("import",), "start the runtime and read the device's properties"),
    Stage("copy", "smoke.basics.copy", 1, 60, ("device",), "copies between host and device, bit for bit"),
    Stage("matmul", "smoke.products.compare", 1, 180, ("copy",), "matrix products in fp32 against float64", ("float32",)),
    Stage("fp16", "smoke.products.compare_halves", 1, 180, ("matmul",), "fp16 conversion, product, reduction", ("float16",)),
    Stage("bf16", "smoke.products.compare_halves", 1, 180, ("matmul",), "bf16 conversion, product, reduction", ("bfloat16",)),
    Stage("blas", "smoke.products.compare_library", 1, 120, ("matmul",), "products by cuBLAS or hipBLAS", ("cublas",)),
    Stage("blaslt", "smoke.products.compare_library", 1, 120, ("matmul",), "products by cuBLASLt or hipBLASLt", ("cublaslt",)),
    Stage("attention-math", "smoke.attention.compare", 1, 180, ("matmul",), "attention written out", ("math", *ALL)),
    Stage("attention-efficient", "smoke.attention.compare", 1, 180, ("matmul",), "memory-efficient kernel", ("efficient", *ALL)),
    Stage("attention-flash", "smoke.attention.compare", 1, 180, ("matmul",), "flash attention", ("flash", "float16", "bfloat16")),
    Stage("backward", "smoke.gradients.backward", 1, 420, ("matmul",), "gradients of the common layers against float64"),
    Stage("lora", "smoke.lora.lora", 1, 180, ("matmul",), "a LoRA training loop"),
    Stage("peft", "smoke.peft_step.peft", 1, 240, ("matmul",), "LoRA through transformers and peft"),
    Stage("lora-shapes", "smoke.shapes.lora_shapes", 1, 180, ("matmul",), "narrow LoRA operands at the end of their allocation"),
    Stage("bitsandbytes", "smoke.quantised.bitsandbytes", 2, 120, ("matmul",), "4-bit layers of bitsandbytes"),
    Stage("memory", "smoke.memory.memory", 2, 120, ("copy",), "a pattern over 80 % of the free device memory"),
    Stage("peer", "smoke.memory.peer", 3, 120, ("copy",), "copies from GPU to GPU", once=True),
    Stage("collectives", "smoke.collectives.collectives", 3, 300, ("copy",), "all-reduces over all GPUs", once=True),
)


# What `bench` runs, on one GPU after the other, after the same first two stages.
RATES = (
    Stage("idle", "bench.idle.idle", 1, 30, ("device",), "look for other programs on the GPU", once=True),
    Stage("rate-matmul", "bench.products.matmul", 1, 180, ("idle",), "matrix products by type", once=True),
    Stage("rate-memory", "bench.memory.memory", 1, 60, ("idle",), "memory bandwidth", once=True),
    Stage("rate-copies", "bench.memory.copies", 1, 60, ("idle",), "copies between host and device", once=True),
    Stage("rate-peer", "bench.memory.peer", 1, 60, ("idle",), "copies to another GPU", once=True),
    Stage("rate-attention", "bench.attention.attention", 1, 180, ("idle",), "attention by path", once=True),
)

_ARRAYS = ("import", "device", "copy", "matmul", "fp16", "bf16", "attention-math", "attention-flash", "backward", "lora")
ARRAYS = tuple(stage for stage in STAGES if stage.name in _ARRAYS)
"""Those that JAX has as well: one word for one thing, so that a row about `bf16` judges both frameworks."""
FRAMEWORKS = {"torch": STAGES, "jax": ARRAYS}
BY_NAME = {stage.name: stage for stage in STAGES}


def stage_table(framework: str) -> dict[str, Stage]:
    """The stages of a framework by name, torch's measurements among them."""
    return {stage.name: stage for stage in FRAMEWORKS[framework] + (RATES if framework == "torch" else ())}


def all_needs(name: str, framework: str = "torch") -> tuple[str, ...]:
    """What a stage needs, and what that needs in turn, nearest first."""
    direct = stage_table(framework)[name].needs
    return direct + tuple(further for need in direct for further in all_needs(need, framework))
