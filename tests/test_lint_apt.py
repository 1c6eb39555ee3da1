"""A Python that apt-get is asked for, and the archive of the image's system does not have."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_text import report, said

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
    found = said(report(tmp_path, {"Dockerfile.rocm": text}))
    assert found == ([("version.python-unsupported", "error", f"Dockerfile.rocm:{at}")] if at else [])


def test_an_image_for_others_is_left_out(tmp_path: Path) -> None:
    found = said(report(tmp_path, {"Dockerfile.cuda": "FROM ubuntu:22.04\n" + ASKS.format("3.12")}))
    assert "version.python-unsupported" not in {id_ for id_, _, _ in found}
