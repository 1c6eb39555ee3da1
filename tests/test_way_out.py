"""What leaves: exit codes under every way to be stopped, and nothing of a stranger's that a terminal or a CI runner would obey."""

from __future__ import annotations

import gc
import io
import os
import re
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import msgspec
import pytest

from rocm_doctor import pipeline
from rocm_doctor.cli import main
from rocm_doctor.matrix import load
from rocm_doctor.model import Artifact
from rocm_doctor.reports import FORMATS, RenderOptions, render
from rocm_doctor.reports.neutral import clean, defuse, screen_text, visible

ROOT = Path(__file__).resolve().parent.parent
linux = pytest.mark.skipif(sys.platform != "linux", reason="signals, /dev/full")
PAYLOADS = {
    "title": "\x1b]0;pwned\x07",
    "clipboard": "\x1b]52;c;ZXZpbA==\x07",
    "clear": "\x1b[2J\x1bc",
    "c1": "\x9b2J\x90",
    "back": "safe\x08\x08\x08\x08evil",
    "bidi": "\u202eevil\u2066",
    "stop": "::stop-commands::x9",
    "mask": "##[add-mask]x",
    "azure": "##vso[task.setvariable variable=x]y",
    "line": "x\n::error::evil\n  ::set-env name=A::b",
    "return": "x\r::error::evil",
    "half": "\ud83d",
}


def env(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "80", **more}


def run(*args: str, **more: object) -> subprocess.CompletedProcess[bytes]:
    argv = [sys.executable, "-m", "rocm_doctor", *args]
    return subprocess.run(argv, env=env(), timeout=120, check=False, capture_output=True, **more)  # type: ignore[call-overload, no-any-return]


def printed_by(*args: str) -> tuple[int, str]:
    """Exit code and output of `rocm-doctor` in this process, by the way on which a process starts."""
    out, err = io.BytesIO(), io.BytesIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["rocm-doctor", *args])
        patch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding="utf-8"))
        patch.setattr(sys, "stderr", io.TextIOWrapper(err, encoding="utf-8"))
        patch.setattr(signal, "signal", lambda *_: None)
        patch.setattr(gc, "set_threshold", lambda *_: None)
        with pytest.raises(SystemExit) as ended:
            main()
        sys.stdout.flush()
        sys.stderr.flush()
        return int(ended.value.code or 0), (out.getvalue() + err.getvalue()).decode()


def harmless(text: str, commands: bool = False) -> None:
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", text), text[:300]
    assert not re.search(r"##\w*\[", text)
    for line in text.split("\n"):
        own = commands and re.match(r"::(error|warning|notice) [^:]*title=rocm-doctor", line)
        assert own or not line.lstrip().startswith("::"), line


def evil(payload: str) -> list[Artifact]:
    """A machine on which every value that can be a stranger's text is one."""
    return [
        Artifact(
            "env", "bundle", f"HSA_OVERRIDE_GFX_VERSION=10.3.0{payload}\nHIP_VISIBLE_DEVICES={payload}\nAMD_LOG_LEVEL={payload}\n"
        ),
        Artifact("cmd/rocminfo", "bundle", f"Agent 1\n  Name: gfx906\n  Marketing Name: {payload}\n  Device Type: GPU\n"),
        Artifact("uname", "bundle", f"Linux {payload} 6.8.0{payload} x86_64\n"),
        Artifact("etc/os-release", "bundle", f'PRETTY_NAME="{payload}"\n'),
        Artifact("sys/module/amdgpu/version", "bundle", payload),
        Artifact("py/torch/version.py", "bundle", f"__version__ = '2.5.0+cpu{payload}'\nhip = '{payload}'\n"),
        Artifact(f"log/{payload}.log", "bundle", f"RuntimeError: HIP error: invalid device function {payload}\n"),
        Artifact("dev/kfd", "bundle", f"exists: yes\ngroup: render{payload}\nopen: permission denied {payload}\n"),
        Artifact("user/groups", "bundle", f"{payload}\n"),
    ]


@pytest.mark.parametrize("name", PAYLOADS)
def test_no_format_hands_on_what_a_stranger_wrote(name: str) -> None:
    report = pipeline.judge(evil(PAYLOADS[name]), load(), source=PAYLOADS[name])
    for format_ in FORMATS:
        for look in (RenderOptions(width=40), RenderOptions(verbose=True)):
            harmless(render(format_, report, look), commands=format_ == "github")
    coloured = render("text", report, RenderOptions(color=True))
    assert set(re.findall("\x1b[^m]*m?", coloured)) <= {f"\x1b[{n}m" for n in (0, 1, 2, 22, 31, 32, 33, 36)}


def test_no_command_prints_what_a_stranger_wrote(tmp_path: Path) -> None:
    payload = " ".join(p for name, p in PAYLOADS.items() if name not in ("half", "line", "return"))
    a = str(tmp_path / "a.zip")
    with zipfile.ZipFile(a, "w") as archive:
        for artifact in evil(payload):
            archive.writestr(artifact.name.replace("/.log", "/x.log"), artifact.text)
    odd = str(tmp_path / payload[:150])
    commands = (["check", a], ["check", a, "-v"], ["probe", a], ["probe", a, "--format", "json"],
                ["check", odd], ["check", "--example", "--baseline", odd],
                ["lint", str(tmp_path), "--gpu", payload], ["explain", payload])  # fmt: skip
    for command in commands:
        code, said = printed_by(*command)
        assert code in (0, 1, 2), said
        harmless(said)


def test_a_word_of_the_width_of_the_screen_does_not_push_a_command_to_the_start_of_a_line() -> None:
    report = pipeline.judge([], load())
    for width in range(40, 43):
        for pad in range(20, 60):
            named = msgspec.structs.replace(report, source="a" * pad + "::stop-commands::x")
            harmless(render("text", clean(named), RenderOptions(width=width, verbose=True)))


@pytest.mark.parametrize(
    ("text", "as_printed"),
    [
        ("std::foo ::1", "std::foo ::1"),
        ("## Findings [1]", "## Findings [1]"),
        ("\x1b[1mbold\x1b[0m", "\x1b[1mbold\x1b[0m"),
        ("\x1b[8mhidden", "\ufffd[8mhidden"),
        ("::x", ": :x"),
        ("a\n \u00a0::x", "a\n \u00a0: :x"),
        ("##[x] ##vso[y]", "## [x] ## vso[y]"),
        ("tab\tgrün ✗ 你好", "tab\tgrün ✗ 你好"),
    ],
)
def test_only_what_steers_is_changed(text: str, as_printed: str) -> None:
    assert screen_text(text) == as_printed


def test_our_own_workflow_commands_stay() -> None:
    assert defuse("::error title=x::y\n", commands=True) == "::error title=x::y\n"
    assert printed_by("check", "--example", "--format", "github")[1].startswith("::error title=rocm-doctor")
    assert visible("\ud83d") == "\ufffd"


# ---- exit codes


@linux
@pytest.mark.parametrize(("command", "whole"), [("explain", 0), pytest.param("check --example", 1, marks=pytest.mark.slow)])
def test_a_full_disk_and_a_closed_output_are_not_our_failure(command: str, whole: int) -> None:
    program = f"{sys.executable} -m rocm_doctor {command}"
    assert printed_by(*command.split())[0] == whole

    def ended(shell: str) -> tuple[int, str]:
        done = subprocess.run(["bash", "-c", shell], cwd=ROOT, env=env(), capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, done.stderr

    code, said = ended(f"{program} > /dev/full")
    assert (code, "standard output: No space left on device" in said) == (2, True)
    assert ended(f"{program} >&-")[0] == whole
    assert ended(f"{program} >&- 2>&-")[0] == whole
    assert ended(f"{program} | true; exit ${{PIPESTATUS[0]}}") == (whole, "")
    assert ended(f"PYTHONIOENCODING=latin-1 {program} > /dev/null")[0] == whole
    assert ended(f"{sys.executable} -m rocm_doctor check - <&-")[0] == 2


@linux
def test_a_ready_machine_into_a_closed_pipe_is_ready(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile.rocm").write_text(
        "FROM rocm/pytorch:rocm6.4.4_ubuntu24.04_py3.12_pytorch_release_2.7.1\nENV PYTORCH_ROCM_ARCH=gfx1100\n"
    )
    program = f"{sys.executable} -m rocm_doctor lint {tmp_path} --gpu gfx1100 -v"
    shell = f"{program} | true; exit ${{PIPESTATUS[0]}}"
    assert subprocess.run(["bash", "-c", shell], env=env(), timeout=60, check=False, capture_output=True).returncode == 0


@linux
def test_a_deleted_folder_is_named(tmp_path: Path) -> None:
    shell = f"mkdir {tmp_path}/gone && cd {tmp_path}/gone && rmdir {tmp_path}/gone && {sys.executable} -m rocm_doctor lint --gpu gfx1100"
    done = subprocess.run(["bash", "-c", shell], env=env(), timeout=60, check=False, capture_output=True, text=True)
    assert (done.returncode, "was deleted" in done.stderr) == (2, True), done.stderr


SLOW = {
    "check": ["check", "FILE"],
    "probe": ["probe", "FILE"],
    "bundle": ["bundle", "FILE", "-o", "OUT"],
    "standard input": ["check", "-"],
    "lint": ["lint", "FOLDER", "--gpu", "gfx1100"],
    "audit": ["audit", "FOLDER"],
}


@pytest.mark.parametrize("way", SLOW)
def test_ctrl_c_is_130(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The interrupt comes at the first work of the command."""
    places = {"FILE": tmp_path / "x.log", "OUT": tmp_path / "o.zip", "FOLDER": tmp_path}
    (tmp_path / "x.log").write_text("amdgpu: ring gfx timeout\n" * 10)
    (tmp_path / "requirements.txt").write_text("torch\n")

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rocm_doctor.matrix.load", stop)
    monkeypatch.setattr("rocm_doctor.binaries.audit.audit_folder", stop)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    code, said = printed_by(*(str(places.get(a, a)) for a in SLOW[way]))
    assert (code, "Traceback" in said) == (130, False), said


@pytest.mark.parametrize(("thread", "printed"), [(False, b"verdict\n"), (True, b"verdict\nthread\n")])
def test_the_process_ends_at_once_unless_a_thread_runs(thread: bool, printed: bytes) -> None:
    """What was printed is written in full, and what is registered for the end of Python runs only behind a thread."""
    code = (
        "import atexit, sys, threading, time, rocm_doctor.cli as c\n"
        "def late():\n    time.sleep(0.3)\n    print('thread')\n"
        f"def run():\n    print('verdict')\n    {'threading.Thread(target=late).start()' if thread else 'atexit.register(print, 7)'}\n    return 3\n"
        "c._run = run\nc.program()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], env=env(), capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout.replace(b"\r", b""), done.stderr) == (3, printed, b"")


@pytest.mark.parametrize(("stop", "exit_code"), [("KeyboardInterrupt", 130), ("c.Stopped(143)", 143)])
def test_what_was_printed_before_a_stop_is_written(stop: str, exit_code: int) -> None:
    code = f"import rocm_doctor.cli as c\ndef run():\n    print('first half')\n    raise {stop}\nc._run = run\nc.program()\n"
    done = subprocess.run([sys.executable, "-c", code], env=env(), capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout.strip()) == (exit_code, b"first half")


@linux
def test_ctrl_c_while_tools_run(tmp_path: Path) -> None:
    (tmp_path / "rocminfo").write_text("#!/bin/sh\necho started > $STARTED\nsleep 30\n")
    (tmp_path / "rocminfo").chmod(0o755)
    for command in (["check", "--no-smoke"], ["bundle", "-o", str(tmp_path / "o.zip")]):
        mark = tmp_path / f"started-{command[0]}"
        more = env(PATH=f"{tmp_path}:{os.environ['PATH']}", STARTED=str(mark))
        child = subprocess.Popen(
            [sys.executable, "-m", "rocm_doctor", *command], env=more, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        until = time.monotonic() + 30
        while not mark.exists() and time.monotonic() < until:
            time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        assert child.wait(20) == 130, command


def test_a_ticket_names_nobody(tmp_path: Path) -> None:
    code = "import rocm_doctor.cli as c, rocm_doctor.matrix as m, sys\n"
    code += (
        "def fail(*a): raise KeyError('/home/erika/train/x.log')\nm.load = fail\nsys.argv[1:] = ['check', '--example']\nc.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], env=env(), capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, "erika" in done.stderr) == (4, False)
