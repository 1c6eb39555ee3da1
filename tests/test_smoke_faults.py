"""Whatever a stage does to its process: the stage, the signal and a diagnosis come out, other stages go on, nothing is left
running.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rocm_doctor import pipeline
from rocm_doctor.matrix import load
from rocm_doctor.model import Artifact, Report
from rocm_doctor.smoke import device_queue, watch
from rocm_doctor.smoke.runner import choose_stages, run_smoke
from rocm_doctor.workers import child, process
from rocm_doctor.workers.smoke.table import RATES, all_needs

pytestmark = pytest.mark.skipif(not child.HAS_GROUPS, reason="needs process groups")
OURS = f"pytest-{os.getpid()}"
PRELUDE = str(Path(__file__).with_name("smoke_faults.py"))


def smoke(fault: str = "", **options: Any) -> list[Artifact]:
    return run_smoke(prelude=PRELUDE, environment={"FAULT": fault, "SMOKE_TEST": OURS}, **{"gpu": 0, **options})


def results(artifacts: list[Artifact], lane_name: str = "gpu0") -> dict[str, dict[str, Any]]:
    text = next(a.text for a in artifacts if a.name == f"smoke/{lane_name}.jsonl")
    records = [msgspec.json.decode(line) for line in text.splitlines()]
    return {r["stage"]: r for r in records if r["kind"] == "result"}


def words(artifacts: list[Artifact]) -> str:
    return "".join(a.text for a in artifacts if a.name.endswith(".log"))


def judged(artifacts: list[Artifact]) -> Report:
    return pipeline.judge(artifacts, load())


def children() -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and f"SMOKE_TEST={OURS}".encode() in (entry / "environ").read_bytes():
                found.append((entry / "comm").read_text())
        except OSError:
            continue
    return found


def left(seconds: float = 5.0) -> list[str]:
    """Our children that are still there after that time: one that got SIGKILL is not gone at once."""
    until = time.monotonic() + seconds
    while (found := children()) and time.monotonic() < until:
        time.sleep(0.05)
    return found


# What happens in the stage -> how it ends, a word of the log, the diagnosis that the rows give.
FATAL = {
    "fp16 segv": ("died", "SIGSEGV", "Segmentation fault", "numeric.bf16-or-fp16"),
    "matmul segv": ("died", "SIGSEGV", "Segmentation fault", "arch.not-in-build"),
    "matmul page-fault": ("died", "SIGABRT", "Memory access fault by GPU node-1", None),
    "lora-shapes page-fault": ("died", "SIGABRT", "Memory access fault by GPU node-1", "lib.hipblaslt"),
    "attention-flash oom-killer": ("died", "SIGKILL", "SIGKILL", "memory.host"),
    "memory silence": ("died", "no-result", "no-result", "run.smoke-failed"),
    "attention-flash flood": ("died", "SIGABRT", "the last words", "lib.flash-attn"),
    "matmul raises": ("failed", "RuntimeError", "invalid device function", "arch.not-in-build"),
}


@pytest.mark.parametrize("fault", [pytest.param(fault, marks=[pytest.mark.slow] * (n % 2)) for n, fault in enumerate(FATAL)])
def test_a_stage_that_dies(fault: str) -> None:
    stage, (status, reason, said, diagnosis) = fault.split()[0], FATAL[fault]
    artifacts = smoke(fault, level=2)
    found = results(artifacts)
    assert (found[stage]["status"], found[stage]["reason"]) == (status, reason)
    assert said in words(artifacts)
    report = judged(artifacts)
    if diagnosis:
        assert diagnosis in [f.id for f in report.findings if not f.follows_from], [(f.id, f.row) for f in report.findings]
    for other in choose_stages(2, ()):
        wanted = "not-run" if stage in all_needs(other.name) else "passed"
        assert other.name == stage or found[other.name]["status"] == wanted, other.name
    assert left() == []


@pytest.mark.parametrize("fault", ["hang", "deaf"])
def test_a_stage_that_hangs(fault: str) -> None:
    artifacts = smoke(f"bf16 {fault}", stages=["bf16", "lora"], limit=1.0)
    found = results(artifacts)
    assert found["bf16"]["status"] == "timeout"
    assert found["bf16"]["doing"] == "counting sheep"
    assert found["lora"]["status"] == "passed"
    assert "in hang" in words(artifacts), "the Python stack says where it hung"
    assert "numeric.bf16-or-fp16" in [f.id for f in judged(artifacts).findings]
    assert left() == []


def test_an_unkillable_child_is_abandoned_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Uninterruptible sleep cannot be made here: signals are swallowed, and the kernel is made to say what it says of such a
    process.
    """
    pids: list[int] = []
    with monkeypatch.context() as patch:
        patch.setattr(os, "killpg", lambda group, number: pids.append(group))
        patch.setattr(process, "kernel_wait", lambda pid: "amdgpu_vm_wait_idle")
        artifacts = smoke("copy hang", stages=["copy"], limit=0.5)
    os.killpg(pids[0], 9)
    os.waitpid(pids[0], 0)
    found = results(artifacts)["copy"]
    assert (found["status"], found["reason"], found["asleep_in"]) == ("timeout", "unkillable", "amdgpu_vm_wait_idle")
    assert found["pid"] == pids[0]
    finding = next(f for f in judged(artifacts).findings if f.row == "smoke-unkillable")
    assert any("amdgpu_vm_wait_idle" in reading.quote and str(pids[0]) in reading.quote for reading in finding.evidence)


def test_without_process_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system has none: the same results."""
    monkeypatch.setattr(child, "HAS_GROUPS", False)
    found = results(smoke("fp16 segv", stages=["fp16", "bf16"]))
    assert (found["fp16"]["reason"], found["bf16"]["status"]) == ("SIGSEGV", "passed")


def test_garbage_on_stdout_is_no_result() -> None:
    found = results(smoke("fp16 garbage", stages=["fp16", "bf16"]))
    assert found["fp16"]["status"] == found["bf16"]["status"] == "passed"


def test_a_process_that_outlives_its_parent_is_ended() -> None:
    artifacts = smoke("fp16 orphan", stages=["fp16", "bf16"])
    assert '"kind":"stragglers"' in artifacts[0].text
    assert left() == []


@pytest.mark.parametrize("python", ["/nonexistent/python", "/etc/passwd"])
def test_an_interpreter_that_does_not_start(python: str) -> None:
    found = results(smoke(python=python, stages=["matmul"]))
    assert found["import"]["status"] == "died"
    assert found["import"]["reason"].startswith("interpreter-")
    assert python in found["import"]["message"]
    assert found["matmul"]["reason"] == "needs-device"


def test_interrupt_keeps_what_is_known(tmp_path: Path) -> None:
    code = (
        "import _thread, sys, threading\nfrom rocm_doctor.smoke.runner import run_smoke\n"
        "def tell(line):\n    if 'bf16 (' in line: threading.Timer(0.3, _thread.interrupt_main).start()\n"
        f"for a in run_smoke(gpu=0, stages=['fp16', 'bf16', 'lora'], prelude={PRELUDE!r}, on_progress=tell):\n"
        "    print(a.note, a.text, sep=chr(10))"
    )
    env = {**os.environ, "FAULT": "bf16 hang", "SMOKE_TEST": OURS}
    done = process.run([sys.executable, "-c", code], limit=20, env=env, cwd=str(Path(__file__).parent.parent))
    note, *lines = done.stdout.splitlines()
    found = {r["stage"]: r for r in map(msgspec.json.decode, filter(None, lines)) if r["kind"] == "result"}
    assert (note, found["fp16"]["status"]) == ("interrupted", "passed"), done.stderr
    assert found["bf16"]["reason"] == found["lora"]["reason"] == "interrupted"
    assert left() == []


@pytest.mark.skipif(sys.platform != "linux", reason="asks the Linux kernel")
def test_children_go_when_the_doctor_is_killed() -> None:
    code = (
        "import os, signal\nfrom rocm_doctor.smoke.runner import run_smoke\n"
        "def tell(line):\n    if 'counting' in line: os.kill(os.getpid(), signal.SIGKILL)\n"
        "from rocm_doctor.smoke import device_queue\ndevice_queue.PATIENCE = 0.3\n"
        f"run_smoke(gpu=0, stages=['bf16'], prelude={PRELUDE!r}, on_progress=tell)"
    )
    env = {**os.environ, "FAULT": "bf16 hang", "SMOKE_TEST": OURS}
    done = process.run([sys.executable, "-c", code], limit=20, env=env, cwd=str(Path(__file__).parent.parent))
    assert done.returncode == -9, done
    assert left() == []


def test_progress_says_what_it_waits_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_queue, "PATIENCE", 0.2)
    told: list[str] = []
    smoke("bf16 hang", stages=["bf16"], limit=0.8, on_progress=told.append)
    assert any("waiting for: counting sheep" in line for line in told), told
    assert any(line.startswith("gpu0: bf16 TIMED OUT") for line in told)


def test_new_kernel_lines_stand_beside_a_death(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kmsg = tmp_path / "kmsg"
    kmsg.write_text("6,1,1,-;old line\n")
    monkeypatch.setattr(watch.KernelLog.__init__, "__defaults__", (str(kmsg),))

    def tell(line: str) -> None:
        if "matmul (" in line:
            with kmsg.open("a") as file:
                file.write("3,2,2,-;amdgpu 0000:03:00.0: [gfxhub] page fault (src_id:0 ring:40 vmid:8)\n")

    said = words(smoke("matmul page-fault", stages=["matmul"], on_progress=tell))
    assert "kernel: amdgpu 0000:03:00.0: [gfxhub] page fault" in said
    assert "old line" not in said


def test_two_gpus_run_side_by_side_and_one_fails() -> None:
    """The first GPU tells that there are two; each has its artifact, and the worst counts."""
    artifacts = smoke("device two-gpus\nlora second-gpu-dies", gpu=None, stages=["lora", "peft", "peer"])
    assert "peer" in results(artifacts, "gpu0")
    assert "peer" not in results(artifacts, "gpu1"), "one process is enough for what one process does with all GPUs"
    assert results(artifacts, "gpu0")["lora"]["status"] == "passed"
    assert results(artifacts, "gpu1")["lora"]["status"] == "died"
    assert results(artifacts, "gpu1")["peft"]["status"] == "passed"
    assert judged(artifacts).snapshot.get("smoke.lora").value == "died:SIGSEGV"


def test_what_is_not_run_side_by_side_needs_no_other_gpu() -> None:
    """Measurements of two GPUs at once would disturb each other: `bench` takes one after the other."""
    assert all(stage.once for stage in RATES)
    artifacts = smoke("device two-gpus", gpu=None, stages=["peer"])
    assert [artifact.name for artifact in artifacts] == ["smoke/gpu0.jsonl"]


def test_replayed_from_text_the_findings_are_the_same() -> None:
    live = smoke("matmul segv", level=1)
    again = [Artifact(a.name, "bundle", a.text) for a in live]
    assert [(f.id, f.row, f.title) for f in judged(live).findings] == [(f.id, f.row, f.title) for f in judged(again).findings]


@pytest.mark.parametrize(("gpu", "lane_name"), [(None, "cpu"), (0, "gpu0")])
def test_a_torch_without_gpu_support_is_not_called_a_gpu(gpu: int | None, lane_name: str, tmp_path: Path) -> None:
    """Nobody asked for a device: the CPU is tested and named. A GPU that was asked for by its index is not replaced by it."""
    prelude = tmp_path / "prelude.py"
    prelude.write_text(
        "stages['import'] = stages['matmul'] = lambda bench: {'torch': '2.13.0+cpu'}\n"
        "stages['device'] = lambda bench: {'kind': 'cpu' if bench.args.device == 'auto' else 'none'}\n"
    )
    told: list[str] = []
    artifacts = run_smoke(stages=["matmul"], gpu=gpu, prelude=str(prelude), on_progress=told.append)
    assert results(artifacts, lane_name)["matmul"]["status"] == "passed"
    assert {line.partition(":")[0] for line in told} == ({"torch", "cpu"} if gpu is None else {"gpu0"})
