"""Tables for `matrix show`: what is known of a GPU, torch, ROCm, a driver, a library or a variable, by layer, and who says so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from rocm_doctor.matrix.store import Matrix
from rocm_doctor.matrix.types import Fact, Support, Target, TorchBuild
from rocm_doctor.model import Row
from rocm_doctor.versions import SortKey, contains, parse, sort_key

LAYERS = ("machine", "driver", "runtime", "compiler", "library", "framework", "package")
GOOD = {"supported", "works-unofficially", "release-ready", "preview", "runtime-only"}
BAD = {"dropped", "broken", "harmful", "unstable", "not-listed", "never-listed", "disputed"}


class Line(NamedTuple):
    """One statement: at which layer, what holds, for which versions, and who says so since when."""

    layer: str
    what: str
    state: str
    where: str
    grade: str
    source: str
    checked: str


class Table(NamedTuple):
    title: str
    columns: tuple[str, ...]
    lines: Sequence[tuple[str, ...]]


STATEMENT = ("layer", "statement", "state", "for", "grade", "who says so", "checked")


def show(matrix: Matrix, subject: str, version: str = "") -> list[Table]:
    """The tables about a subject (`gfx906`, `RX 7900 XTX`, `torch` with a version, `rocm`, `driver`, a package, a variable).

    An empty list: the matrix knows nothing of that name.
    """
    name = subject.lower()
    if name == "torch":
        return _torch(matrix, version)
    if name == "rocm" and version:
        return _rocm(matrix, version)
    if name in ("driver", "amdgpu"):
        return _driver(matrix)
    targets = [t for t in matrix.gfx.values() if t.gfx == name or _named(t, name)]
    if targets:
        return [table for target in targets for table in _target(matrix, target)]
    return _package(matrix, name) or _variable(matrix, subject)


def _named(target: Target, name: str) -> bool:
    names = (n.lower() for n in target.names)
    return any(name in (n, n.removeprefix("radeon "), n.removeprefix("instinct ")) for n in names)


def _target(matrix: Matrix, target: Target) -> Iterator[Table]:
    """Who it is, what each layer has for it, the wheels that hold its code, and the overrides that people use."""
    vram = ", ".join(f"{card} {'/'.join(f'{v:g}' for v in sizes)} GiB" for card, sizes in target.vram.items()) or target.memory
    numbers = ", ".join(f"{n} {v}" for n, v in (("fp16", target.fp16), ("bf16", target.bf16), ("fp8", target.fp8)) if v)
    about = [
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
    yield Table(target.gfx, ("", ""), [pair for pair in about if pair[1]])
    yield Table("in short", ("question", "answer", "who says so"), list(_in_short(matrix, target)))
    yield statements(f"{target.gfx} by layer", _about_target(matrix, target))
    yield Table(
        "torch wheels for ROCm that hold its code", _WHEEL, [_wheel(b, target.gfx) for b in _with_code(matrix, target.gfx)]
    )
    if target.overrides:
        lines = [(o.value, o.verdict, o.words, o.grade, o.sources[0]) for o in target.overrides]
        yield Table("HSA_OVERRIDE_GFX_VERSION", ("value", "verdict", "why", "grade", "who says so"), lines)


def _in_short(matrix: Matrix, target: Target) -> Iterator[tuple[str, ...]]:
    """First and last ROCm that AMD lists it for, on each system; what runs it beyond that; the newest wheel that serves it."""
    support = [s for s in matrix.support if target.gfx in s.gfx]
    for system in ("linux", "windows", "wsl"):
        listed = [s for s in support if s.os == system and s.state == "supported" and s.grade == "official"]
        if listed:
            first, last = min(listed, key=_since), max(listed, key=_until)
            yield f"AMD lists it on {system}", f"ROCm {first.since} to {last.until or 'now'}", last.sources[0]
    for one in support:
        if one.state in ("works-unofficially", "preview", "release-ready"):
            yield one.state.replace("-", " "), f"ROCm {one.since} to {one.until or 'now'} {one.os} ({one.grade})", one.sources[0]
    serving = [b for b in _with_code(matrix, target.gfx) if not b.blas or target.gfx in b.blas]
    for question, family in (("newest wheel of PyTorch's index", "bundled"), ("device packages of AMD", "therock")):
        for build in [b for b in serving if b.family == family][:1]:
            yield question, f"torch {build.key} ({build.gfx_evidence or build.evidence}, {build.gfx_grade})", build.sources[0]


def _since(one: Support) -> SortKey:
    return sort_key(one.since.replace(".x", ".0"))


def _until(one: Support) -> SortKey:
    return sort_key(one.until.replace(".x", ".99") or "999")


_WHEEL = ("torch", "ROCm", "code", "rocBLAS kernels", "Python", "how known", "index")


def _with_code(matrix: Matrix, gfx: str) -> list[TorchBuild]:
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


def statements(title: str, lines: Iterable[Line]) -> Table:
    """Statements by layer; those that say the same of several releases are one line, and contradicted ones are marked."""
    merged: dict[tuple[str, ...], list[Line]] = {}
    for line in sorted(lines, key=lambda x: LAYERS.index(x.layer)):
        merged.setdefault((line.layer, line.what, line.state, line.grade), []).append(line)
    return Table(title, STATEMENT, [_joined(group) for group in merged.values()])


def _joined(group: Sequence[Line]) -> tuple[str, ...]:
    first = group[0]
    where = ", ".join(dict.fromkeys(x.where for x in group if x.where))
    more = len({x.source for x in group}) - 1
    return (
        first.layer,
        first.what,
        first.state,
        where,
        first.grade,
        first.source + (f" (+{more})" if more else ""),
        first.checked,
    )


def _about_target(matrix: Matrix, target: Target) -> Iterator[Line]:
    support = [s for s in matrix.support if target.gfx in s.gfx]
    for one in support:
        mark = " ≠" if any(opposed(one, other) for other in support) else ""
        yield _of_support(one)._replace(state=one.state + mark)
    yield from (_of_fact(f) for f in matrix.facts if target.gfx in f.gfx)
    for row in matrix.rows:
        if _row_about(row, "gpu.gfx", target.gfx) or _row_about(row, "gpu.family", target.family):
            rest = {name: condition for name, condition in row.when.items() if name not in ("gpu.gfx", "gpu.family")}
            yield of_row(row)._replace(where=_conditions(rest))


def opposed(one: Support, other: Support) -> bool:
    """Two statements that speak of one system and a release in common, and one is good news and the other bad."""
    states = {one.state, other.state}
    return one.os == other.os and bool(states & GOOD) and bool(states & BAD) and _meet(one, other)


def _meet(one: Support, other: Support) -> bool:
    """Whether the two ranges have a release in common (`6.4.x` is its series, an open end is open)."""
    return _since(one) <= _until(other) and _since(other) <= _until(one)


def _row_about(row: Row, name: str, value: str) -> bool:
    """The row's condition on that fact names this value (a row that excludes others is not about it)."""
    condition = row.when.get(name, "!")
    return not condition.startswith("!") and any(
        fnmatchcase(value.lower(), part.strip().lower()) for part in condition.split("|")
    )


def _of_support(s: Support) -> Line:
    until = f" to {s.until}" if s.until and s.until != s.since else "" if s.until else " and later"
    return Line(s.layer, s.words, s.state, f"ROCm {s.since}{until} {s.os}", s.grade, s.sources[0], str(s.checked))


def _of_fact(f: Fact) -> Line:
    where = ", ".join(x for x in (f.version, f"ROCm {f.rocm}" if f.rocm and f.rocm != "any" else "", f.scope) if x)
    return Line(f.layer, f"{f.subject}: {f.words}", "", where, f.grade, f.sources[0], str(f.checked))


def of_row(r: Row) -> Line:
    return Line(r.layer, f"{r.title} [{r.key}]", r.status, _conditions(r.when), r.grade, r.sources[0], str(r.checked))


def _conditions(when: Mapping[str, str]) -> str:
    return "; ".join(f"{name} {condition}" for name, condition in when.items())


def _torch(matrix: Matrix, version: str) -> list[Table]:
    """The wheels of a torch release, what that version can do, and what is known of it beside others."""
    builds = [b for b in matrix.torch if not version or _is(b.torch, version)]
    lines = [
        (b.torch, b.rocm, b.family, " ".join(b.gfx) or "not known", b.torchvision, b.triton, b.evidence, b.grade, b.index)
        for b in builds
    ]
    columns = ("torch", "ROCm", "family", "compiled for", "torchvision", "triton", "how known", "grade", "index")
    features = [
        _of_fact(f)
        for f in matrix.facts
        if f.subject.startswith("PyTorch feature") and (not version or _may_hold(f.version, version))
    ]
    rows = [
        of_row(r) for r in matrix.rows if version and "torch.version" in r.when and _may_hold(r.when["torch.version"], version)
    ]
    tables = [Table(f"torch {version}".strip(), columns, lines), statements("features", features), statements("rows", rows)]
    return [t for t in tables if t.lines] if builds else []


def _is(release: str, asked: str) -> bool:
    return release == asked or release.startswith(asked + ".")


def _may_hold(condition: str, version: str) -> bool:
    """Whether a range holds for a version; a statement without a range is about all of them."""
    inner = condition.removeprefix("!")
    if not inner or inner == "set" or parse(version) is None:
        return True
    try:
        return any(contains(part, version) for part in inner.split("|")) is not condition.startswith("!")
    except ValueError:
        return inner.startswith(version)


def _rocm(matrix: Matrix, version: str) -> list[Table]:
    """A release (or series): dates, components, systems, targets, drivers."""
    releases = [r for r in matrix.rocm if _is(r.version, version)]
    if not releases:
        return []
    about = [
        (r.version, str(r.date or "no date"), r.stream, r.hip, ", ".join(f"{c} {v}" for c, v in r.components.items()), r.notes)
        for r in releases
    ]
    facts = [_of_fact(f) for f in matrix.facts if version in f.rocm]
    support = [
        _of_support(s)._replace(what=f"{' '.join(s.gfx)}: {s.words}")
        for s in matrix.support
        if _is(s.since, version) or _is(s.until, version)
    ]
    return [
        Table(f"ROCm {version}", ("release", "date", "stream", "HIP", "components", "notes"), about),
        statements("systems, components, targets", [*facts, *support]),
        *(t for t in _driver(matrix, version) if t.lines),
    ]


def _driver(matrix: Matrix, rocm: str = "") -> list[Table]:
    modules = [(m.module, m.release, m.notes, m.grade, m.sources[0], str(m.checked)) for m in matrix.driver.modules if not rocm]
    windows = [w for w in matrix.driver.windows if not rocm or rocm in w.rocm]
    lines = [(w.kind, w.driver, w.rocm, w.scope, w.words, w.grade, w.sources[0], str(w.checked)) for w in windows]
    return [
        Table(
            "what the module prints, and its release", ("module", "release", "notes", "grade", "who says so", "checked"), modules
        ),
        Table(
            "driver and user space", ("kind", "driver", "ROCm", "scope", "statement", "grade", "who says so", "checked"), lines
        ),
    ]


def _package(matrix: Matrix, name: str) -> list[Table]:
    rows = [r for r in matrix.rows if f"pkg.{name}" in r.when or r.diagnosis == f"lib.{name}"]
    facts = [f for f in matrix.facts if f.subject.lower().replace(" ", "-") == name]
    table = statements(name, [*(_of_fact(f) for f in facts), *(of_row(r) for r in rows)])
    readers = [e for e in matrix.env.values() if name in e.reader.lower().replace(" ", "-")] if rows or facts else []
    settings = Table("variables", ("name", "effect", "harm", "grade"), [(e.name, e.effect, e.harm, e.grade) for e in readers])
    return [t for t in (table, settings) if t.lines]


def _variable(matrix: Matrix, name: str) -> list[Table]:
    known = [e for e in matrix.env.values() if name.upper() in (e.name, *e.also)]
    rows = [of_row(r) for r in matrix.rows if f"env.{name.upper()}" in r.when]
    lines = [(e.exists, e.reader, e.platform, e.default, e.effect, e.harm, f"{e.grade}: {e.sources[0]}") for e in known]
    columns = ("exists", "read by", "platform", "default", "effect", "harm", "who says so")
    return [t for t in (Table(name.upper(), columns, lines), statements("rows", rows)) if t.lines]
