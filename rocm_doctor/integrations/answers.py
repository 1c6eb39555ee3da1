"""What to install, and whether a run fits, from Python: objects that show themselves in a notebook."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import msgspec

from rocm_doctor.api import resolve_target
from rocm_doctor.matrix import Matrix, load

if TYPE_CHECKING:
    from rocm_doctor.fit.answer import Answer
    from rocm_doctor.model import Report
    from rocm_doctor.plan.answer import Plan
    from rocm_doctor.plan.catalog import System
    from rocm_doctor.plan.machine import Machine


def plan_for(
    gpu: str | None = None,
    *,
    python: str | None = None,
    system: System | None = None,
    driver: str = "",
    kernel: str = "",
    packages: Collection[str] = (),
    train: str = "",
) -> Plan:
    """The stacks to install, best first: for a gfx target or a product, or for this machine. A notebook shows it as commands.

    python: version such as 3.12; the running one if empty. system: linux, windows or wsl. driver, kernel: of that machine.
    packages: besides torch; train: full, lora or qlora adds those of that way of fine-tuning.

    Raises ValueError for an unknown GPU or package, or if this machine has no AMD GPU with a known target.
    """
    from rocm_doctor.plan.answer import answer
    from rocm_doctor.plan.catalog import System, Training, load_catalog
    from rocm_doctor.plan.machine import declare_machine
    from rocm_doctor.plan.packages import order_packages, unknown_names

    matrix = load()
    catalog = load_catalog(matrix)
    for name, value, allowed in (("system", system, (None, *get_args(System))), ("train", train, ("", *get_args(Training)))):
        if value not in allowed:
            raise ValueError(f"{name}={value!r}: expected one of {', '.join(filter(None, allowed))}")
    if isinstance(packages, str):
        raise ValueError(f"packages={packages!r}: expected a list, [{packages!r}]")
    if strange := unknown_names(list(packages), catalog):
        raise ValueError(f"packages={', '.join(strange)}: unknown; known are {', '.join(catalog.packages)}")
    version = python or f"{sys.version_info.major}.{sys.version_info.minor}"
    here: System = "windows" if sys.platform == "win32" else "linux"
    wish = order_packages(list(packages), train, catalog)
    if gpu:
        return answer(
            declare_machine(resolve_target("gpu", gpu, matrix), version, matrix, system or here, driver, kernel), catalog, wish
        )
    report = _report(matrix)
    return answer(_this_machine(report), catalog, wish, report=report)


def fit_for(
    model: str | Path = "",
    gpu: str | None = None,
    *,
    config: str | Path = "",
    vram: int | None = None,
    gpus: int = 1,
    fast: bool = False,
    **options: Any,
) -> Answer:
    """Does a fine-tuning run fit into the GPU's memory? A notebook shows the parts of the peak.

    model: a preset, a hub id of one, or a config.json. config: the run's configuration or script, over which the options win.
    gpu: a gfx target or a product; this machine's if empty. vram: bytes.
    options: fields of rocm_doctor.fit.job.Job: method, rank, batch, seq, dtype, optimizer, checkpointing.
    fast: arithmetic instead of a simulation with the installed torch.

    Raises ValueError for an unknown model, GPU or option, or a configuration that cannot be read.
    """
    from rocm_doctor.fit import answer as answers
    from rocm_doctor.fit import card as cards
    from rocm_doctor.fit.job import Job
    from rocm_doctor.fit.resolve import Request, resolve

    _check_values(Job, options)
    if gpus < 1:
        raise ValueError(f"gpus={gpus!r}: expected a number of at least 1")
    matrix = load()
    if gpu:
        card = cards.declare_card(resolve_target("gpu", gpu, matrix), vram, matrix, "" if "gfx" in gpu.lower() else gpu.strip())
    else:
        card = next(iter(cards.list_cards(_report(matrix).snapshot, matrix)), None) or cards.declare_card("", vram, matrix)
    given = {"model": str(model), **options} if model else options
    run = resolve(Request(given, (Path(config),) if config else ()), card.gfx, None, matrix)
    return answers.answer(run, msgspec.structs.replace(card, count=gpus), "ddp" if gpus > 1 else "single", None, fast, matrix)


def _check_values(kind: type, options: Mapping[str, Any]) -> None:
    """Raises ValueError for a value that the field of that name does not take."""
    hints = get_type_hints(kind, include_extras=True)
    for name, value in options.items():
        if name not in hints:
            raise ValueError(f"{name}={value!r}: no such option; known are {', '.join(hints)}")
        try:
            msgspec.convert(value, hints[name])
        except msgspec.ValidationError as exc:
            allowed = get_args(hints[name])
            words = (
                f"expected one of {', '.join(map(str, allowed))}"
                if value not in allowed and all(isinstance(one, str) for one in allowed) and allowed
                else str(exc)
            )
            raise ValueError(f"{name}={value!r}: {words}") from exc


def _this_machine(report: Report) -> Machine:
    from rocm_doctor.plan.machine import machine_of

    machine = machine_of(report.snapshot)
    if machine is None:
        raise ValueError("no AMD GPU with a known target found; name one: plan_for('gfx1100')")
    return machine


def _report(matrix: Matrix) -> Report:
    """What `check` says of this machine, from files alone."""
    from rocm_doctor.pipeline import judge
    from rocm_doctor.sources.live import collect

    return judge(collect(tools=False), matrix)
