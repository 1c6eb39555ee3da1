"""`rocm-doctor verify`: are these commands and versions right for this machine?"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click
import msgspec

from rocm_doctor.cli.delivery import Printout, page_command, text_or_json
from rocm_doctor.cli.inputs import interpreter, load_matrix, resolve_gpu, this_system
from rocm_doctor.cli.machine import examine
from rocm_doctor.cli.options import gpu_option, system_option
from rocm_doctor.commands import remarks
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Proposal
from rocm_doctor.plan.catalog import System
from rocm_doctor.reader.verify import Verifier
from rocm_doctor.reports.answer import PROOFS

LONGEST = 20_000
"""Characters that are judged."""


@click.command(
    epilog="Examples:  rocm-doctor verify --gpu gfx1100 'pip install torch==2.9.1 --index-url https://download.pytorch.org/whl/rocm6.4';  "
    "rocm-doctor verify 'torch 2.9.1 with ROCm 6.4';  rocm-doctor verify - < advice.txt"
)
@click.argument("lines", nargs=-1, required=True, metavar="LINE...")
@gpu_option("For this GPU (gfx1100, 'RX 7900 XTX'). [default: this machine's]", default="")
@click.option("--python", default="", help="With --gpu: a version of Python, 3.12. Else the interpreter to examine.")
@system_option
@page_command("text", "json")
def command(lines: tuple[str, ...], gpu: str, python: str, system: System | None) -> Printout:
    """Judge commands, and versions in sentences, by what exists and serves the GPU. `-` reads lines from standard input.

    Nothing is run. A line is checked; corrected, with our commands behind it; its author's word, for which nothing speaks; or withheld: it
    destroys or hides what it runs, or goes to an unknown address. Exit code 1 unless all are checked.
    """
    matrix = load_matrix()
    text = sys.stdin.read(LONGEST) if lines == ("-",) else "\n".join(lines)[:LONGEST]
    known = _what_exists(gpu, python, system, matrix)
    judged = [(line, _judge(line, known)) for line in map(str.strip, text.splitlines()) if line]
    return text_or_json(
        lambda _: "\n".join(part for line, proposal in judged for part in _render(line, proposal)),
        lambda: [{"line": line, **msgspec.to_builtins(proposal)} for line, proposal in judged],
        int(any(proposal.proof != "proven" for _, proposal in judged)),
    )


def _what_exists(gpu: str, python: str, system: System | None, matrix: Matrix) -> Verifier:
    """What exists for the declared machine, or for this one."""
    if gpu:
        from rocm_doctor.plan.machine import declare_machine

        return Verifier(
            declare_machine(resolve_gpu(gpu, matrix), python, matrix, system or this_system()).base, "capture", matrix
        )
    return Verifier(examine(interpreter(python or None), matrix).snapshot, "machine", matrix)


def _judge(line: str, known: Verifier) -> Proposal:
    """A line as a command, if its first word is a program or sets a variable; else as a sentence."""
    if known.is_command(line):
        return known.judge(line)
    strange = known.names.unknown(line)
    if known.destroys(line):
        return Proposal("withheld", "it tells to run what deletes files")
    return (
        Proposal("word", f"not known to exist: {', '.join(strange)}")
        if strange
        else Proposal("proven", "all that it names exists")
    )


def _render(line: str, one: Proposal) -> Iterator[str]:
    yield f"{'not known' if one.proof == 'word' else PROOFS[one.proof]}: {line}"
    yield f"  {one.because}"
    if one.proof == "corrected":
        yield from (f"  run: {command.text}" + (f" ({said})" if (said := remarks(command)) else "") for command in one.commands)
