from __future__ import annotations

import pytest
from tool_texts import SMI_JSON, SMI_LIST, SMI_TABLE, gpus, plain, run

from rocm_doctor.probes.read.result import ProbeResult
from rocm_doctor.probes.tools import rocm_smi


def read(text: str) -> ProbeResult:
    return run(rocm_smi, ("cmd/rocm-smi", text))


def test_list() -> None:
    notes = read(SMI_LIST)
    assert gpus(notes) == [
        {
            "marketing_name": "AMD Radeon PRO W7900",
            "device_id": 0x7448,
            "node": 1,
            "gfx": "gfx1100",
            "pci_bdf": "0000:63:00.0",
            "vram_bytes": 48301604864,
        }
    ]
    assert notes.listings[0].complete


def test_table_since_6_1() -> None:
    assert gpus(read(SMI_TABLE)) == [
        {
            "node": 2,
            "device_id": 0x73BF,
            "power_cap_watts": 150,
            "vram_used_percent": 3,
        },
        {
            "node": 1,
            "device_id": 0x744C,
            "power_cap_watts": 213,
            "vram_used_percent": 0,
        },
    ]


def test_table_of_6_0_tells_a_cut_name_from_a_whole_one() -> None:
    text = """
Device  [Model : Revision]    Temp    Power  Partitions      SCLK     MCLK    Fan  Perf  PwrCap  VRAM%  GPU%
        Name (20 chars)       (Edge)  (Avg)  (Mem, Compute)
0       [0x471e : 0xc8]       28.0°C  79.0W  N/A, N/A        1484Mhz  456Mhz  0%   auto  303.0W    0%   25%
        0x744c
1       [0x0c34 : 0x02]       34.0°C  43.0W  N/A, N/A        800Mhz  1600Mhz  0%   auto  300.0W    0%   0%
        Instinct MI210
2       [0x74a1 : 0x00]       34.0°C  43.0W  NPS1, SPX       800Mhz  1600Mhz  0%   auto  300.0W    0%   0%
        Aqua Vanjaram [Insti
"""
    assert gpus(read(text)) == [
        {
            "subsystem_id": 0x471E,
            "device_id": 0x744C,
            "power_cap_watts": 303,
            "vram_used_percent": 0,
        },
        {"subsystem_id": 0x0C34, "marketing_name": "Instinct MI210", "power_cap_watts": 300, "vram_used_percent": 0},
        {"subsystem_id": 0x74A1, "device_id": 0x74A1, "power_cap_watts": 300, "vram_used_percent": 0},
    ]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("GPU  Temp (DieEdge)  AvgPwr  SCLK  MCLK  Fan  Perf  PwrCap  VRAM%  GPU%\n0    45.0c  N/A  None  2400Mhz  0%  auto  N/A 83% 0%\n", [{"vram_used_percent": 83}]),
        (
            "GPU  NODE  DID     GUID   GFX VER  GFX RAS  BUS           PARTITION ID\n0    4     0x74a0  3877   gfx942   ENABLED  0001:01:00.0  2\n",
            [{"node": 4, "device_id": 0x74A0, "gfx": "gfx942", "pci_bdf": "0001:01:00.0"}],
        ),
    ],
)  # fmt: skip
def test_other_tables(text: str, want: list[dict[str, object]]) -> None:
    assert gpus(read("==== ROCm System Management Interface ====\n" + text)) == want


def test_gap_in_the_numbers_or_a_missing_end_is_not_complete() -> None:
    assert not read("GPU[1] : PCI Bus: 0000:03:00.0\n").listings[0].complete
    assert not read(SMI_LIST[: SMI_LIST.index("=== End")] + "\n").listings[0].complete


def test_json_with_a_warning_before_it() -> None:
    notes = read(SMI_JSON)
    assert gpus(notes) == [
        {
            "marketing_name": "AMD Radeon RX 6800",
            "device_id": 0x73BF,
            "pci_bdf": "0000:0a:00.0",
            "vram_bytes": 17163091968,
            "node": 1,
            "gfx": "gfx1030",
        }
    ]
    assert plain(notes.facts) == {"driver.version": "6.12.12", "driver.loaded": True}


def test_names_that_are_none() -> None:
    text = "GPU[0] : Card series: 0x1002\nGPU[1] : Card series: 0x740f\nGPU[2] : Card series: Instinct MI210Card series:  Instinct MI210\nGPU[3] : Card model: 0x0c34\n"
    assert gpus(read(text)) == [{}, {"device_id": 0x740F}, {}, {"subsystem_id": 0x0C34}]


def test_error_lines_count_the_gpu_and_nothing_else() -> None:
    assert gpus(
        read("GPU[0]\t\t: get_power_avg, Not supported on the given system\nERROR: GPU[0]\t: sclk clock is unsupported\n")
    ) == [{}]


def test_no_gpu_and_no_driver() -> None:
    assert plain(read("ERROR:root:Driver not initialized (amdgpu not found in modules)\n").facts) == {"driver.loaded": False}
    (listing,) = read(" ROCm System Management Interface\nWARNING: No AMD GPUs specified\n--- End of ROCm SMI Log ---\n").listings
    assert listing.complete
    assert listing.gpus == []
    assert read("").listings == []
