"""The configurations that `tune` chooses from, and which of them are predicted to fit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from rocm_doctor.fit.card import Card
from rocm_doctor.fit.estimate import compute
from rocm_doctor.fit.job import Dtype, Implementation, Job, Optimizer

MARGIN = 0.10
"""Part of the memory that stays free of what is predicted to fit for sure: the closed form is off by 6 % at most, and cached blocks need
room. A configuration that needs some of it is measured all the same: running out of memory is a result."""


class TuneChoice(msgspec.Struct, frozen=True, order=True):
    """One configuration: what `tune` may change of a job. All choices of a search have the same batch x grad_accum, the sequences
    of an optimizer step."""

    batch: int
    grad_accum: int
    checkpointing: bool
    implementation: Implementation
    dtype: Dtype
    autocast: Dtype | None
    adapter_dtype: Dtype
    optimizer: Optimizer
    fused_loss: bool

    @property
    def numerics(self) -> tuple[str, str | None, str]:
        """(dtype, autocast, adapter dtype): what decides the numbers that come out. Everything else only regroups the same
        arithmetic."""
        return self.dtype, self.autocast, self.adapter_dtype

    @property
    def words(self) -> str:
        cast = f" + {_SHORT[self.autocast]} autocast" if self.autocast else ""
        precision = f"{_SHORT[self.dtype]} weights{cast}, {_SHORT[self.adapter_dtype]} adapters"
        flags = {"checkpointing": self.checkpointing, "fused loss": self.fused_loss}
        parts = [f"{self.batch} x {self.grad_accum}", precision, self.implementation, self.optimizer]
        return ", ".join([*parts, *(name for name, on in flags.items() if on)])


_SHORT = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}


def job_choice(job: Job) -> TuneChoice:
    """The configuration of a job."""
    return TuneChoice(**{name: getattr(job, name) for name in TuneChoice.__struct_fields__})


def choice_job(choice: TuneChoice, base: Job) -> Job:
    """The run that `fit` predicts and the worker measures."""
    return msgspec.structs.replace(base, **msgspec.structs.asdict(choice))


def changes(old: TuneChoice, new: TuneChoice) -> dict[str, Any]:
    """The fields that differ, with their new values."""
    return {name: getattr(new, name) for name in TuneChoice.__struct_fields__ if getattr(old, name) != getattr(new, name)}


def list_numerics(job: Job, half: Dtype) -> list[dict[str, Any]]:
    """Changes to the other numerics that are tried beside the job's own. `half`: bfloat16, or float16 where the GPU has no bfloat16."""
    full: list[dict[str, Any]] = [{"dtype": half, "autocast": None}, {"dtype": "float32", "autocast": half}]
    if half == "float16":  # full training in float16 alone loses the small updates, and there is no scaler for it
        full = [{"dtype": "float32", "autocast": half}, {"dtype": "float32", "autocast": None}]
    if job.method == "full":
        return full
    return [
        {**full[0], "adapter_dtype": half},
        {"dtype": half, "autocast": half, "adapter_dtype": "float32"},
        *({**one, "adapter_dtype": "float32"} for one in full),
    ]


def list_alternatives(job: Job) -> list[dict[str, Any]]:
    """Single changes that keep the numbers: the optimizer's other kernel, the loss the other way round, the other attention."""
    optimizer = {"adamw": "adamw_fused", "adamw_fused": "adamw"}.get(job.optimizer, job.optimizer)
    other = "sdpa" if job.implementation == "eager" else "eager"
    return [{"optimizer": optimizer}, {"fused_loss": True}, {"fused_loss": False}, {"implementation": other}]


def list_shapes(base: Job, card: Card) -> Iterator[TuneChoice]:
    """The shapes that are predicted to fit, the largest micro-batch first. What only saves memory (checkpointing, a fused loss) is left out
    where the run fits without it for sure: it costs time and gains nothing."""
    sequences = base.batch * base.grad_accum
    for batch in reversed([n for n in range(1, sequences + 1) if sequences % n == 0]):
        sure: list[TuneChoice] = []
        for checkpointing, fused in ((False, False), (False, True), (True, False), (True, True)):
            able = any(shape.checkpointing <= checkpointing and shape.fused_loss <= fused for shape in sure)
            parts = {"batch": batch, "grad_accum": sequences // batch, "checkpointing": checkpointing, "fused_loss": fused}
            shape = msgspec.structs.replace(job_choice(base), **parts)
            if not able and is_predicted_to_fit(choice_job(shape, base), card):
                yield shape
                sure += [shape] if is_predicted_to_fit(choice_job(shape, base), card, MARGIN) else []


def is_predicted_to_fit(job: Job, card: Card, margin: float = 0.0) -> bool:
    """Whether a job is predicted to fit: with a margin, by the prediction's error and so much of the memory. False where the memory is not
    known, and for a fused loss of a model that caps its logits, which the fused one leaves out."""
    if job.fused_loss and job.config.get("final_logit_softcapping"):
        return False
    estimate = compute(job, card)
    bound = estimate.error_bound.allocated if margin else 0.0
    return card.available is not None and estimate.peak_allocated_bytes * (1 + bound) <= card.available * (1 - margin)
