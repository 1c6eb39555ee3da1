"""The stages in order of blame: the first that fails is the one to look at. Read by the worker and by the runner."""

from __future__ import annotations

from typing import NamedTuple


class Stage(NamedTuple):
    """One stage. `limit` is seconds with a cold kernel cache. `needs` names stages without which its result has no meaning.

    `group`: in "one" process for each GPU, in that of the "first" GPU alone, in "all" of them as ranks of one job, or in a "fresh"
    process of its own.
    """

    name: str
    module: str
    function: str
    level: int
    limit: float
    needs: tuple[str, ...]
    about: str
    group: str = "one"


# Limits are ten times and more what a healthy machine needs. The first convolution may compile for over four minutes with an
# empty MIOpen cache (ROCm/MIOpen#2740), hence the long limit of `backward` and `kernels`.
STAGES = (
    Stage("import", "basics", "import_torch", 1, 120, (), "import torch"),
    Stage("device", "basics", "device", 1, 60, ("import",), "start the runtime and read the device's properties"),
    Stage("copy", "copies", "copy", 1, 60, ("device",), "copies between host and device, bit for bit"),
    Stage("matmul", "products", "matmul", 1, 120, ("copy",), "matrix products in fp32 against float64"),
    Stage("fp16", "products", "fp16", 1, 120, ("matmul",), "fp16 conversion, product, reduction"),
    Stage("bf16", "products", "bf16", 1, 120, ("matmul",), "bf16 conversion, product, reduction"),
    Stage("tf32", "products", "tf32", 1, 120, ("matmul",), "fp32 products in reduced precision where the chip has it"),
    Stage("blas", "products", "blas", 1, 120, ("matmul",), "products through cuBLAS or hipBLAS (rocBLAS)"),
    Stage("blaslt", "products", "blaslt", 1, 120, ("matmul",), "products through cuBLASLt or hipBLASLt"),
    Stage("attention-math", "attention", "math_backend", 1, 120, ("matmul",), "attention written out"),
    Stage("attention-efficient", "attention", "efficient_backend", 1, 180, ("matmul",), "memory-efficient attention"),
    Stage("attention-flash", "attention", "flash_backend", 1, 180, ("matmul",), "flash attention"),
    Stage("backward", "gradients", "backward", 1, 420, ("matmul",), "gradients of the common layers against float64"),
    Stage("lora", "lora", "lora", 1, 120, ("matmul",), "a LoRA training loop in plain torch"),
    Stage("peft", "peft_step", "peft", 1, 240, ("matmul",), "LoRA through transformers and peft"),
    Stage("lora-shapes", "shapes", "lora_shapes", 1, 180, ("matmul",), "narrow LoRA operands at the end of their allocation"),
    Stage("bitsandbytes", "quantised", "bitsandbytes", 2, 120, ("matmul",), "8-bit and 4-bit layers of bitsandbytes"),
    Stage("dataloader", "longer", "dataloader", 2, 120, ("copy",), "DataLoader with 0 and 2 workers, with and without pinning"),
    Stage("memory", "longer", "memory", 2, 120, ("copy",), "a pattern over 80 % of the free device memory"),
    Stage("soak", "longer", "soak", 2, 180, ("lora",), "200 training steps, watching the allocator"),
    Stage("kernels", "longer", "kernels", 2, 420, ("matmul",), "first kernels in a fresh process", "fresh"),
    Stage("kernels-again", "longer", "kernels", 2, 420, ("kernels",), "the same again: has the kernel cache warmed up?", "fresh"),
    Stage("together", "several", "together", 3, 180, ("matmul",), "every GPU at once", "all"),
    Stage("peer", "several", "peer", 3, 120, ("copy",), "copies from GPU to GPU", "first"),
    Stage("allreduce-gloo", "several", "allreduce_gloo", 3, 120, ("import",), "all-reduce over gloo", "all"),
    Stage("allreduce-nccl", "several", "allreduce_nccl", 3, 120, ("copy",), "all-reduce over RCCL or NCCL", "all"),
    Stage("ddp", "several", "ddp", 3, 180, ("lora",), "DistributedDataParallel steps against one GPU", "all"),
    Stage("fsdp2", "several", "fsdp2", 3, 180, ("lora",), "FSDP2 steps against one GPU", "all"),
    Stage("dataparallel", "several", "dataparallel", 3, 120, ("lora",), "DataParallel steps against one GPU", "first"),
)


# JAX and TensorFlow: the same words for the same things. One process drives all GPUs, so `sharding` is no group.
ARRAYS = (
    Stage("import", "arrays.basics", "import_framework", 1, 180, (), "import the framework"),
    Stage("device", "arrays.basics", "device", 1, 120, ("import",), "start the runtime and read the device's properties"),
    Stage("copy", "arrays.basics", "copy", 1, 60, ("device",), "copies between host and device, bit for bit"),
    Stage("matmul", "arrays.products", "matmul", 1, 180, ("copy",), "matrix products in fp32 against float64"),
    Stage("fp16", "arrays.products", "fp16", 1, 180, ("matmul",), "fp16 conversion, product, reduction"),
    Stage("bf16", "arrays.products", "bf16", 1, 180, ("matmul",), "bf16 conversion, product, reduction"),
    Stage("tf32", "arrays.products", "tf32", 1, 180, ("matmul",), "fp32 products in reduced precision where the chip has it"),
    Stage("attention-math", "arrays.attention", "math_backend", 1, 180, ("matmul",), "attention written out"),
    Stage("attention-flash", "arrays.attention", "flash_backend", 1, 180, ("matmul",), "flash attention"),
    Stage("backward", "arrays.gradients", "backward", 1, 420, ("matmul",), "gradients of the common layers against float64"),
    Stage("lora", "arrays.lora", "lora", 1, 180, ("matmul",), "a LoRA training loop"),
    Stage("kernels", "arrays.cache", "kernels", 2, 420, ("matmul",), "first kernels in a fresh process", "fresh"),
    Stage("kernels-again", "arrays.cache", "kernels", 2, 420, ("kernels",), "again: has the compile cache warmed up?", "fresh"),
    Stage("sharding", "arrays.sharding", "sharding", 3, 240, ("lora",), "LoRA steps over all devices against one", "first"),
)

# What `bench` runs, in the same isolation and after the same first two stages. Level 1 is `--quick`, 2 the whole.
_BENCH = "..bench"
RATES = (
    Stage("idle", f"{_BENCH}.idle", "idle", 1, 30, ("device",), "look for other programs on the GPU"),
    Stage("rate-matmul", f"{_BENCH}.products", "matmul", 1, 180, ("idle",), "matrix products by type"),
    Stage("rate-memory", f"{_BENCH}.memory", "memory", 1, 60, ("idle",), "memory bandwidth"),
    Stage("rate-copies", f"{_BENCH}.memory", "copies", 1, 60, ("idle",), "copies between host and device from pinned memory"),
    Stage("rate-peer", f"{_BENCH}.memory", "peer", 1, 60, ("idle",), "copies to another GPU"),
    Stage("rate-attention", f"{_BENCH}.attention", "attention", 1, 180, ("idle",), "attention by path"),
    Stage("rate-train", f"{_BENCH}.training", "train", 1, 180, ("idle",), "training steps of a small model"),
    Stage("rate-host", f"{_BENCH}.host", "host", 1, 120, ("idle",), "launches, copies from pageable memory, DataLoader"),
)

# Engines that serve models. The first start of vLLM may compile kernels.
ENGINES = (
    Stage("import", "serving.stages", "import_engine", 1, 180, (), "import the engine"),
    Stage("device", "serving.stages", "device", 1, 120, ("import",), "ask the engine for its device"),
    Stage("completion", "serving.stages", "completion", 1, 420, ("device",), "one completion of a tiny made-up model"),
)

FRAMEWORKS = {"torch": STAGES, "jax": ARRAYS, "tensorflow": ARRAYS}
"""The stages of each framework that one trains with."""
SERVERS = {"llama.cpp": "llama-cpp", "vllm": "vllm"}
"""Engine -> the name of its results."""
TABLES = dict(FRAMEWORKS, **dict.fromkeys(SERVERS.values(), ENGINES))
"""The stages of all that can be tested."""
BY_NAME: dict[str, Stage] = {}
"""Every stage that there is, torch's where several have one of that name."""
for _stage in STAGES + ARRAYS + ENGINES:
    BY_NAME.setdefault(_stage.name, _stage)


def table_of(framework: str) -> dict[str, Stage]:
    """The stages of a framework by name, torch's measurements among them."""
    return {stage.name: stage for stage in TABLES[framework] + (RATES if framework == "torch" else ())}


def all_needs(name: str, framework: str = "torch") -> tuple[str, ...]:
    """What a stage needs, and what that needs in turn, nearest first."""
    direct = table_of(framework)[name].needs
    return direct + tuple(further for need in direct for further in all_needs(need, framework))
