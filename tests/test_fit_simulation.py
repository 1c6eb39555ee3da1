"""The simulation against real steps, and against what was measured on an AMD card by others."""

from __future__ import annotations

import statistics
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from memory_rows import job_of, read

from rocm_doctor.fit import closed_form, runner
from rocm_doctor.fit.allocator import MemoryPeak, replay
from rocm_doctor.fit.card import workspace_bytes
from rocm_doctor.fit.estimate import BOUNDS
from rocm_doctor.fit.job import MATH, SEVEN, Job, Kernels
from rocm_doctor.matrix import load

pytestmark = [
    pytest.mark.torch("transformers", "peft"),
    pytest.mark.filterwarnings("ignore"),  # as the worker does
]

ROOT = Path(__file__).resolve().parents[1]
OWN = ROOT / "compat_matrix" / "measured" / "memory_h200.csv"
SHARED = ROOT.parent / "shared" / "facts" / "memory_measured.csv"
MATRIX = load()
HOPPER = workspace_bytes("sm_90")
FUSED = Kernels(flash=True, efficient=True, flash_gqa=True)
GIB = 1 << 30


def small(**fields: object) -> Job:
    """A model of two layers, which simulates in the time that importing takes."""
    config = {**MATRIX.plain("models")["Qwen2.5-0.5B"]["config"], "num_hidden_layers": 2}
    return msgspec.structs.replace(Job(config=config, kernels=FUSED), **fields)


def simulated(job: Job) -> runner.Simulated:
    """What the worker makes of a job, in this process: a child would import torch for seconds."""
    from rocm_doctor.workers.fit.simulate import simulate

    fields = {name: getattr(job, name) for name in job.__struct_fields__ if name != "kernels"}
    result = simulate(msgspec.to_builtins({**fields, "card": job.kernels}))
    return msgspec.convert({**result, "versions": {}}, runner.Simulated)


def peak(job: Job) -> MemoryPeak:
    return runner.find_peak(simulated(job), HOPPER)


def errors(path: Path, picked: slice = slice(None)) -> tuple[list[float], list[float]]:
    allocated, reserved = [], []
    for row in read(path)[picked]:
        found = peak(job_of(row, MATRIX))
        allocated.append(abs(found.allocated / int(row["peak_allocated"]) - 1))
        reserved.append(abs(found.reserved / int(row["peak_reserved"]) - 1))
    return allocated, reserved


def test_a_measured_step_to_a_hundredth() -> None:
    """SmolLM2-135M, LoRA in float32 with eager attention: the quickest row of the table."""
    allocated, reserved = errors(OWN, slice(0, 1))
    assert allocated[0] < 0.01
    assert reserved[0] < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("path", [OWN, SHARED], ids=["own", "shared"])
def test_all_measured_steps(path: Path) -> None:
    if not path.exists():
        pytest.skip(f"{path.name} is not beside this checkout")
    allocated, reserved = errors(path)
    bound = BOUNDS["simulation"]
    assert statistics.median(allocated) < 0.03
    assert max(allocated) < min(0.08, bound.allocated)
    assert statistics.median(reserved) < 0.12
    assert max(reserved) < bound.reserved


@pytest.mark.slow
def test_a_7b_model_has_its_parameters() -> None:
    job = Job(config=MATRIX.plain("models")["Qwen2.5-7B"]["config"], kernels=FUSED)
    found = runner.simulate(job)
    assert found.parameters == 7615616512 + found.trainable


def experts(**fields: object) -> Job:
    config = {**MATRIX.plain("models")["Qwen3-30B-A3B"]["config"], "num_hidden_layers": 2}
    return msgspec.structs.replace(Job(config=config, kernels=FUSED, targets=("q_proj", "v_proj")), **fields)


@pytest.mark.slow
def test_experts_agree_with_the_arithmetic_in_16_and_32_bits() -> None:
    """The meta device has their product in bfloat16 only."""
    for dtype in ("bfloat16", "float32"):
        job = experts(dtype=dtype, checkpointing=False, seq=2048)
        assert peak(job).allocated == pytest.approx(closed_form.predict(job, HOPPER).allocated, rel=0.02), dtype


def test_lora_on_experts_is_what_peft_makes_of_the_names_of_a_dense_mlp() -> None:
    """peft 0.19 and newer adapt both tensors of Qwen3's experts: rank 32 for gate and up together, 16 for down, of 128 experts."""
    found = simulated(experts(targets=SEVEN, seq=256))
    attention = 16 * (2 * (2048 + 4096) + 2 * (2048 + 512))
    each = 32 * (2048 + 2 * 768) + 16 * (2048 + 768)
    assert found.trainable == 2 * (attention + 128 * each)


def test_without_peft_lora_on_experts_is_refused() -> None:
    from rocm_doctor.workers.fit import build

    model = SimpleNamespace(config=SimpleNamespace(model_type="qwen3_moe"))
    with pytest.raises(ValueError, match="simulated with peft"):
        build.inject(model, {"targets": ["q_proj", "gate_proj"]})


def test_the_attention_kernel_decides() -> None:
    """What gfx906 takes and gfx942 does not."""
    fused, math = (simulated(small(seq=1024, checkpointing=False, kernels=kernels)) for kernels in (FUSED, MATH))
    assert set(fused.attention) == {"flash"}
    assert set(math.attention) == {"math"}
    assert runner.find_peak(math, 0).breakdown["attention scores"] >= 2 * 14 * 1024 * 1024 * 4


@pytest.mark.parametrize(("tokens", "difference"), [(1024, 0.51), (2048, 2.01), (4096, 8.03)])
def test_what_the_math_path_costs_as_measured_on_a_radeon(tokens: int, difference: float) -> None:
    """Peak with the math path less peak with flash attention in GiB, on somebody's gfx1200 (torch 2.11.0+rocm7.13.0): 32 heads
    of 128 columns, bf16, causal, forward and backward. https://github.com/unslothai/unsloth/pull/8821"""
    import torch

    from rocm_doctor.workers.fit import kernels, track

    def attention_peak(card: Kernels) -> float:
        tracker = track.Tracker(1, 1, tokens)
        attention = kernels.patched_attention(tracker, msgspec.to_builtins(card), {})
        shape = (1, 32, tokens, 128)
        inputs = [torch.empty(shape, dtype=torch.bfloat16, device="meta", requires_grad=True) for _ in range(3)]
        with tracker:
            tracker.relabel(inputs, "inputs")
            out = attention(*inputs, is_causal=True)
            out.backward(torch.empty_like(out))
        return replay([(n, size) for n, size in tracker.events], tracker.labels).allocated / GIB

    assert attention_peak(MATH) - attention_peak(FUSED) == pytest.approx(difference, rel=0.03)


@pytest.mark.slow
@pytest.mark.parametrize(
    "fields",
    [
        {"method": "full", "optimizer": "adafactor"}, {"method": "full", "optimizer": "adamw_8bit", "grad_accum": 2},
        {"method": "qlora", "quant_bits": 4}, {"autocast": "bfloat16", "dropout": 0.05}, {"fused_loss": True, "batch": 4},
    ],
    ids=["adafactor", "8bit", "qlora", "autocast", "fused loss"],
)  # fmt: skip
def test_the_closed_form_agrees(fields: dict[str, object]) -> None:
    """What nobody measured for us at least agrees between two ways of counting."""
    job = small(seq=512, **fields)
    assert closed_form.predict(job, HOPPER).allocated == pytest.approx(peak(job).allocated, rel=0.10)


@pytest.mark.slow
def test_without_peft_our_own_adapters_take_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_peft = peak(small())
    (tmp_path / "peft.py").write_text("raise ImportError('hidden')\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    found = runner.simulate(small())
    assert "peft" not in found.versions
    assert runner.find_peak(found, HOPPER).allocated == pytest.approx(with_peft.allocated, rel=0.001)


def test_what_cannot_be_built_is_said_in_one_line() -> None:
    with pytest.raises(runner.WorkerError, match="no_such_type"):
        runner.simulate(Job(config={"model_type": "no_such_type"}))
