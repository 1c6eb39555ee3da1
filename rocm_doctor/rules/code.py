"""Judgements on code objects on disk: extensions without code for the GPU, a torch without any, another ROCm's libraries.

The files are those that will be loaded, so they outrank version tables; arch.py judges torch and its rocBLAS by the same
evidence, override.py the override.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocm_doctor.binaries.targets import covers
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Fact, Finding, Snapshot, Subject
from rocm_doctor.rules.findings import finding, known_gpus, readings
from rocm_doctor.rules.frameworks import amd_frameworks
from rocm_doctor.rules.override import NAME


def extensions_without_code(snapshot: Snapshot, matrix: Matrix) -> Iterator[Finding]:
    """One finding for each GPU and extension without code for it; RCCL counts on machines with several GPUs."""
    gpus = known_gpus(snapshot)
    judged = [extension for extension in matrix.extensions.values() if len(gpus) > 1 or not extension.several]
    for subject, gpu in gpus:
        gfx = str(gpu.value("gfx"))
        for one in (one for one in judged if lacks(snapshot, one.name, gfx)):
            fact = snapshot.get(f"code.{one.name}")
            alone = [framework.library for framework in amd_frameworks(snapshot)] == [one.name]
            of_package = one.lacks == "arch.not-in-build"
            yield finding(
                matrix,
                f"{one.lacks}/extension",
                (*gpu.get("gfx").readings[:1], *fact.readings[:1]),
                severity="error" if alone else one.severity,
                subject=Subject(f"{one.name} on {subject.name}", "package") if of_package else subject,
                name=one.name,
                gfx=gfx,
                targets=", ".join(_words(fact)) or "no target that torch here would use",
            )


def torch_without_device_code(snapshot: Snapshot, matrix: Matrix) -> Iterator[Finding]:
    """The finding for a torch whose GPU code is split into packages (TheRock), none of which is installed."""
    fact, version = snapshot.get("code.torch"), snapshot.value("torch.version")
    for subject, gpu in known_gpus(snapshot) if fact.value == () else ():
        evidence, gfx = (*gpu.get("gfx").readings[:1], *fact.readings[:1]), gpu.value("gfx")
        yield finding(matrix, "arch.not-in-build/device-package", evidence, subject=subject, gfx=gfx, version=version)


def foreign_rocm(snapshot: Snapshot, matrix: Matrix) -> Iterator[Finding]:
    """The finding for an extension that is linked to the libraries of another ROCm major version than torch."""
    hip = re.match(r"\d+", str(snapshot.value("torch.hip")))
    for name, extension in matrix.extensions.items() if hip else ():
        fact = snapshot.get(f"soname.{name}")
        other = [s for s in _words(fact) if hip and s in matrix.sonames and int(hip[0]) not in matrix.sonames[s].hip]
        if other:
            yield finding(
                matrix,
                "version.rocm-mismatch/linked",
                (*fact.readings[:1], *readings(snapshot, "torch.hip")),
                severity=extension.severity,
                subject=Subject(name, "package"),
                package=name,
                first=other[0],
                sonames=", ".join(other),
                hip=snapshot.value("torch.hip"),
            )


def lacks(snapshot: Snapshot, library: str, gfx: str) -> bool:
    """True if it is certain that no code object of the library loads on the GPU, under the override in force."""
    fact = snapshot.get(f"code.{library}.ids")
    ids = fact if fact.known and fact.value else snapshot.get(f"code.{library}")
    override = snapshot.value(f"env.{NAME}")
    return isinstance(ids.value, tuple) and covers(_words(ids), gfx, override if isinstance(override, str) else None) is False


def _words(fact: Fact) -> tuple[str, ...]:
    return fact.value if isinstance(fact.value, tuple) else ()
