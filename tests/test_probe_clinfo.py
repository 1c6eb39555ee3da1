from __future__ import annotations

from tool_texts import CLINFO_AMD, CLINFO_KHRONOS, gpus, run

from rocm_doctor.probes.tools import clinfo


def test_amd_program() -> None:
    assert gpus(run(clinfo, ("cmd/clinfo", CLINFO_AMD))) == [
        {
            "gfx": "gfx1032",
            "marketing_name": "AMD Radeon RX 6600",
            "pci_bdf": "0000:2d:00.0",
            "opencl_bytes": 8573157376,
            "vram_bytes": 8573157376,
        }
    ]


def test_khronos_program_on_an_apu() -> None:
    assert gpus(run(clinfo, ("cmd/clinfo", CLINFO_KHRONOS))) == [
        {
            "gfx": "gfx90c",
            "marketing_name": "AMD Radeon Graphics",
            "pci_bdf": "0000:03:00.0",
            "opencl_bytes": 2147483648,
            "compute_units": 7,
            "wavefront_size": 64,
        }
    ]


def test_no_device() -> None:
    notes = run(
        clinfo,
        ("cmd/clinfo", "Number of platforms: 1\n  Platform Name:  AMD Accelerated Parallel Processing\nNumber of devices:  0\n"),
    )
    assert [listing.gpus for listing in notes.listings] == [[]]
    assert run(clinfo, ("cmd/clinfo", "Number of platforms                               0\n")).listings == []


def test_other_vendors_are_left_out() -> None:
    other = CLINFO_AMD.replace("AMD Accelerated Parallel Processing", "NVIDIA CUDA").replace("gfx1032", "GeForce")
    assert run(clinfo, ("cmd/clinfo", other)).listings == []
    assert len(gpus(run(clinfo, ("cmd/clinfo", other + CLINFO_AMD)))) == 1


def test_short_list_and_lines_picked_out_with_grep() -> None:
    short = "Platform #0: AMD Accelerated Parallel Processing\n `-- Device #0: gfx1033\n +-- Device #1: gfx1100\n"
    assert [gpu["gfx"] for gpu in gpus(run(clinfo, ("cmd/clinfo -l", short)))] == ["gfx1033", "gfx1100"]
    picked = "  Device Board Name (AMD)     Device 67df\n  Device Board Name (AMD)     Radeon RX 480\n"
    assert [gpu["marketing_name"] for gpu in gpus(run(clinfo, ("cmd/clinfo", picked)))] == ["Device 67df", "Radeon RX 480"]
