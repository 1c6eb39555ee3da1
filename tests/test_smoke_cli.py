"""`rocm-doctor smoke` as it is typed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rocm_doctor.cli import cli
from rocm_doctor.model import Artifact
from rocm_doctor.smoke import runner
from rocm_doctor.smoke.worker.table import STAGES
from rocm_doctor.sources import process


def run(*args: str) -> Result:
    return CliRunner().invoke(cli, ["smoke", *args])


def test_list_of_stages() -> None:
    done = run("--stage", "list")
    assert done.exit_code == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == [stage.name for stage in STAGES]


def test_unknown_stage_is_a_usage_error() -> None:
    done = run("--stage", "bf17")
    assert done.exit_code == 2
    assert "bf17" in done.stderr
    assert "--stage list" in done.stderr


def with_artifacts(monkeypatch: pytest.MonkeyPatch, *artifacts: Artifact) -> dict[str, object]:
    asked: dict[str, object] = {}

    def fake(python: str | None = None, **options: object) -> list[Artifact]:
        asked.update(options, python=python)
        return list(artifacts)

    monkeypatch.setattr(runner, "run_smoke", fake)
    return asked


RESULT = '{"kind":"header","device":"cpu"}\n{"kind":"result","stage":"peft","status":"failed","reason":"import-peft"}\n'


def test_a_failure_is_judged_and_decides_the_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = with_artifacts(monkeypatch, Artifact("smoke/cpu.jsonl", "smoke", RESULT))
    done = run(
        "--device", "cpu", "--stage", "peft", "--memory-limit", "512", "--stage-limit", "9", "--gpu", "1", "--python", "/x/python"
    )
    assert done.exit_code == 1
    assert "version.package-mismatch" in done.stdout
    assert asked["stages"] == ("peft",)
    assert (asked["memory_limit"], asked["limit"], asked["gpu"], asked["python"]) == (512 << 20, 9.0, 1, "/x/python")
    assert run("--device", "cpu", "--fail-on", "never").exit_code == 0


def test_interrupted_prints_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    with_artifacts(monkeypatch, Artifact("smoke/cpu.jsonl", "smoke", RESULT, note="interrupted"))
    done = run("--device", "cpu")
    assert done.exit_code == 130
    assert "version.package-mismatch" in done.stdout
    assert "interrupted" in done.stderr


@pytest.mark.skipif(not process.HAS_GROUPS, reason="needs process groups")
def test_as_a_command_with_stand_ins(tmp_path: Path) -> None:
    """A real child, an interpreter without torch: nothing is proven, progress stands on stderr, the report on stdout."""
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    bare.chmod(0o755)
    argv = [sys.executable, "-m", "rocm_doctor", "smoke", "--device", "cpu", "--python", str(bare), "--format", "json"]
    done = process.run(argv, limit=30, env={**os.environ, "NO_COLOR": "1"}, cwd=str(Path(__file__).parent.parent))
    assert done.returncode == 0, done.stderr
    assert "cpu: import skipped" in done.stderr
    assert '"smoke.import"' in done.stdout
    assert "skipped:not-installed" in done.stdout
