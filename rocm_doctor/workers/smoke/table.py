"""The stages in order of blame: the first that fails is the one to look at. Read by the worker and by the runner."""

from __future__ import annotations

from typing import NamedTuple


class Stage(NamedTuple):
    """One stage. `limit` is seconds with a cold kernel cache. `needs` names stages without which its result has no meaning.

    `once`: it is not run on several GPUs side by side.
    """

    name: str
    module: str
    function: str
    level: int
    limit: float
    needs: tuple[str, ...]
    about: str
    once: bool = False


# Limits are ten times and more what a healthy machine needs. The first convolution may compile for over four minutes with an
# empty MIOpen cache (ROCm/MIOpen#2740), hence the long limit of `backward`.
STAGES = (
    Stage("import", "basics", "import_framework", 1, 180, (), "import the framework"),
    Stage("device", "basics", "device", 1, 120, ("import",), "start the runtime and read the device's properties"),
    Stage("copy", "basics", "copy", 1, 60, ("device",), "copies between host and device, bit for bit"),
    Stage("matmul", "products", "matmul", 1, 180, ("copy",), "matrix products in fp32 against float64"),
    Stage("fp16", "products", "fp16", 1, 180, ("matmul",), "fp16 conversion, product, reduction"),
    Stage("bf16", "products", "bf16", 1, 180, ("matmul",), "bf16 conversion, product, reduction"),
    Stage("blas", "products", "blas", 1, 120, ("matmul",), "products through cuBLAS or hipBLAS (rocBLAS)"),
    Stage("blaslt", "products", "blaslt", 1, 120, ("matmul",), "products through cuBLASLt or hipBLASLt"),
    Stage("attention-math", "attention", "math_backend", 1, 180, ("matmul",), "attention written out"),
    Stage("attention-efficient", "attention", "efficient_backend", 1, 180, ("matmul",), "memory-efficient attention"),
    Stage("attention-flash", "attention", "flash_backend", 1, 180, ("matmul",), "flash attention"),
    Stage("backward", "gradients", "backward", 1, 420, ("matmul",), "gradients of the common layers against float64"),
    Stage("lora", "lora", "lora", 1, 180, ("matmul",), "a LoRA training loop"),
    Stage("peft", "peft_step", "peft", 1, 240, ("matmul",), "LoRA through transformers and peft"),
    Stage("lora-shapes", "shapes", "lora_shapes", 1, 180, ("matmul",), "narrow LoRA operands at the end of their allocation"),
    Stage("bitsandbytes", "quantised", "bitsandbytes", 2, 120, ("matmul",), "4-bit layers of bitsandbytes"),
    Stage("memory", "memory", "memory", 2, 120, ("copy",), "a pattern over 80 % of the free device memory"),
    Stage("peer", "memory", "peer", 3, 120, ("copy",), "copies from GPU to GPU", once=True),
    Stage("collectives", "collectives", "collectives", 3, 300, ("copy",), "all-reduces over all GPUs", once=True),
)


# What `bench` runs, on one GPU after the other, after the same first two stages.
RATES = (
    Stage("idle", "..bench.idle", "idle", 1, 30, ("device",), "look for other programs on the GPU", once=True),
    Stage("rate-matmul", "..bench.products", "matmul", 1, 180, ("idle",), "matrix products by type", once=True),
    Stage("rate-memory", "..bench.memory", "memory", 1, 60, ("idle",), "memory bandwidth", once=True),
    Stage("rate-copies", "..bench.memory", "copies", 1, 60, ("idle",), "copies between host and device", once=True),
    Stage("rate-peer", "..bench.memory", "peer", 1, 60, ("idle",), "copies to another GPU", once=True),
    Stage("rate-attention", "..bench.attention", "attention", 1, 180, ("idle",), "attention by path", once=True),
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
