"""Packages that do not go together: two that write the same files, and a wheel that is for another Python or system."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from rocm_doctor.lint.declared import Environment, Requirement, Target
from rocm_doctor.lint.environments.words import words_of
from rocm_doctor.lint.rules.companions import own_or_asked
from rocm_doctor.lint.rules.findings import found
from rocm_doctor.lint.rules.indexes import applies, tagged, tags_of
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding, Grade


class _Same(msgspec.Struct, frozen=True):
    """Distributions of one Python package, from catalog/same_files.yaml."""

    name: str
    amd: tuple[str, ...]
    others: tuple[str, ...]
    sources: tuple[str, ...]
    grade: Grade
    checked: str


def same_files(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """A distribution for AMD GPUs with one for other hardware beside it or after it."""
    if environment.purpose.kind != "amd":
        return
    for package in matrix.section("same_files", _Same):
        ours: Requirement | None = None
        other: Requirement | None = None
        for step in environment.steps:
            other = None if other and other.name in step.removed else other
            for r in step.requirements:
                if applies(r.marker, target):
                    ours = r if r.name in package.amd else ours
                    other = r if r.name in package.others else other
        if ours and other:
            yield found(
                matrix,
                "version.package-mismatch",
                environment,
                target,
                [other.place, ours.place],
                row="",
                severity="warning",
                title=f"{other.name} and {ours.name} write the same files",
                cause=f"Both are the Python package {package.name}: what is installed last overwrites the other, and parts of both are left.",
                advice=f"Leave {other.name} out: {ours.name} takes its place.",
                commands=(),
                sources=package.sources,
            )


_SYSTEMS = frozenset(("win", "windows", "win32", "win64", "mac", "macos", "osx", "darwin"))
_TAGS = "https://packaging.python.org/en/latest/specifications/platform-compatibility-tags"


def other_wheels(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """Wheels that are named by their addresses and that pip refuses: they are for another Python, or for another system."""
    there = msgspec.structs.replace(target, python=own_or_asked(environment, target))
    elsewhere = bool(set(words_of(environment.place.file.rsplit("/", 1)[-1])) & _SYSTEMS)
    refused: dict[tuple[bool, str], list[Requirement]] = {}
    for step in environment.steps:
        asked = [r for r in step.requirements if applies(r.marker, there)]
        fit = {r.name for r in asked if tagged(r.url, there)}
        for r in asked:
            python, system = tags_of(r.url)
            if r.name in fit or r.marker or "$" in r.place.quote:  # a branch may have set the variable
                continue
            other_system = tagged(r.url, msgspec.structs.replace(there, python="")) is False
            if not (other_system and elsewhere):
                refused.setdefault((other_system, system if other_system else f"{python[2:3]}.{python[3:]}"), []).append(r)
    for (other_system, tag), wheels in refused.items():
        yield _refused(environment, there, target, matrix, other_system, tag, wheels)


def _refused(
    environment: Environment,
    there: Target,
    target: Target,
    matrix: Matrix,
    other_system: bool,
    tag: str,
    wheels: list[Requirement],
) -> Finding:
    """The wheels that pip refuses for one and the same tag of their names."""
    names = list(dict.fromkeys(r.name for r in wheels))
    several = f"{', '.join(names[:3])}{f' and {len(names) - 3} more' if len(names) > 3 else ''}"
    of = f"the wheel{'s' if names[1:] else ''} of {several}"
    own = environment.python if not other_system else None
    ends = wheels[0].url.rsplit("/", 1)[-1].split("#")[0].split("?")[0].partition("-")[2]
    first = f"Its name ends in {ends}: pip refuses it" if not names[1:] else "By the tags in their names pip refuses them"
    return found(
        matrix,
        "version.wheel-missing" if other_system else "version.python-unsupported",
        environment,
        target,
        [*(r.place for r in wheels), *([own.place] if own else [])],
        row="",
        severity="error" if own else "warning",
        title=f"{of} {'are' if names[1:] else 'is'} for {tag if other_system else f'CPython {tag}'}",
        cause=first + ("." if other_system else f" with Python {there.python}."),
        advice=f"Take the wheel for {target.platform}."
        if other_system
        else f"Take {of} for Python {there.python}, or Python {tag}.",
        sources=(_TAGS,),
    )
