"""`watch` on simulated sysfs trees, and on a real process that computes on the CPU."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from rocm_doctor import watch
from rocm_doctor.cli import cli

GIB = 1 << 30
HEALTHY = {
    "gpu_busy_percent": 99, "mem_busy_percent": 60, "mem_info_vram_total": 16 * GIB, "mem_info_vram_used": 9 * GIB, "mem_info_gtt_total": 16 * GIB,
    "mem_info_gtt_used": 64 << 20, "current_link_width": 16, "max_link_width": 16, "hwmon/hwmon3/power1_average": 180_000_000,
    "hwmon/hwmon3/power1_cap": 225_000_000, "hwmon/hwmon3/temp2_input": 71_000, "hwmon/hwmon3/temp2_crit": 110_000,
    "pp_dpm_sclk": "0: 500Mhz\n1: 1725Mhz *\n",
}  # fmt: skip


def machine(root: Path, **changes: object) -> Path:
    """A machine with one AMD GPU; a changed name has `__` for a slash."""
    device = root / "class/drm/card1/device"
    for name, value in {"vendor": "0x1002", **HEALTHY, **{k.replace("__", "/"): v for k, v in changes.items()}}.items():
        path = device / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{value}\n")
    return root


def spinning() -> Iterator[int]:
    with subprocess.Popen([sys.executable, "-c", "print(flush=True)\nwhile True: pass"], stdout=subprocess.PIPE) as child:
        assert child.stdout
        child.stdout.readline()
        yield child.pid
        child.kill()


def sleeping() -> Iterator[int]:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as child:
        yield child.pid
        child.kill()


busy = pytest.fixture(spinning, name="busy")
idle = pytest.fixture(sleeping, name="idle")


def causes(found: watch.Watched) -> list[str]:
    return [cause.id for cause in found.causes]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "computes"),
        ({"hwmon__hwmon3__power1_average": 224_000_000, "pp_dpm_sclk": "0: 500Mhz\n1: 1200Mhz *\n2: 1725Mhz\n"}, "power"),
        ({"hwmon__hwmon3__temp2_input": 108_000, "pp_dpm_sclk": "0: 900Mhz *\n1: 1725Mhz\n"}, "heat"),
        ({"mem_info_vram_used": int(15.9 * GIB), "mem_info_gtt_used": 6 * GIB}, "spill"),
        ({"gpu_busy_percent": 2}, "stopped"),
        ({"gpu_busy_percent": 40}, "unknown"),
    ],
)
def test_a_simulated_machine_and_a_process_that_sleeps(
    tmp_path: Path, idle: int, changes: dict[str, object], expected: str
) -> None:
    assert causes(watch.watch(idle, 1, machine(tmp_path, **changes)))[0] == expected


def test_a_thread_without_time_left_is_the_cpu(tmp_path: Path, busy: int) -> None:
    found = watch.watch(busy, 2, machine(tmp_path, gpu_busy_percent=25))
    assert found.figures["thread"] is not None
    had_a_core = found.figures["thread"] >= watch.FULL  # a host that others load gives it less, and then nothing can be said
    assert causes(found)[0] == ("cpu" if had_a_core else "unknown"), found


FIGURES = {"busy": 20.0, "thread": 30.0, "cpu": 430.0, "workers": 4.0, "worker": 99.0, "read": 0.0, "faults": 0.0, "others": 0.0}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "data"),
        ({"thread": 99.0, "workers": 0.0, "worker": 0.0}, "cpu"),
        ({"worker": 20.0, "read": 90.0 * (1 << 20)}, "disk"),
        ({"faults": 900.0}, "host-memory"),
        ({"busy": None, "worker": 3.0}, "unknown"),
    ],
)
def test_what_the_figures_of_a_process_mean(changes: dict[str, float | None], expected: str) -> None:
    assert watch.judge({**FIGURES, **changes})[0].id == expected


def test_another_process_on_the_gpu_is_named_first_and_a_narrow_link_last(tmp_path: Path, idle: int) -> None:
    machine(tmp_path, current_link_width=4)
    holder = tmp_path / "class/kfd/kfd/proc/7"
    holder.mkdir(parents=True)
    (holder / "vram_1234").write_text(str(3 * GIB))
    found = watch.watch(idle, 1, tmp_path)
    assert (causes(found)[0], causes(found)[-1]) == ("shared", "link")
    assert "x4 of x16" in watch.page(found)


def test_missing_files_are_not_read_and_nothing_to_watch_is_an_error(tmp_path: Path, idle: int) -> None:
    found = watch.watch(idle, 1, tmp_path)
    assert causes(found) == ["unknown"]
    assert "GPU busy not read" in found.causes[0].seen[0]
    with pytest.raises(watch.WatchError, match="give the PID"):
        watch.watch(None, 1, tmp_path)
    with pytest.raises(watch.WatchError, match="no process"):
        watch.watch(2**22 + 7, 1, tmp_path)


@pytest.mark.parametrize(
    ("name", "words"),
    [("AMD Radeon RX 7900 XTX", "at 26% of the peak: 32.1 of 122.88 TFLOP/s"), ("Radeon", "no bf16 peak is known")],
)
def test_the_pace_of_a_run_is_a_part_of_the_peak(
    tmp_path: Path, idle: int, name: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Full training takes 6 operations a parameter and token, attention 5 % more: 1.54 billion parameters, 8 x 2048 tokens, 5 s."""
    config = tmp_path / "axolotl.yml"
    config.write_text(
        "base_model: Qwen/Qwen2.5-1.5B\nmicro_batch_size: 2\ngradient_accumulation_steps: 4\nsequence_len: 2048\nbf16: true\n"
    )
    machine(tmp_path, product_name=name)
    look = watch.watch
    monkeypatch.setattr(watch, "watch", lambda pid, seconds, tell: look(pid, seconds, tmp_path, tell))
    done = CliRunner().invoke(cli, ["watch", str(idle), "--seconds", "1", "--config", str(config), "--step-seconds", "5"])
    assert done.exit_code == 0, done.output
    assert words in done.output
    assert CliRunner().invoke(cli, ["watch", str(idle), "--config", str(config)]).exit_code == 2


def test_the_gpu_is_the_one_that_holds_the_memory_of_the_process(tmp_path: Path) -> None:
    """Another process fills the first GPU; the training holds its memory on the second one."""
    for number, (bus, used, held) in enumerate((("0000:03:00.0", 20 * GIB, 0), ("0000:c3:00.0", 2 * GIB, GIB))):
        device = tmp_path / "devices" / bus
        card, node = tmp_path / f"class/drm/card{number}", tmp_path / f"class/kfd/kfd/topology/nodes/{number + 1}"
        process = tmp_path / "class/kfd/kfd/proc/7"
        for folder in (device, card, node, process):
            folder.mkdir(parents=True, exist_ok=True)
        (card / "device").symlink_to(device)
        (device / "vendor").write_text("0x1002\n")
        (device / "mem_info_vram_used").write_text(str(used))
        (node / "gpu_id").write_text(f"{100 + number}\n")
        (node / "properties").write_text(f"domain 0\nlocation_id {int(bus[5:7], 16) << 8}\n")
        (process / f"vram_{100 + number}").write_text(str(held))
    found = watch.device_of(7, watch.list_devices(tmp_path), tmp_path)
    assert found
    assert found.resolve().name == "0000:c3:00.0"
