"""The pages of releases: torch, ROCm, Python, the kernel driver; and of the systems that they run on."""

from __future__ import annotations

from collections.abc import Iterable

from rocm_doctor.explain.index import NamedThing, matches_release
from rocm_doctor.explain.parts import (
    MANY,
    asks,
    count,
    list_faults,
    list_targets,
    may_hold,
    plan,
    section,
    source,
    state_build,
    state_fact,
)
from rocm_doctor.matrix import DriverRange, Matrix, RocmRelease, TorchBuild
from rocm_doctor.model import Command
from rocm_doctor.plan.catalog import load_catalog as catalog_of
from rocm_doctor.reports.page import CitedLine, Page
from rocm_doctor.versions import sort_key

_SHOWN = 8
"""Releases that a line of a page names."""
_SYSTEMS = ("linux", "windows", "wsl")


def torch(thing: NamedThing, matrix: Matrix) -> Page:
    """The page of torch or of one release: its builds for ROCm, how to install one, what is known of it."""
    version = thing.version
    number, _, rocm = version.partition("+rocm")
    builds = [
        build
        for build in _sort_newest(matrix.torch)
        if not number
        or (matches_release(build.torch, number) and (not rocm or matches_release(build.rocm, rocm)))
        or matches_release(build.local, version)
    ]
    facts = [
        fact
        for fact in matrix.facts
        if fact.subject.startswith("PyTorch") and version and fact.version and may_hold(fact.version, version)
    ]
    indexes = ((build.local, catalog_of(matrix).build_index(build)) for build in builds if build.local)
    pip = [
        f"pip install torch=={local} --index-url {at.url}" for local, at in indexes if at and at.kind == "index" and not at.extras
    ]
    return Page(
        f"torch {version}: {count(len(builds), 'build')} for ROCm"
        if version
        else f"torch: PyTorch; {builds[0].torch} is the newest with a build for ROCm",
        (
            section("works", *map(state_build, builds), short=MANY),
            section("install", *map(Command, pip[:1]), *plan(*(["--index", version] if version else []))),
            list_faults(row for row in matrix.rows if version and asks(row.when, ("torch.version", "torch.release"), version)),
            section("", *(state_fact(fact, fact.subject.removeprefix("PyTorch feature: ")) for fact in facts), short=MANY),
            source(builds),
        ),
    )


def _sort_newest(builds: Iterable[TorchBuild]) -> list[TorchBuild]:
    """The newest torch first; of one release the wheels of PyTorch's index first."""
    return sorted(builds, key=lambda one: (sort_key(one.torch), one.family == "bundled", sort_key(one.rocm)), reverse=True)


def rocm(thing: NamedThing, matrix: Matrix) -> Page:
    """The page of ROCm or of one release: the GPUs that AMD lists, builds of torch, systems, what is known to go wrong."""
    version = thing.version
    releases = [
        release
        for release in sorted(matrix.rocm, key=lambda release: sort_key(release.version), reverse=True)
        if not version or matches_release(release.version, version)
    ]
    last = releases[0].version
    builds = [build for build in _sort_newest(matrix.torch) if version and matches_release(build.rocm, version)]
    facts = [
        fact for fact in matrix.facts if any(matches_release(part.strip(), version or last) for part in fact.rocm.split(","))
    ]
    gpus = [(system, list_targets(matrix, system, last)) for system in _SYSTEMS]
    return Page(
        f"ROCm {version or 'releases'}: {', '.join(f'{release.version} ({release.date or release.stream})' for release in releases[:_SHOWN])}",
        (
            section("GPUs", *(f"AMD lists for {last} on {system}: {', '.join(targets)}" for system, targets in gpus if targets)),
            section("torch", ", ".join(build.local or build.torch for build in builds[:_SHOWN])),
            section("systems", *(state_fact(fact, fact.subject) for fact in facts), short=MANY),
            section("HIP", releases[0].hip),
            section("notes", *map(_release, releases), short=0),
            section(
                "install",
                "torch's wheels bring their ROCm: beside the driver nothing has to be installed",
                *plan(*(["--rocm", version] if builds else [])),
            ),
            list_faults(
                row for row in matrix.rows if asks(row.when, ("rocm.version", "rocm.loaded", "torch.rocm"), version or last)
            ),
            source(releases[:1], facts),
        ),
    )


def python(thing: NamedThing, matrix: Matrix) -> Page:
    """The page of a version of Python: the builds of torch for it."""
    version = ".".join(thing.version.split(".")[:2])
    number, free = version.removesuffix("t"), version.endswith("t")
    builds = [build for build in _sort_newest(matrix.torch) if not version or version in build.pythons]
    facts = [fact for fact in matrix.facts if fact.subject == "PyTorch feature: Python"]
    every = sorted({python for build in matrix.torch for python in build.pythons if python[-1].isdigit()}, key=sort_key)
    return Page(
        f"Python {version}: {count(len(builds), 'build')} of torch for ROCm"
        if version
        else f"Python: torch has builds for {', '.join(every)}",
        (
            section("works", *(f"torch {build.local or build.torch}" for build in builds[:6])),
            section("", *(state_fact(fact, "torch") for fact in facts), short=MANY),
            section("install", *plan(*(["--python", number] if version else [])), "for the build with the GIL" if free else ""),
            list_faults(row for row in matrix.rows if asks(row.when, ("python.version",), number)),
            source(builds),
        ),
    )


def driver(thing: NamedThing, matrix: Matrix) -> Page:
    """The page of the kernel driver: versions of the amdgpu module and the releases that they belong to."""
    modules = sorted(matrix.driver_modules, key=lambda module: sort_key(module.module), reverse=True)
    modules = [module for module in modules if not thing.version or matches_release(module.module, thing.version)]
    return Page(
        f"amdgpu driver {thing.version}".strip(),
        (
            section(
                "modules",
                *(
                    f"{module.module}: release {module.release}{f', of ROCm {module.rocm}' if module.rocm else ''}"
                    for module in modules
                ),
                short=MANY,
            ),
            section("ROCm", *map(_range, sorted(matrix.driver_ranges, key=lambda span: span.kind != "rule")), short=MANY),
            list_faults(row for row in matrix.rows if asks(row.when, ("driver.version",), thing.version)),
            section("read", Command("cat /sys/module/amdgpu/version")),
            source(modules),
        ),
    )


def _release(one: RocmRelease) -> CitedLine:
    parts = ", ".join(f"{name} {version}" for name, version in one.components.items())
    return CitedLine(
        f"{one.version}: {'; '.join(filter(None, (parts, one.notes))) or 'its components are not known'}", one.sources[0]
    )


def _range(span: DriverRange) -> CitedLine:
    scope = f" ({span.scope})" if span.scope else ""
    return CitedLine(f"driver {span.driver}, ROCm {span.rocm}{scope}: {span.words}", span.sources[0])


def system(thing: NamedThing, matrix: Matrix) -> Page:
    """The page of a system: what ROCm and torch need on it, and which GPUs AMD lists there."""
    of, version = thing.entry.of, thing.version
    kind = of if of in ("windows", "wsl") else "linux"
    subjects = ("Linux", "amdgpu driver") if kind == "linux" else ()
    facts = [fact for fact in matrix.facts if fact.subject in subjects or of in fact.subject.lower().split()]
    if kind == "linux" and of != "linux":
        facts = [fact for fact in facts if of in f"{fact.subject} {fact.words}".lower() and version in fact.words]
    facts.sort(key=lambda fact: sort_key(fact.rocm), reverse=True)
    condition = {"windows": ("platform", "windows"), "wsl": ("wsl", "yes")}.get(of, ("os", f"*{of}*"))
    steps = [one for one in catalog_of(matrix).steps if kind in one.systems and not one.gfx and not one.kinds]
    first: list[str | Command] = []
    for step in steps:
        first += [step.words, *map(Command, step.commands)]
    last = max((support.until for support in matrix.support if support.os == kind and support.grade == "official"), key=sort_key)
    name = f"{thing.entry.name} {version}".strip()
    known_of = f"{count(len(facts), 'statement')}, the newest first" if facts else "which ROCm releases support it is not known"
    return Page(
        f"{name}: {known_of}",
        (
            section("GPUs", f"AMD lists up to ROCm {last}: {', '.join(list_targets(matrix, kind, last))}" if of == kind else ""),
            section("works", *map(state_fact, facts), short=MANY),
            section("see", *([] if facts else [Command(f"rocm-doctor explain {thing.entry.name if version else 'Linux'}")])),
            section("first", *first),
            section("install", *plan("--os", kind)),
            list_faults(
                row
                for row in matrix.rows
                if row.when.get(condition[0], "") == condition[1] or (of != "linux" and f"-{of}-" in f"-{row.key}-")
            ),
            source(facts, steps),
        ),
    )
