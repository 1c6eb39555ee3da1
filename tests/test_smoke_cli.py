"""`rocm-doctor smoke` as it is typed."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rocm_doctor.cli import cli
from rocm_doctor.cli.inputs import interpreter
from rocm_doctor.model import Artifact
from rocm_doctor.smoke import runner
from rocm_doctor.sources import live
from rocm_doctor.workers import child, process
from rocm_doctor.workers.smoke.table import ARRAYS, STAGES


def run(*args: str) -> Result:
    return CliRunner().invoke(cli, ["smoke", *args])


def test_list_of_stages() -> None:
    done = run("--stage", "list")
    assert done.exit_code == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == [stage.name for stage in STAGES]
    assert [line.split()[0] for line in run("--framework", "jax", "--stage", "list").stdout.splitlines()] == [
        s.name for s in ARRAYS
    ]


def test_unknown_stage_is_a_usage_error() -> None:
    done = run("--stage", "bf17")
    assert done.exit_code == 2
    assert "bf17" in done.stderr
    assert "--stage list" in done.stderr
    assert "unknown stage peft of jax" in run("--framework", "jax", "--stage", "peft").stderr


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
    limits = ("--stage-limit", "9")
    done = run("--device", "cpu", "--stage", "peft", *limits, "--gpu-index", "1", "--python", sys.executable)
    assert done.exit_code == 1
    assert "version.package-mismatch" in done.stdout
    assert asked["stages"] == ("peft",)
    assert (asked["limit"], asked["gpu"], asked["python"]) == (9.0, 1, sys.executable)
    assert run("--device", "cpu", "--fail-on", "never").exit_code == 0


def test_interrupted_prints_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    with_artifacts(monkeypatch, Artifact("smoke/cpu.jsonl", "smoke", RESULT, note="interrupted"))
    done = run("--device", "cpu")
    assert done.exit_code == 130
    assert "version.package-mismatch" in done.stdout
    assert "interrupted" in done.stderr


@pytest.mark.skipif(not child.HAS_GROUPS, reason="needs process groups")
def test_as_a_command_with_stand_ins(tmp_path: Path) -> None:
    """A real child, an interpreter without torch: that is the finding, progress stands on stderr, the report on stdout."""
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    bare.chmod(0o755)
    argv = [sys.executable, "-m", "rocm_doctor", "smoke", "--device", "cpu", "--python", str(bare), "--format", "json"]
    done = process.run(argv, limit=30, env={**os.environ, "NO_COLOR": "1"}, cwd=str(Path(__file__).parent.parent))
    assert done.returncode == 1, done.stderr
    assert "cpu: import skipped" in done.stderr
    assert "skipped (not-installed): import" in done.stderr
    assert "smoke-no-torch" in done.stdout
    assert '"smoke.import"' in done.stdout
    assert "skipped:not-installed" in done.stdout


@pytest.mark.parametrize("command", ["smoke", "check", "probe", "audit", "bundle"])
@pytest.mark.parametrize("program", ["/nope/python", "/bin/ls", "pyproject.toml"])
def test_a_python_that_is_none_is_a_usage_error(command: str, program: str) -> None:
    done = CliRunner().invoke(cli, [command, "--python", program])
    assert done.exit_code == 2
    assert program in done.stderr
    assert "no Python found" in done.stderr


def test_the_folder_of_an_environment_stands_for_its_interpreter(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    (tmp_path / "pyvenv.cfg").write_text(f"home = {Path(sys.executable).parent}\n")
    (tmp_path / "lib" / f"python3.{sys.version_info.minor}" / "site-packages").mkdir(parents=True)
    assert interpreter(str(tmp_path)) == str(tmp_path / "bin" / "python")
    assert interpreter(None) is None


ON_CPU = """{"kind":"header","device":"cpu","torch":"2.13.0+cpu"}
{"kind":"result","stage":"import","status":"passed"}
{"kind":"result","stage":"matmul","status":"passed"}
{"kind":"result","stage":"blaslt","status":"skipped","reason":"no-choice"}
"""
UNTOLD = '{"kind":"result","stage":"lora","status":"not-run","reason":"interrupted"}\n'


def test_a_pass_on_the_cpu_is_called_that(monkeypatch: pytest.MonkeyPatch) -> None:
    with_artifacts(monkeypatch, Artifact("smoke/cpu.jsonl", "smoke", ON_CPU))
    done = run("--device", "cpu")
    assert done.exit_code == 0
    assert "passed on the CPU: import, matmul\nskipped (no-choice): blaslt\n" in done.stdout
    assert done.stdout.endswith("? 2 stages passed on the CPU, 1 skipped; torch 2.13.0+cpu; no GPU was tested\n")


def test_other_formats_keep_their_output_to_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    with_artifacts(monkeypatch, Artifact("smoke/cpu.jsonl", "smoke", ON_CPU))
    done = run("--device", "cpu", "--format", "json")
    assert json.loads(done.stdout)["verdict"] == "undetermined"
    assert "passed on the CPU: import, matmul" in done.stderr
    assert "passed on the CPU:" not in run("--device", "cpu", "--quiet").output


def test_after_an_interrupt_the_sentence_tells_what_ran(monkeypatch: pytest.MonkeyPatch) -> None:
    with_artifacts(monkeypatch, Artifact("smoke/cpu.jsonl", "smoke", ON_CPU + UNTOLD, note="interrupted"))
    done = run("--device", "cpu")
    assert done.exit_code == 130
    assert "2 stages passed on the CPU, 1 skipped, 1 not run (interrupted)" in done.stdout
    assert "not run (interrupted): lora" in done.stdout


def test_without_a_gpu_the_machine_is_looked_at_unless_the_cpu_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with_artifacts(monkeypatch, Artifact("smoke/cpu.jsonl", "smoke", ON_CPU))
    monkeypatch.setattr(live, "collect", lambda python: [Artifact("py/torch/version.py", "live", "__version__ = '2.13.0+cpu'\n")])
    found = json.loads(run("--format", "json").stdout)["snapshot"]["facts"]
    assert found["torch.version"]["value"] == "2.13.0+cpu"
    assert "torch.version" not in json.loads(run("--device", "cpu", "--format", "json").stdout)["snapshot"]["facts"]


@pytest.mark.parametrize(("broken", "says"), [("link", "which is not there"), ("program", "does not start (")])
def test_an_interpreter_that_is_there_and_does_not_start_is_said(tmp_path: Path, broken: str, says: str) -> None:
    """As after an upgrade of the system's Python: the environment is there, its interpreter is not."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "lib/python3.12/site-packages").mkdir(parents=True)
    (tmp_path / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.12.3\n")
    program = tmp_path / "bin" / "python"
    if broken == "link":
        program.symlink_to("/no/such/python")
    else:
        program.write_text("#!/bin/sh\nexec /no/such/python\n")
        program.chmod(0o755)
    for command in ("check", "smoke", "plan", "fix"):
        done = CliRunner().invoke(cli, [command, "--python", str(tmp_path)])
        assert (done.exit_code, says in done.stderr, "make" in done.stderr) == (2, True, True), done.stderr
