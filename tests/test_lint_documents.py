"""Documentation as environments: the blocks under one heading are steps of one way, and that for AMD is told from the others."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_text import report, repository, said, serious

ROCM = "https://download.pytorch.org/whl/rocm6.4"
CUDA = "https://download.pytorch.org/whl/cu126"
NOT_ROCM = "version.torch-not-rocm"
PINNED = '[build-system]\nrequires = ["setuptools"]\n[project]\nname = "x"\ndependencies = ["torch==2.6.0+cu126"]\n'


def block(*lines: str) -> str:
    return "\n".join(("```bash", *lines, "```", ""))


def readme(*parts: str) -> dict[str, str]:
    return {"README.md": "\n".join(parts)}


def of_amd(folder: Path, files: dict[str, str]) -> list[tuple[str, str]]:
    """Diagnosis and place of what is found in the way for AMD."""
    return [(f.id, f.evidence[0].artifact) for f in report(folder, files).findings if "README" in f.subject]


def test_steps_under_one_heading_are_one_environment(tmp_path: Path) -> None:
    first, then = block(f"pip install torch --index-url {ROCM}"), block("pip install -e .")
    pyproject = {"pyproject.toml": PINNED}
    assert of_amd(tmp_path / "a", readme("## AMD", first, "2. Then:", then) | pyproject) == [(NOT_ROCM, "pyproject.toml")]
    assert of_amd(tmp_path / "b", readme("## AMD", "### Step 1", first, "### Step 2", then) | pyproject) == [
        (NOT_ROCM, "pyproject.toml")
    ]
    assert of_amd(tmp_path / "c", readme("## AMD", first, "## Development", then) | pyproject) == []


@pytest.mark.parametrize("other", [
    block(f"pip install torch --index-url {CUDA}"), block("pip install torch torchvision"), "For NVIDIA:\n" + block("pip install torch==2.9.1 flash-attn"),
    block("# NVIDIA", "pip install -U torch==2.9.1", "", "# AMD", f"pip install torch --index-url {ROCM}"),
])  # fmt: skip
def test_ways_for_other_hardware_are_not_steps(tmp_path: Path, other: str) -> None:
    first = block(f"pip install torch --index-url {ROCM}")
    assert of_amd(tmp_path / "a", readme("## Install", first, other)) == []
    assert of_amd(tmp_path / "b", readme("## Install", other, first)) == []


def test_a_block_that_names_gpus_is_for_those(tmp_path: Path) -> None:
    text = readme("## AMD", "For RX 9070 XT:", block("export HSA_OVERRIDE_GFX_VERSION=11.0.0"))
    found = {gpu: [f.id for f in report(tmp_path, text, gpu).findings] for gpu in ("gfx1201", "gfx942")}
    assert "arch.override-wrong" in found["gfx1201"]
    assert "arch.override-wrong" not in found["gfx942"]


@pytest.mark.parametrize("name", ["x[rocm]", "'X[rocm]'", "'.[rocm]'"])
def test_the_project_by_its_own_name_is_its_own_extra(tmp_path: Path, name: str) -> None:
    project = '[project]\nname = "x"\nversion = "1"\n[project.optional-dependencies]\nrocm = ["torch==2.12.0"]\n'
    files = readme("## AMD", block(f"pip install {name} --extra-index-url {ROCM}")) | {"pyproject.toml": project}
    steps = [
        r.name for e in repository(tmp_path, files).environments if e.sort == "text" for s in e.steps for r in s.requirements
    ]
    assert steps == ["torch"]


def test_the_extra_of_a_dynamic_list(tmp_path: Path) -> None:
    project = (
        '[project]\nname = "x"\ndynamic = ["optional-dependencies"]\n'
        '[tool.setuptools.dynamic]\noptional-dependencies.rocm = {file = ["rocm.txt"]}\n'
    )
    files = {"pyproject.toml": project, "rocm.txt": "torch==2.9.1+cu126\n"}
    assert said(report(tmp_path, files)) == [(NOT_ROCM, "error", "rocm.txt:1")]


def test_a_torch_that_is_uninstalled_is_gone(tmp_path: Path) -> None:
    before, after = "pip install torch==2.9.1\n", f"pip install torch --index-url {ROCM}\n"
    gone = f"{before}pip uninstall -y torch torchvision\n{after}"
    assert said(report(tmp_path / "a", {"rocm/install.sh": before + after})) == [(NOT_ROCM, "error", "rocm/install.sh:1")]
    assert said(report(tmp_path / "b", {"rocm/install.sh": gone})) == []


@pytest.mark.parametrize(("language", "command", "weight"), [
    ("dockerfile", "pip install vllm", "warning"), ("Dockerfile", "pip install peft", ""), ("yaml", "pip install vllm", ""),
])  # fmt: skip
def test_a_dockerfile_that_a_document_shows(tmp_path: Path, language: str, command: str, weight: str) -> None:
    image = "FROM rocm/pytorch:rocm6.4_ubuntu24.04_py3.12_pytorch_release_2.6.0"
    text = f"# X\n\n## Image\n\n```{language}\n{image}\nRUN {command}\n```\n"
    found = report(tmp_path, {"README.md": text})
    assert [(f.severity, f.evidence[0].place) for f in serious(found)] == ([(weight, "line 7")] if weight else [])
    files = {"README.md": text, "Dockerfile": f"{image}\n"}
    assert not serious(report(tmp_path / "beside", files))


@pytest.mark.parametrize(("line", "read"), [
    ("    pip3 install torch --index-url {}", True), ("     $ python3 -m pip install torch --index-url {}", True),
    ("pip install torch --index-url {}", True), ("See {} for what is there.", False), ("Take torch from {}.", False),
])  # fmt: skip
def test_a_command_that_is_a_line_of_text(tmp_path: Path, line: str, read: bool) -> None:
    """Many a README indents its commands, or writes them plainly."""
    files = readme("## ROCm", "1. Install torch", "", line.format(ROCM)) | {"requirements-amd.txt": "torch\n"}
    assert [f.id for f in serious(report(tmp_path, files))] == [NOT_ROCM] * (not read)


SETUP = 'from setuptools import setup\nsetup(name="x", install_requires=["{}"], extras_require={{"rocm": ["einops"]}})\n'


# What is told in prose or in a comment is no command that is read, but it is told.
@pytest.mark.parametrize(("file", "text", "told"), [
    ("docs/guide/install.md", "Use a ROCm PyTorch build that fits the driver, then install the extra.\n", True),
    ("notes.txt", f"# first: pip install --index-url {ROCM} torch\n", True), ("notes.txt", f"see {ROCM}\n", False),
    ("notes.txt", "PyTorch has builds for ROCm.\n", False),
])  # fmt: skip
def test_a_torch_that_prose_has_installed_first(tmp_path: Path, file: str, text: str, told: bool) -> None:
    for needs, settled in (("torch>=2.4", False), ("torch==2.6.0", True)):
        for number, listed in enumerate(({"setup.py": SETUP.format(needs)}, {"requirements-rocm.txt": f"{needs}\n"})):
            found = serious(report(tmp_path / f"{number}{settled}", listed | {file: text}))
            assert [f.id for f in found] == [NOT_ROCM] * (settled or not told)
