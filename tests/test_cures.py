"""The cure that a person's facts choose: its command holds their values, and nothing is made up where a value is not known."""

from __future__ import annotations

import re

import pytest

from rocm_doctor.commands import slot_pattern, to_powershell
from rocm_doctor.cures.solved import SHOWN, near_reports
from rocm_doctor.cures.stated import command_patterns
from rocm_doctor.cures.values import Values
from rocm_doctor.matrix import load
from rocm_doctor.model import Command, Finding, Likely, Report, Similar, Snapshot
from rocm_doctor.pipeline import judge
from rocm_doctor.rules.logs import Logs
from rocm_doctor.sources.paste import cut

MATRIX = load()


def pasted(text: str) -> Report:
    return judge(cut(text, "report.md"), MATRIX, source="report.md", kind="capture")


def first(text: str) -> Finding:
    """The first finding that is no note."""
    return next(f for f in pasted(text).findings if f.severity != "note" and not f.follows_from)


def told(one: Finding) -> str:
    return "\n".join([one.advice, *(c.text for c in one.commands)])


@pytest.mark.parametrize(
    ("text", "diagnosis", "words"),
    [
        # regressions: the release that worked
        # torch that is not ROCm: the commands of plan, and the constraint that keeps it
        ("RX 7900 XTX, Python 3.12, Ubuntu. torch 2.9.1+cu128, torch.cuda.is_available() is False: Found no NVIDIA driver on your system",
         "version.torch-not-rocm", ["pip install", "+rocm", "--index-url https://", "PIP_CONSTRAINT"]),
        # containers by runtime
        ("In podman on Fedora: RuntimeError: No HIP GPUs are available. On the host rocminfo lists the RX 7900 XTX, the container"
         " gets no /dev/kfd.", "access.container", ["keep-groups", "podman run"]),
        ("docker-compose with rocm/pytorch: No HIP GPUs are available in the container, the host's rocminfo works. /dev/kfd is not in it.",
         "access.container", ["group_add", "compose"]),
        ("Proxmox LXC container: rocminfo says unable to open /dev/kfd read-write: Permission denied inside the LXC, the host works.",
         "access.", ["pct set", "gid=GID"]),
        ("Kubernetes pod: unable to open /dev/kfd read-write: Permission denied. The pod runs as uid 1000, root works.", "access.",
         ["supplementalGroups"]),
        # permission: whose
        ("ollama as a systemd service on Ubuntu: level=WARN msg=\"amdgpu devices detected but permission problems block access: failed to"
         " check permission on /dev/kfd: open /dev/kfd: permission denied\"", "access.permission", ["usermod -aG render,video ollama"]),
        # overrides: the value, and where the program reads it
        ("Ollama on an RX 6600 (gfx1032) under Linux falls back to CPU, gfx1032 is not supported by its ROCm. I did not set any override.",
         "arch.", ["HSA_OVERRIDE_GFX_VERSION=10.3.0"]),
        # builds: the target
        ("llama.cpp compiled with cmake -DGGML_HIP=ON on my RX 6800: ggml_cuda_compute_forward: MUL_MAT failed, hipErrorNoBinaryForGpu:"
         " Unable to find code object for all current devices!", "arch.not-in-build", ["AMDGPU_TARGETS=gfx1030"]),
        # libraries: the package, by distribution
        ("Fedora 42, RX 9070 XT, python -c 'import torch': ImportError: libatomic.so.1: cannot open shared object file: No such file or"
         " directory", "lib.missing-shared-object", ["dnf install libatomic"]),
        # memory of an APU: no second setting
        ("Strix Halo, Ubuntu 24.04: torch.OutOfMemoryError: HIP out of memory, the GPU has only 62 GiB of the 128 GB, GTT is limited."
         " gfx1151", "memory.", ["ttm.pages_limit=PAGES", "do not set amdgpu.gttsize"]),
    ],
)  # fmt: skip
def test_the_cure_holds_the_values_of_the_report(text: str, diagnosis: str, words: list[str]) -> None:
    one = first(text)
    assert one.id.startswith(diagnosis), one.id
    assert [w for w in words if w not in told(one)] == [], told(one)


def test_an_unknown_value_is_a_placeholder_behind_the_command_that_tells_it() -> None:
    one = first("Proxmox LXC container: unable to open /dev/kfd read-write: Permission denied inside the LXC, the host works.")
    texts = [c.text for c in one.commands]
    at = next(n for n, text in enumerate(texts) if "gid=GID" in text)
    assert texts[at - 1] == "getent group render"
    assert "GID" in one.commands[at].placeholders


def test_an_override_that_is_reported_to_break_is_never_given() -> None:
    report = pasted("RX 5700 XT, Linux: HIP error: invalid device function with torch 2.5.1+rocm6.2, no override is set.")
    values = Values(report.snapshot, report.snapshot.gpus[0], Logs([]), MATRIX, "capture")
    assert [o.verdict for o in MATRIX.gfx["gfx1010"].overrides if o.value == "10.3.0"] == ["harmful"]
    assert values.value("version_override") == ""
    assert "OVERRIDE_GFX_VERSION=10.3.0" not in told(next(f for f in report.findings if f.severity != "note"))


def test_the_most_conditions_win_and_a_row_s_own_advice_stays() -> None:
    by_windows = first(
        "Windows 11, RX 9070 XT: torch 2.9.1+cu128, torch.cuda.is_available() False, Torch not compiled with CUDA enabled"
    )
    assert by_windows.cure == "torch-not-rocm-windows"
    own = next(row for row in MATRIX.rows if row.key == "sig-hipblaslt")
    assert own.advice, "this row knows more than its diagnosis"


def test_every_cure_can_be_chosen_and_every_slot_can_be_filled() -> None:
    known = {*MATRIX.diagnoses, *MATRIX.by_key}
    assert all(name in known for cure in MATRIX.cures for name in cure.of)
    examples = {
        "gfx": "gfx1100",
        "version": "6.4.1",
        "value": "12",
        "gid": "993",
        "kernel": "linux-generic-hwe-24.04",
        "package": "linux-generic-hwe-24.04",
        "url": "https://download.pytorch.org/whl/rocm6.4",
    }
    assert all(re.fullmatch(slot_pattern(name), examples[name.partition("_")[0]]) for name in MATRIX.slots)


def test_a_strangers_report_cannot_bring_a_command_that_only_looks_like_a_cure() -> None:
    shapes = command_patterns(MATRIX)
    assert any(shape.fullmatch("rocm-doctor plan --gpu gfx1100 --os windows") for shape in shapes)
    assert not any(shape.fullmatch("rocm-doctor plan --gpu gfx1100; rm -rf ~ --os windows") for shape in shapes)


def near(likeness: float, label: str = "lib.miopen") -> Similar:
    return Similar("https://github.com/o/r/issues/1", label, "MIOpen.", "Set MIOPEN_X=1.", likeness, ("gfx1100",))


def test_a_solved_report_is_shown_where_it_is_near_and_of_the_same_diagnosis() -> None:
    found, guess = Finding("lib.miopen", "t", "warning", "low", "c"), Likely("lib.miopen", "t", 0.4)
    shown = [SHOWN - 0.01, SHOWN]
    assert [bool(near_reports([near(one)], [found], (), Snapshot(), MATRIX)) for one in shown] == [False, True]
    assert near_reports([near(0.9)], (), [guess], Snapshot(), MATRIX)
    assert not near_reports([near(0.9, "lib.triton")], [found], [guess], Snapshot(), MATRIX)


def test_a_solved_report_of_another_gpu_is_not_shown() -> None:
    found = Finding("lib.miopen", "t", "warning", "low", "c")
    assert near_reports([near(0.9)], [found], (), pasted("RX 580 (gfx803) and MIOpen").snapshot, MATRIX) == ()


def test_no_torch_is_uninstalled_where_none_is_installed() -> None:
    """A person who follows the commands to the letter would end without any torch."""
    report = pasted("torch 2.9.1+cu128 on an unknown Radeon under Linux: RuntimeError: Found no NVIDIA driver on your system.")
    commands = [c.text for f in report.findings for c in f.commands]
    assert [c for c in commands if "uninstall" in c] == [] or any(c.startswith("pip install ") for c in commands)


def test_a_program_without_python_is_not_told_to_install_torch() -> None:
    report = pasted(
        "Ollama 0.12 on a Radeon RX 9070 XT under Windows 11: error: llama runner process has terminated, no GPU is used."
    )
    commands = [c.text for f in report.findings for c in (*f.commands, *f.verify)] + [q.command.text for q in report.questions]
    assert [c for c in commands if c.startswith(("pip ", "python "))] == []


def test_commands_for_windows_are_quoted_for_its_shells() -> None:
    words = to_powershell(Command("pip install 'torch[device-gfx1200]==2.14.0' --index-url https://x.example/"))
    assert words.text == 'pip install "torch[device-gfx1200]==2.14.0" --index-url https://x.example/'
    assert (
        to_powershell(Command("HIP_VISIBLE_DEVICES=0 python train.py")).text == "$env:HIP_VISIBLE_DEVICES = '0'; python train.py"
    )
