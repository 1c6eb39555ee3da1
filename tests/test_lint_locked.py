"""A uv.lock that is older than the sources of its project, and extras for another system."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from lint_text import report, repository, said, uv_indexes

NOT_ROCM = "version.torch-not-rocm"
PROJECT = '[project]\nname = "app"\nversion = "1"\nrequires-python = ">=3.11"\ndependencies = ["torch==2.11.0"]\n'
SOURCE = '[tool.uv.sources]\ntorch = [{ index = "amd" }]\n'
URL = "https://download.pytorch.org/whl/"
LOCK = """version = 1
requires-python = ">=3.11"
[[package]]
name = "app"
version = "1"
source = {{ virtual = "." }}
dependencies = [{{ name = "torch" }}]
[package.metadata]
requires-dist = [{{ name = "torch", specifier = "==2.11.0"{asked} }}]
[[package]]
name = "torch"
version = "2.11.0+{build}"
source = {{ registry = "{url}{build}" }}
"""


def locked(build: str, *, named: bool = True) -> str:
    return LOCK.format(build=build, url=URL, asked=f', index = "{URL}{build}"' if named else "")


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize(("build", "command", "wrong"), [
    ("cu128", "uv run main.py", False), ("cu128", "uv sync", False), ("cu128", "uv run --frozen main.py", True), ("rocm7.2", "uv run main.py", False),
])  # fmt: skip
def test_uv_locks_again_where_the_sources_have_changed(
    tmp_path: Path, named: bool, build: str, command: str, wrong: bool
) -> None:
    files = {
        "pyproject.toml": PROJECT + SOURCE + uv_indexes("rocm7.2", "cu128"),
        "uv.lock": locked(build, named=named),
        "run_rocm.sh": f"{command}\n",
    }
    assert (NOT_ROCM in [i for i, _, _ in said(report(tmp_path, files))]) is wrong


def test_a_lock_of_sources_for_cuda_is_still_judged(tmp_path: Path) -> None:
    files = {
        "pyproject.toml": PROJECT + SOURCE + uv_indexes("cu128", "cpu"),
        "uv.lock": locked("cu128"),
        "run_rocm.sh": "uv run main.py\n",
    }
    assert NOT_ROCM in [i for i, _, _ in said(report(tmp_path, files))]


@pytest.mark.parametrize(("extras", "judged"), [("", False), ('provides-extras = ["srt-hip"]\n', True)])
def test_a_lock_from_before_the_extra_is_not_judged_for_it(tmp_path: Path, extras: str, judged: bool) -> None:
    project = '[project]\nname = "app"\nversion = "1"\ndependencies = ["torch==2.11.0"]\n[project.optional-dependencies]\nsrt_hip = ["torch"]\n'
    lock = locked("cu128").replace("[package.metadata]\n", f"[package.metadata]\n{extras}")
    found = report(tmp_path, {"pyproject.toml": project, "uv.lock": lock}).findings
    assert any(r.artifact == "uv.lock" and "srt_hip" in f.subject for f in found for r in f.evidence) is judged


EXTRA = """[project]
name = "app"
version = "1"
[project.optional-dependencies]
{name} = ["torch==2.12.0{marker}"]
[tool.uv.sources]
torch = [{{ index = "nvidia", extra = "{name}" }}]
"""


@pytest.mark.parametrize(("name", "marker", "judged"), [
    ("rocm", "", True), ("rocm-windows", "", False), ("rocm-win", "", False), ("rocm", "; sys_platform == 'win32'", False),
    ("rocm", "; platform_system == 'Windows' and python_version > '3.9'", False), ("rocm", "; sys_platform == 'linux'", True),
    ("rocm-macos", "", False), ("rocm-linux-windows", "", True),
    ("rocm", "; sys_platform == 'win32' or sys_platform == 'linux'", True),
])  # fmt: skip
def test_an_extra_for_another_system_is_not_judged_on_linux(tmp_path: Path, name: str, marker: str, judged: bool) -> None:
    files = {"pyproject.toml": EXTRA.format(name=name, marker=marker) + uv_indexes("rocm7.2", "cu128")}
    assert (NOT_ROCM in [i for i, _, _ in said(report(tmp_path, files))]) is judged


def test_the_remedy_has_a_marker_beside_sources_that_have_one(tmp_path: Path) -> None:
    text = EXTRA.format(name="rocm", marker="").replace('extra = "rocm"', 'extra = "rocm", marker = "sys_platform == \'linux\'"')
    (one,) = [f for f in report(tmp_path, {"pyproject.toml": text + uv_indexes("rocm7.2", "cu128")}).findings if f.id == NOT_ROCM]
    assert 'extra = "rocm", marker = "sys_platform == \'linux\'"' in one.advice
    # Tried with uv 0.13.9: without a marker of its own it is looked for on the package index for other systems, and nothing is locked.
    assert re.search(r"\"(?:pytorch-)?triton-rocm==[\d.]+; sys_platform == 'linux'\"", one.advice)


def test_the_remedy_has_no_marker_beside_sources_without_one(tmp_path: Path) -> None:
    text = EXTRA.format(name="rocm", marker="")
    (one,) = [f for f in report(tmp_path, {"pyproject.toml": text + uv_indexes("rocm7.2", "cu128")}).findings if f.id == NOT_ROCM]
    assert "triton-rocm==" in one.advice
    assert "sys_platform" not in one.advice


@pytest.mark.parametrize(("marker", "system"), [
    ("; sys_platform == 'win32'", "windows"), ("; platform_system == 'Darwin'", "macos"), ("; sys_platform == 'linux'", ""), ("", ""),
])  # fmt: skip
def test_the_system_of_an_extra_by_its_markers(tmp_path: Path, marker: str, system: str) -> None:
    read = repository(tmp_path, {"pyproject.toml": EXTRA.format(name="rocm", marker=marker) + uv_indexes("rocm7.2", "cu128")})
    assert [e.os for e in read.environments if e.labels == ("rocm",)] == [system]


_POETRY = """[tool.poetry]
name = "x"
version = "1"
[tool.poetry.dependencies]
python = "^3.10"
[tool.poetry.group.rocm]
optional = true
[tool.poetry.group.rocm.dependencies]
torch = {url = "https://download.pytorch.org/whl/rocm6.4/torch-2.9.1%2Brocm6.4-cp310-cp310-linux_x86_64.whl"}
"""
_CUDA_LOCK = """[[package]]
name = "torch"
version = "2.9.1+cu128"
[package.source]
type = "url"
url = "https://download.pytorch.org/whl/cu128/torch-2.9.1%2Bcu128-cp310-cp310-{tag}.whl"
"""


@pytest.mark.parametrize(("copied", "options", "tag", "found"), [
    ("pyproject.toml", "--without dev --with rocm", "linux_x86_64", []), ("pyproject.toml poetry.lock", "--with rocm", "linux_x86_64", ["version.torch-not-rocm"]),
    ("pyproject.toml poetry.lock*", "--with rocm", "linux_x86_64", ["version.torch-not-rocm"]), ("pyproject.toml poetry.lock", "--with rocm", "win_amd64", []),
])  # fmt: skip
def test_poetry_takes_the_lock_that_is_copied(tmp_path: Path, copied: str, options: str, tag: str, found: list[str]) -> None:
    """Without its lock poetry resolves the groups that it is asked for; a wheel for Windows is no torch for Linux."""
    text = f"FROM rocm/dev-ubuntu-22.04:6.4\nWORKDIR /x\nCOPY {copied} ./\nRUN pip install poetry && poetry install {options}\nCOPY . .\n"
    files = {"rocm.Dockerfile": text, "pyproject.toml": _POETRY, "poetry.lock": _CUDA_LOCK.format(tag=tag)}
    assert [i for i, s, _ in said(report(tmp_path, files)) if s == "error"] == found


@pytest.mark.parametrize(
    ("options", "found"), [("--with dev,rocm", ["arch.not-in-build"]), ("--only=rocm", ["arch.not-in-build"]), ("", [])]
)
def test_a_group_that_poetry_is_asked_for(tmp_path: Path, options: str, found: list[str]) -> None:
    text = (
        f"FROM rocm/dev-ubuntu-22.04:6.4\nWORKDIR /x\nCOPY pyproject.toml .\nRUN pip install poetry && poetry install {options}\n"
    )
    report_ = report(
        tmp_path,
        {"rocm.Dockerfile": text, "pyproject.toml": f"{_POETRY}[tool.poetry.group.dev.dependencies]\npytest = '*'\n"},
        gpu="gfx1151",
    )
    assert [i for i, s, _ in said(report_) if s == "error"] == found
