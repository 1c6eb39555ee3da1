"""How a configuration, options and a GPU become a job, and names of models."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rocm_doctor import training
from rocm_doctor.fit import presets
from rocm_doctor.fit.job import Job
from rocm_doctor.fit.resolve import FitRequest, resolve
from rocm_doctor.matrix import load

MATRIX = load()
AXOLOTL = """
base_model: meta-llama/Llama-3.2-1B
adapter: lora
lora_r: 32
sequence_len: 4096
micro_batch_size: 2
optimizer: lion_8bit
"""


def test_options_win_over_the_file_and_the_file_over_defaults(tmp_path: Path) -> None:
    path = tmp_path / "axolotl.yml"
    path.write_text(AXOLOTL, encoding="utf-8")
    run = resolve(FitRequest({"batch": 7}, path), "gfx942", "2.11.0", MATRIX)
    assert (run.job.batch, run.job.seq, run.job.dtype) == (7, 4096, "bfloat16")
    assert run.source == "preset Llama-3.2-1B"
    assert run.notes[0] == "read from axolotl.yml (axolotl)"
    assert run.config
    assert [one.key for one in run.config.unread] == ["optimizer"]
    stood_in = resolve(FitRequest({"optimizer": "adamw_8bit"}, path), "gfx942", "2.11.0", MATRIX)
    assert stood_in.config
    assert not stood_in.config.unread


def test_without_lora_keys_every_weight_is_trained(tmp_path: Path) -> None:
    path = tmp_path / "args.yaml"
    path.write_text("model_name_or_path: Qwen/Qwen3-0.6B\nmax_length: 512\ndtype: float32\nbf16: false\n", encoding="utf-8")
    job = resolve(FitRequest({}, path), "gfx906", None, MATRIX).job
    assert (job.method, job.dtype, job.autocast) == ("full", "float32", None)


@pytest.mark.parametrize(
    ("line", "words"), [("micro_batch_size: two", "line 2, micro_batch_size"), ("sequence_len: no", "--seq")]
)
def test_what_only_an_option_can_say_is_asked_for(tmp_path: Path, line: str, words: str) -> None:
    path = tmp_path / "train.yml"
    path.write_text(f"base_model: Qwen/Qwen3-0.6B\n{line}\n", encoding="utf-8")
    with pytest.raises(training.ConfigError, match=r"train\.yml.*" + words):
        resolve(FitRequest({}, path), "gfx906", None, MATRIX)


def test_weights_in_the_type_of_the_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(
        "AutoModelForCausalLM.from_pretrained('Qwen/Qwen3-0.6B')\nTrainingArguments('out', bf16=True)\n", encoding="utf-8"
    )
    run = resolve(FitRequest({"seq": 64}, path), "gfx906", None, MATRIX)
    assert (run.job.dtype, run.job.batch) == ("bfloat16", 8)
    assert any("--dtype float32" in note for note in run.notes)


def test_what_one_setting_implies_of_another() -> None:
    phi = resolve(FitRequest({"model": "Phi-3-mini", "method": "qlora"}), "gfx90a", "2.11", MATRIX).job
    assert (phi.quant_bits, phi.targets[0]) == (4, "qkv_proj")
    eager = resolve(FitRequest({"model": "Qwen3-4B"}, attention="eager"), "gfx90a", "2.11", MATRIX).job
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
    fields, source = presets.load_model_config(str(tmp_path), MATRIX)
    assert fields == inner
    assert source.endswith("config.json")
    assert Job(config=fields).tokens == 1024


@pytest.mark.parametrize("text", ["[1]", "{}", "no json"])
def test_a_file_that_is_no_config_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(presets.ModelError, match=r"config\.json"):
        presets.load_model_config(str(path), MATRIX)


def test_a_model_that_the_hub_cache_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "models--some--model" / "snapshots" / "abc"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({"model_type": "llama"}), encoding="utf-8")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    assert presets.load_model_config("some/model", MATRIX)[0] == {"model_type": "llama"}
