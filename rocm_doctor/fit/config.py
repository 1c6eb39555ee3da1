"""Training configurations of others read as ours: Hugging Face TrainingArguments (and TRL), axolotl, LLaMA-Factory.

Only what decides memory is read. A key that is there and cannot be understood is an error that names file and key, never a
guess.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from rocm_doctor.bounded import Unreadable, files, yamls
from rocm_doctor.fit.job import Optimizer

Framework = Literal["axolotl", "LLaMA-Factory", "transformers"]
OPTIMIZERS = {name: name for name in get_args(Optimizer)} | {
    "adamw_torch": "adamw",
    "adamw_hf": "adamw",
    "adamw_torch_fused": "adamw_fused",
    "adamw_bnb_8bit": "adamw_8bit",
    "paged_adamw_32bit": "paged_adamw",
}


class ConfigError(ValueError):
    """The file cannot be used; the message names it, the key and the remedy."""


class Settings(msgspec.Struct, frozen=True):
    """The content of a configuration: the model, if it names one, and fields of `Job` by name."""

    framework: Framework
    model: str | None
    fields: dict[str, Any]


def read(path: Path) -> Settings:
    """Raises ConfigError."""
    data = _load(path)
    framework: Framework = "transformers"
    if "base_model" in data:
        framework = "axolotl"
    elif "finetuning_type" in data or "cutoff_len" in data:
        framework = "LLaMA-Factory"
    try:
        fields = {"axolotl": _axolotl, "LLaMA-Factory": _factory, "transformers": _transformers}[framework](data)
    except ValueError as exc:
        raise ConfigError(f"{path}: {exc}") from exc
    model = data.get("base_model") or data.get("model_name_or_path")
    return Settings(framework, str(model) if model else None, fields)


def _load(path: Path) -> Mapping[str, Any]:
    try:
        data = yamls.values(files.text(path, files.MIB))
    except OSError as exc:
        raise ConfigError(f"{path}: {exc.strerror}") from exc
    except Unreadable as exc:
        raise ConfigError(f"{path}:{exc.line}: neither YAML nor JSON: {exc}") from exc
    if not isinstance(data, dict):
        raise ConfigError(f"{path}: expected keys and values at the top")
    return data


def _common(data: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Whole numbers under the framework's own names, the optimizer, and the casts that `bf16` and `fp16` ask for."""
    fields: dict[str, Any] = {ours: _whole(data, theirs) for ours, theirs in names.items() if data.get(theirs) is not None}
    optimizer = data.get("optim") or data.get("optimizer")
    if optimizer is not None:
        if str(optimizer) not in OPTIMIZERS:
            raise ValueError(
                f"optimizer `{optimizer}` is not modelled; give the nearest of {', '.join(sorted(set(OPTIMIZERS.values())))}"
            )
        fields["optimizer"] = OPTIMIZERS[str(optimizer)]
    for key, dtype in (("bf16", "bfloat16"), ("fp16", "float16")):
        if data.get(key) in (True, "auto", "full"):
            fields["autocast"] = dtype
            break
    return fields


def _whole(data: Mapping[str, Any], key: str) -> int:
    value = data[key]
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"`{key}: {value}` is not a positive whole number: give the value of the run")
    return value


def _lora(data: Mapping[str, Any], rank: str, target: str, dropout: str) -> dict[str, Any]:
    fields: dict[str, Any] = {"rank": _whole(data, rank)} if data.get(rank) is not None else {}
    if data.get(dropout):
        fields["dropout"] = _fraction(data, dropout)
    found = data.get(target)
    if data.get("lora_target_linear") or found in ("all", "all-linear"):
        fields["targets"] = ("all-linear",)
    elif found:
        fields["targets"] = _names(data, target)
    return fields


def _fraction(data: Mapping[str, Any], key: str) -> float:
    value = data[key]
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1:
        raise ValueError(f"`{key}: {value}` is not a fraction below one")
    return float(value)


def _names(data: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = data[key]
    names = value.split(",") if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"`{key}: {value}` is not a list of layer names")
    return tuple(name.strip() for name in names)


def _quantised(bits: int, double: bool) -> dict[str, Any]:
    if bits not in (4, 8):
        raise ValueError(f"a base in {bits} bits is not modelled; 4 and 8 are")
    return {"method": "qlora", "quant_bits": bits, "double_quant": double, "dtype": "bfloat16"}


def _axolotl(data: Mapping[str, Any]) -> dict[str, Any]:
    fields = _common(data, {"batch": "micro_batch_size", "seq": "sequence_len", "grad_accum": "gradient_accumulation_steps"})
    fields.update(_lora(data, "lora_r", "lora_target_modules", "lora_dropout"))
    fields["method"] = "lora" if data.get("adapter") == "lora" else "full"
    if data.get("adapter") == "qlora" or data.get("load_in_4bit") or data.get("load_in_8bit"):
        fields.update(_quantised(8 if data.get("load_in_8bit") else 4, True))
    fields["checkpointing"] = bool(data.get("gradient_checkpointing"))
    fields["fused_loss"] = bool(data.get("liger_fused_linear_cross_entropy") or data.get("cut_cross_entropy"))
    if data.get("eager_attention"):
        fields["implementation"] = "eager"
    return fields


def _factory(data: Mapping[str, Any]) -> dict[str, Any]:
    names = {"batch": "per_device_train_batch_size", "seq": "cutoff_len", "grad_accum": "gradient_accumulation_steps"}
    fields = {"seq": 2048, "targets": ("all-linear",), "rank": 8, **_common(data, names)}
    fields.update(_lora(data, "lora_rank", "lora_target", "lora_dropout"))
    fields["method"] = "full" if data.get("finetuning_type") == "full" else "lora"
    if data.get("quantization_bit") is not None:
        fields.update(_quantised(_whole(data, "quantization_bit"), data.get("double_quantization") is not False))
    if data.get("pure_bf16"):
        fields["autocast"] = None
    elif fields["method"] == "full":
        fields["dtype"] = "float32"  # it casts trainable weights to float32 unless pure_bf16 is set
    fields["checkpointing"] = not data.get("disable_gradient_checkpointing")
    fields["fused_loss"] = bool(data.get("enable_liger_kernel"))
    if data.get("flash_attn") == "disabled":
        fields["implementation"] = "eager"
    return fields


def _transformers(data: Mapping[str, Any]) -> dict[str, Any]:
    length = next(
        (key for key in ("max_length", "max_seq_length", "model_max_length") if data.get(key) is not None), "max_length"
    )
    fields = _common(data, {"batch": "per_device_train_batch_size", "seq": length, "grad_accum": "gradient_accumulation_steps"})
    fields = {"batch": 8, "optimizer": "adamw_fused", **fields}
    fields.update(_lora(data, "lora_r", "lora_target_modules", "lora_dropout"))
    fields["checkpointing"] = bool(data.get("gradient_checkpointing"))
    fields["fused_loss"] = bool(data.get("use_liger_kernel")) or data.get("loss_type") == "chunked_nll"
    if data.get("load_in_4bit") or data.get("load_in_8bit"):
        fields.update(_quantised(8 if data.get("load_in_8bit") else 4, bool(data.get("use_bnb_nested_quant"))))
    elif data.get("use_peft") is not None:
        fields["method"] = "lora" if data["use_peft"] else "full"
    if data.get("attn_implementation") == "eager":
        fields["implementation"] = "eager"
    dtype = data.get("dtype") or data.get("torch_dtype")
    return {**fields, "dtype": dtype} if dtype in ("float32", "bfloat16", "float16") else fields
