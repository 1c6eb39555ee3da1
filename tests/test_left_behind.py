"""A live check that is ended in any way leaves no process and no folder behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rocm_doctor.cli.inputs import notice_when_slow
from rocm_doctor.workers import process

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
TOOLS = ("rocminfo", "rocm-smi", "amd-smi")


def running(mark: Path) -> list[str]:
    """Command lines of processes that have the mark in their environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if str(mark).encode() in (folder / "environ").read_bytes():
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


def soon(done: object, seconds: float = 20) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if callable(done) and done():
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_tools_die_with_the_check(number: signal.Signals, tmp_path: Path) -> None:
    """The doctor has one thread when it starts a tool: else the tool outlives a SIGKILL that comes just then."""
    tool = "#!/bin/sh\ntrap '' TERM HUP INT\nls /proc/$PPID/task | wc -l > $0.threads\nsleep 60 &\necho x > $0.started\nsleep 60\nwait\n"
    for name in TOOLS:
        (tmp_path / name).write_text(tool)
        (tmp_path / name).chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "MARK": str(tmp_path)}
    argv = [sys.executable, "-m", "rocm_doctor", "check", "--no-smoke"]
    check = subprocess.Popen(argv, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert soon(lambda: (tmp_path / "rocminfo.started").exists())
    check.send_signal(number)
    code = check.wait(20)
    assert code in (128 + number, 130, -number)
    assert (tmp_path / "rocminfo.threads").read_text().strip() == "1"
    assert soon(lambda: not running(tmp_path)), running(tmp_path)


def test_a_slow_block_is_told_of_by_a_signal_that_is_given_back(capsys: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(signal.SIGALRM)
    with notice_when_slow("still waiting", after=0.01):
        time.sleep(0.1)
        assert capsys.readouterr().err == "still waiting\n"
    with notice_when_slow("still waiting", after=30):
        pass
    assert capsys.readouterr().err == ""
    assert signal.getsignal(signal.SIGALRM) == before
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_a_child_dies_with_a_doctor_that_is_killed_at_its_birth(tmp_path: Path) -> None:
    """The tool ends the doctor with its first breath, before the doctor can have told anybody of it."""
    env = {**os.environ, "MARK": str(tmp_path)}
    doctor = "from rocm_doctor.workers import process; process.run(['/bin/sh', '-c', 'kill -9 $PPID; sleep 60'])"
    for _ in range(4):
        assert subprocess.run([sys.executable, "-c", doctor], env=env, check=False).returncode == -signal.SIGKILL
    assert soon(lambda: not running(tmp_path), 5), running(tmp_path)


def test_a_guard_goes_when_its_child_has_ended(tmp_path: Path) -> None:
    child = process.start(process.ChildSpec(["sleep", "60"]))
    assert child.guard is not None
    guard = child.guard[0]
    process.stop(child)
    assert not Path(f"/proc/{guard}").exists()
    assert process.run(["true"]).returncode == 0


def test_a_child_that_leaves_its_group_is_ended_too(tmp_path: Path) -> None:
    """`--python` and a tool that hang: what they started with `setsid` would go on for ever."""
    argv = ["sh", "-c", "setsid sleep 60 & echo x > started; sleep 60"]
    env = {**os.environ, "MARK": str(tmp_path)}
    child = process.start(process.ChildSpec(argv, cwd=str(tmp_path), env=env))
    assert soon(lambda: (tmp_path / "started").exists() and len(running(tmp_path)) == 3), running(tmp_path)
    process.stop(child, "timeout")
    assert soon(lambda: not running(tmp_path)), running(tmp_path)


def test_a_stopped_child_is_ended_by_its_time_limit(tmp_path: Path) -> None:
    """SIGSTOP holds a child, and its SIGTERM, for ever."""
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(process.run, ["sh", "-c", "kill -STOP $$; sleep 60"], limit=1).result(timeout=20).state == "timeout"
