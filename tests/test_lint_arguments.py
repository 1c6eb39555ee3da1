"""Build arguments that decide what an image installs."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_text import report, repository, serious

INDEX = "https://download.pytorch.org/whl/"
IMAGE = (
    "ARG BACKEND=cpu\nFROM python:3.12-slim AS base\nARG BACKEND\n"
    'RUN if [ "$BACKEND" = "cuda" ]; then pip install onnxruntime-gpu; \\\n'
    f'    elif [ "$BACKEND" = "rocm" ]; then pip install torch --index-url {INDEX}rocm6.4; \\\n'
    f"    else pip install torch --index-url {INDEX}cpu; fi\n"
)
CASE = (
    f"FROM python:3.12-slim\nARG BACKEND=cpu\nRUN case $BACKEND in rocm) pip install torch --index-url {INDEX}rocm6.4 ;; "
    "cuda) pip install onnxruntime-gpu ;; esac\n"
)


@pytest.mark.parametrize("image", [IMAGE, CASE])
@pytest.mark.parametrize(("given", "torch"), [("cuda", False), ("rocm", True), ("${BACKEND:-cpu}", True)])
def test_an_image_is_what_its_argument_makes_of_it(tmp_path: Path, image: str, given: str, torch: bool) -> None:
    """A service that gives the argument takes one branch; where the caller may give it, the branch for AMD is one that is meant."""
    service = f"services:\n  app:\n    build:\n      context: .\n      args:\n        BACKEND: {given}\n"
    made = repository(tmp_path, {"Dockerfile": image, "compose.yaml": service}).environments
    built = next(e for e in made if e.sort == "image" and (" by " in e.name) is (given[0] != "$"))
    assert any(r.name == "torch" for step in built.steps for r in step.requirements) is torch
    assert (built.purpose.kind == "amd") is torch


def test_a_branch_for_amd_that_no_service_takes_is_an_image_of_its_own(tmp_path: Path) -> None:
    """Nothing is said of the service for NVIDIA, and whoever builds the image with the argument for AMD has what it installs."""
    service = "services:\n  app:\n    build:\n      context: .\n      args: {BACKEND: cuda}\n"
    made = report(tmp_path, {"Dockerfile": IMAGE, "docker-compose.cuda.yml": service}, gpu="gfx1201")
    assert serious(made) == []
    kinds = {e.name: e.purpose.kind for e in repository(tmp_path, {}).environments}
    assert kinds["Dockerfile"] == "amd"
    assert set(kinds.values()) == {"amd", "nvidia"}
    taken = service.replace("cuda", "rocm")
    again = repository(tmp_path / "b", {"Dockerfile": IMAGE, "docker-compose.yml": taken}).environments
    assert [e.name for e in again if e.sort == "image"] == ["docker-compose.yml service app by Dockerfile"]
