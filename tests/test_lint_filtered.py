"""Lists that a command makes of another one by leaving lines out."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_text import report

IMAGE = "FROM rocm/pytorch:rocm6.4.3_ubuntu24.04_py3.12_pytorch_release_2.6.0\nCOPY . .\nRUN {}\n"
LIST = "torch==2.7.0\nnumpy==2.2.6\nxformers==0.0.30\n"
EXTENDED = "grep -vEi '^(torch|xformers)([<>=[:space:]]|$)' requirements.txt"


@pytest.mark.parametrize("command", [
    "pip install $(grep -vE '^(torch|xformers)' requirements.txt)", f"pip install -r <({EXTENDED})", f"{EXTENDED} > /tmp/r.txt && pip install -r /tmp/r.txt",
    'grep -v "torch\\|xformers" requirements.txt > r.txt && pip install -r r.txt', "sed -i -e '/^torch/d' -e '/xformers/d' requirements.txt && pip install -r requirements.txt",
    "sed -i '/torch/d' requirements.txt && sed -i '/xformers/d' requirements.txt && pip install -r requirements.txt",
])  # fmt: skip
def test_a_list_without_the_lines_that_are_left_out(tmp_path: Path, command: str) -> None:
    assert report(tmp_path, {"Dockerfile.rocm": IMAGE.format(command), "requirements.txt": LIST}).verdict == "ready"


@pytest.mark.parametrize("command", [
    "pip install $(cat requirements.txt)", "pip install `cat requirements.txt`", "pip install $(grep -v numpy requirements.txt)",
    "sed -i '/numpy/d' requirements.txt && pip install -r requirements.txt",
])  # fmt: skip
def test_what_is_left_in_it_is_installed(tmp_path: Path, command: str) -> None:
    found = report(tmp_path, {"Dockerfile.rocm": IMAGE.format(command), "requirements.txt": LIST})
    errors = [(f.id, f.evidence[0].artifact) for f in found.findings if f.severity == "error"]
    assert ("version.torch-not-rocm", "requirements.txt") in errors


@pytest.mark.parametrize("command", [
    "pip install $(grep -v \"$WITHOUT\" requirements.txt)", "pip install $(grep -vP '(?<!x)torch' requirements.txt)", "pip install $(grep -v '^torch$' requirements.txt)",
    "pip install $(./lists requirements.txt)", "grep numpy requirements.txt > r.txt && pip install -r r.txt",
    "sed -i 's/torch.*//;/xformers/d' requirements.txt && pip install -r requirements.txt",
])  # fmt: skip
def test_what_is_left_by_another_command_is_not_known(tmp_path: Path, command: str) -> None:
    found = report(tmp_path, {"Dockerfile.rocm": IMAGE.format(command), "requirements.txt": "torch==2.7.0\nnumpy\n"})
    assert found.verdict == "undetermined"
    assert [f.id for f in found.findings if f.severity == "error"] == []
