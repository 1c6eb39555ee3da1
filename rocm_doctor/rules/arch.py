"""Is there code for the GPU in torch and in torch's rocBLAS, and does an integrated GPU interfere?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rocm_doctor.binaries.targets import covers, override_target
from rocm_doctor.commands import fill
from rocm_doctor.facts.derive import HIP, visibility_variables
from rocm_doctor.matrix import Matrix
from rocm_doctor.matrix.types import Override, Target, TorchBuild
from rocm_doctor.model import Confidence, Fact, Finding, Gpu, Reading, Snapshot, Subject
from rocm_doctor.rules.build import blas, compiled_targets, holds_code, install, usable_builds
from rocm_doctor.rules.findings import finding, gpu_subject, readings, training_gpus
from rocm_doctor.rules.override import NAME
from rocm_doctor.versions import contains


def code_for_the_card(snapshot: Snapshot, matrix: Matrix) -> Iterator[Finding]:
    """`arch.not-in-build`, `arch.dropped-by-rocm`, `arch.override-needed` or `arch.blas-missing` for each GPU to train on."""
    if snapshot.get("torch.build").value != "rocm":
        return
    discrete = any(g.get("is_apu").value is False for g in snapshot.gpus)
    for subject, gpu in training_gpus(snapshot):
        gfx = gpu.get("gfx").value
        if isinstance(gfx, str) and not (discrete and gpu.get("is_apu").value is True):  # igpu_beside_dgpu judges that one
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
        return finding(
            matrix,
            "arch.override-needed",
            title=f"this torch has no {gfx} code; {NAME}={sibling.value} loads code of a compatible ISA",
            evidence=evidence,
            confidence=sure,
            subject=subject,
            commands=fill("export {variable}={value}", variable=NAME, value=sibling.value),
            sources=sibling.sources,
            grade=sibling.grade,
        )
    return _not_in_build(snapshot, matrix, gfx, subject, evidence, sure)


def sibling_override(chip: Target | None, targets: Fact, matrix: Matrix) -> Override | None:
    """An override to a compatible ISA that is in the build and that users run this chip with; None if there is none."""
    if chip is None:
        return None
    for one in chip.overrides:
        target = matrix.gfx.get(override_target(one.value) or "")
        same_isa = target is not None and target.generic == chip.generic and holds_code(targets, target.gfx)
        if same_isa and one.verdict in ("sibling", "faulty"):
            return one
    return None


def _no_surer(sure: Confidence, gpu: Gpu) -> Confidence:
    """The confidence; low where the target comes from a name in prose and the content of the wheel is not sure: that is a hypothesis."""
    return "low" if sure != "high" and all(r.artifact == "paste/text" for r in gpu.get("gfx").readings) else sure


def _override_helps(snapshot: Snapshot, targets: Fact, gpu: Gpu, gfx: str) -> bool:
    """True if the override names a target in the build; override.py judges whether it is a good one.

    An override shows in the variable, or in the target that the runtime reports for another chip.
    """
    reported = gpu.get("gfx_reported").value
    if isinstance(reported, str) and holds_code(targets, reported):
        return True
    value = snapshot.get("env." + NAME).value
    return isinstance(value, str) and isinstance(targets.value, tuple) and covers(targets.value, gfx, value) is True


def _not_in_build(
    snapshot: Snapshot,
    matrix: Matrix,
    gfx: str,
    subject: Subject,
    evidence: tuple[Reading, ...],
    sure: Confidence,
) -> Finding:
    others = usable_builds(gfx, matrix, _python(snapshot))
    dropped = bool(others) and _older(others[0], snapshot)
    return finding(
        matrix,
        "arch.dropped-by-rocm" if dropped else "arch.not-in-build",
        title=f"torch {snapshot.get('torch.version').value} has no code for {gfx}",
        evidence=evidence,
        severity="warning" if sure == "low" else "error",
        confidence=sure,
        subject=subject,
        commands=install(others[0]) if others else (),
        sources=others[0].sources if others else matrix.diagnoses["arch.not-in-build"].sources,
    )


def _missing_blas(snapshot: Snapshot, matrix: Matrix, gpu: Gpu, gfx: str, subject: Subject) -> Finding | None:
    kernels, sure = blas(snapshot, matrix)
    if kernels is None or holds_code(kernels, gfx) is not False or _override_helps(snapshot, kernels, gpu, gfx):
        return None
    sure = _no_surer(sure, gpu)
    others = usable_builds(gfx, matrix, _python(snapshot))
    version = snapshot.get("torch.version").value
    return finding(
        matrix,
        "arch.blas-missing",
        severity="warning" if sure == "low" else "error",
        title=f"the rocBLAS of torch{f' {version}' if isinstance(version, str) else ''} has no kernels for {gfx}",
        evidence=(*gpu.get("gfx").readings[:1], *readings(snapshot, "torch.version"), *kernels.readings[:1]),
        confidence=sure,
        subject=subject,
        commands=install(others[0]) if others else (),
        sources=others[0].sources if others else matrix.diagnoses["arch.blas-missing"].sources,
    )


def _python(snapshot: Snapshot) -> str:
    value = snapshot.get("python.version").value
    return ".".join(str(value).split(".")[:2]) if isinstance(value, str) else ""


def _older(build: TorchBuild, snapshot: Snapshot) -> bool:
    """True if the newest build with code for the GPU is older than the installed one: support was dropped."""
    return contains(f">{build.torch}", str(snapshot.get("torch.version").value)) is True


def igpu_beside_dgpu(snapshot: Snapshot, matrix: Matrix) -> Iterator[Finding]:
    """At most one finding on an integrated GPU beside a discrete one: it is the only visible one, or device 0, or merely visible.

    HIP numbers GPUs in the order of the kernel's nodes (assumption: no GPU proves it here), so only nodes tell which is device 0.
    """
    cards = [n for n, g in enumerate(snapshot.gpus) if g.get("is_apu").value is False]
    seen = [(n, g) for n, g in enumerate(snapshot.gpus) if g.get("visible").value is not False]
    number, gpu = next(((n, g) for n, g in seen if g.get("is_apu").value is True), (0, None))
    names = visibility_variables(snapshot)
    if not cards or gpu is None or (names and all("visible" not in g.facts for _, g in seen)):
        return
    code = holds_code(compiled_targets(snapshot, matrix)[0], str(gpu.get("gfx").value))
    lacks = f", and torch has no code for {gpu.get('gfx').value}" if code is False else ""
    alone = not any(n in cards for n, _ in seen)
    first = (
        not alone and _precedes(gpu, [g for n, g in seen if n in cards]) and snapshot.get("smoke.integrated-first").value != "no"
    )
    takes = alone or first
    if alone and not (lacks and names):
        return
    if not lacks and not first and (code is True or names):
        return
    if alone:
        title = f"{names[-1]}={snapshot.get(f'env.{names[-1]}').value} leaves only the processor's own GPU{lacks}"
    elif first:
        title = f"the processor's own GPU is device 0{lacks}"
    else:
        title = "the processor's own GPU is visible beside the discrete one"
    yield finding(
        matrix,
        "arch.igpu-interferes",
        severity="error" if takes and lacks else "note",
        confidence="high" if takes else "low",
        title=title,
        evidence=(
            *readings(snapshot, *(f"env.{n}" for n in names)),
            *gpu.get("gfx").readings[:1],
            *gpu.get("is_apu").readings[:1],
        ),
        subject=gpu_subject(gpu, number),
        advice="Hide the processor's own GPU where the program is started, or switch it off in the firmware.",
        commands=(
            *(text for name in names[1:] for text in fill("unset {variable}", variable=name)),
            *fill("export {variable}={value}", variable=[*names, HIP[0]][0], value=",".join(map(str, cards))),
        ),
    )


def _precedes(one: Gpu, others: Sequence[Gpu]) -> bool:
    """True if the kernel numbers this GPU before all of these."""
    node, nodes = one.get("node").value, [g.get("node").value for g in others]
    return isinstance(node, int) and all(isinstance(n, int) and node < n for n in nodes)
