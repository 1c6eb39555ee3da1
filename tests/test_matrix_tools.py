"""`rocm-doctor matrix`: what a person sees, and what it costs to be wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from click.testing import CliRunner

from rocm_doctor.cli.matrix import command


def run(*words: str, **more: Any) -> tuple[int, str]:
    done = CliRunner().invoke(command, list(words), **more)
    return done.exit_code, done.output


def test_lint_of_a_folder_without_a_matrix_is_a_usage_error(tmp_path: Path) -> None:
    assert run("lint", str(tmp_path))[0] == 2
