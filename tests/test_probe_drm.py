"""DRM sysfs: what amdgpu tells of the cards it has claimed."""

from __future__ import annotations

from pathlib import Path

from faketools import KFD, STRIX_HALO, Card, artifacts, machine, write

from rocm_doctor.probes.kernel.drm import probe
from rocm_doctor.probes.read.result import Artifacts
from rocm_doctor.sources.live.kernel import kernel_files

SEAT = "sys/class/drm/card0/device"


def test_a_card(tmp_path: Path) -> None:
    files = [a for a in kernel_files(machine(tmp_path, Card())) if "kfd" not in a.name]
    (listing,) = probe(Artifacts(files)).listings
    (gpu,) = listing.gpus
    assert {key: fact.value for key, fact in gpu.items()} == {
        "pci_bdf": "0000:03:00.0", "driver": "amdgpu", "gtt_bytes": 33285996544, "carveout_bytes": 25753026560, "link_width": 16,
        "vram_used_bytes": 20000000,
        "vram_bytes": 25753026560, "link_max_width": 16, "device_id": 0x744C, "link_speed": "16.0 GT/s",
        "numa_node": None,
    }  # fmt: skip
    assert not listing.complete


def test_the_topology_decides_what_an_apu_can_allocate(tmp_path: Path) -> None:
    """DRM tells the carve-out; the memory bank of KFD may hold main memory as well."""
    (listing,) = probe(Artifacts(kernel_files(machine(tmp_path, STRIX_HALO)))).listings
    assert listing.gpus[0]["carveout_bytes"].value == 536870912
    assert "vram_bytes" not in listing.gpus[0]


def test_the_slot_and_not_the_cards_own_switch(tmp_path: Path) -> None:
    """Behind the switch of the card the link is always x16; what counts is the link of the slot above it."""
    machine(tmp_path, Card())
    bridge = {"vendor": "0x1002\n", "class": "0x060400\n", "current_link_width": "16\n"}
    upstream = "sys/devices/pci0000:00/0000:00:01.1/0000:01:00.0"
    place = f"{upstream}/0000:02:00.0/0000:03:00.0"
    write(
        tmp_path,
        {
            f"{upstream}/{name}": text
            for name, text in {**bridge, "current_link_width": "4\n", "current_link_speed": "8.0 GT/s PCIe\n"}.items()
        },
    )
    write(tmp_path, {f"{upstream}/0000:02:00.0/{name}": text for name, text in bridge.items()})
    (tmp_path / SEAT).rename(tmp_path / place)
    (tmp_path / SEAT).symlink_to(tmp_path / place)
    (gpu,) = probe(Artifacts(kernel_files(tmp_path))).listings[0].gpus
    assert (gpu["link_width"].value, gpu["link_speed"].value) == (4, "8.0 GT/s")
    assert gpu["link_width"].readings[0].artifact == f"{SEAT}/.link"


def test_other_vendors_are_left_alone() -> None:
    assert probe(artifacts({f"{SEAT}/vendor": "0x10de\n", f"{SEAT}/device": "0x2684\n"})).listings == []


def test_connectors_are_no_cards() -> None:
    assert probe(artifacts({"sys/class/drm/card0-DP-1/device/vendor": "0x1002\n"})).listings == []


def test_only_what_is_stated() -> None:
    texts = {
        f"{SEAT}/vendor": "0x1002\n",
        f"{SEAT}/current_link_speed": "Unknown\n",
        f"{SEAT}/mem_info_vram_total": "0\n",
        f"{SEAT}/product_name": "\n",
    }
    (gpu,) = probe(artifacts(texts)).listings[0].gpus
    assert gpu == {}


def test_both_files_of_memory_are_needed_from_the_same_card() -> None:
    texts = {
        f"{SEAT}/vendor": "0x1002\n",
        "sys/class/drm/card1/device/vendor": "0x1002\n",
        f"{SEAT}/mem_info_vram_total": "8573157376\n",
    }
    first, second = probe(artifacts({**texts, f"{KFD}/0/properties": ""})).listings[0].gpus
    assert first["vram_bytes"].value == 8573157376
    assert second == {}
