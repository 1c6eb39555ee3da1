"""What the system needs before Python: groups, the driver that AMD names for the ROCm of a build, the display driver, WSL."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_doctor.matrix import DriverRange, TorchBuild
from rocm_doctor.plan.catalog import Catalog, SystemStep
from rocm_doctor.plan.machine import INBOX, Machine
from rocm_doctor.versions import series, sort_key

_SHOWN = 3
"""Drivers that a step names one by one; of more the first and the last."""


def steps(build: TorchBuild, machine: Machine, catalog: Catalog) -> Iterator[SystemStep]:
    """The steps for a build on a machine, those of systems.yaml first."""
    yield from catalog.system_steps(machine.system, machine.gfx, build.rocm)
    named = [w for w in catalog.matrix.driver_ranges if any(_series(cell) == _series(build.rocm) for cell in w.rocm.split("|"))]
    if machine.system == "linux":
        target = catalog.matrix.gfx[machine.gfx]
        instinct = any(name.startswith("Instinct") for name in target.names)
        line = "Ryzen" if target.kind == "APU" else "Instinct" if instinct else "Radeon"
        listed = [w for w in named if w.kind == "listed"]
        mine = [w for w in listed if machine.gfx in w.scope] or [w for w in listed if line in w.scope]
        mine = mine or [w for w in listed if w.scope == "linux dkms" and line != "Ryzen"]
        if mine:
            yield _linux_driver(mine)
        return
    for window in [w for w in named if w.kind == "windows"][-1:]:
        name = window.driver.split("|")[0].removeprefix("Adrenalin ")
        words = f"on Windows, AMD Software: Adrenalin Edition {name} or later, which AMD names for ROCm {window.rocm}"
        yield SystemStep("driver", (machine.system,), words, window.sources, window.grade, window.checked)


def _series(version: str) -> object:
    return series(version.replace(".x", ".0"))


def _linux_driver(mine: list[DriverRange]) -> SystemStep:
    """The driver of a line of products: Ryzen takes the kernel's own; the others any that AMD names, for the target, the line or all."""
    drivers = sorted({name for w in mine for name in w.driver.split("|")}, key=lambda name: sort_key(name.replace(".x", "")))
    choice = " or ".join(drivers) if len(drivers) <= _SHOWN else f"{drivers[0]} to {drivers[-1]}"
    words = f"amdgpu driver {choice}, which AMD names for this ROCm; the kernel's own often works and is not in that table"
    if drivers == [INBOX]:
        words = "the amdgpu driver of the kernel itself, which AMD names for Ryzen; install no amdgpu-dkms"
    return SystemStep("driver", ("linux",), words, mine[-1].sources, mine[-1].grade, mine[-1].checked)
