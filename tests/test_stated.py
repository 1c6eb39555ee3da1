"""What follows from a person's words: an override that is set, a line that decides alone, a hypothesis that changes nothing."""

from __future__ import annotations

import pytest

from rocm_doctor import pipeline
from rocm_doctor.matrix import load
from rocm_doctor.model import Finding, Report
from rocm_doctor.sources.paste import cut

MATRIX = load()


def judged(text: str) -> Report:
    return pipeline.judge(cut(text, "report.md"), MATRIX, kind="capture")


def first(text: str) -> Finding:
    return next(f for f in judged(text).findings if f.severity != "note" and f.leads)


def test_an_override_that_is_set_is_not_advised_again() -> None:
    report = judged(
        "Ryzen 4650G (Renoir), Debian, podman. Ollama does not use the GPU, it runs on the CPU. podman run -e"
        ' HSA_OVERRIDE_GFX_VERSION="9.0.0" --privileged ollama'
    )
    assert all("HSA_OVERRIDE_GFX_VERSION=9.0.0" not in one.text for f in report.findings for one in f.commands)


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("RX 6800 XT\nImportError: libamdhip64.so: cannot enable executable stack as shared object requires: Invalid argument", "sig-executable-stack"),
        ("import torch with ROCm 5.4 on a Celeron G4930:\nIllegal instruction (core dumped)", "sig-no-avx"),
        ("RX 6800M, kernel 7.1.4, training stops:\namdgpu: ring gfx_0.0.0 timeout, signaled seq=1", "sig-ring-timeout-short"),
        ("ImportError: /opt/conda/lib/libstdc++.so.6: version `GLIBCXX_3.4.30' not found (required by libhsa-runtime64.so)", "sig-libstdcxx-too-old"),
        ("Ollama 0.30.2 runs everything on the CPU since the update, Radeon 890M, Linux. ollama ps says 100% CPU", "ollama-0.30-igpu"),
    ],
)  # fmt: skip
def test_a_line_that_decides_alone_is_known(text: str, row: str) -> None:
    assert row in [f.row for f in judged(text).findings]


def test_with_zluda_a_cuda_torch_is_right() -> None:
    report = judged(
        "SD.Next on Windows with ZLUDA, RX 6800 XT. Since today: Found no NVIDIA driver on your system. Adrenalin 25.3.1"
    )
    assert next(f for f in report.findings if f.leads).id == "version.driver-mismatch"


def test_a_hypothesis_changes_nothing_on_another_machine() -> None:
    for text in ("RX 570, Ubuntu. Stable Diffusion worked yesterday, today it does not.", "LM Studio crashes with my RX 6600."):
        lead = next((f for f in judged(text).findings if f.leads and f.confidence == "low"), None)
        assert lead is None or all(c.effect == "reads" or c.text.startswith(("export", "unset")) for c in lead.commands)
