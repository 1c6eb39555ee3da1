"""What the catalog adds: targets by PCI id and name, and an override that a chip's id betrays."""

from __future__ import annotations

from rocm_doctor.facts.enrich import enrich, gpu_names
from rocm_doctor.matrix import load
from rocm_doctor.model import Fact, Gpu, Reading, Snapshot, Unknown

TOOL = (Reading("cmd/rocminfo", "line 1"),)
KERNEL = (Reading("sys/class/kfd/kfd/topology/nodes/1/properties", "line 1"),)


def enriched(readings: tuple[Reading, ...] = TOOL, **values: object) -> Gpu:
    facts = {name: Fact(value, readings) for name, value in values.items()}  # type: ignore[arg-type]
    return enrich(Snapshot({}, (Gpu(facts),), True), load()).gpus[0]


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


def test_the_catalog_tells_probes_of_instincts() -> None:
    names = gpu_names(load())
    assert {0x738C, 0x740F, 0x74A1, 0x75A0} <= names.accelerators
    assert not names.accelerators & {0x0C34, 0x744C, 0x471E}
