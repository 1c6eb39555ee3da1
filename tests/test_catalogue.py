"""What the catalogue adds: targets by PCI id and name, and an override that a chip's id betrays."""

from __future__ import annotations

from rocm_doctor.facts.enrich import enrich, gpu_names
from rocm_doctor.matrix import load
from rocm_doctor.model import Fact, Gpu, Reading, Snapshot

TOOL = (Reading("cmd/rocminfo", "line 1"),)
KERNEL = (Reading("sys/class/kfd/kfd/topology/nodes/1/properties", "line 1"),)


def enriched(readings: tuple[Reading, ...] = TOOL, **values: object) -> Gpu:
    facts = {name: Fact(value, readings) for name, value in values.items()}  # type: ignore[arg-type]
    return enrich(Snapshot({}, (Gpu(facts),), True), load()).gpus[0]


def test_the_catalog_tells_probes_of_apus_and_instincts() -> None:
    names = gpu_names(load())
    assert {"gfx90c", "gfx1013", "gfx1036", "gfx1151"} <= names.apus
    assert not names.apus & {"gfx906", "gfx942", "gfx1100"}
    assert {0x738C, 0x740F, 0x74A1, 0x75A0} <= names.accelerators
    assert not names.accelerators & {0x0C34, 0x744C, 0x471E}
