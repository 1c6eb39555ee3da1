"""A kernel without the fault of a row: the package of this release of the distribution that brings it."""

from __future__ import annotations

import msgspec

from rocm_doctor.coords import COORDS
from rocm_doctor.matrix import Matrix
from rocm_doctor.matrix.ranges import all_conditions
from rocm_doctor.matrix.types import KernelPackage
from rocm_doctor.model import Command, Fact, Finding, Snapshot
from rocm_doctor.rules.conditions import holds

_RELEASE = "$(lsb_release -rs)"


def offer_reachable_kernel(finding: Finding, snapshot: Snapshot, matrix: Matrix) -> Finding:
    """The finding with commands that lead to a kernel without the fault of its row. If the kernel package of this release has the
    fault too, the upgrade to the next release comes before it; if that has it too, the package is not offered."""
    row, os = matrix.row(finding.row) if finding.row else None, snapshot.value("os")
    affected = all_conditions(row).get("kernel") if row else None
    if not affected or not isinstance(os, str):
        return finding
    here = find_package(os, matrix)
    if here is None:  # no package of that name is known to be there
        kept = tuple(command for command in finding.commands if _RELEASE not in command.text)
        words = f"No newer kernel package of {os} is known here. Install a kernel of its backports, a newer release of the system, or AMD's driver module."
        return msgspec.structs.replace(finding, commands=kept, advice=finding.advice if kept else words)
    stuck = [command for command in finding.commands if _installs(command, here)]
    if not stuck or not _has_fault(affected, here):
        return msgspec.structs.replace(finding, commands=tuple(_fill_release(command, here) for command in finding.commands))
    advice, commands, sources = f"No kernel package of {here.os} is newer than {here.kernel}. ", [], here.sources
    after = next(
        (package for package in matrix.kernels if package.os == here.successor and not _has_fault(affected, package)), None
    )
    if after:
        advice += f"Upgrade to {after.os} and install {after.name}, which brings {after.kernel}; or install AMD's driver module."
        commands = [msgspec.structs.replace(stuck[0], text=here.upgrade), *stuck]
        sources += after.sources
    else:
        advice += "Install AMD's driver module, or another release of the system."
    others = tuple(command for command in finding.commands if command not in stuck)
    return msgspec.structs.replace(
        finding, advice=advice, commands=(*commands, *others), sources=tuple(dict.fromkeys((*finding.sources, *sources)))
    )


def find_package(os: str, matrix: Matrix) -> KernelPackage | None:
    """The package with the newest kernel of a distribution's release, by the name that it gives itself; None where none is known."""
    return next((package for package in matrix.kernels if os.startswith((package.os, *package.derivatives))), None)


def _fill_release(command: Command, package: KernelPackage) -> Command:
    """The command with the release that the package is named for; lsb_release of a derivative prints another."""
    text = command.text.replace(_RELEASE, package.release)
    return command if text == command.text else msgspec.structs.replace(command, text=text, distributions=())


def _installs(command: Command, package: KernelPackage) -> bool:
    return package.name in _fill_release(command, package).text.split()


def _has_fault(affected: str, package: KernelPackage) -> bool:
    return holds(COORDS["kernel"].kind, affected, Fact(package.kernel)) is True
