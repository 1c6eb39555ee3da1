from __future__ import annotations

from tool_texts import HIPINFO, gpus, run

from rocm_doctor.probes.tools import hipinfo


def test_hipinfo_counts_wgps_on_rdna_only() -> None:
    assert gpus(run(hipinfo, ("cmd/hipInfo", HIPINFO))) == [
        {
            "marketing_name": "AMD Radeon RX 7800 XT",
            "gfx": "gfx1101",
            "wavefront_size": 32,
            "vram_bytes": round(15.98 * 2**30),
            "is_apu": False,
            "pci_bdf": "0000:03:00.0",
        },
        {
            "marketing_name": "Device 66a1",
            "device_id": 0x66A1,
            "gfx": "gfx906",
            "wavefront_size": 64,
            "compute_units": 60,
            "is_apu": True,
            "pci_bdf": "0000:63:02.0",
        },
    ]


def test_lines_picked_out_with_grep() -> None:
    text = "gcnArchName:                      gfx1032\ngcnArchName:                      gfx1035\n"
    assert [gpu["gfx"] for gpu in gpus(run(hipinfo, ("cmd/hipinfo", text)))] == ["gfx1032", "gfx1035"]


def test_implausible_memory_of_the_windows_runtime_is_not_used() -> None:
    (gpu,) = gpus(run(hipinfo, ("cmd/hipinfo", "device#   0\ntotalGlobalMem:   0.16 GB\nisIntegrated:  0\n")))
    assert "vram_bytes" not in gpu
