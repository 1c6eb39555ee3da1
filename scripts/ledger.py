"""The ledger: where each row of the gathered facts went in the matrix, or why it was left out. No row may be missing.

    python scripts/ledger.py [--facts ../shared/facts] [--check]

Rows that carry values of the catalog (targets, releases, support, wheels, component versions) are found by their values, so
that an entry that says something else is a gap; the others are named line by line in ledger.yaml. A row's grade must be that of
an entry it is encoded in, or the difference must be explained under `regraded`. Writes docs/ledger.md; --check only compares.
Exit 1: a gap or stale.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from rocm_doctor.matrix import Matrix, load  # noqa: E402
from rocm_doctor.model import GRADES  # noqa: E402

FILES = (
    "gpus.csv", "rocm_releases.csv", "rocm_gpu_support.csv", "rocm_driver_compat.csv", "rocm_python_os.csv", "rocm_libs.csv",
    "env_vars.csv", "torch_rocm_wheels.csv", "torch_rocm_arch.csv", "torch_features_rocm.csv", "library_compat.csv",
    "known_regressions.csv", "memory_measured.csv",
)  # fmt: skip
Fact = dict[str, str]


class Line(NamedTuple):
    """One row of a CSV: its line, its grade, where it is encoded, and what is wrong with that (or empty)."""

    number: int
    grade: str
    keys: tuple[str, ...]
    left_out: str
    fault: str


def ledger(folder: Path, matrix: Matrix, named: dict[str, Any]) -> dict[str, list[Line]]:
    entries = catalogd(matrix)
    regraded: dict[str, str] = named.get("regraded", {})
    return {name: list(_lines(folder / name, matrix, named.get(name, {}), entries, regraded)) for name in FILES}


def catalogd(matrix: Matrix) -> dict[str, str]:
    """Every name that a row may be encoded under, with its grade (empty for diagnoses, which Python rules make)."""
    out = {row.key: row.grade for row in matrix.rows} | dict.fromkeys(matrix.diagnoses, "")
    out |= {f.key: f.grade for f in matrix.facts} | {s.key: s.grade for s in matrix.support}
    out |= {w.key: w.grade for w in matrix.driver.windows} | {f"module:{m.module}": m.grade for m in matrix.driver.modules}
    out |= {f"gfx:{t.gfx}": t.grade for t in matrix.gfx.values()} | {f"rocm:{r.version}": r.grade for r in matrix.rocm}
    out |= {f"torch:{b.key}": b.grade for b in matrix.torch} | {f"targets:{b.key}": b.gfx_grade for b in matrix.torch}
    out |= {f"env:{e.name}": e.grade for e in matrix.env.values()}
    return out


def _lines(
    path: Path, matrix: Matrix, named: dict[int, Any], entries: dict[str, str], regraded: dict[str, str]
) -> Iterator[Line]:
    with path.open(encoding="utf-8", newline="") as file:
        for number, fact in enumerate(csv.DictReader(file), 2):
            grade = fact.get("status_kind", "")
            given = named.get(number)
            if isinstance(given, str) and given.startswith("left out:"):
                yield Line(number, grade, (), given.removeprefix("left out:").strip(), "")
                continue
            keys = tuple([given] if isinstance(given, str) else given or FINDERS.get(path.name, _nothing)(fact, matrix))
            yield Line(number, grade, keys, "", _fault(keys, grade, entries, regraded))


def _fault(keys: Sequence[str], grade: str, entries: dict[str, str], regraded: dict[str, str]) -> str:
    if not keys:
        return "not encoded"
    unknown = [key for key in keys if key not in entries]
    if unknown:
        return f"encoded under {', '.join(unknown)}, which does not exist"
    grades = {entries[key] for key in keys} - {""}
    explained = any(key in regraded for key in keys) or all(_weaker(one, grade) for one in grades)
    return (
        "" if not grades or not grade or grade in grades or explained else f"is {grade}, encoded as {', '.join(sorted(grades))}"
    )


def _weaker(encoded: str, given: str) -> bool:
    """True if the matrix claims less than the fact: a thread in a tracker is official there, and not here."""
    return encoded in GRADES and given in GRADES and GRADES.index(encoded) > GRADES.index(given)


def _nothing(fact: Fact, matrix: Matrix) -> list[str]:
    return []


def _gpu(fact: Fact, matrix: Matrix) -> list[str]:
    target = matrix.gfx.get(fact["gfx"])
    same = (
        target
        and target.kfd == int(fact["kfd_gfx_target_version"])
        and set(target.pci) == _words(fact["pci_ids"])
        and target.family == fact["family"]
        and _words(fact["override_in_use"], ";") <= {o.value for o in target.overrides}
    )
    return [f"gfx:{fact['gfx']}"] if same else []


def _release(fact: Fact, matrix: Matrix) -> list[str]:
    known = next((r for r in matrix.rocm if r.version == fact["rocm"]), None)
    same = known and str(known.date or "") == fact["date"] and known.hip == fact["hip"] and known.llvm == fact["llvm"]
    return [f"rocm:{fact['rocm']}"] if same else []


def _support(fact: Fact, matrix: Matrix) -> list[str]:
    states = {"announcement": "announced", "therock_release_ready": "release-ready", "therock_build_only": "build-only"}
    state = states.get(fact["status"], fact["status"].replace("_", "-"))
    system = fact["os"].replace("wsl2", "wsl")
    return [
        s.key
        for s in matrix.support
        if fact["gfx"] in s.gfx and (s.since, s.until, s.os, s.state) == (fact["rocm_from"], fact["rocm_to"], system, state)
    ]


def _module(fact: Fact, matrix: Matrix) -> list[str]:
    return [f"module:{m.module}" for m in matrix.driver.modules if fact["kind"] == "version_map" and m.module == fact["driver"]]


def _component(fact: Fact, matrix: Matrix) -> list[str]:
    request = [fact["rocm"].replace("7.0.x", "7.0.1")] if "x" in fact["rocm"] else fact["rocm"].split("|")
    held = {r.version for r in matrix.rocm if r.components.get(fact["component"]) == fact["component_version"]}
    return [f"rocm:{v}" for v in request] if fact["fact"] == "version" and set(request) <= held else []


def _variable(fact: Fact, matrix: Matrix) -> list[str]:
    by_name = {n: e.name for e in matrix.env.values() for n in (e.name, *e.also)}
    names = fact["name"].split(" / ")
    return list(dict.fromkeys(f"env:{by_name[n]}" for n in names)) if set(names) <= by_name.keys() else []


def _wheel(fact: Fact, matrix: Matrix) -> list[str]:
    """By the local version, or by the listing where that is not known; the companions and tags must agree."""
    found = [b for b in matrix.torch if b.local == fact["local_version"] and b.local] or [
        b for b in matrix.torch if not b.local and (b.index, b.torch) == (fact["rocm_index"], fact["torch"] or "unknown")
    ]
    same = [
        b
        for b in found
        if set(b.pythons) == set(fact["python_cp_tags"].split())
        and (b.torchvision, b.torchaudio) == (fact["torchvision"], fact["torchaudio"])
        and str(b.released or "") == fact["torch_release_date"]
    ]
    return [f"torch:{b.key}" for b in same]


def _arch(fact: Fact, matrix: Matrix) -> list[str]:
    """The targets compiled in must be the same set, and known rocBLAS targets too."""
    wanted, blas = _words(fact["gfx_list"], ";"), _words(fact["known_rocblas_gfx"], ";")
    request = fact["torch"].split(" ")[0]
    name = request if "+" in request else f"{fact['torch']}+{fact['rocm_wheel']}"
    builds = [b for b in matrix.torch if b.key == name or (request == "TheRock" and b.key.startswith("therock-nightly"))]
    return [f"targets:{b.key}" for b in builds if set(b.gfx) == wanted and (not blas or set(b.blas) == blas)]


def _words(text: str, separator: str = "|") -> set[str]:
    return {w.strip() for w in text.split(separator) if w.strip()}


FINDERS: dict[str, Callable[[Fact, Matrix], list[str]]] = {
    "gpus.csv": _gpu,
    "rocm_releases.csv": _release,
    "rocm_gpu_support.csv": _support,
    "rocm_driver_compat.csv": _module,
    "rocm_libs.csv": _component,
    "env_vars.csv": _variable,
    "torch_rocm_wheels.csv": _wheel,
    "torch_rocm_arch.csv": _arch,
}


def page(found: dict[str, list[Line]], regraded: dict[str, str]) -> str:
    """docs/ledger.md: a count for each file, then line by line."""
    words = "Generated by scripts/ledger.py: where each row of the gathered facts went in the matrix."
    out = ["# Ledger of the facts", "", words, ""]
    out += ["| File | Rows | Encoded | Left out | Gaps |", "|---|--:|--:|--:|--:|"]
    for name, lines in found.items():
        gaps, left = sum(bool(x.fault) for x in lines), sum(bool(x.left_out) for x in lines)
        out.append(f"| {name} | {len(lines)} | {len(lines) - gaps - left} | {left} | {gaps} |")
    out += ["", "## Grades that differ from the facts, with the reason", ""]
    out += [f"- `{key}`: {why}" for key, why in regraded.items()]
    for name, lines in found.items():
        out += ["", f"## {name}", "", "| Line | Grade | Where, or why not |", "|--:|---|---|"]
        out += [f"| {x.number} | {x.grade} | {_where(x)} |" for x in lines]
    return "\n".join(out) + "\n"


def _where(line: Line) -> str:
    keys = ", ".join(f"`{key}`" for key in line.keys)
    return f"**gap: {line.fault}** {keys}" if line.fault else f"left out: {line.left_out}" if line.left_out else keys


def statements(matrix: Matrix) -> Iterator[tuple[str, Any]]:
    """Every entry of the matrix that must carry sources, grade and date."""
    groups = (matrix.rows, matrix.gfx.values(), matrix.rocm, matrix.torch, matrix.driver.modules, matrix.driver.windows)
    for group in (*groups, matrix.support, matrix.env.values(), matrix.facts):
        for entry in group:
            yield re.sub(r"(?<!^)(?=[A-Z])", " ", type(entry).__name__).lower(), entry


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--facts", type=Path, default=ROOT.parent / "shared" / "facts")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    if not args.facts.is_dir():
        print(f"{args.facts} is not here: nothing to compare with", file=sys.stderr)
        return 0
    import yaml

    named = yaml.safe_load((ROOT / "scripts" / "ledger.yaml").read_text(encoding="utf-8"))
    matrix = load()
    found = ledger(args.facts, matrix, named)
    gaps = [f"{name}:{x.number}: {x.fault}" for name, lines in found.items() for x in lines if x.fault]
    bare = [kind for kind, e in statements(matrix) if not (e.sources and e.grade and isinstance(e.checked, datetime.date))]
    text, target = page(found, named.get("regraded", {})), ROOT / "docs" / "ledger.md"
    stale = not target.is_file() or target.read_text(encoding="utf-8") != text
    if not args.check:
        target.write_text(text, encoding="utf-8")
    total = sum(map(len, found.values()))
    count = sum(1 for _ in statements(matrix))
    print(f"{total} rows of facts, {len(gaps)} gaps; {count} statements, {len(bare)} without provenance")
    print("\n".join(gaps), end="\n" if gaps else "")
    return 1 if gaps or bare or (stale and args.check) else 0


if __name__ == "__main__":
    sys.exit(main())
