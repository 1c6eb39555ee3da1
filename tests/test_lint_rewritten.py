"""What a command leaves in a file of the repository is what a later one installs."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_text import report

PROJECT = """[project]
name = "x"
version = "0.1"
requires-python = ">=3.10"
dependencies = ["torch==2.7.0", "pytorch-triton-rocm"]
[[tool.uv.index]]
name = "pt"
url = "https://download.pytorch.org/whl/cu128"
explicit = true
[tool.uv.sources]
torch = { index = "pt" }
pytorch-triton-rocm = { index = "pt" }
"""
LOCK = """version = 1
requires-python = ">=3.10"
[[package]]
name = "torch"
version = "2.7.0+cu128"
source = { registry = "https://download.pytorch.org/whl/cu128" }
[[package]]
name = "x"
version = "0.1"
source = { virtual = "." }
dependencies = [{ name = "torch" }]
[package.metadata]
requires-dist = [{ name = "torch", specifier = "==2.7.0", index = "https://download.pytorch.org/whl/cu128" }]
"""
CUDA = "torch resolves to 2.7.0, a CUDA build"


def rocm(text: str) -> str:
    return text.replace("cu128", "rocm6.3")


FILES = {
    "train.py": 'import torch\ntorch.ones(1, device="cuda")\n', "pyproject.toml": PROJECT, "uv.lock": LOCK,
    "other.toml": rocm(PROJECT), "other.lock": rocm(LOCK), "some.patch": "",
}  # fmt: skip
COPIED = "cp other.toml pyproject.toml"
LOCK_COPIED = "if [ -f other.lock ]; then cp other.lock uv.lock; fi"


@pytest.mark.parametrize(("commands", "severity"), [
    (["uv sync"], "error"),
    (["uv sync", COPIED, LOCK_COPIED], "error"),
    ([COPIED, LOCK_COPIED, "uv sync"], ""),
    ([COPIED, "uv sync"], ""),
    (["ln -sf other.toml pyproject.toml", "uv sync"], ""),
    (["cp other.lock uv.lock", "uv sync --frozen"], ""),
    (["sed -i s/cu128/rocm6.3/ pyproject.toml", "uv sync"], "warning"),
    (["sed -i s/cu128/rocm6.3/ README.md", "uv sync"], "error"),
    (["git apply some.patch", "uv sync"], "warning"),
    (["patch -p1 < some.patch", "uv sync"], "warning"),
    (["uv lock --upgrade", "uv sync"], "warning"),
    (["uv lock --check", "uv sync"], "error"),
    (["echo '[project]' | tee pyproject.toml", "uv sync"], "warning"),
    (["sed -n 1p pyproject.toml", "uv sync"], "error"),
    (["mkdir other", "cp other.toml other/pyproject.toml", "uv sync"], "error"),
    (["cp missing.toml pyproject.toml", "uv sync"], "warning"),
    (["rm uv.lock", "uv sync"], "error"),
    (["rm -f pyproject.toml", "uv sync"], "warning"),
], ids=lambda value: " && ".join(value) if isinstance(value, list) else value)  # fmt: skip
@pytest.mark.parametrize("by", ["setup_rocm.sh", "Makefile"])
def test_a_project_is_installed_as_the_commands_before_left_it(
    tmp_path: Path, commands: list[str], severity: str, by: str
) -> None:
    lines = commands if by.endswith(".sh") else ["sync-rocm:", *(f"\t@{one}" for one in commands)]
    found = report(tmp_path, {**FILES, by: "\n".join(lines) + "\n"}).findings
    assert [f.severity for f in found if f.title == CUDA and f.severity != "note"] == ([severity] if severity else [])


def test_without_its_lock_the_project_decides(tmp_path: Path) -> None:
    (one,) = (f for f in report(tmp_path, {**FILES, "setup_rocm.sh": "rm uv.lock\nuv sync\n"}).findings if f.title == CUDA)
    assert one.evidence[0].artifact == "pyproject.toml"


def test_what_is_done_in_another_repository_changes_nothing_here(tmp_path: Path) -> None:
    for n, change in enumerate(("git apply ../some.patch", "uv lock", "rm uv.lock")):
        script = f"git clone https://github.com/x/y\ncd /tmp/y\n{change}\ncd -\nuv sync\n"
        found = report(tmp_path / str(n), {**FILES, "setup_rocm.sh": script}).findings
        assert [f.severity for f in found if f.title == CUDA] == ["error"]


@pytest.mark.parametrize(("change", "severity"), [
    ("patch -p1 < some.patch", "warning"), ("rm requirements.txt", "warning"), ("rm other.txt", "error"), ("mv rocm.txt requirements.txt", ""),
])  # fmt: skip
def test_a_list_is_installed_as_the_commands_before_left_it(tmp_path: Path, change: str, severity: str) -> None:
    files = {
        "train.py": FILES["train.py"],
        "requirements.txt": "torch==2.7.0\n",
        "rocm.txt": "--index-url https://download.pytorch.org/whl/rocm6.3\ntorch==2.7.0\n",
        "other.txt": "x\n",
        "setup_rocm.sh": f"{change}\npip install -r requirements.txt\n",
    }
    found = report(tmp_path, files).findings
    assert [f.severity for f in found if f.title == CUDA and f.severity != "note"] == ([severity] if severity else [])
