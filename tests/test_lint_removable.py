"""A remedy that takes a variable out of its file leaves a valid file: the edits are made here as they are said."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from lint_text import report, serious

OVERRIDE = "HSA_OVERRIDE_GFX_VERSION"
INSTALL = "pip install torch --index-url https://download.pytorch.org/whl/rocm6.4\n"
IMAGE = (
    "    image: rocm/pytorch:rocm6.4_ubuntu24.04_py3.12_pytorch_release_2.6.0\n    devices: [/dev/kfd, /dev/dri]\n    ipc: host\n"
)
SERVICE = f"services:\n  a:\n{IMAGE}    command: python train.py\n    environment:\n"
_EDIT = re.compile(r"(Delete|Take (.+?) out of|Put (:) in place of) (lines? [\d, and]+) of (\S+?)\.(?= |$)")


def mended(root: Path, name: str, text: str) -> str:
    advice = next(f.advice for f in serious(report(root, {name: text})) if f.id == "arch.override-wrong")
    lines = text.splitlines()
    for verb, words, instead, numbers, _ in _EDIT.findall(advice):
        for at in (int(n) - 1 for n in re.findall(r"\d+", numbers)):
            lines[at] = lines[at].replace(words, "") if verb.startswith("Take") else instead or "GONE"
    return "\n".join(line.rstrip() for line in lines if line != "GONE") + "\n"


# What is there, and what has to be left of it.
@pytest.mark.parametrize(("name", "before", "after"), [
    ("Dockerfile.rocm", f"ENV A=1 \\\n    {OVERRIDE}=10.3.0\nENV B=1\n", "ENV A=1\nENV B=1\n"),
    ("Dockerfile.rocm", f"ENV A=1 \\\n    # why\n    {OVERRIDE}=10.3.0\nENV B=1\n", "ENV A=1\n    # why\nENV B=1\n"),
    ("Dockerfile.rocm", f"ENV A=1 \\\n    {OVERRIDE}=10.3.0 \\\n    B=1\n", "ENV A=1 \\\n    B=1\n"),
    ("Dockerfile.rocm", f"ENV \\\n    {OVERRIDE}=10.3.0\nENV B=1\n", "ENV B=1\n"),
    ("Dockerfile.rocm", f"ENV {OVERRIDE}=10.3.0 # why\nENV B=1\n", "ENV B=1\n"),
    ("install_rocm.sh", f"export A=1 \\\n    {OVERRIDE}=10.3.0\nexport B=1\n", "export A=1\nexport B=1\n"),
    ("install_rocm.sh", f"cd x && \\\n    export {OVERRIDE}=10.3.0\nexport B=1\n", "cd x\nexport B=1\n"),
    ("install_rocm.sh", f"if rocminfo; then\n    export {OVERRIDE}=10.3.0\nfi\n", "if rocminfo; then\n:\nfi\n"),
    ("install_rocm.sh", f"if rocminfo; then\n    export B=1\n    export {OVERRIDE}=10.3.0\nfi\n", "if rocminfo; then\n    export B=1\nfi\n"),
])  # fmt: skip
def test_a_command(tmp_path: Path, name: str, before: str, after: str) -> None:
    head, last = ("FROM rocm/dev-ubuntu-22.04:6.4\n", "RUN ") if name.startswith("Dockerfile") else ("", "")
    assert mended(tmp_path, name, head + before + last + INSTALL) == head + after + last + INSTALL


@pytest.mark.parametrize(("before", "after"), [
    (f"      {OVERRIDE}: 10.3.0\n", None), (f'      - "{OVERRIDE}=10.3.0"\n', None), (f"    - {OVERRIDE}=10.3.0\n", None),
    (f"      {OVERRIDE}: '10.3.0'\n      B: 1\n", "      B: 1\n"), (f"      - B=1\n      - {OVERRIDE}=10.3.0\n", "      - B=1\n"),
    (f"      # why\n      {OVERRIDE}: 10.3.0\n", None), (f"    - {OVERRIDE}=10.3.0\n    - B=1\n", "    - B=1\n"),
])  # fmt: skip
def test_a_service(tmp_path: Path, before: str, after: str | None) -> None:
    left = yaml.safe_load(mended(tmp_path, "compose.yaml", SERVICE + before + "    restart: always\n"))["services"]["a"]
    assert left["restart"] == "always"
    assert OVERRIDE not in str(left)
    if after is None:
        assert "environment" not in left
    else:
        assert "B" in str(left["environment"])
