"""`rocm-doctor mcp`: a server of the Model Context Protocol, for coding agents."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import click

from rocm_doctor._version import SOURCE
from rocm_doctor.cli.inputs import InputError, interpreter
from rocm_doctor.cli.options import FOLDER, python_option


@click.command(epilog='Example:  {"mcpServers": {"rocm-doctor": {"command": "rocm-doctor", "args": ["mcp"]}}}')
@click.option("--root", "roots", multiple=True, type=FOLDER, help="A folder that tools may read; repeatable. [default: this one]")
@python_option
def command(roots: tuple[Path, ...], python: str | None) -> None:
    """Serve the doctor's commands as tools to a coding agent, over standard input and output.

    Needs the extra `mcp`. It reads only, and only this machine and files below the roots.
    """
    if importlib.util.find_spec("mcp") is None:
        raise InputError(f'the package mcp is not installed; install it with: pip install "rocm-doctor[mcp] @ {SOURCE}"')
    from rocm_doctor.cli import cli
    from rocm_doctor.integrations.agents.server import serve

    serve(cli, roots or (Path(),), interpreter(python))
