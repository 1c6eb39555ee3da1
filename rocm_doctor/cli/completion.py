"""`rocm-doctor completion`: the shell's completion script."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command(epilog='Example:  eval "$(rocm-doctor completion bash)"')
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script for SHELL."""
    from rocm_doctor.cli import cli

    completion = get_completion_class(shell)
    assert completion is not None, "click knows these three shells"
    click.echo(completion(cli, {}, "rocm-doctor", "_ROCM_DOCTOR_COMPLETE").source())
