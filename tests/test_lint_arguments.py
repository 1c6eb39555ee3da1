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


BY_ARGUMENT = """ARG BACKEND=cpu
FROM ubuntu:24.04 AS base
{}
COPY *.txt ./
RUN if [ "$BACKEND" = "rocm" ]; then pip install -r requirements-rocm.txt; else pip install -r requirements-cpu.txt; fi
"""
LISTS = {
    "requirements-rocm.txt": "--index-url https://download.pytorch.org/whl/rocm6.2\ntorch==2.5.1\n",
    "requirements-cpu.txt": "--index-url https://download.pytorch.org/whl/cpu\ntorch==2.5.1\n",
}


@pytest.mark.parametrize(("stage", "given", "torch"), [
    ("ENV X=1", "rocm", "cpu"), ("ENV X=1", "", "cpu"), ("ARG BACKEND", "rocm", "rocm"), ("ARG BACKEND", "", "rocm"), ("ARG BACKEND=rocm", "", "rocm"),
    ("ARG BACKEND=rocm", "cpu", "cpu"), ("ARG OTHER BACKEND", "rocm", "rocm"), ("ARG OTHER=1 BACKEND", "", "rocm"), ("ENV BACKEND=rocm", "", "rocm"),
    ("ARG BACKEND\nFROM base", "rocm", "rocm"), ("ARG BACKEND\nFROM ubuntu:24.04", "rocm", "cpu"),
])  # fmt: skip
def test_a_stage_sees_the_arguments_that_it_asks_for(tmp_path: Path, stage: str, given: str, torch: str) -> None:
    """An argument from before the first FROM is empty in a stage without an ARG for it; a stage on another one has that one's. Who builds by hand may
    give another value than the default.
    """
    files = {**LISTS, "Dockerfile": BY_ARGUMENT.format(stage)}
    build = f"build: {{context: ., args: {{BACKEND: {given}}}}}" if given else "build: ."
    files["compose.yaml"] = f"services:\n  train:\n    {build}\n"
    made = next(e for e in repository(tmp_path, files).environments if e.sort == "image" and e.steps)
    lists = {r.place.file for step in made.steps for r in step.requirements}
    assert lists == {f"requirements-{torch}.txt"}


def test_a_branch_that_no_build_takes_leaves_its_list_to_itself(tmp_path: Path) -> None:
    (one,) = (
        f
        for f in report(tmp_path, {**LISTS, "Dockerfile.rocm": BY_ARGUMENT.format("")}, "gfx1151").findings
        if f.severity == "error"
    )
    assert (one.subject, one.id) == ("requirements-rocm.txt", "arch.not-in-build")


@pytest.mark.parametrize(("stage", "said"), [
    ("RUN pip install torch==2.9.1 --index-url https://download.pytorch.org/whl/rocm6.4\nRUN ./build.sh $MODE", "MODE is empty on line 4 of Dockerfile.rocm"),
    ("ARG MODE\nRUN pip install torch==2.9.1 --index-url https://download.pytorch.org/whl/rocm6.4\nRUN ./build.sh $MODE", ""),
    ("ENV MODE=x\nRUN pip install torch==2.9.1 --index-url https://download.pytorch.org/whl/rocm6.4\nRUN ./build.sh $MODE", ""),
    ("RUN pip install torch==2.9.1 --index-url https://download.pytorch.org/whl/rocm6.4\nRUN ./build.sh ${MODE:-x}", ""),
])  # fmt: skip
def test_an_argument_that_is_empty_in_a_stage_leaves_ready_open(tmp_path: Path, stage: str, said: str) -> None:
    files = {
        "Dockerfile.rocm": f"ARG MODE=fast\nFROM ubuntu:24.04\n{stage}\n",
        "build.sh": "echo\n",
        "run.py": "import torch\ntorch.ones(1).cuda()\n",
    }
    found = report(tmp_path, files)
    assert ("MODE is empty" in found.summary) is bool(said)
    assert said in found.summary


LEAVES = "FROM ubuntu:24.04 AS old\nRUN pip install torch==2.5.1 --index-url https://download.pytorch.org/whl/rocm6.2\nFROM ubuntu:24.04 AS new\nRUN pip install torch==2.11.0 --index-url https://download.pytorch.org/whl/rocm7.2\n"


@pytest.mark.parametrize(("more", "severity"), [
    ({}, "warning"), ({"build.sh": "docker build --target old -f Dockerfile.rocm .\n"}, "error"), ({"compose.yaml": "services: {x: {build: {context: ., dockerfile: Dockerfile.rocm, target: old}}}\n"}, "error"),
    ({"build.sh": "docker build --target new -f Dockerfile.rocm .\n"}, "warning"), ({"README.md": "Use `--target older`.\n"}, "warning"),
])  # fmt: skip
def test_a_stage_that_no_build_makes(tmp_path: Path, more: dict[str, str], severity: str) -> None:
    """A build without a target makes the last stage."""
    found = report(tmp_path, {"Dockerfile.rocm": LEAVES, **more}, "gfx1151").findings
    assert [f.severity for f in found if f.id == "arch.not-in-build" and f.severity != "note"] == [severity]
