"""What lint tells to change fits what manages the project, and carries torch's companions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from follow_advice import left
from lint_text import report, said, serious

from rocm_doctor.model import Finding

NOT_ROCM = "version.torch-not-rocm"
WHEELS = "https://download.pytorch.org/whl/rocm"
BUILT = '[build-system]\nrequires = ["setuptools"]\n'
POETRY = '[tool.poetry]\nname = "x"\n[tool.poetry.dependencies]\npython = "^3.10"\ntorch = "2.9.1"\ntorchvision = "*"\n'
PDM = '[project]\nname = "x"\nversion = "1"\ndependencies = ["torch==2.9.1"]\n[tool.pdm]\ndistribution = false\n'
PIXI = '[project]\nname = "x"\nchannels = ["conda-forge"]\nplatforms = ["linux-64"]\n[dependencies]\npytorch = "2.9.*"\n'
CONDA = "name: x\nchannels: [pytorch]\ndependencies: [pytorch=2.9, torchvision]\n"
PIPFILE = '[packages]\ntorch = "==2.9.1"\n'


def again(folder: Path) -> list[Finding]:
    return serious(report(folder, {}))


def advice_on(folder: Path, files: dict[str, str], gpu: str = "gfx1100") -> str:
    return " ".join(f.advice for f in serious(report(folder, files, gpu)) if f.id in (NOT_ROCM, "repo.no-amd-environment"))


@pytest.mark.parametrize(("files", "words"), [
    ({"requirements.txt": "torch==2.9.1\ntorchaudio\n"}, "Add a list for ROCm"),
    ({"pyproject.toml": POETRY}, "Poetry gives everyone the torch of its one lock"), ({"pyproject.toml": PDM}, "PDM gives everyone"),
    ({"Pipfile": PIPFILE}, "Pipenv gives everyone"), ({"pixi.toml": PIXI}, "Add a feature for ROCm"),
    ({"environment.yml": CONDA}, "Add an environment file for ROCm"),
    ({"Dockerfile": "FROM ubuntu:24.04\nRUN pip install torch==2.9.1\n"}, "Add a Dockerfile for ROCm"),
    ({"install.sh": "pip install torch==2.9.1\n"}, "Add a branch for AMD GPUs before the command on line 1 of install.sh: pip install"),
    ({"setup.py": "setup(install_requires=['torch==2.9.1'])\n"}, "Say in the documentation to install torch first: pip install"),
    ({"pyproject.toml": BUILT + '[project]\nname = "x"\ndependencies = ["torch==2.9.1"]\n'}, "Say in the documentation to install torch"),
])  # fmt: skip
def test_advice_in_the_terms_of_what_manages_the_project(tmp_path: Path, files: dict[str, str], words: str) -> None:
    said_ = advice_on(tmp_path, files)
    assert words in said_
    assert "2.9" in said_
    assert "tool.uv" not in said_
    by_shell = re.match(r"Add a (?:branch|Dockerfile)|Say in", words) is not None
    assert ("pip install" in said_) is by_shell


UV = '[project]\nname = "x"\nversion = "1"\n{}\n[tool.uv]\npackage = false\n'


def test_a_project_of_uv_that_does_what_is_proposed_has_no_finding(tmp_path: Path) -> None:
    advice = advice_on(tmp_path, {"pyproject.toml": UV.format('dependencies = ["torch==2.9.1", "torchvision"]')})
    needs = re.search(r"rocm = (\[[^\]]*\])", advice)
    index = re.search(r'\[\[tool.uv.index\]\] (name = "[^"]+"), (url = "[^"]+"), (explicit = true)', advice)
    bound = re.search(r"\[tool.uv.sources\] (.*?)\. Name it", advice)
    assert needs
    assert index
    assert bound
    lines = ["[[tool.uv.index]]", *index.groups(), "[tool.uv.sources]", *re.split(r"(?<=\]), ", bound[1])]
    assert len(lines) == 8  # torch, torchvision and torch's triton are bound
    project = UV.format(f"[project.optional-dependencies]\nrocm = {needs[1]}") + "\n".join(lines)
    assert said(report(tmp_path, {"pyproject.toml": project})) == []


def test_companions_are_those_that_the_repository_asks_for_anywhere(tmp_path: Path) -> None:
    files = {"requirements.txt": "torch==2.9.1\n", "requirements/vision.txt": "torchvision\n"}
    assert "torchvision==0.24.1" in advice_on(tmp_path / "a", files)
    assert "torchvision" not in advice_on(tmp_path / "b", {"requirements.txt": "torch==2.9.1\n"})


def test_a_pin_is_met_or_named(tmp_path: Path) -> None:
    assert "torch==2.9.1+rocm" in advice_on(tmp_path / "a", {"requirements.txt": "torch==2.9.1\n"})
    assert "torch==2.8.0+rocm" in advice_on(tmp_path / "b", {"requirements.txt": "torch==2.8.0\n"})
    for rocm in ("7.1", "7.2"):  # a build of it, too
        found = report(tmp_path / rocm, {"requirements-rocm.txt": f"torch==2.12.0+rocm{rocm} --hash=sha256:0\n"})
        assert f"ask for torch==2.12.0+rocm{rocm} of https://download.pytorch.org/whl/rocm{rocm}." in serious(found)[0].advice
    left = advice_on(tmp_path / "c", {"requirements.txt": "torch==2.2.2\n"}, gpu="gfx1151")
    assert left.startswith("No ROCm build of torch 2.2.2 for Python 3.12 is known to serve gfx1151; ")


IMAGE = "rocm/pytorch:rocm6.4_ubuntu24.04_py3.12_pytorch_release_2.6.0"


@pytest.mark.parametrize(("step", "words"), [
    ("pip install 'torch>=2.8,<2.10'", "torch 2.6.0 of line 1 of Dockerfile does not satisfy <2.10,>=2.8. Change the command on line 2 of "
     "Dockerfile to: pip install 'torch==2.9.1+rocm6.4' torchvision==0.24.1+rocm6.4 torchaudio==2.9.1+rocm6.4 --index-url"),
    ("pip install -U torch", "Keep the torch of line 1 of Dockerfile: leave torch out of line 2 of Dockerfile"),
])  # fmt: skip
def test_a_rocm_torch_that_is_replaced(tmp_path: Path, step: str, words: str) -> None:
    found = report(tmp_path, {"Dockerfile": f"FROM {IMAGE}\nRUN {step}\n"})
    assert [f.severity for f in serious(found)] == ["error"]
    assert serious(found)[0].advice.startswith(words)


@pytest.mark.parametrize(("tool", "words"), [
    ("uv pip install", ": uv pip install torch=="), ("uv pip install --system", ": uv pip install --system torch=="), ("pip install", ": pip install torch=="),
])  # fmt: skip
def test_what_is_proposed_is_installed_by_what_made_the_environment(tmp_path: Path, tool: str, words: str) -> None:
    """A virtual environment of uv has no pip: the one on the path is another Python's."""
    script = f"uv venv --python 3.12\nsource .venv/bin/activate\n{tool} torch torchvision\n"
    told = advice_on(tmp_path, {"run.sh": script})
    assert words in told
    assert "nightl" not in told  # where no release is pinned, one that is not released is not the nearest
    rocm = script.replace("torch torchvision", "torch --index-url https://download.pytorch.org/whl/rocm6.2")
    found = serious(report(tmp_path / "b", {"run_rocm.sh": rocm}, "gfx1201"))
    assert [f": {tool} " in f.advice for f in found if f.id == "arch.not-in-build"] == [True]


@pytest.mark.parametrize(("line", "words"), [
    ("torch", "on line 2 of requirements-rocm.txt. Add above line 2 of requirements-rocm.txt: --extra-index-url"), ("timm", "Add above line 2 of requirements-rocm.txt: --extra-index-url"),
    ("nemo_toolkit==2.7.3", "Take nemo-toolkit out of line 2 of requirements-rocm.txt"),
])  # fmt: skip
def test_the_line_of_a_package_that_brings_torch_is_not_written_over(tmp_path: Path, line: str, words: str) -> None:
    found = report(tmp_path, {"requirements-rocm.txt": f"einops\n{line}\n"}).findings
    assert [words in f.advice for f in found if f.id == NOT_ROCM] == [True]


def test_the_triton_of_another_torch_is_left_out(tmp_path: Path) -> None:
    """A list that pip wrote down pins the Triton of the torch that was there: with another torch pip refuses the list."""
    frozen = "numpy==1.26.4\npytorch-triton-rocm==3.0.0+rocm6.3.1.75cc27c26a\ntorch==2.4.0+rocm6.3.1\n"
    [found] = [f for f in serious(report(tmp_path, {"requirements-rocm.txt": frozen})) if "torch" in f.advice]
    assert found.advice.endswith("Take pytorch-triton-rocm out of line 2 of requirements-rocm.txt: the torch brings its own.")


OLD = "https://download.pytorch.org/whl/rocm5.1.1"


@pytest.mark.parametrize("command", [
    f"pip install --upgrade torch --extra-index-url {OLD}", f"pip install --upgrade torch peft --extra-index-url {OLD}",
    f"pip install --force-reinstall torch --extra-index-url {OLD}", f"pip install torch --extra-index-url {OLD}",
])  # fmt: skip
@pytest.mark.parametrize("before", ["", "pip install wheel \\\n  && "])
def test_a_command_is_changed_itself_with_its_other_words(tmp_path: Path, command: str, before: str) -> None:
    """In the middle of a RUN there is no line to install torch before."""
    files = {"Dockerfile": f"FROM ubuntu:24.04\nRUN {before}{command}\n"}
    one = serious(report(tmp_path, files))
    assert [(f.id, f.severity) for f in one] == [
        (NOT_ROCM, "error")
    ]  # nothing comes from the old index, so that its GPUs do not matter
    line = 3 if before else 2
    assert one[0].advice.startswith(
        f"Change the command on line {line} of Dockerfile to: {command.partition(' torch')[0]} torch=="
    )
    assert one[0].advice.endswith(f"{' peft' if 'peft' in command else ''} --extra-index-url {WHEELS}7.1.")
    assert left(tmp_path, one[0], one, again) == "gone"


@pytest.mark.parametrize("asked", ["torch torchaudio", "torch"])
def test_an_index_without_torchaudio_is_not_proposed_where_it_is_asked_for(tmp_path: Path, asked: str) -> None:
    script = f"pip install {asked} --index-url https://download.pytorch.org/whl/rocm6.2\n"
    advice = " ".join(f.advice for f in serious(report(tmp_path, {"install_rocm.sh": script}, "gfx1151")))
    assert ("whl/rocm7.14" in advice) is ("torchaudio" not in asked)
    assert ("torchaudio==2.11.0+rocm7.2" in advice) is ("torchaudio" in asked)
