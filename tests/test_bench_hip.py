"""What `bench` reads of an AMD GPU from sysfs, on folders laid out as the kernel's documentation says. No AMD GPU was at hand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rocm_doctor.workers.bench import hip


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    return root


def device(root: Path) -> Path:
    """A GPU behind a bridge of fewer lanes."""
    bridge, gpu = "0000:00:01.0", "0000:00:01.0/0000:03:00.0"
    return tree(
        root,
        {
            f"{bridge}/max_link_width": "8",
            f"{bridge}/max_link_speed": "32.0 GT/s PCIe",
            f"{gpu}/max_link_width": "16",
            f"{gpu}/max_link_speed": "16.0 GT/s PCIe",
            f"{gpu}/current_link_width": "8",
            f"{gpu}/current_link_speed": "8.0 GT/s PCIe",
            f"{gpu}/pp_dpm_sclk": "0: 500Mhz\n1: 1200Mhz *\n2: 2482Mhz",
            f"{gpu}/power_dpm_force_performance_level": "auto",
            f"{gpu}/hwmon/hwmon4/freq1_input": "2300000000",
            f"{gpu}/hwmon/hwmon4/power1_average": "327000000",
            f"{gpu}/hwmon/hwmon4/power1_cap": "303000000",
            f"{gpu}/hwmon/hwmon4/power1_cap_default": "339000000",
            f"{gpu}/hwmon/hwmon4/temp1_input": "61000",
            f"{gpu}/hwmon/hwmon4/temp2_input": "94000",
        },
    ).joinpath(gpu)


def test_a_reading_has_clock_power_and_the_hottest_temperature(tmp_path: Path) -> None:
    assert hip.reading(device(tmp_path)) == {"clock_mhz": 2300.0, "power_watts": 327.0, "temperature_c": 94.0}


def test_the_limits_are_those_of_gpu_and_slot_together(tmp_path: Path) -> None:
    found = hip.limits(device(tmp_path))
    assert (found["link_width"], found["link_max_width"]) == (8, 8)
    assert (found["link_speed"], found["link_max_speed"]) == ("8.0 GT/s PCIe", "16.0 GT/s PCIe")
    assert (found["clock_max_mhz"], found["power_cap_watts"], found["power_default_watts"]) == (2482.0, 303.0, 339.0)
    assert found["profile"] == "auto"


def test_a_gpu_without_sensors_gives_nothing(tmp_path: Path) -> None:
    (tmp_path / "0000:03:00.0").mkdir()
    assert hip.reading(tmp_path / "0000:03:00.0") == {}
    assert hip.limits(tmp_path / "0000:03:00.0") == {}


def test_other_programs_on_the_gpu_are_found_and_we_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kfd = tree(
        tmp_path,
        {
            "topology/nodes/1/properties": "location_id 768\ndomain 0\nsimd_count 384",
            "topology/nodes/1/gpu_id": "31043",
            "proc/4711/vram_31043": "12884901888",
            "proc/4712/vram_31043": "0",
            f"proc/{os.getpid()}/vram_31043": "1048576",
        },
    )
    monkeypatch.setattr(hip, "KFD", kfd)
    monkeypatch.setattr("rocm_doctor.workers.smoke.hip.pci_address", lambda torch, index: "0000:03:00.0")
    assert hip.other_programs(None, 0) == [{"pid": 4711, "bytes": 12884901888}]
