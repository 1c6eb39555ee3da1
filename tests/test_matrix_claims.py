"""Claims that people repeat, fed in as environments: the report says what is true and cites it, and raises no false alarm."""

from __future__ import annotations

from typing import Any

import pytest
from matrix_machines import Facts, findings, loud, rows, torch

MI50: Facts = {"gfx": "gfx906", "marketing_name": "AMD Instinct MI50"}
STRIX: Facts = {"gfx": "gfx1151", "marketing_name": "AMD Radeon 8060S"}
R9700: Facts = {"gfx": "gfx1201"}
NAVI31: Facts = {"gfx": "gfx1100"}
EXPANDABLE = {"env__PYTORCH_HIP_ALLOC_CONF": "expandable_segments:True"}


def cited(found: list[Any], row: str) -> str:
    """The words and sources of the finding of that row."""
    one = next(f for f in found if f.row == row)
    assert one.sources
    return f"{one.title} {one.cause} {' '.join(one.sources)}"


@pytest.mark.parametrize("value", ["11.5.1"])
def test_the_identity_override_on_strix_halo_is_pointless_not_required(value: str) -> None:
    found = findings(torch("2.13.0+rocm7.2", env__HSA_OVERRIDE_GFX_VERSION=value, kernel="6.18.4"), STRIX)
    assert not loud(found)
    assert [f.id for f in found if f.id.startswith("arch.override")] == ["arch.override-pointless"]


def test_the_identity_override_on_mi50_is_pointless_and_the_rdna_one_wrong() -> None:
    same = findings(torch("2.4.1+rocm6.0", env__HSA_OVERRIDE_GFX_VERSION="9.0.6"), MI50)
    assert not loud(same)
    wrong = findings(torch("2.4.1+rocm6.0", env__HSA_OVERRIDE_GFX_VERSION="10.3.0"), MI50)
    assert "arch.override-wrong" in {f.id for f in wrong if f.severity == "error"}


def test_hip_disable_ipc_is_read_by_nothing() -> None:
    found = findings(torch("2.12.0+rocm7.14.0", "therock", platform="windows", env__HIP_DISABLE_IPC="1"), R9700)
    assert "nothing reads it" in cited(found, "env-hip-disable-ipc")
    assert next(f for f in found if f.row == "env-hip-disable-ipc").severity == "note"


@pytest.mark.parametrize(
    ("version", "family", "row"),
    [
        ("2.4.1+rocm6.0", "bundled", "expandable-unsupported"),
        ("2.11.0+rocm7.2", "bundled", "expandable-unsupported"),
        ("2.9.1+rocm7.2.0.lw.git7e1940d4", "amd-listing", "expandable-unsupported"),
        ("2.12.0+rocm7.14", "bundled", "expandable-hang"),
    ],
)
def test_expandable_segments_by_version(version: str, family: str, row: str) -> None:
    found = findings(torch(version, family, **EXPANDABLE), NAVI31)
    assert row in rows(found)
    assert not loud(found)
    assert cited(found, row)


def test_expandable_segments_in_amds_2_11_is_no_finding() -> None:
    found = findings(torch("2.11.0+rocm7.2.4.git12345678", "amd-listing", **EXPANDABLE), NAVI31)
    assert not [f for f in found if f.id == "memory.expandable-segments"]


def test_expandable_segments_on_gfx1201_is_an_unconfirmed_warning() -> None:
    found = findings(torch("2.12.0+rocm7.2", **EXPANDABLE), R9700)
    one = next(f for f in found if f.row == "expandable-nan-gfx1201")
    assert (one.severity, one.grade) == ("warning", "field")
    assert "not confirmed" in one.cause


def test_the_allocator_name_that_wins_decides() -> None:
    more = {"env__PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:False", **EXPANDABLE}
    found = findings(torch("2.4.1+rocm6.0", **more), NAVI31)
    assert "expandable-unsupported" not in rows(found)


def test_no_allocator_variable_in_a_whole_environment_settles_it() -> None:
    from matrix_machines import machine

    assert machine({"env.": True}).get("torch.expandable_segments").value is None
    assert not machine({}).get("torch.expandable_segments").known


def test_miopen_find_enforce_1_forces_nothing() -> None:
    found = findings(torch("2.9.1+rocm6.4", env__MIOPEN_FIND_ENFORCE="1"), NAVI31)
    assert "it is the default" in cited(found, "env-miopen-find-enforce")
    assert not loud(found)


@pytest.mark.parametrize(
    ("name", "value", "row"),
    [
        ("AMD_SERIALIZE_KERNEL", "3", "env-amd-serialize-kernel"),
        ("PYTORCH_NO_HIP_MEMORY_CACHING", "1", "env-pytorch-no-hip-memory-caching"),
        ("MIOPEN_ENABLE_LOGGING", "1", "env-miopen-enable-logging"),
        ("MIOPEN_DISABLE_CACHE", "1", "env-miopen-disable-cache"),
        ("HSA_DISABLE_CACHE", "1", "env-hsa-disable-cache"),
        ("HIP_LAUNCH_BLOCKING", "1", "env-hip-launch-blocking"),
    ],
)
def test_debug_switches_are_named_as_such_and_never_as_errors(name: str, value: str, row: str) -> None:
    found = findings(torch("2.9.1+rocm6.4", **{f"env__{name}": value}), NAVI31)
    one = next(f for f in found if f.row == row)
    assert one.id == "env.debug-switch"
    assert one.severity != "error"
    off = findings(torch("2.9.1+rocm6.4", **{f"env__{name}": "0"}), NAVI31)
    assert row not in rows(off)


def test_omp_threads_have_nothing_to_do_with_the_gpu() -> None:
    found = findings(torch("2.4.1+rocm6.0", env__OMP_NUM_THREADS="1"), MI50)
    assert not loud(found)
    assert "does nothing for the GPU" in cited(found, "env-omp-num-threads")


def test_torch_2_5_1_has_no_gfx1201() -> None:
    found = findings(torch("2.5.1+rocm6.2"), R9700)
    assert [f.id for f in found if f.severity == "error"] == ["arch.not-in-build"]


def test_torch_2_5_1_on_mi50_is_one_unconfirmed_report() -> None:
    found = findings(torch("2.5.1+rocm6.2"), MI50)
    assert not loud(found)
    assert "wheel does hold gfx906 code" in cited(found, "mi50-torch251-rocm62")


def test_mi50_works_on_rocm_6_3_though_no_table_lists_it() -> None:
    assert not loud(findings(torch("2.9.1+rocm6.3"), MI50))


def test_mi50_on_rocm_6_4_lists_the_target_and_lacks_the_kernels() -> None:
    found = findings(torch("2.9.1+rocm6.4", torch__arch_list=("gfx906", "gfx1100")), MI50)
    assert [f.id for f in found if f.severity == "error"] == ["arch.blas-missing"]


def test_an_old_wheel_on_a_newer_driver_is_at_most_a_note() -> None:
    found = findings(torch("2.4.1+rocm6.0", driver__version="6.16.6", rocm__version="7.1.1"), MI50)
    assert not loud(found)


def test_torchtune_is_wound_down_and_int1_is_no_matter_of_rocm() -> None:
    found = findings(torch("2.4.1+rocm6.0", pkg__torchtune="0.6.1", pkg__torchao="0.13.0"), MI50)
    assert next(f for f in found if f.row == "torchtune-wound-down").severity == "note"
    assert "A CUDA torch 2.5.1 fails" in cited(found, "torchao-int1")
    sound = findings(torch("2.9.1+rocm6.3", pkg__torchtune="0.6.1", pkg__torchao="0.14.1"), MI50)
    assert not loud(sound)


def test_transformers_5_23_switches_torch_2_4_off() -> None:
    found = findings(torch("2.4.1+rocm6.0", pkg__transformers="5.23.0"), MI50)
    assert "switches torch off" in cited(found, "transformers-disables-torch")
    assert not loud(findings(torch("2.4.1+rocm6.0", pkg__transformers="5.10.4", pkg__peft="0.19.1"), MI50))


def test_nccl_is_rccl_here() -> None:
    from matrix_machines import MATRIX

    assert any(f.key == "distributed-backends" and "RCCL" in f.words for f in MATRIX.facts)
    assert not loud(findings(torch("2.9.1+rocm6.4", env__NCCL_DEBUG="INFO"), NAVI31))


def test_a_torch_for_7_11_beside_7_12_is_said_as_what_it_is() -> None:
    facts = torch("2.9.1+rocm7.11.0a20260118", "therock", rocm__version="7.12.0a20260203", torch__device_dists=("gfx1201",))
    found = findings(facts, R9700)
    assert "Nothing confirms that" in cited(found, "rocm711-vs-712")
    assert not [f for f in found if f.id.startswith("version.") and f.severity != "note"]


def test_fall_back_to_2_2_2_needs_numpy_1() -> None:
    found = findings(torch("2.2.2+rocm5.7", pkg__numpy="2.1.0"), NAVI31)
    assert "numpy-2-old-torch" in rows(found)
    assert not loud(findings(torch("2.2.2+rocm5.7", pkg__numpy="1.26.4"), NAVI31))


def test_hipblaslt_warning_is_a_fallback() -> None:
    found = findings(torch("2.12.0+rocm7.2", env__TORCH_BLAS_PREFER_HIPBLASLT="1"), {"gfx": "gfx1102"})
    assert "Results are right" in cited(found, "hipblaslt-preferred-unlisted")
    assert not loud(found)


FAMILY_PACKAGE = "aotriton-family-missing"


def test_amds_7_14_wheel_lacks_fused_attention_until_the_family_package_is_there() -> None:
    bare = torch("2.12.0+rocm7.14.0", "therock", torch__device_dists=("gfx1100",))
    found = findings(bare, NAVI31)
    one = next(f for f in found if f.row == FAMILY_PACKAGE)
    assert "amd-torch-device-gfx11==2.12.0+rocm7.14.0" in one.commands[0].text
    whole = findings(torch("2.12.0+rocm7.14.0", "therock", torch__device_dists=("gfx1100", "gfx11")), NAVI31)
    assert FAMILY_PACKAGE not in rows(whole)
    assert FAMILY_PACKAGE not in rows(findings(torch("2.14.0+rocm10.1.0", "therock", torch__device_dists=("gfx1100",)), NAVI31))


@pytest.mark.parametrize(
    ("version", "spoils"), [("2.12.0+rocm7.14.0", False), ("2.12.0+rocm7.14.1", True), ("2.12.0+rocm10.0.0", True)]
)
def test_sdpa_spoils_later_kernels_in_windows_with_two_wheels(version: str, spoils: bool) -> None:
    found = findings(torch(version, "therock", platform="windows"), R9700)
    assert ("sdpa-spoils-gfx1201-windows" in rows(found)) is spoils
    assert "sdpa-spoils-gfx1201-windows" not in rows(findings(torch(version, "therock", platform="linux"), R9700))


@pytest.mark.parametrize(
    ("transformers", "peft", "fits"), [("5.24.0", "0.21.2", False), ("5.24.0", "0.22.0", True), ("5.23.0", "0.21.2", True)]
)
def test_transformers_5_24_needs_a_peft_that_the_index_does_not_have(transformers: str, peft: str, fits: bool) -> None:
    packages = {"pkg__transformers": transformers, "pkg__peft": peft}
    found = findings(torch("2.14.1+rocm7.2", **packages), NAVI31)
    assert ("transformers-5.24-peft" not in rows(found)) is fits


@pytest.mark.parametrize(("gfx", "repaired"), [("gfx1200", False), ("gfx1201", True)])
def test_rocm_10_1_repairs_the_lora_fault_on_gfx1201_alone(gfx: str, repaired: bool) -> None:
    found = findings(torch("2.14.0+rocm10.1.0", "therock", env__=True), {"gfx": gfx})
    assert any(f.row.startswith("hipblaslt-lora") for f in found) is not repaired
