"""Tables for `explain -v`: the knowledge about a GPU, torch, ROCm, a driver, a library or a variable, by layer, with sources."""

from __future__ import annotations

from rocm_doctor.matrix.show_target import target_tables
from rocm_doctor.matrix.store import Matrix
from rocm_doctor.matrix.tables import Table, fact_line, row_line, statements, support_line
from rocm_doctor.matrix.types import Target
from rocm_doctor.versions import contains, parse


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
        return [table for target in targets for table in target_tables(matrix, target)]
    return _package(matrix, name) or _variable(matrix, subject)


def _named(target: Target, name: str) -> bool:
    names = (n.lower() for n in target.names)
    return any(name in (n, n.removeprefix("radeon "), n.removeprefix("instinct ")) for n in names)


def _torch(matrix: Matrix, version: str) -> list[Table]:
    """The wheels of a torch release, what that version can do, and what is known of it beside others."""
    builds = [b for b in matrix.torch if not version or _is(b.torch, version)]
    lines = [
        (b.torch, b.rocm, b.family, " ".join(b.gfx) or "not known", b.torchvision, b.triton, b.evidence, b.grade, b.index)
        for b in builds
    ]
    columns = ("torch", "ROCm", "family", "compiled for", "torchvision", "triton", "how known", "grade", "index")
    features = [
        fact_line(f)
        for f in matrix.facts
        if f.subject.startswith("PyTorch feature") and (not version or may_hold(f.version, version))
    ]
    rows = [
        row_line(r) for r in matrix.rows if version and "torch.version" in r.when and may_hold(r.when["torch.version"], version)
    ]
    tables = [Table(f"torch {version}".strip(), columns, lines), statements("features", features), statements("rows", rows)]
    return [t for t in tables if t.lines] if builds else []


def _is(release: str, asked: str) -> bool:
    return release == asked or release.startswith(asked + ".")


def may_hold(condition: str, version: str) -> bool:
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
    facts = [fact_line(f) for f in matrix.facts if version in f.rocm]
    support = [
        support_line(s)._replace(what=f"{' '.join(s.gfx)}: {s.words}")
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
        Table("module version and its release", ("module", "release", "notes", "grade", "sources", "checked"), modules),
        Table("driver and user space", ("kind", "driver", "ROCm", "scope", "statement", "grade", "sources", "checked"), lines),
    ]


def _package(matrix: Matrix, name: str) -> list[Table]:
    rows = [r for r in matrix.rows if f"pkg.{name}" in r.when or r.diagnosis == f"lib.{name}"]
    facts = [f for f in matrix.facts if f.subject.lower().replace(" ", "-") == name]
    table = statements(name, [*(fact_line(f) for f in facts), *(row_line(r) for r in rows)])
    readers = [e for e in matrix.env.values() if name in e.reader.lower().replace(" ", "-")] if rows or facts else []
    settings = Table("variables", ("name", "effect", "harm", "grade"), [(e.name, e.effect, e.harm, e.grade) for e in readers])
    return [t for t in (table, settings) if t.lines]


def _variable(matrix: Matrix, name: str) -> list[Table]:
    known = [e for e in matrix.env.values() if name.upper() in (e.name, *e.also)]
    rows = [row_line(r) for r in matrix.rows if f"env.{name.upper()}" in r.when]
    lines = [(e.exists, e.reader, e.platform, e.default, e.effect, e.harm, f"{e.grade}: {e.sources[0]}") for e in known]
    columns = ("exists", "read by", "platform", "default", "effect", "harm", "sources")
    return [t for t in (Table(name.upper(), columns, lines), statements("rows", rows)) if t.lines]
