"""The worker itself, on the CPU, with the torch of this environment: right numbers pass, wrong ones are named for what they
are.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rocm_doctor.model import Artifact
from rocm_doctor.smoke.runner import choose_stages, run_smoke
from rocm_doctor.workers import START, child, process
from rocm_doctor.workers.smoke.table import STAGES

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(not child.HAS_GROUPS, reason="needs process groups"),
]
PRELUDE = str(Path(__file__).with_name("smoke_wrong_numbers.py"))
NO_KERNEL_ON_CPU = {"blaslt", "attention-efficient"}


ALONE = {"OMP_NUM_THREADS": "1"}
"""Threads that wait for one another cost more than they give on a machine that is busy with other tests."""


def results(artifacts: list[Artifact]) -> dict[str, dict[str, Any]]:
    records = [msgspec.json.decode(line) for a in artifacts if a.name.endswith(".jsonl") for line in a.text.splitlines()]
    return {r["stage"]: r for r in records if r["kind"] == "result"}


def test_level_1_runs_and_passes() -> None:
    pytest.importorskip("peft")
    found = results(run_smoke(device="cpu", level=1, environment=ALONE))
    assert list(found) == [stage.name for stage in choose_stages(1, ())]
    for name, result in found.items():
        assert result["status"] == ("skipped" if name in NO_KERNEL_ON_CPU else "passed"), result


@pytest.mark.slow
def test_levels_2_and_3_run_and_pass_or_say_what_they_need() -> None:
    later = [stage.name for stage in STAGES if stage.level > 1]
    found = results(run_smoke(device="cpu", stages=later, environment=ALONE))
    for name in later:
        assert found[name]["status"] == "passed" or found[name]["reason"] in ("not-installed", "needs-gpus"), found[name]
    assert found["memory"]["status"] == "passed"


# Stage, operator, format of its result, what is done to it -> the reason it must fail for, and a word of the message.
WRONG = {
    "copy copy_ uint8 zeros": ("zeros", "copy of 1 bytes"),
    "copy copy_ uint8 flip": ("mismatch", "copy of 1 bytes"),
    "matmul mm float32 scale": ("mismatch", "float32 product"),
    "matmul mm float32 spike": ("mismatch", "1 of 65536 values"),
    "matmul mm float32 zeros": ("zeros", "float32 product"),
    "fp16 mm float16 nan": ("nan", "float16 product"),
    "fp16 sum float16 scale": ("mismatch", "float16 sum"),
    "fp16 _to_copy float16 flip": ("mismatch", "conversion from float32 to float16"),
    "bf16 mm bfloat16 zeros": ("zeros", "bfloat16 product"),
    "bf16 mm bfloat16 scale": ("mismatch", "bfloat16 product"),
    "bf16 _softmax bfloat16 spike": ("mismatch", "bfloat16 softmax"),
    "blas addmm bfloat16 spike": ("mismatch", "with bias"),
    "blas bmm bfloat16 scale": ("mismatch", "batched"),
    "attention-math _safe_softmax float32 scale": ("mismatch", "math attention"),
    "attention-flash _scaled_dot_product_flash_attention_for_cpu bfloat16 nan": ("nan", "result of flash"),
    "attention-flash _scaled_dot_product_flash_attention_for_cpu_backward float16 scale": ("mismatch", "gradient of q"),
    "backward native_layer_norm_backward float32 scale": ("mismatch", "layer norm, gradient"),
    "backward embedding_dense_backward float32 spike": ("mismatch", "embedding, gradient of weight"),
    "backward convolution_backward float32 scale": ("mismatch", "conv2d, gradient"),
    "backward _log_softmax_backward_data float32 zeros": ("zeros", "cross entropy, gradient"),
    "backward mm float32 scale": ("mismatch", "linear, result"),
    "lora mm float32 scale": ("mismatch", "loss curve in float32"),
    "peft mm float32 scale": ("mismatch", "logits of the small Llama"),
    "peft _log_softmax_backward_data float32 nan": ("nan", "gradient of the adapters"),
    "peft _log_softmax_backward_data float32 zeros": ("zeros", "gradients of all adapters"),
    "lora-shapes mm float32 nan": ("nan", "at the end of their allocation"),
    "lora-shapes mm float32 spike": ("mismatch", "at the end of their allocation"),
    "memory bitwise_xor int32 flip": ("bad-memory", "block 0"),
}


def rounds() -> list[list[str]]:
    """The cases in as few processes as can hold them: each stage once in a process."""
    left, made = list(WRONG), []
    while left:
        seen: dict[str, str] = {}
        for case in left:
            seen.setdefault(case.split()[0], case)
        made.append(list(seen.values()))
        left = [case for case in left if case not in seen.values()]
    return made


FIRST, *LATER = rounds()
FIRST, LATER = [case for case in FIRST if not case.startswith("copy ")], [[next(iter(WRONG))], *LATER]
"""By default in two processes: the copy, which all others need, has one of its own."""


@pytest.mark.parametrize("cases", [FIRST, *(pytest.param(cases, marks=pytest.mark.slow) for cases in LATER)], ids=len)
def test_wrong_numbers_in_the_data_path_are_caught(cases: list[str]) -> None:
    pytest.importorskip("peft")
    alone = [[c] for c in cases if c.split()[0] in ("copy", "matmul")]  # the others need these
    for group in [*alone, [c for c in cases if [c] not in alone]]:
        if group:
            stages = [case.split()[0] for case in group]
            found = results(
                run_smoke(device="cpu", stages=stages, prelude=PRELUDE, environment={**ALONE, "WRONG": "\n".join(group)})
            )
            for case in group:
                result, (reason, said) = found[case.split()[0]], WRONG[case]
                assert (result["status"], result.get("reason")) == ("failed", reason), (case, result)
                assert said in result["message"], (case, result)


OTHER = os.environ.get("ROCM_DOCTOR_TEST_PYTHON", "")


@pytest.mark.slow
@pytest.mark.skipif(
    not OTHER, reason="ROCM_DOCTOR_TEST_PYTHON names no other interpreter (one with Python 3.8 and torch 2.0, say)"
)
def test_another_interpreter() -> None:
    """All levels under an old interpreter: what its torch lacks is skipped, nothing fails."""
    found = results(run_smoke(OTHER, device="cpu", level=3, environment=ALONE))
    assert {r["status"] for r in found.values()} <= {"passed", "skipped"}, found
    assert {"copy", "matmul", "bf16", "backward", "lora", "lora-shapes"} <= {n for n in found if found[n]["status"] == "passed"}


BROKEN = {
    "torch": ("import", "ImportError", "libamdhip64.so.6"),
    "peft": ("peft", "import-peft", "libamdhip64.so.6"),
}


@pytest.mark.parametrize("package", BROKEN)
def test_a_package_that_cannot_be_imported(package: str, tmp_path: Path) -> None:
    stage, reason, said = BROKEN[package]
    if stage == "peft":
        pytest.importorskip("peft")
    (tmp_path / package).mkdir()
    message = "libamdhip64.so.6: cannot open shared object file: No such file or directory"
    (tmp_path / package / "__init__.py").write_text(f"raise ImportError({message!r})\n")
    # peft itself asks whether bitsandbytes is there; the broken one must not hide that peft is sound.
    artifacts = run_smoke(device="cpu", stages=["copy", stage], environment={**ALONE, "PYTHONPATH": str(tmp_path)})
    found = results(artifacts)
    assert (found[stage]["status"], found[stage]["reason"]) == ("failed", reason), found[stage]
    assert said in found[stage]["message"]
    assert found["copy"]["status"] == ("not-run" if package == "torch" else "passed")
    assert any(said in a.text for a in artifacts if a.name.endswith(".log"))


def test_torch_that_is_not_there(tmp_path: Path) -> None:
    """An interpreter without torch: nothing is broken, nothing is tested."""
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    bare.chmod(0o755)
    found = results(run_smoke(str(bare), device="cpu", stages=["matmul"]))
    assert (found["import"]["status"], found["import"]["reason"]) == ("skipped", "not-installed")
    assert found["matmul"]["status"] == "not-run"


def test_the_worker_runs_alone(tmp_path: Path) -> None:
    """As the examined interpreter runs it: by path, from another folder, without rocm_doctor to import."""
    worker = START
    out = tmp_path / "events"
    ask = {"results": str(out), "stages": ["import", "matmul"], "framework": "torch", "device": "cpu", "gpu": 0, "level": 1}
    code = f"import sys; sys.modules['rocm_doctor'] = None; sys.argv = ['worker', 'smoke', {json.dumps({**ask, 'prelude': None})!r}]; import runpy; runpy.run_path({str(worker)!r}, run_name='__main__')"
    done = process.run([sys.executable, "-c", code], limit=60, cwd=str(tmp_path), env={**os.environ, "PYTHONPATH": ""})
    events = [json.loads(line) for line in out.read_text().splitlines()]
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert [e["status"] for e in events if e["event"] == "end"] == ["passed", "passed"]
    assert events[-1] == {"event": "bye"}
