"""The page of a library, a part of ROCm, a program or an image."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_doctor.explain.index import Found, fold, matches_release
from rocm_doctor.explain.parts import MANY, entries, further_commands, list_faults, section, source
from rocm_doctor.explain.statements import find_rows, may_hold, state_fact
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Command, Row
from rocm_doctor.plan.catalog import Package
from rocm_doctor.plan.catalog import load_catalog as catalog_of
from rocm_doctor.plan.summary import HERE, answers, install_lines
from rocm_doctor.reports.page import Page, Stated
from rocm_doctor.versions import sort_key


def library(found: Found, matrix: Matrix) -> Page:
    """The page of a library: what it is, which releases go with what, how to install it, what is known to go wrong."""
    of, version, gpu = found.entry.of, found.version, found.gpu
    package = next((one for one in catalog_of(matrix).packages.values() if fold(one.name) == of), None)
    program = next((one for one in matrix.programs.values() if fold(one.name) == of), None)
    application = next((one for one in matrix.applications if of in map(fold, one.names)), None)
    indexes = [one for one in matrix.plain("indexes") or () if of in fold(one["name"]).split("-")]
    for_cuda = [one for name in ("cuda_only", "other_systems") for one in entries(matrix, name, of)]
    facts = [one for one in matrix.facts if of in _subject(one.subject) and (not gpu or not one.gfx or gpu in one.gfx)]
    facts = [one for one in facts if not version or not one.version or may_hold(one.version, version)]
    facts.sort(key=lambda one: (sort_key(one.version or one.rocm), one.checked), reverse=True)
    rows = [row for row in matrix.rows if _concerns(row, of, version) and (not gpu or _concerns_gpu(row, gpu, matrix))]
    images = [one for one in matrix.plain("images") or () if "way" in one and of in fold(one["name"]).split("-")]
    readers = [one for one in matrix.env.values() if of == fold(one.reader) or of in fold(one.reader).split("-")]
    what = package.what if package else f"a program of the package {program.package}" if program else ""
    what = what or (f"{application.title}, a program that runs on the GPU" if application else "")
    what = what or ("made for CUDA" if for_cuda else "what is known of it" if facts else found.entry.words)
    name = " ".join(filter(None, (found.entry.name, version, gpu and f"on {gpu}")))
    return Page(
        f"{name}: {what}",
        (
            section(
                "CUDA", *(f"`{one['name']}` is made for CUDA; for AMD: {one.get('way', 'nothing is known')}" for one in for_cuda)
            ),
            section("works", *(_releases(package, version, gpu) if package else ()), short=MANY),
            section("index", *(Stated(f"{one['name']}: {one['url']}. {one['words']}", one["sources"][0]) for one in indexes)),
            section("", *map(state_fact, facts), short=MANY),
            section("install", *(_install(package, gpu, matrix) if package else (f"image {one['way']}" for one in images[:2]))),
            section("change", *(f"{how}: {said}" for how, said in (application.how.items() if application else ())), short=4),
            list_faults(rows),
            section("variables", *(Stated(f"{one.name}: {one.effect}", one.sources[0]) for one in readers), short=3),
            source(*([one] for one in (package, program, application) if one), facts, rows),
            further_commands(found.query),
        ),
    )


def _subject(text: str) -> str:
    """The folded name that a statement is about, between dashes."""
    return f"-{fold(text.removeprefix('PyTorch feature: ').removeprefix('Serving: '))}-"


def _releases(package: Package, version: str, gpu: str) -> Iterator[str]:
    """The newest releases with what they take, or the one that is asked for."""
    yield package.elsewhere
    asked = [one for one in package.releases if matches_release(one.version, version)] if version else package.releases[:2]
    if version and not asked:
        yield f"{version} is not in the catalog; known are {', '.join(one.version for one in package.releases[:6]) or 'none'}"
    for one in asked:
        targets = sorted({gfx for code in (one.code, one.code_windows) for several in code.values() for gfx in several})
        code = f"; its wheel has code for {', '.join(targets)}" if targets else "; compiled on the machine" if one.built else ""
        here = f"; {'with' if gpu in targets else 'without'} code for {gpu}" if gpu and targets else code
        yield f"{one.version} takes torch {one.torch or 'of any version'}, Python {one.python or 'of any version'}, on {', '.join(one.systems)}{here}"


def _install(package: Package, gpu: str, matrix: Matrix) -> Iterator[str | Command]:
    if package.elsewhere and not package.releases:
        return
    if gpu:
        yield from install_lines(answers(gpu, matrix, (package.name,), HERE))
    else:
        yield Command(f"rocm-doctor plan --with {package.name}")
        yield "for the GPU of this machine; --gpu 'RX 7900 XTX' plans for another"


def _concerns(row: Row, of: str, version: str) -> bool:
    """Whether a row asks for the library (in a range that may hold the version), or names it."""
    asked = [
        condition
        for name, condition in row.when.items()
        if name.startswith(("pkg.", "code.")) and fold(name.partition(".")[2]) == of
    ]
    if version and asked:
        return all(condition != "absent" and may_hold(condition, version) for condition in asked)
    return bool(asked) or row.diagnosis == f"lib.{of}" or f"-{of}-" in f"-{fold(row.title)}-"


def _concerns_gpu(row: Row, gpu: str, matrix: Matrix) -> bool:
    """Whether a row is about that target, or about none."""
    return not {"gpu.gfx", "gpu.family"} & set(row.when) or any(row is one for one, _ in find_rows(matrix, matrix.gfx[gpu]))
