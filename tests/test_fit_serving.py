"""Memory of serving, against what was measured on an H200, what llama.cpp's CPU build reported, and what others published."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from rocm_doctor.cli import cli
from rocm_doctor.fit import runner, served, serving, windows
from rocm_doctor.fit.allocator import GIB, MIB
from rocm_doctor.fit.card import workspace_of
from rocm_doctor.fit.presets import config_of
from rocm_doctor.fit.serving import CACHES, FORMATS, Serving
from rocm_doctor.fit.shape import served_shape, shape_of
from rocm_doctor.matrix import load
from rocm_doctor.matrix.show_target import ENGINES

MATRIX = load()
HOPPER = workspace_of("sm_90", MATRIX)
MEASURED = Path(__file__).resolve().parents[1] / "compat_matrix" / "measured"


def rows(name: str = "serving_h200.csv") -> list[dict[str, str]]:
    lines = [line for line in (MEASURED / name).read_text().splitlines() if not line.startswith("#")]
    return list(csv.DictReader(lines))


def config(model: str) -> dict[str, Any]:
    return config_of(model, MATRIX)[0]


def of_row(row: dict[str, str]) -> Serving:
    return Serving("transformers", config(row["model"]), int(row["batch"]), int(row["seq"]), row["weights"])


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row['model']} {row['batch']}x{row['seq']} {row['weights']}")
def test_arithmetic_of_transformers_holds_its_bound_on_the_h200(row: dict[str, str]) -> None:
    found, bound = sum(serving.parts(of_row(row)).values()) + 2 * HOPPER, serving.CLOSED["transformers"]
    assert abs(found / int(row["peak_allocated"]) - 1) <= bound.allocated / 2
    assert abs(found / int(row["peak_reserved"]) - 1) <= bound.reserved / 2


@pytest.mark.torch
@pytest.mark.parametrize("row", rows()[:1], ids=lambda row: row["model"])
def test_a_simulated_generation_holds_its_bound_on_the_h200(row: dict[str, str]) -> None:
    pytest.importorskip("transformers")
    peak = served.peak_of(runner.simulate(served.job_of(of_row(row)), task="simulate-serve"), HOPPER)
    assert abs(peak.allocated / int(row["peak_allocated"]) - 1) <= serving.SIMULATED.allocated / 2
    assert abs(peak.reserved / int(row["peak_reserved"]) - 1) <= serving.SIMULATED.reserved / 2
    assert peak.breakdown["key and value cache"] == pytest.approx(serving.parts(of_row(row))["key and value cache"], rel=0.01)


def llama(layers: int, hidden: int, inner: int, heads: int, kv: int, words: int) -> dict[str, Any]:
    return {
        "model_type": "llama", "num_hidden_layers": layers, "hidden_size": hidden, "intermediate_size": inner,
        "num_attention_heads": heads, "num_key_value_heads": kv, "vocab_size": words, "tie_word_embeddings": False,
    }  # fmt: skip


EIGHT, TINY, SEVEN = (2, 4096, 14336, 32, 8, 128256), (22, 2048, 5632, 32, 4, 32000), (2, 3584, 18944, 28, 4, 152064)
# Sizes, context, cache -> MiB of "KV buffer size" and "compute buffer size" with flash attention, as llama-cpp-python 0.3.36 (CPU
# build) printed them on 2026-11-22 for GGUF files of random weights.
PRINTED: dict[tuple[tuple[int, ...], int, str], tuple[float, float]] = {
    (EIGHT, 4096, "f16"): (32.0, 266.5), (EIGHT, 8192, "q8_0"): (34.0, 274.5), (TINY, 4096, "f16"): (88.0, 70.5),
    (TINY, 8192, "q8_0"): (93.5, 74.5), (SEVEN, 4096, "f16"): (16.0, 311.0), (SEVEN, 8192, "q8_0"): (17.0, 318.0),
}  # fmt: skip


@pytest.mark.parametrize("case", PRINTED, ids=str)
def test_buffers_of_llama_cpp_are_those_it_printed(case: tuple[tuple[int, ...], int, str]) -> None:
    sizes, context, cache = case
    found = serving.parts(Serving("llama.cpp", llama(*sizes), 1, context, "q8_0", cache))
    printed, compute = PRINTED[case]
    assert found["key and value cache"] == printed * MIB
    assert found["activations"] == compute * MIB


# Format -> GB of the files of Llama-3.1-70B as bartowski's table lists them (https://ozeki.chat/p_8590-understanding-ai-model-files.html).
FILES = {"q4_k_m": 42.52, "q5_k_m": 49.95, "q6_k": 57.89, "q8_0": 74.98}


@pytest.mark.parametrize("weights", FILES)
def test_gguf_weights_are_the_size_of_published_files(weights: str) -> None:
    """What is on the GPU, and the embedding, which stays in system memory."""
    shape = shape_of(config("Llama-3.1-70B"))
    wanted = Serving("llama.cpp", config("Llama-3.1-70B"), weights=weights)
    embedding = shape.vocabulary * shape.hidden * serving.BITS[weights] / 8
    assert (serving.weights(shape, wanted) + embedding) / 1e9 == pytest.approx(FILES[weights], rel=0.01)


# Model, weights, GiB of the GPU -> GiB of weights and of "PyTorch activation peak memory" as vLLM printed them.
VLLM = {
    ("Llama-3.1-8B", "bf16", 24): (14.96, 1.26),  # vllm-project/vllm#10511 (Meta-Llama-3-8B, limit of 256 sequences)
    ("Qwen2.5-7B", "awq", 8): (5.20, 1.42),  # vllm-project/vllm#13882
}


@pytest.mark.parametrize("case", VLLM, ids=str)
def test_vllm_is_near_what_it_printed(case: tuple[str, str, int]) -> None:
    model, weights, gib = case
    found = serving.parts(Serving("vllm", config(model), 1, 4096, weights, total=gib * GIB))
    assert found["weights"] / GIB == pytest.approx(VLLM[case][0], rel=0.005)
    assert found["activations"] / GIB == pytest.approx(VLLM[case][1], rel=0.05)


def test_vllm_rounds_a_sequence_up_to_blocks_and_a_large_card_has_larger_defaults() -> None:
    small, large = (Serving("vllm", config("Llama-3.1-8B"), 2, 17, total=size * GIB) for size in (24, 192))
    assert serving.cached_tokens(small) == 64
    assert serving.parts(large)["activations"] > 3 * serving.parts(small)["activations"]


@pytest.mark.parametrize("engine", FORMATS)
def test_every_format_of_an_engine_has_a_size(engine: Any) -> None:
    assert set(FORMATS[engine]) | set(CACHES[engine]) <= set(serving.BITS)
    for weights in FORMATS[engine]:
        assert all(size > 0 for size in serving.parts(Serving(engine, config("gpt-oss-20b"), weights=weights)).values())


MIXED = ("Mixtral-8x7B", "Qwen3-30B-A3B", "Qwen1.5-MoE-A2.7B", "gpt-oss-20b", "gpt-oss-120b")


@pytest.mark.torch
@pytest.mark.parametrize("model", MIXED)
def test_parameters_of_experts_are_those_of_transformers(model: str) -> None:
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    fields = dict(config(model))
    with torch.device("meta"):
        built = transformers.AutoModelForCausalLM.from_config(
            transformers.AutoConfig.for_model(fields.pop("model_type"), **fields)
        )
    assert served_shape(config(model)).parameters == sum(one.numel() for one in built.parameters())


# GiB of the published checkpoints (arXiv:2508.10925, table 1): experts in mxfp4, the rest in bfloat16.
@pytest.mark.parametrize(("model", "gib"), [("gpt-oss-20b", 12.8), ("gpt-oss-120b", 60.8)])
def test_weights_in_mxfp4_are_the_size_of_the_published_checkpoints(model: str, gib: float) -> None:
    found = serving.parts(Serving("vllm", config(model), weights="mxfp4", total=192 * GIB))["weights"]
    assert found / GIB == pytest.approx(gib, rel=0.005)


def test_the_cache_of_a_model_with_experts_is_what_vllm_printed() -> None:
    """vllm-project/vllm#34076: 24.0 GiB for one request of 262144 tokens."""
    assert serving.parts(Serving("vllm", config("Qwen3-30B-A3B"), 1, 262144))["key and value cache"] == 24 * GIB


# Cells, layers and MiB that llama.cpp printed for gpt-oss-20b at 131072 tokens on CUDA, CANN and Metal: 3072.00 MiB (131072 cells, 12
# layers) and 18.00 MiB (768 cells, 12 layers).
def test_windows_in_llama_cpp_are_what_it_printed() -> None:
    found = serving.parts(Serving("llama.cpp", config("gpt-oss-20b"), 1, 131072, "mxfp4", "f16"))
    assert found["key and value cache"] == (3072 + 18) * MIB


@pytest.mark.parametrize("row", rows("serving_vllm_cpu.csv"), ids=lambda row: f"{row['model']}-{row['context']}")
def test_vllm_had_room_for_as_many_sequences(monkeypatch: pytest.MonkeyPatch, row: dict[str, str]) -> None:
    """Its CPU build takes blocks of 32 tokens; 2048 tokens a pass is what a GPU below 70 GiB has."""
    monkeypatch.setattr(windows, "BLOCK", int(row["block"]))
    wanted = Serving(
        "vllm", {**config(row["model"]), "num_hidden_layers": int(row["layers"])}, 1, int(row["context"]), total=24 * GIB
    )
    assert int(row["cache_bytes"]) / serving.parts(wanted)["key and value cache"] == pytest.approx(
        float(row["concurrency"]), rel=1e-9
    )


def test_each_engine_has_its_own_rule_for_windows() -> None:
    gemma, mistral = config("Gemma-3-1B"), config("Mistral-7B-v0.1")
    assert windows.window_layers(gemma, "vllm") == windows.window_layers(gemma, "llama.cpp") == (22, 512)
    assert windows.window_layers(mistral, "vllm") == (32, 4096)
    assert windows.window_layers(mistral, "llama.cpp") == windows.window_layers(mistral, "transformers") == (0, 0)
    assert windows.window_layers(gemma, "transformers") == (0, 0)
    assert windows.window_layers({**gemma, "layer_types": ["full_attention"] * 26}, "vllm") == (0, 0)
    # 62 layers, 10 of them full: groups of 10, the last of six with a window padded
    assert windows.vllm_tokens(62, 52, 1024, 1, 65536, 2048) == 16 * 10 * (4096 + 6 * 193)
    assert windows.vllm_tokens(32, 32, 4096, 1, 32768, 2048) == 16 * 32 * (384 + 1)
    assert windows.vllm_tokens(32, 32, 4096, 2, 1600, 2048) == 2 * 16 * 32 * 101
    assert windows.vllm_tokens(25, 12, 128, 1, 16, 2048) == 16 * 13 * (1 + 2)


@pytest.mark.torch
def test_transformers_keeps_the_whole_prompt_in_spite_of_a_window() -> None:
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    sizes = {
        "num_hidden_layers": 2,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
    }
    tiny = {**sizes, "vocab_size": 64, "head_dim": 16, "sliding_window": 8, "model_type": "mistral"}
    built = transformers.MistralForCausalLM(transformers.MistralConfig(**{k: v for k, v in tiny.items() if k != "model_type"}))
    with torch.no_grad():
        cache = built(torch.zeros(1, 40, dtype=torch.long), use_cache=True).past_key_values
    held = sum(one.untyped_storage().nbytes() for layer in cache.layers for one in (layer.keys, layer.values))
    assert cache.layers[0].keys.shape[-2] == 7
    assert held == serving.parts(Serving("transformers", tiny, 1, 40, "f32", "f32"))["key and value cache"]


def test_several_gpus_divide_what_vllm_divides() -> None:
    one, four = (Serving("vllm", config("Llama-3.1-70B"), 8, 8192, total=192 * GIB, gpus=n) for n in (1, 4))
    shape, alone, each = shape_of(config("Llama-3.1-70B")), serving.parts(one), serving.parts(four)
    norms = 2 * (2 * 80 + 1) * 8192
    assert each["weights"] == (alone["weights"] - norms) // 4 + norms
    assert each["key and value cache"] * 4 == alone["key and value cache"]
    sixteen = serving.parts(Serving("vllm", config("Llama-3.1-70B"), 8, 8192, total=192 * GIB, gpus=16))
    assert sixteen["key and value cache"] * 8 == alone["key and value cache"]  # 8 key heads: each is on two GPUs
    copied = 2 * 2 * 80 * 8192 * shape.kv_width
    assert sixteen["weights"] == (alone["weights"] - norms + copied) // 16 + norms


def test_gpus_that_cannot_divide_the_model_are_refused() -> None:
    done = fit("--serve", "vllm", "--gpu", "gfx942", "--gpus", "3")
    assert done.exit_code == 2
    assert "cannot divide" in done.output
    done = fit("--serve", "llama.cpp", "--gpu", "gfx942", "--gpus", "2")
    assert done.exit_code == 2
    assert "tensor parallelism" in done.output
    with pytest.raises(ValueError, match="experts"):
        serving.validate(Serving("vllm", config("Llama-3.1-8B"), weights="mxfp4"))


def test_the_share_of_vllm_is_that_of_its_version() -> None:
    assert [served.share_of("vllm", v, MATRIX) for v in ("0.14.0", "0.25.1", None)] == [0.9, 0.92, 0.92]
    assert served.share_of("llama.cpp", None, MATRIX) == 1


def fit(*args: str) -> Result:
    return CliRunner().invoke(cli, ["fit", "--model", "llama-3.1-8b", *args])


def test_as_a_command() -> None:
    done = fit("--serve", "llama.cpp", "--gpu", "gfx1100", "--vram", "8", "--weights", "q4_k_m", "--seq", "8192")
    assert done.exit_code == 0, done.output
    assert "llama.cpp, weights q4_k_m, cache f16, 1 x 8192 tokens" in done.output
    assert "key and value cache     1.00 GiB" in done.output
    found = json.loads(fit("--serve", "vllm", "--gpu", "gfx1100", "--vram", "16", "--format", "json").stdout)
    assert found["verdict"] == "does not fit"
    assert found["tokens"] == 0
    assert fit("--serve", "vllm", "--gpu", "gfx1100", "--vram", "16").exit_code == 1


def test_the_share_that_vllm_leaves_alone_is_no_room() -> None:
    whole, most = (
        json.loads(fit("--serve", e, "--gpu", "gfx1100", "--vram", "20", "--fast", "--format", "json").stdout)
        for e in ("transformers", "vllm")
    )
    assert most["card"]["context"] - whole["card"]["context"] == pytest.approx(0.08 * 20 * GIB, rel=1e-6)


def test_formats_that_the_card_lacks_are_noted() -> None:
    def notes(engine: str, weights: str, gpu: str) -> str:
        done = fit("--serve", engine, "--weights", weights, "--gpu", gpu, "--vram", "48", "--fast", "--format", "json")
        return " ".join(json.loads(done.stdout)["notes"])

    assert "not AWQ" in notes("vllm", "awq", "gfx1100")
    assert "gfx1100 is not among the targets with fp8 products" in notes("vllm", "fp8", "gfx1100")
    assert "fp8 products" not in notes("vllm", "fp8", "gfx942") + notes("vllm", "bf16", "gfx1100")
    assert notes("vllm", "awq", "sm_90") == ""


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--serve", "vllm", "--weights", "q4_0"), "vllm has no weights in q4_0: give one of bf16"),
        (("--serve", "vllm", "--rank", "8"), "--rank is about training"),
        (("--serve", "vllm", "--measure"), "--measure generates with transformers"),
        (("--weights", "awq"), "add --serve"),
    ],
)
def test_what_cannot_be_asked_is_said(args: tuple[str, ...], said: str) -> None:
    done = fit("--gpu", "gfx1100", "--vram", "24", *args)
    assert done.exit_code == 2
    assert said in done.stderr


def test_progress_of_the_worker_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the worker does is said while it runs, and in the message when it does not end."""
    monkeypatch.setattr(runner, "TELL_EVERY", 0.0)
    slow = tmp_path / "python"
    slow.write_text('#!/bin/sh\necho \'{"doing": "quantising linear layer 7 of 224"}\'\nsleep 60\n')
    slow.chmod(0o755)
    told: list[str] = []
    with pytest.raises(runner.WorkerError, match=r"did not end \(timeout after \d+ s\) while quantising linear layer 7 of 224"):
        runner.measure(served.job_of(Serving("transformers", config("Llama-3.2-1B"))), str(slow), limit=0.7, tell=told.append)
    assert any(line.startswith("quantising linear layer 7 of 224 (") for line in told)


@pytest.mark.torch
def test_weights_to_quantise_are_drawn_once_for_each_shape() -> None:
    """8 billion numbers drawn on the CPU were why QLoRA of an 8B model was not measured within 200 s."""
    torch = pytest.importorskip("torch")
    from rocm_doctor.workers.fit.quant import random_weight

    first = random_weight((8, 4), torch.bfloat16)
    assert random_weight((8, 4), torch.bfloat16) is first
    assert first.std() > 0


def test_the_paths_of_an_engine_on_a_target_are_named_or_said_to_be_unknown() -> None:
    def notes(engine: str, gpu: str) -> str:
        done = fit("--serve", engine, "--gpu", gpu, "--vram", "48", "--fast", "--format", "json")
        return " ".join(json.loads(done.stdout)["notes"])

    assert "attention on gfx1100: ROCM_ATTN" in notes("vllm", "gfx1100")
    assert "attention on gfx906: what vllm has is not known" in notes("vllm", "gfx906")
    assert "quantised weights on gfx908: Its own kernels" in notes("llama.cpp", "gfx908")
    assert "on gfx1100" not in notes("transformers", "gfx1100")


def test_every_statement_about_serving_is_of_an_engine_and_a_path() -> None:
    subjects = {fact.subject for fact in MATRIX.facts if fact.subject.startswith("Serving: ")}
    assert subjects <= {f"Serving: {engine}, {part}" for engine in ENGINES for part in ("attention", "quantised weights")}
    assert {engine for engine in ENGINES if any(engine in one for one in subjects)} == set(ENGINES)


def test_a_target_is_explained_with_its_serving() -> None:
    done = CliRunner().invoke(cli, ["explain", "gfx906", "-v", "--format", "json"])
    table = next(one for one in json.loads(done.stdout)["tables"] if one["title"] == "serving")
    assert "not known" in json.dumps(table)
