"""`rocm-doctor plan`: the stacks to install for a GPU."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

import click
import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.cli.delivery import write_page
from rocm_doctor.cli.gate import judge
from rocm_doctor.cli.inputs import InputError, interpreter, load_matrix, resolve_gpu, this_system
from rocm_doctor.cli.machine import examine
from rocm_doctor.cli.options import gpu_option, machine_options, options, page_options, with_option
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Report
from rocm_doctor.plan.answer import Plan, answer
from rocm_doctor.plan.catalog import Catalog, Training, load_catalog, order_packages
from rocm_doctor.plan.commands import Tool
from rocm_doctor.plan.formats import FORMATS, UnknownFormat, render
from rocm_doctor.plan.frameworks import NAMES, FrameworkPlan, framework_plan
from rocm_doctor.plan.machine import INBOX, Machine, declare_machine, machine_from_snapshot
from rocm_doctor.rules.frameworks import TORCH, frameworks_in_question
from rocm_doctor.sources.declared import DeclaredMachine
from rocm_doctor.versions import parse

_VERSION = regex(r"3\.\d+(\.\d+)?t?")
"""What --python takes for a version."""
plan_options = options(
    gpu_option("Plan for this target (gfx1100) instead of this machine's GPU."),
    click.option(
        "--python", help="Interpreter or environment to plan around; with --gpu also a version (3.12). [default: the active one]"
    ),
    machine_options,
    with_option,
    click.option("--train", type=click.Choice(get_args(Training)), help="Add the packages of this kind of fine-tuning."),
    click.option("--upgrade", is_flag=True, help="Plan for the newest, also where what is installed works."),
)


@click.command(
    epilog="Examples:  rocm-doctor plan;  rocm-doctor plan --gpu gfx906 --python 3.12 --train lora;  "
    "rocm-doctor plan --gpu gfx1100 --with bitsandbytes --format requirements -o requirements.txt"
)
@plan_options
@page_options(*FORMATS)
@click.option("--tool", type=click.Choice(("pip", "uv")), default="pip", show_default=True, help="Installer for the commands.")
@click.option("-v", "--verbose", is_flag=True, help="Print why each other build was rejected.")
def command(form: str, tool: Tool, output: Path | None, verbose: bool, **asked: Any) -> None:
    """List the stacks that work for this GPU, best first, as commands to paste. JAX and TensorFlow (--with jax) get an environment each.

    Each is judged as if it were installed, by the rules of `check`. Exit code 1 if none is known to work.
    """
    request = read_request(**asked)
    plans = request.plans()
    if form not in ("text", "json") and len(plans) > 1:
        raise InputError(f"--format {form}: a file is one environment: ask for {', '.join(request.frameworks)} one at a time")
    try:
        pages = [render(form, plan, tool=tool, verbose=verbose) for plan in plans]
    except UnknownFormat as exc:
        raise InputError(f"--format {form}: {exc}") from exc
    found = all(plan.has_answer for plan in plans)
    page = "[" + ",".join(pages) + "]" if form == "json" and len(pages) > 1 else "\n".join(pages)
    write_page(page, output if found or form == "json" else None)
    sys.exit(0 if found else 1)


class NoTarget(InputError):
    """A machine whose GPU has no known target. It is not a wrong usage: `check` prints `plan` as the next command."""

    exit_code = 1

    def show(self, file: Any = None) -> None:
        """Print the message as it is, where no shell takes it for commands (`eval "$(rocm-doctor env)"`)."""
        click.echo(self.message, file=file, err=True)


class PlanRequest(msgspec.Struct, frozen=True):
    """The options of a plan, and the machine that was read or declared. `frameworks`: their keys. `wish`: packages to install with
    torch. `rocm`: the release, series or `nightly` to plan for; empty for any. `report`: the report of `check`; None for a declared machine."""

    machine: Machine
    known: Catalog
    frameworks: tuple[str, ...]
    wish: tuple[str, ...]
    rocm: str
    report: Report | None
    upgrade: bool

    def torch_plan(self) -> Plan:
        """The plan for torch and the packages of the wish."""
        return answer(self.machine, self.known, self.wish, self.rocm, self.report, self.upgrade)

    def plans(self) -> list[Plan | FrameworkPlan]:
        """The plan of each framework that is asked for."""
        report = None if self.upgrade else self.report
        return [
            self.torch_plan() if name == TORCH.key else framework_plan(name, self.machine, self.known, report)
            for name in self.frameworks
        ]


def read_request(
    *, gpu: str | None, python: str | None, rocm: str, system: str | None, driver: str, kernel: str,
    packages: Sequence[str], train: str | None, upgrade: bool,
) -> PlanRequest:  # fmt: skip
    """What the options ask for, and the machine. Raises InputError if they cannot be planned. Without --with and --train it is about the
    frameworks that are installed here.
    """
    matrix = load_matrix()
    known_of = load_catalog(matrix)
    names = [name.strip() for text in packages for name in text.split(",") if name.strip()]
    beside = [name for name in names if name not in NAMES]
    if strange := [name for name in beside if name not in known_of.packages]:
        others = ", ".join((*NAMES, *known_of.packages))
        raise InputError(f"--with {','.join(strange)}: unknown package; known are {others}")
    given = [name for name, value in (("--os", system), ("--driver", driver), ("--kernel", kernel)) if value and not gpu]
    if given:
        raise InputError(f"{', '.join(given)}: needs --gpu; without it this machine is read as it is")
    wish = order_packages(beside, train or "", known_of)
    if gpu and (python is None or _VERSION.fullmatch(python)):
        report, machine = None, _declared_machine(gpu, python, system, driver, kernel, matrix)
    else:
        target = DeclaredMachine(resolve_gpu(gpu, matrix), "", _driver(driver), kernel, system or this_system()) if gpu else None
        report = judge([target], python, None, matrix, ())[0][0] if target else examine_here(python, matrix)
        found = machine_from_snapshot(report.snapshot)
        if found is None:
            raise NoTarget("\n".join(_unknown_gpu_lines(report, known_of)))
        machine = msgspec.structs.replace(found, interpreter=(interpreter(python) if python else None) or "")
    if not names and not train:
        about = frameworks_in_question(machine.base)
        names = [] if TORCH in about else [one.key for one in about]
    asked = [name for name in NAMES if name in names or (name == TORCH.key and wish)]
    return PlanRequest(machine, known_of, tuple(asked) or (TORCH.key,), wish, rocm, report, upgrade)


def examine_here(python: str | None, matrix: Matrix) -> Report:
    """What `check` says of this machine and the examined environment, without a smoke test."""
    if python and _VERSION.fullmatch(python):
        raise InputError(f"--python {python}: a version needs --gpu; for this machine give an interpreter (.venv/bin/python)")
    return examine(interpreter(python), matrix)


def _unknown_gpu_lines(report: Report, known_of: Catalog) -> Iterator[str]:
    """What to do where the GPU's target is not known: what `check` found, what the system needs, and how to name the GPU."""
    yield f"No plan for this machine, whose GPU is not known. check says: {report.summary}"
    offered = [
        command for finding in report.findings if finding.leads and finding.severity != "note" for command in finding.commands
    ]
    yield from (f"  {command.text}" for command in offered if command.purpose not in ("plan", "fix"))
    in_wsl = report.snapshot.get("wsl").value is True
    for step in known_of.steps if in_wsl else ():
        if "wsl" in step.systems and step.commands:
            yield f"- {step.words} ({step.sources[0]})"
            yield from (f"    {command}" for command in step.commands)
    yield "To plan all the same, name the GPU as its box or the Device Manager does: --gpu gfx1100, --gpu 'RX 7900 XTX'"


def _declared_machine(gpu: str, python: str | None, system: str | None, driver: str, kernel: str, matrix: Matrix) -> Machine:
    version = python or f"{sys.version_info.major}.{sys.version_info.minor}"
    if version.endswith("t"):
        raise InputError(f"--python {version}: no plans for free-threaded Python; see: rocm-doctor explain 'Python {version}'")
    minor = ".".join(version.split(".")[:2])
    return declare_machine(resolve_gpu(gpu, matrix), minor, matrix, system or this_system(), _driver(driver), kernel)  # type: ignore[arg-type]


def _driver(driver: str) -> str:
    """The version that --driver gives. Raises InputError for another text."""
    if driver and driver != INBOX and parse(driver) is None:
        raise InputError(
            f"--driver {driver}: invalid version: give the amdgpu module's (cat /sys/module/amdgpu/version) or `inbox`"
        )
    return driver
