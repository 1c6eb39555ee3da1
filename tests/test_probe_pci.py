"""The PCI bus: AMD's display devices and accelerators, claimed or not."""

from __future__ import annotations

from pathlib import Path

import pytest
from faketools import KFD, Card, artifacts, bare_machine, machine

from rocm_doctor.facts.merge import build
from rocm_doctor.probes.kernel.pci import probe
from rocm_doctor.probes.read.result import Artifacts
from rocm_doctor.sources.live.kernel import kernel_files

SLOT = "sys/bus/pci/devices/0000:03:00.0"


def test_claimed(tmp_path: Path) -> None:
    notes = probe(Artifacts(kernel_files(machine(tmp_path, Card()))))
    (gpu,) = notes.listings[0].gpus
    assert (gpu["pci_bdf"].value, gpu["device_id"].value, gpu["driver"].value) == ("0000:03:00.0", 0x744C, "amdgpu")
    assert notes.facts["pci.gpus"].value == 1


@pytest.mark.parametrize(("driver", "value"), [("", None), ("vfio-pci", "vfio-pci")])
def test_not_ours_to_use(tmp_path: Path, driver: str, value: str | None) -> None:
    (gpu,) = probe(Artifacts(kernel_files(machine(tmp_path, Card(driver=driver))))).listings[0].gpus
    assert gpu["driver"].value == value


def test_no_amd_device(tmp_path: Path) -> None:
    notes = probe(Artifacts(kernel_files(bare_machine(tmp_path))))
    assert notes.facts["pci.gpus"].value == 0
    assert notes.listings[0].gpus == []


def test_no_bus() -> None:
    notes = probe(artifacts({}, {"sys/bus/pci/devices": "absent-source"}))
    assert notes.facts["pci.gpus"].value is None
    assert notes.listings == []


@pytest.mark.parametrize(
    ("vendor", "kind", "counts"),
    [("1002", "30000", True), ("1002", "38000", True), ("1002", "120000", True), ("1002", "40300", False),
     ("1022", "60400", False), ("10DE", "30000", False), ("", "30000", False), ("1002", "junk", False)],
)  # fmt: skip
def test_which_devices_count(vendor: str, kind: str, counts: bool) -> None:
    notes = probe(artifacts({f"{SLOT}/uevent": f"PCI_CLASS={kind}\nPCI_ID={vendor}:744C\n"}))
    assert bool(notes.listings) is counts


def test_a_card_that_compute_does_not_know(tmp_path: Path) -> None:
    """Two on the bus, one in the topology: the other one has no node, and the first keeps its own."""
    from rocm_doctor.probes.kernel import kfd

    files = kernel_files(machine(tmp_path, Card(), Card(slot="0000:0a:00.0", device=0x6811)))
    have = Artifacts(a for a in files if not a.name.startswith(f"{KFD}/2/"))
    gpus = build([kfd.probe(have), probe(have)]).gpus
    assert [(gpu.get("pci_bdf").value, gpu.get("node").value) for gpu in gpus] == [("0000:03:00.0", 1), ("0000:0a:00.0", None)]
    assert gpus[1].get("node").known
    assert not gpus[0].get("node").disputed


def test_a_topology_that_may_not_be_read_decides_nothing(tmp_path: Path) -> None:
    files = [a for a in kernel_files(machine(tmp_path, Card())) if "kfd" not in a.name]
    have = Artifacts([*files, *artifacts({}, {f"{KFD}/1/properties": "denied"})])
    assert "node" not in probe(have).listings[0].gpus[0]
