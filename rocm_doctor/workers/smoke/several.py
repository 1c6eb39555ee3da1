"""Stages of level 3: several GPUs at once. Those of a group run as ranks of one job, one process per GPU, started by the runner.

On a machine without GPUs a group is two processes on the CPU, with gloo. "nccl" is RCCL on ROCm.
"""

from __future__ import annotations

import copy
import datetime
from collections.abc import Callable
from typing import Any

from .compare import Skip, tolerance
from .on_torch import TorchContext

PATIENCE = datetime.timedelta(seconds=60)
"""Time limit of a collective, after which torch raises its own error; the runner's limit comes later."""
LENGTHS = (1, 1003, 1 << 20)
STEPS, RATE, ROWS, WIDTH = 3, 0.1, 32, 64
TRAINING_STEPS = 96
"""Roundings of the parameters after three steps of two layers: about 16 a step (products forward and backward, update), feeding
on one another.
"""


def peer(context: TorchContext) -> dict[str, Any]:
    """Copies between every two GPUs, both ways, bit for bit. Without peer access the driver goes through the host; that must
    work too.
    """
    context.need_gpus(2)
    torch = context.torch
    count, access = torch.cuda.device_count(), {}
    for one in range(count):
        for other in range(count):
            if one != other:
                access[f"{one}-{other}"] = bool(torch.cuda.can_device_access_peer(one, other))
                for length in LENGTHS:
                    context.report(f"copy of {length} words from GPU {one} to GPU {other}")
                    source = torch.randint(1, 1 << 30, (length,), generator=context.generator)
                    got = torch.zeros_like(source, device=f"cuda:{other}").copy_(source.to(f"cuda:{one}"))
                    context.same_bits(f"copy of {length} words from GPU {one} to GPU {other}", got, source)
    return {"peer_access": access}


def allreduce(context: TorchContext) -> dict[str, Any]:
    """Sums over all ranks by RCCL / NCCL. A hang here with iommu translation is ROCm/rccl#1129.

    Whole numbers below 2^24 are summed in fp32 without rounding: the result is known to the bit.
    """
    if not context.on_gpu:
        raise Skip("needs-gpus", "RCCL and NCCL work on GPUs only")
    torch = context.torch

    def body(distributed: Any) -> None:
        for length in LENGTHS:
            context.report(f"all-reduce of {length} words with {context.world} ranks")
            values = torch.arange(length, dtype=torch.float32) % 4096 + context.rank
            got = values.to(context.device)
            distributed.all_reduce(got)
            want = (torch.arange(length, dtype=torch.float32) % 4096) * context.world + sum(range(context.world))
            context.same_bits(f"sum of {length} words", got, want)

    run_in_group(context, "nccl", body)
    return {"world": context.world}


def run_in_group(context: TorchContext, backend: str, body: Callable[[Any], None]) -> None:
    """Run within a process group of all ranks, and leave it in any case."""
    distributed = context.torch.distributed
    if not distributed.is_available() or not getattr(distributed, f"is_{backend}_available", lambda: True)():
        raise Skip("not-built", f"this torch was built without {backend}")
    if context.world < 2:
        raise Skip("needs-gpus", "one GPU has nothing to agree with")
    context.report(f"{context.world} ranks meeting over {backend}")
    store = distributed.PrefixStore(context.stage, context.keep("store", lambda: meeting_point(context)))
    distributed.init_process_group(backend, store=store, rank=context.rank, world_size=context.world, timeout=PATIENCE)
    try:
        body(distributed)
    finally:
        distributed.destroy_process_group()


def meeting_point(context: TorchContext) -> Any:
    """The one store of this process. Stages use it one after the other: one store each would let a fast rank meet a slow one's
    old store.
    """
    return context.torch.distributed.TCPStore("127.0.0.1", context.args.port, context.world, context.rank == 0, timeout=PATIENCE)


def small_network(torch: Any) -> Any:
    """A network small enough for every rank."""
    torch.manual_seed(30)
    return torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.GELU(), torch.nn.Linear(WIDTH, WIDTH))


def train(context: TorchContext, model: Any, batches: list[Any]) -> None:
    """Plain gradient descent on the mean of squares; one batch a step."""
    for batch in batches:
        model.zero_grad(set_to_none=True)
        loss = (model(batch) - batch).pow(2).mean()
        loss.backward()
        with context.torch.no_grad():
            for tensor in model.parameters():
                tensor -= RATE * tensor.grad


def ddp(context: TorchContext) -> dict[str, Any]:
    """DistributedDataParallel: the parameters must be those of one process in float64 that saw all rows."""
    torch = context.torch
    rows = [context.random(ROWS * context.world, WIDTH) for _ in range(STEPS)]
    alone = small_network(torch).double()
    train(context, alone, [batch.double() for batch in rows])
    worst = []

    def body(distributed: Any) -> None:
        model = copy.deepcopy(small_network(torch)).to(context.device)
        model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[context.device.index] if context.on_gpu else None)
        context.report(f"{STEPS} training steps on {context.world} ranks")
        with context.full_precision():
            train(context, model, [context.put(batch[context.rank :: context.world].contiguous()) for batch in rows])
        allowed = tolerance(torch.finfo(torch.float32).eps, WIDTH, TRAINING_STEPS)
        for got, (name, want) in zip(model.parameters(), alone.named_parameters()):
            worst.append(context.check(f"parameter {name} after {STEPS} steps", got, want, allowed))

    run_in_group(context, "nccl" if context.on_gpu else "gloo", body)
    return {"world": context.world, "worst_error": max(worst)}
