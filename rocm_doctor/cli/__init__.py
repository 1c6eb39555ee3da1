"""The command line. This package alone prints and exits; a command is imported when it is called."""

from __future__ import annotations

import importlib
import os
import sys

import click

from rocm_doctor._version import __version__

COMMANDS = {
    "check": "Judge this machine, a captured bundle, or a pasted bug report.",
    "smoke": "Run a short matmul and a tiny LoRA step in a child process.",
    "lint": "Judge a training repository for a GPU that need not be here.",
    "plan": "What to install: the stacks that work for this GPU, best first.",
    "fix": "Apply a plan inside a virtual environment, with undo.",
    "env": "The environment variables that this stack needs, with reasons.",
    "fit": "Will it fit? Peak memory of a fine-tuning run, predicted.",
    "audit": "Which GPU code do the installed libraries really hold?",
    "matrix": "Show, check and extend the compatibility matrix.",
    "explain": "What a diagnosis, a row or a variable means, and who says so.",
    "probe": "Print the facts that were read, without judging them.",
    "bundle": "Pack redacted artefacts and the report for a bug ticket.",
    "diff": "Compare two reports or bundles, likely causes first.",
    "completion": "Print the shell completion script for bash, zsh or fish.",
}


class Commands(click.Group):
    """A group that knows its commands by name and imports one only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"rocm_doctor.cli.{cmd_name}")
        command: click.Command = module.command
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS:
            import difflib

            near = difflib.get_close_matches(args[0], COMMANDS, 1)
            if near:
                ctx.fail(f"No such command '{args[0]}'. Did you mean '{near[0]}'?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _version(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    if not asked or ctx.resilient_parsing:
        return
    from rocm_doctor.cli.common import load_matrix, matrix_age

    click.echo(f"rocm-doctor, version {__version__}\n{matrix_age(load_matrix(None, ()))}")
    ctx.exit()


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the versions of tool and matrix."
)
def cli() -> None:
    """Will this machine train on its AMD GPU? If not: why, who says so, and what to type.

    \b
    rocm-doctor check                    this machine
    rocm-doctor check report.md          a pasted bug report or log
    rocm-doctor check --example          a full verdict without an AMD GPU
    rocm-doctor plan --gpu gfx1100       what to install for a card

    Exit codes, the same for every format: 0 nothing at or above --fail-on, 1 findings, 2 usage,
    3 undetermined under --strict, 4 the doctor itself failed.
    """


def main() -> None:
    """Run the command line; a fault of the doctor's own becomes exit code 4 and a block ready for a ticket."""
    try:
        cli(prog_name="rocm-doctor")
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as exc:
        from rocm_doctor.cli.crash import ticket

        click.echo(ticket(exc), err=True)
        sys.exit(4)
