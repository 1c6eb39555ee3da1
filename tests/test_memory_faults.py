"""Memory faults are told apart by the numbers of the message."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from called import called

MESSAGE = (
    "torch 2.6.0+rocm6.3 / gfx1100\ntorch.OutOfMemoryError: HIP out of memory. Tried to allocate {asked}. GPU 0 has a total capacity of "
    "19.98 GiB of which 402.00 MiB is free. Of the allocated memory 11.02 GiB is allocated by PyTorch, and {loose} is reserved by PyTorch but "
    "unallocated. If reserved but unallocated memory is large try setting PYTORCH_HIP_ALLOC_CONF=expandable_segments:True to avoid fragmentation.\n"
)


@pytest.mark.parametrize(
    ("asked", "loose", "first"),
    [
        ("512.00 MiB", "8.11 GiB", "memory.fragmentation"),
        ("20.00 MiB", "1.02 GiB", "memory.fragmentation"),
        ("2.00 GiB", "300.00 MiB", "memory.oom"),
        ("512.00 MiB", "40.00 MiB", "memory.oom"),
    ],
)
def test_more_unallocated_than_asked_for_is_fragmentation(tmp_path: Path, asked: str, loose: str, first: str) -> None:
    path = tmp_path / "oom.txt"
    path.write_text(MESSAGE.format(asked=asked, loose=loose), encoding="utf-8")
    found = json.loads(called("check", str(path), "--format", "json").stdout)["findings"]
    assert found[0]["id"] == first


def test_the_little_that_every_allocator_leaves_over_is_no_fragmentation(tmp_path: Path) -> None:
    path = tmp_path / "oom.txt"
    path.write_text(MESSAGE.format(asked="124.00 MiB", loose="165.29 MiB"), encoding="utf-8")
    found = json.loads(called("check", str(path), "--format", "json").stdout)["findings"]
    assert found[0]["id"] == "memory.oom"
    assert all(one["id"] != "memory.fragmentation" for one in found)
