"""Guides beside the README, and the ways that one block of commands offers."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_text import report, serious

ROCM = "https://download.pytorch.org/whl/rocm{}"
AMD = "### PC with an AMD Radeon (Linux)\n\n```bash\npip install torch --index-url " + ROCM.format("6.1") + "\n```\n"
LISTS = {
    "requirements-cpu.txt": "--index-url https://download.pytorch.org/whl/cpu\ntorch==2.9.1\ntorchaudio==2.9.1\n",
    "requirements-cuda.txt": "torch==2.9.1\nnvidia-nccl-cu12\n",
    "requirements-rocm.txt": f"--index-url {ROCM.format('6.4')}\ntorch==2.9.1\n",
}


@pytest.mark.parametrize("name", ["README.md", "HOWTO.md", "docs/running.md", "docs/usage/gpu.md"])
def test_a_guide_is_read_like_the_readme(tmp_path: Path, name: str) -> None:
    (one,) = serious(report(tmp_path, {name: f"# x\n\n{AMD}"}, "gfx1201"))
    assert (one.id, one.severity) == ("arch.not-in-build", "warning")


@pytest.mark.parametrize(("name", "text"), [
    ("CHANGELOG.md", AMD), ("docs/release-notes.md", AMD), ("docs/v1.2.md", AMD), (".github/ISSUE_TEMPLATE/x.md", AMD),
    ("docs/notes.md", "# Install\n\n```bash\npip install torch\n```\n"), ("docs/cuda.md", AMD.replace("rocm6.1", "cu124").replace("AMD Radeon", "NVIDIA GPU")),
])  # fmt: skip
def test_what_was_and_what_is_for_no_one_in_particular(tmp_path: Path, name: str, text: str) -> None:
    found = report(tmp_path, {name: f"# x\n\n{text}", "README.md": "# x\n"}, "gfx1201")
    assert not [f for f in serious(found) if f.id != "repo.no-amd-environment"]


def test_a_way_for_each_hardware_in_one_block(tmp_path: Path) -> None:
    """They are not added up: who installs the list for AMD installs no other one."""
    block = "".join(
        f"# {said}\npip install -r requirements-{name}.txt\n"
        for name, said in (("cpu", "CPU only"), ("cuda", "NVIDIA"), ("rocm", "AMD"))
    )
    found = report(tmp_path, LISTS | {"README.md": f"# x\n## Install\n```bash\n{block}```\n"})
    assert not found.findings
