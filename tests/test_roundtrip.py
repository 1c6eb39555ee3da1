"""The same machine live, as a ticket, and as the ticket's markdown: the same findings, through the command line."""

from __future__ import annotations

import json
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from called import called
from faketools import MI50, Card, bare_machine, environment, hanging, machine, tool

ROCMINFO = """ROCk module version 6.12.12 is loaded
=====================
HSA System Attributes
=====================
Runtime Version:         1.14
==========
HSA Agents
==========
*******
Agent 1
*******
  Name:                    gfx906
  Marketing Name:          AMD Instinct MI50/MI60
  Device Type:             GPU
  Chip ID:                 26273(0x66a1)
  Compute Unit:            60
*** Done ***
"""


def findings(done: CompletedProcess[str]) -> list[tuple[Any, ...]]:
    return [(f["id"], f["row"], f["severity"], f["confidence"], f["subject"]) for f in json.loads(done.stdout)["findings"]]


@pytest.mark.parametrize("variables", [{}, {"HSA_OVERRIDE_GFX_VERSION": "10.3.0"}])
def test_live_and_ticket_give_the_same_findings(tmp_path: Path, variables: dict[str, str]) -> None:
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    tool(bin_, "rocminfo", out=ROCMINFO)
    root = machine(tmp_path / "root", MI50, Card(minor=129), dkms="6.12.12")
    env = environment(bin_, **variables)
    live = called("check", "--sysroot", str(root), "--no-smoke", "--format", "json", **env)
    made = called("bundle", "--sysroot", str(root), "-o", str(tmp_path / "t.zip"), **env)
    assert made.returncode == 0, made.stderr
    assert findings(called("check", str(tmp_path / "t.zip"), "--format", "json")) == findings(live)
    assert findings(live) or not variables


def test_a_machine_without_a_gpu_is_told_why(tmp_path: Path) -> None:
    done = called("check", "--sysroot", str(bare_machine(tmp_path)), "--no-smoke", **environment(tmp_path))
    assert done.returncode == 1
    assert "no AMD GPU visible, because" in done.stdout


def test_a_tool_that_hangs_is_waited_for_aloud_and_not_for_long(tmp_path: Path) -> None:
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    hanging(bin_, "rocminfo", out=ROCMINFO)
    root = machine(tmp_path / "root", MI50)
    done = called("probe", "--sysroot", str(root), "--format", "json", **environment(bin_))
    assert json.loads(done.stdout)["gpus"][0]["gfx"] == "gfx906"
    assert "still reading" in done.stderr
