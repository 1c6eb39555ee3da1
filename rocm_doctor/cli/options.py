"""Options that several commands have, each declared once: the same flag means the same everywhere."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, cast

import click

F = TypeVar("F", bound=Callable[..., Any])
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
OUTPUT = click.Path(dir_okay=False, path_type=Path)
SYSTEMS = ("linux", "windows", "wsl")


def options(*several: Callable[[F], F]) -> Callable[[F], F]:
    """A decorator that gives a command these options, in this order."""

    def add(command: F) -> F:
        for option in reversed(several):
            command = option(command)
        return command

    return add


def gather(name: str, kind: Any, declared: Callable[[F], F]) -> Callable[[F], F]:
    """A decorator that gives a command the declared options, and hands them over as one argument of this name: a named tuple of that kind,
    whose fields they are."""

    def add(command: F) -> F:
        @wraps(command)
        def collect(**given: Any) -> Any:
            return command(**{name: kind(**{field: given.pop(field) for field in kind._fields})}, **given)

        return declared(cast("F", collect))

    return add


def completes(what: str) -> Callable[[click.Context, click.Parameter, str], list[Any]]:
    """The completion of a parameter by that function of completion.py, which is loaded when a shell asks."""

    def items(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        from rocm_doctor.cli import completion

        offered: list[Any] = getattr(completion, what)(incomplete)
        return offered

    return items


def gpu_option(words: str, **attributes: Any) -> Callable[[F], F]:
    """--gpu, the target or product that a command is about, as `gpu`; with `multiple` as `gpus`."""
    name = "gpus" if attributes.get("multiple") else "gpu"
    return click.option("--gpu", name, shell_complete=completes("targets"), help=words, **attributes)


def limit_option(words: str, default: float | None = None, flag: str = "--limit") -> Callable[[F], F]:
    """A time limit in seconds."""
    return click.option(
        flag, type=click.FloatRange(1), default=default, show_default=default is not None, metavar="SECONDS", help=words
    )


def page_options(*formats: str) -> Callable[[F], F]:
    """--format with these choices, the first by default, as `form`, and -o as `output`: of a command that prints one page."""
    return options(
        click.option("--format", "form", type=click.Choice(formats), default=formats[0], show_default=True), output_option
    )


paths_argument = click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
python_option = click.option(
    "--python",
    help="Interpreter or environment to examine. [default: the environment that is active in this shell, else the doctor's own]",
)
system_option = click.option("--os", "system", type=click.Choice(SYSTEMS), help="With --gpu: its system. [default: this one]")
machine_options = options(
    click.option("--rocm", default="", help="With --gpu: ROCm release of the machine that trains, e.g. 6.4."),
    click.option("--driver", default="", help="With --gpu: its amdgpu driver (6.12.12), or `inbox` for the in-tree driver."),
    click.option("--kernel", default="", help="With --gpu: its kernel release, as uname -r prints it."),
    system_option,
)
"""The machine of a GPU that need not be here."""
device_options = options(
    click.option("--device", type=click.Choice(("auto", "cpu", "cuda")), default="auto", help="torch calls ROCm GPUs cuda, too."),
    click.option(
        "--gpu-index",
        "gpu",
        type=click.IntRange(0),
        metavar="INDEX",
        help="Only this GPU, by torch's index. [default: every GPU]",
    ),
)
"""Where a command computes."""
logs_option = click.option(
    "--log",
    "logs",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    help="A failing log to judge with what is read here; repeatable.",
)
output_option = click.option("-o", "--output", type=OUTPUT, help="Write to this file.")
verbose_option = click.option("-v", "--verbose", is_flag=True, help="Show all that is known.")
no_redact_option = click.option("--no-redact", is_flag=True, help="Keep host, user and serials in what is shared.")
sysroot_option = click.option("--sysroot", type=FOLDER, hidden=True, help="Read this root instead of /.")
with_option = click.option(
    "--with",
    "packages",
    multiple=True,
    metavar="NAMES",
    shell_complete=completes("packages"),
    help="Packages besides torch (bitsandbytes,flash-attn), or another framework (jax, tensorflow); repeatable.",
)
