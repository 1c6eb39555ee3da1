"""Engines that serve models: llama.cpp's CPU build for real where it is installed, vLLM by a stand-in of its interface.

ROCM_DOCTOR_TEST_LLAMA_CPP names an interpreter with llama-cpp-python.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from rocm_doctor import pipeline
from rocm_doctor.cli import cli
from rocm_doctor.matrix import load
from rocm_doctor.model import Artifact
from rocm_doctor.smoke.runner import run_smoke
from rocm_doctor.workers import process
from rocm_doctor.workers.smoke.serving import model

pytestmark = pytest.mark.skipif(not process.HAS_GROUPS, reason="needs process groups")
np = pytest.importorskip("numpy")


def results(artifacts: list[Artifact]) -> dict[str, dict[str, Any]]:
    records = [msgspec.json.decode(line) for a in artifacts if a.name.endswith(".jsonl") for line in a.text.splitlines()]
    return {r["stage"]: r for r in records if r["kind"] == "result"}


def interpreter() -> str:
    named = os.environ.get("ROCM_DOCTOR_TEST_LLAMA_CPP", "")
    if not named and importlib.util.find_spec("llama_cpp") is None:
        pytest.skip("llama-cpp-python is not installed")
    return named or sys.executable


def test_llama_cpp_answers_on_the_cpu() -> None:
    found = results(run_smoke(interpreter(), framework="llama-cpp", device="cpu"))
    assert [r["status"] for r in found.values()] == ["passed"] * 3, found
    assert len(found["completion"]["details"]["tokens"]) == 8
    assert 0 < found["completion"]["details"]["worst_error"] < 0.01


@pytest.mark.parametrize(
    ("spoil", "reason", "said"),
    [
        ("scores * 1.1", "mismatch", "logits of the tiny model"),
        ("scores * float('nan')", "nan", "logits of the tiny model"),
        ("scores * 0", "zeros", "logits of the tiny model"),
    ],
)
def test_wrong_logits_of_llama_cpp_are_caught(tmp_path: Path, spoil: str, reason: str, said: str) -> None:
    prelude = tmp_path / "prelude.py"
    prelude.write_text(
        "def wrong(bench):\n"
        "    from importlib import import_module\n"
        "    bench.load()\n"
        "    right = bench.lib.Llama.eval\n"
        "    def eval(self, tokens):\n"
        "        right(self, tokens)\n"
        f"        self.scores[:] = (lambda scores: {spoil})(self.scores)\n"
        "    bench.lib.Llama.eval = eval\n"
        "    return import_module(type(bench).__module__.rpartition('.')[0] + '.stages').completion(bench)\n"
        "stages['completion'] = wrong\n"
    )
    found = results(run_smoke(interpreter(), framework="llama-cpp", device="cpu", prelude=str(prelude)))["completion"]
    assert (found["status"], found["reason"]) == ("failed", reason), found
    assert said in found["message"]


def test_the_model_is_a_gguf_file_that_the_gguf_package_reads(tmp_path: Path) -> None:
    gguf = pytest.importorskip("gguf")
    model.write_gguf(np, tmp_path / "tiny.gguf")
    reader = gguf.GGUFReader(tmp_path / "tiny.gguf")
    right = model.weights(np)
    assert {tensor.name for tensor in reader.tensors} == set(right)
    for tensor in reader.tensors:
        assert np.array_equal(np.array(tensor.data).reshape(right[tensor.name].shape), right[tensor.name]), tensor.name


@pytest.mark.torch
def test_the_reference_is_transformers_model_of_the_same_weights() -> None:
    """transformers rotates halves of a head where llama.cpp rotates neighbouring pairs: rows of q and k are reordered."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    names = {
        "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
        "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
        "ffn_down": "mlp.down_proj",
    }  # fmt: skip
    tops = {"token_embd": "model.embed_tokens", "output": "lm_head", "output_norm": "model.norm"}
    state = {}
    for name, tensor in model.weights(np).items():
        parts = name.removesuffix(".weight").split(".")
        values = tensor.astype(np.float64)
        if parts[-1] in ("attn_q", "attn_k"):
            values = values.reshape(-1, model.WIDTH // 2, 2, model.HIDDEN).swapaxes(1, 2).reshape(-1, model.HIDDEN)
        full = tops.get(parts[0]) or f"model.layers.{parts[1]}.{names[parts[2]]}"
        state[full + ".weight"] = torch.tensor(values)
    config = transformers.AutoConfig.for_model(**{k: v for k, v in model.config().items() if k != "torch_dtype"})
    theirs = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager").double()
    theirs.load_state_dict(state)
    ids = [1, 300, 301, 17, 305]
    with torch.no_grad():
        want = theirs(torch.tensor([ids])).logits[0].numpy()
    np.testing.assert_allclose(model.logits(np, ids), want, rtol=1e-5, atol=1e-5)


FAKE_VLLM = """
import json, os, pathlib, sys, types
__version__ = "0.29.0+rocm101"
class current_platform:
    device_type = os.environ.get("FAKE_DEVICE", "cuda")
    is_rocm = staticmethod(lambda: True)
    get_device_name = staticmethod(lambda: "AMD Instinct MI300X")
class SamplingParams:
    def __init__(self, temperature, max_tokens, ignore_eos, detokenize): self.max_tokens = max_tokens
class LLM:
    def __init__(self, model, load_format, max_model_len, gpu_memory_utilization, **more):
        self.words = json.loads((pathlib.Path(model) / "config.json").read_text())["vocab_size"]
        self.calls = 0
        if os.environ.get("FAKE_START"): raise RuntimeError(os.environ["FAKE_START"])
        assert load_format == "dummy" and gpu_memory_utilization <= 0.2 and max_model_len <= 256
    def generate(self, prompts, choice, use_tqdm):
        self.calls += 1
        step = self.calls if os.environ.get("FAKE_RANDOM") else 1
        ids = [(prompts[0]["prompt_token_ids"][-1] + n * step) % self.words for n in range(choice.max_tokens)]
        return [types.SimpleNamespace(outputs=[types.SimpleNamespace(token_ids=ids)])]
"""


def vllm(tmp_path: Path, **environment: str) -> list[Artifact]:
    (tmp_path / "vllm").mkdir(exist_ok=True)
    (tmp_path / "vllm" / "__init__.py").write_text(FAKE_VLLM)
    (tmp_path / "vllm" / "platforms.py").write_text("from vllm import current_platform\n")
    (tmp_path / "torch.py").write_text(
        "import types\n__version__ = '2.13.0+rocm10.1.0'\nversion = types.SimpleNamespace(hip='7.16', cuda=None)\n"
    )
    return run_smoke(framework="vllm", environment={"PYTHONPATH": str(tmp_path), **environment})


def test_vllm_is_started_on_dummy_weights_with_a_small_share(tmp_path: Path) -> None:
    """A stand-in with vLLM's interface: what is asked of it, not what it computes."""
    artifacts = vllm(tmp_path)
    found = results(artifacts)
    assert [r["status"] for r in found.values()] == ["passed"] * 3, found
    report = pipeline.judge(artifacts, load())
    assert report.proven == ("vllm.import", "vllm.device", "vllm.completion")
    assert report.snapshot.get("smoke.vllm").value == "0.29.0+rocm101"
    assert report.snapshot.get("smoke.kind").value == "hip"


def test_what_vllm_does_wrong_is_named(tmp_path: Path) -> None:
    # As recorded in vllm-project/vllm#26884 and in lemonade-sdk/vllm-rocm#5.
    line = "No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine."
    artifacts = vllm(tmp_path, FAKE_START=line)
    assert results(artifacts)["completion"]["status"] == "failed"
    assert "vllm-no-room-for-cache" in {f.row for f in pipeline.judge(artifacts, load()).findings}
    random = results(vllm(tmp_path, FAKE_RANDOM="1"))["completion"]
    assert (random["status"], random["reason"]) == ("failed", "mismatch")
    absent = results(vllm(tmp_path, FAKE_DEVICE=""))["device"]
    assert (absent["status"], absent["reason"]) == ("failed", "not-available")


def test_an_engine_that_is_not_installed_is_skipped(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["smoke", "--serve", "vllm", "--device", "cpu", "--format", "json", "--fail-on", "never"])
    if importlib.util.find_spec("vllm") is None:
        assert json.loads(done.stdout)["snapshot"]["facts"]["smoke.vllm.import"]["value"] == "skipped:not-installed"


def test_stages_of_the_engines_are_listed() -> None:
    done = CliRunner().invoke(cli, ["smoke", "--serve", "llama.cpp", "--stage", "list"])
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["import", "device", "completion"]
