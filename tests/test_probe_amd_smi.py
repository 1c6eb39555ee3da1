from __future__ import annotations

import pytest
from tool_texts import AMD_BOX, AMD_JSON, AMD_MONITOR, AMD_STATIC, gpus, plain, run

from rocm_doctor.probes.read.result import ProbeResult
from rocm_doctor.probes.tools import amd_smi


def read(text: str) -> ProbeResult:
    return run(amd_smi, ("cmd/amd-smi", text))


def test_static_tree_passes_over_processors() -> None:
    notes = read(AMD_STATIC)
    assert gpus(notes) == [
        {
            "marketing_name": "AMD Instinct MI300A",
            "device_id": 0x74A0,
            "compute_units": 228,
            "gfx": "gfx942",
            "pci_bdf": "0001:01:00.0",
            "numa_node": 1,
            "vram_bytes": 96432 * 2**20,
        }
    ]
    assert plain(notes.facts) == {"driver.version": "6.14.4", "driver.loaded": True}


def test_box_does_not_take_a_cut_name() -> None:
    notes = read(AMD_BOX)
    assert gpus(notes) == [
        {
            "pci_bdf": "0000:04:00.0",
            "marketing_name": "AMD Radeon RX 9070 XT",
            "vram_bytes": 16304 * 2**20,
            "vram_used_bytes": 84 * 2**20,
            "power_cap_watts": 304,
        },
        {"pci_bdf": "0000:07:00.0", "vram_bytes": 32624 * 2**20, "vram_used_bytes": 347 * 2**20, "power_cap_watts": 304},
    ]
    assert plain(notes.facts) == {
        "rocm.version": "7.2.0",
        "driver.version": None,
        "driver.loaded": True,
        "virtual_machine": None,
    }


def test_monitor_with_its_line_of_versions() -> None:
    notes = read(AMD_MONITOR)
    memory = {"vram_bytes": 196300 * 2**20, "vram_used_bytes": 283 * 2**20}
    assert gpus(notes) == [{**memory}, {**memory}]
    assert plain(notes.facts) == {
        "rocm.version": "6.4.0",
        "driver.version": "6.12.12",
        "driver.loaded": True,
    }


def test_json_with_trailing_commas_and_dots() -> None:
    notes = read(AMD_JSON)
    assert gpus(notes) == [
        {
            "marketing_name": "AMD Radeon Graphics",
            "device_id": 0x1586,
            "compute_units": 40,
            "gfx": "gfx1151",
            "pci_bdf": "0000:c5:00.0",
            "vram_bytes": 98304 * 2**20,
        }
    ]
    assert plain(notes.facts)["kernel"] == "6.17.0-8-generic"


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ('[{"gpu": 1, "bdf": "0000:23:00.0", "uuid": "00ff74a1-0000-1000-8000-0000000000d1"}]\n',
         [{"pci_bdf": "0000:23:00.0", "uuid": "00ff74a1-0000-1000-8000-0000000000d1", "device_id": 0x74A1}]),
        ("GPU: 0\n    BDF: 0000:C5:00.0\n    UUID: 00ff1586-0000-1000-8000-000000000000\n    NODE_ID: 1\n", [{"pci_bdf": "0000:c5:00.0", "device_id": 0x1586, "node": 1}]),
        ("GPU: 0\n    ASIC:\n        MARKET_NAME: N/A\n        TARGET_GRAPHICS_VERSION: N/A\n    VRAM:\n        SIZE: N/A\n", [{}]),
        ("MARKET_NAME: Radeon 8060S Graphics\nTARGET_GRAPHICS_VERSION: gfx1151\nMARKET_NAME: Radeon Two\n", [{"marketing_name": "Radeon 8060S Graphics", "gfx": "gfx1151"}, {"marketing_name": "Radeon Two"}]),
        ('{\n  "type": "HBM",\n  "vendor": "N/A",\n  "size": {"value": 196592, "unit": "MB"}\n}\n', [{"vram_bytes": 196592 * 2**20}]),
        ('[{"gpu": 0, "links": [{"gpu": 1, "bdf": "0000:26:00.0"}]}]\n', [{}]),
        ("GPU: 0\n    MEM_USAGE:\n        TOTAL_VRAM: 8048 MB\n        USED_VRAM: 7 MB\n", [{"vram_bytes": 8048 * 2**20, "vram_used_bytes": 7 * 2**20}]),
    ],
)  # fmt: skip
def test_other_forms(text: str, want: list[dict[str, object]]) -> None:
    assert gpus(read(text)) == want


def test_versions() -> None:
    assert plain(
        read('[{"tool": "AMDSMI Tool", "version": "26.0", "rocm_version": "7.0.2", "amdgpu_version": "6.14.14"}]\n').facts
    ) == {
        "rocm.version": "7.0.2",
        "driver.version": "6.14.14",
        "driver.loaded": True,
    }
    assert plain(read("AMDSMI Tool: 1 | AMDSMI Library version: 2 | ROCm version: N/A\n").facts) == {}
    assert plain(read("AMDSMI Tool: 1 | ROCm version: 7.0.2 | amdgpu version: 6.14.1").facts) == {"rocm.version": "7.0.2"}


def test_driver_missing() -> None:
    notes = read("ERROR:root:Unable to get devices, driver not initialized (amdgpu not found in modules)\n")
    assert plain(notes.facts) == {"driver.loaded": False}
    assert notes.listings == []
