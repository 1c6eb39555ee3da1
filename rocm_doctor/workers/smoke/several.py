"""Stages of level 3: several GPUs at once. Those of a group run as ranks of one job, one process per GPU, started by the runner.

On a machine without GPUs a group is two processes on the CPU, with gloo. "nccl" is RCCL on ROCm.
"""

from __future__ import annotations

import copy
import datetime
import importlib
import warnings
from collections.abc import Callable
from typing import Any

from . import lora
from .basics import need_gpus
from .compare import Skip, Wrong, check, same_bits, tolerance
from .context import StageContext
from .products import large, precision

PATIENCE = datetime.timedelta(seconds=60)
"""Time limit of a collective, after which torch raises its own error; the runner's limit comes later."""
LENGTHS = (1, 1003, 1 << 20)
STEPS, RATE, ROWS, WIDTH = 3, 0.1, 32, 64
TRAINING_STEPS = 96
"""Roundings of the parameters after three steps of two layers: about 16 a step (products forward and backward, update), feeding
on one another.
"""


def together(context: StageContext) -> dict[str, Any]:
    """Every GPU works at once: power, cooling and the host's links under load. Numbers are compared as when alone."""
    eps = context.torch.finfo(context.torch.float32).eps
    with precision(context.torch, "highest"):
        seen = [large(context, context.torch.float32, eps) for _ in range(3)]
        lora.lora(context)
    return {"tflops": [one["tflops"] for one in seen]}


def peer(context: StageContext) -> dict[str, Any]:
    """Copies between every two GPUs, both ways, bit for bit. Without peer access the driver goes through the host; that must
    work too.
    """
    need_gpus(context, 2)
    torch = context.torch
    count, access = torch.cuda.device_count(), {}
    for one in range(count):
        for other in range(count):
            if one != other:
                access[f"{one}-{other}"] = bool(torch.cuda.can_device_access_peer(one, other))
                for length in LENGTHS:
                    context.doing(f"copy of {length} words from GPU {one} to GPU {other}")
                    source = torch.randint(1, 1 << 30, (length,), generator=context.generator)
                    got = torch.zeros_like(source, device=f"cuda:{other}").copy_(source.to(f"cuda:{one}"))
                    same_bits(torch, f"copy of {length} words from GPU {one} to GPU {other}", got, source)
    return {"peer_access": access}


def allreduce_gloo(context: StageContext) -> dict[str, Any]:
    """Sums over all ranks in system memory: sockets and shared memory of the host, no GPU."""
    return allreduce(context, "gloo", "cpu")


def allreduce_nccl(context: StageContext) -> dict[str, Any]:
    """Sums over all ranks by RCCL / NCCL. A hang here with iommu translation is ROCm/rccl#1129."""
    if not context.on_gpu:
        raise Skip("needs-gpus", "RCCL and NCCL work on GPUs only")
    return allreduce(context, "nccl", context.device)


def allreduce(context: StageContext, backend: str, where: Any) -> dict[str, Any]:
    """Whole numbers below 2^24 are summed in fp32 without rounding: the result is known to the bit."""
    torch = context.torch

    def body(distributed: Any) -> None:
        for length in LENGTHS:
            context.doing(f"all-reduce of {length} words over {backend} with {context.world} ranks")
            values = torch.arange(length, dtype=torch.float32) % 4096 + context.rank
            got = values.to(where)
            distributed.all_reduce(got)
            want = (torch.arange(length, dtype=torch.float32) % 4096) * context.world + sum(range(context.world))
            same_bits(torch, f"sum of {length} words over {backend}", got, want)

    in_group(context, backend, body)
    return {"world": context.world, "backend": backend}


def in_group(context: StageContext, backend: str, body: Callable[[Any], None]) -> None:
    """Run within a process group of all ranks, and leave it in any case."""
    distributed = context.torch.distributed
    if not distributed.is_available() or not getattr(distributed, f"is_{backend}_available", lambda: True)():
        raise Skip("not-built", f"this torch was built without {backend}")
    if context.world < 2:
        raise Skip("needs-gpus", "one GPU has nothing to agree with")
    context.doing(f"{context.world} ranks meeting over {backend}")
    store = distributed.PrefixStore(context.stage, context.keep("store", lambda: meeting_point(context)))
    distributed.init_process_group(backend, store=store, rank=context.rank, world_size=context.world, timeout=PATIENCE)
    try:
        body(distributed)
    finally:
        distributed.destroy_process_group()


def meeting_point(context: StageContext) -> Any:
    """The one store of this process. Stages use it one after the other: one store each would let a fast rank meet a slow one's
    old store.
    """
    return context.torch.distributed.TCPStore("127.0.0.1", context.args.port, context.world, context.rank == 0, timeout=PATIENCE)


def small_network(torch: Any) -> Any:
    """A network small enough for every rank."""
    torch.manual_seed(30)
    return torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.GELU(), torch.nn.Linear(WIDTH, WIDTH))


def train(context: StageContext, model: Any, batches: list[Any]) -> None:
    """Plain gradient descent on the mean of squares; one batch a step."""
    for batch in batches:
        # Before the forward pass: after it FSDP2 may show whole parameters, whose gradients are not the ones that count.
        model.zero_grad(set_to_none=True)
        loss = (model(batch) - batch).pow(2).mean()
        loss.backward()
        with context.torch.no_grad():
            for tensor in model.parameters():
                tensor -= RATE * tensor.grad


def compare_with_one(context: StageContext, wrap: Callable[[Any], Any], whole: Callable[[Any], Any]) -> dict[str, Any]:
    """Train split over the ranks; the parameters must be those of one process in float64 that saw all rows."""
    torch = context.torch
    rows = [context.random(ROWS * context.world, WIDTH) for _ in range(STEPS)]
    alone = small_network(torch).double()
    train(context, alone, [batch.double() for batch in rows])
    worst = []

    def body(distributed: Any) -> None:
        model = wrap(copy.deepcopy(small_network(torch)).to(context.device))
        context.doing(f"{STEPS} training steps on {context.world} ranks")
        with precision(torch, "highest"):
            train(context, model, [context.put(batch[context.rank :: context.world].contiguous()) for batch in rows])
        allowed = tolerance(torch.finfo(torch.float32).eps, WIDTH, TRAINING_STEPS)
        for got, (name, want) in zip(model.parameters(), alone.named_parameters()):
            worst.append(check(torch, f"parameter {name} after {STEPS} steps", whole(got.detach()), want, allowed))

    in_group(context, "nccl" if context.on_gpu else "gloo", body)
    return {"world": context.world, "worst_error": max(worst)}


def ddp(context: StageContext) -> dict[str, Any]:
    """DistributedDataParallel: gradients are averaged over the ranks."""
    parallel = context.torch.nn.parallel.DistributedDataParallel
    return compare_with_one(
        context, lambda model: parallel(model, device_ids=[context.device.index] if context.on_gpu else None), lambda got: got
    )


def fsdp2(context: StageContext) -> dict[str, Any]:
    """FSDP2 (fully_shard): parameters live split over the ranks and are gathered for the comparison."""
    torch = context.torch
    shard = sharder(context)

    def wrap(model: Any) -> Any:
        mesh = torch.distributed.device_mesh.init_device_mesh(context.device.type, (context.world,))
        shard(model[0], mesh=mesh)
        shard(model, mesh=mesh)
        return model

    return compare_with_one(context, wrap, lambda got: got.full_tensor())


def sharder(context: StageContext) -> Any:
    """fully_shard, wherever this torch keeps it (2.6 exports it, 2.4 and 2.5 have it under another name)."""
    for module in ("torch.distributed.fsdp", "torch.distributed._composable.fsdp"):
        try:
            return importlib.import_module(module).fully_shard
        except (ImportError, AttributeError):
            continue
    raise Skip("no-fsdp2", "this torch has no fully_shard")


def dataparallel(context: StageContext) -> dict[str, Any]:
    """DataParallel, one process that drives all GPUs: result and gradients against float64."""
    need_gpus(context, 2)
    torch = context.torch
    rows, alone = context.random(ROWS * 4, WIDTH), small_network(torch).double()
    train(context, alone, [rows.double()])
    model = torch.nn.DataParallel(copy.deepcopy(small_network(torch)).to("cuda:0"))
    context.doing("a DataParallel step")
    with warnings.catch_warnings(), precision(torch, "highest"):
        warnings.simplefilter("ignore")
        train(context, model, [rows.to("cuda:0")])
    allowed = tolerance(torch.finfo(torch.float32).eps, WIDTH, TRAINING_STEPS)
    worst = [
        check(torch, f"parameter {n} after a step", got, want, allowed)
        for got, (n, want) in zip(model.parameters(), alone.named_parameters())
    ]
    if not worst:
        raise Wrong("shape", "DataParallel shows no parameters")
    return {"gpus": torch.cuda.device_count(), "worst_error": max(worst)}
