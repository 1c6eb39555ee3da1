"""The chosen configuration as settings of TrainingArguments, axolotl and LLaMA-Factory. `fit --config` reads each back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from rocm_doctor.fit.job import Job
from rocm_doctor.tune.space import Choice

OPTIMIZERS = {"adamw": "adamw_torch", "adamw_fused": "adamw_torch_fused", "adamw_8bit": "adamw_bnb_8bit"}
LIGER = "the fused loss needs Liger-Kernel (pip install liger-kernel); a loss in plain torch was measured in its place"


class Files(NamedTuple):
    """The settings for each framework, and what they need beside them."""

    training_arguments: dict[str, object]
    axolotl: dict[str, object]
    llama_factory: dict[str, object]
    note: str


def every(choice: Choice, job: Job, model: str, liger: bool) -> Files:
    """The settings for all frameworks. `liger`: Liger-Kernel is installed."""
    return Files(
        training_arguments(choice, job, liger),
        axolotl(choice, job, model),
        llama_factory(choice, job, model),
        LIGER if choice.fused_loss and not liger else "",
    )


def training_arguments(choice: Choice, job: Job, liger: bool) -> dict[str, object]:
    """TrainingArguments, with the fields of TRL's model and SFT configurations; TRL has a chunked loss without Liger-Kernel, too."""
    return {
        "per_device_train_batch_size": choice.batch,
        "gradient_accumulation_steps": choice.accumulation,
        "max_length": job.seq,
        "gradient_checkpointing": choice.checkpointing,
        "optim": _optimizer(choice),
        **_casts(choice, "bf16", "fp16"),
        "dtype": "bfloat16" if choice.precision == "bf16" else "float32",
        "attn_implementation": choice.attention,
        "torch_compile": choice.compile,
        "use_liger_kernel": choice.fused_loss and liger,
        "loss_type": "chunked_nll" if choice.fused_loss and not liger else "nll",
        "use_peft": job.method != "full",
        **({} if job.method == "full" else {"lora_r": job.rank}),
    }


def axolotl(choice: Choice, job: Job, model: str) -> dict[str, object]:
    """An axolotl file's settings."""
    return {
        "base_model": model,
        "micro_batch_size": choice.batch,
        "gradient_accumulation_steps": choice.accumulation,
        "sequence_len": job.seq,
        "gradient_checkpointing": choice.checkpointing,
        "optimizer": _optimizer(choice),
        **({"bf16": "full"} if choice.precision == "bf16" else _casts(choice, "bf16", "fp16")),
        ("eager_attention" if choice.attention == "eager" else "sdp_attention"): True,
        "torch_compile": choice.compile,
        "liger_fused_linear_cross_entropy": choice.fused_loss,
        **({} if job.method == "full" else {"adapter": "lora", "lora_r": job.rank, "lora_target_linear": True}),
    }


def llama_factory(choice: Choice, job: Job, model: str) -> dict[str, object]:
    """A LLaMA-Factory file's settings."""
    return {
        "model_name_or_path": model,
        "finetuning_type": "full" if job.method == "full" else "lora",
        "per_device_train_batch_size": choice.batch,
        "gradient_accumulation_steps": choice.accumulation,
        "cutoff_len": job.seq,
        "disable_gradient_checkpointing": not choice.checkpointing,
        "optim": _optimizer(choice),
        **({"bf16": True, "pure_bf16": True} if choice.precision == "bf16" else _casts(choice, "bf16", "fp16")),
        "flash_attn": "disabled" if choice.attention == "eager" else "sdpa",
        "torch_compile": choice.compile,
        "enable_liger_kernel": choice.fused_loss,
        **({} if job.method == "full" else {"lora_rank": job.rank, "lora_target": "all"}),
    }


def _optimizer(choice: Choice) -> str:
    return OPTIMIZERS.get(choice.optimizer, choice.optimizer)


def _casts(choice: Choice, bf16: str, fp16: str) -> dict[str, object]:
    return {bf16: choice.precision == "bf16-autocast", fp16: choice.precision == "fp16-autocast"}


def yaml(settings: Mapping[str, object]) -> str:
    """The settings as YAML, one line each: strings quoted as JSON quotes them."""
    return "".join(f"{name}: {msgspec.json.encode(value).decode()}\n" for name, value in settings.items())
