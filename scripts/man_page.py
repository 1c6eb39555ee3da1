"""The manual page from the command line's own help: docs/rocm-doctor.1. `regen.py` writes it; wheels install it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

import click

from rocm_doctor._version import __version__
from rocm_doctor.cli import COMMANDS, cli
from rocm_doctor.matrix import Matrix

_FILES = (
    ("pyproject.toml, rocm-doctor.yaml", "Targets, policy and exceptions of a repository that lint checks."),
    ("rocm-doctor-ticket.zip", "The bundle, if no other file is named."),
)
_ENVIRONMENT = (("NO_COLOR", "No colour, whatever its value."), ("COLUMNS", "Width of the help."))
_EXIT = (
    ("0", "Nothing at or above --fail-on."), ("1", "Findings."), ("2", "Wrong usage, or an input that cannot be read."),
    ("3", "Undetermined, under --strict."), ("4", "A bug of the doctor."), ("130", "Interrupted."),
)  # fmt: skip


def page(matrix: Matrix) -> str:
    """The whole page, with a section for each command."""
    return "\n".join(_lines(matrix.version.replace(".", "-"))) + "\n"


def _lines(date: str) -> Iterator[str]:
    yield r".\" Written by scripts/man_page.py from the help of the command line."
    yield f'.TH ROCM\\-DOCTOR 1 "{date}" "rocm\\-doctor {__version__}" "User Commands"'
    yield from (".ad l", ".nh", ".SH NAME")
    yield r"rocm\-doctor \- check whether a machine can train on its AMD GPU"
    yield from (".SH SYNOPSIS", ".B rocm\\-doctor", "[\\fIcommand\\fR] [\\fIoptions\\fR] [\\fIarguments\\fR]", ".SH DESCRIPTION")
    yield _text("Facts of the kernel, the ROCm tools and torch are judged against a matrix of what works with what, in which every row has a "
                "source. Without a command, the two most useful next steps for this machine are printed.")  # fmt: skip
    yield ".SH COMMANDS"
    context = click.Context(cli, info_name="rocm-doctor")
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None, name
        yield from _command(command, name, context)
    for title, entries in (("EXIT STATUS", _EXIT), ("ENVIRONMENT", _ENVIRONMENT), ("FILES", _FILES)):
        yield f".SH {title}"
        for term, words in entries:
            yield from (".TP", f".B {_one_line(term)}", _text(words))
    yield from (".SH SEE ALSO", ".BR rocminfo (1),", ".BR rocm\\-smi (1),", ".BR amd\\-smi (1)")


def _command(command: click.Command, name: str, parent: click.Context) -> Iterator[str]:
    """A command and those below it: usage, help, options and examples."""
    context = click.Context(command, info_name=name, parent=parent)
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield f'.SS "{_one_line(usage)}"'
    for number, paragraph in enumerate(re.split(r"\n\s*\n", (command.help or "").replace("\b", ""))):
        yield from ([".PP"] if number else [])
        yield _text(paragraph)
    for param in command.params:
        record = param.get_help_record(context) if isinstance(param, click.Option) else None
        if record:
            yield from (".TP", f".B {_one_line(record[0])}", _text(record[1]) or r"\&")
    if command.epilog:
        yield ".PP"
        yield _text(command.epilog)
    for below in command.list_commands(context) if isinstance(command, click.Group) else ():
        found = command.get_command(context, below)  # type: ignore[attr-defined]
        assert found is not None, below
        yield from _command(found, below, context)


def _one_line(text: str) -> str:
    """The text for the argument of a macro, which ends with its line."""
    return _text(text).replace("\n", " ")


def _text(text: str) -> str:
    """Text that roff prints as it is, in lines of at most 78 characters: none may look like a request."""
    plain = (
        " ".join(text.split())
        .replace("\\", r"\e")
        .replace("-", r"\-")
        .replace('"', r"\(dq")
        .replace("'", r"\(aq")
        .replace("|", r"|\:")
    )
    lines = textwrap.wrap(plain, 78, break_long_words=False, break_on_hyphens=False)
    return "\n".join(rf"\&{line}" if line.startswith(".") else line for line in lines)
