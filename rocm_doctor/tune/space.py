"""The configurations that `tune` chooses from, and which of them are predicted to fit."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, Literal

import msgspec

from rocm_doctor.fit.card import Card
from rocm_doctor.fit.estimate import by_arithmetic, verdict
from rocm_doctor.fit.job import Implementation, Job, Optimizer

Precision = Literal["bf16", "bf16-autocast", "fp16-autocast", "fp32"]
"""bf16: weights and products; *-autocast: fp32 weights, products in the shorter type; fp32: neither."""


class Choice(msgspec.Struct, frozen=True, order=True):
    """One configuration. `accumulation` follows from the micro-batch: the sequences of an optimizer step stay the same."""

    batch: int
    accumulation: int
    checkpointing: bool = False
    attention: Implementation = "sdpa"
    precision: Precision = "bf16"
    optimizer: Optimizer = "adamw_fused"
    fused_loss: bool = False
    compile: bool = False

    @property
    def words(self) -> str:
        """The configuration in a line."""
        parts = [f"{self.batch} x {self.accumulation}", self.precision, self.attention, self.optimizer]
        flags = {"checkpointing": self.checkpointing, "fused loss": self.fused_loss, "compile": self.compile}
        return ", ".join([*parts, *(name for name, on in flags.items() if on)])


class Space(msgspec.Struct, frozen=True):
    """What may be chosen: the values of each factor, and the sequences of one optimizer step."""

    sequences: int
    checkpointing: tuple[bool, ...] = (False, True)
    attention: tuple[Implementation, ...] = ("sdpa", "eager")
    precision: tuple[Precision, ...] = ("bf16", "bf16-autocast")
    optimizer: tuple[Optimizer, ...] = ("adamw_fused", "adamw")
    fused_loss: tuple[bool, ...] = (False,)
    compile: tuple[bool, ...] = (False,)

    @property
    def batches(self) -> tuple[int, ...]:
        """Micro-batches: powers of two up to the sequences of a step."""
        return tuple(2**n for n in range(self.sequences.bit_length()) if 2**n <= self.sequences)

    def every(self) -> Iterator[Choice]:
        """The whole grid."""
        for values in product(self.batches, *(getattr(self, name) for name in FACTORS)):
            yield self.of(values[0], **dict(zip(FACTORS, values[1:])))

    def at(self, batch: int, choice: Choice) -> Choice:
        """The choice with another micro-batch, and the accumulation that goes with it."""
        return msgspec.structs.replace(choice, batch=batch, accumulation=max(1, self.sequences // batch))

    def of(self, batch: int, **factors: object) -> Choice:
        """The choice with this micro-batch, and the accumulation that goes with it."""
        return msgspec.convert({"batch": batch, "accumulation": max(1, self.sequences // batch), **factors}, Choice)


FACTORS = ("checkpointing", "attention", "precision", "optimizer", "fused_loss", "compile")
"""The factors beside the micro-batch, by their names in `Choice` and `Space`."""
_PRECISIONS: dict[Precision, dict[str, Any]] = {
    "bf16": {"dtype": "bfloat16", "autocast": None},
    "bf16-autocast": {"dtype": "float32", "autocast": "bfloat16"},
    "fp16-autocast": {"dtype": "float32", "autocast": "float16"},
    "fp32": {"dtype": "float32", "autocast": None},
}


def job_of(choice: Choice, base: Job) -> Job:
    """The run that `fit` predicts and the worker measures."""
    return msgspec.structs.replace(
        base,
        batch=choice.batch,
        grad_accum=choice.accumulation,
        checkpointing=choice.checkpointing,
        implementation=choice.attention,
        optimizer=choice.optimizer,
        fused_loss=choice.fused_loss,
        **_PRECISIONS[choice.precision],
    )


MARGIN = 0.10
"""Part of the memory that stays free of what is predicted: the closed form is off by 6 % at most, and cached blocks need room."""


def fits(choice: Choice, base: Job, card: Card) -> bool:
    """Whether the configuration is predicted to fit with a margin; False where the memory is not known."""
    estimate = by_arithmetic(job_of(choice, base), card)
    if card.available is None or verdict(estimate, card) not in ("fits", "tight"):
        return False
    return estimate.peak_allocated_bytes * (1 + estimate.error_bound.allocated) <= card.available * (1 - MARGIN)
