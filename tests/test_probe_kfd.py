"""KFD topology: every GPU node in full, and nothing that the kernel does not say."""

from __future__ import annotations

from pathlib import Path

import pytest
from faketools import KFD, MI50, STRIX_HALO, Card, artifacts, machine
from hypothesis import given
from hypothesis import strategies as st

from rocm_doctor.model import Fact
from rocm_doctor.probes.kernel.kfd import address, gfx_name, probe
from rocm_doctor.probes.read.result import Artifacts, ProbeResult
from rocm_doctor.sources.live.kernel import kernel_files

NODE = (
    "cpu_cores_count 0\nsimd_count 416\nsimd_per_cu 4\nwave_front_size 64\n"
    "gfx_target_version 90010\ndevice_id 29711\nlocation_id 25344\n"
)


def gpus(notes: ProbeResult) -> list[dict[str, Fact]]:
    return [gpu for listing in notes.listings for gpu in listing.gpus]


def values(gpu: dict[str, Fact]) -> dict[str, object]:
    return {key: fact.value for key, fact in gpu.items()}


@pytest.mark.parametrize(
    ("version", "name"),
    [
        (90010, "gfx90a"), (90402, "gfx942"), (90500, "gfx950"), (90012, "gfx90c"), (110501, "gfx1151"), (120001, "gfx1201"),
        (80003, "gfx803"), (100306, "gfx1036"), (0, None), (-5, None), (99, None), (61234567, None), (901699, None),
    ],
)  # fmt: skip
def test_target_names(version: int, name: str | None) -> None:
    assert gfx_name(version) == name


@pytest.mark.parametrize(
    ("domain", "location", "text"),
    [
        (0, 25344, "0000:63:00.0"), (1, 0x4300 | 2 << 3 | 1, "0001:43:02.1"), (0, 0, None), (-1, 25344, None), (0, 1 << 20, None),
        (0x10000, 768, "10000:03:00.0"),
        (0, 0x0300 | 31 << 3, "0000:03:1f.0"),
    ],
)  # fmt: skip
def test_addresses(domain: int, location: int, text: str | None) -> None:
    assert address(domain, location) == text


def test_a_whole_machine(tmp_path: Path) -> None:
    notes = probe(Artifacts(kernel_files(machine(tmp_path, Card(), MI50))))
    first, second = map(values, gpus(notes))
    assert first == {
        "node": 1, "gfx": "gfx1100", "compute_units": 96, "wavefront_size": 32, "device_id": 0x744C, "pci_bdf": "0000:03:00.0",
        "render_node": "renderD128", "vram_bytes": 25753026560, "links": ("pcie:0",),
    }  # fmt: skip
    assert (second["gfx"], second["compute_units"]) == ("gfx906", 60)
    assert notes.facts["kfd.nodes"].value == 2
    assert notes.listings[0].complete


def test_readings_name_the_line() -> None:
    (gpu,) = gpus(probe(artifacts({f"{KFD}/1/properties": NODE})))
    reading = gpu["gfx"].readings[0]
    assert (reading.artifact, reading.place, reading.quote) == (f"{KFD}/1/properties", "line 5", "gfx_target_version 90010")


def test_a_modern_apu_is_not_called_a_card_nor_an_apu(tmp_path: Path) -> None:
    (gpu,) = gpus(probe(Artifacts(kernel_files(machine(tmp_path, STRIX_HALO)))))
    assert "is_apu" not in gpu
    assert gpu["gfx"].value == "gfx1151"


def test_an_old_apu_shares_its_node_with_the_processor() -> None:
    (gpu,) = gpus(probe(artifacts({f"{KFD}/0/properties": NODE.replace("cores_count 0", "cores_count 8")})))
    assert gpu["is_apu"].value is True


def test_partitions_stay_apart() -> None:
    nodes = {f"{KFD}/{n + 2}/properties": NODE.replace("25344", str(0x0500 | n)) for n in range(3)}
    assert [gpu["pci_bdf"].value for gpu in gpus(probe(artifacts(nodes)))] == ["0000:05:00.0", "0000:05:00.1", "0000:05:00.2"]


def test_old_kernels_state_less() -> None:
    """2018: no target, no domain; memory among the properties."""
    text = "simd_count 256\nsimd_per_cu 4\nlocation_id 6400\nlocal_mem_size 17163091968\n"
    (gpu,) = gpus(probe(artifacts({f"{KFD}/1/properties": text})))
    assert values(gpu) == {"node": 1, "compute_units": 64, "pci_bdf": "0000:19:00.0", "vram_bytes": 17163091968}


def test_system_memory_is_not_the_cards() -> None:
    texts = {f"{KFD}/1/properties": NODE, f"{KFD}/1/mem_banks/0/properties": "heap_type 0\nsize_in_bytes 99\n"}
    assert "vram_bytes" not in gpus(probe(artifacts(texts)))[0]


def test_no_topology_is_an_empty_list() -> None:
    notes = probe(artifacts({}, {"sys/class/kfd": "absent-source"}))
    assert [listing.gpus for listing in notes.listings] == [[]]
    assert notes.facts["kfd.nodes"].value == 0


def test_nobody_looked() -> None:
    assert probe(artifacts({})).listings == []


def test_a_node_kept_away_by_the_container() -> None:
    notes = probe(artifacts({f"{KFD}/1/properties": NODE}, {f"{KFD}/2/properties": "denied", f"{KFD}/2/gpu_id": "denied"}))
    assert notes.facts["kfd.denied"].value == ("nodes/2",)
    assert not notes.listings[0].complete


@given(st.integers(), st.integers())
def test_any_numbers_give_an_address_or_none(domain: int, location: int) -> None:
    found = address(domain, location)
    assert found is None or (domain >= 0 and found.endswith(f".{location & 7}"))


@given(st.text(), st.text())
def test_any_text_is_survived(properties: str, bank: str) -> None:
    probe(artifacts({f"{KFD}/1/properties": properties, f"{KFD}/1/mem_banks/0/properties": bank}))
