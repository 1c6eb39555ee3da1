"""Images: those that workflows build with arguments, those of others, and services that start together."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_text import report, said, serious

CUDA_IMAGE = "version.torch-not-rocm"
JOB = """jobs:
  amd-base:
    runs-on: ubuntu-latest
    strategy:
      matrix:
        rocm: [{}]
    steps:
      - uses: docker/build-push-action@v6
        with:
          context: .
          build-args: |
            BASE=ubuntu:22.04
            ROCM=${{{{ matrix.rocm }}}}
"""
DOCKERFILE = """ARG BASE
FROM ${BASE}
ARG ROCM
RUN pip install torch==2.2.1 --index-url=https://download.pytorch.org/whl/rocm${ROCM}
"""


def test_an_image_that_a_workflow_builds_with_arguments(tmp_path: Path) -> None:
    files = {"Dockerfile": DOCKERFILE, ".github/workflows/a.yml": JOB.format('"5.7"')}
    assert said(report(tmp_path / "a", files, gpu="gfx942")) == [("arch.not-in-build", "error", "Dockerfile:4")]
    assert said(report(tmp_path / "b", files, gpu="gfx1100")) == []
    command = (
        JOB.split("      - uses")[0].format('"5.7"')
        + "      - run: docker build --build-arg BASE=ubuntu:22.04 --build-arg ROCM=${{ matrix.rocm }} .\n"
    )
    files[".github/workflows/a.yml"] = command
    assert said(report(tmp_path / "c", files, gpu="gfx942")) == [("arch.not-in-build", "error", "Dockerfile:4")]


def test_one_of_several_images_serves_the_gpu(tmp_path: Path) -> None:
    text = DOCKERFILE.replace("torch==2.2.1", "torch")
    files = {"Dockerfile": text, ".github/workflows/a.yml": JOB.format('"5.7", "6.4"')}
    assert [f for f in serious(report(tmp_path, files, gpu="gfx942")) if f.severity == "error"] == []


SERVICE = "services:\n  a-rocm:\n    image: {}\n    devices: [/dev/kfd, /dev/dri]\n    ipc: host\n"


@pytest.mark.parametrize(("image", "ids"), [
    ("ghcr.io/invoke-ai/invokeai:latest", [CUDA_IMAGE]), ("ghcr.io/invoke-ai/invokeai:main-rocm", []), ("vllm/vllm-openai:v0.14.0", [CUDA_IMAGE]),
    ("docker.io/unsloth/unsloth", [CUDA_IMAGE]), ("vllm/vllm-openai-rocm:latest", []), ("ghcr.io/invoke-ai/invokeai:${TAG}", []),
    ("ollama/ollama", [CUDA_IMAGE]), ("ollama/ollama:0.12.3-rocm", []), ("ollama/ollama:${TAG:-rocm}", []), ("ghcr.io/ggml-org/llama.cpp:server", [CUDA_IMAGE]),
    ("ghcr.io/ggml-org/llama.cpp:server-vulkan", []),
])  # fmt: skip
def test_an_image_that_holds_a_cuda_build(tmp_path: Path, image: str, ids: list[str]) -> None:
    assert [f.id for f in serious(report(tmp_path, {"docker-compose.yml": SERVICE.format(image)}))] == ids


NVIDIA = "  a-cuda:\n    image: x/y\n    {}deploy: {{resources: {{reservations: {{devices: [{{driver: nvidia, count: 1, capabilities: [gpu]}}]}}}}}}\n"


@pytest.mark.parametrize(
    ("profiles", "own", "starts"),
    [("", "profiles: [rocm]", True), ("profiles: [cuda]\n    ", "profiles: [rocm]", False), ("", "", False)],
)
def test_a_service_for_nvidia_starts_with_every_profile(tmp_path: Path, profiles: str, own: str, starts: bool) -> None:
    text = SERVICE.format("x/y:rocm") + (f"    {own}\n" if own else "") + NVIDIA.format(profiles)
    files = {"docker-compose.yml": text, "README.md": "Run `docker compose --profile rocm up`.\n"}
    assert said(report(tmp_path / "by name", files | {"README.md": "Run `docker compose up a-rocm`.\n"})) == []
    found = said(report(tmp_path, files))
    assert found == ([("access.container", "warning", f"docker-compose.yml:{7 if own else 6}")] if starts else [])


def test_a_base_image_with_an_unknown_tag_uses_the_gpu(tmp_path: Path) -> None:
    files = {
        "rocm/docker-compose.yml": "services:\n  sd:\n    build: .\n",
        "rocm/Dockerfile": "ARG V\nFROM rocm/pytorch:rocm${V}\nRUN echo\n",
    }
    assert said(report(tmp_path / "a", files)) == [("access.container", "warning", "rocm/docker-compose.yml:2")]
    files["rocm/Dockerfile"] = "ARG V\nFROM alpine:${V}\nRUN echo\n"
    assert said(report(tmp_path / "b", files)) == []


def test_wheels_for_windows_on_linux(tmp_path: Path) -> None:
    windows = "--extra-index-url https://repo.radeon.com/rocm/windows/rocm-rel-7.2.1/\n"
    assert [
        f.title for f in serious(report(tmp_path / "a", {"requirements-rocm.txt": windows + "torch==2.9.1+rocm7.2.1\n"}))
    ] == ["https://repo.radeon.com/rocm/windows/rocm-rel-7.2.1/ has wheels for Windows"]
    both = windows + "--extra-index-url https://repo.radeon.com/rocm/manylinux/rocm-rel-7.2.1/\ntorch==2.9.1+rocm7.2.1\n"
    assert serious(report(tmp_path / "b", {"requirements-rocm.txt": both})) == []


def test_a_program_below_a_folder_that_a_command_gives(tmp_path: Path) -> None:
    text = 'B=$(dirname $(dirname "$CONDA_EXE"))\nP="$B/envs/x"\n"$P/bin/python" -m pip install --index-url https://rocm.nightlies.amd.com/v2/gfx1151/ torch\n'
    assert [f.id for f in serious(report(tmp_path, {"setup.sh": text}))] == ["arch.not-in-build"]


def test_a_torch_from_source_is_not_known_to_build(tmp_path: Path) -> None:
    text = "FROM rocm/dev-ubuntu-22.04:6.1\nENV PYTORCH_ROCM_ARCH=gfx1100\nRUN git clone https://github.com/pytorch/pytorch && cd pytorch && python setup.py install\n"
    found = report(tmp_path, {"Dockerfile": text})
    assert (said(found), found.verdict) == ([], "undetermined")
    assert "built from source" in found.summary


def test_a_service_with_the_device_of_wsl(tmp_path: Path) -> None:
    """/dev/dxg is the GPU there: the service needs no other device, and is none for Linux alone."""
    image = "FROM rocm/pytorch:rocm6.4_ubuntu24.04_py3.12_pytorch_release_2.6.0\nCOPY train.py .\nCMD python3 train.py\n"
    text = "services:\n  x:\n    build: .\n    devices: [{}]\n"
    files = {"Dockerfile": image, "train.py": "import torch\n", "compose.wsl.yml": text.format("/dev/dxg")}
    for os in ("linux", "wsl"):
        assert said(report(tmp_path / os, files, os=os)) == []
    other = files | {"compose.wsl.yml": text.format("/dev/dri")}
    assert said(report(tmp_path / "c", other)) == [("access.container", "error", "compose.wsl.yml:2")]


@pytest.mark.parametrize(("listed", "installs", "rocm"), [
    ("", "", ""), ("", "RUN conda run -n ldm pip install torch --index-url https://download.pytorch.org/whl/rocm7.0\n", "7.0"),
    ("  - pip:\n    - --index-url https://download.pytorch.org/whl/rocm7.0\n    - torch\n", "", "7.0"),
])  # fmt: skip
def test_an_environment_that_conda_makes_of_a_file_has_no_torch_of_the_image(
    tmp_path: Path, listed: str, installs: str, rocm: str
) -> None:
    from lint_text import MATRIX, repository

    from rocm_doctor.lint.declared import Target
    from rocm_doctor.lint.rules.torch_state import last_state

    made = "FROM rocm/pytorch:rocm5.2_ubuntu20.04_py3.7_pytorch_1.11.0\nCOPY environment.yaml .\nRUN conda env create -f environment.yaml\n"
    files = {
        "Dockerfile": f"{made}{installs}RUN conda run -n ldm pip install numpy\n",
        "environment.yaml": f"name: ldm\ndependencies:\n  - python=3.12\n{listed}",
    }
    image = next(e for e in repository(tmp_path, files).environments if e.sort == "image")
    state = last_state(image, MATRIX, Target("t", "gfx1030", python="3.12"))
    assert (state[2].rocm if state else "") == rocm


@pytest.mark.parametrize(("gpu", "first"), [("gfx1100", "5.7.1"), ("gfx1151", "7.0.2")])
def test_a_rocm_from_before_the_gpu_names_the_first_with_code_for_the_gpu_itself(tmp_path: Path, gpu: str, first: str) -> None:
    """gfx1151 runs code of gfx1100 by an override, which ROCm 5.5 has: that is not code for gfx1151."""
    files = {"Dockerfile.rocm": "FROM rocm/pytorch:rocm5.0_ubuntu20.04_py3.8_pytorch_1.10.0\nRUN pip install -e .\n"}
    one = next(f for f in serious(report(tmp_path, files, gpu)) if "base image" in f.title)
    assert one.title == f"the base image has ROCm 5.0, from before there was code for {gpu}"
    assert one.advice == f"Take an image with ROCm {first} or newer."
    files["Dockerfile.rocm"] += "ENV HSA_OVERRIDE_GFX_VERSION=10.3.0\n"
    one = next(f for f in serious(report(tmp_path, files, gpu)) if "base image" in f.title)
    assert "Take HSA_OVERRIDE_GFX_VERSION out of line 3 of Dockerfile.rocm then" in one.advice


@pytest.mark.parametrize("gpu", ["gfx900", "gfx906", "gfx90a", "gfx90c", "gfx1030"])
def test_of_a_rocm_from_before_the_first_that_the_catalog_has_nothing_is_said(tmp_path: Path, gpu: str) -> None:
    """ROCm 4.3.1 ran gfx906, and gfx900's code on gfx90c: that the catalog begins with ROCm 5.1 shows nothing of it."""
    for rocm in ("4.3.1_ubuntu18.04_py3.6_pytorch_1.9.0", "5.0_ubuntu20.04_py3.8_pytorch_1.10.0"):
        files = {"Dockerfile.rocm": f"FROM rocm/pytorch:rocm{rocm}\nRUN pip install -e .\n"}
        assert not [f for f in report(tmp_path, files, gpu).findings if "from before" in f.title]


def test_a_rocm_from_before_several_gpus_is_one_finding(tmp_path: Path) -> None:
    from lint_text import MATRIX, TODAY, repository

    from rocm_doctor.lint.declared import Target
    from rocm_doctor.lint.judge import lint

    files = {"Dockerfile.rocm": "FROM rocm/pytorch:rocm5.0_ubuntu20.04_py3.8_pytorch_1.10.0\nRUN pip install -e .\n"}
    targets = [Target(gpu, gpu) for gpu in ("gfx1100", "gfx1151", "gfx942")]
    found = lint(repository(tmp_path, files), targets, MATRIX, name="repository x", today=TODAY)
    (one,) = [f for f in serious(found) if "base image" in f.title]
    assert one.title == "the base image has ROCm 5.0, from before there was code for gfx1100, gfx1151, gfx942"
    assert one.advice == "Take an image with ROCm 7.0.2 or newer."
