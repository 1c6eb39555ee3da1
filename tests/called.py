"""The command line called in this process, which takes a tenth of the time of starting it."""

from __future__ import annotations

from subprocess import CompletedProcess

from click.testing import CliRunner

from rocm_doctor.cli import cli


def called(*words: str, stdin: str = "", **env: str) -> CompletedProcess[str]:
    """What `rocm-doctor WORDS` prints, and its exit code. Raises what the command raises: `main` alone makes a ticket of it."""
    done = CliRunner().invoke(cli, words, input=stdin, env=env, prog_name="rocm-doctor", catch_exceptions=False)
    return CompletedProcess(words, done.exit_code, done.stdout, done.stderr)
