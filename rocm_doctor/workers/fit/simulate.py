"""A whole training step on the meta device, as a list of allocations and frees."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

from . import build, kernels
from .loss import batch_loss
from .track import Tracker

FUNCTIONAL = torch.nn.functional


def simulate(job: dict[str, Any]) -> dict[str, Any]:
    """A dict of one step: events, labels (by storage number), setup (the number of events before the step), parameters,
    trainable, and attention (calls by kernel). What outlives the step, such as optimizer states, is set up by it."""
    job = dict(job, device="meta")
    model = build.build_model(job, "meta")
    tracker = Tracker(model.config.vocab_size, job["batch"], job["seq"])
    label_setup(tracker, model)
    setup = len(tracker.events)
    chosen: dict[str, int] = {}
    attention = kernels.patched_attention(tracker, job["card"], chosen)
    patched = stand_ins(
        FUNCTIONAL, scaled_dot_product_attention=attention, dropout=kernels.dropout, grouped_mm=kernels.grouped_mm
    )
    with patched, stand_ins(torch, autocast=kernels.autocast):
        events = one_step(tracker, model, job)
    trained = [p.numel() for p in model.parameters() if p.requires_grad]
    return {
        "events": events,
        "labels": tracker.labels,
        "setup": setup,
        "attention": chosen,
        "parameters": sum(p.numel() for p in model.parameters()),
        "trainable": sum(trained),
    }


@contextlib.contextmanager
def stand_ins(place: Any, **functions: Any) -> Iterator[None]:
    """Replace functions of a module for a while, those that this torch has (grouped_mm: since 2.10)."""
    kept = {name: getattr(place, name) for name in functions if hasattr(place, name)}
    try:
        for name in kept:
            setattr(place, name, functions[name])
        yield
    finally:
        for name, function in kept.items():
            setattr(place, name, function)


def label_setup(tracker: Tracker, model: Any) -> None:
    """What is there before the first step, in the order in which a model is loaded and adapters are added."""
    full = all(p.requires_grad for p in model.parameters())
    tracker.relabel([p for p in model.parameters() if full or not p.requires_grad], "weights")
    tracker.relabel(model.buffers(), "weights")
    tracker.relabel([p for p in model.parameters() if p.requires_grad and not full], "adapters")


def one_step(tracker: Tracker, model: Any, job: dict[str, Any]) -> list[list[int]]:
    """The events up to the end of one step, while the optimizer and its states are still alive. Two micro-batches are run for any
    number of accumulated ones: the second meets the gradients of the first."""
    optimizer = build.build_optimizer(model, job)
    with tracker:
        for _ in range(min(2, job["grad_accum"])):
            ids = torch.empty((job["batch"], job["seq"]), dtype=torch.long, device="meta")
            tracker.phase = "activations"
            loss = batch_loss(model, ids, job)
            tracker.phase = "backward scratch"
            loss.backward()
            tracker.relabel([p.grad for p in model.parameters() if p.grad is not None], "gradients")
        tracker.phase = "optimizer scratch"
        optimizer.step()
        tracker.relabel(_tensors(optimizer), "optimizer states")
        optimizer.zero_grad(set_to_none=True)
        del loss, ids
        return list(tracker.events)


def _tensors(optimizer: Any) -> list[Any]:
    values = [value for state in optimizer.state.values() for value in state.values()]
    return [value for value in values if isinstance(value, torch.Tensor) and value.device.type == "meta"]
