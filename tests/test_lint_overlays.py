"""Compose files that are merged over one that reserves NVIDIA devices."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_text import report, said, serious

BASE = "services:\n  api:\n    build: .\n    deploy: {resources: {reservations: {devices: [{driver: nvidia, count: all, capabilities: [gpu]}]}}}\n"
AMD = """services:
  api:
    build: {context: ., dockerfile: Dockerfile.rocm}
    devices: [/dev/kfd, /dev/dri]
    ipc: host
"""
FILES = {
    "Dockerfile": "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\n",
    "Dockerfile.rocm": 'FROM python:3.12\nRUN pip install torch==2.10.0 --index-url https://download.pytorch.org/whl/rocm7.1\nCOPY . .\nCMD ["python", "train.py"]\n',
    "train.py": "import torch\n",
    "docker-compose.yml": BASE,
}
BOTH = "# docker compose -f docker-compose.yml -f docker-compose.rocm.yml up\n"
ALONE = "docker compose -f docker-compose.rocm.yml up\n"
EMPTIED = "    deploy: {}\n"
RESET = "    deploy:\n      resources:\n        reservations:\n          devices: !reset []\n"


def kept(path: Path, more: dict[str, str]) -> list[tuple[str, str, str]]:
    return [one for one in said(report(path, FILES | more)) if one[0] == "access.container"]


@pytest.mark.parametrize(("over", "readme", "stays"), [
    (BOTH + AMD, "", True), (BOTH + AMD + EMPTIED, "", True), (AMD, BOTH, True), (AMD, f"{BOTH}{ALONE}", False), (AMD, "", False),
    (AMD, "docker compose -f docker-compose.yml \\\n  -f docker-compose.rocm.yml \\\n  up\n", True), (AMD, "COMPOSE_FILE=docker-compose.yml:docker-compose.rocm.yml\n", True),
    (BOTH + AMD + RESET, "", False), (BOTH + AMD + "    deploy: !reset null\n", "", False), (BOTH + AMD.replace("api:", "other:"), "", False),
])  # fmt: skip
def test_a_reservation_of_the_file_below_stays(tmp_path: Path, over: str, readme: str, stays: bool) -> None:
    at = f"docker-compose.rocm.yml:{3 if over.startswith('#') else 2}"
    found = kept(tmp_path, {"docker-compose.rocm.yml": over, "README.md": readme})
    assert found == ([("access.container", "error", at)] if stays else [])


@pytest.mark.parametrize(("asks", "over", "stays"), [
    ("    runtime: nvidia\n", "", True), ("    runtime: nvidia\n", "    runtime: runc\n", False), ("    gpus: all\n", "", True),
    ("    gpus: all\n", "    gpus: !reset null\n", False), ("", "", False),
])  # fmt: skip
def test_an_override_file_is_merged_by_itself(tmp_path: Path, asks: str, over: str, stays: bool) -> None:
    base = f"services:\n  api:\n    build: .\n{asks}"
    found = kept(tmp_path, {"docker-compose.yml": base, "docker-compose.override.yml": AMD + over})
    assert [one[1:] for one in found] == ([("error", "docker-compose.override.yml:2")] if stays else [])


def test_services_that_keep_it_are_one_finding(tmp_path: Path) -> None:
    two = BASE + BASE.split("\n", 1)[1].replace("api:", "web:")
    over = BOTH + AMD + AMD.split("\n", 1)[1].replace("api:", "web:")
    found = [
        f
        for f in serious(report(tmp_path, FILES | {"docker-compose.yml": two, "docker-compose.rocm.yml": over}))
        if f.id == "access.container"
    ]
    assert [len(f.evidence) for f in found] == [5]
