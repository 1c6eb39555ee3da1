"""`rocm-doctor completion`: the shell's completion script."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command(epilog='Example:  eval "$(rocm-doctor completion bash)"')
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script for SHELL."""
    from rocm_doctor.cli import cli

    made = get_completion_class(shell)
    assert made is not None, "click knows these three shells"
    click.echo(made(cli, {}, "rocm-doctor", "_ROCM_DOCTOR_COMPLETE").source())
