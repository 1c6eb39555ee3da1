"""The command line. Only this package prints and exits; a command is imported when it is called."""

from __future__ import annotations

import errno
import gc
import importlib
import os
import signal
import sys
import threading
from contextlib import suppress

import click

from rocm_doctor._version import __version__
from rocm_doctor.cli import output
from rocm_doctor.cli.output import INTERRUPTED, OutputError

_COLLECT_AFTER = 50_000
"""Objects made before the garbage collector looks for cycles."""
_OF_THE_MACHINE = {errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO, errno.EROFS}
"""Errors caused by the machine, not by the input or the doctor."""

GROUPS = {
    "Look": {
        "check": "Check this machine, a captured bundle, or a pasted bug report.",
        "explain": "Explain a GPU, a package, a version, a variable, a diagnosis or an error line.",
        "smoke": "Run short training steps, from a copy to LoRA, in child processes.",
        "bench": "Measure the GPUs; say what is slow and why.",
        "audit": "Show the GPU code that the installed libraries contain.",
        "probe": "Print the facts that were read, without judging them.",
    },
    "Repair": {
        "plan": "List the stacks that work for this GPU, best first, with commands.",
        "fix": "Build the planned environment beside the old one, and check it.",
        "env": "Print the environment variables that this stack needs, with reasons.",
    },
    "Train": {
        "fit": "Predict the peak memory of a fine-tuning run.",
        "tune": "Measure your training run, and find what makes it faster.",
    },
    "Repositories": {"lint": "Check a training repository for a target GPU, without needing one."},
    "Fleets": {"fleet": "Check many nodes through Slurm, ssh or MPI; judge them together."},
    "Tickets and agents": {
        "bundle": "Pack redacted artifacts and the report for a bug report.",
        "triage": "Write the comment for an issue about an AMD GPU, from a saved event.",
        "verify": "Judge somebody's commands and versions for this machine, without running them.",
        "mcp": "Serve the doctor to a coding agent (Model Context Protocol).",
        "agents": "Print what tells a coding agent when to call what, for AGENTS.md or as a skill.",
    },
    "The doctor": {
        "matrix": "Check the data of the compatibility matrix.",
        "completion": "Print the shell completion script for bash, zsh or fish.",
    },
}
COMMANDS = {name: words for group in GROUPS.values() for name, words in group.items()}


class LazyGroup(click.Group):
    """A group that imports a command when it is called."""

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
        longest = max(map(len, COMMANDS))
        for title, group in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:<{longest}}", words) for name, words in group.items()])


def _version(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    if not asked or ctx.resilient_parsing:
        return
    from rocm_doctor.cli.inputs import load_matrix, matrix_age

    matrix = load_matrix()
    place = f"from rocm-doctor-matrix in {matrix.place}" if matrix.place else "the copy inside the tool"
    click.echo(f"rocm-doctor, version {__version__}\n{matrix_age(matrix)} ({place})")
    ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the versions of tool and matrix."
)
def cli() -> None:
    """Check whether this machine can train on its AMD GPU; if not, why, and what to type.

    \b
    rocm-doctor check                    this machine
    rocm-doctor check report.md          a pasted bug report or log
    rocm-doctor check --example          a sample report, without an AMD GPU
    rocm-doctor plan --gpu gfx1100       what to install for a GPU

    Exit codes, the same for every format: 0 nothing at or above --fail-on, 1 findings, 2 usage,
    3 undetermined under --strict, 4 the doctor itself failed, 130 interrupted.
    """


def main() -> None:
    """Run the command line and exit: 2 with a message for an error of the user or the machine, 130 after Ctrl-C, 4 with a block for a
    ticket for a bug of the doctor.
    """
    # A short run of many small objects: collecting as often as Python does by default is a tenth of it.
    gc.set_threshold(_COLLECT_AFTER, 20, 50)
    output.guard()
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _exit_on_signal)
    code = 4
    try:
        code = _run()
        sys.stdout.flush()
    except OutputError as exc:
        code = _report_failure(exc.strerror or str(exc))
    except KeyboardInterrupt:
        code = INTERRUPTED
    except Stopped as exc:
        code = exc.code
    # Nothing is left to write at exit, or the reader has gone.
    sys.exit(code)


def program() -> None:
    """What `rocm-doctor` runs: `main`, then the end of the process at once. To free what a report has made takes a seventh of its time."""
    try:
        main()
    except SystemExit as exc:
        if threading.active_count() > 1:
            raise
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError):
                stream.flush()
        os._exit(exc.code if isinstance(exc.code, int) else 1)


class Stopped(BaseException):
    """On SIGTERM or SIGHUP, end everything that was started and clean up."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def _exit_on_signal(number: int, _frame: object) -> None:
    raise Stopped(128 + number)


def _run() -> int:
    try:
        ended = cli.main(prog_name="rocm-doctor", standalone_mode=False)
        return ended if isinstance(ended, int) else 0
    except SystemExit as exc:
        return exc.code if isinstance(exc.code, int) else 1
    except click.ClickException as exc:
        exc.show()
        return exc.exit_code
    except click.Abort as exc:
        if not isinstance(exc.__context__, EOFError):
            click.echo("interrupted", err=True)
            return INTERRUPTED
        return _report_crash(exc.__context__)
    except OutputError:
        raise
    except MemoryError:
        return _report_failure(
            "not enough memory; close other programs, or raise the limit of this shell (ulimit -v) or container"
        )
    except OSError as exc:
        if exc.errno not in _OF_THE_MACHINE:
            return _report_crash(exc)
        return _report_failure(f"{exc.filename or 'this machine'}: {exc.strerror}")
    except Exception as exc:
        return _report_crash(exc)


def _report_failure(words: str) -> int:
    """The message for a failure of the machine, which is neither the doctor's nor the input's."""
    click.echo(f"Error: {words}", err=True)
    return 2


def _report_crash(exc: BaseException) -> int:
    from rocm_doctor.cli.crash import ticket

    click.echo(ticket(exc), err=True)
    return 4
