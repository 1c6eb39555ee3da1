from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from text_probes import captures, facts, gpus, notes

from rocm_doctor.probes.text import tracebacks, version_files
from rocm_doctor.probes.tools import lspci

LSPCI = """\
00:02.0 VGA compatible controller [0300]: Intel Corporation UHD Graphics 730 [8086:4692] (rev 0c)
03:00.0 VGA compatible controller [0300]: Advanced Micro Devices, Inc. [AMD/ATI] Navi 31 [Radeon RX 7900 XT] [1002:744c] (rev c8)
\tSubsystem: Sapphire Technology Limited NITRO+ [1da2:e471]
\tKernel driver in use: amdgpu
\tKernel modules: amdgpu
03:00.1 Audio device [0403]: Advanced Micro Devices, Inc. [AMD/ATI] Navi 31 HDMI/DP Audio [1002:ab30]
0000:83:00.0 Processing accelerators [1200]: Advanced Micro Devices, Inc. [AMD/ATI] Device [1002:74a1]
"""


@pytest.mark.parametrize(
    ("text", "fact", "value"),
    [
        ("amdgpu/6.14.14-2204008.24.04, 6.14.0-29-generic, x86_64: installed", "driver.version", "6.14.14"),
        ("amdgpu/6.14.14-2204008.24.04, 6.14.0-29-generic, x86_64: installed", "kernel", "6.14.0-29-generic"),
        ("amdgpu, 5.18.13-1528701.22.04, 5.15.0-56-generic, x86_64: installed", "driver.version", "5.18.13"),
        ("amdgpu/6.12.12-2147987.24.04: added", "driver.version", None),
        (
            "amdgpu/6.12.12-1.24.04, 6.8.0-1-generic, x86_64: built\namdgpu/6.12.12-1.24.04, 6.8.0-2-generic, x86_64: installed",
            "kernel",
            "6.8.0-2-generic",
        ),
        ("Package: rocm-core\nVersion: 6.3.1.60301-48~24.04\nPriority: optional\n", "rocm.version", "6.3.1"),
        ("Package: rocm-core\nStatus: install ok installed\nVersion: 6.3.1.60301-48~24.04\n", "rocm.version", "6.3.1"),
        ("Package: rocblas\nVersion: 4.3.0.60301-48~24.04\n", "rocm.version", None),
        ("ii  rocm-core   6.3.1.60301-48~24.04   amd64   Radeon Open Compute", "rocm.version", "6.3.1"),
        ("rocm-core/noble,now 6.3.1.60301-48~24.04 amd64 [installed,automatic]", "rocm.version", "6.3.1"),
        ("$ rpm -qa | grep rocm\nrocm-core-6.3.1.60301-48.el9.x86_64\n", "rocm.version", "6.3.1"),
        ("Arch, rocm-core 6.4.3-1, python-pytorch-opt-rocm 2.8.0-3", "rocm.version", "6.4.3"),
        ("Arch, rocm-core 6.4.3-1, python-pytorch-opt-rocm 2.8.0-3", "torch.version", "2.8.0"),
        ("ii  amdgpu-dkms  1:6.12.12.60401-2164967.24.04  all  driver", "driver.version", "6.12.12"),
        ("Linux host 6.6.87.2-microsoft-standard-WSL2 #1 SMP x86_64 GNU/Linux", "wsl", True),
        ("MES feature version: 1, firmware version: 0x00000083", "firmware.mes", "0x00000083"),
        ("amdgpu              19767296  31", "driver.loaded", True),
        ('PRETTY_NAME="Fedora Linux 43 (Workstation Edition)"', "os", "Fedora Linux 43 (Workstation Edition)"),
    ],
)
def test_versions_of_files_and_package_managers(text: str, fact: str, value: object) -> None:
    assert facts(version_files, f"{text}\n").get(fact) == value


def test_two_kernels_with_the_module_leave_the_kernel_open() -> None:
    text = "".join(f"amdgpu/6.14.14-2204008.24.04, 6.14.0-{n}-generic, x86_64: installed\n" for n in (29, 33))
    assert facts(version_files, text) == {"driver.version": "6.14.14"}


def test_lspci() -> None:
    assert gpus(lspci, LSPCI) == [
        {"pci_bdf": "0000:03:00.0", "device_id": 0x744C, "marketing_name": "Radeon RX 7900 XT", "driver": "amdgpu"},
        {"pci_bdf": "0000:83:00.0", "device_id": 0x74A1},
    ]


def test_traceback_tells_python_and_its_home() -> None:
    text = (
        "Traceback (most recent call last):\n  File"
        ' "/home/user/train/venv/lib/python3.12/site-packages/torch/__init__.py", line 1, in f\n'
    )
    assert facts(tracebacks, text) == {"python.version": "3.12", "python.prefix": "/home/user/train/venv", "python.env": "venv"}
    assert facts(tracebacks, text.replace("/home/user/train/venv", "…/envs/py312")) == {"python.version": "3.12"}
    assert (
        facts(tracebacks, text.replace("/home/user/train/venv", "/usr/local").replace("site-", "dist-"))["python.env"] == "system"
    )
    assert facts(tracebacks, r'File "C:\Python312\Lib\site-packages\torch\__init__.py"')["python.version"] == "3.12"


def test_folder_tells_the_rocm_release() -> None:
    assert facts(tracebacks, "cannot open /opt/rocm-6.0.2/lib/librocblas.so") == {"rocm.version": "6.0.2"}
    assert facts(tracebacks, "/builds/opt/rocm-6.0.2x/lib and /data/rocm-rel-6.0/x") == {}


def test_every_capture_of_a_version_says_it() -> None:
    for path in captures("version_files"):
        if path.name != "fw-vega10-debugfs.txt":
            assert facts(version_files, path.read_text(errors="replace")), path.name


@given(st.text(), st.integers(0, 300))
def test_any_text_gives_facts_or_nothing(text: str, place: int) -> None:
    for probe in (version_files, lspci, tracebacks):
        notes(probe, text)
        notes(probe, LSPCI[:place] + text + LSPCI[place:])
    notes(version_files, "Package: rocm-core\nVersion: " + text + "\namdgpu/" + text + "\nuname -r\n" + text)
    notes(tracebacks, "/lib/python3.12/site-packages" + text)
