"""Compose services: the image that one is built as, what starts with it, and what hands it the GPU."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_text import report, said, serious

IMAGE = "rocm/pytorch:rocm6.4_ubuntu24.04_py3.12_pytorch_release_2.6.0"
NEWER = "rocm/pytorch:rocm7.13_ubuntu24.04_py3.12_pytorch_release_2.11.0"
GPU = "devices: [/dev/kfd, /dev/dri]\n    ipc: host\n    "
NVIDIA = "deploy: {resources: {reservations: {devices: [{driver: nvidia, count: 1, capabilities: [gpu]}]}}}\n"
EMPTY = 'environment: ["HSA_OVERRIDE_GFX_VERSION=${HSA_OVERRIDE_GFX_VERSION:-}"]\n'
BUILT = f"services:\n  w:\n    build: {{context: svc, dockerfile: Dockerfile.rocm}}\n    {GPU}{EMPTY}"


@pytest.mark.parametrize(("image", "expected"), [(IMAGE, "error"), (NEWER, ""), ("$BASE", "warning")])
def test_a_service_has_the_rocm_of_the_image_that_it_is_built_as(tmp_path: Path, image: str, expected: str) -> None:
    found = report(tmp_path, {"compose.yaml": BUILT, "svc/Dockerfile.rocm": f"ARG BASE\nFROM {image}\n"})
    assert [(i, s) for i, s, _ in said(found)] == ([("arch.override-wrong", expected)] if expected else [])


@pytest.mark.parametrize(("value", "expected"), [("", "error"), ("10.3.0", "error"), ("11.0.3", "warning")])
def test_a_list_that_is_not_there_leaves_open_what_it_installs_and_no_variable(tmp_path: Path, value: str, expected: str) -> None:
    lines = ("FROM ubuntu:24.04", f'ENV HSA_OVERRIDE_GFX_VERSION="{value}"', "RUN pip install torch --index-url https://download.pytorch.org/whl/rocm6.2",
             "RUN git clone https://github.com/x/y /opt/y && pip install -r /opt/y/requirements.txt")  # fmt: skip
    found = report(tmp_path, {"Dockerfile.rocm": "\n".join(lines)})
    assert [(f.id, f.severity, f.confidence) for f in serious(found)] == [
        ("arch.override-wrong", expected, "high" if expected == "error" else "medium")
    ]


MIGRATE = "  migrate:\n    build: .\n    command: ./migrate.sh\n"


@pytest.mark.parametrize(("others", "expected"), [
    ({"compose.yaml": f"services:\n{MIGRATE}  app:\n    build: .\n", "compose.rocm.yaml": f"services:\n  app:\n    {GPU}"}, []),
    ({"compose.yaml": f"services:\n{MIGRATE}", "compose.rocm.yaml": f"services:\n  app:\n    build: {{context: ., dockerfile: Dockerfile}}\n    {GPU}"}, []),
    ({"compose.yaml": f"services:\n{MIGRATE}"}, ["access.container"]),
])  # fmt: skip
def test_another_command_in_an_image_that_a_service_with_the_gpu_runs(
    tmp_path: Path, others: dict[str, str], expected: list[str]
) -> None:
    files = {
        "Dockerfile": f"FROM {IMAGE}\nCOPY . .\nCMD python app.py\n",
        "migrate.sh": "alembic upgrade head\n",
        "app.py": "import torch\n",
    }
    assert [f.id for f in serious(report(tmp_path, others | files))] == expected


BASE = f"services:\n  worker:\n    image: x\n    depends_on: [llm]\n    {NVIDIA}  llm:\n    image: ollama/ollama\n    {NVIDIA}"
TAKEN = "deploy: {resources: {reservations: {devices: !reset []}}}\n"
WORKER = f"  worker:\n    image: {IMAGE}\n    {GPU}command: python train.py\n    {TAKEN}"


@pytest.mark.parametrize(("more", "expected"), [
    ("", ["worker depends on a service that asks for an NVIDIA GPU"]), (f"  llm:\n    {TAKEN}", []), ("    depends_on: !override []\n", []), ("    depends_on: !reset null\n", []),
    ("    depends_on: {db: {condition: service_started}}\n  db:\n    image: postgres\n", ["worker depends on a service that asks for an NVIDIA GPU"]),
])  # fmt: skip
def test_a_service_for_amd_starts_what_it_depends_on(tmp_path: Path, more: str, expected: list[str]) -> None:
    above = f"# docker compose -f docker-compose.yml -f docker-compose.rocm.yml up worker\nservices:\n{WORKER}{more}"
    files = {"docker-compose.yml": BASE, "docker-compose.rocm.yml": above, "train.py": "import torch\n"}
    assert [f.title for f in serious(report(tmp_path, files)) if f.severity == "error"] == expected


@pytest.mark.parametrize(("files", "extra", "expected"), [
    ({}, "", ["warning"]), ({"README.md": "Install the AMD Container Toolkit first (amd-ctk).\n"}, "", []), ({}, "    runtime: amd\n", []), ({}, f"    {GPU}\n", ["warning"]),
])  # fmt: skip
def test_the_driver_amd_needs_amds_toolkit(tmp_path: Path, files: dict[str, str], extra: str, expected: list[str]) -> None:
    text = f"services:\n  w:\n    image: {IMAGE}\n    command: python train.py\n    shm_size: 8g\n    {NVIDIA.replace('nvidia', 'amd')}{extra}"
    found = report(tmp_path, {"compose.yaml": text, "train.py": "import torch\n", **files})
    assert [(f.severity) for f in serious(found)] == expected


@pytest.mark.parametrize(("line", "os", "expected"), [
    ("onnxruntime-directml", "linux", "error"), ("pywin32==306", "linux", "error"), ("pywin32==306 ; sys_platform == 'win32'", "linux", ""), ("pywin32==306", "windows", ""),
    ("pywin32 @ https://example.org/pywin32-306.tar.gz", "linux", ""),
])  # fmt: skip
def test_a_package_for_other_systems_alone(tmp_path: Path, line: str, os: str, expected: str) -> None:
    text = f"--extra-index-url https://download.pytorch.org/whl/rocm6.4\ntorch==2.9.1+rocm6.4\n{line}\n"
    found = serious(report(tmp_path, {"requirements-rocm.txt": text}, os=os))
    assert [(f.id, f.severity) for f in found if "wheels for" in f.title] == (
        [("version.wheel-missing", expected)] if expected else []
    )
