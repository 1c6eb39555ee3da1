"""`rocm-doctor plan`: the stacks to install for a GPU."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args

import click

from rocm_doctor.cli.common import InputError, completes, load_matrix, named_gpu, this_system, write_file
from rocm_doctor.matrix import Matrix
from rocm_doctor.plan.answer import Plan, answer
from rocm_doctor.plan.catalog import Training, known
from rocm_doctor.plan.formats import FORMATS, UnknownFormat
from rocm_doctor.plan.machine import INBOX, Machine, declared, having, probed
from rocm_doctor.plan.packages import unknown_names, wished
from rocm_doctor.plan.text import text
from rocm_doctor.versions import parse

F = TypeVar("F", bound=Callable[..., Any])
_OVERLAY = click.Path(exists=True, path_type=Path)
_OPTIONS: tuple[Callable[[F], F], ...] = (
    click.option(
        "--gpu", shell_complete=completes("targets"), help="Plan for this target (gfx1100) instead of this machine's GPU."
    ),
    click.option("--python", help="Python version to plan for (3.12), or an interpreter of this machine to plan around."),
    click.option(
        "--os", "system", type=click.Choice(("linux", "windows", "wsl")), help="System to plan for. [default: this one]"
    ),
    click.option(
        "--driver",
        help="Version of the amdgpu module (6.12.12), or `inbox` for the in-tree driver; on Windows the Adrenalin version.",
    ),
    click.option("--kernel", help="Kernel release, as uname -r prints it."),
    click.option(
        "--with",
        "packages",
        metavar="NAMES",
        shell_complete=completes("packages"),
        help="Packages besides torch, separated by commas (bitsandbytes,flash-attn).",
    ),
    click.option("--train", type=click.Choice(get_args(Training)), help="Add the packages of this kind of fine-tuning."),
    click.option(
        "--index", "index", default="", metavar="TEXT", help="Only stacks whose index or version contains this text (rocm6.3)."
    ),
    click.option("--matrix", "matrix_path", type=_OVERLAY, help="Use this matrix instead of the packaged one."),
    click.option("--overlay", "overlays", multiple=True, type=_OVERLAY, help="Add or override rows."),
)


def plan_options(command: F) -> F:
    """--gpu, --python, --os, --driver, --kernel, --with, --train, --index, --matrix, --overlay."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.command(
    epilog="Examples:  rocm-doctor plan;  rocm-doctor plan --gpu gfx906 --python 3.12 --train lora;  "
    "rocm-doctor plan --gpu gfx1100 --with bitsandbytes --format requirements -o requirements.txt"
)
@plan_options
@click.option("--format", "form", type=click.Choice(("text", *FORMATS)), default="text", show_default=True)
@click.option("--tool", type=click.Choice(("pip", "uv")), default="pip", show_default=True, help="Installer for the commands.")
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file.")
@click.option("-v", "--verbose", is_flag=True, help="Print why each other build was rejected.")
def command(form: str, tool: str, output: Path | None, verbose: bool, **asked: Any) -> None:
    """List the stacks that work for this GPU, best first, as commands to paste.

    Each is judged as if it were installed, by the rules of `check`. Exit code 1 if none is known to work.
    """
    plan = planned(**asked)
    try:
        if form == "text" or (not plan.best and form != "json"):
            words = text(plan, verbose=verbose, tool=tool)
        else:
            words = FORMATS[form](plan)
    except UnknownFormat as exc:
        raise InputError(f"--format {form}: {exc}") from exc
    if output and (plan.best or form == "json"):
        write_file(output, words.encode())
    else:
        click.echo(words, nl=False)
    sys.exit(0 if plan.best else 1)


def planned(
    *, gpu: str | None, python: str | None, system: str | None, driver: str | None, kernel: str | None,
    packages: str | None, train: str | None, index: str, matrix_path: Path | None, overlays: Sequence[Path],
    installed: Mapping[str, str] | None = None,
) -> Plan:  # fmt: skip
    """The plan for the options. Raises InputError if they cannot be planned.

    `installed`: what is in the environment of a declared machine, by name.
    """
    matrix = load_matrix(matrix_path, overlays)
    known_of = known(matrix)
    names = [name.strip() for name in (packages or "").split(",") if name.strip()]
    if strange := unknown_names(names, known_of):
        raise InputError(f"--with {','.join(strange)}: unknown package; known are {', '.join(known_of.packages)}")
    given = [name for name, value in (("--os", system), ("--driver", driver), ("--kernel", kernel)) if value and not gpu]
    if given:
        raise InputError(f"{', '.join(given)}: needs --gpu; without it this machine is read as it is")
    machine = _declared(gpu, python, system, driver, kernel, matrix) if gpu else _here(python, matrix)
    machine = having(machine, installed) if gpu and installed else machine
    return answer(machine, known_of, wished(names, train or "", known_of), index)


def _declared(
    gpu: str, python: str | None, system: str | None, driver: str | None, kernel: str | None, matrix: Matrix
) -> Machine:
    gpu = named_gpu(gpu, matrix)
    version = python or f"{sys.version_info.major}.{sys.version_info.minor}"
    if not re.fullmatch(r"3\.\d+(\.\d+)?", version):
        version = _version_of(version)
    if driver and driver != INBOX and parse(driver) is None:
        raise InputError(
            f"--driver {driver}: invalid version: give the amdgpu module's (cat /sys/module/amdgpu/version) or `inbox`"
        )
    chosen = system or this_system()
    minor = ".".join(version.split(".")[:2])
    return declared(gpu, minor, matrix, chosen, driver or "", kernel or "")  # type: ignore[arg-type]


def _version_of(python: str) -> str:
    from rocm_doctor.plan.environment import EnvironmentProblem, environment

    try:
        return environment(python).version
    except EnvironmentProblem as exc:
        raise InputError(f"--python {python}: {exc}") from exc


def _here(python: str | None, matrix: Matrix) -> Machine:
    """This machine, with the requested interpreter."""
    from rocm_doctor.cli.check import said_when_slow, was_interrupted
    from rocm_doctor.facts.enrich import enrich
    from rocm_doctor.pipeline import read_facts
    from rocm_doctor.sources.live import collect

    if python and re.fullmatch(r"3\.\d+", python):
        raise InputError(f"--python {python}: a version needs --gpu; for this machine give an interpreter (.venv/bin/python)")
    with said_when_slow("still reading this machine: waiting for a tool"):
        artifacts = collect(python=python)
        if was_interrupted(artifacts):
            raise KeyboardInterrupt
        machine = probed(enrich(read_facts(artifacts, matrix), matrix))
    if machine is None:
        raise InputError(
            "no AMD GPU with a known target found; name one: "
            f"{click.get_current_context().command_path} --gpu gfx1100 (see rocm-doctor check)"
        )
    return machine
