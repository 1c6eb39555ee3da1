"""The page of a library, a part of ROCm, a program or an image."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_doctor.explain.index import NamedThing, fold, matches_release
from rocm_doctor.explain.parts import (
    MANY,
    entries,
    find_rows,
    list_faults,
    may_hold,
    section,
    source,
    state_fact,
)
from rocm_doctor.matrix import Matrix, Statement
from rocm_doctor.matrix.rows import Row
from rocm_doctor.model import Command
from rocm_doctor.plan.catalog import CatalogPackage
from rocm_doctor.plan.catalog import load_catalog as catalog_of
from rocm_doctor.plan.summary import HERE, answers, install_lines
from rocm_doctor.reports.page import CitedLine, Page
from rocm_doctor.versions import sort_key


def library(thing: NamedThing, matrix: Matrix) -> Page:
    """The page of a library: what it is, which releases go with what, how to install it, what is known to go wrong."""
    of, version, gpu = thing.entry.of, thing.version, thing.gpu
    package = next((entry for entry in catalog_of(matrix).packages.values() if fold(entry.name) == of), None)
    program = next((entry for entry in matrix.programs.values() if fold(entry.name) == of), None)
    application = next((entry for entry in matrix.applications if of in map(fold, entry.names)), None)
    indexes = (entry for entry in matrix.plain("indexes") or () if of in fold(entry["name"]).split("-"))
    images = (f"image {i['way']}" for i in matrix.plain("images") or () if "way" in i and of in fold(i["name"]).split("-"))
    readers = (variable for variable in matrix.env.values() if of in fold(variable.reader).split("-"))
    facts, rows = _facts(thing, matrix), [row for row in matrix.rows if _concerns(row, thing, matrix)]
    name = " ".join(filter(None, (thing.entry.name, version, gpu and f"on {gpu}")))
    return Page(
        f"{name}: {thing.entry.words}",
        (
            section("wheels", *_wheels(matrix, of)),
            section("works", *(_releases(package, version, gpu) if package else ()), short=MANY),
            section(
                "index",
                *(CitedLine(f"{index['name']}: {index['url']}. {index['words']}", index["sources"][0]) for index in indexes),
            ),
            section("", *map(state_fact, facts), short=MANY),
            section("install", *(_install(package, gpu, matrix) if package else list(images)[:2])),
            section("change", *(f"{how}: {words}" for how, words in (application.how.items() if application else ())), short=4),
            list_faults(rows),
            section(
                "variables", *(CitedLine(f"{reader.name}: {reader.effect}", reader.sources[0]) for reader in readers), short=3
            ),
            source(*([entry] for entry in (package, program, application) if entry), facts, rows),
        ),
    )


def _facts(thing: NamedThing, matrix: Matrix) -> list[Statement]:
    """The statements about the library, its version and the GPU beside it, the newest first."""
    facts = [
        fact
        for fact in matrix.facts
        if f"-{thing.entry.of}-" in f"-{fold(fact.subject.removeprefix('PyTorch feature: ').removeprefix('Serving: '))}-"
        and (not thing.gpu or not fact.gfx or thing.gpu in fact.gfx)
        and (not thing.version or not fact.version or may_hold(fact.version, thing.version))
    ]
    return sorted(facts, key=lambda fact: (sort_key(fact.version or fact.rocm), fact.checked), reverse=True)


def _wheels(matrix: Matrix, of: str) -> Iterator[str]:
    """What the package index has under this name where that is nothing for ROCm, and what to take."""
    for entry in entries(matrix, "cuda_only", of):
        way = f"for AMD: {entry['way']}" if "way" in entry else "nothing is known for AMD"
        yield f"`{entry['name']}` of the package index is for {entry.get('wheels', 'CUDA')}; {way}"
    for entry in entries(matrix, "other_systems", of):
        there = entry.get("other") or (f"for {' and '.join(entry['systems'])} alone" if entry["systems"] else "not there")
        yield f"`{entry['name']}` of the package index is {there}" + (f"; take {entry['way']}" if "way" in entry else "")


def _releases(package: CatalogPackage, version: str, gpu: str) -> Iterator[str]:
    """The newest releases with what they take, or the one that is asked for."""
    yield package.elsewhere
    releases = [r for r in package.releases if matches_release(r.version, version)] if version else package.releases[:2]
    if version and not releases:
        yield f"{version} is not in the catalog; known are {', '.join(r.version for r in package.releases[:6]) or 'none'}"
    for release in releases:
        targets = sorted({gfx for code in (release.code, release.code_windows) for several in code.values() for gfx in several})
        code = (
            f"; its wheel has code for {', '.join(targets)}" if targets else "; compiled on the machine" if release.built else ""
        )
        here = f"; {'with' if gpu in targets else 'without'} code for {gpu}" if gpu and targets else code
        yield f"{release.version} takes torch {release.torch or 'of any version'}, Python {release.python or 'of any version'}, on {', '.join(release.systems)}{here}"


def _install(package: CatalogPackage, gpu: str, matrix: Matrix) -> Iterator[str | Command]:
    if package.elsewhere and not package.releases:
        return
    if gpu:
        yield from install_lines(answers(gpu, matrix, (package.name,), HERE))
    else:
        yield Command(f"rocm-doctor plan --with {package.name}")
        yield "for the GPU of this machine; --gpu 'RX 7900 XTX' plans for another"


def _concerns(row: Row, thing: NamedThing, matrix: Matrix) -> bool:
    """True if a row asks for the library (in a range that may hold the version) or names it, and is about the GPU beside it or about none."""
    of, gpu = thing.entry.of, thing.gpu
    about_gpus = {"gpu.gfx", "gpu.family"} & row.when.keys()
    if gpu and about_gpus and all(row is not other for other, _ in find_rows(matrix, matrix.gfx[gpu])):
        return False
    conditions = [
        condition
        for name, condition in row.when.items()
        if name.startswith(("pkg.", "code.")) and fold(name.partition(".")[2]) == of
    ]
    if thing.version and conditions:
        return all(condition != "absent" and may_hold(condition, thing.version) for condition in conditions)
    return bool(conditions) or row.diagnosis == f"lib.{of}" or f"-{of}-" in f"-{fold(row.title)}-"
