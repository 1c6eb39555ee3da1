"""Tables for `matrix coverage` and `matrix diff`: what is known, not known, contradicted, stale, and what changed."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from rocm_doctor.matrix.citations import parse_citation
from rocm_doctor.matrix.store import Matrix
from rocm_doctor.matrix.tables import LAYERS, Table, contradict
from rocm_doctor.matrix.types import Support
from rocm_doctor.model import GRADES, as_of

_NEVER = "never read again"
_STALE = datetime.timedelta(days=366)


def coverage(matrix: Matrix, today: datetime.date) -> list[Table]:
    """Counts by kind and grade; targets by layer; what no source says; contradictions; what was checked over a year ago."""
    return [
        _counts(matrix),
        _read_again(matrix, today),
        _by_layer(matrix),
        _unknown(matrix),
        _contradictions(matrix),
        _stale(matrix, today),
    ]


def _counts(matrix: Matrix) -> Table:
    groups: dict[str, Sequence[str]] = {
        "rows": [r.grade for r in matrix.rows],
        "support statements": [s.grade for s in matrix.support for _ in s.gfx],
        "torch wheels": [b.grade for b in matrix.torch],
        "ROCm releases": [r.grade for r in matrix.rocm],
        "targets": [t.grade for t in matrix.gfx.values()],
        "driver statements": [m.grade for m in matrix.driver.modules] + [w.grade for w in matrix.driver.windows],
        "variables": [e.grade for e in matrix.env.values()],
        "other facts": [f.grade for f in matrix.facts],
    }
    lines = [(name, str(len(g)), *(str(Counter(g)[k]) for k in GRADES)) for name, g in groups.items()]
    return Table(f"matrix {matrix.version}", ("what", "all", *GRADES), lines)


def _read_again(matrix: Matrix, today: datetime.date) -> Table:
    """How many rows a second reader has confirmed, what came of it, how many are hearsay and how many are stale."""
    outcomes = Counter(row.verified.outcome if row.verified else _NEVER for row in matrix.rows)
    stale = sum(today - as_of(row) > _STALE for row in matrix.rows)
    ends = sum(bool(row.affected) for row in matrix.rows)
    placed = sum(bool(parse_citation(source).at) for row in matrix.rows for source in row.sources)
    lines = [*sorted(outcomes.items()), ("hearsay", sum(row.grade == "hearsay" for row in matrix.rows)), ("stale", stale)]
    lines += [("with ranges", ends), ("sources with a place in them", placed)]
    return Table("rows by second reading", ("rows", "count"), [(name, str(count)) for name, count in lines])


def _by_layer(matrix: Matrix) -> Table:
    """For each target the number of statements at each layer, wheels counted as framework."""
    lines = []
    for gfx in matrix.gfx:
        of: Counter[str] = Counter(s.layer for s in matrix.support if gfx in s.gfx) + Counter(
            f.layer for f in matrix.facts if gfx in f.gfx
        )
        of += Counter(r.layer for r in matrix.rows if gfx in r.when.get("gpu.gfx", "").split("|"))
        of["framework"] += sum(gfx in b.gfx for b in matrix.torch)
        lines.append((gfx, *(str(of[layer]) if of[layer] else "-" for layer in LAYERS[1:])))
    return Table("statements by target and layer (-: nothing known)", ("target", *LAYERS[1:]), lines)


def _unknown(matrix: Matrix) -> Table:
    """Fields that the catalog leaves empty for lack of a source."""
    lines = [(t.gfx, "bf16 and fp16 arithmetic in hardware") for t in matrix.gfx.values() if not t.bf16]
    lines += [(b.key, "targets it is compiled for") for b in matrix.torch if not b.gfx]
    lines += [(b.key, "targets of its rocBLAS") for b in matrix.torch if b.gfx and not b.blas and b.family != "therock"]
    lines += [
        (r.version, "component versions") for r in matrix.rocm if r.stream in ("production", "therock") and not r.components
    ]
    return Table("not known", ("of", "what no source says"), lines)


def _contradictions(matrix: Matrix) -> Table:
    """Statements that speak of one target, system and release and do not agree."""
    lines = []
    for number, one in enumerate(matrix.support):
        for other in matrix.support[number + 1 :]:
            for gfx in sorted(set(one.gfx) & set(other.gfx)):
                if contradict(one, other):
                    lines.append((gfx, f"{one.since} to {one.until}", _words(one), _words(other)))
    return Table("contradictions, side by side", ("target", "ROCm", "one says", "the other says"), lines)


def _words(one: Support) -> str:
    return f"{one.state} ({one.grade}): {one.words} {one.sources[0]}"


def _stale(matrix: Matrix, today: datetime.date) -> Table:
    dated = [(r.key, as_of(r)) for r in matrix.rows] + [(s.key, s.checked) for s in matrix.support]
    dated += [(f.key, f.checked) for f in matrix.facts]
    lines = [(key, str(checked)) for key, checked in sorted(dated, key=lambda x: x[1]) if today - checked > _STALE]
    return Table("checked more than a year ago", ("key", "checked"), lines)


def diff(old: Matrix, new: Matrix) -> list[Table]:
    """What was added, removed and changed between two matrices, section by section."""
    lines: list[tuple[str, ...]] = []
    for section, before, after in _sections(old, new):
        for name in sorted(before.keys() | after.keys()):
            change = _change(before.get(name), after.get(name))
            if change:
                lines.append((section, name, change))
    return [Table(f"{old.version} -> {new.version}", ("section", "entry", "change"), lines)]


def _sections(old: Matrix, new: Matrix) -> Iterator[tuple[str, Mapping[str, object], Mapping[str, object]]]:
    yield "rows", old.by_key, new.by_key
    yield "diagnoses", old.diagnoses, new.diagnoses
    yield "gfx", old.gfx, new.gfx
    yield "env", old.env, new.env
    for name in ("torch", "support", "facts"):
        yield name, {e.key: e for e in getattr(old, name)}, {e.key: e for e in getattr(new, name)}
    yield "rocm", {r.version: r for r in old.rocm}, {r.version: r for r in new.rocm}
    yield "driver", {m.module: m for m in old.driver.modules}, {m.module: m for m in new.driver.modules}


def _change(before: object, after: object) -> str:
    """What is different between two entries of one name; where a row was read from does not count."""
    if before is None or after is None:
        return "added" if before is None else "removed"
    a, b = ({**msgspec.to_builtins(entry), "origin": ""} for entry in (before, after))
    changed = [k for k in sorted(a.keys() | b.keys()) if a.get(k) != b.get(k)]
    return "changed: " + ", ".join(f"{k} ({_short(a.get(k))} -> {_short(b.get(k))})" for k in changed) if changed else ""


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 60 else text[:57] + "..."
