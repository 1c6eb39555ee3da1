"""What an installation really does: new environments, scripts with arguments, the Python of an image, builds in isolation, uv's extras."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from lint_text import report, repository, said, serious

ROCM = "https://download.pytorch.org/whl/rocm6.4"
OLD = "https://download.pytorch.org/whl/rocm5.4.2"
IMAGE = "rocm/pytorch:rocm6.4.1_ubuntu24.04_py3.12_pytorch_release_2.6.0"
NOT_ROCM = "version.torch-not-rocm"
ISOLATED = "pip builds the project with a torch of the default package index, a CUDA build"


@pytest.mark.parametrize("made", [
    "RUN python3 -m venv /v\nENV PATH=/v/bin:$PATH\nRUN pip install accelerate", "ENV VIRTUAL_ENV=/v\nRUN uv venv /v && uv pip install accelerate",
    "RUN python -m venv .venv && . .venv/bin/activate && pip install accelerate", "RUN virtualenv /v && /v/bin/pip install accelerate",
    "RUN conda create -y -n x python=3.12\nRUN conda run -n x pip install accelerate", 'RUN conda create -y -n x python=3.12\nSHELL ["conda", "run", "-n", "x", "/bin/bash", "-c"]\nRUN pip install accelerate',
    "RUN conda create -y -n x python=3.12\nENV PATH=/opt/conda/envs/x/bin:$PATH\nRUN pip install accelerate", "RUN conda create -y -n x python=3.12\nRUN /opt/conda/envs/x/bin/pip install accelerate",
    "RUN conda create -y -p /env/x python=3.12\nRUN /env/x/bin/pip install accelerate", "RUN uv venv && uv pip install accelerate", "RUN python3 -m venv /envs/v && /envs/v/bin/pip install accelerate",
    "RUN conda create -y -n x python=3.12\nRUN conda run --no-capture-output -n x pip install accelerate", "RUN micromamba create -y -n x python=3.12\nRUN micromamba run -n x pip install accelerate",
])  # fmt: skip
def test_a_new_environment_hides_the_torch_of_the_image(tmp_path: Path, made: str) -> None:
    found = said(report(tmp_path / "a", {"Dockerfile": f"FROM {IMAGE}\n{made}\n"}))
    assert [(i, s) for i, s, _ in found] == [(NOT_ROCM, "error")]
    shared = made.replace("-m venv", "-m venv --system-site-packages").replace(
        "virtualenv ", "virtualenv --system-site-packages "
    )
    shared = re.sub(
        r"(?:conda|micromamba) create -y -[np] \S+", "true", shared.replace("uv venv", "uv venv --system-site-packages")
    )
    assert said(report(tmp_path / "b", {"Dockerfile": f"FROM {IMAGE}\n{shared}\n"})) == []
    unused = {"Dockerfile": f"FROM {IMAGE}\nRUN python3 -m venv /tools && /opt/x install y\nRUN pip install accelerate\n"}
    assert said(report(tmp_path / "c", unused)) == []


SCRIPT = 'python3 -m venv .venv\nsource .venv/bin/activate\npip install torch=={} --index-url "$1"\n'


@pytest.mark.parametrize("call", ["./inst.sh {}", "bash inst.sh {}", "bash -e ./inst.sh {}"])
def test_a_script_is_run_with_its_arguments(tmp_path: Path, call: str) -> None:
    image = f"FROM {IMAGE}\nWORKDIR /app\nCOPY . .\nRUN {call}\n"
    wrong = {"inst.sh": SCRIPT.format("2.0.1"), "Dockerfile": image.format(OLD)}
    assert ("version.python-unsupported", "error", "inst.sh:3") in said(report(tmp_path / "a", wrong))
    fine = {"inst.sh": SCRIPT.format("2.9.1"), "Dockerfile": image.format(ROCM)}
    assert said(report(tmp_path / "b", fine)) == []
    shifting = {"inst.sh": "while [ $# -gt 0 ]; do\n  shift\ndone\n" + SCRIPT.format("2.0.1"), "Dockerfile": image.format(OLD)}
    assert not any(s == "error" for _, s, _ in said(report(tmp_path / "c", shifting)))


def test_a_script_that_is_not_there_leaves_the_verdict_open(tmp_path: Path) -> None:
    found = report(tmp_path, {"Dockerfile": f"FROM {IMAGE}\nCOPY . /app\nWORKDIR /app\nRUN ./gone.sh\n"})
    assert (found.verdict, said(found)) == ("undetermined", [])
    assert "gone.sh is not in the repository" in found.summary


@pytest.mark.parametrize(("image", "python", "ids"), [
    ("python:3.13-slim", "3.10", {"version.python-unsupported"}), ("python:3.10-slim", "3.12", set()),
    ("ubuntu:24.04", "3.10", {"version.python-unsupported"}), ("ubuntu:22.04", "3.12", set()),
    ("ubuntu:24.04\nRUN add-apt-repository -y ppa:deadsnakes/ppa && apt-get install -y python3.10-venv", "3.12", set()),
])  # fmt: skip
def test_an_image_has_a_python_of_its_own(tmp_path: Path, image: str, python: str, ids: set[str]) -> None:
    files = {"Dockerfile": f"FROM {image}\nRUN pip install torch==2.0.1 --index-url {OLD}\n"}
    assert {f.id for f in serious(report(tmp_path, files, "gfx1030", python=python))} == ids


@pytest.mark.parametrize(("command", "replaced"), [
    ("poetry install", True), ("poetry run ruff check .", False), ("poetry export -o x.txt", False), ("uv sync", True), ("uv sync --no-project", False),
    ("pip install .", True), ("pip install --no-deps .", False),
])  # fmt: skip
def test_commands_that_install_nothing(tmp_path: Path, command: str, replaced: bool) -> None:
    project = '[tool.poetry]\nname = "x"\n[tool.poetry.dependencies]\ntorch = "2.9.1"\n'
    files = {"pyproject.toml": project, "Dockerfile": f"FROM {IMAGE}\nWORKDIR /app\nCOPY . .\nRUN {command}\n"}
    assert ((NOT_ROCM, "error", "pyproject.toml:4") in said(report(tmp_path, files))) is replaced


def test_a_project_that_is_built_with_torch(tmp_path: Path) -> None:
    files = {
        "pyproject.toml": '[build-system]\nrequires = ["setuptools", "torch"]\n',
        "setup.py": "setup(name='x', install_requires=['torch'])\n",
    }
    alone = serious(report(tmp_path / "a", files))
    assert alone[0].advice.endswith(", and then the project with --no-build-isolation.")
    for option, titles in (("", [ISOLATED]), (" --no-build-isolation", [])):
        image = {"Dockerfile": f"FROM {IMAGE}\nWORKDIR /x\nCOPY . .\nRUN pip install{option} .\n"}
        found = [f for f in serious(report(tmp_path / f"b{len(option)}", files | image)) if f.title == ISOLATED]
        assert [f.title for f in found] == titles
        assert all(f.severity == "warning" for f in found)


UV = """[project]
name = "x"
version = "1"
[project.optional-dependencies]
cuda = ["torch=={}"]
rocm = ["torch==2.9.1+rocm6.4"]
[[tool.uv.index]]
name = "amd"
url = "https://download.pytorch.org/whl/rocm6.4"
[tool.uv.sources]
torch = [{{ index = "amd", extra = "rocm" }}]
"""
TABLE = '[tool.uv]\nconflicts = [[{ extra = "cuda" }, { extra = "rocm" }]]\n'


def test_extras_that_uv_refuses_together(tmp_path: Path) -> None:
    one = UV.format("2.9.1+cu126")
    assert said(report(tmp_path / "a", {"pyproject.toml": one})) == [("version.package-mismatch", "error", "pyproject.toml:6")]
    told = one.replace("[[tool.uv.index]]", TABLE + "[[tool.uv.index]]")
    for text in (told, UV.format("2.9.1+rocm6.4"), one.replace("+cu126", "+cu126; sys_platform == 'win32'")):
        assert said(report(tmp_path / str(len(text)), {"pyproject.toml": text})) == []
    assert said(report(tmp_path / "locked", {"pyproject.toml": one, "uv.lock": "version = 1\n"})) == []


def test_a_server_whose_wheel_is_for_cuda(tmp_path: Path) -> None:
    text = "--extra-index-url https://download.pytorch.org/whl/rocm7.2\ntorch==2.11.0+rocm7.2\nsglang[all]==0.5.14\n"
    found = report(tmp_path, {"requirements-rocm.txt": text}, gpu="gfx942")
    assert said(found) == [("version.package-mismatch", "warning", "requirements-rocm.txt:3")]


def test_functions_that_nothing_calls_may_call_each_other(tmp_path: Path) -> None:
    text = "".join(f"f{n}() {{\n  f{(n + 1) % 9}\n  pip install peft\n}}\n" for n in range(9))
    assert said(report(tmp_path, {"rocm/lib.sh": text})) == []


def test_an_argument_that_a_service_leaves_open(tmp_path: Path) -> None:
    build = "ARG DEVICE=cu126\nFROM ubuntu:24.04\nARG DEVICE\nRUN pip install torch==2.9.1 --index-url https://download.pytorch.org/whl/${DEVICE}\n"
    service = "services:\n  base:\n    build: {context: ., args: {VERSION: 1}}\n  rocm:\n    extends: {service: base}\n    devices: [/dev/kfd, /dev/dri]\n"
    found = serious(report(tmp_path / "a", {"Dockerfile": build, "compose.yml": service}))
    assert [(f.id, f.severity, f.advice) for f in found] == [
        (NOT_ROCM, "warning", "Give the build argument DEVICE its value for ROCm in the build of the service.")
    ]
    given = service.replace("VERSION: 1", "DEVICE: rocm6.4")
    assert said(report(tmp_path / "b", {"Dockerfile": build, "compose.yml": given})) == []


def test_a_folder_that_a_variable_names_is_copied_from_a_stage(tmp_path: Path) -> None:
    text = f"FROM ubuntu:24.04 AS app_rocm\nENV VENV=/venv\nRUN python3 -m venv /venv && /venv/bin/pip install torch==2.0.1 --index-url {OLD}\n"
    text += "FROM ubuntu:24.04 AS rocm\nENV VENV=/venv\nCOPY --from=app_rocm $VENV $VENV\n"
    found = said(report(tmp_path, {"Dockerfile": text}, gpu="gfx1151"))
    assert "error" in [s for _, s, _ in found]


def test_uv_sync_leaves_what_the_lock_has(tmp_path: Path) -> None:
    project = '[project]\nname = "x"\nversion = "1"\ndependencies = ["torch>=2.5"]\n'
    sync = f"FROM {IMAGE}\nWORKDIR /x\nCOPY . .\nRUN uv venv\nRUN uv sync\nRUN uv pip install peft\n"
    assert (NOT_ROCM, "error", "pyproject.toml:4") in said(
        report(tmp_path / "a", {"pyproject.toml": project, "Dockerfile": sync})
    )
    bound = project + f'[[tool.uv.index]]\nname = "r"\nurl = "{ROCM}"\n[tool.uv.sources]\ntorch = {{ index = "r" }}\n'
    assert said(report(tmp_path / "b", {"pyproject.toml": bound, "Dockerfile": sync})) == []


@pytest.mark.parametrize(("package", "expected"), [
    ("torchvision", (NOT_ROCM, "error")),  # the newest requires a newer torch
    ("torchaudio", ("version.companion-mismatch", "error")),  # the newest requires no torch
])  # fmt: skip
def test_a_companion_that_is_installed_later(tmp_path: Path, package: str, expected: tuple[str, str]) -> None:
    first = f"pip install torch==2.6.0 --index-url {ROCM.replace('6.4', '6.2.4')}\n"
    found = report(tmp_path, {"rocm/install.sh": f"{first}pip install {package}\n"})
    assert said(found) == [(*expected, "rocm/install.sh:2")]
    assert said(report(tmp_path, {"rocm/install.sh": f"pip install {package}\n{first}"}))[0][1] in ("error", "warning")


@pytest.mark.parametrize("edit", [
    "sed -i '/^torch/d' requirements.txt && pip install -r requirements.txt", "sed -i -e 's/torch==.*//' requirements.txt; pip install -r requirements.txt",
    "grep -v torch requirements.txt > r.txt && mv r.txt requirements.txt && pip install -r requirements.txt", "sed -i '/torch/d' requirements.txt\nRUN pip install -r requirements.txt",
])  # fmt: skip
def test_a_list_that_is_changed_before_it_is_installed(tmp_path: Path, edit: str) -> None:
    files = {"requirements.txt": "torch==2.9.1\npeft\n", "Dockerfile": f"FROM {IMAGE}\nWORKDIR /x\nCOPY . .\nRUN {edit}\n"}
    assert said(report(tmp_path / "a", files)) == []
    plain = files | {
        "Dockerfile": f"FROM {IMAGE}\nWORKDIR /x\nCOPY . .\nRUN sed 's/=.*//' requirements.txt > c.txt && pip install -r requirements.txt\n"
    }
    assert [s for _, s, _ in said(report(tmp_path / "b", plain))] == ["error"]


def test_a_list_that_takes_the_place_of_another(tmp_path: Path) -> None:
    lists = {"requirements.txt": "torch==2.9.1\n", "requirements-rocm.txt": f"--index-url {ROCM}\ntorch==2.9.1\n"}
    image = (
        "FROM python:3.12-slim\nARG ROCM=1\nCOPY requirements*.txt /app/\nWORKDIR /app\n{}RUN pip install -r requirements.txt\n"
    )
    move = 'RUN if [ "${ROCM}" = "1" ]; then mv /app/requirements-rocm.txt /app/requirements.txt; fi\n'
    assert said(report(tmp_path / "a", lists | {"Dockerfile.rocm": image.format(move)})) == []
    assert [s for _, s, _ in said(report(tmp_path / "b", lists | {"Dockerfile.rocm": image.format("")}))] == ["error"]


@pytest.mark.parametrize(("name", "first", "found"), [
    ("rocm/urvc", "#!/bin/bash", True), ("rocm/urvc", "#!/usr/bin/env bash", True), ("rocm/urvc", "#!/usr/bin/python3", False), ("rocm/urvc", "", False),
])  # fmt: skip
def test_a_script_without_an_extension(tmp_path: Path, name: str, first: str, found: bool) -> None:
    text = f"{first}\npip install torch==2.9.1\n"
    assert [i for i, _, _ in said(report(tmp_path, {name: text}))] == ([NOT_ROCM] if found else [])


BARE = "FROM rocm/dev-ubuntu-24.04:6.4\nWORKDIR /app\n"


@pytest.mark.parametrize(("lines", "absent"), [
    ("RUN pip install -r requirements.txt\nCOPY . .\n", True), ("COPY train.py .\nRUN pip install -r requirements.txt\n", True),
    ("COPY . /src\nRUN pip install -r requirements.txt\n", True), ("# curl https://x.org\nRUN apt-get install -y git curl \\\n && pip install -r requirements.txt\n", True),
    ("COPY . .\nRUN pip install -r requirements.txt\n", False), ("COPY requirements.txt /tmp/\nRUN pip install -r /tmp/requirements.txt\n", False),
    ('COPY ["requirements.txt", "./"]\nRUN pip install -r requirements.txt\n', False), ("ADD . .\nRUN pip install -r requirements.txt\n", False),
    ("RUN git clone https://github.com/x/y . && pip install -r requirements.txt\n", False), ("RUN pip install -r other.txt\n", False),
    ("RUN curl -O https://x.org/requirements.txt\nRUN pip install -r requirements.txt\n", False), ("RUN --mount=type=bind,target=/app pip install -r requirements.txt\n", False),
    ("RUN echo tqdm > requirements.txt && pip install -r requirements.txt\n", False), ("ARG L=requirements.txt\nCOPY $L .\nRUN pip install -r requirements.txt\n", False),
    ("COPY src/requirements.txt ./\nRUN pip install -r requirements.txt\n", False), ("COPY require*.txt ./\nRUN pip install -r requirements.txt\n", False), ("RUN ./fetch.sh\nRUN pip install -r requirements.txt\n", False),
])  # fmt: skip
def test_a_list_that_is_not_in_the_image(tmp_path: Path, lines: str, absent: bool) -> None:
    """pip ends where it does not find the file; what another command may bring is not known."""
    files = {"requirements.txt": "tqdm\n", "train.py": "import torch\n", "Dockerfile.rocm": BARE + lines}
    found = [(f.severity, f.advice) for f in report(tmp_path, files).findings if "not in the image" in f.title]
    assert [severity for severity, _ in found] == ["error"] * absent
    assert all(advice.startswith("Add COPY requirements.txt ./ above the RUN with line ") for _, advice in found)
    other = files | {"Dockerfile.rocm": "FROM x/y:rocm\n" + lines}
    assert not any("not in the image" in f.title for f in report(tmp_path / "b", other).findings)


KEPT = "sudo apt-get install -y python3-pip\npip3 install torch --index-url https://download.pytorch.org/whl/rocm6.2\n"


@pytest.mark.parametrize(("before", "verdict"), [
    ("", "undetermined"), ("# Ubuntu 22.04 and 24.04\n", "undetermined"), ("# Ubuntu 22.04\n", "ready"),
    ("python3 -m venv env\n. env/bin/activate\n", "ready"), ("export PIP_BREAK_SYSTEM_PACKAGES=1\n", "ready"),
])  # fmt: skip
def test_the_pip_of_a_system_may_refuse_to_install(tmp_path: Path, before: str, verdict: str) -> None:
    assert report(tmp_path, {"setup_rocm.sh": before + KEPT}).verdict == verdict


@pytest.mark.parametrize(("path", "gone"), [("/opt/venv/bin:$PATH", True), ("/usr/bin", False)])
def test_uv_sync_in_an_environment_of_its_own_name(tmp_path: Path, path: str, gone: bool) -> None:
    project = '[project]\nname = "x"\nversion = "1"\ndependencies = ["numpy"]\n'
    image = f"FROM {IMAGE}\nENV UV_PROJECT_ENVIRONMENT=/opt/venv PATH={path}\nWORKDIR /x\nCOPY . .\nRUN uv sync\n"
    steps = next(e for e in repository(tmp_path, {"pyproject.toml": project, "Dockerfile": image}).environments if e.image).steps
    assert any("torch" in step.removed for step in steps) is gone


@pytest.mark.parametrize(("words", "found"), [
    ("torch torchvision torchaudio", "arch.not-in-build"), ("torch", NOT_ROCM), ("torch torchaudio --no-deps", NOT_ROCM),
])  # fmt: skip
def test_a_companion_of_an_old_index_takes_its_torch_with_it(tmp_path: Path, words: str, found: str) -> None:
    """torchvision 0.15 of that index requires torch 2.0.1: pip puts it in the place of the newer one."""
    text = f"FROM python:3.11-slim\nRUN pip install torch\nRUN pip install {words} --index-url {ROCM.replace('6.4', '5.4.2')}\n"
    errors = [(i, at) for i, s, at in said(report(tmp_path, {"Dockerfile.rocm": text})) if s == "error"]
    assert errors == [(found, "Dockerfile.rocm:3" if found != NOT_ROCM else "Dockerfile.rocm:2")]
