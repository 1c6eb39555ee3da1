"""The kernel driver: loaded, whose, with which parameters, and kept away by what."""

from __future__ import annotations

from pathlib import Path

import pytest
from faketools import Card, artifacts, bare_machine, machine

from rocm_doctor.model import Artifact, Why
from rocm_doctor.probes.kernel.driver import MODULE, probe
from rocm_doctor.probes.read.result import Artifacts
from rocm_doctor.sources.live.kernel import kernel_files


def values(texts: dict[str, str], missing: dict[str, Why] | None = None) -> dict[str, object]:
    return {key: fact.value for key, fact in probe(artifacts(texts, missing)).facts.items()}


def test_dkms(tmp_path: Path) -> None:
    facts = probe(Artifacts(kernel_files(machine(tmp_path, Card(), dkms="6.12.12")))).facts
    got = {key: facts[key].value for key in ("driver.loaded", "driver.version")}
    assert got == {"driver.loaded": True, "driver.version": "6.12.12"}


def test_the_kernels_own(tmp_path: Path) -> None:
    facts = probe(Artifacts(kernel_files(machine(tmp_path, Card())))).facts
    assert facts["driver.version"].value is None


def test_not_loaded(tmp_path: Path) -> None:
    facts = probe(Artifacts(kernel_files(bare_machine(tmp_path)))).facts
    assert facts["driver.loaded"].value is False
    assert facts["driver.version"].value is None


@pytest.mark.parametrize(
    ("texts", "missing", "loaded"),
    [
        ({"proc/modules": "amdgpu 17100800 12 - Live 0x0\n"}, {}, True),
        ({f"{MODULE}/parameters/dpm": "-1\n"}, {}, True),
        ({f"{MODULE}/initstate": "coming\n"}, {}, False),
        ({}, {MODULE: "absent-source", "proc/modules": "absent-source"}, False),
        ({}, {"proc/modules": "absent-source"}, None),
        ({}, {MODULE: "denied"}, None),
    ],
)
def test_who_says_that_it_is_loaded(texts: dict[str, str], missing: dict[str, Why], loaded: bool | None) -> None:
    """No list of modules says nothing; no folder of the module says that it is neither loaded nor built in."""
    assert values(texts, missing).get("driver.loaded") is loaded


@pytest.mark.parametrize(
    ("line", "kept_away"),
    [
        ("blacklist amdgpu", True),
        ("install amdgpu /bin/false", True),
        ("# blacklist amdgpu", False),
        ("options amdgpu noretry=0", False),
    ],
)
def test_blacklists(line: str, kept_away: bool) -> None:
    got = values({"etc/modprobe.d/blacklist.conf": f"{line}\n"})
    assert got.get("driver.blacklisted") == ("etc/modprobe.d/blacklist.conf" if kept_away else None)


def test_a_file_that_gives_amd_devices_to_vfio() -> None:
    assert (
        values({"etc/modprobe.d/v.conf": "options vfio-pci disable_vga=1 ids=10de:1b80,1002:73bf\n"})["driver.vfio"]
        == "etc/modprobe.d/v.conf"
    )
    assert "driver.vfio" not in values({"etc/modprobe.d/v.conf": "options vfio-pci ids=10de:1b80\n"})


def test_pages_for_gpus() -> None:
    got = values(
        {"sys/module/ttm/parameters/pages_limit": "16302454\n", "sys/module/amdttm/parameters/pages_limit": "27648000\n"}
    )
    assert got["ttm.pages_limit"] == 27648000


@pytest.mark.parametrize(("listing", "there"), [("", False), ("kernel/drivers/gpu/drm/amd/amdgpu/amdgpu.ko.zst: x.ko\n", True)])
def test_a_kernel_without_the_module_is_told_from_one_that_did_not_load_it(listing: str, there: bool) -> None:
    artifacts = [
        Artifact(MODULE, "live", missing="absent-source", note="No such file or directory"),
        Artifact("lib/modules/6.14.0-36-generic/modules.dep", "live", listing),
    ]
    got = {key: fact.value for key, fact in probe(Artifacts(artifacts)).facts.items()}
    assert (got["driver.loaded"], got["driver.on_disk"]) == (False, there)
    assert "driver.on_disk" not in probe(Artifacts(artifacts[:1])).facts
