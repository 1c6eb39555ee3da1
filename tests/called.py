"""The command line called in this process, which takes a tenth of the time of starting it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from subprocess import CompletedProcess

from click.testing import CliRunner

from rocm_doctor.cli import cli
from rocm_doctor.reports import FORMATS


def called(*words: str, stdin: str = "", **env: str) -> CompletedProcess[str]:
    """What `rocm-doctor WORDS` prints, and its exit code. Raises what the command raises: `main` alone makes a ticket of it."""
    done = CliRunner().invoke(cli, words, input=stdin, env=env, prog_name="rocm-doctor", catch_exceptions=False)
    return CompletedProcess(words, done.exit_code, done.stdout, done.stderr)


def pages(folder: Path, *words: str, formats: Iterable[str] = FORMATS, stdin: str = "", **env: str) -> dict[str, str]:
    """What one run of `rocm-doctor WORDS` writes in each format, by format; it judges once for all of them."""
    files = {form: folder / f"page.{form}" for form in formats}
    done = called(
        *words, *(word for form, file in files.items() for word in ("--format", form, "-o", str(file))), stdin=stdin, **env
    )
    assert done.returncode in (0, 1, 3), done.stderr
    return {form: file.read_text(encoding="utf-8") for form, file in files.items()}
