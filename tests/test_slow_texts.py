"""A text about a slow run gets what its settings and its tools' figures explain, else the command that measures it; never "ready"."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from called import called

from rocm_doctor.facts import run
from rocm_doctor.matrix import load
from rocm_doctor.pipeline import judge
from rocm_doctor.probes.read.result import Artifacts
from rocm_doctor.sources.paste import cut

MATRIX = load()
GPU = "$ rocminfo | grep gfx\n  Name:                    {gfx}\ntorch 2.4.1+rocm6.0\n"
BAR = " 12%|█▏        | 120/1000 [12:01<1:28:12,  6.01s/it]\n"
SMI = "$ rocm-smi\nGPU  Temp   AvgPwr  SCLK     MCLK     Fan     Perf  PwrCap  VRAM%  GPU%\n0    {heat}c  {watts}W  {clock}Mhz  1000Mhz  30.2%   auto  {cap}W   {vram}%   {busy}%\n"
HEALTHY = {"heat": "58.0", "watts": "180.0", "clock": 1725, "cap": "225.0", "vram": 80, "busy": 99}


def smi(**changes: Any) -> str:
    return SMI.format(**{**HEALTHY, **changes})


def first(text: str) -> Any:
    return judge(cut(text, "slow.txt"), MATRIX, kind="capture")


@pytest.mark.parametrize(
    ("gfx", "text", "row"),
    [
        ("gfx906", "per_device_train_batch_size=2 max_length=512\n" + BAR + smi(busy=25, vram=31), "run-small-batch"),
        ("gfx1100", BAR + smi(busy=40), "run-gpu-waits"),
        ("gfx906", "$ python train.py --bf16 True\n" + BAR, "run-bf16-emulated"),
        ("gfx1100", "gradient_checkpointing: true\n" + BAR + smi(vram=30), "run-checkpointing"),
        ("gfx1100", BAR + smi(heat="104.0"), "run-hot"),
        ("gfx1100", BAR + smi(clock=500, watts="60.0"), "run-low-clock"),
        (
            "gfx1100",
            "GPU[0]\t\t: VRAM Total Memory (B): 25753026560\nGPU[0]\t\t: VRAM Total Used Memory (B): 25700000000\n"
            "GPU[0]\t\t: GTT Total Used Memory (B): 9000000000\n" + BAR,
            "run-spills",
        ),
    ],
)  # fmt: skip
def test_what_a_text_shows_of_a_run_decides(gfx: str, text: str, row: str) -> None:
    report = first(GPU.format(gfx=gfx) + text)
    assert report.findings[0].row == row, [one.row for one in report.findings]
    assert report.verdict == "problems"


@pytest.mark.parametrize("text", ["Fine-tuning works but it is slow.", BAR + "How do I make it faster?\n" + 60 * "a line\n"])
def test_what_no_text_shows_is_measured(text: str) -> None:
    report = first(GPU.format(gfx="gfx1100") + text)
    assert report.verdict == "undetermined"
    assert report.reply is not None
    assert next(one.text for one in report.reply.commands) == "rocm-smi"


def test_a_busy_run_and_a_gpu_with_half_precision_are_no_fault() -> None:
    report = first(GPU.format(gfx="gfx1100") + "bf16: true\ngradient_checkpointing: true\n" + BAR + smi())
    assert not [one for one in report.findings if one.row and one.row.startswith("run-")]


def test_settings_are_read_in_every_spelling() -> None:
    spelled = [
        "per_device_train_batch_size=4,", "per_device_train_batch_size: 4", '"per_device_train_batch_size": 4,', "--per_device_train_batch_size 4",
        "--per-device-train-batch-size=4", "micro_batch_size: 4",
    ]  # fmt: skip
    for text in spelled:
        assert run.read(Artifacts(cut(text, "a.txt")), MATRIX).facts["run.batch"].value == 4, text


@pytest.mark.parametrize(
    ("text", "diagnosis"),
    [
        ("[ 8123.2] Out of memory: Killed process 22412 (python) total-vm:98231232kB", "memory.host"),
        ("$ python train.py\nMap (num_proc=8):  62%|██▏  | 930/1500\nKilled", "memory.host"),
        ("(exitcode: -9) local_rank: 0 (pid: 4711) of binary: /usr/bin/python", "memory.host"),
        ("RuntimeError: DataLoader worker (pid(s) 8123) exited unexpectedly", "host.loader-workers"),
        ("RuntimeError: DataLoader worker (pid 311) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory.", "access.container"),
    ],
)  # fmt: skip
def test_memory_of_the_host_is_not_that_of_the_gpu(tmp_path: Path, text: str, diagnosis: str) -> None:
    path = tmp_path / "fault.txt"
    path.write_text(GPU.format(gfx="gfx1100") + text, encoding="utf-8")
    assert json.loads(called("check", str(path), "--format", "json").stdout)["findings"][0]["id"] == diagnosis
