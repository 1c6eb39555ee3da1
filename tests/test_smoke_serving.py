"""Engines that serve models: llama.cpp's and vLLM's CPU builds for real where they are installed, vLLM by a stand-in of its interface.

ROCM_DOCTOR_TEST_LLAMA_CPP names an interpreter with llama-cpp-python, ROCM_DOCTOR_TEST_VLLM one with a CPU build of vLLM (too large
for CI).
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

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not process.HAS_GROUPS, reason="needs process groups")]
np = pytest.importorskip("numpy", reason="needs pip install -e '.[slow]'")


def results(artifacts: list[Artifact]) -> dict[str, dict[str, Any]]:
    records = [msgspec.json.decode(line) for a in artifacts if a.name.endswith(".jsonl") for line in a.text.splitlines()]
    return {r["stage"]: r for r in records if r["kind"] == "result"}


def interpreter(package: str = "llama_cpp") -> str:
    named = os.environ.get(f"ROCM_DOCTOR_TEST_{package.upper()}", "")
    if not named and importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
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
    """In the order of rows that vLLM gets them in, too."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    state = {name: torch.tensor(tensor.astype(np.float64)) for name, tensor in model.transformers_weights(np).items()}
    config = transformers.AutoConfig.for_model(**{k: v for k, v in model.config().items() if k != "torch_dtype"})
    theirs = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager").double()
    theirs.load_state_dict(state)
    ids = [1, 300, 301, 17, 305]
    with torch.no_grad():
        want = theirs(torch.tensor([ids])).logits[0].numpy()
    np.testing.assert_allclose(model.logits(np, ids), want, rtol=1e-5, atol=1e-5)


FAKE_VLLM = """
import json, os, pathlib, sys, types
import numpy as np
__version__ = "0.29.0+rocm101"
class current_platform:
    device_type = os.environ.get("FAKE_DEVICE", "cuda")
    is_rocm = staticmethod(lambda: True)
    get_device_name = staticmethod(lambda: "AMD Instinct MI300X")
class SamplingParams:
    def __init__(self, temperature, max_tokens, ignore_eos, detokenize, logprobs): self.max_tokens, self.likeliest = max_tokens, logprobs
class LLM:
    def __init__(self, model, load_format, max_model_len, gpu_memory_utilization, **more):
        self.words = json.loads((pathlib.Path(model) / "config.json").read_text())["vocab_size"]
        self.reference = next(module for name, module in sys.modules.items() if name.endswith("serving.model"))
        self.calls = 0
        if os.environ.get("FAKE_START"): raise RuntimeError(os.environ["FAKE_START"])
        assert load_format == "safetensors" and gpu_memory_utilization <= 0.2 and max_model_len <= 256
    def generate(self, prompts, choice, use_tqdm):
        self.calls += 1
        random = os.environ.get("FAKE_RANDOM")
        ids, steps = list(prompts[0]["prompt_token_ids"]), []
        for _ in range(choice.max_tokens):
            scores = self.reference.logits(np, ids)[-1] * float(os.environ.get("FAKE_SCALE", "1"))
            scores = scores - np.log(np.exp(scores).sum())
            best = [int(n) for n in np.argsort(scores)[::-1][:choice.likeliest]]
            ids.append(best[self.calls % 2 if random else 0])
            steps.append({n: types.SimpleNamespace(logprob=scores[n]) for n in best})
        found = ids[-choice.max_tokens:]
        return [types.SimpleNamespace(outputs=[types.SimpleNamespace(token_ids=found, logprobs=steps)])]
"""


def vllm(tmp_path: Path, **environment: str) -> list[Artifact]:
    (tmp_path / "vllm").mkdir(exist_ok=True)
    (tmp_path / "vllm" / "__init__.py").write_text(FAKE_VLLM)
    (tmp_path / "vllm" / "platforms.py").write_text("from vllm import current_platform\n")
    (tmp_path / "torch.py").write_text(
        "import types\n__version__ = '2.13.0+rocm10.1.0'\nversion = types.SimpleNamespace(hip='7.16', cuda=None)\n"
    )
    return run_smoke(framework="vllm", environment={"PYTHONPATH": str(tmp_path), **environment})


def test_vllm_is_started_on_the_tiny_model_with_a_small_share(tmp_path: Path) -> None:
    """A stand-in with vLLM's interface, which computes with the reference: what is asked of it, and how its answer is judged."""
    artifacts = vllm(tmp_path)
    found = results(artifacts)
    assert [r["status"] for r in found.values()] == ["passed"] * 3, found
    report = pipeline.judge(artifacts, load())
    assert report.proven == ("vllm.import", "vllm.device", "vllm.completion")
    assert report.snapshot.get("smoke.vllm").value == "0.29.0+rocm101"
    assert report.snapshot.get("smoke.kind").value == "hip"


@pytest.mark.slow
def test_what_vllm_does_wrong_is_named(tmp_path: Path) -> None:
    # As recorded in vllm-project/vllm#26884 and in lemonade-sdk/vllm-rocm#5.
    line = "No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine."
    artifacts = vllm(tmp_path, FAKE_START=line)
    assert results(artifacts)["completion"]["status"] == "failed"
    assert "vllm-no-room-for-cache" in {f.row for f in pipeline.judge(artifacts, load()).findings}
    random = results(vllm(tmp_path, FAKE_RANDOM="1"))["completion"]
    assert (random["status"], random["reason"]) == ("failed", "mismatch")
    assert "the same prompt gave" in random["message"]
    for scale, reason in (("1.1", "mismatch"), ("nan", "nan"), ("0", "mismatch")):
        wrong = results(vllm(tmp_path, FAKE_SCALE=scale))["completion"]
        assert (wrong["status"], wrong["reason"]) == ("failed", reason), wrong
        assert "log-probabilities of the tiny model" in wrong["message"]
    absent = results(vllm(tmp_path, FAKE_DEVICE=""))["device"]
    assert (absent["status"], absent["reason"]) == ("failed", "not-available")


def test_vllm_answers_on_the_cpu() -> None:
    found = results(run_smoke(interpreter("vllm"), framework="vllm", device="cpu"))
    assert [r["status"] for r in found.values()] == ["passed"] * 3, found
    assert 0 < found["completion"]["details"]["worst_error"] < 0.01


WRONG_VLLM = """
def wrong(bench):
    from importlib import import_module
    bench.load()
    llama = import_module("vllm.model_executor.models.llama").LlamaForCausalLM
    right = llama.compute_logits
    llama.compute_logits = lambda self, *args, **more: right(self, *args, **more) * {scale}
    return import_module(type(bench).__module__.rpartition(".")[0] + ".stages").completion(bench)
stages["completion"] = wrong
"""


@pytest.mark.parametrize(("scale", "reason"), [("1.1", "mismatch"), ("float('nan')", "nan")])
def test_wrong_logits_of_vllm_are_caught(tmp_path: Path, scale: str, reason: str) -> None:
    prelude = tmp_path / "prelude.py"
    prelude.write_text(WRONG_VLLM.format(scale=scale))
    found = results(run_smoke(interpreter("vllm"), framework="vllm", device="cpu", prelude=str(prelude)))["completion"]
    assert (found["status"], found["reason"]) == ("failed", reason), found
    assert "log-probabilities of the tiny model" in found["message"]


def test_an_engine_that_is_not_installed_is_skipped(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["smoke", "--serve", "vllm", "--device", "cpu", "--format", "json", "--fail-on", "never"])
    if importlib.util.find_spec("vllm") is None:
        assert json.loads(done.stdout)["snapshot"]["facts"]["smoke.vllm.import"]["value"] == "skipped:not-installed"


def test_stages_of_the_engines_are_listed() -> None:
    done = CliRunner().invoke(cli, ["smoke", "--serve", "llama.cpp", "--stage", "list"])
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["import", "device", "completion"]
