"""Which Python an installation is for: that of pip in an image, that of the wheels in a list, that of the project."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_text import report, repository, said, serious

APT = "FROM {base}\nRUN apt-get update && apt-get install -y python3.11 python3-pip\n"
LINKED = "RUN ln -sf /usr/bin/python3.11 /usr/bin/python\n"


@pytest.mark.parametrize(("base", "more", "python"), [
    ("ubuntu:22.04", "RUN pip install torch\n", "3.10"), ("rocm/dev-ubuntu-22.04", LINKED + "RUN pip3 install torch\n", "3.10"),
    ("ubuntu:22.04", "ENV PATH=/opt/venv/bin:$PATH\nRUN pip install torch\n", "3.11"),
    ("ubuntu:22.04", "RUN python3.11 -m pip install torch\n", "3.11"),
    ("ubuntu:22.04", "RUN python3.11 -m venv /v && /v/bin/pip install torch\n", "3.11"),
    ("ubuntu:22.04", "RUN update-alternatives --install /usr/bin/python3 python3 /usr/bin/python3.11 1 && pip install torch\n", "3.11"),
    ("ubuntu:22.04", "RUN ln -sf python3.11 /usr/bin/python3 && pip install torch\n", "3.11"),
])  # fmt: skip
def test_apts_pip_installs_for_the_python_of_the_system(tmp_path: Path, base: str, more: str, python: str) -> None:
    one = repository(tmp_path, {"Dockerfile.rocm": APT.format(base=base) + more}).environments[0]
    assert one.python is not None
    assert one.python.value == python


def test_the_version_that_torch_resolves_to_is_one_for_the_python_of_the_image(tmp_path: Path) -> None:
    """torch 2.15 has wheels for Python 3.11 and later."""
    files = {"Dockerfile.rocm": APT.format(base="ubuntu:22.04") + LINKED + "RUN pip install torch\n"}
    titles = [f.title for f in serious(report(tmp_path, files))]
    assert "torch resolves to 2.14.1, a CUDA build" in titles


@pytest.mark.parametrize(("link", "starts", "expected"), [
    (LINKED, '["python", "-m", "x"]', "pip installs for Python 3.10, and the image starts Python 3.11"),
    ("", '["python3.11", "-m", "x"]', "pip installs for Python 3.10, and the image starts Python 3.11"),
    (LINKED, '["python3", "-m", "x"]', ""), (LINKED, '["bash", "start.sh"]', ""), ("", '["python3.10", "-m", "x"]', ""),
    ("RUN update-alternatives --install /usr/bin/python python /usr/bin/python3.11 1\n", "python -m x",
     "pip installs for Python 3.10, and the image starts Python 3.11"),
])  # fmt: skip
def test_an_image_that_starts_another_python_than_pips(tmp_path: Path, link: str, starts: str, expected: str) -> None:
    text = APT.format(base="ubuntu:22.04") + link + "RUN pip install flask\nENV AMDGPU_TARGETS=gfx1100\n" + f"CMD {starts}\n"
    found = [f for f in serious(report(tmp_path, {"Dockerfile.rocm": text})) if "the image starts" in f.title]
    assert [(f.title, f.severity) for f in found] == ([(expected, "error")] if expected else [])


LIST = "--extra-index-url https://download.pytorch.org/whl/rocm5.4.2\ntorch==2.0.1\n"


@pytest.mark.parametrize(("more", "title"), [
    ("", "torch resolves to 2.0.1, a CUDA build"),
    ("https://x.example/onnx-1.0-cp38-cp38-linux_x86_64.whl\n", "torch 2.0.1+rocm5.4.2 has no code for gfx1100"),
    ("https://x.example/onnx-1.0-cp38-cp38-win_amd64.whl\n", "torch resolves to 2.0.1, a CUDA build"),
    ("https://x.example/onnx-1.0-cp38-abi3-linux_x86_64.whl\n", "torch resolves to 2.0.1, a CUDA build"),
    ("https://x.example/a-1.0-cp38-cp38-linux_x86_64.whl\nhttps://x.example/b-1.0-cp39-cp39-linux_x86_64.whl\n", "torch resolves to 2.0.1, a CUDA build"),
])  # fmt: skip
def test_the_torch_of_a_list_is_that_for_the_python_of_its_wheels(tmp_path: Path, more: str, title: str) -> None:
    """With Python 3.8 the ROCm build wins over the release of the package index; with 3.12 there is none."""
    found = {f.title: f for f in serious(report(tmp_path, {"requirements-rocm.txt": LIST + more}))}
    assert title in found
    if title.startswith("torch 2.0.1+rocm"):
        assert found[title].severity == "warning"
        assert "line 3 of requirements-rocm.txt it is for Python 3.8" in found[title].advice


@pytest.mark.parametrize(("files", "severity"), [
    ({}, "error"), ({"setup.py": 'setup(python_requires=">=3.8,<3.11")\n'}, "warning"), ({"setup.py": 'setup(python_requires=">=3.8")\n'}, "error"),
    ({"pyproject.toml": '[project]\nname = "x"\nversion = "1"\nrequires-python = ">=3.8,<3.11"\n'}, "warning"),
    ({"other/setup.py": 'setup(python_requires="<3.11")\n'}, "error"),
])  # fmt: skip
def test_a_list_of_a_project_that_does_not_allow_the_python(tmp_path: Path, files: dict[str, str], severity: str) -> None:
    listed = {
        "requirements/rocm.txt": "--extra-index-url https://download.pytorch.org/whl/rocm6.4\ntorch==2.9.1+rocm6.4\nmediapipe==0.10.9\n"
    }
    found = said(report(tmp_path, listed | files))
    assert {s for i, s, place in found if i == "version.python-unsupported" and place.startswith("requirements/")} == {severity}


def test_the_version_of_a_torch_for_a_python_that_is_not_known_is_not_said(tmp_path: Path) -> None:
    made = "FROM ubuntu:22.04\nENV AMDGPU_TARGETS=gfx1100\nRUN uv venv /v && . /v/bin/activate && uv pip install {}\n"
    for asked, title in (("torch", "torch resolves to a CUDA build"), ("torch==2.9.1", "torch resolves to 2.9.1, a CUDA build")):
        found = report(tmp_path / asked, {"Dockerfile.rocm": made.format(asked)})
        assert title in [f.title for f in serious(found)]
