"""The live source against programs that misbehave: real child processes, started through `collect`."""

from __future__ import annotations

from pathlib import Path

import pytest
from faketools import (
    MI50,
    alive,
    dying,
    environment,
    flood,
    garbage,
    hanging,
    machine,
    named,
    parent_of_a_straggler,
    pid_of,
    run,
    script,
    tool,
)

from rocm_doctor import pipeline
from rocm_doctor.matrix import load
from rocm_doctor.sources.live import collect
from rocm_doctor.sources.live import tools as live_tools

AGENT = "*******\nAgent 2\n*******\n  Name:                    gfx1100\n"
SMI = live_tools.MANAGEMENT[0]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The root of a machine whose kernel does not name its GPU's target: the tools have something to add."""
    return machine(tmp_path / "root", MI50._replace(target=0))


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits a tenth as long, so that the suite does not wait for hanging programs."""
    monkeypatch.setattr(live_tools, "LIMIT", 0.8)
    monkeypatch.setattr(live_tools, "QUIET", 0.3)


def test_output_and_status_are_kept(root: Path, bin_: Path) -> None:
    tool(bin_, "rocminfo", out=AGENT, err="a warning\n", status=3)
    got = named(run(root, bin_), "cmd/rocminfo")
    assert got.returncode == 3
    assert got.text == AGENT + "a warning\n"
    assert got.missing is None
    assert str(bin_ / "rocminfo") in got.note


def test_what_is_not_installed_is_said(root: Path, bin_: Path) -> None:
    artifacts = run(root, bin_)
    assert {a.name for a in artifacts if a.missing == "no-tool"} >= {
        "cmd/rocminfo",
        f"cmd/{SMI}",
        "cmd/amd-smi version",
    }


@pytest.mark.usefixtures("hasty")
def test_hanging_without_a_word(root: Path, bin_: Path) -> None:
    hanging(bin_, "rocminfo")
    got = named(run(root, bin_), "cmd/rocminfo")
    assert (got.missing, got.text) == ("timeout", "")
    assert not alive(pid_of(bin_, "rocminfo"))


@pytest.mark.usefixtures("hasty")
def test_printed_then_never_exits(root: Path, bin_: Path) -> None:
    hanging(bin_, "rocminfo", out=AGENT)
    got = named(run(root, bin_), "cmd/rocminfo")
    assert (got.missing, got.text, got.returncode) == (None, AGENT, None)
    assert "what it had printed was used" in got.note
    assert not alive(pid_of(bin_, "rocminfo"))


@pytest.mark.usefixtures("hasty")
def test_all_tools_hang_together(root: Path, bin_: Path) -> None:
    """They are bounded together, not one after the other."""
    for name in ("rocminfo", "rocm-smi", "amd-smi"):
        hanging(bin_, name, out="{}")
    artifacts = run(root, bin_)
    assert named(artifacts, "cmd/amd-smi version").text == "{}\n"
    assert not any(alive(pid_of(bin_, name)) for name in ("rocminfo", "rocm-smi", "amd-smi"))


def test_a_straggler_is_ended(root: Path, bin_: Path) -> None:
    """Debian's rocminfo leaves a child behind; here it also holds the pipe."""
    parent_of_a_straggler(bin_, "rocminfo", out=AGENT)
    got = named(run(root, bin_), "cmd/rocminfo")
    assert got.text == AGENT
    assert not alive(pid_of(bin_, "rocminfo"))


def test_a_hundred_megabytes(root: Path, bin_: Path) -> None:
    flood(bin_, "rocminfo", 100)
    got = named(run(root, bin_), "cmd/rocminfo")
    assert 1 << 20 < len(got.text) <= live_tools.CAP + 1
    assert got.text.startswith("Name: gfx1100")
    assert "first part was used" in got.note


def test_garbage_is_text_all_the_same(root: Path, bin_: Path) -> None:
    garbage(bin_, "rocminfo")
    got = named(run(root, bin_), "cmd/rocminfo")
    assert got.returncode == 0
    assert "ABCDEFG" in got.text


@pytest.mark.parametrize(("out", "missing"), [("", "crashed"), (AGENT, None)])
def test_death_by_signal(root: Path, bin_: Path, out: str, missing: str | None) -> None:
    dying(bin_, "rocminfo", out=out)
    got = named(run(root, bin_), "cmd/rocminfo")
    assert (got.missing, got.text, got.returncode) == (missing, out, -11)
    assert "died by signal 11" in got.note


def test_success_without_output_is_an_answer(root: Path, bin_: Path) -> None:
    """rocm-smi exits with 0 and prints nothing where the driver is missing: its messages are what there is to read."""
    tool(bin_, "rocm-smi", err="ERROR:root:Driver not initialized (amdgpu not found in modules)\n")
    got = named(run(root, bin_), f"cmd/{SMI}")
    assert (got.missing, got.returncode) == (None, 0)
    assert "Driver not initialized" in got.text
    assert "exit status 0 without output" in got.note


def test_json_stays_alone(root: Path, bin_: Path) -> None:
    tool(bin_, "rocm-smi", out='{"card0": {}}\n', err="WARNING: low-power state\n")
    got = named(run(root, bin_), f"cmd/{SMI}")
    assert got.text == '{"card0": {}}\n'
    assert "low-power" in got.note


def test_without_a_driver_the_slow_tools_are_spared(tmp_path: Path, bin_: Path) -> None:
    tool(bin_, "rocm-smi", out="never asked")
    got = named(run(tmp_path, bin_), f"cmd/{SMI}")
    assert (got.missing, got.text) == ("not-asked", "")
    assert "sysfs has no sign" in got.note


def test_kernel_tells_all(tmp_path: Path, bin_: Path) -> None:
    """With a complete topology only rocminfo is asked."""
    tool(bin_, "rocminfo", out=AGENT)
    tool(bin_, "rocm-smi", out="{}")
    artifacts = run(machine(tmp_path / "full", MI50), bin_)
    assert named(artifacts, f"cmd/{SMI}").missing == "not-asked"
    assert named(artifacts, "cmd/rocminfo").text == AGENT


def test_incomplete_topology_is_supplemented(tmp_path: Path, bin_: Path) -> None:
    """A kernel that does not name the target leaves something to ask."""
    root = machine(tmp_path / "old", MI50._replace(target=0))
    tool(bin_, "rocm-smi", out="{}")
    assert named(run(root, bin_), f"cmd/{SMI}").text == "{}\n"


def test_tools_of_an_installation_are_found(tmp_path: Path, root: Path) -> None:
    tool(root / "opt/rocm-6.4.1/bin", "rocminfo", out=AGENT)
    assert named(collect(root=root, env=environment(tmp_path / "empty")), "cmd/rocminfo").text == AGENT


def test_the_users_override_reaches_the_tools(root: Path, bin_: Path) -> None:
    script(bin_, "rocminfo", '#!/bin/sh\necho "$HSA_OVERRIDE_GFX_VERSION $LC_ALL"\n')
    artifacts = collect(root=root, env=environment(bin_, HSA_OVERRIDE_GFX_VERSION="10.3.0", LC_ALL="de_DE.UTF-8"))
    assert named(artifacts, "cmd/rocminfo").text == "10.3.0 C\n"


def test_without_tools_nothing_is_started(root: Path, bin_: Path) -> None:
    tool(bin_, "rocminfo", out=AGENT)
    assert not any(a.name.startswith("cmd/") for a in collect(root=root, tools=False, env=environment(bin_)))


REAL = Path("/usr/bin/rocminfo"), Path("/usr/bin/rocm-smi")


@pytest.mark.skipif(not all(path.exists() for path in REAL), reason="Debian's rocminfo and rocm-smi are not installed")
def test_the_real_tools_are_asked_and_understood() -> None:
    """Whatever machine this is: both answer within their limits, and what they say is read without an error."""
    env = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}
    asked = live_tools.start_tools(Path("/"), env, kernel_knows=False, driver=True)
    printed = [a for a in live_tools.finish_tools(asked) if a.name.startswith(("cmd/rocminfo", "cmd/rocm-smi"))]
    assert {a.name for a in printed} >= {"cmd/rocminfo", f"cmd/{SMI}"}
    assert [a.note for a in printed if a.missing or not a.text.strip()] == []
    assert "ROCk module" in named(printed, "cmd/rocminfo").text
    facts = pipeline.read_facts(printed, load())
    assert facts.errors == ()
    assert len(facts.gpus) == named(printed, "cmd/rocminfo").text.count("Device Type:             GPU")


@pytest.mark.slow
def test_real_limits(root: Path, bin_: Path) -> None:
    """With the limits as shipped: within 5 s of the last useful byte."""
    hanging(bin_, "rocminfo", out=AGENT)
    hanging(bin_, "rocm-smi")
    artifacts = run(root, bin_)
    assert named(artifacts, "cmd/rocminfo").text == AGENT
    assert named(artifacts, f"cmd/{SMI}").missing == "timeout"
