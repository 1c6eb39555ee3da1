"""Packages that apt-get is asked for, and the archive of the image's system does not have."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_text import report, said, serious

JAMMY = "FROM rocm/dev-ubuntu-22.04:6.4\n"
ASKS = "RUN apt-get update && apt-get install -y --no-install-recommends \\\n    git python{0} python{0}-venv\n"
GIVEN = "ENV PYTHON_VERSION={}\n"


@pytest.mark.parametrize(("text", "at"), [
    (JAMMY + ASKS.format("3.12"), "3"), (JAMMY + ASKS.format("3.10"), ""), (JAMMY + ASKS.format("3.11"), ""),
    ("FROM ubuntu:24.04\n" + ASKS.format("3.11"), "3"), ("FROM docker.io/library/ubuntu:noble-20250101\n" + ASKS.format("3.10"), "3"),
    ("FROM ubuntu:24.04\n" + ASKS.format("3.12"), ""), ("FROM debian:bookworm-slim\n" + ASKS.format("3.12"), "3"),
    (JAMMY + GIVEN.format("3.12") + ASKS.format("${PYTHON_VERSION}"), "4"), (JAMMY + "ARG PY\n" + ASKS.format("${PY}"), ""),
    (JAMMY + "RUN add-apt-repository ppa:deadsnakes/ppa\n" + ASKS.format("3.12"), ""), (JAMMY + ASKS.format("3.12").rstrip() + " || true\n", ""),
    (JAMMY + "COPY extra.list /etc/apt/sources.list.d/\n" + ASKS.format("3.12"), ""), (JAMMY + "RUN bash prepare.sh\n" + ASKS.format("3.12"), ""),
    (JAMMY + "RUN pip install python3.12-tools && echo install python3.12\n", ""), ("FROM example.com/ubuntu:22.04\n" + ASKS.format("3.12"), ""),
    (JAMMY + ASKS.format("3.12") + "RUN curl -LsSf https://astral.sh/uv/install.sh | sh\n", "3"),
    ("FROM rocm/dev-ubuntu-22.04:6.4 AS base\n" + ASKS.format("3.12") + "FROM base\nCOPY . .\n", "3"),
])  # fmt: skip
def test_a_python_that_the_archive_lacks(tmp_path: Path, text: str, at: str) -> None:
    found = said(report(tmp_path, {"Dockerfile.rocm": text, "extra.list": "deb https://example.com x main\n"}))
    assert found == ([("version.python-unsupported", "error", f"Dockerfile.rocm:{at}")] if at else [])


def test_an_image_for_others_is_left_out(tmp_path: Path) -> None:
    found = said(report(tmp_path, {"Dockerfile.cuda": "FROM ubuntu:22.04\n" + ASKS.format("3.12")}))
    assert "version.python-unsupported" not in {id_ for id_, _, _ in found}


@pytest.mark.parametrize(("image", "command", "advice"), [
    ("rocm/pytorch:rocm7.2_ubuntu24.04_py3.12_pytorch_release_2.9.1", "apt-get install -y libgl1-mesa-glx", "Take libgl1 in its place."),
    ("rocm/pytorch:rocm6.2_ubuntu22.04_py3.10_pytorch_release_2.3.0", "apt-get install -y libgl1-mesa-glx", ""),
    ("python:3.11-slim", "apt-get update && apt-get install -y git libgl1-mesa-glx", "Take libgl1 in its place."), ("python:3.12", "apt install -y python3-distutils", "Take python3-setuptools in its place."),
    ("python:3.12.8", "apt install -y python3-distutils", ""),
    ("python:3.11-slim-bookworm", "apt-get install -y libgl1-mesa-glx", ""), ("python:3.8-slim", "apt-get install -y libgl1-mesa-glx", ""),
    ("python:3.11-slim", "apt-get install -y libgl1-mesa-glx || apt-get install -y libgl1", ""), ("python:3.11-slim", "apt-get install -y software-properties-common", "Leave software-properties-common out."),
    ("python:3.11-slim", "apt-get install -y libgl1 && echo libgl1-mesa-glx", ""), ("rocm/dev-ubuntu-24.04:7.1", "apt-get install -y python3-pip python-is-python3", ""),
])  # fmt: skip
def test_a_package_that_the_archive_has_no_more(tmp_path: Path, image: str, command: str, advice: str) -> None:
    files = {"Dockerfile.rocm": f"FROM {image}\nRUN {command}\n"}
    found = serious(report(tmp_path, files))
    assert [(f.id, f.severity, f.advice) for f in found] == ([("version.wheel-missing", "error", advice)] if advice else [])
    assert image.startswith("rocm") or serious(report(tmp_path / "b", {"Dockerfile": files["Dockerfile.rocm"]})) == []


PIP = "RUN pip3 install torch==2.9.1 --index-url https://download.pytorch.org/whl/rocm6.4\n"


@pytest.mark.parametrize(("text", "refused"), [
    ("FROM rocm/dev-ubuntu-24.04:6.4\n" + PIP, True), ("FROM rocm/dev-ubuntu-24.04\n" + PIP, True), ("FROM rocm/dev-ubuntu-22.04:6.4\n" + PIP, False),
    ("FROM ubuntu:24.04\nRUN apt-get update && apt-get install -y python3-pip\n" + PIP, True), ("FROM ubuntu:22.04\nRUN apt-get install -y python3-pip\n" + PIP, False),
    ("FROM rocm/dev-ubuntu-24.04:6.4\nENV PIP_BREAK_SYSTEM_PACKAGES=1\n" + PIP, False), ("FROM rocm/dev-ubuntu-24.04:6.4\nRUN rm /usr/lib/python3*/EXTERNALLY-MANAGED\n" + PIP, False),
    ("FROM rocm/dev-ubuntu-24.04:6.4\nRUN python3 -m venv /v\nENV PATH=/v/bin:$PATH\n" + PIP, False), ("FROM rocm/pytorch:rocm7.2_ubuntu24.04_py3.12_pytorch_release_2.9.1\n" + PIP, False),
])  # fmt: skip
def test_a_python_that_its_system_keeps(tmp_path: Path, text: str, refused: bool) -> None:
    found = [f for f in serious(report(tmp_path, {"Dockerfile.rocm": text})) if f.id == "version.package-mismatch"]
    severity = "warning" if "rocm/" in text else "error"
    assert [(f.severity, "externally-managed" in f.title) for f in found] == ([(severity, True)] if refused else [])
