"""`rocm-doctor matrix`: what a person sees, and what it costs to be wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from click.testing import CliRunner

from rocm_doctor.cli.matrix import command


def run(*words: str, **more: Any) -> tuple[int, str]:
    done = CliRunner().invoke(command, list(words), **more)
    return done.exit_code, done.output


def test_lint_of_this_checkout_passes_and_of_nothing_is_a_usage_error(tmp_path: Path) -> None:
    status, said = run("lint")
    assert status == 0, said
    assert run("lint", str(tmp_path))[0] == 2
