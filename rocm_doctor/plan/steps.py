"""What the system needs before Python: groups, the driver that AMD names for the ROCm of a build, the display driver, WSL."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_doctor.matrix import DriverRange, Matrix, Target, TorchBuild
from rocm_doctor.plan.catalog import Catalog, Step
from rocm_doctor.plan.machine import INBOX, Machine
from rocm_doctor.versions import series, sort_key

_SHOWN = 3
"""Drivers that a step names one by one; of more the first and the last."""


def steps(build: TorchBuild, machine: Machine, known: Catalog) -> Iterator[Step]:
    """The steps for a build on a machine, those of systems.yaml first."""
    yield from known.system_steps(machine.system, machine.gfx, build.rocm)
    named = [w for w in known.matrix.driver.windows if _names_rocm(w, build.rocm)]
    if machine.system == "linux":
        line = _line(known.matrix.gfx[machine.gfx])
        yield from _linux(machine, [w for w in named if w.kind == "listed"], line, known.matrix)
        return
    for window in [w for w in named if w.kind == "windows"][-1:]:
        name = window.driver.split("|")[0].removeprefix("Adrenalin ")
        yield _step(
            machine,
            window,
            f"on Windows, AMD Software: Adrenalin Edition {name} or later, which AMD names for ROCm {window.rocm}",
        )


def _names_rocm(window: DriverRange, rocm: str) -> bool:
    return any(series(cell.replace(".x", ".0")) == series(rocm) for cell in window.rocm.split("|"))


def _line(target: Target) -> str:
    """How AMD's tables of drivers name the products of a target."""
    return "Ryzen" if target.kind == "APU" else "Instinct" if any(n.startswith("Instinct") for n in target.names) else "Radeon"


def _linux(machine: Machine, listed: list[DriverRange], line: str, matrix: Matrix) -> Iterator[Step]:
    """The driver of a line of products: Ryzen takes the kernel's own; the others any that AMD names, for the line itself or for all,
    each with what the machine prints of it."""
    mine = [w for w in listed if line in w.scope] or [w for w in listed if w.scope == "linux dkms" and line != "Ryzen"]
    if not mine:
        return
    drivers = sorted({name for w in mine for name in w.driver.split("|")}, key=lambda name: sort_key(name.replace(".x", "")))
    if drivers == [INBOX]:
        yield _step(
            machine, mine[-1], "the amdgpu driver of the kernel itself, which AMD names for Ryzen; install no amdgpu-dkms"
        )
        return
    printed = [f"{one} ({' or '.join(shown)})" if (shown := _modules(one, matrix)) else one for one in drivers]
    choice = " or ".join(printed) if len(drivers) <= _SHOWN else f"{printed[0]} to {printed[-1]}"
    brackets = "; in brackets what the command prints" if "(" in choice else ""
    yield _step(
        machine,
        mine[-1],
        f"amdgpu driver {choice}, which AMD names for this ROCm{brackets}. The command prints an error with the kernel's own driver, "
        "which often works and is not in that table",
    )


def _modules(driver: str, matrix: Matrix) -> list[str]:
    """What /sys/module/amdgpu/version holds with a driver: the part of the module's version before its build number. Of a driver that
    the catalog has no module of, that of the other drivers of its series."""
    modules = matrix.driver.modules
    exact = [m.module for m in modules if m.release == driver]
    of_series = [m.module for m in modules if series(m.release) == series(driver.replace(".x", ".0"))]
    return list(dict.fromkeys(module.partition("-")[0] for module in exact or of_series))


def _step(machine: Machine, window: DriverRange, words: str) -> Step:
    check = ("cat /sys/module/amdgpu/version",) if machine.system == "linux" and window.driver != INBOX else ()
    return Step("driver", (machine.system,), words, window.sources, window.grade, window.checked, commands=check)
