"""What the system needs before Python: groups, the driver that AMD names for the ROCm of a build, the display driver, WSL."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_doctor.matrix import DriverRange, Matrix, Target, TorchBuild
from rocm_doctor.plan.catalog import Catalog, Step
from rocm_doctor.plan.machine import INBOX, Machine
from rocm_doctor.versions import series


def steps(build: TorchBuild, machine: Machine, known: Catalog) -> Iterator[Step]:
    """The steps for a build on a machine, those of steps.yaml first."""
    yield from known.steps_for(machine.system, machine.gfx, build.rocm)
    named = [w for w in known.matrix.driver.windows if _is_about(w, build.rocm)]
    if machine.system == "linux":
        mine = _line(known.matrix.gfx[machine.gfx])
        for window in [w for w in named if w.kind == "listed" and (mine in w.scope or w.scope == "linux dkms")][-1:]:
            yield _step(machine, window, _linux(window, known.matrix))
        return
    for window in [w for w in named if w.kind == "windows"][-1:]:
        name = window.driver.split("|")[0].removeprefix("Adrenalin ")
        yield _step(
            machine,
            window,
            f"on Windows, AMD Software: Adrenalin Edition {name} or later, which AMD names for ROCm {window.rocm}",
        )


def _is_about(window: DriverRange, rocm: str) -> bool:
    return any(series(cell.replace(".x", ".0")) == series(rocm) for cell in window.rocm.split("|"))


def _line(target: Target) -> str:
    """How AMD's tables of drivers name the products of a target."""
    return "Ryzen" if target.kind == "APU" else "Instinct" if any(n.startswith("Instinct") for n in target.names) else "Radeon"


def _linux(window: DriverRange, matrix: Matrix) -> str:
    """The drivers of a range, each with what the machine prints of it."""
    if window.driver == INBOX:
        return "the amdgpu driver of the kernel itself, which AMD names for Ryzen"
    drivers = [
        f"{one} ({' or '.join(_modules(one, matrix)) or 'what it prints is not known'})" for one in window.driver.split("|")
    ]
    return (
        f"amdgpu driver {' or '.join(drivers)}, which AMD names for this ROCm; in brackets what the command prints. It prints an error "
        "with the kernel's own driver, which often works and is not in that table"
    )


def _modules(driver: str, matrix: Matrix) -> list[str]:
    """What /sys/module/amdgpu/version holds with a driver: the part of the module's version before its build number."""
    series_of = driver.replace(".x", "")
    found = [m.module for m in matrix.driver.modules if m.release == driver or m.release.startswith(f"{series_of}.")]
    return list(dict.fromkeys(module.partition("-")[0] for module in found))


def _step(machine: Machine, window: DriverRange, words: str) -> Step:
    check = ("cat /sys/module/amdgpu/version",) if machine.system == "linux" and window.driver != INBOX else ()
    return Step("driver", (machine.system,), words, window.sources, window.grade, window.checked, commands=check)
