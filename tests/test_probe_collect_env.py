from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st
from text_probes import captures, facts, gpus, notes

from rocm_doctor.probes.text import collect_env

REPORT = """\
Collecting environment information...
PyTorch version: 2.9.1+rocm6.4
Is debug build: False
CUDA used to build PyTorch: N/A
ROCM used to build PyTorch: 6.4.43484-123eb5128

OS: Ubuntu 24.04.3 LTS (x86_64)
GCC version: (Ubuntu 13.3.0-6ubuntu2~24.04) 13.3.0
Clang version: Could not collect
CMake version: version 3.28.3
Libc version: glibc-2.39

Python version: 3.12.3 (main, Aug 14 2025, 17:47:21) [GCC 13.3.0] (64-bit runtime)
Python platform: Linux-6.8.0-85-generic-x86_64-with-glibc2.39
Is CUDA available: True
CUDA runtime version: Could not collect
CUDA_MODULE_LOADING set to:
GPU models and configuration: AMD Instinct MI210 (gfx90a:sramecc+:xnack-)
Nvidia driver version: Could not collect
cuDNN version: Could not collect
Is XPU available: False
HIP runtime version: 6.4.43484
MIOpen runtime version: 3.4.0
Is XNNPACK available: True
Caching allocator config: N/A

CPU:
Architecture:                         x86_64
CPU(s):                               16
Model name:                           AMD EPYC 7313P 16-Core Processor
NUMA node0 CPU(s):                    0-15

Versions of relevant libraries:
[pip3] numpy==2.3.3
[pip3] pytorch-triton-rocm==3.5.1
[pip3] torch==2.9.1+rocm6.4
[conda] numpy                     2.3.3                    pypi_0    pypi
"""
EXPECTED = {
    "torch.version": "2.9.1+rocm6.4",
    "torch.hip": "6.4.43484-123eb5128",
    "torch.cuda": None,
    "torch.build": "rocm",
    "torch.rocm": "6.4",
    "torch.family": "bundled",
    "torch.available": True,
    "hip.version": "6.4.43484",
    "python.version": "3.12.3",
    "os": "Ubuntu 24.04.3 LTS",
    "platform": "linux",
    "kernel": "6.8.0-85-generic",
    "wsl": False,
    "glibc": "2.39",
    "cpu": "AMD EPYC 7313P 16-Core Processor",
    "pkg.numpy": "2.3.3",
    "pkg.pytorch-triton-rocm": "3.5.1",
    "pkg.torch": "2.9.1+rocm6.4",
}
GPU = {"marketing_name": "AMD Instinct MI210", "gfx": "gfx90a"}


def test_whole_report() -> None:
    assert facts(collect_env, REPORT) == EXPECTED
    assert gpus(collect_env, REPORT) == [GPU]
    assert not notes(collect_env, REPORT).listings[0].complete, "it names one GPU only"


def test_same_on_one_line_and_behind_a_warning() -> None:
    line = "WARNING 06-30 [x.py:14] Failed to import from vllm._C " + " ".join(REPORT.split())
    found = facts(collect_env, line)
    assert {k: v for k, v in found.items() if k not in ("cpu", "pkg.numpy")} == {
        k: v for k, v in EXPECTED.items() if k not in ("cpu", "pkg.numpy")
    }
    assert gpus(collect_env, line) == [GPU]


def test_padded_keys_and_banners_of_newer_vllm() -> None:
    text = re.sub(r"^([A-Z][\w ]+): ", lambda m: f"{m[1]:<29}: ", REPORT, flags=re.M)
    text = text.replace("OS   ", "=====\n System Info\n=====\nOS   ").replace(
        "Python version", "\n=====\n Python\n=====\nPython version"
    )
    assert facts(collect_env, text) == EXPECTED
    assert gpus(collect_env, text) == [GPU]


def test_what_the_cutting_lost_is_in_the_whole_text() -> None:
    cutting = "paste/1-collect_env", REPORT[REPORT.index("Is CUDA") :]
    assert facts(collect_env, cutting, REPORT) == EXPECTED
    assert gpus(collect_env, cutting, REPORT) == [GPU]


def test_cut_head_loses_only_what_was_cut() -> None:
    text = REPORT[REPORT.index("PyTorch: 6.4") :]
    found = facts(collect_env, text)
    assert "torch.version" not in found
    assert "torch.hip" not in found
    assert found["pkg.torch"] == "2.9.1+rocm6.4"


def test_no_gpu_says_no_gpu_name() -> None:
    text = REPORT.replace("AMD Instinct MI210 (gfx90a:sramecc+:xnack-)", "No CUDA").replace("available: True", "available: False")
    found = facts(collect_env, text)
    assert found["torch.available"] is False
    assert notes(collect_env, text).listings == []


def test_cuda_build_on_this_machine() -> None:
    text = (
        REPORT.replace("2.9.1+rocm6.4", "2.9.1+cu128")
        .replace("PyTorch: N/A", "PyTorch: 12.8")
        .replace("6.4.43484-123eb5128", "N/A")
    )
    found = facts(collect_env, text)
    assert (found["torch.build"], found["torch.hip"], found["torch.cuda"], found["torch.rocm"]) == ("cuda", None, "12.8", None)


def test_hip_build_number_of_vllm_is_no_rocm_release() -> None:
    text = REPORT.replace("HIP runtime version: 6.4.43484\n", "") + "ROCM Version: 6.4.43484-123eb5128\nvLLM Version: 0.11.0\n"
    found = facts(collect_env, text)
    assert "rocm.version" not in found
    assert found["pkg.vllm"] == "0.11.0"


def test_wsl_shows_in_the_kernel() -> None:
    assert facts(collect_env, REPORT.replace("6.8.0-85-generic", "6.6.87.2-microsoft-standard-WSL2"))["wsl"] is True


def test_windows() -> None:
    text = REPORT.replace("Ubuntu 24.04.3 LTS (x86_64)", "Microsoft Windows 11 Pro (10.0.26100 64-bit)").replace(
        "glibc-2.39", "N/A"
    )
    found = facts(collect_env, text.replace("Linux-6.8.0-85-generic-x86_64-with-glibc2.39", "Windows-11-10.0.26100-SP0"))
    assert (found["platform"], found["os"]) == ("windows", "Microsoft Windows 11 Pro (10.0.26100 64-bit)")
    assert "kernel" not in found
    assert "glibc" not in found


def test_names_before_torch_knew_the_target() -> None:
    (gpu,) = gpus(collect_env, REPORT.replace(" (gfx90a:sramecc+:xnack-)", "NoGCNArchNameOnOldPyTorch"))
    assert gpu == {"marketing_name": "AMD Instinct MI210"}


def test_a_card_that_the_driver_has_no_name_for_is_its_device_id() -> None:
    text = REPORT.replace("AMD Instinct MI210 (gfx90a:sramecc+:xnack-)", "Device 66a1")
    assert gpus(collect_env, text) == [{"marketing_name": "Device 66a1", "device_id": 0x66A1}]


def test_reading_names_the_line() -> None:
    reading = notes(collect_env, "words\n" + REPORT).facts["torch.version"].readings[0]
    assert (reading.place, reading.quote) == ("line 3", "PyTorch version: 2.9.1+rocm6.4")


def test_a_single_landmark_is_no_report() -> None:
    assert facts(collect_env, "My PyTorch version: 2.9.1+rocm6.4 crashes") == {}


def test_every_capture_gives_its_torch_or_its_hip() -> None:
    for path in captures("collect_env"):
        found = facts(collect_env, path.read_text(errors="replace"))
        assert found.get("torch.version") or found.get("torch.hip") or found.get("pkg.torch"), path.name
        assert found["torch.available"] in (True, False), path.name


@given(st.integers(0, len(REPORT)), st.integers(0, len(REPORT)), st.text(max_size=40))
def test_mutated_report_never_lies_about_torch(start: int, length: int, words: str) -> None:
    text = REPORT[:start] + words + REPORT[start + length :]
    found = notes(collect_env, text)
    assert all(fact.readings for fact in found.facts.values())


@given(st.text())
def test_any_text_gives_facts_or_nothing(text: str) -> None:
    notes(collect_env, "PyTorch version: " + text + "\nOS: " + text + "\nGPU models and configuration: " + text)
    notes(collect_env, text)
