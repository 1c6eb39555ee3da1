"""The rules on versions: what torch is, what goes with it, which ROCm it loads, and the driver's window."""

from __future__ import annotations

from typing import Any

import pytest
from matrix_machines import MATRIX, Facts, findings, loud, torch

from rocm_doctor.rules.driver_range import driver_release, outside

NAVI31: Facts = {"gfx": "gfx1100"}


def ids(found: list[Any], prefix: str) -> list[tuple[str, str]]:
    return [(f.id, f.severity) for f in found if f.id.startswith(prefix)]


@pytest.mark.parametrize(("version", "build"), [("2.9.1+cu128", "cuda"), ("2.9.1+cpu", "cpu"), ("2.9.1", "cpu")])
def test_a_cuda_or_cpu_torch_beside_an_amd_gpu(version: str, build: str) -> None:
    facts = {**torch("2.9.1+rocm6.4"), "torch.version": version, "torch.build": build, "torch.family": None, "torch.rocm": None}
    assert ids(findings(facts, NAVI31), "version.") == [("version.torch-not-rocm", "error")]
    assert ids(findings(facts), "version.") == []  # nobody can blame torch where there is no AMD GPU


@pytest.mark.parametrize(
    ("packages", "wrong"),
    [
        ({"pkg__torchvision": "0.24.1+rocm6.4", "pkg__torchaudio": "2.9.1+rocm6.4", "pkg__pytorch-triton-rocm": "3.5.1"}, []),
        ({"pkg__torchvision": "0.23.0+rocm6.4"}, ["torchvision"]),
        ({"pkg__torchvision": "0.24.1+cu128"}, ["torchvision"]),
        ({"pkg__torchvision": "0.24.1+cpu"}, ["torchvision"]),
        ({"pkg__torchaudio": "2.8.0"}, ["torchaudio"]),
        ({"pkg__pytorch-triton-rocm": None, "pkg__triton": "3.5.1"}, ["triton"]),
        ({"pkg__pytorch-triton-rocm": "3.3.0"}, ["triton"]),
        ({}, []),
    ],
)
def test_companions(packages: dict[str, Any], wrong: list[str]) -> None:
    found = findings(torch("2.9.1+rocm6.4", **packages), NAVI31)
    assert [f.subject for f in found if f.id == "version.companion-mismatch"] == wrong


def test_companions_of_later_torch_are_not_pinned() -> None:
    assert not loud(findings(torch("2.14.0+rocm7.2", pkg__torchvision="0.29.2+rocm7.2", pkg__torchaudio="2.11.0"), NAVI31))


@pytest.mark.parametrize("system", ["6.2.4", "6.4.3", "7.2.1", "7.14.0", "10.1.0", None])
def test_a_bundled_wheel_never_mismatches_the_system(system: str | None) -> None:
    found = findings(torch("2.9.1+rocm6.4", rocm__version=system), NAVI31)
    assert ids(found, "version.rocm") == []


def test_a_bundled_wheel_with_another_rocm_on_the_loader_path() -> None:
    more: dict[str, Any] = {"rocm__on_path": ("/opt/rocm-7.1.0/lib=7.1.0",), "env__LD_LIBRARY_PATH": "/opt/rocm-7.1.0/lib"}
    assert ids(findings(torch("2.9.1+rocm6.4", **more), NAVI31), "version.rocm") == [("version.rocm-mismatch", "warning")]
    same: dict[str, Any] = {"rocm__on_path": ("/opt/rocm-6.4.1/lib=6.4.1",)}
    assert ids(findings(torch("2.9.1+rocm6.4", **same), NAVI31), "version.rocm") == []


@pytest.mark.parametrize(
    ("version", "family", "packages", "severity"),
    [
        ("2.14.1+rocm7.14", "rpath-packages", "7.14.1", ""),
        ("2.14.1+rocm7.14", "rpath-packages", "7.14.0", ""),
        ("2.14.1+rocm7.14", "rpath-packages", "10.0.0", "error"),
        ("2.13.0+rocm10.0.0", "therock", "10.0.0", ""),
        ("2.9.1+rocm7.11.0a20260118", "therock", "7.11.0a20260118", ""),
        ("2.9.1+rocm7.11.0a20260118", "therock", "7.11.0a20260203", "warning"),
        ("2.9.1+rocm7.11.0a20260118", "therock", "7.12.0a20260203", "error"),
    ],
)
def test_the_rocm_core_beside_its_torch(version: str, family: str, packages: str, severity: str) -> None:
    more: dict[str, Any] = {
        "pkg__rocm-sdk-core": packages,
        "rocm__version": packages,
        "rocm__source": "wheels",
        "torch__device_dists": ("gfx1100",),
    }
    found = findings(torch(version, family, **more), NAVI31)
    assert [f.severity for f in found if f.id == "version.rocm-mismatch" and not f.row] == ([severity] if severity else [])


@pytest.mark.parametrize(
    ("package", "version", "severity"),
    [
        ("rocm-sdk-libraries", "10.1.0", ""), ("rocm-sdk-libraries", "10.0.0", "error"), ("rocm-sdk-device-gfx1100", "7.14.0", "error"),
        ("rocm-sdk-devel", "10.1.1", "warning"), ("amd-torch-device-gfx1100", "2.14.0+rocm10.1.0", ""),
        ("amd-torch-device-gfx1100", "2.13.0+rocm10.1.0", "error"), ("amd-torch-device-gfx1100", "2.14.0+rocm10.0.0", "error"),
    ],
)  # fmt: skip
def test_every_rocm_package_has_the_release_that_torch_pins(package: str, version: str, severity: str) -> None:
    more: dict[str, Any] = {"pkg__rocm-sdk-core": "10.1.0", f"pkg__{package}": version, "rocm__source": "wheels"}
    found = findings(torch("2.14.0+rocm10.1.0", "therock", torch__device_dists=("gfx1100",), **more), NAVI31)
    wrong = [f for f in found if f.id == "version.rocm-mismatch" and not f.row]
    assert [f.severity for f in wrong] == ([severity] if severity else [])
    assert all(f"{package} {version}" in f.title for f in wrong)


@pytest.mark.parametrize(("system", "severity"), [("6.4.1", ""), ("6.3.0", "warning"), ("7.1.0", "error"), (None, "")])
def test_a_source_build_uses_the_system(system: str | None, severity: str) -> None:
    facts = {**torch("2.9.1", "source", rocm__version=system), "torch.rocm": "6.4", "torch.hip": "6.4.43483"}
    found = [f for f in findings(facts, NAVI31) if f.id == "version.rocm-mismatch"]
    assert [f.severity for f in found] == ([severity] if severity else [])


@pytest.mark.parametrize(
    ("module", "release"),
    [
        ("6.12.12", "6.4"),
        ("6.14.14-2204008.24.04", "30.10"),
        ("6.16.13-2278356", "30.30"),
        ("6.16.13", "30.30"),
        ("6.10.5-2125197", "6.3"),
        ("5.18.13", None),
        ("", None),
    ],
)
def test_the_release_of_a_module(module: str, release: str | None) -> None:
    assert driver_release(module, MATRIX) == release


@pytest.mark.parametrize(
    ("driver", "rocm", "side"),
    [
        ("6.4", "6.4.1", None),
        ("6.4", "7.0.2", None),
        ("30.30", "7.2.1", None),
        ("30.30", "7.14.0", None),
        ("6.1", "6.3.0", None),
        ("6.1", "7.2.0", "older"),
        ("6.4", "10.1.0", "older"),
        ("30.30", "6.0.0", "newer"),
        ("99.1", "7.0.0", None),
    ],
)
def test_the_window_of_a_driver(driver: str, rocm: str, side: str | None) -> None:
    assert outside(driver, rocm, MATRIX) == side


def test_an_old_driver_is_a_warning_and_the_kernels_own_is_nothing() -> None:
    found = findings(torch("2.11.0+rocm7.2", driver__version="6.7.0"), NAVI31)
    assert ids(found, "version.driver") == [("version.driver-mismatch", "warning")]
    assert ids(findings(torch("2.11.0+rocm7.2", driver__version=None), NAVI31), "version.driver") == []


@pytest.mark.parametrize("module", ["6.3.6", "6.2.4", "5.13.20"])
def test_a_driver_below_every_one_of_the_catalog_is_no_better_than_the_lowest(module: str) -> None:
    assert ids(findings(torch("2.11.0+rocm7.2", driver__version=module), NAVI31), "version.driver") == [
        ("version.driver-mismatch", "warning")
    ]
    assert ids(findings(torch("2.9.1+rocm6.3", driver__version=module), NAVI31), "version.driver") == []


def test_an_old_display_driver_on_windows() -> None:
    facts = torch("2.12.0+rocm7.14.0", "therock", platform="windows", driver__windows="26.1.1", torch__device_dists=("gfx1100",))
    assert ids(findings(facts, NAVI31), "version.driver") == [("version.driver-mismatch", "warning")]
    facts["driver.windows"] = "26.8.1"
    assert ids(findings(facts, NAVI31), "version.driver") == []


@pytest.mark.parametrize(
    ("gfx", "version", "noted"),
    [
        ("gfx906", "2.9.1+rocm6.3", "users report"),
        ("gfx906", "2.4.1+rocm6.0", "another page of AMD's has it as deprecated"),
        ("gfx1100", "2.9.1+rocm6.3", ""),
        ("gfx942", "2.13.0+rocm7.2", ""),
        ("gfx1151", "2.13.0+rocm7.2", ""),
        ("gfx1031", "2.9.1+rocm6.3", "AMD does not list"),
    ],
)
def test_tables_that_leave_a_card_out_are_a_note_beside_what_others_say(gfx: str, version: str, noted: str) -> None:
    found = [f for f in findings(torch(version), {"gfx": gfx}) if f.id == "arch.not-listed"]
    assert [f.severity for f in found] == (["note"] if noted else [])
    assert all(noted in f.title and len(f.sources) >= 1 and any(r.artifact == "matrix" for r in f.evidence) for f in found)
