from __future__ import annotations

import pytest
from tool_texts import CPU, DONE, HEAD, NPU, ROCMINFO, gpu_agent, gpus, plain, run

from rocm_doctor.probes.read.result import ProbeResult
from rocm_doctor.probes.tools import rocminfo


def read(text: str) -> ProbeResult:
    return run(rocminfo, ("cmd/rocminfo", text))


def test_whole_output_gives_the_card_and_not_the_processor() -> None:
    notes = read(ROCMINFO)
    assert gpus(notes) == [
        {
            "gfx": "gfx1100",
            "marketing_name": "AMD Radeon RX 7900 XTX",
            "uuid": "GPU-00000000000000aa",
            "device_id": 0x744C,
            "compute_units": 96,
            "wavefront_size": 32,
            "node": 1,
            "vram_bytes": 25149440 * 1024,
            "pci_bdf": "0000:03:00.0",
            "is_apu": False,
        }
    ]
    assert notes.listings[0].complete
    assert plain(notes.facts) == {"driver.loaded": True, "driver.version": "6.12.12", "runtime.version": "1.14"}


def test_reading_names_the_line() -> None:
    notes = read(ROCMINFO)
    units = notes.listings[0].gpus[0]["compute_units"].readings[0]
    number = int(units.place.removeprefix("line "))
    assert units.quote == "Compute Unit: 96" == " ".join(ROCMINFO.splitlines()[number - 1].split())


def test_npu_is_no_gpu_and_generic_isa_is_no_device() -> None:
    text = HEAD + CPU + gpu_agent(gfx="gfx1151", memory="APU", uuid="GPU-XX") + NPU + DONE
    (gpu,) = gpus(read(text))
    assert gpu["gfx"] == "gfx1151"
    assert gpu["is_apu"] is True
    assert "uuid" not in gpu


def test_processors_alone_are_a_complete_list_of_no_gpu() -> None:
    notes = read(HEAD + CPU + DONE)
    assert [listing.gpus for listing in notes.listings] == [[]]
    assert notes.listings[0].complete


def test_cut_list_is_not_complete() -> None:
    assert [listing.complete for listing in read(HEAD + CPU + gpu_agent()).listings] == [False]
    assert [listing.complete for listing in read(HEAD + CPU + "...\n" + gpu_agent() + DONE).listings] == [False]


def test_two_outputs_after_each_other_are_two_listings() -> None:
    assert [len(listing.gpus) for listing in read(ROCMINFO + ROCMINFO).listings] == [1, 1]


def test_equal_addresses_are_no_addresses() -> None:
    notes = read(HEAD + gpu_agent(number=1, bdfid=256) + gpu_agent(number=2, bdfid=256) + gpu_agent(number=3, bdfid=512) + DONE)
    assert [gpu.get("pci_bdf") for gpu in gpus(notes)] == [None, None, "0000:02:00.0"]


def test_layout_of_2018() -> None:
    text = """
HSA Agents
*******
Agent 2
*******
  Name:                    gfx900
  Marketing Name:          \n  Vendor Name:             AMD
  Device Type:             GPU
  Chip ID:                 26751
  Max Clock Frequency (MHz):1590
  BDFID:                   768
  Compute Unit:            56
  Wavefront Size:          64
  Pool Info:
    Pool 1
      Segment:                 GLOBAL; FLAGS: COARSE GRAINED
      Size:                    8372224KB
"""
    assert gpus(read(text)) == [
        {
            "gfx": "gfx900",
            "device_id": 0x687F,
            "compute_units": 56,
            "wavefront_size": 64,
            "vram_bytes": 8372224 * 1024,
            "pci_bdf": "0000:03:00.0",
        }
    ]


def test_old_flags_are_not_part_of_the_target() -> None:
    (gpu,) = gpus(read(gpu_agent(gfx="gfx902", flags="+xnack")))
    assert gpu["gfx"] == "gfx902"


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("  Name:                    gfx1100                \n  Name:                    gfx1036  \n", ["gfx1100", "gfx1036"]),
        ("      Name:                    amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack+\n", ["gfx90a"]),
        (
            "  Name:   gfx950    Marketing Name:   AMD Instinct MI350X    Name:   amdgcn-amd-amdhsa--gfx950:xnack-   Name: x\n",
            ["gfx950"],
        ),
        ("  Name: gfx90a\n      Name: amdgcn-amd-amdhsa--gfx90a\n      Name: amdgcn-amd-amdhsa--gfx9-generic\n", ["gfx90a"]),
        ("  Name: gfx11-generic\n  Name: gfx000\n", []),
    ],
)
def test_reduced_by_grep(text: str, want: list[str]) -> None:
    assert [gpu["gfx"] for gpu in gpus(read(text))] == want


def test_number_of_an_unfinished_line_is_not_used() -> None:
    text = ROCMINFO[: ROCMINFO.index("Compute Unit:            96") + len("Compute Unit:            9")]
    assert "compute_units" not in gpus(read(text))[0]


def test_hex_that_contradicts_is_not_used() -> None:
    assert "compute_units" not in gpus(read("Agent 2\n Name: gfx900\n Device Type: GPU\n Compute Unit: 64(0x41)\n"))[0]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("ROCk module is loaded", {"driver.loaded": True}),
        ("mROCk module is NOT loaded, possibly no GPU devices", {"driver.loaded": False}),
        (
            "Unable to open /dev/kfd read-write: Permission denied\nbob is not member of \"render\" group, the default DRM access group. Users\n",
            {"kfd.openable": False, "kfd.error": "Permission denied"},
        ),
        (
            "Unable to open /dev/kfd read-write: No such file or directory\n",
            {"kfd.openable": False, "kfd.exists": False, "kfd.error": "No such file or directory"},
        ),
        ("Unable to open /dev/kfd read-write: Permission den", {"kfd.openable": False}),
        ("hsa api call failure at line 900, file: x/rocminfo.cc. Call returned 4104\n", {"hsa.status": "HSA_STATUS_ERROR_OUT_OF_RESOURCES"}),
        ("Call returned HSA_STATUS_ERROR_INVALID_ISA: no\n", {"hsa.status": "HSA_STATUS_ERROR_INVALID_ISA"}),
        ("WSL environment detected.\nROCk module is NOT loaded\nhsa_init Failed, possibly no supported GPU devices\n", {"wsl": True, "hsa.status": "hsa_init failed"}),
    ],
)  # fmt: skip
def test_failures(text: str, want: dict[str, object]) -> None:
    notes = read(text)
    assert plain(notes.facts) == want
    assert notes.listings == []
