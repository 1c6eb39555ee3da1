"""The live source when the user stops it, and on systems without process groups: real child processes all the same."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from faketools import MI50, alive, flood, hanging, machine, named, pid_of, run, tool

from rocm_doctor.sources import live
from rocm_doctor.sources.live import tools as live_tools
from rocm_doctor.sources.live import was_interrupted
from rocm_doctor.workers import child

AGENT = "*******\nAgent 2\n*******\n  Name:                    gfx1100\n"
SMI = live_tools.MANAGEMENT[0]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The root of a machine whose kernel does not name its GPU's target: the tools have something to add."""
    return machine(tmp_path / "root", MI50._replace(target=0))


@contextmanager
def ctrl_c(after: float) -> Iterator[None]:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, after)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_an_interrupt_loses_nothing_that_was_read(root: Path, bin_: Path) -> None:
    hanging(bin_, "rocminfo", out=AGENT)
    hanging(bin_, "rocm-smi")
    with ctrl_c(0.9):
        artifacts = run(root, bin_)
    assert was_interrupted(artifacts)
    partial, silent = named(artifacts, "cmd/rocminfo"), named(artifacts, f"cmd/{SMI}")
    assert (partial.text, partial.missing, partial.returncode) == (AGENT, None, None)
    assert (silent.text, silent.missing) == ("", "timeout")
    assert partial.note.endswith("; interrupted")
    assert silent.note.endswith("; interrupted")
    assert "proc/version" in {a.name for a in artifacts}
    assert not alive(pid_of(bin_, "rocm-smi"))
    assert not alive(pid_of(bin_, "rocminfo"))


def test_nobody_interrupts(root: Path, bin_: Path) -> None:
    tool(bin_, "rocminfo", out=AGENT)
    assert not was_interrupted(run(root, bin_))


HIPINFO = "device#                           0\nName:                             AMD Radeon RX 7900 XTX\n"


def on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """What Python has there: no process groups, no SIGKILL, no pipes that do not block (they came to Windows with 3.12)."""
    monkeypatch.setattr(child, "HAS_GROUPS", False)
    for name in ("set_blocking", "killpg", "waitid", "pidfd_open"):
        monkeypatch.delattr(os, name)
    monkeypatch.setattr(child, "signal", SimpleNamespace(SIGTERM=signal.SIGTERM))
    monkeypatch.setattr(live_tools, "sys", SimpleNamespace(platform="win32"))
    monkeypatch.setattr(live, "sys", SimpleNamespace(platform="win32"))


def test_hipinfo_is_asked_where_there_are_no_process_groups(root: Path, bin_: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool(bin_, "hipInfo.exe", out=HIPINFO, err="a warning\n")
    on_windows(monkeypatch)
    got = named(run(root, bin_), "cmd/hipInfo")
    assert (got.text, got.returncode, got.missing) == (HIPINFO + "a warning\n", 0, None)


def test_a_hipinfo_that_hangs_is_ended(root: Path, bin_: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_tools, "QUIET", 0.3)
    hanging(bin_, "hipInfo.exe", out=HIPINFO)
    on_windows(monkeypatch)
    got = named(run(root, bin_), "cmd/hipInfo")
    assert (got.text, got.returncode) == (HIPINFO, None)
    assert not alive(pid_of(bin_, "hipInfo.exe"))


def test_a_hipinfo_that_never_stops_printing_is_bounded(root: Path, bin_: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flood(bin_, "hipInfo.exe", 100)
    on_windows(monkeypatch)
    kept: list[int] = []
    take = child.Child._take

    def counted(running: child.Child, buffer: bytearray, chunk: bytes) -> None:
        take(running, buffer, chunk)
        kept.append(len(buffer))

    monkeypatch.setattr(child.Child, "_take", counted)
    got = named(run(root, bin_), "cmd/hipInfo")
    assert "first part was used" in got.note
    assert max(kept) <= live_tools.CAP + child.CHUNK


def test_an_interrupt_loses_nothing_there_either(root: Path, bin_: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hanging(bin_, "hipInfo.exe", out=HIPINFO)
    on_windows(monkeypatch)
    with ctrl_c(0.9):
        artifacts = run(root, bin_)
    assert was_interrupted(artifacts)
    assert named(artifacts, "cmd/hipInfo").text == HIPINFO
    assert not alive(pid_of(bin_, "hipInfo.exe"))
