"""Each build of a Dockerfile is judged with the list of GPUs that it has."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_text import report, serious

NAME = "PYTORCH_ROCM_ARCH"
BOTH, ONE = "gfx942;gfx1100", "gfx942"
BUILD = "RUN git clone https://github.com/{0}/{0} && cd {0} && {1}python3 setup.py install\n"
TORCH, VLLM = BUILD.format("pytorch", ""), BUILD.format("vllm", "")


@pytest.mark.parametrize(("lines", "places"), [
    (f"ENV {NAME}={ONE}\n{TORCH}" + BUILD.format("vllm", f'{NAME}="{BOTH}" '), ["line 2"]),
    (f"ENV {NAME}={ONE}\n{TORCH}ENV {NAME}={BOTH}\n{VLLM}", ["line 2"]),
    (f"ENV {NAME}={BOTH}\n{TORCH}ENV {NAME}={ONE}\n{VLLM}", ["line 4"]),
    (f"ENV {NAME}={ONE}\nRUN apt-get update\nENV {NAME}={BOTH}\n{TORCH}", []),
    (f"ARG {NAME}={ONE}\nENV {NAME}={BOTH}\n{TORCH}", []),
    (f"ENV {NAME}={BOTH}\n{TORCH}" + BUILD.format("vllm", f"{NAME}={ONE} "), []),
    (f"ENV {NAME}={ONE}\n{TORCH}" + BUILD.format("vllm", f"{NAME}=gfx90a "), ["line 2", "line 4"]),
])  # fmt: skip
def test_several_values(tmp_path: Path, lines: str, places: list[str]) -> None:
    found = serious(report(tmp_path, {"Dockerfile.rocm": "FROM rocm/dev-ubuntu-22.04:6.4\n" + lines}))
    at = [r.place for f in found if f.id == "arch.not-in-build" for r in f.evidence if r.artifact == "Dockerfile.rocm"]
    assert sorted(at) == places
