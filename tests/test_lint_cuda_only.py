"""Packages for CUDA that an environment builds for ROCm, brings by an address, or leaves out of what it installs."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_text import report, serious

BASE = "FROM rocm/pytorch:rocm7.1.1_ubuntu24.04_py3.12_pytorch_release_2.9.1\n"
CLONE = "RUN git clone --recurse-submodules https://github.com/{} /tmp/ct2 && cd /tmp/ct2{} && pip install --no-cache-dir .\n"


@pytest.mark.parametrize(("lines", "found"), [
    ("RUN pip install faster-whisper", ["faster-whisper requires ctranslate2, which has CUDA wheels only"]),
    (CLONE.format("paralin/ctranslate2-rocm.git", "/python") + "RUN pip install faster-whisper", []),
    (CLONE.format("OpenNMT/CTranslate2", "") + "RUN pip install faster-whisper", []),
    (CLONE.format("x/other", "/python") + "RUN pip install faster-whisper", ["faster-whisper requires ctranslate2, which has CUDA wheels only"]),
    ("RUN pip install git+https://github.com/OpenNMT/CTranslate2.git#subdirectory=python && pip install faster-whisper", []),
    ('RUN whl=$(ls /w/ctranslate2-*.whl) && uv pip install "$whl" && uv pip install faster-whisper', []),
    ('RUN uv pip install --no-deps "faster-whisper==1.2.1"', []),
    ("RUN pip install --no-deps ctranslate2", ["ctranslate2 has CUDA wheels only"]),
    ("RUN pip install pandas cupy", ["cupy is built for CUDA without CUPY_INSTALL_USE_HIP=1"]),
    ("ENV CUPY_INSTALL_USE_HIP=1\nRUN pip install cupy", []), ("RUN CUPY_INSTALL_USE_HIP=1 pip install cupy", []),
    ("RUN conda install -c conda-forge cupy", []), ("RUN pip install cupy-rocm-7-0", []),
])  # fmt: skip
def test_where_the_code_for_amd_comes_from(tmp_path: Path, lines: str, found: list[str]) -> None:
    assert [f.title for f in serious(report(tmp_path, {"Dockerfile": f"{BASE}{lines}\n"})) if "CUDA" in f.title] == found


@pytest.mark.parametrize(("devices", "base", "told"), [
    ("", "python:3.12", False), ("    devices: [/dev/kfd, /dev/dri]\n", "python:3.12", True), ("", "rocm/dev-ubuntu-24.04:6.4", True),
])  # fmt: skip
def test_a_service_without_a_gpu_beside_one_that_has_it_runs_on_the_cpu(
    tmp_path: Path, devices: str, base: str, told: bool
) -> None:
    compose = (
        "services:\n  model:\n    image: rocm/vllm:latest\n    devices: [/dev/kfd, /dev/dri]\n    ipc: host\n"
        f"  gateway:\n    build: ./gateway\n    ipc: host\n{devices}"
    )
    files = {
        "docker-compose.rocm.yml": compose,
        "gateway/Dockerfile": f"FROM {base}\nCOPY list.txt .\nRUN pip install -r list.txt\n",
        "gateway/list.txt": "faster-whisper\n",
    }
    found = [f.title for f in report(tmp_path, files, gpu="gfx942").findings if f.severity != "note"]
    assert any("ctranslate2" in title for title in found) is told
