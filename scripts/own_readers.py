"""The example configurations, read by the frameworks' own classes beside our reader: every setting that both have is compared.

    python scripts/own_readers.py

Needs transformers, trl, llamafactory, axolotl and omegaconf of the versions that catalog/training.yaml names
(pip install --no-deps and what their configuration classes import). Post-initialisation, which asks for a GPU, is switched off.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import yaml

from rocm_doctor import training
from rocm_doctor.matrix import load

os.environ["DISABLE_VERSION_CHECK"] = "1"  # llamafactory's
MATRIX = load()
EXAMPLES = Path(__file__).resolve().parents[1] / "tests" / "training"
WORDS = next(entry for entry in MATRIX.plain("training") if entry["table"] == "words")
RENAMED = {"max_seq_length": "max_length", "torch_dtype": "dtype"}
UNSET = {"fused_loss": False, "packing": False, "workers": 0, "dropout": 0.0}


def main() -> None:
    files = fields = 0
    for case in yaml.safe_load((EXAMPLES / "expected.yaml").read_text(encoding="utf-8")):
        read = READERS.get(case["framework"]) if not case["file"].endswith(".py") else None
        if read is None:
            continue
        run = training.read(EXAMPLES / case["file"], MATRIX)
        theirs = read(yaml.safe_load((EXAMPLES / case["file"]).read_text(encoding="utf-8")))
        told = {field for field in theirs if not any(one.field == field for one in run.unread)}
        files, fields = files + 1, fields + len(told)
        for field in sorted(told):
            value = run.value(field, UNSET.get(field))
            if (list(value) if isinstance(value, tuple) else value) != theirs[field]:
                print(f"{case['file']}: {field}: {value!r}, {case['framework']} has {theirs[field]!r}")
    print(f"{files} files, {fields} settings compared")


def parse(classes: list[Any], data: dict[str, Any]) -> Any:
    """Instances of the dataclasses, as transformers' parser makes them."""
    from transformers import HfArgumentParser

    for one in classes:
        one.__post_init__ = lambda self: None
    whole = {"output_dir": "out", "dataset_name": "x", **data}
    return HfArgumentParser(classes).parse_dict(whole, allow_extra_keys=True)


def trainer_fields(arguments: Any) -> dict[str, Any]:
    optimizer = str(getattr(arguments.optim, "value", arguments.optim))
    return {
        "batch": arguments.per_device_train_batch_size, "grad_accum": arguments.gradient_accumulation_steps,
        "optimizer": WORDS["optimizers"].get(optimizer), "checkpointing": bool(arguments.gradient_checkpointing),
        "workers": arguments.dataloader_num_workers,
    }  # fmt: skip


def read_transformers(data: dict[str, Any]) -> dict[str, Any]:
    from transformers import TrainingArguments

    return trainer_fields(*parse([TrainingArguments], data))


def read_trl(data: dict[str, Any]) -> dict[str, Any]:
    from trl import DPOConfig, ModelConfig, SFTConfig

    kind = DPOConfig if {"beta", "max_prompt_length"} & data.keys() else SFTConfig
    arguments, model = parse([kind, ModelConfig], {RENAMED.get(key, key): value for key, value in data.items()})
    bits = "qlora" if model.load_in_4bit or model.load_in_8bit else "lora"
    found = {
        **trainer_fields(arguments), "model": model.model_name_or_path, "seq": arguments.max_length,
        "dtype": model.dtype.replace("auto", "checkpoint"), "method": bits if model.use_peft else "full",
    }  # fmt: skip
    return {**found, "rank": model.lora_r, "dropout": model.lora_dropout} if model.use_peft else found


def read_factory(data: dict[str, Any]) -> dict[str, Any]:
    from llamafactory.hparams.data_args import DataArguments
    from llamafactory.hparams.finetuning_args import FinetuningArguments
    from llamafactory.hparams.model_args import ModelArguments
    from transformers import TrainingArguments

    plain = {key: value for key, value in data.items() if key != "deepspeed"}
    model, texts, arguments, tuning = parse([ModelArguments, DataArguments, TrainingArguments, FinetuningArguments], plain)
    method = {"freeze": "full"}.get(tuning.finetuning_type, tuning.finetuning_type)
    found = {
        **trainer_fields(arguments), "model": model.model_name_or_path, "seq": texts.cutoff_len,
        "checkpointing": not model.disable_gradient_checkpointing, "packing": bool(texts.packing or texts.neat_packing),
        "fused_loss": bool(model.enable_liger_kernel), "method": "qlora" if model.quantization_bit else method,
    }  # fmt: skip
    return {**found, "rank": tuning.lora_rank} if method == "lora" else found


def read_axolotl(data: dict[str, Any]) -> dict[str, Any]:
    from axolotl.utils.schemas.config import AxolotlInputConfig

    texts = {"path": "x", "type": "chatml.intel" if data.get("rl") else "alpaca"}
    config = AxolotlInputConfig(**{"learning_rate": 1e-4, "datasets": [texts], **data})
    optimizer = str(getattr(config.optimizer, "value", config.optimizer))
    bits = "qlora" if config.load_in_4bit or config.load_in_8bit or config.adapter == "qlora" else "lora"
    found = {
        "model": config.base_model, "batch": config.micro_batch_size, "grad_accum": config.gradient_accumulation_steps,
        "seq": config.sequence_len, "optimizer": WORDS["optimizers"].get(optimizer), "packing": bool(config.sample_packing),
        "checkpointing": bool(config.gradient_checkpointing), "method": bits if config.adapter else "full",
    }  # fmt: skip
    return {**found, "rank": config.lora_r, "dropout": config.lora_dropout or 0.0} if config.adapter else found


def read_torchtune(data: dict[str, Any]) -> dict[str, Any]:
    from omegaconf import OmegaConf

    config = OmegaConf.create(data)
    found = {
        "batch": config.batch_size, "grad_accum": config.get("gradient_accumulation_steps", 1),
        "checkpointing": bool(config.get("enable_activation_checkpointing", False)), "dtype": WORDS["dtypes"][config.dtype],
        "seq": OmegaConf.select(config, "tokenizer.max_seq_len"), "rank": OmegaConf.select(config, "model.lora_rank"),
    }  # fmt: skip
    return {field: value for field, value in found.items() if value is not None}


READERS = {
    "transformers": read_transformers, "TRL": read_trl, "LLaMA-Factory": read_factory, "axolotl": read_axolotl,
    "torchtune": read_torchtune,
}  # fmt: skip


if __name__ == "__main__":
    main()
