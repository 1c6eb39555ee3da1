from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from text_probes import captures, facts, gpus, notes

from rocm_doctor.probes.text import program_gpus, versions

COLLECT_ENV = """\
Collecting environment information...
PyTorch version: 2.9.1+rocm6.4
CUDA used to build PyTorch: N/A
ROCM used to build PyTorch: 6.4.43484-123eb5128

OS: Ubuntu 24.04.3 LTS (x86_64)
Libc version: glibc-2.39

Python version: 3.12.3 (main, Aug 14 2025, 17:47:21) [GCC 13.3.0] (64-bit runtime)
Python platform: Linux-6.8.0-85-generic-x86_64-with-glibc2.39
Is CUDA available: True
CUDA runtime version: Could not collect
GPU models and configuration: AMD Instinct MI210 (gfx90a:sramecc+:xnack-)
HIP runtime version: 6.4.43484
Model name:                           AMD EPYC 7313P 16-Core Processor

[pip3] numpy==2.3.3
[conda] peft                     0.17.1                    pypi_0    pypi
"""


@pytest.mark.parametrize("text", [COLLECT_ENV, COLLECT_ENV.replace("\n", " ")], ids=["whole", "on one line"])
def test_collect_env(text: str) -> None:
    found = facts(versions, text)
    wanted = {
        "torch.version": "2.9.1+rocm6.4", "torch.hip": "6.4.43484-123eb5128", "torch.cuda": None, "torch.build": "rocm", "torch.rocm": "6.4",
        "torch.family": "bundled", "torch.available": True, "hip.version": "6.4.43484", "python.version": "3.12.3", "os": "Ubuntu 24.04.3 LTS",
        "platform": "linux", "kernel": "6.8.0-85-generic", "wsl": False, "glibc": "2.39", "pkg.numpy": "2.3.3", "pkg.peft": "0.17.1",
    }  # fmt: skip
    assert {name: found.get(name) for name in wanted} == wanted
    assert gpus(program_gpus, text) == [{"marketing_name": "AMD Instinct MI210", "gfx": "gfx90a"}]


def test_a_cuda_build() -> None:
    text = (
        COLLECT_ENV.replace("2.9.1+rocm6.4", "2.9.1+cu128")
        .replace("PyTorch: N/A", "PyTorch: 12.8")
        .replace("6.4.43484-123eb5128", "N/A")
    )
    found = facts(versions, text)
    assert (found["torch.build"], found["torch.hip"], found["torch.cuda"], found["torch.rocm"]) == ("cuda", None, "12.8", None)


@pytest.mark.parametrize(
    ("text", "fact", "value"),
    [
        ("- PyTorch version (accelerator?): 2.8.0+rocm6.4 (CUDA)", "torch.version", "2.8.0+rocm6.4"),
        ("- PyTorch version (GPU?): 2.5.1+rocm6.2 (True)", "torch.available", True),
        ("- `transformers` version: 4.57.1", "pkg.transformers", "4.57.1"),
        ("- Platform: Linux-6.8.0-85-generic-x86_64-with-glibc2.39", "kernel", "6.8.0-85-generic"),
        ("PyTorch: 2.8.0+rocm6.4\n  HIP: 6.4.43482-0f2d60242", "torch.hip", "6.4.43482-0f2d60242"),
        ('{"torch_version": "2.9.1+rocm7.2", "python": "3.12.3"}', "torch.version", "2.9.1+rocm7.2"),
        ("==((====))==  Unsloth 2025.11.1: Fast Llama patching. Transformers: 4.57.1.", "pkg.unsloth", "2025.11.1"),
        ("ROCm version: (6, 4)", "rocm.version", "6.4"),
        ("amdgpu/6.14.14-2204008.24.04, 6.14.0-29-generic, x86_64: installed", "driver.version", "6.14.14"),
        ("amdgpu/6.12.12-2147987.24.04, 6.8.0-1-generic, x86_64: built", "driver.version", None),
        ("ii  rocm-core   6.3.1.60301-48~24.04   amd64   Radeon Open Compute", "rocm.version", "6.3.1"),
        ("rocm-core/noble,now 6.3.1.60301-48~24.04 amd64 [installed,automatic]", "rocm.version", "6.3.1"),
        ("rocm-core-6.3.1.60301-48.el9.x86_64", "rocm.version", "6.3.1"),
        ("cannot open /opt/rocm-6.0.2/lib/librocblas.so", "rocm.version", "6.0.2"),
        ("/builds/opt/rocm-6.0.2x/lib and /data/rocm-rel-6.0/x", "rocm.version", None),
        ("Linux host 6.6.87.2-microsoft-standard-WSL2 #1 SMP x86_64 GNU/Linux", "wsl", True),
        ("MES feature version: 1, firmware version: 0x00000083", "firmware.mes", "0x00000083"),
        ("amdgpu              19767296  31", "driver.loaded", True),
        ('PRETTY_NAME="Fedora Linux 43 (Workstation Edition)"', "os", "Fedora Linux 43 (Workstation Edition)"),
        ('File "/home/ada/venv/lib/python3.12/site-packages/torch/__init__.py", line 1', "python.version", "3.12"),
        (r'File "C:\Python312\Lib\site-packages\torch\__init__.py"', "python.version", "3.12"),
        ("works on ROCm 6.2, breaks on ROCm 6.3", "rocm.version", {"6.2", "6.3"}),
        ("ROCm 6.4 here. Of ROCm 6.4.1, to be exact.", "rocm.version", "6.4.1"),
        ("ROCm version: 6.4.1\nI also tried ROCm 7.0", "rocm.version", "6.4.1"),
        ("HIP SDK 6.2.4 on my PC", "rocm.version", "6.2.4"),
        ("torch 2.5.1+rocm6.2", "rocm.version", None),
        ("torch 2.5.1+rocm6.2", "torch.rocm", "6.2"),
        ("the wheel is rocm6.2 from the nightly index", "torch.rocm", "6.2"),
        ("I use Python 3.11.9", "python.version", "3.11.9"),
        ("on 6.11.0-19-generic of Ubuntu", "kernel", "6.11.0-19-generic"),
        ("Rocky Linux 9.4 with kernel 5.14.0", "kernel", "5.14.0"),
        ("sglang-kernel: 0.4.1", "kernel", None),
        ("amdgpu-dkms 6.12.12 fails to build", "driver.version", "6.12.12"),
        ("Adrenalin 25.9.1", "driver.windows", "25.9.1"),
        ("bitsandbytes 0.48.1 and transformers 4.57", "pkg.bitsandbytes", "0.48.1"),
        ("pip3 install torch --index-url https://download.pytorch.org/whl/cu124", "torch.build", "cuda"),
        ("pip3 install torch --index-url https://download.pytorch.org/whl/rocm6.3", "torch.rocm", "6.3"),
        ("pip install torch --index-url https://repo.amd.com/rocm/whl/gfx1151/", "torch.family", "therock"),
    ],
)
def test_statements(text: str, fact: str, value: object) -> None:
    assert facts(versions, f"{text}\n").get(fact) == value


@pytest.mark.parametrize("form", versions.FORMS, ids=lambda form: form.example)
def test_each_form_reads_its_example(form: versions.Form) -> None:
    assert form.fact in facts(versions, f"{form.example}\n")


@pytest.mark.parametrize(
    "text",
    [
        "[drm] Initialized amdgpu 3.57.0 20150101 for 0000:03:00.0 on minor 0",  # the version of DRM's interface
        "Driver version: 550.54.15",  # NVIDIA's
        "ROCm model tensor mappings: 58.56 GiB",
        "ROCm on Ubuntu 18.04",
        "installed ROCm for Python 3.13",
    ],
)
def test_numbers_of_other_things_are_not_versions(text: str) -> None:
    assert not {"driver.version", "rocm.version"} & facts(versions, f"{text}\n").keys()


def test_captures_state_their_torch() -> None:
    for path in captures("collect_env"):
        assert {"torch.version", "torch.hip"} & facts(versions, path.read_text(errors="replace")).keys(), path.name


@given(st.text(), st.integers(0, 300))
def test_any_text_gives_facts_or_nothing(text: str, place: int) -> None:
    notes(versions, COLLECT_ENV[:place] + text + COLLECT_ENV[place:])
