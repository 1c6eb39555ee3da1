"""What the catalogue adds: targets by PCI id and name, and an override that a chip's id betrays."""

from __future__ import annotations

import pytest

from rocm_doctor.binaries import targets
from rocm_doctor.binaries.targets import GENERIC, PROCESSORS, SELECTABLE
from rocm_doctor.facts.enrich import enrich
from rocm_doctor.matrix import load
from rocm_doctor.model import Fact, Gpu, Reading, Snapshot, Unknown

TOOL = (Reading("cmd/rocminfo", "line 1"),)
KERNEL = (Reading("sys/class/kfd/kfd/topology/nodes/1/properties", "line 1"),)


def enriched(readings: tuple[Reading, ...] = TOOL, **values: object) -> Gpu:
    facts = {name: Fact(value, readings) for name, value in values.items()}  # type: ignore[arg-type]
    return enrich(Snapshot({}, (Gpu(facts),), True), load()).gpus[0]


@pytest.mark.parametrize(("number", "device"), [(0x74A1, 0x74A1), (0x0C34, None), (0x471E, None)])
def test_the_subsystem_id_of_an_instinct_is_its_device_id(number: int, device: int | None) -> None:
    assert (enriched(subsystem_id=number).get("device_id").value == number) is (device is not None)
    assert enriched(subsystem_id=number, device_id=0x740F).get("device_id").value == 0x740F


@pytest.mark.parametrize(("gfx", "own"), [("gfx1100", True), ("gfx942", True), ("gfx1151", False), ("gfx1013", False)])
def test_opencls_memory_of_an_apu_is_not_its_own(gfx: str, own: bool) -> None:
    assert (enriched(gfx=gfx, opencl_bytes=2**34).get("vram_bytes").value == 2**34) is own
    assert enriched(gfx="gfx1100", opencl_bytes=2**34, vram_bytes=2**33).get("vram_bytes").value == 2**33


def test_a_target_from_the_pci_id() -> None:
    gpu = enriched(device_id=0x744C)
    assert gpu.get("gfx").value == "gfx1100"
    assert gpu.get("family").value == "RDNA3"
    assert gpu.get("is_apu").value is False


def test_an_override_is_betrayed_by_the_chip() -> None:
    gpu = enriched(gfx="gfx1030", device_id=0x73DF)
    assert (gpu.get("gfx").value, gpu.get("gfx_reported").value) == ("gfx1031", "gfx1030")


def test_the_kernel_is_believed_over_the_table() -> None:
    gpu = enriched(KERNEL, gfx="gfx1030", device_id=0x73DF)
    assert gpu.get("gfx").value == "gfx1030"


def test_a_target_from_a_name() -> None:
    assert enriched(marketing_name="AMD Radeon RX 7900 XTX").get("gfx").value == "gfx1100"


def test_a_name_that_fits_several_targets_stays_ambiguous() -> None:
    value = enriched(marketing_name="AMD Radeon 840M").get("gfx").value
    assert isinstance(value, Unknown)
    assert set(value.candidates) == {"gfx1152", "gfx1153"}


def test_what_was_read_is_not_written_over() -> None:
    assert enriched(gfx="gfx1100", wavefront_size=64).get("wavefront_size").value == 64
    assert enriched(gfx="gfx1100", wavefront_size=None).get("wavefront_size").value == 32


def test_the_catalogue_and_the_code_objects_agree_on_targets() -> None:
    """gfx.yaml describes cards, binaries/targets.py the format of code objects: what both say is the same."""
    for target in load().gfx.values():
        assert not target.generic or target.gfx in targets.GENERIC[target.generic], target.gfx
        assert target.xnack is (target.gfx in targets.SELECTABLE["xnack"]), target.gfx
        assert target.sramecc is (target.gfx in targets.SELECTABLE["sramecc"]), target.gfx
        assert target.gfx in targets.PROCESSORS


def test_the_catalog_and_the_reader_of_code_objects_agree_on_features() -> None:
    for target in load().gfx.values():
        assert target.gfx in PROCESSORS
        assert not target.generic or target.gfx in GENERIC[target.generic]
        assert (target.gfx in SELECTABLE["xnack"], target.gfx in SELECTABLE["sramecc"]) == (target.xnack, target.sramecc)
