"""HSA_OVERRIDE_GFX_VERSION, judged for each GPU and this build: needed, in use, pointless or harmful. Always reported when set."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_doctor.binaries.targets import override_target
from rocm_doctor.matrix import Matrix
from rocm_doctor.matrix.types import Override, Target
from rocm_doctor.model import THE_MACHINE, Confidence, Fact, Finding, Gpu, Reading, Snapshot, Subject
from rocm_doctor.rules.build import compiled_targets, holds_code
from rocm_doctor.rules.findings import finding, gpu_subject
from rocm_doctor.versions import sort_key

NAME = "HSA_OVERRIDE_GFX_VERSION"
_UNSET = (f"unset {NAME}",)
LACKS = "which this torch lacks"
"""What the title of a finding says of a target that no code is there for."""
_READER = "ROCm/rocm-systems libhsakmt/src/topology.c"


def override(snapshot: Snapshot, matrix: Matrix) -> Iterator[Finding]:
    """One finding for each GPU that the variable affects."""
    fact = snapshot.get("env." + NAME)
    if not isinstance(fact.value, str):
        return
    if not fact.value.strip():
        yield from _empty(snapshot, matrix, fact)
        return
    if snapshot.get("platform").value == "windows":
        yield _pointless(matrix, fact, (), THE_MACHINE, "HIP on Windows ignores it", (_READER,))
        return
    target = override_target(fact.value)
    if target is None:
        yield finding(
            matrix,
            "arch.override-wrong",
            title=f"{NAME}={fact.value} is not a version",
            cause="The HSA runtime expects major.minor.step in decimal (10.3.0); with any other value the node is not initialised.",
            evidence=fact.readings,
            commands=_UNSET,
            sources=(_READER,),
        )
        return
    for number, gpu in enumerate(snapshot.gpus):
        found = _override_finding(snapshot, matrix, fact, target, gpu, gpu_subject(gpu, number))
        if found:
            yield found
    if not snapshot.gpus:
        yield _open_finding(matrix, fact, target)


_TAKES_EMPTY = "7.13"
"""The first ROCm from which on an empty value may count as none; releases before it were made before that change."""


def _empty(snapshot: Snapshot, matrix: Matrix, fact: Fact) -> Iterator[Finding]:
    """The finding for a variable that is set and empty. The runtime asks whether it is set, so it parses the empty value and fails."""
    loaded = snapshot.get("rocm.loaded")
    release = loaded.value if isinstance(loaded.value, str) else ""
    if snapshot.get("platform").value == "windows" or (release and sort_key(release) >= sort_key(_TAKES_EMPTY)):
        return
    yield finding(
        matrix,
        "arch.override-wrong",
        title=f"{NAME} is set to an empty value, which hides every GPU",
        cause="The HSA runtime checks whether the variable is set, not whether it has a value: it fails to parse the empty one as major.minor.step, and finds no GPU.",
        advice="Leave the variable unset where no override is needed: an empty value is not the same.",
        severity="error" if release else "warning",
        evidence=(*fact.readings[:1], *(loaded.readings[:1] if release else ())),
        commands=_UNSET,
        sources=_ABOUT_EMPTY,
        grade="official",
    )


_ABOUT_EMPTY = (
    "https://github.com/ROCm/ROCR-Runtime/issues/354",
    "https://github.com/ROCm/rocm-systems/pull/5686",
    "https://github.com/Osmantic/ODS/pull/1779",
)


def _override_finding(snapshot: Snapshot, matrix: Matrix, fact: Fact, target: str, gpu: Gpu, subject: Subject) -> Finding | None:
    gfx = gpu.get("gfx")
    if not isinstance(gfx.value, str):
        return _open_finding(matrix, fact, target, subject)
    evidence = (*fact.readings[:1], *gfx.readings[:1])
    chip = matrix.gfx.get(gfx.value)
    known = next((o for o in chip.overrides if o.value == str(fact.value).strip()), None) if chip else None
    if target == gfx.value:
        sources = known.sources if known else (_READER,)
        return _pointless(matrix, fact, evidence, subject, f"it names {gfx.value}, the chip's own target", sources)
    if not same_isa(chip, matrix.gfx.get(target)) or (known is None and _is_newer(matrix.gfx.get(target), chip)):
        return wrong_override_finding(matrix, fact, evidence, subject, gfx.value, target, known)
    return sibling_finding(snapshot, matrix, fact, evidence, subject, gfx.value, target, known)


def same_isa(one: Target | None, other: Target | None) -> bool:
    """True for two targets of one generic ISA, which run each other's code in practice."""
    return bool(one and other and one.generic and one.generic == other.generic)


def _is_newer(other: Target | None, one: Target | None) -> bool:
    """True if a target is of a later family: RDNA 3.5 code may use instructions that RDNA 3 lacks."""
    return bool(one and other and other.family > one.family)


def sibling_finding(
    snapshot: Snapshot,
    matrix: Matrix,
    fact: Fact,
    evidence: tuple[Reading, ...],
    subject: Subject,
    gfx: str,
    target: str,
    known: Override | None,
) -> Finding:
    """The finding for a compatible ISA: it hides native code if the build has some, and makes the GPU run if it has none."""
    targets, sure = compiled_targets(snapshot, matrix)
    sources = known.sources if known else (_READER,)
    native = holds_code(targets, gfx)
    if targets and holds_code(targets, target) is False:
        return _absent(matrix, fact, (*evidence, *targets.readings[:1]), subject, gfx, target, sure)
    if native:
        return finding(
            matrix,
            "arch.override-pointless",
            title=f"{NAME}={fact.value} hides the native {gfx} code of this torch",
            cause=f"This torch holds code for {gfx}; the override makes the loader take {target} code. {_words(known)}".strip(),
            severity="warning" if known and known.verdict in ("faulty", "harmful") else "note",
            confidence=sure,
            evidence=(*evidence, *(targets.readings[:1] if targets else ())),
            subject=subject,
            commands=_UNSET,
            sources=sources,
        )
    if known and known.verdict == "harmful":
        return wrong_override_finding(matrix, fact, evidence, subject, gfx, target, known)
    no_code = f"The build has no code for {gfx}." if native is False else "Code of a compatible ISA is used."
    return finding(
        matrix,
        "arch.override-in-use",
        title=f"{gfx} runs {target} code through {NAME}={fact.value}",
        cause=f"{no_code} {_words(known)}".strip(),
        severity="note",
        confidence="medium",
        evidence=evidence,
        subject=subject,
        sources=sources,
    )


def _absent(
    matrix: Matrix, fact: Fact, evidence: tuple[Reading, ...], subject: Subject, gfx: str, target: str, sure: Confidence
) -> Finding:
    """The finding for a target that the build has no code for: the loader takes no other."""
    return finding(
        matrix,
        "arch.override-wrong",
        title=f"{NAME}={fact.value} makes {gfx} load {target} code, {LACKS}",
        cause=f"With the override the loader takes {target} code alone, and this torch has none: every kernel ends in `invalid device function`.",
        confidence=sure,
        severity="warning" if sure == "low" else "error",
        evidence=evidence,
        subject=subject,
        commands=_UNSET,
        sources=(_READER,),
    )


def wrong_override_finding(
    matrix: Matrix, fact: Fact, evidence: tuple[Reading, ...], subject: Subject, gfx: str, target: str, known: Override | None
) -> Finding:
    """The finding for an incompatible ISA, or one reported to cause memory faults on this chip."""
    reported = bool(known and known.verdict in ("faulty", "harmful"))
    sure: Confidence = "high" if not known or known.grade != "field" or known.verdict == "harmful" else "medium"
    cause = f"The loader takes {target} code for a {gfx} chip. " + (
        f"Reported: {_words(known)}." if reported else "That is another ISA."
    )
    return finding(
        matrix,
        "arch.override-wrong",
        title=f"{NAME}={fact.value} makes {gfx} load {target} code",
        cause=cause,
        confidence=sure,
        severity="warning" if known and known.verdict == "faulty" and known.grade == "field" else "error",
        evidence=evidence,
        subject=subject,
        commands=_UNSET,
        sources=known.sources if known else (_READER,),
        grade=known.grade if known else "official",
    )


def _pointless(
    matrix: Matrix, fact: Fact, evidence: tuple[Reading, ...], subject: Subject, why: str, sources: tuple[str, ...]
) -> Finding:
    return finding(
        matrix,
        "arch.override-pointless",
        title=f"{NAME}={fact.value} has no effect here",
        cause=f"{why[0].upper()}{why[1:]}.",
        severity="note",
        evidence=evidence or fact.readings,
        subject=subject,
        commands=_UNSET,
        sources=sources,
    )


def _open_finding(matrix: Matrix, fact: Fact, target: str, subject: Subject = THE_MACHINE) -> Finding:
    return finding(
        matrix,
        "arch.override-in-use",
        title=f"{NAME}={fact.value} is set, but the chip is unknown",
        cause=f"The runtime reports every GPU as {target}. Whether that helps depends on the real chip.",
        severity="note",
        confidence="low",
        evidence=fact.readings,
        subject=subject,
        sources=(_READER,),
        settle=f"env -u {NAME} rocminfo | grep gfx",
    )


def _words(known: Override | None) -> str:
    return known.words if known else ""
