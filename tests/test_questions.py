"""Every question can be answered: its command, pasted with what it prints, settles its facts, and the question is gone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from tool_texts import ROCMINFO

from rocm_doctor.coords import COORDS
from rocm_doctor.matrix import load
from rocm_doctor.model import Fact, Finding, Report, Snapshot, Undecided, Value
from rocm_doctor.pipeline import judge
from rocm_doctor.reports import RenderOptions, render
from rocm_doctor.rules.questions import MOST, questions
from rocm_doctor.sources.paste import cut

MATRIX = load()
BY_KEY = {q.key: q for q in MATRIX.questions}

TORCH = "2.10.0+rocm7.1 7.1.25424 True ['gfx900', 'gfx906', 'gfx1030', 'gfx1100', 'gfx1101', 'gfx1200', 'gfx1201']"
ID = "uid=1000(ada) gid=1000(ada) groups=1000(ada),4(adm),27(sudo),44(video),992(render)"
KFD = """crw-rw---- 1 root render 511, 0 Nov 20 09:12 /dev/kfd

/dev/dri:
total 0
drwxr-xr-x  2 root root         80 Nov 20 09:12 by-path
crw-rw----+ 1 root video  226,   0 Nov 20 09:12 card0
crw-rw----+ 1 root render 226, 128 Nov 20 09:12 renderD128"""
UBUNTU = 'Linux 6.8.0-60-generic\nPRETTY_NAME="Ubuntu 24.04.2 LTS"\nNAME="Ubuntu"\nVERSION_ID="24.04"\nID=ubuntu'
CMDLINE = "BOOT_IMAGE=/boot/vmlinuz-6.8.0-60-generic root=UUID=1b2 ro quiet splash iommu=pt vt.handoff=7"
NO_CONTAINER = "ls: cannot access '/.dockerenv': No such file or directory\nls: cannot access '/run/.containerenv': No such file or directory"
PIP = "Package       Version\n------------- ------------\npeft          0.18.1\ntorch         2.9.1+rocm6.4\ntransformers  4.57.6"
AUDIT = '{"audit": {"place": "/venv", "kind": "environment", "versions": {"xformers": "0.0.33"}, "holdings": []}, "gpus": {}}'


def smoke_report(stage: str) -> str:
    """The JSON of a smoke test in which this stage passed."""
    smoked = Report(2, "0", "0", "undetermined", "", (), (), Snapshot({stage: Fact("passed")}), kind="smoke")
    return render("json", smoked, RenderOptions())


# What each command prints; and facts that must then be known, with their values.
ANSWERS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "torch": [
        (TORCH, {"torch.version": "2.10.0+rocm7.1", "torch.available": True, "torch.build": "rocm", "torch.rocm": "7.1"}),
        (
            "2.13.0+cpu None False []",
            {"torch.version": "2.13.0+cpu", "torch.hip": None, "torch.build": "cpu", "torch.available": False},
        ),
        (
            "Traceback (most recent call last):\n"
            '  File "<string>", line 1, in <module>\n'
            "ModuleNotFoundError: No module named 'torch'",
            {"torch.version": None},
        ),
    ],
    "gpu": [(ROCMINFO, {"gpu.gfx": "gfx1100", "kfd.openable": True})],
    "gpu-windows": [("Name : AMD Radeon RX 9070 XT", {"gpu.gfx": "gfx1201", "platform": "windows"})],
    "access": [
        (f"{ID}\n{KFD}", {"kfd.exists": True, "kfd.group": "render", "kfd.openable": True}),
        (
            "uid=0(root) gid=0(root) groups=0(root)\nls: cannot access '/dev/kfd': No such file or directory\n"
            "ls: cannot access '/dev/dri': No such file or directory",
            {"kfd.exists": False, "user.root": True},
        ),
    ],
    "access-wsl": [
        ("crw-rw-rw- 1 root root 10, 126 Nov 20 09:12 /dev/dxg", {"dxg.exists": True}),
        ("ls: cannot access '/dev/dxg': No such file or directory", {"dxg.exists": False}),
    ],
    "system": [(UBUNTU, {"kernel": "6.8.0-60-generic", "os": "Ubuntu 24.04.2 LTS", "platform": "linux", "wsl": False})],
    "container": [(NO_CONTAINER, {"container": None}), ("/.dockerenv\n" + NO_CONTAINER.split("\n")[1], {"container": "docker"})],
    "virtual-machine": [("kvm", {"virtual_machine": "kvm"}), ("none", {"virtual_machine": None})],
    "cmdline": [(CMDLINE, {"iommu": "pt", "nomodeset": None})],
    "numa": [("1", {"numa_balancing": True}), ("0", {"numa_balancing": False})],
    "driver": [
        (
            "6.12.12\namdgpu              19632128  24\namddrm_ttm_helper      16384  1 amdgpu",
            {"driver.version": "6.12.12", "driver.loaded": True},
        ),
        (
            "cat: /sys/module/amdgpu/version: No such file or directory\namdgpu              15831040  63",
            {"driver.version": None, "driver.loaded": True},
        ),
        ("cat: /sys/module/amdgpu/version: No such file or directory", {"driver.version": None, "driver.loaded": False}),
    ],
    "firmware": [
        (
            "/sys/kernel/debug/dri/0/amdgpu_firmware_info:MES_KIQ feature version: 6, firmware version: 0x0000006c\n"
            "/sys/kernel/debug/dri/0/amdgpu_firmware_info:MES feature version: 1, firmware version: 0x00000083",
            {"firmware.mes": "0x00000083"},
        )
    ],
    "rocm": [
        ("6.4.1-83", {"rocm.version": "6.4.1"}),
        ("cat: /opt/rocm/.info/version: No such file or directory", {"rocm.version": None}),
    ],
    "jax-devices": [("[RocmDevice(id=0)]", {"jax.device": "rocm"}), ("[CpuDevice(id=0)]", {"jax.device": "cpu"})],
    "tensorflow-devices": [
        ("[PhysicalDevice(name='/physical_device:GPU:0', device_type='GPU')]", {"tensorflow.device": "gpu"}),
        ("[]", {"tensorflow.device": "cpu"}),
    ],
    "packages": [(PIP, {"pkg.peft": "0.18.1", "pkg.bitsandbytes": None, "torch.version": "2.9.1+rocm6.4"})],
    "python": [("3.11.7 /usr/local", {"python.version": "3.11.7", "python.prefix": "/usr/local"})],
    "env": [
        ("HSA_OVERRIDE_GFX_VERSION=11.0.0", {"env.HSA_OVERRIDE_GFX_VERSION": "11.0.0", "env.HSA_XNACK": None}),
        ("", {"env.HSA_OVERRIDE_GFX_VERSION": None}),
    ],
    "env-windows": [("HIP_VISIBLE_DEVICES=0", {"env.HIP_VISIBLE_DEVICES": "0", "env.HSA_XNACK": None})],
    "cpu": [("Model name:                              AMD EPYC", {"cpu": "AMD EPYC"})],
    "code": [(AUDIT, {"code.xformers": None})],
    "smoke-jax": [(smoke_report("smoke.jax.matmul"), {"smoke.jax.matmul": "passed"})],
    "smoke": [(smoke_report("smoke.matmul"), {"smoke.matmul": "passed"})],
}
PROMPTS = ("ada@box:~$ ", "$ ", "(venv) ada@box:~/train$ ", "")


def pasted(text: str) -> Report:
    return judge(cut(text, "answer"), MATRIX)


def value(snapshot: Snapshot, name: str) -> Any:
    fact = snapshot.gpus[0].get(name[4:]) if name.startswith("gpu.") else snapshot.get(name)
    assert fact.known, f"{name} is still unknown"
    return fact.value


def test_every_question_has_an_answer_here() -> None:
    assert ANSWERS.keys() == BY_KEY.keys()


CASES = [(key, n) for key, several in ANSWERS.items() for n in range(len(several))]
BY_TURNS = [(key, n, prompt) for at, (key, n) in enumerate(CASES) for prompt in (PROMPTS[at % 4], *PROMPTS[: 4 * (at == 0)])]
"""Each answer behind one of the prompts, and the first behind all of them."""


@pytest.mark.parametrize(("key", "number", "prompt"), BY_TURNS)
def test_an_answer_settles_its_question(key: str, number: int, prompt: str) -> None:
    output, facts = ANSWERS[key][number]
    asked = BY_KEY[key]
    if asked.command.shell == "powershell":
        prompt = "PS C:\\Users\\ada> " if prompt else ""
    report = pasted(f"It does not work.\n\n{prompt}{asked.command.text}\n{output}\n{prompt}")
    assert {name: value(report.snapshot, name) for name in facts} == facts
    assert not any(q.key == key for q in report.questions)


@pytest.mark.parametrize("key", BY_KEY)
def test_a_question_is_asked_for_each_fact_that_it_settles(key: str) -> None:
    """And it is not asked where the text holds its command already."""
    asked = BY_KEY[key]
    stated: dict[str, dict[str, Value]] = {"windows": {"platform": "windows"}, "wsl": {"wsl": True}}
    facts = stated.get(next(iter(asked.systems), ""), {})
    snapshot = Snapshot({name: Fact(v) for name, v in facts.items()})
    for fact in asked.settles:
        name = fact + "x" if fact.endswith(".") else fact
        first = next(q.key for q in questions(snapshot, (), (), [name], MATRIX))
        assert first == key or fact in BY_KEY[first].settles
    ran = Snapshot({**snapshot.facts, "said.ran": Fact((asked.command.text,))})
    assert all(q.key != key for q in questions(ran, (), (), asked.settles, MATRIX))


def test_every_fact_that_a_row_asks_for_can_be_settled() -> None:
    """A fact that can be missing has a question; what a text says of its history (said.*) or shows of its run (run.*, oom.*), logs,
    benchmarks, the Adrenalin version (no command prints it), and what makes a note of a machine only or counts its errors
    (rows/health.yaml), are not asked for."""
    counters = {
        row["key"]
        for row in yaml.safe_load(
            (Path(__file__).resolve().parents[1] / "compat_matrix" / "rows" / "health.yaml").read_text(encoding="utf-8")
        )
    }
    settled = {fact for q in MATRIX.questions for fact in q.settles}
    asked = {
        name
        for row in MATRIX.rows
        if row.key not in counters
        for name in row.when
        if not name.startswith(
            ("log", "said.", "run.", "oom.", "driver.windows", "speed.", "torch.release", "rocm.loaded", "shm_bytes", "kfd.nodes")
        )
    }
    assert {n for n in asked if n not in settled and n[: n.find(".") + 1] not in settled} == set()
    assert {fact for fact in settled if fact not in COORDS and not fact.startswith("smoke.")} == set()


def test_five_at_most_best_first() -> None:
    missing = ["gpu.gfx", "torch.version", "kfd.openable", "cpu", "iommu", "container", "driver.version"]
    asked = questions(Snapshot(), (), (), missing, MATRIX)
    assert [q.key for q in asked] == ["gpu", "torch", "access", "cpu", "cmdline"]
    assert len(asked) == MOST


def test_a_row_that_lacks_one_fact_asks_for_it() -> None:
    row = MATRIX.by_key["gfx1151-mes83"]
    asked = questions(Snapshot(), (), [Undecided(row.diagnosis, row.key, row.title, ("firmware.mes",))], (), MATRIX)
    assert [(q.key, q.facts) for q in asked] == [("firmware", ("firmware.mes",))]


def test_a_hypothesis_keeps_its_questions() -> None:
    """A page fault on Strix Halo: which MES firmware runs decides it, so that is asked for."""
    fault = (
        "[  100.1] amdgpu 0000:c6:00.0: amdgpu: [gfxhub] page fault (src_id:0 ring:24 vmid:8 pasid:32770)\n"
        "Memory access fault by GPU node-1 (Agent handle: 0x55) on address 0x7f. Reason: Page not present or supervisor privilege.\n"
    )
    report = pasted(f"gfx1151, Radeon 8060S, ROCm 7.1\n{fault}")
    assert report.verdict == "problems"
    assert "firmware" in [q.key for q in report.questions]


@pytest.mark.parametrize("name", ["rx7900xtx-ready", "mi50-wrong-override"])
def test_what_is_certain_asks_nothing(name: str) -> None:
    from rocm_doctor.pipeline import read_paths

    fixture = Path(__file__).resolve().parents[1] / "fixtures" / name
    assert judge(read_paths([fixture]), MATRIX).questions == ()


def test_a_build_s_targets_are_not_gpus() -> None:
    assert pasted(f"$ {BY_KEY['torch'].command.text}\n{TORCH}\n").snapshot.gpus == ()


@pytest.mark.parametrize(
    ("said", "platform"),
    [
        ("ubuntu, worked on windows.", "linux"),
        ("It worked on Windows, now I am on Ubuntu 24.04.", "linux"),
        ("The same card works on Windows. Linux fails.", "linux"),
        ("On Windows torch installs fine but sees no GPU.", "windows"),
        ("Runs on Windows 11, crashes.", "windows"),
        ("Windows, RX 9070 XT.", "windows"),
    ],
)
def test_a_question_is_for_the_system_that_the_text_is_about(said: str, platform: str | None) -> None:
    report = pasted(f"7900 XTX. {said} torch does not find the GPU.\n")
    assert report.snapshot.get("platform").value == platform if platform else not report.snapshot.get("platform").known
    shells = {q.command.shell for q in report.questions} | {c.shell for f in report.findings for c in f.commands}
    assert "powershell" not in shells or platform == "windows"
    assert not any(q.key.startswith("access") for q in report.questions) or platform != "windows"


@pytest.mark.parametrize(
    "text",
    [
        "RX 9070 XT, ROCm 6.3. torch does not find the GPU. Is that a bug?",
        "RX 9070 XT: RuntimeError: HIP error: invalid device function. Is ROCm 6.3 supported?",
        "The RX 9070 XT is supported by ROCm 6.4.1.",
    ],
)
def test_a_failure_is_not_answered_with_a_table(text: str) -> None:
    assert not pasted(text + "\n").summary.startswith("AMD ")


def test_beside_a_hypothesis_only_the_likely_causes_are_asked_about() -> None:
    """A permission fault once asked for the firmware of the GPU: a row about firmware lacked one fact."""
    row = MATRIX.by_key["gfx1151-mes83"]
    guess = Finding("access.permission", "t", "warning", "low", "c")
    undecided = [Undecided(row.diagnosis, row.key, row.title, ("firmware.mes",))]
    asked = {
        likely: questions(Snapshot(), [guess], undecided, (), MATRIX, likely=(likely,)) for likely in (guess.id, row.diagnosis)
    }
    assert [[q.key for q in found] for found in asked.values()] == [[], ["firmware"]]
