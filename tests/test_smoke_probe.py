"""Results of a smoke test as facts and findings, from the text alone."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_doctor import pipeline
from rocm_doctor.matrix import load
from rocm_doctor.model import Artifact, Report
from rocm_doctor.probes.python.smoke import probe
from rocm_doctor.probes.read.result import Artifacts, ProbeResult
from rocm_doctor.workers.smoke.table import STAGES

HEADER = {
    "kind": "header",
    "schema": 1,
    "queue": "gpu0",
    "interpreter": "/opt/venv/bin/python",
    "torch": "2.9.1+rocm6.4",
    "device": "hip",
    "name": "Radeon RX 7900 XTX",
}


def lines(*results: dict[str, Any], name: str = "smoke/gpu0.jsonl", **header: Any) -> Artifact:
    records = [HEADER | header, *({"kind": "result"} | result for result in results)]
    return Artifact(name, "bundle", "".join(json.dumps(record) + "\n" for record in records))


def stage(name: str, status: str = "passed", reason: str = "", **more: Any) -> dict[str, Any]:
    return {"stage": name, "status": status, **({"reason": reason} if reason else {}), **more}


def passing(upto: str = "lora-shapes") -> list[dict[str, Any]]:
    names = [s.name for s in STAGES]
    return [stage(name) for name in names[: names.index(upto)]]


def facts(*artifacts: Artifact) -> dict[str, Any]:
    return {name: fact.value for name, fact in probe(Artifacts(artifacts)).facts.items()}


def judged(*artifacts: Artifact) -> Report:
    return pipeline.judge(artifacts, load())


def first(report: Report) -> tuple[str, str]:
    roots = [f for f in report.findings if not f.follows_from]
    return (roots[0].id, roots[0].row) if roots else ("", "")


def test_values() -> None:
    found = facts(
        lines(stage("import"), stage("copy", "timeout"), stage("bf16", "failed", "nan"), stage("lora", "not-run", "needs-matmul"))
    )
    assert found["smoke.import"] == "passed"
    assert found["smoke.copy"] == "timeout"
    assert found["smoke.bf16"] == "failed:nan"
    assert found["smoke.lora"] == "not-run:needs-matmul"
    assert (found["smoke.kind"], found["smoke.card"]) == ("hip", "Radeon RX 7900 XTX")
    assert (found["smoke.first"], found["smoke.first-how"]) == ("copy", "timeout")


def test_a_pass_on_the_cpu_proves_no_gpu() -> None:
    artifact = lines(stage("matmul"), name="smoke/cpu.jsonl", device="cpu")
    assert facts(artifact)["smoke.matmul"] == "passed-on-cpu"
    assert "matmul" not in judged(artifact).proven
    assert "matmul" in judged(lines(stage("matmul"))).proven


def test_the_worst_gpu_counts_and_is_named() -> None:
    notes = probe(Artifacts([lines(stage("lora")), lines(stage("lora", "died", "SIGSEGV"), name="smoke/gpu1.jsonl")]))
    fact = notes.facts["smoke.lora"]
    assert fact.value == "died:SIGSEGV"
    assert fact.readings[0].artifact == "smoke/gpu1.jsonl"
    assert fact.readings[0].place == "line 2"


def test_skipped_on_one_gpu_is_passed_on_the_other() -> None:
    assert (
        facts(lines(stage("blaslt", "skipped", "no-choice")), lines(stage("blaslt"), name="smoke/gpu1.jsonl"))["smoke.blaslt"]
        == "passed"
    )


def test_what_the_device_stage_tells() -> None:
    told = facts(lines(stage("device", details={"discrete_beside": [1], "masks": {"HIP_VISIBLE_DEVICES": "0"}})))
    assert (told["smoke.integrated-first"], told["smoke.masked"]) == ("yes", "yes")
    assert "smoke.masked" not in facts(lines(stage("device", details={"masks": {}})))


def test_a_healthy_gpu_gives_no_finding() -> None:
    assert judged(lines(*passing())).findings == ()


# Stage, status, reason -> diagnosis, row.
DIAGNOSES = {
    ("import", "died", "SIGILL"): ("run.smoke-failed", "smoke-failed"),
    ("device", "failed", "no-such-index"): ("access.visible-devices", "smoke-index-hidden"),
    ("copy", "failed", "zeros"): ("numeric.wrong-result", "smoke-copy-wrong"),
    ("copy", "timeout", "unkillable"): ("hw.gpu-reset-or-hang", "smoke-unkillable"),
    ("matmul", "died", "SIGSEGV"): ("arch.not-in-build", "smoke-first-kernel-dies"),
    ("matmul", "timeout", ""): ("hw.gpu-reset-or-hang", "smoke-kernel-hangs"),
    ("matmul", "failed", "mismatch"): ("numeric.wrong-result", "smoke-wrong-numbers"),
    ("fp16", "failed", "nan"): ("numeric.bf16-or-fp16", "smoke-16-bit"),
    ("bf16", "died", "SIGABRT"): ("numeric.bf16-or-fp16", "smoke-bf16"),
    ("blaslt", "failed", "RuntimeError"): ("lib.hipblaslt", "smoke-blaslt"),
    ("attention-flash", "failed", "nan"): ("lib.flash-attn", "smoke-attention"),
    ("attention-efficient", "died", "SIGSEGV"): ("lib.flash-attn", "smoke-attention-efficient"),
    ("backward", "failed", "mismatch"): ("numeric.wrong-result", "smoke-backward-wrong"),
    ("lora", "failed", "mismatch"): ("numeric.wrong-result", "smoke-lora-wrong"),
    ("lora", "died", "SIGKILL"): ("memory.host", "smoke-host-memory"),
    ("peft", "failed", "import-peft"): ("version.package-mismatch", "smoke-package-import"),
    ("peft", "failed", "TypeError"): ("version.package-mismatch", "smoke-peft-only"),
    ("lora-shapes", "died", "SIGABRT"): ("lib.hipblaslt", "smoke-narrow-operands"),
    ("bitsandbytes", "failed", "mismatch"): ("lib.bitsandbytes", "smoke-bitsandbytes"),
    ("memory", "failed", "bad-memory"): ("hw.ecc-or-faulty", "smoke-memory-bad"),
    ("peer", "failed", "mismatch"): ("dist.p2p", "smoke-peer"),
    ("collectives", "failed", "lost-rank"): ("dist.rccl", "smoke-collectives"),
}


@pytest.mark.parametrize("fault", DIAGNOSES, ids="-".join)
def test_diagnosis(fault: tuple[str, str, str]) -> None:
    name, status, reason = fault
    report = judged(lines(*passing(name), stage(name, status, reason)))
    assert first(report) == DIAGNOSES[fault], [(f.id, f.row, f.follows_from) for f in report.findings]
    root = next(f for f in report.findings if not f.follows_from)
    assert any(reading.artifact == "smoke/gpu0.jsonl" and name in reading.quote for reading in root.evidence)


def test_several_stages_have_one_root() -> None:
    """bf16 is wrong, and so are the attention kernels in bf16: the second follows from the first."""
    report = judged(lines(*passing("bf16"), stage("bf16", "failed", "nan"), stage("attention-flash", "failed", "nan")))
    assert first(report)[1] == "smoke-bf16"
    assert {f.row: f.follows_from for f in report.findings}["smoke-attention"] == "smoke-bf16"


def test_a_line_of_stderr_beats_the_guess() -> None:
    said = "rocBLAS error: Cannot read /opt/venv/lib/python3.12/site-packages/torch/lib/rocblas/library/TensileLibrary.dat: No such file or directory for GPU arch : gfx906"
    log = Artifact("smoke/gpu0.log", "bundle", f"== matmul DIED: SIGABRT\n{said}\n")
    report = judged(lines(*passing("matmul"), stage("matmul", "died", "SIGABRT")), log)
    assert first(report)[0] == "arch.blas-missing"
    assert any(f.row == "smoke-first-kernel-dies" and f.follows_from for f in report.findings)


def test_rdna4_is_told_of_hipblaslt_although_every_stage_passes() -> None:
    kfd = "simd_count 128\ngfx_target_version 120001\nvendor_id 4098\ndevice_id 30032\nlocation_id 768\n"
    machine = [
        Artifact("sys/class/kfd/kfd/topology/nodes/1/properties", "bundle", kfd),
        Artifact("py/torch/version.py", "bundle", "__version__ = '2.11.0+rocm7.2'\ncuda = None\nhip = '7.2.53211'\n"),
        Artifact("env", "bundle", ""),
    ]
    report = judged(*machine, lines(*passing()))
    assert "lib.hipblaslt" in [f.id for f in report.findings], report.snapshot


@given(st.text(max_size=300) | st.binary(max_size=300).map(lambda raw: raw.decode("utf-8", "replace")))
def test_any_text_is_survived(text: str) -> None:
    notes = probe(Artifacts([Artifact("smoke/gpu0.jsonl", "bundle", text)]))
    assert isinstance(notes, ProbeResult)


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["kind", "stage", "status", "reason", "details", "seconds"]),
            st.none() | st.integers() | st.text(max_size=9) | st.lists(st.integers(), max_size=2),
        )
    )
)
def test_any_record_is_survived(records: list[dict[str, Any]]) -> None:
    text = "\n".join(json.dumps(record) for record in records)
    for name, fact in probe(Artifacts([Artifact("smoke/gpu0.jsonl", "bundle", text)])).facts.items():
        assert name.startswith("smoke."), fact
