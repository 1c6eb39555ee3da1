"""Packages none of whose admitted releases is for the Python that installs them, from catalog/wheels.yaml."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

import msgspec

from rocm_doctor import versions
from rocm_doctor.lint.declared import Environment, Requirement, Step, Target
from rocm_doctor.lint.rules.addresses import of_pytorch
from rocm_doctor.lint.rules.companions import own_or_asked
from rocm_doctor.lint.rules.findings import found
from rocm_doctor.lint.rules.indexes import admits, is_rebuild, meant, pinned, sources
from rocm_doctor.lint.rules.other_python import PYTHONS, choice
from rocm_doctor.lint.rules.other_python import Wheels as Known
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding, Grade


class _Wheels(msgspec.Struct, frozen=True):
    """A package. `first`: its first release with a wheel, by Python; `none` where it has none yet. `last`: the last one that pip takes there.
    `refused`: earlier releases that pip does not take at all, and `fails` those whose source archive does not build. `releases`: all of them, of a package that
    gets none any more."""

    name: str
    first: dict[str, str]
    sdist: bool
    sources: tuple[str, ...]
    grade: Grade
    checked: str
    last: dict[str, str] = {}
    refused: dict[str, tuple[str, ...]] = {}
    fails: dict[str, str] = {}
    releases: tuple[str, ...] = ()

    def __hash__(self) -> int:
        return hash(self.name)


def without_wheel(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """A requirement that only releases from before the first wheel for this Python, or after the last release for it, satisfy."""
    python = ".".join(own_or_asked(environment, target).split(".")[:2])
    if target.platform != "linux" or not re.fullmatch(r"3\.\d+", python):
        return
    there = msgspec.structs.replace(target, python=python)
    known = matrix.named("wheels", _Wheels)
    asked = [
        (known[r.name], r)
        for step in environment.steps
        for r in (step.requirements if step.tool != "conda" else ())
        if r.name in known and meant(r, there) and _is_of_pypi(step, r, there)
    ]
    if never := [
        (package, r) for package, r in asked if package.releases and not any(admits(r.spec, v) for v in package.releases)
    ]:
        asked = [one for one in asked if one not in never]
        yield _never_released(environment, there, matrix, never, python)
    if ended := [(package, r) for package, r in asked if _is_after(r.spec, package.last.get(python, ""))]:
        yield _for_later(environment, there, matrix, ended, asked, python)
    missing = [(package, r) for package, r in asked if _is_before(r.spec, package.first.get(python, ""))]
    stopped = [one for one in missing if _stops(*one, python)]
    if missing:
        yield _finding(environment, there, matrix, stopped or missing, asked, python, certain=bool(stopped))


def _is_of_pypi(step: Step, r: Requirement, target: Target) -> bool:
    """True if a requirement comes from the public package index: PyTorch's own has copies of its wheels."""
    asked, _ = sources(step, r.name, target)
    return not r.url and not is_rebuild(r) and all(s.public or of_pytorch(s.origin) for s in asked)


def _is_before(spec: str, first: str) -> bool:
    """True if a range admits no release from `first` on, or where none has a wheel yet."""
    if first == "none":
        return True
    if not spec or "$" in spec or not first:
        return False
    bounds = [bound.removesuffix(".*") for bound in re.findall(r"\d[\w.!*]*", spec)]
    tried = [first, "99999", *(f"{bound}{more}" for bound in bounds for more in ("", ".1"))]
    return not any(admits(spec, one) for one in tried if versions.sort_key(one) >= versions.sort_key(first))


def _is_after(spec: str, last: str) -> bool:
    """True if a range admits no release up to `last`."""
    if not spec or "$" in spec or not last:
        return False
    bounds = [bound.removesuffix(".*") for bound in re.findall(r"\d[\w.!*]*", spec)]
    tried = [last, "0", *bounds]
    return not any(admits(spec, one) for one in tried if versions.sort_key(one) <= versions.sort_key(last))


def _never_released(
    environment: Environment, target: Target, matrix: Matrix, never: Sequence[tuple[_Wheels, Requirement]], python: str
) -> Finding:
    """pip finds no release of that number for any Python."""
    package, r = never[0]
    number = re.search(r"\d+\.\d+", r.spec)
    near = [v for v in package.releases if number and f"{v}.".startswith(f"{number[0]}.")] or list(package.releases)
    others = [p for p in reversed(PYTHONS) if package.first.get(p) != "none"]
    wheels = "" if python in others or not others else f" Its last wheels are for Python {', '.join(others)}."
    return found(
        matrix,
        "version.wheel-missing",
        environment,
        target,
        [one.place for _, one in never],
        row="",
        title=f"{package.name}{r.spec}: there is no such release",
        cause=f"{package.name} gets no releases any more, and no such number is among them. The last one is {package.releases[-1]}.",
        advice=f"Ask for {package.name}=={near[-1]}.{wheels}",
        sources=package.sources,
    )


def _for_later(
    environment: Environment,
    target: Target,
    matrix: Matrix,
    ended: Sequence[tuple[_Wheels, Requirement]],
    asked: Sequence[tuple[_Wheels, Requirement]],
    python: str,
) -> Finding:
    """pip finds none of the releases that are asked for: they require a later Python."""
    lasts = ", ".join(dict.fromkeys(f"{package.name}<={package.last[python]}" for package, _ in ended))
    all_of, of_these = (
        _known(among, lambda package: f"{package.name}<={package.last.get(python, '')}") for among in (asked, ended)
    )
    return found(
        matrix,
        "version.python-unsupported",
        environment,
        target,
        [*(r.place for _, r in ended), *([environment.python.place] if environment.python else [])],
        row="",
        title=f"not for Python {python}: {_named(ended)}",
        cause=f"pip takes no release that requires a later Python. The last ones for this one: {lasts.replace('<=', ' ')}.",
        advice=choice(environment, target, matrix, all_of, of_these, later=True),
        sources=tuple(dict.fromkeys(s for package, _ in ended for s in package.sources)),
    )


def _named(asked: Sequence[tuple[_Wheels, Requirement]]) -> str:
    """The first requirements as they are written, and how many more there are."""
    names = list(dict.fromkeys(f"{r.name}{r.spec}" for _, r in asked))
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _stops(package: _Wheels, r: Requirement, python: str) -> bool:
    """True if pip certainly installs nothing: it takes no source archive, or that is known not to build there."""
    fails, version = package.fails.get(python, ""), pinned(r.spec)
    if version and any(versions.contains(run, version) for run in package.refused.get(python, ())):
        return True
    return not package.sdist or bool(
        fails and (versions.contains(fails, version) if version else _is_before(r.spec, fails.lstrip("<")))
    )


def _finding(
    environment: Environment,
    target: Target,
    matrix: Matrix,
    missing: Sequence[tuple[_Wheels, Requirement]],
    asked: Sequence[tuple[_Wheels, Requirement]],
    python: str,
    *,
    certain: bool,
) -> Finding:
    packages = list(dict.fromkeys(package for package, _ in missing))
    all_of, of_these = (_known(among, lambda package: _since(package, python)) for among in (asked, missing))
    return found(
        matrix,
        "version.python-unsupported",
        environment,
        target,
        [*(r.place for _, r in missing), *([environment.python.place] if environment.python else [])],
        row="",
        severity="error" if certain else "warning",
        confidence="high" if certain else "medium",
        title=f"no wheel for Python {python}: {_named(missing)}",
        cause=_why(packages, python, certain=certain),
        advice=choice(environment, target, matrix, all_of, of_these),
        sources=tuple(dict.fromkeys(s for p in packages for s in p.sources)),
    )


def _since(package: _Wheels, python: str) -> str:
    """What to ask for to have a wheel; empty where there is none yet."""
    first = package.first.get(python, "none")
    return f"{package.name}>={first}" if first != "none" else ""


def _known(asked: Sequence[tuple[_Wheels, Requirement]], since: Callable[[_Wheels], str]) -> list[Known]:
    """The requirements with the Pythons that have a wheel of what they ask for."""
    return [Known(r, tuple(p for p in PYTHONS if _has_wheel(package, r, p)), since(package)) for package, r in asked]


def _has_wheel(package: _Wheels, r: Requirement, python: str) -> bool:
    return not _is_before(r.spec, package.first.get(python, "")) and not _is_after(r.spec, package.last.get(python, ""))


def _why(packages: Sequence[_Wheels], python: str, *, certain: bool) -> str:
    begins = ", ".join(
        f"{p.name} has none{'' if p.releases else ' yet'}"
        if p.first[python] == "none"
        else f"{p.name} has one from {p.first[python]} on"
        for p in packages
    )
    if not certain:
        return f"{begins}. pip builds earlier releases from source, which needs compilers and may fail."
    archives = (
        "There is no source archive either."
        if not any(p.sdist for p in packages)
        else "Source archives of earlier ones do not install there."
    )
    return f"{begins}. {archives}"
