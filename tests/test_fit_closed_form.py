"""The arithmetic against real steps, and against what the shapes themselves say."""

from __future__ import annotations

import statistics
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_rows import job_of, read

from rocm_doctor.fit import closed_form
from rocm_doctor.fit.allocator import MIB
from rocm_doctor.fit.card import workspace_bytes
from rocm_doctor.fit.estimate import BOUNDS
from rocm_doctor.fit.job import MATH, Job, Kernels
from rocm_doctor.fit.shape import ShapeError, read_shape
from rocm_doctor.matrix import load

ROOT = Path(__file__).resolve().parents[1]
OWN = ROOT / "compat_matrix" / "measured" / "memory_h200.csv"
SHARED = ROOT.parent / "shared" / "facts" / "memory_measured.csv"
MATRIX = load()
KNOWN = sorted(name for name in MATRIX.plain("models") if not name.startswith("gpt-oss"))
ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj")
FUSED = Kernels(flash=True, efficient=True, flash_gqa=True)


def covered(path: Path) -> list[dict[str, str]]:
    return [row for row in read(path) if not row["model"].startswith("gpt-oss")]


def errors(path: Path) -> tuple[list[float], list[float]]:
    """Errors of allocated and reserved of each row that the closed form covers, as fractions."""
    allocated, reserved = [], []
    for row in covered(path):
        peak = closed_form.predict(job_of(row, MATRIX), workspace_bytes("sm_90"))
        allocated.append(abs(peak.allocated / int(row["peak_allocated"]) - 1))
        reserved.append(abs(peak.reserved / int(row["peak_reserved"]) - 1))
    return allocated, reserved


@pytest.mark.parametrize("path", [OWN, SHARED], ids=["own", "shared"])
def test_accuracy_against_real_steps(path: Path) -> None:
    if not path.exists():
        pytest.skip(f"{path.name} is not beside this checkout")
    allocated, reserved = errors(path)
    assert len(allocated) >= 10
    assert statistics.median(allocated) < 0.10
    assert max(allocated) < 0.25
    assert statistics.median(reserved) < 0.12


@pytest.mark.parametrize("path", [OWN, SHARED], ids=["own", "shared"])
def test_the_stated_error_is_no_smaller_than_the_worst_one_seen(path: Path) -> None:
    if not path.exists():
        pytest.skip(f"{path.name} is not beside this checkout")
    allocated, reserved = errors(path)
    assert max(allocated) <= BOUNDS["closed form"].allocated
    assert max(reserved) <= BOUNDS["closed form"].reserved


def test_parameters_are_counted_to_the_last_one() -> None:
    for row in covered(OWN):
        job = job_of(row, MATRIX)
        shape = read_shape(job.config)
        trained = closed_form.count_held_bytes(shape, job).trainable
        assert trained == int(row["trainable"]), row["model"]
        if job.quant_bits:
            continue  # torch counts a packed weight as half a parameter or with its scales
        assert shape.parameters + (trained if job.method != "full" else 0) == int(row["params"]), row["model"]


def test_every_preset_has_a_shape() -> None:
    presets = MATRIX.plain("models")
    assert len(presets) >= 16
    for name in KNOWN:
        last = name.rsplit("-", 1)[-1]
        stated = float(last[:-1]) if last[-1] in "BM" and last[0].isdigit() and "x" not in last else None
        if stated is not None:  # Falcon3-1B has 1.67 billion
            billions = stated / (1000 if name.endswith("M") else 1)
            assert read_shape(presets[name]["config"]).parameters / 1e9 == pytest.approx(billions, rel=0.7), name


def example(model: str, **fields: object) -> Job:
    return msgspec.structs.replace(Job(config=MATRIX.plain("models")[model]["config"], kernels=FUSED), **fields)


def test_without_fused_attention_memory_grows_with_the_square_of_the_sequence() -> None:
    """gfx906 against gfx942: the same run, all scores kept."""
    fused = [closed_form.predict(example("Qwen2.5-1.5B", checkpointing=False, seq=n), 0).allocated for n in (2048, 4096, 8192)]
    math = [
        closed_form.predict(example("Qwen2.5-1.5B", checkpointing=False, seq=n, kernels=MATH), 0).allocated
        for n in (2048, 4096, 8192)
    ]
    assert fused[2] - fused[1] == pytest.approx(2 * (fused[1] - fused[0]), rel=0.01)
    assert math[2] - math[1] > 3 * (math[1] - math[0])
    assert math[2] > 2.5 * fused[2]


def test_a_quantised_base_is_small_and_its_head_is_not() -> None:
    dense = closed_form.count_held_bytes(read_shape(example("Qwen2.5-7B").config), example("Qwen2.5-7B"))
    packed_job = example("Qwen2.5-7B", method="qlora", quant_bits=4)
    packed = closed_form.count_held_bytes(read_shape(packed_job.config), packed_job)
    assert packed.weights < 0.55 * dense.weights
    assert packed.weights > 152064 * 3584 * 2 * 4  # both embeddings, in float32 after peft's preparation


@pytest.mark.parametrize(
    ("optimizer", "per_parameter"), [("adamw", 8), ("adamw_fused", 8), ("adamw_8bit", 2.03), ("paged_adamw_8bit", 0), ("sgd", 0)]
)
def test_optimizer_states(optimizer: str, per_parameter: float) -> None:
    job = example("Qwen2.5-0.5B", method="full", dtype="float32", optimizer=optimizer)
    shape = read_shape(job.config)
    assert closed_form.count_held_bytes(shape, job).states == pytest.approx(per_parameter * shape.parameters, rel=0.01)


@given(st.sampled_from(KNOWN), st.integers(1, 16), st.integers(16, 8192), st.booleans(), st.booleans())
def test_more_never_takes_less(model: str, batch: int, seq: int, checkpointing: bool, full: bool) -> None:
    """A larger batch or sequence, no checkpointing, no fused loss, more memory; and the parts add up."""
    job = example(model, batch=batch, seq=seq, checkpointing=checkpointing, method="full" if full else "lora", targets=ATTENTION)
    peak = closed_form.predict(job, 32 * MIB)
    assert sum(peak.breakdown.values()) == peak.allocated <= peak.reserved
    for change in ({"batch": batch + 1}, {"seq": seq + 64}, {"checkpointing": False}, {"grad_accum": 2}, {"dtype": "float32"}):
        assert closed_form.predict(msgspec.structs.replace(job, **change), 32 * MIB).allocated >= 0.999 * peak.allocated, change


@given(
    st.dictionaries(
        st.sampled_from(["hidden_size", "num_hidden_layers", "vocab_size", "model_type"]), st.one_of(st.integers(), st.text())
    )
)
def test_a_config_that_lacks_sizes_is_refused(config: dict[str, object]) -> None:
    with pytest.raises(ShapeError):
        read_shape(config)


def test_what_the_arithmetic_does_not_know_is_refused_rather_than_guessed() -> None:
    """A type that it does not know; LoRA on experts, which peft adapts in Qwen3's when the names of a dense MLP are given."""
    with pytest.raises(ShapeError, match="gpt_oss: the closed form knows llama"):
        read_shape(MATRIX.plain("models")["gpt-oss-20b"]["config"])
    with pytest.raises(ShapeError, match="--targets q_proj,k_proj,v_proj,o_proj,"):
        closed_form.predict(example("Qwen3-30B-A3B"), 0)
    assert closed_form.predict(example("Qwen3-30B-A3B", targets=ATTENTION), 0).allocated
    assert closed_form.predict(example("Qwen3-30B-A3B", method="full"), 0).allocated


def test_experts_are_measured_to_a_hundredth() -> None:
    found = [row for row in covered(OWN) if read_shape(job_of(row, MATRIX).config).experts]
    assert len(found) == 5
    for row in found:
        peak = closed_form.predict(job_of(row, MATRIX), workspace_bytes("sm_90"))
        assert peak.allocated == pytest.approx(int(row["peak_allocated"]), rel=0.01), row["model"]
        assert peak.reserved == pytest.approx(int(row["peak_reserved"]), rel=0.03), row["model"]


def test_lora_and_quantisation_leave_the_tensors_of_experts_alone() -> None:
    """In transformers 5 all experts of a layer are two tensors. A shared expert has linears of its own."""
    lora, shared = example("Mixtral-8x7B"), example("Qwen1.5-MoE-A2.7B")
    held, more = (closed_form.count_held_bytes(read_shape(job.config), job) for job in (lora, shared))
    assert held.trainable == 32 * 16 * (2 * (4096 + 4096) + 2 * (4096 + 1024))
    assert more.trainable == 24 * 16 * (4 * 2 * 2048 + 3 * (2048 + 5632))
    packed = example("Mixtral-8x7B", method="qlora", quant_bits=4)
    assert closed_form.count_held_bytes(read_shape(packed.config), packed).weights > 4 * 32 * 8 * 3 * 4096 * 14336
