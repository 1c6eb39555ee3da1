"""The measuring child itself, on the CPU, and the command around it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from click.testing import CliRunner

from rocm_doctor.bench import runner
from rocm_doctor.cli import cli
from rocm_doctor.figures.types import BenchReport
from rocm_doctor.matrix import load
from rocm_doctor.workers import child

pytestmark = [pytest.mark.torch, pytest.mark.skipif(not child.HAS_GROUPS, reason="needs process groups")]
ROOT = Path(__file__).resolve().parents[1]
SCHEMA: dict[str, Any] = json.loads((ROOT / "rocm_doctor" / "schemas" / "bench.json").read_text("utf-8"))
ON_CPU = {
    "matmul-fp32", "matmul-bf16", "matmul-bf16-sustained", "matmul-bf16-training", "memory-triad", "memory-copy",
    "attention-forward", "attention-backward", "attention-math-forward",
}  # fmt: skip
ALONE = {"OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> BenchReport:
    """The report of the command on the CPU."""
    path = tmp_path_factory.mktemp("bench") / "bench.json"
    done = CliRunner().invoke(cli, ["bench", "--device", "cpu", "--format", "json", "-o", str(path)], env=ALONE)
    assert done.exit_code in (0, 1), done.output
    jsonschema.validate(json.loads(path.read_text("utf-8")), SCHEMA)
    return msgspec.json.decode(path.read_bytes(), type=BenchReport)


def test_everything_that_a_cpu_has_is_measured(whole: BenchReport) -> None:
    assert {f.name for f in whole.figures} == ON_CPU
    assert all(f.value > 0 and len(f.samples) >= 5 for f in whole.figures)
    assert whole.gpus[0].kind == "cpu"


def test_what_a_cpu_has_not_is_listed_with_its_reason(whole: BenchReport) -> None:
    missing = {n.stage: n.reason for n in whole.not_measured}
    assert {"rate-copies", "rate-peer", "matmul-fp16"} <= missing.keys()
    assert all(missing.values())


def test_ctrl_c_ends_the_children_and_reports_what_ran(tmp_path: Path) -> None:
    out = tmp_path / "bench.json"
    argv = [sys.executable, "-m", "rocm_doctor", "bench", "--device", "cpu", "--format", "json", "-o", str(out)]
    child = subprocess.Popen(argv, stderr=subprocess.PIPE, env={**os.environ, **ALONE}, cwd=ROOT, text=True)
    assert child.stderr
    for line in child.stderr:
        if "rate-memory" in line:
            break
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=60)
    assert child.returncode == 130
    report = msgspec.json.decode(out.read_bytes(), type=BenchReport)
    assert report.interrupted
    assert {f.name for f in report.figures} >= {"matmul-fp32"}
    assert "rate-attention" in {n.stage for n in report.not_measured if n.reason == "interrupted"}


def test_a_busy_gpu_is_refused_by_the_name_of_the_program(tmp_path: Path) -> None:
    prelude = tmp_path / "busy.py"
    prelude.write_text(
        "from rocm_doctor_workers.smoke.compare import Wrong\n"
        "def busy(context):\n"
        "    raise Wrong('busy', 'the GPU is in use by ollama (pid 4711, 12.0 GiB)')\n"
        "stages['idle'] = busy\n"
    )
    report = runner.run(load(), device="cpu", prelude=str(prelude), environment=ALONE)
    assert report.figures == ()
    assert runner.busy_words(report) == "the GPU is in use by ollama (pid 4711, 12.0 GiB)"
