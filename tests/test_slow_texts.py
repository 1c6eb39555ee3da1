"""Texts about runs that are slow or that the system killed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from called import called

from rocm_doctor.matrix import load
from rocm_doctor.pipeline import judge
from rocm_doctor.sources.paste import cut

MATRIX = load()
GPU = "$ rocminfo | grep gfx\n  Name:                    {gfx}\ntorch 2.4.1+rocm6.0\n"


def first(text: str) -> Any:
    return judge(cut(text, "slow.txt"), MATRIX, kind="capture")


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
