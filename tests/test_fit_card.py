"""The card: its memory, its attention kernels, and several of them."""

from __future__ import annotations

import msgspec
import pytest

from rocm_doctor.fit import advice, card, estimate
from rocm_doctor.fit.job import Job
from rocm_doctor.fit.resolve import FLAG, gpu_kernels
from rocm_doctor.matrix import load
from rocm_doctor.model import Fact, Gpu, Snapshot
from rocm_doctor.versions import parse

GIB = 1 << 30
MATRIX = load()


def job(model: str = "Qwen2.5-7B", **fields: object) -> Job:
    return msgspec.structs.replace(Job(config=MATRIX.plain("models")[model]["config"]), **fields)


@pytest.mark.parametrize(
    ("gfx", "torch", "experimental", "fused"),
    [
        ("gfx906", "2.4.1+rocm6.0", False, False), ("gfx906", "2.15.0", True, False), ("gfx1030", "2.11.0", True, False),
        ("gfx942", "2.4.1+rocm6.1", False, True), ("gfx90a", "2.2.2", False, False), ("gfx1201", "2.7.0", False, False),
        ("gfx1201", "2.7.0", True, True), ("gfx1201", "2.9.1", False, True), ("gfx1151", "2.12.0", False, False),
        ("gfx1151", "2.13.0+rocm7.2", False, True), ("gfx1100", "2.10.0", False, False),
        ("gfx1100", "2.11.0a0+rocm7.11.0a20260106", False, True),
    ],
)  # fmt: skip
def test_fused_attention_by_target_and_torch(gfx: str, torch: str, experimental: bool, fused: bool) -> None:
    kernels, words = gpu_kernels(gfx, torch, experimental, MATRIX)
    assert (kernels.flash, kernels.efficient) == (fused, fused)
    assert gfx in words


def test_the_flag_is_named_where_it_would_help() -> None:
    assert FLAG in gpu_kernels("gfx1200", "2.11.0", False, MATRIX)[1]


def test_grouped_heads_need_torch_26() -> None:
    """transformers hands grouped heads to torch as they are, and AOTriton took them from 0.8b on."""
    assert not gpu_kernels("gfx942", "2.5.1", False, MATRIX)[0].flash_gqa
    assert gpu_kernels("gfx942", "2.6.0", False, MATRIX)[0].flash_gqa


def test_every_torch_of_the_catalog_has_an_entry() -> None:
    for build in (build for build in MATRIX.torch if parse(build.torch)):
        assert "no entry" not in gpu_kernels("gfx90a", build.torch, False, MATRIX)[1], build.key


@pytest.mark.parametrize(("gfx", "mib"), [("gfx906", 32), ("gfx1100", 32), ("gfx90a", 108), ("gfx942", 204), ("sm_90", 33)])
def test_blas_scratch(gfx: str, mib: int) -> None:
    assert card.workspace_bytes(gfx, MATRIX) == mib << 20


def gpu(**facts: object) -> Gpu:
    return Gpu({name: Fact(value) for name, value in facts.items()})  # type: ignore[arg-type]


def test_a_card_of_this_machine() -> None:
    found = card.list_cards(
        Snapshot(gpus=(gpu(gfx="gfx1100", vram_bytes=24 * GIB, vram_used_bytes=2 * GIB, is_apu=False),)), MATRIX
    )[0]
    assert found.available == 22 * GIB - card.CONTEXT
    assert "2.0 GiB used by other processes" in found.notes[-1]


def test_a_hidden_gpu_does_not_count_and_unknown_memory_stays_unknown() -> None:
    found = card.list_cards(Snapshot(gpus=(gpu(gfx="gfx1036", visible=False), gpu(gfx="gfx1100"))), MATRIX)
    assert [c.gfx for c in found] == ["gfx1100"]
    assert found[0].available is None


@pytest.mark.parametrize(
    ("vram", "gtt", "carveout", "words"),
    [
        (16, 60, 16, "16.0 GiB are the carve-out, which the firmware sets"),
        (62, 60, 0.5, "62.0 GiB of system memory are mapped for the GPU; ttm.pages_limit"),
        (96, 16, 96, "96.0 GiB are the carve-out, which the firmware sets"),
        (16, None, None, "the runtime offers 16.0 GiB"),
    ],
)
def test_an_apu_counts_what_the_kernel_offers(vram: int, gtt: int | None, carveout: float | None, words: str) -> None:
    read = {"vram_bytes": vram, "gtt_bytes": gtt, "carveout_bytes": carveout}
    known = {name: size * GIB for name, size in read.items() if size}
    found = card.list_cards(Snapshot(gpus=(gpu(gfx="gfx1151", is_apu=True, **known),)), MATRIX)[0]
    assert found.total == vram * GIB
    assert words in found.notes[0]


def test_the_processors_own_gpu_beside_a_discrete_one_does_not_count() -> None:
    """It comes first on this machine, and nobody trains on it."""
    both = (gpu(gfx="gfx1036", is_apu=True, vram_bytes=GIB // 2), gpu(gfx="gfx1100", is_apu=False, vram_bytes=24 * GIB))
    assert [c.gfx for c in card.list_cards(Snapshot(gpus=both), MATRIX)] == ["gfx1100"]


def test_a_declared_card_with_one_size_knows_it_and_with_several_asks() -> None:
    assert card.declare_card("gfx908", None, MATRIX).total == 32 * GIB
    several = card.declare_card("gfx906", None, MATRIX)
    assert several.total is None
    assert "--vram" in several.notes[0]


def answer(left: float, how: estimate.How = "simulation") -> str:
    bound = estimate.BOUNDS[how]
    made = estimate.Estimate(how, 10 * GIB, 11 * GIB, {}, bound)
    return estimate.verdict(made, card.Card("gfx1100", "", int(left * GIB), 0, 0, 0))


def test_a_verdict_keeps_the_error_in_mind() -> None:
    assert [answer(room) for room in (13, 11, 10.1, 9.8, 9)] == [
        "fits",
        "tight",
        "too close to call",
        "too close to call",
        "does not fit",
    ]
    unknown = card.Card("", "", None, 0, 0, 0)
    assert estimate.verdict(estimate.Estimate("simulation", 1, 1, {}, estimate.BOUNDS["simulation"]), unknown) == "unknown"


def test_limits_fit_and_one_more_does_not() -> None:
    run, place = job("Qwen2.5-1.5B"), card.declare_card("gfx1100", 24 * GIB, MATRIX)
    now = estimate.compute(run, place)
    peak = advice.scale_estimate(run, place, now)
    found = advice.limits(run, place, peak, 0.0)
    assert found is not None
    assert place.available is not None
    at_limit, beyond = (peak(msgspec.structs.replace(run, batch=n)) for n in (found.batch, found.batch + 1))
    assert at_limit <= place.available < beyond
    assert peak(msgspec.structs.replace(run, seq=found.seq)) <= place.available
