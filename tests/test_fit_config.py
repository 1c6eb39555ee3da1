"""Configurations of other frameworks, and names of models."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from rocm_doctor.fit import config, presets
from rocm_doctor.fit.job import Job
from rocm_doctor.fit.resolve import Request, resolve
from rocm_doctor.matrix import load

MATRIX = load()
AXOLOTL = """
base_model: meta-llama/Llama-3.2-1B
adapter: lora
lora_r: 32
lora_dropout: 0.05
lora_target_linear: true
sequence_len: 4096
micro_batch_size: 2
gradient_accumulation_steps: 4
optimizer: adamw_bnb_8bit
bf16: auto
gradient_checkpointing: true
liger_fused_linear_cross_entropy: true
"""
FACTORY = """
model_name_or_path: Qwen/Qwen2.5-7B-Instruct
finetuning_type: lora
quantization_bit: 4
lora_rank: 8
lora_target: q_proj,v_proj
cutoff_len: 2048
per_device_train_batch_size: 1
gradient_accumulation_steps: 8
bf16: true
"""
ARGUMENTS = {
    "per_device_train_batch_size": 4,
    "gradient_accumulation_steps": 2,
    "optim": "adafactor",
    "fp16": True,
    "max_length": 512,
}


def read(tmp_path: Path, text: str) -> config.Settings:
    path = tmp_path / "train.yml"
    path.write_text(text, encoding="utf-8")
    return config.read(path)


def test_axolotl(tmp_path: Path) -> None:
    found = read(tmp_path, AXOLOTL)
    assert (found.framework, found.model) == ("axolotl", "meta-llama/Llama-3.2-1B")
    wanted = {"method": "lora", "rank": 32, "dropout": 0.05, "targets": ("all-linear",), "seq": 4096, "batch": 2, "grad_accum": 4}
    assert found.fields == {
        **wanted,
        "optimizer": "adamw_8bit",
        "autocast": "bfloat16",
        "checkpointing": True,
        "fused_loss": True,
    }


def test_llama_factory(tmp_path: Path) -> None:
    found = read(tmp_path, FACTORY)
    assert (found.framework, found.model) == ("LLaMA-Factory", "Qwen/Qwen2.5-7B-Instruct")
    assert found.fields["method"] == "qlora"
    assert (found.fields["quant_bits"], found.fields["double_quant"]) == (4, True)
    assert (found.fields["targets"], found.fields["checkpointing"]) == (("q_proj", "v_proj"), True)


def test_training_arguments_as_json(tmp_path: Path) -> None:
    found = read(tmp_path, json.dumps(ARGUMENTS))
    assert (found.framework, found.model) == ("transformers", None)
    assert found.fields["optimizer"] == "adafactor"
    assert (found.fields["autocast"], found.fields["checkpointing"], found.fields["seq"]) == ("float16", False, 512)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("micro_batch_size: two\nbase_model: x", "`micro_batch_size: two` is not a positive whole number"),
        ("optim: lion_8bit", "optimizer `lion_8bit` is not modelled"),
        ("- a list", "expected keys and values"),
        ("a: [", ":1: neither YAML nor JSON"),
    ],
)
def test_a_fault_names_the_file_and_the_key(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(config.ConfigError, match=r"train\.yml") as caught:
        read(tmp_path, text)
    assert words in str(caught.value)


KEYS = [
    "base_model",
    "lora_r",
    "lora_dropout",
    "lora_target_modules",
    "sequence_len",
    "optimizer",
    "bf16",
    "quantization_bit",
    "cutoff_len",
]


@given(
    st.dictionaries(
        st.sampled_from(KEYS), st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=8), st.lists(st.text()))
    )
)
def test_no_configuration_raises_anything_else(tmp_path_factory: pytest.TempPathFactory, data: dict[str, Any]) -> None:
    path = tmp_path_factory.mktemp("any") / "train.yml"
    path.write_text(yaml.safe_dump(data), encoding="utf-8")
    with contextlib.suppress(config.ConfigError):
        assert config.read(path).framework in ("axolotl", "LLaMA-Factory", "transformers")


def test_options_win_over_the_file_and_the_file_over_defaults(tmp_path: Path) -> None:
    path = tmp_path / "axolotl.yml"
    path.write_text(AXOLOTL, encoding="utf-8")
    run = resolve(Request({"batch": 7}, path), "gfx942", "2.11.0", MATRIX)
    assert (run.job.batch, run.job.seq, run.job.dtype) == (7, 4096, "bfloat16")
    assert run.source == "preset Llama-3.2-1B"
    assert run.notes[0] == "read from axolotl.yml (axolotl)"


def test_what_one_setting_implies_of_another() -> None:
    phi = resolve(Request({"model": "Phi-3-mini", "method": "qlora"}), "gfx90a", "2.11", MATRIX).job
    assert (phi.quant_bits, phi.targets[0]) == (4, "qkv_proj")
    eager = resolve(Request({"model": "Qwen3-4B"}, attention="eager"), "gfx90a", "2.11", MATRIX).job
    assert eager.implementation == "eager"


@pytest.mark.parametrize(
    ("name", "preset"),
    [
        ("Qwen/Qwen2.5-7B-Instruct", "Qwen2.5-7B"), ("meta-llama/Meta-Llama-3.1-8B-Instruct", "Llama-3.1-8B"), ("gpt2", None),
        ("mistralai/Mistral-7B-Instruct-v0.1", "Mistral-7B-v0.1"), ("mistralai/Mistral-7B-Instruct-v0.3", "Mistral-7B"),
        ("unsloth/Qwen3-8B-bnb-4bit", "Qwen3-8B"), ("qwen2.5-3b", "Qwen2.5-3B"), ("Qwen/Qwen2.5-VL-7B-Instruct", None),
    ],
)  # fmt: skip
def test_names(name: str, preset: str | None) -> None:
    assert presets.preset_key(name, MATRIX.plain("models")) == preset


def test_a_folder_with_a_config_and_one_for_images_too(tmp_path: Path) -> None:
    inner = MATRIX.plain("models")["Qwen2.5-0.5B"]["config"]
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "qwen2_vl", "text_config": inner}), encoding="utf-8")
    fields, source = presets.config_of(str(tmp_path), MATRIX)
    assert fields == inner
    assert source.endswith("config.json")
    assert Job(config=fields).tokens == 1024


@pytest.mark.parametrize("text", ["[1]", "{}", "no json"])
def test_a_file_that_is_no_config_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(presets.ModelError, match=r"config\.json"):
        presets.config_of(str(path), MATRIX)


def test_a_model_that_the_hub_cache_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "models--some--model" / "snapshots" / "abc"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({"model_type": "llama"}), encoding="utf-8")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    assert presets.config_of("some/model", MATRIX)[0] == {"model_type": "llama"}
