"""What a person says himself: the release that works, the one that fails, the program, and whose GPU it is."""

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


@pytest.mark.parametrize(
    ("text", "diagnosis", "words"),
    [
        (
            "# Dual GPU bug on 0.3.15 that did not exist on 0.3.13\n\nTwo RX 7900 XTX, Windows 11. When running Ollama on 0.3.13 it worked"
            " great. Switching to 0.3.15 gives gibberish. With a small model on one card there is no problem on 0.3.13 or 0.3.15.",
            "version.program-regression",
            ["Use Ollama 0.3.13", "0.3.15", "OllamaSetup.exe"],
        ),
        (
            "LM Studio 0.3.27, Arch Linux, Radeon 8060S. With the current engine (Vulkan llama.cpp v1.52.0) the CPU computes."
            " With the earlier engine I could see the VRAM being used.",
            "version.program-regression",
            ["lms runtime select", "list older versions"],
        ),
        (
            "llama-bench with the Vulkan backend crashes on my RX 6800 XT with a segfault, starting with build b139; the builds before"
            " did not. llama.cpp on Linux.",
            "version.program-regression",
            ["llama.cpp of before", "b139"],
        ),
        (
            "I have an RX 7800 XT, and KoboldCpp (1.105.4) is 4x slower than the previous version. 1.104 was faster.",
            "version.program-regression",
            ["Use KoboldCpp 1.104"],
        ),
        (
            "Radeon R9700, Debian 13, llama.cpp. Kernel now: 7.1.7 (it was 7.1.3 before the last upgrade). It crashes.",
            "version.kernel-regression",
            ["Boot kernel 7.1.3"],
        ),
        (
            "AMD driver 25.5.1 breaks zluda on Windows. The previous driver 25.3.2 worked well on my RX 7900 XTX.",
            "version.driver-mismatch",
            ["Go back to driver 25.3.2"],
        ),
        (
            "Windows, RX 6600, koboldcpp-rocm. Every release after it is crashing, but I was using it without any issues on older"
            " versions.",
            "version.program-regression",
            ["KoboldCpp of before"],
        ),
    ],
)
def test_the_release_that_the_person_names_is_the_cure(text: str, diagnosis: str, words: list[str]) -> None:
    one = first(text)
    assert one.id == diagnosis
    assert [w for w in words if w not in one.advice] == []


def test_one_release_in_a_longer_and_a_shorter_form_is_no_regression() -> None:
    said = judged("RX 7900 XTX. MIOpen of ROCm 10.0 crashes here. The wheels of 10.0.0 worked for the installation.").findings
    assert all(f.origin != "statement" for f in said)


def test_a_gpu_of_another_person_is_none_of_this_machine() -> None:
    report = judged(
        "LM Studio on Windows 11, my GPU is a 780M. It fails with Vulkan. A second user has the same with a Radeon 8060S. ROCm works on"
        " the 8060S."
    )
    assert [g.get("gfx").value for g in report.snapshot.gpus] == ["gfx1103"]


def test_an_override_that_is_set_is_not_advised_again() -> None:
    one = first(
        "Ryzen 4650G (Renoir), Debian, podman. Ollama does not use the GPU, it runs on the CPU. podman run -e"
        ' HSA_OVERRIDE_GFX_VERSION="9.0.0" --privileged ollama'
    )
    assert "HSA_OVERRIDE_GFX_VERSION=9.0.0" not in one.advice


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


def test_a_word_behind_set_as_is_no_value() -> None:
    report = judged("Radeon 780M, Linux. HSA_OVERRIDE_GFX_VERSION is set as before, and Ollama runs on the CPU.")
    assert report.snapshot.get("env.HSA_OVERRIDE_GFX_VERSION").value != "before"


def test_with_zluda_a_cuda_torch_is_right() -> None:
    report = judged(
        "SD.Next on Windows with ZLUDA, RX 6800 XT. Since today: Found no NVIDIA driver on your system. Adrenalin 25.3.1"
    )
    assert next(f for f in report.findings if f.leads).id == "version.driver-mismatch"


def test_a_hypothesis_changes_nothing_on_another_machine() -> None:
    for text in ("RX 570, Ubuntu. Stable Diffusion worked yesterday, today it does not.", "LM Studio crashes with my RX 6600."):
        lead = next((f for f in judged(text).findings if f.leads and f.confidence == "low"), None)
        assert lead is None or all(c.effect == "reads" or c.text.startswith(("export", "unset")) for c in lead.commands)
