"""Verdicts that were wrong once: each case with its kind, so that the kind stays right."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from rocm_doctor.facts.derive import derive
from rocm_doctor.matrix import load
from rocm_doctor.model import Fact, Finding, Reading, Report, Snapshot
from rocm_doctor.pipeline import judge, read_paths
from rocm_doctor.probes.read.pairs import roots
from rocm_doctor.redaction.redactor import Redactor
from rocm_doctor.sources.paste import cut

MATRIX = load()
FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"


def pasted(text: str) -> Report:
    return judge(cut(text, "text"), MATRIX, kind="capture")


def serious(report: Report) -> list[tuple[str, str]]:
    return [(f.id, f.row) for f in report.findings if f.severity != "note"]


# A tool that prints its abilities, or that all is well, complains of nothing.
CALM = [
    "  Single-precision Floating-point support         (core)\n    Denormals    Yes\n    Infinity and NANs                             Yes",
    "  Half-precision Floating-point support           (cl_khr_fp16)\n    Infinity and NANs                             No",
    '{"torch": {"available": true, "version": "2.9.1+rocm7.2.0", "device_count": 8, "errors": 0}, "rocm": {"version": "7.2.0"}}',
    "torch.cuda.device_count() 8, rank 0",
    "device_count=4 seed=0",
]


@pytest.mark.parametrize("text", CALM)
def test_what_a_tool_can_do_is_no_complaint(text: str) -> None:
    assert serious(pasted(text)) == []


@pytest.mark.parametrize(
    "text", ["torch.cuda.device_count() is 0", "device_count: 0", "torch.cuda.device_count() returns 0 on my 7900 XTX"]
)
def test_a_count_of_zero_still_is_one(text: str) -> None:
    assert serious(pasted(f"ROCk module is loaded, torch 2.9.1+rocm6.4\n{text}\n")) != []


@pytest.mark.parametrize("text", ["the loss gives nans in fp16", "fp16 training: all losses turn to nans after 10 steps"])
def test_nans_in_a_complaint_still_count(text: str) -> None:
    assert ("numeric.bf16-or-fp16", "sig-half-nan") in serious(pasted(text))


@pytest.mark.parametrize(
    "row", [r for r in MATRIX.rows if r.diagnosis in ("access.permission", "access.wsl") and "log" in r.when], ids=lambda r: r.key
)
def test_a_torch_that_sees_a_gpu_lacks_no_access(row: object) -> None:
    """A row that explains `no GPU` by access is silent where torch printed that it has one."""
    when = row.when  # type: ignore[attr-defined]
    if any(word in when["log"] for word in ("{no-gpu}", "{on-cpu}", "{trouble}", "is_available", "device_count")):
        assert when.get("torch.available") in ("no", "!yes")


# Who may not open the node decides what helps.
def test_a_member_of_the_group_is_not_told_to_join_it() -> None:
    report = pasted(
        "ROCk module is loaded\nUnable to open /dev/kfd read-write: Permission denied\nada is member of render group\n"
    )
    assert all("usermod" not in c.text for f in report.findings for c in f.commands)
    assert "although one of the user's groups owns it" in report.summary


def test_root_is_not_told_to_join_a_group() -> None:
    text = 'ROCk module is loaded\nUnable to open /dev/kfd read-write: Permission denied\nroot is not member of "video" group, the default DRM'
    report = pasted(text)
    assert serious(report)[0] == ("access.container", "")
    assert all("usermod" not in c.text for f in report.findings for c in f.commands)


def test_anybody_else_is() -> None:
    text = 'ROCk module is loaded\nUnable to open /dev/kfd read-write: Permission denied\nada is not member of "render" group\n'
    assert any("usermod" in c.text for f in pasted(text).findings for c in f.commands)


# What the kernel's log says of a hang.
def test_a_soft_recovery_is_no_reset() -> None:
    report = pasted("kernel: amdgpu 0000:0a:00.0: amdgpu: ring gfx_0.0.0 timeout, but soft recovered\n")
    assert [row for _, row in serious(report)] == ["sig-soft-recovered"]
    both = pasted("amdgpu: ring gfx_0.0.0 timeout, but soft recovered\namdgpu 0000:0a:00.0: amdgpu: GPU reset begin!\n")
    assert serious(both)[0][1] == "sig-mes-hang"


def test_a_gpu_that_the_kernel_does_not_know() -> None:
    report = pasted(
        "[    2.244241] kfd kfd: DID 7340 is missing in supported_devices\n[    2.244243] kfd kfd: kgd2kfd_probe failed\n"
    )
    assert ("version.kernel-too-old", "sig-kfd-did-missing") in serious(report)


# Words for people.
PYTHON = re.compile(r"\bUnknown\(|\bFact\(|\bReading\(|\bNone\b|\bis (?:True|False)\b|candidates=|\('")


def words_of(one: Finding) -> Iterator[str]:
    yield from (one.title, one.cause, one.advice)


@pytest.mark.parametrize(
    "text",
    [
        "Radeon 780M, gfx110X nightly, HSA_OVERRIDE_GFX_VERSION=11.0.0: the loss becomes nan in training with bf16",
        "gfx110x: RuntimeError: HIP error: invalid device function",
    ],
)
def test_no_python_value_in_a_sentence(text: str) -> None:
    report = pasted(text)
    found = [words for one in report.findings for words in words_of(one) if PYTHON.search(words)]
    assert found == []


@pytest.mark.parametrize("name", [p.name for p in FIXTURES.iterdir() if (p / "expected.yaml").is_file()])
def test_nothing_is_said_twice_in_a_finding(name: str) -> None:
    for one in judge(read_paths([FIXTURES / name]), MATRIX).findings:
        commands = [c.text for c in (*one.commands, *one.verify, *([one.settle] if one.settle else ()))]
        assert len(commands) == len(set(commands)), one.id
        assert len(one.evidence) == len(set(one.evidence)), one.id


# JSON that is well-formed is read as JSON.
@pytest.mark.parametrize(
    "value",
    [
        {"name": "AMD Radeon\u2122 RX 7900", "note": "a\nb\tc", "path": "C:\\x", "quote": 'a "b"'},
        {"power": 1e5, "small": 2.5e-3, "big": 12345678901234567890, "negative": -1},
        [{"a": [1, {"b": None}]}, {"c": True}],
    ],
)
def test_well_formed_json_keeps_its_values(value: object) -> None:
    assert roots(json.dumps(value) + "\n") == [value]
    assert roots("WARNING: x\n" + json.dumps(value, indent=2) + "\nbye\n") == [value]


def test_escapes_count_in_json_that_is_not() -> None:
    assert roots('{"name": "Radeon\\u2122\\n",\n...\n}\n') == [{"name": "Radeon\u2122\n"}]


# Numbers that look like an address.
VERSIONS = [
    "nvidia-cublas 13.1.1.3", "nvidia-cublas==13.1.1.3", "nvidia-cublas-cu12          12.8.4.1", "libcublas 12.8.4.1", "opencv-python 4.10.0.84",
    '"nvidia-nccl-cu12": "2.27.5.1"', "HIP version: 13.1.1.3", "driver 32.0.21025.1",
]  # fmt: skip


@pytest.mark.parametrize("text", VERSIONS)
def test_a_version_is_no_address(text: str) -> None:
    assert Redactor().text(text) == text


@pytest.mark.parametrize(
    "text", ["ssh ada 34.12.99.4", "connect to 8.8.4.4 failed", "node-1 34.12.99.4", "nvidia-cublas 192.168.1.7"]
)
def test_an_address_is_one(text: str) -> None:
    assert "<ip-1>" in Redactor().text(text)


# What proves a way to the device.
@pytest.mark.parametrize(
    ("facts", "open_"),
    [
        ({"torch.available": True, "torch.build": "rocm"}, True),
        ({"torch.available": True, "torch.build": "cuda"}, None),
        ({"torch.available": False, "torch.build": "rocm"}, None),
        ({"kfd.exists": True, "kfd.group": "render", "user.groups": ("ada", "render")}, True),
        ({"kfd.exists": True, "kfd.gid": "992", "user.gids": ("1000", "992")}, True),
        ({"kfd.exists": True, "kfd.group": "render", "user.groups": ("ada", "video")}, None),
        ({"kfd.exists": False, "kfd.group": "render", "user.groups": ("render",)}, None),
    ],
)
def test_what_proves_a_way_to_the_device(facts: dict[str, object], open_: bool | None) -> None:
    made = derive(Snapshot({name: Fact(value, (Reading(name),)) for name, value in facts.items()}))  # type: ignore[arg-type]
    assert made.get("kfd.openable", Fact(None)).value is open_


def test_an_override_in_force_is_not_asked_for() -> None:
    """A chip that the runtime reports as a target of the build runs under an override already, whoever set it."""
    smi = "GPU[0]\t\t: Card Series: \t\tAMD Radeon 680M\nGPU[0]\t\t: GFX Version: \t\tgfx1035\n"
    comfy = "pytorch version: 2.8.0+rocm6.4\nAMD arch: gfx1030\nDevice: cuda:0 AMD Radeon 680M : native\n"
    assert "arch.override-needed" not in [f.id for f in pasted(smi + comfy).findings]
    without = pasted(
        smi
        + comfy.replace("AMD arch: gfx1030\n", "")
        + "$ pip list\nPackage Version\n------- -------\ntorch 2.8.0+rocm6.4\npeft 1.0\nx 1.0\n"
    )
    assert "arch.override-needed" in [f.id for f in without.findings]


def test_a_kernel_of_wsl_is_not_the_gpu_s_driver() -> None:
    """Rows that judge by the Linux kernel's release are about bare metal: in WSL the driver is Windows'."""
    text = (
        "gfx1151, Radeon 8060S. uname -r: 6.6.87.2-{}\nROCm 7.2, torch 2.9.1+rocm7.2: total capacity of 15 GiB, out of memory\n"
    )
    rows = {
        wsl: [f.id for f in pasted(text.format("microsoft-standard-WSL2" if wsl else "generic")).findings]
        for wsl in (True, False)
    }
    assert "version.kernel-too-old" in rows[False]
    assert "version.kernel-too-old" not in rows[True]


@pytest.mark.parametrize(
    "text", ["CUDA out of memory on RTX 4090 driver 550", "GeForce GTX 1080: RuntimeError: CUDA error: invalid device function"]
)
def test_a_failure_of_an_nvidia_gpu_is_not_judged(text: str) -> None:
    assert serious(pasted(text)) == []


@pytest.mark.parametrize(
    "text", ["HIP out of memory on my RX 7900 XTX; the RTX 4090 is fine", "CUDA out of memory. Tried to allocate 2 GiB"]
)
def test_a_failure_that_may_be_ours_is(text: str) -> None:
    assert ("memory.oom", "sig-oom") in serious(pasted(text))


def test_a_library_that_is_there_and_broken_is_not_missing() -> None:
    broken = "OSError: bitsandbytes/libbitsandbytes_rocm62.so: undefined symbol: hipblasLtCreate\n"
    rows = [row for _, row in serious(pasted(broken + "RuntimeError: Could not find the bitsandbytes ROCm binary\n"))]
    assert "sig-bnb-broken" in rows
    assert "sig-bnb-binary-missing" not in rows
