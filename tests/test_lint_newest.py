"""What pip takes of a library for an open range, beside the ROCm torch that is there; and what the wheels of a lock hold."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_text import report, said, serious

LIST = "--extra-index-url https://download.pytorch.org/whl/rocm{rocm}\ntorch=={torch}+rocm{rocm}\n{more}\n"


@pytest.mark.parametrize(("torch", "rocm", "more", "python", "title"), [
    ("2.4.1", "6.0", "transformers>=4.46", "", "transformers 5.20.2 and later need torch >=2.6, and 2.4.1 is there"),
    ("2.4.1", "6.0", "transformers>=4.46", "3.12", "transformers 5.23.0 needs torch >=2.6, and 2.4.1 is there"),
    ("2.4.1", "6.0", "transformers>=4.46", "3.9", ""),
    ("2.4.1", "6.0", "transformers==4.46.0", "", ""),
    ("2.4.1", "6.0", "transformers>=4.46\nvllm==0.5.0", "", ""),
    ("2.9.1", "6.4", "transformers>=4.46", "", ""),
])  # fmt: skip
def test_a_newer_library_than_torch(tmp_path: Path, torch: str, rocm: str, more: str, python: str, title: str) -> None:
    found = report(tmp_path, {"requirements-rocm.txt": LIST.format(torch=torch, rocm=rocm, more=more)}, python=python)
    titles = [f.title for f in serious(found) if f.id == "version.package-mismatch" and "transformers" in f.title]
    assert titles == ([title] if title else [])


WHEEL = '{{ url = "https://{host}/packages/aa/bb/cc/bitsandbytes-0.45.2-py3-none-manylinux_2_24_x86_64.whl" }}'
PROJECT = (
    '[project]\nname = "x"\nversion = "1"\ndependencies = ["torch", "bitsandbytes"]\n[tool.uv.sources]\ntorch = [{ index = "rocm" }]\n'
    '[[tool.uv.index]]\nname = "rocm"\nurl = "https://download.pytorch.org/whl/rocm6.4"\nexplicit = true\n'
)
LOCK = (
    '[[package]]\nname = "x"\nversion = "1"\nsource = { virtual = "." }\ndependencies = [{ name = "torch" }, { name = "bitsandbytes" }]\n'
    '[[package]]\nname = "torch"\nversion = "2.9.1+rocm6.4"\nsource = { registry = "https://download.pytorch.org/whl/rocm6.4" }\n'
    '[[package]]\nname = "bitsandbytes"\nversion = "0.45.2"\nsource = { registry = "https://pypi.org/simple" }\nwheels = [\n'
)


@pytest.mark.parametrize(("host", "found"), [("files.pythonhosted.org", True), ("example.com", False)])
def test_a_locked_wheel_of_bitsandbytes_without_rocm(tmp_path: Path, host: str, found: bool) -> None:
    files = {"pyproject.toml": PROJECT, "uv.lock": f"{LOCK}{WHEEL.format(host=host)}\n]\n"}
    assert ("lib.bitsandbytes" in {one[0] for one in said(report(tmp_path, files))}) is found
