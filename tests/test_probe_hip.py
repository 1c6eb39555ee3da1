from __future__ import annotations

import pytest
from tool_texts import HIPCONFIG, HIPINFO, gpus, plain, run

from rocm_doctor.probes.tools import hip


def test_hipconfig() -> None:
    notes = run(hip, ("cmd/hipconfig --full", HIPCONFIG))
    assert plain(notes.facts) == {
        "hip.version": "6.4.43482-0f2d60242",
        "env.HIP_VISIBLE_DEVICES": "1",
        "kernel": "6.8.0-60-generic",
        "os": "Ubuntu 24.04.2 LTS",
    }


@pytest.mark.parametrize("line", ["HIP version  : 5.0.13601-6b731c37\n", "HIP version: 5.0.13601-6b731c37\n"])
def test_both_programs(line: str) -> None:
    assert plain(run(hip, ("paste/1-hipconfig", line)).facts) == {"hip.version": "5.0.13601-6b731c37"}


def test_version_of_an_unfinished_line_is_not_used() -> None:
    assert run(hip, ("paste/1-hipconfig", "HIP version: 6.4.434")).facts == {}


def test_hipinfo_counts_wgps_on_rdna_only() -> None:
    assert gpus(run(hip, ("cmd/hipInfo", HIPINFO))) == [
        {
            "marketing_name": "AMD Radeon RX 7800 XT",
            "gfx": "gfx1101",
            "isa": "amdgcn-amd-amdhsa--gfx1101",
            "wavefront_size": 32,
            "vram_bytes": round(15.98 * 2**30),
            "is_apu": False,
            "pci_bdf": "0000:03:00.0",
        },
        {
            "marketing_name": "Device 66a1",
            "device_id": 0x66A1,
            "gfx": "gfx906",
            "isa": "amdgcn-amd-amdhsa--gfx906:sramecc+:xnack-",
            "wavefront_size": 64,
            "compute_units": 60,
            "is_apu": True,
            "pci_bdf": "0000:63:02.0",
        },
    ]


def test_lines_picked_out_with_grep() -> None:
    text = "gcnArchName:                      gfx1032\ngcnArchName:                      gfx1035\n"
    assert [gpu["gfx"] for gpu in gpus(run(hip, ("cmd/hipinfo", text)))] == ["gfx1032", "gfx1035"]


def test_implausible_memory_of_the_windows_runtime_is_not_used() -> None:
    (gpu,) = gpus(run(hip, ("cmd/hipinfo", "device#   0\ntotalGlobalMem:   0.16 GB\nisIntegrated:  0\n")))
    assert "vram_bytes" not in gpu
