"""Is there code for the GPU in torch and in torch's rocBLAS, and does an integrated GPU interfere?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rocm_doctor.binaries.targets import covers, override_target
from rocm_doctor.commands import fill
from rocm_doctor.facts.derive import HIP, visibility_variables
from rocm_doctor.matrix import Matrix
from rocm_doctor.matrix.types import Override, Target, TorchBuild
from rocm_doctor.model import Confidence, Fact, Finding, Gpu, Reading, Snapshot, Subject
from rocm_doctor.rules.build import blas, compiled_targets, holds_code, install, python_series, usable_builds
from rocm_doctor.rules.findings import finding, gpu_subject, readings, training_gpus
from rocm_doctor.rules.override import NAME
from rocm_doctor.versions import contains


def code_for_the_card(snapshot: Snapshot, matrix: Matrix) -> Iterator[Finding]:
    """`arch.not-in-build`, `arch.dropped-by-rocm`, `arch.override-needed` or `arch.blas-missing` for each GPU to train on."""
    if snapshot.value("torch.build") != "rocm":
        return
    discrete = any(g.value("is_apu") is False for g in snapshot.gpus)
    for subject, gpu in training_gpus(snapshot):
        gfx = gpu.value("gfx")
        if isinstance(gfx, str) and not (discrete and gpu.value("is_apu") is True):  # igpu_beside_dgpu judges that one
            found = _missing_code(snapshot, matrix, gpu, gfx, subject) or _missing_blas(snapshot, matrix, gpu, gfx, subject)
            if found:
                yield found


def _missing_code(snapshot: Snapshot, matrix: Matrix, gpu: Gpu, gfx: str, subject: Subject) -> Finding | None:
    targets, sure = compiled_targets(snapshot, matrix)
    if targets is None or holds_code(targets, gfx) is not False or _override_helps(snapshot, targets, gpu, gfx):
        return None
    sure = _no_surer(sure, gpu)
    evidence = (*gpu.get("gfx").readings[:1], *readings(snapshot, "torch.version"), *targets.readings[:1])
    chip = matrix.gfx.get(gfx)
    sibling = sibling_override(chip, targets, matrix)
    if sibling:
        case, value, sources = "arch.override-needed/sibling", sibling.value, sibling.sources
        return finding(
            matrix, case, evidence, confidence=sure, subject=subject, sources=sources, grade=sibling.grade, gfx=gfx, value=value
        )
    others = usable_builds(gfx, matrix, python_series(snapshot))
    dropped = bool(others) and _older(others[0], snapshot)
    case = "arch.dropped-by-rocm/torch" if dropped else "arch.not-in-build/torch"
    return _build_finding(matrix, case, others, evidence, subject, sure, gfx=gfx, torch=snapshot.value("torch.version"))


def sibling_override(chip: Target | None, targets: Fact, matrix: Matrix) -> Override | None:
    """An override to a compatible ISA that is in the build and that users run this chip with; None if there is none."""
    if chip is None:
        return None
    for override in chip.overrides:
        target = matrix.gfx.get(override_target(override.value) or "")
        same_isa = target is not None and target.generic == chip.generic and holds_code(targets, target.gfx)
        if same_isa and override.verdict in ("sibling", "faulty"):
            return override
    return None


def _no_surer(sure: Confidence, gpu: Gpu) -> Confidence:
    """The confidence; low where the target comes from a name in prose and the content of the wheel is not sure: that is a hypothesis."""
    return "low" if sure != "high" and all(r.artifact == "paste/text" for r in gpu.get("gfx").readings) else sure


def _override_helps(snapshot: Snapshot, targets: Fact, gpu: Gpu, gfx: str) -> bool:
    """True if the override names a target in the build; override.py judges whether it is a good one. An override shows in the
    variable, or in the target that the runtime reports for another chip."""
    reported = gpu.value("gfx_reported")
    if isinstance(reported, str) and holds_code(targets, reported):
        return True
    value = snapshot.value("env." + NAME)
    return isinstance(value, str) and isinstance(targets.value, tuple) and covers(targets.value, gfx, value) is True


def _missing_blas(snapshot: Snapshot, matrix: Matrix, gpu: Gpu, gfx: str, subject: Subject) -> Finding | None:
    kernels, sure = blas(snapshot, matrix)
    if kernels is None or holds_code(kernels, gfx) is not False or _override_helps(snapshot, kernels, gpu, gfx):
        return None
    evidence = (*gpu.get("gfx").readings[:1], *readings(snapshot, "torch.version"), *kernels.readings[:1])
    others, version = usable_builds(gfx, matrix, python_series(snapshot)), snapshot.value("torch.version")
    torch = f"torch {version}" if isinstance(version, str) else "torch"
    return _build_finding(
        matrix, "arch.blas-missing/torch", others, evidence, subject, _no_surer(sure, gpu), gfx=gfx, torch=torch
    )


def _build_finding(
    matrix: Matrix,
    case: str,
    others: Sequence[TorchBuild],
    evidence: Iterable[Reading],
    subject: Subject,
    sure: Confidence,
    **values: Any,
) -> Finding:
    """The finding for a torch without code for the GPU, with the command that installs the first of the other builds."""
    return finding(
        matrix,
        case,
        evidence,
        severity="warning" if sure == "low" else "error",
        confidence=sure,
        subject=subject,
        commands=install(others[0]) if others else (),
        sources=others[0].sources if others else (),
        **values,
    )


def _older(build: TorchBuild, snapshot: Snapshot) -> bool:
    """True if the newest build with code for the GPU is older than the installed one: support was dropped."""
    return contains(f">{build.torch}", str(snapshot.value("torch.version"))) is True


def igpu_beside_dgpu(snapshot: Snapshot, matrix: Matrix) -> Iterator[Finding]:
    """At most one finding on an integrated GPU beside a discrete one: it is the only visible one, or device 0, or merely visible.

    HIP numbers GPUs in the order of the kernel's nodes (assumption: no GPU proves it here), so only nodes tell which is device 0.
    """
    cards = [n for n, g in enumerate(snapshot.gpus) if g.value("is_apu") is False]
    seen = [(n, g) for n, g in enumerate(snapshot.gpus) if g.value("visible") is not False]
    number, gpu = next(((n, g) for n, g in seen if g.value("is_apu") is True), (0, None))
    names = visibility_variables(snapshot)
    if not cards or gpu is None or (names and all("visible" not in g.facts for _, g in seen)):
        return
    code = holds_code(compiled_targets(snapshot, matrix)[0], str(gpu.value("gfx")))
    alone = not any(n in cards for n, _ in seen)
    after = [g for n, g in seen if n in cards]
    first = not alone and _precedes(gpu, after) and snapshot.value("smoke.integrated-first") != "no"
    if (alone and not (code is False and names)) or (code is not False and not first and (code is True or names)):
        return
    case = "arch.igpu-interferes/alone" if alone else "arch.igpu-interferes/first" if first else "arch.igpu-interferes/beside"
    visible = "".join(f"{name}={snapshot.value(f'env.{name}')}" for name in names[-1:])
    unset = (text for name in names[1:] for text in fill("unset {variable}", variable=name))
    only = fill("export {variable}={value}", variable=[*names, HIP[0]][0], value=",".join(map(str, cards)))
    yield finding(
        matrix,
        case,
        (*readings(snapshot, *(f"env.{n}" for n in names)), *gpu.get("gfx").readings[:1], *gpu.get("is_apu").readings[:1]),
        severity="error" if (alone or first) and code is False else "note",
        confidence="high" if alone or first else "low",
        subject=gpu_subject(gpu, number),
        commands=(*unset, *only),
        visible=visible,
        lacks=f", and torch has no code for {gpu.value('gfx')}" if code is False else "",
    )


def _precedes(one: Gpu, others: Sequence[Gpu]) -> bool:
    """True if the kernel numbers this GPU before all of these."""
    node, nodes = one.value("node"), [g.value("node") for g in others]
    return isinstance(node, int) and all(isinstance(n, int) and node < n for n in nodes)
