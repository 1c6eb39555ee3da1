"""Judgements on code objects on disk: extensions without code for the GPU, a torch without any, another ROCm's libraries.

The files are those that will be loaded, so they outrank version tables; arch.py judges torch and its rocBLAS by the same
evidence, override.py the override.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocm_doctor.binaries.targets import covers
from rocm_doctor.commands import fill
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Fact, Finding, Gpu, Snapshot, Subject
from rocm_doctor.rules.findings import finding, readings, training_gpus
from rocm_doctor.rules.frameworks import amd_frameworks
from rocm_doctor.rules.override import NAME

_BUNDLER = "https://clang.llvm.org/docs/ClangOffloadBundler.html"
_OUTRANKS = "Read from the code objects in the installed files, which outrank any version table."


def extensions_without_code(snapshot: Snapshot, matrix: Matrix) -> Iterator[Finding]:
    """One finding for each GPU and extension without code for it; RCCL counts on machines with several GPUs."""
    gpus = _known_gpus(snapshot)
    judged = [one for one in matrix.extensions.values() if len(gpus) > 1 or not one.several]
    for subject, gpu in gpus:
        gfx = str(gpu.get("gfx").value)
        for name, diagnosis, severity in ((one.name, one.lacks, one.severity) for one in judged):
            fact = snapshot.get(f"code.{name}")
            if lacks(snapshot, name, gfx):
                severity = "error" if [one.library for one in amd_frameworks(snapshot)] == [name] else severity
                yield finding(
                    matrix,
                    diagnosis,
                    title=f"{name} has no code for {gfx}",
                    cause=f"The {name} that is installed holds code objects for {_list(fact)}. {_OUTRANKS}",
                    severity=severity,
                    evidence=(*gpu.get("gfx").readings[:1], *fact.readings[:1]),
                    subject=Subject(f"{name} on {subject.name}", "package") if diagnosis == "arch.not-in-build" else subject,
                    grade="upstream",
                    sources=(_BUNDLER, *matrix.diagnoses[diagnosis].sources),
                )


def torch_without_device_code(snapshot: Snapshot, matrix: Matrix) -> Iterator[Finding]:
    """The finding for a torch whose GPU code is split into packages (TheRock), none of which is installed."""
    fact = snapshot.get("code.torch")
    if fact.value != ():
        return
    for subject, gpu in _known_gpus(snapshot):
        gfx = gpu.get("gfx").value
        yield finding(
            matrix,
            "arch.not-in-build",
            title=f"torch is installed without any GPU code; the package for {gfx} is missing",
            cause="This torch keeps its GPU code in separate packages, one for each target, and none is installed: "
            f"every kernel will fail although torch counts the GPU. {_OUTRANKS}",
            advice=f"Install the device package for {gfx} (amd-torch-device-{gfx}) in torch's version, from torch's index.",
            commands=fill("pip install 'torch[device-{gfx}]=={version}'", gfx=gfx, version=snapshot.get("torch.version").value),
            evidence=(*gpu.get("gfx").readings[:1], *fact.readings[:1]),
            subject=subject,
            grade="upstream",
            sources=("https://github.com/ROCm/TheRock/issues/7839", "ROCm/TheRock RELEASES.md@89553ce"),
        )


def foreign_rocm(snapshot: Snapshot, matrix: Matrix) -> Iterator[Finding]:
    """The finding for an extension that is linked to the libraries of another ROCm major version than torch."""
    hip = re.match(r"\d+", str(snapshot.get("torch.hip").value))
    if not hip:
        return
    for name, extension in matrix.extensions.items():
        fact = snapshot.get(f"soname.{name}")
        other = [s for s in _words(fact) if int(hip.group()) not in matrix.sonames.get(s, (int(hip.group()),))]
        if other:
            yield finding(
                matrix,
                "version.rocm-mismatch",
                title=f"{name} is linked to another ROCm than torch: {other[0]}",
                cause=f"torch is built with HIP {snapshot.get('torch.hip').value}, {name} asks for {', '.join(other)}. "
                f"Two HIP runtimes in one process do not share devices or memory. {_OUTRANKS}",
                advice=f"Install a build of {name} for torch's ROCm, or build it in this environment.",
                commands=fill("pip uninstall -y {package}", package=name),
                severity=extension.severity,
                evidence=(*fact.readings[:1], *readings(snapshot, "torch.hip")),
                subject=Subject(name, "package"),
                grade="upstream",
            )


def lacks(snapshot: Snapshot, library: str, gfx: str) -> bool:
    """True if certainly no code object of the library loads on the GPU, under the override in force."""
    fact = snapshot.get(f"code.{library}.ids")
    ids = fact if fact.known and fact.value else snapshot.get(f"code.{library}")
    override = snapshot.get(f"env.{NAME}").value
    return isinstance(ids.value, tuple) and covers(_words(ids), gfx, override if isinstance(override, str) else None) is False


def _known_gpus(snapshot: Snapshot) -> list[tuple[Subject, Gpu]]:
    return [(subject, gpu) for subject, gpu in training_gpus(snapshot) if isinstance(gpu.get("gfx").value, str)]


def _words(fact: Fact) -> tuple[str, ...]:
    return fact.value if isinstance(fact.value, tuple) else ()


def _list(fact: Fact) -> str:
    return ", ".join(_words(fact)) or "no target that torch here would use"
