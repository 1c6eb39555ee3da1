"""What the system needs before Python: groups, the driver that AMD names for the ROCm of a build, the display driver, WSL."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_doctor.matrix import DriverRange, Matrix, TorchBuild
from rocm_doctor.plan.catalog import Catalog, Step
from rocm_doctor.plan.machine import INBOX, Machine
from rocm_doctor.versions import series, sort_key

_SHOWN = 3
"""Drivers that a step names one by one; of more the first and the last."""


def steps(build: TorchBuild, machine: Machine, known: Catalog) -> Iterator[Step]:
    """The steps for a build on a machine, those of systems.yaml first."""
    yield from known.system_steps(machine.system, machine.gfx, build.rocm)
    named = [w for w in known.matrix.driver_ranges if any(_series(cell) == _series(build.rocm) for cell in w.rocm.split("|"))]
    if machine.system == "linux":
        target = known.matrix.gfx[machine.gfx]
        instinct = any(name.startswith("Instinct") for name in target.names)
        line = "Ryzen" if target.kind == "APU" else "Instinct" if instinct else "Radeon"
        listed = [w for w in named if w.kind == "listed"]
        mine = [w for w in listed if machine.gfx in w.scope] or [w for w in listed if line in w.scope]
        mine = mine or [w for w in listed if w.scope == "linux dkms" and line != "Ryzen"]
        if mine:
            yield _linux_driver(mine, known.matrix)
        return
    for window in [w for w in named if w.kind == "windows"][-1:]:
        name = window.driver.split("|")[0].removeprefix("Adrenalin ")
        words = f"on Windows, AMD Software: Adrenalin Edition {name} or later, which AMD names for ROCm {window.rocm}"
        yield Step("driver", (machine.system,), words, window.sources, window.grade, window.checked)


def _series(version: str) -> object:
    return series(version.replace(".x", ".0"))


def _linux_driver(mine: list[DriverRange], matrix: Matrix) -> Step:
    """The driver of a line of products: Ryzen takes the kernel's own; the others any that AMD names, for the target, the line or all,
    each with what the machine prints of it."""
    drivers = sorted({name for w in mine for name in w.driver.split("|")}, key=lambda name: sort_key(name.replace(".x", "")))
    check: tuple[str, ...] = ()
    if drivers == [INBOX]:
        words = "the amdgpu driver of the kernel itself, which AMD names for Ryzen; install no amdgpu-dkms"
    else:
        printed = [f"{one} ({' or '.join(shown)})" if (shown := _modules(one, matrix)) else one for one in drivers]
        choice = " or ".join(printed) if len(drivers) <= _SHOWN else f"{printed[0]} to {printed[-1]}"
        brackets = "; in brackets what the command prints" if "(" in choice else ""
        words = (
            f"amdgpu driver {choice}, which AMD names for this ROCm{brackets}. The command prints an error with the kernel's own driver, "
            "which often works and is not in that table"
        )
        check = () if mine[-1].driver == INBOX else ("cat /sys/module/amdgpu/version",)
    return Step("driver", ("linux",), words, mine[-1].sources, mine[-1].grade, mine[-1].checked, commands=check)


def _modules(driver: str, matrix: Matrix) -> list[str]:
    """What /sys/module/amdgpu/version may hold with a driver: versions of its modules without their build numbers. If the catalog
    has no module of it, those of the other drivers of its series."""
    modules = matrix.driver_modules
    exact = [m.module for m in modules if m.release == driver]
    of_series = [m.module for m in modules if series(m.release) == _series(driver)]
    return list(dict.fromkeys(module.partition("-")[0] for module in exact or of_series))
