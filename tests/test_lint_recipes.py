"""Targets of Makefiles and justfiles, and the images that commands build."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_text import report, repository, said

ROCM = "https://download.pytorch.org/whl/rocm6.4"
NOT_ROCM = "version.torch-not-rocm"
RUN = "RUNTIME ?= docker\nrun-rocm:\n\t@$(RUNTIME) run -it {} \\\n\t\tghcr.io/x/y-rocm:main\n"


@pytest.mark.parametrize(("options", "found"), [
    ("", [("access.container", "warning", "Makefile:3")]), ("--device /dev/kfd --device /dev/dri --ipc=host", []),
])  # fmt: skip
def test_a_container_that_a_target_starts(tmp_path: Path, options: str, found: list[tuple[str, str, str]]) -> None:
    assert said(report(tmp_path, {"Makefile": RUN.format(options)})) == found


MAKE = """ifeq ($(INDEX),)
URL = {index}
else
URL = https://download.pytorch.org/whl/cu126
endif
PIP := pip install
venv:
\tpython -m venv venv
rocm: venv
\t$(PIP) torch --index-url $(URL)
\t{more}
cuda:
\t$(PIP) torch==2.9.1
"""


def test_variables_and_branches_of_a_makefile(tmp_path: Path) -> None:
    fine = MAKE.format(index=ROCM, more="true")
    assert said(report(tmp_path / "a", {"Makefile": fine})) == []
    assert said(report(tmp_path / "b", {"Makefile": fine.replace("ifeq", "ifneq")}))[0][2] == "Makefile:10"
    replaced = MAKE.format(index=ROCM, more="$(PIP) -U torch")
    assert said(report(tmp_path / "c", {"Makefile": replaced})) == [(NOT_ROCM, "error", "Makefile:11")]
    shell = MAKE.format(index="$(shell cat index)", more="true")
    assert not any(severity == "error" for _, severity, _ in said(report(tmp_path / "d", {"Makefile": shell})))


def test_what_a_target_needs_is_made_first(tmp_path: Path) -> None:
    text = f"base:\n\tpip install torch --index-url {ROCM}\nrocm: base\n\tpip install torch==2.12.0\n"
    assert said(report(tmp_path, {"Makefile": text})) == [(NOT_ROCM, "error", "Makefile:4")]


def test_a_justfile(tmp_path: Path) -> None:
    text = 'index := "{}"\nrocm version="2.9.1": venv\n    @uv pip install torch==2.9.1 --index-url {{{{index}}}}\nvenv:\n    uv venv\n'
    assert said(report(tmp_path / "a", {"justfile": text.format(ROCM)})) == []
    wrong = text.format("https://download.pytorch.org/whl/cu126")
    assert said(report(tmp_path / "b", {"justfile": wrong})) == [(NOT_ROCM, "error", "justfile:3")]


BUILD = "ARG EXTRA=cuda\nFROM ubuntu:24.04\nARG EXTRA\nCOPY . /x\nWORKDIR /x\nRUN pip install -r requirements-${EXTRA}.txt\n"
LISTS = {"requirements-cuda.txt": "torch==2.9.1\n", "requirements-amd.txt": "torch==2.9.1+cu126\n", "Dockerfile": BUILD}


@pytest.mark.parametrize(("file", "text", "name"), [
    ("Makefile", "image-rocm:\n\tdocker build --build-arg EXTRA=amd -t x .\n", "Dockerfile by Makefile target image-rocm"),
    ("build.sh", "docker build --build-arg EXTRA=amd -t x-rocm .\n", "Dockerfile by build.sh"),
    ("compose.yml", "services:\n  rocm:\n    build:\n      context: .\n      args:\n        EXTRA: amd\n", "compose.yml service rocm by Dockerfile"),
])  # fmt: skip
def test_an_image_that_is_built_with_arguments(tmp_path: Path, file: str, text: str, name: str) -> None:
    files = LISTS | {file: text}
    made = [e for e in repository(tmp_path, files).environments if e.name == name]
    assert [(e.purpose.kind, [r.spec for s in e.steps for r in s.requirements]) for e in made] == [("amd", ["==2.9.1+cu126"])]
    assert (NOT_ROCM, "error", "requirements-amd.txt:1") in said(report(tmp_path, files))


@pytest.mark.parametrize(("text", "gpu", "advice"), [
    ("ARG GFX_ARCH=gfx1100\nENV GFX_ARCH=$GFX_ARCH", "gfx942", "build with --build-arg GFX_ARCH=gfx942."),
    ('ARG ARCHS="gfx90a;gfx1100"\nENV PYTORCH_ROCM_ARCH=${ARCHS}', "gfx942", 'build with --build-arg ARCHS="gfx90a;gfx1100;gfx942".'),
    ('ENV PYTORCH_ROCM_ARCH="gfx90a;gfx1100"', "gfx942", "Add gfx942 to PYTORCH_ROCM_ARCH."),
    ("ENV GFX_ARCH=gfx1100", "gfx942", "Set GFX_ARCH to gfx942 for this GPU."),
])  # fmt: skip
def test_build_targets_by_what_sets_them(tmp_path: Path, text: str, gpu: str, advice: str) -> None:
    files = {"Dockerfile.rocm": f"FROM rocm/dev-ubuntu-24.04:6.4\n{text}\nRUN pip install .\n"}
    found = [f for f in report(tmp_path, files, gpu).findings if f.id == "arch.not-in-build"]
    assert [f.severity for f in found] == ["warning"]
    assert found[0].advice.endswith(advice)


INDEX = "https://download.pytorch.org/whl/"


@pytest.mark.parametrize(("begin", "severity"), [
    ("GPU = cuda\n", "error"), ("GPU ?= cuda\n", ""), ("GPU := cuda\n", "error"), ("GPU = rocm\n", ""),
])  # fmt: skip
def test_a_variable_of_make_that_has_a_default_only(tmp_path: Path, begin: str, severity: str) -> None:
    """`make install-rocm GPU=rocm` is what such a default is for."""
    text = f"{begin}ifeq ($(GPU),rocm)\nINDEX = {INDEX}rocm6.4\nelse\nINDEX = {INDEX}cu128\nendif\ninstall-rocm:\n\tpip install torch==2.9.1 --index-url $(INDEX)\n"
    found = [f.severity for f in report(tmp_path, {"Makefile": text}).findings if f.id == "version.torch-not-rocm"]
    assert found == ([severity] if severity else [])


@pytest.mark.parametrize(("begin", "lists"), [("", {"requirements.txt"}), (".ONESHELL:\n", {"sub/requirements.txt"})])
def test_recipes_in_one_shell(tmp_path: Path, begin: str, lists: set[str]) -> None:
    files = {
        "Makefile": f"{begin}rocm:\n\tcd sub\n\tpip install -r requirements.txt\n",
        "requirements.txt": "torch==2.5.1\n",
        "sub/requirements.txt": "torch==2.9.1\n",
    }
    made = next(e for e in repository(tmp_path, files).environments if e.sort == "script")
    assert {r.place.file for step in made.steps for r in step.requirements} == lists
