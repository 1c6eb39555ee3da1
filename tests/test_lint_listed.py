"""Branches of scripts that a list of PCI devices decides: Instinct GPUs are not of the class VGA."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_text import report, said

from rocm_doctor.lint.environments.listed import listed

ROCM = "pip install torch --index-url https://download.pytorch.org/whl/rocm6.2\n"
INSTINCT = {"gfx908", "gfx90a", "gfx942", "gfx950"}


@pytest.mark.parametrize(("test", "missed"), [
    ("lspci | grep VGA | grep -qi amd", INSTINCT),
    ("lspci | grep -i 'vga.*advanced micro' > /dev/null 2>&1", INSTINCT),
    ("[[ $(lspci | grep VGA | cut -d: -f3) == *Advanced* ]]", INSTINCT),
    ('[ -n "$(lspci | grep -i vga | grep -i amd || true)" ]', INSTINCT),
    ("lspci | grep -E 'VGA|3D|Display' | grep -i amd", {"gfx942", "gfx950"}),
    ("lspci -nn | grep -E '\\[03' | grep 1002", {"gfx942", "gfx950"}),
    ("lspci | grep -qi radeon", INSTINCT),
    ("lspci | grep -qi amd", set()),
    ("lspci -nn | grep 1002:", set()),
])  # fmt: skip
def test_the_gpus_that_a_list_of_devices_misses(test: str, missed: set[str]) -> None:
    found = listed(test)
    assert found
    assert not found.absent
    assert set(found.missed) == missed
    denied = listed(f"! {test}")
    assert denied
    assert denied.absent
    assert set(denied.missed) == missed


@pytest.mark.parametrize("test", [
    "lspci | grep -qi nvidia", "lspci | grep -q VGA", "lspci | grep -i 'AMD.*7900'", "lspci -d 1002: | grep -q VGA",
    "lspci | grep -q \"$VENDOR\"", "lspci | grep VGA || lspci | grep -i amd", "rocm-smi | grep -q AMD",
])  # fmt: skip
def test_other_tests_say_nothing_of_the_class_of_a_device(test: str) -> None:
    assert listed(test) is None


BRANCHES = {
    "if": f"if lspci | grep -i vga | grep -qi amd; then\n  {ROCM}else\n  pip install torch\nfi\n",
    "by a variable": f"GPU=$(lspci | grep VGA | cut -d: -f3)\nif [[ $GPU == *Advanced* ]]; then\n  {ROCM}else\n  pip install torch\nfi\n",
}


@pytest.mark.parametrize("text", BRANCHES.values(), ids=BRANCHES)
def test_the_other_branch_runs_where_the_list_misses_the_gpu(tmp_path: Path, text: str) -> None:
    assert report(tmp_path / "a", {"setup_rocm.sh": text}).verdict == "ready"
    assert said(report(tmp_path / "b", {"setup_rocm.sh": text}, gpu="gfx942"))[0][:2] == ("version.torch-not-rocm", "warning")
    open_ = report(tmp_path / "c", {"setup_rocm.sh": text}, gpu="gfx906")
    assert open_.verdict == "undetermined"
    assert "in the output of lspci is not known" in open_.summary


def test_a_script_that_ends_where_the_list_misses_the_gpu(tmp_path: Path) -> None:
    text = f"if ! lspci | grep VGA | grep -q AMD; then\n  echo 'no GPU'\n  exit 1\nfi\n{ROCM}"
    assert report(tmp_path / "a", {"setup.sh": text}).verdict == "ready"
    ends = report(tmp_path / "b", {"setup.sh": text}, gpu="gfx942")
    assert ends.verdict == "undetermined"
    assert "line 3 ends it for gfx942" in ends.summary
    assert report(tmp_path / "c", {"setup.sh": text.replace("grep VGA | ", "")}, gpu="gfx942").verdict == "ready"


DETECTS = "V=cpu\nif lspci | grep -i vga | grep -qi nvidia; then\n  V=nvidia\nelif lspci | grep -i vga | grep -qi amd; then\n  V=amd\nfi\n"
FOLLOWS = {
    "if": f'if [[ "$V" == "amd" ]]; then\n  {ROCM}else\n  pip install torch\nfi\n',
    "case": f'case "$V" in\n  nvidia) pip install torch ;;\n  amd) {ROCM.strip()} ;;\n  *) pip install torch ;;\nesac\n',
}


@pytest.mark.parametrize("text", FOLLOWS.values(), ids=FOLLOWS)
def test_a_variable_that_a_list_of_devices_decides(tmp_path: Path, text: str) -> None:
    assert report(tmp_path / "a", {"setup.sh": DETECTS + text}).verdict == "ready"
    assert [i for i, *_ in said(report(tmp_path / "b", {"setup.sh": DETECTS + text}, gpu="gfx942"))] == ["version.torch-not-rocm"]
    another = f"{DETECTS}if command -v rocminfo; then V=amd; fi\n{text}"
    assert report(tmp_path / "c", {"setup.sh": another}, gpu="gfx942").verdict == "ready"
