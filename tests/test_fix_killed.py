"""`fix` killed at any moment: a second `fix` completes it, or brings back every file that was there.

The suite tries each way of dying once. ROCM_DOCTOR_KILLS=50 tries fifty random moments, on a small file system where the user
may mount one, for the case of a full disk.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from throwaway import borrow_pip, contents, wheel

pytest.importorskip("pip", reason="the environments of these tests borrow the pip that runs here")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="reads /proc and kills by signal")]

WAYS = ("ctrl-c", "doctor terminated", "doctor killed", "pip killed", "both killed", "disk full")
MANY = int(os.environ.get("ROCM_DOCTOR_KILLS", "0"))
TRIALS = list(range(MANY or len(WAYS)))
CHANGE = """
import sys
from rocm_doctor.plan.environment import EnvironmentProblem, writable
from rocm_doctor.plan.fix import apply, resume, undo
place = writable(sys.argv[1])
def say(line): print(line, flush=True)
try:
    resume(place, say)
    if sys.argv[2] == "undo":
        ran = undo(place, say)
    else:
        pip = (place.executable, "-m", "pip")
        ran = apply(place, [
            (*pip, "uninstall", "-y", "torch", "triton"),
            (*pip, "install", "torch==2.9.1+rocm6.3", "--index-url", "https://example.invalid/simple"),
            (*pip, "install", "torch==2.9.1+rocm6.3", "transformers==5.0.0"),
        ], "stack", say)
except EnvironmentProblem as exc:
    print(exc)
    sys.exit(2)
sys.exit(ran.state == "failed")
"""


@dataclasses.dataclass
class Bench:
    """Two indexes, of which pip sees one; an environment to copy; what it is before and after a run without trouble."""

    new: Path
    template: Path
    after: dict[str, str]
    seconds: float


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    home = tmp_path_factory.mktemp("bench")
    old, new = home / "old", home / "new"
    for folder in (old, new):
        folder.mkdir()
    for name, version in (("torch", "2.5.0+cu124"), ("triton", "3.0.0"), ("transformers", "4.40.0")):
        wheel(old, name, version, modules=300)
    wheel(new, "torch", "2.9.1+rocm6.3", ("triton-rocm==3.5.1",), modules=1000)
    for name, version in (("triton-rocm", "3.5.1"), ("transformers", "5.0.0")):
        wheel(new, name, version, modules=300)
    template = home / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(template)], check=True)
    site = borrow_pip(template)
    for path in old.glob("*.whl"):
        with zipfile.ZipFile(path) as archive:
            archive.extractall(site)
    trial = copy(template, home / "whole")
    began = time.monotonic()
    done = change(trial, new).wait(timeout=300)
    assert done == 0
    return Bench(new, template, contents(trial), time.monotonic() - began)


def copy(template: Path, to: Path) -> Path:
    """A copy that is an environment: its interpreter is a link, and its prefix is the folder in which it lies."""
    shutil.copytree(template, to, symlinks=True)
    return to


def change(venv: Path, new: Path, verb: str = "apply", **more: str) -> subprocess.Popen[bytes]:
    env = {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(new), "PIP_NO_CACHE_DIR": "1", **more}
    log = venv.with_suffix(".log").open("ab")
    with log:
        return subprocess.Popen([sys.executable, "-c", CHANGE, str(venv), verb], env=env, stdout=log, stderr=log)


def pips(venv: Path) -> list[int]:
    """The processes of this environment's interpreter."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if words[0] == str(venv / "bin" / "python").encode():
                found.append(int(folder.name))
    return found


def kill(way: str, doctor: subprocess.Popen[bytes], venv: Path) -> None:
    if way in ("pip killed", "both killed"):
        for pid in pips(venv):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    number = {
        "ctrl-c": signal.SIGINT,
        "doctor terminated": signal.SIGTERM,
        "doctor killed": signal.SIGKILL,
        "both killed": signal.SIGKILL,
    }.get(way)
    if number:
        doctor.send_signal(number)


@contextlib.contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """A file system of that size, or a skip where the user may not mount one."""
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("a file system of its own needs root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.parametrize("trial", TRIALS)
def test_a_killed_fix_goes_forward_or_back(bench: Bench, tmp_path: Path, trial: int) -> None:
    """Every file is as before after going back, and as after a run without trouble after going forward."""
    draw = random.Random(trial + 1)
    way = WAYS[trial % len(WAYS)]
    if way == "disk full":
        full = sum(path.lstat().st_blocks for path in bench.template.rglob("*")) * 512
        with small_disk(tmp_path / "disk", f"{(full >> 10) + draw.randrange(100, 9000)}k") as folder:
            tried(bench, folder / "venv", way, draw)
    else:
        tried(bench, tmp_path / "venv", way, draw)


def tried(bench: Bench, venv: Path, way: str, draw: random.Random) -> None:
    copy(bench.template, venv)
    before = contents(venv)
    doctor = change(venv, bench.new, TMPDIR=str(venv.parent))
    if way != "disk full":
        time.sleep(draw.uniform(0.1, 0.95) * bench.seconds)
        kill(way, doctor, venv)
    doctor.wait(timeout=120)
    time.sleep(0.3)
    assert not pips(venv), "pip runs on without the doctor"
    if doctor.returncode >= 0 and doctor.returncode != 0:
        assert contents(venv) == before, "a doctor that could still act has brought back what was there"
    if way == "disk full":
        after = bench.after if doctor.returncode == 0 else before
        assert contents(venv) == after, venv.with_suffix(".log").read_text()
        return
    forward = draw.random() < 0.5
    ended = change(venv, bench.new, "apply" if forward else "undo").wait(timeout=300)
    said = venv.with_suffix(".log").read_text()
    if forward:
        assert ended == 0, said
        assert contents(venv) == bench.after, said
    else:
        assert ended in (0, 2), said
        assert contents(venv) == before, said
