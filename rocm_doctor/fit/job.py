"""The run whose memory is asked for. Everything else in this package takes a `Job`; the worker gets it as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

Method = Literal["full", "lora", "qlora"]
Dtype = Literal["float32", "bfloat16", "float16"]
Count = Annotated[int, msgspec.Meta(ge=1)]
Implementation = Literal["sdpa", "eager"]
Optimizer = Literal["adamw", "adamw_fused", "adamw_8bit", "paged_adamw", "paged_adamw_8bit", "adafactor", "sgd"]
BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
SEVEN = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


class Kernels(msgspec.Struct, frozen=True):
    """The fused attention kernels that torch has for the GPU: flash and memory-efficient, and with `_gqa` whether each takes
    grouped heads. `hip`: they are AOTriton's."""

    flash: bool = False
    efficient: bool = False
    flash_gqa: bool = False
    efficient_gqa: bool = False
    hip: bool = True


MATH = Kernels()
AOTRITON = Kernels(flash=True, efficient=True, flash_gqa=True, hip=True)
"""AOTriton's kernels as torch has them since 2.6."""
CUDA = Kernels(flash=True, efficient=True, flash_gqa=True, efficient_gqa=False, hip=False)
"""torch 2.5 to 2.13 on an NVIDIA GPU from Ampere on: what the measured rows ran with."""


class Job(msgspec.Struct, frozen=True):
    """One fine-tuning run. `config` has the fields of a Hugging Face config.json; `dtype` is that of the weights, `autocast`
    that of the matrix products where it differs (Trainer's `bf16=True` over float32 weights); `seq` is in tokens, after
    padding; `adapter_dtype` is float32 where peft is left to its default."""

    config: Mapping[str, Any]
    method: Method = "lora"
    rank: Count = 16
    targets: tuple[str, ...] = SEVEN
    dropout: float = 0.0
    adapter_dtype: Dtype = "float32"
    dtype: Dtype = "bfloat16"
    autocast: Dtype | None = None
    batch: Count = 1
    seq: Count = 1024
    grad_accum: Count = 1
    checkpointing: bool = True
    implementation: Implementation = "sdpa"
    kernels: Kernels = MATH
    optimizer: Optimizer = "adamw"
    fused_loss: bool = False
    quant_bits: Literal[0, 4, 8] = 0
    double_quant: bool = False
    kbit_prepare: bool = True

    @property
    def tokens(self) -> int:
        """Tokens of one micro-batch."""
        return self.batch * self.seq
