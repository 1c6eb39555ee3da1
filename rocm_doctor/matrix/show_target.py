"""Tables about one target: identity, statements by layer, wheels with its code, overrides in use."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from rocm_doctor.matrix.store import Matrix
from rocm_doctor.matrix.tables import (
    Line,
    Table,
    conditions,
    contradict,
    fact_line,
    first_version,
    last_version,
    row_line,
    statements,
    support_line,
)
from rocm_doctor.matrix.types import Support, Target, TorchBuild
from rocm_doctor.model import Row
from rocm_doctor.versions import sort_key

ENGINES = ("vLLM", "SGLang", "llama.cpp")
_WHEEL = ("torch", "ROCm", "code", "rocBLAS kernels", "Python", "how known", "index")


def target_tables(matrix: Matrix, target: Target) -> Iterator[Table]:
    """Identity, statements by layer, wheels with its code, and overrides in use."""
    vram = ", ".join(f"{card} {'/'.join(f'{v:g}' for v in sizes)} GiB" for card, sizes in target.vram.items()) or target.memory
    numbers = ", ".join(f"{n} {v}" for n, v in (("fp16", target.fp16), ("bf16", target.bf16), ("fp8", target.fp8)) if v)
    rows = [
        ("names", ", ".join(target.names)),
        ("family", f"{target.family} ({target.codename}), {target.kind}, {target.generic or 'no generic target'}"),
        ("kernel", f"gfx_target_version {target.kfd}; PCI {', '.join(target.pci) or 'not known'}"),
        ("memory", vram),
        (
            "units",
            f"wavefront {target.wavefront}, matrix unit {target.matrix_unit or 'not known'}; {numbers or 'types not sourced'}",
        ),
        ("notes", target.notes),
        ("sources", f"{len(target.sources)}, first {target.sources[0]} ({target.grade}, {target.checked})"),
    ]
    yield Table(target.gfx, ("", ""), [pair for pair in rows if pair[1]])
    yield Table("in short", ("question", "answer", "sources"), list(_in_short(matrix, target)))
    yield statements(f"{target.gfx} by layer", _about_target(matrix, target))
    yield Table("serving", ("engine", "path", "what is known", "grade", "sources"), list(_serving(matrix, target.gfx)))
    yield Table(
        "torch wheels for ROCm with code for it", _WHEEL, [_wheel(b, target.gfx) for b in builds_with_code(matrix, target.gfx)]
    )
    if target.overrides:
        lines = [(o.value, o.verdict, o.words, o.grade, o.sources[0]) for o in target.overrides]
        yield Table("HSA_OVERRIDE_GFX_VERSION", ("value", "verdict", "why", "grade", "sources"), lines)


def _serving(matrix: Matrix, gfx: str) -> Iterator[tuple[str, ...]]:
    for engine in ENGINES:
        for part, fact in matrix.served_by(engine, gfx):
            yield (engine, part, fact.words, fact.grade, fact.sources[0]) if fact else (engine, part, "not known", "", "")


def listed(matrix: Matrix, target: Target) -> Iterator[tuple[str, str, str, str]]:
    """For each system on which AMD lists a target: the system, the first and the last ROCm (`now`: open), and who says the last."""
    for system in ("linux", "windows", "wsl"):
        found = [one for one in _by_amd(matrix) if target.gfx in one.gfx and one.os == system]
        if found:
            last = max(found, key=last_version)
            yield system, min(found, key=first_version).since, last.until or "now", last.sources[0]


def supporting(matrix: Matrix, system: str, release: str) -> list[str]:
    """The targets that AMD lists for a ROCm release on a system."""
    found = [one for one in _by_amd(matrix) if one.os == system and first_version(one) <= sort_key(release) <= last_version(one)]
    return [gfx for gfx in matrix.gfx if any(gfx in one.gfx for one in found)]


def _by_amd(matrix: Matrix) -> list[Support]:
    return [one for one in matrix.support if one.state == "supported" and one.grade == "official"]


def _in_short(matrix: Matrix, target: Target) -> Iterator[tuple[str, ...]]:
    """First and last ROCm that AMD lists it for, on each system; what runs it beyond that; the newest wheel that serves it."""
    support = [s for s in matrix.support if target.gfx in s.gfx]
    for system, first, last, source in listed(matrix, target):
        yield f"AMD lists it on {system}", f"ROCm {first} to {last}", source
    for one in support:
        if one.state in ("works-unofficially", "preview", "release-ready"):
            yield one.state.replace("-", " "), f"ROCm {one.since} to {one.until or 'now'} {one.os} ({one.grade})", one.sources[0]
    serving = [b for b in builds_with_code(matrix, target.gfx) if not b.blas or target.gfx in b.blas]
    for question, family in (("newest wheel of PyTorch's index", "bundled"), ("device packages of AMD", "therock")):
        for build in [b for b in serving if b.family == family][:1]:
            yield question, f"torch {build.key} ({build.gfx_evidence or build.evidence}, {build.gfx_grade})", build.sources[0]


def builds_with_code(matrix: Matrix, gfx: str) -> list[TorchBuild]:
    """The wheels with code for a target, the newest first."""
    return sorted((b for b in matrix.torch if gfx in b.gfx), key=lambda b: (sort_key(b.torch), sort_key(b.rocm)), reverse=True)


def _wheel(build: TorchBuild, gfx: str = "") -> tuple[str, ...]:
    blas = "not known" if not build.blas else "yes" if gfx in build.blas else "NO"
    code = "yes" if gfx in build.gfx else "not known" if not build.gfx else "NO"
    how = (
        f"{build.gfx_evidence or build.evidence}; BLAS {build.blas_evidence}"
        if build.blas
        else build.gfx_evidence or build.evidence
    )
    return (build.torch, build.rocm, code, blas, " ".join(build.pythons), how, build.index)


def _about_target(matrix: Matrix, target: Target) -> Iterator[Line]:
    support = [s for s in matrix.support if target.gfx in s.gfx]
    for one in support:
        mark = " ≠" if any(contradict(one, other) for other in support) else ""
        yield support_line(one)._replace(state=one.state + mark)
    yield from (fact_line(f) for f in matrix.facts if target.gfx in f.gfx and not f.subject.startswith("Serving: "))
    yield from (row_line(row)._replace(where=conditions(rest)) for row, rest in rows_about(matrix, target))


def rows_about(matrix: Matrix, target: Target) -> Iterator[tuple[Row, dict[str, str]]]:
    """The rows that ask for a target or its family, each with its other conditions."""
    for row in matrix.rows:
        if _row_about(row, "gpu.gfx", target.gfx) or _row_about(row, "gpu.family", target.family):
            yield row, {name: condition for name, condition in row.when.items() if name not in ("gpu.gfx", "gpu.family")}


def _row_about(row: Row, name: str, value: str) -> bool:
    """The row's condition on that fact names this value (a row that excludes others is not about it)."""
    condition = row.when.get(name, "!")
    return not condition.startswith("!") and any(
        fnmatchcase(value.lower(), part.strip().lower()) for part in condition.split("|")
    )
