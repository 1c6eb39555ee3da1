"""`lint --fix`: a diff of the edits that are safe, then written; after them the finding is gone."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from lint_text import written

from rocm_doctor.cli import cli

ROCM = "https://download.pytorch.org/whl/rocm6.4"
COMPOSE = (
    "services:\n  # trains\n  train:\n    image: rocm/pytorch:latest\n    command: python train.py\n  db:\n    image: postgres\n"
)


def lint(root: Path, *more: str) -> tuple[int, str]:
    done = CliRunner().invoke(cli, ["lint", str(root), "--gpu", "gfx1100", "--python", "3.12", "--fail-on", "warning", *more])
    return done.exit_code, done.stdout


CASES = [
    ("requirements-rocm.txt", f"--index-url {ROCM}\ntorch==2.9.1\ntorchvision==0.20.1  # why\n", "torchvision==0.24.1  # why"),
    ("Dockerfile.rocm", f"FROM ubuntu:24.04\nRUN pip install torch==2.9.1 \\\n    torchvision==0.20.1 --index-url {ROCM}\n", "torchvision==0.24.1 --index"),
    ("Dockerfile", "FROM rocm/pytorch:latest\nENV PYTORCH_ROCM_ARCH=gfx90a;gfx942\n", "PYTORCH_ROCM_ARCH=gfx90a;gfx942;gfx1100"),
    ("compose.yaml", COMPOSE, "    devices:\n      - /dev/kfd\n      - /dev/dri\n    group_add:\n"),
    ("requirements-rocm.txt", "torch\nnumpy\n", "--extra-index-url https://"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "after"), CASES)
def test_a_safe_edit_is_shown_then_written_and_takes_the_finding_away(tmp_path: Path, name: str, text: str, after: str) -> None:
    written(tmp_path, {name: text})
    assert lint(tmp_path)[0] == 1
    code, diff = lint(tmp_path, "--fix")
    assert code == 0
    assert (tmp_path / name).read_text() == text, "a diff changes nothing"
    copy = tmp_path / "copy"
    written(copy, {name: text})
    subprocess.run(
        ["git", "apply", "-"],
        input=diff,
        text=True,
        cwd=copy,
        check=True,
        env={"GIT_CEILING_DIRECTORIES": str(tmp_path), "PATH": "/usr/bin:/bin"},
    )
    assert lint(tmp_path, "--fix", "--apply")[1] == diff
    assert after in (tmp_path / name).read_text()
    assert (copy / name).read_text() == (tmp_path / name).read_text()
    (copy / name).unlink()
    assert lint(tmp_path)[0] == 0


@pytest.mark.parametrize(("name", "text"), [
    ("requirements.txt", "torch==2.9.1\n"),  # whose hardware is not settled
    ("requirements-rocm.txt", f"--index-url {ROCM}\ntorch==2.9.1\ntorchvision==0.20.1; python_version > '3' and 'torchvision==0.20.1' != ''\n"),
    ("compose.yaml", COMPOSE.replace("python train.py", "python train.py\n    devices: [/dev/dri]")),
    ("requirements-rocm.txt", f"--index-url {ROCM}\r\ntorch==2.9.1\r\n"),  # nothing to mend
])  # fmt: skip
def test_what_is_not_safe_is_left_alone(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_bytes(text.encode())
    assert lint(tmp_path, "--fix", "--apply") == (0, "")
    assert (tmp_path / name).read_bytes() == text.encode()


def test_targets_that_disagree_and_findings_that_are_ignored_give_no_edit(tmp_path: Path) -> None:
    files = {"Dockerfile": CASES[2][1], "rocm-doctor.yaml": "targets:\n  a: {gpu: gfx1100}\n  b: {gpu: gfx1201}\n"}
    written(tmp_path, files)
    assert CliRunner().invoke(cli, ["lint", str(tmp_path), "--fix"]).stdout == ""
    assert lint(tmp_path, "--fix", "--ignore", "arch.not-in-build") == (0, "")
    assert lint(tmp_path, "--fix")[1] != ""


def test_windows_line_ends_are_kept_and_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "requirements-rocm.txt").write_bytes(b"torch\r\nnumpy\r\n")
    lint(tmp_path, "--fix", "--apply")
    text = (tmp_path / "requirements-rocm.txt").read_bytes()
    assert text.count(b"\r\n") == text.count(b"\n") == 3
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "list.txt").write_text("torch\n")
    (tmp_path / "requirements-rocm.txt").unlink()
    (tmp_path / "requirements-rocm.txt").symlink_to("real/list.txt")
    lint(tmp_path, "--fix", "--apply")
    assert (tmp_path / "real" / "list.txt").read_text() == "torch\n"
