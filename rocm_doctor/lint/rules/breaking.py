"""What a release that is advised changes, and what it requires beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from rocm_doctor import versions
from rocm_doctor.lint.declared import Environment, Requirement
from rocm_doctor.lint.rules.indexes import admits, pinned
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Grade


class _Change(msgspec.Struct, frozen=True):
    """A breaking change of a release, from catalog/breaking.yaml. `by`: the package that does it since; `beside`: the package that it concerns, if it
    concerns one alone; `torch`: the torch that each release of `by` is built against, both by their first two numbers.
    """

    name: str
    since: str
    what: str
    sources: tuple[str, ...]
    grade: Grade
    checked: str
    by: str = ""
    beside: str = ""
    torch: dict[str, str] = msgspec.field(default_factory=dict)


def changes_of(environment: Environment, torch: str, proposed: Mapping[str, str], matrix: Matrix) -> Iterator[str]:
    """Sentences on what the proposed releases change, where the torch of the environment is of before that. `proposed`: versions by name."""
    there = {r.name for step in environment.steps for r in step.requirements}
    for one in matrix.section("breaking", _Change):
        version = proposed.get(one.name, "")
        if one.beside and one.beside not in there:
            continue
        past = version and versions.sort_key(version) >= versions.sort_key(one.since)
        if past and torch and versions.sort_key(torch) < versions.sort_key(one.since) and one.by not in there:
            yield f"From {one.since} on {one.name} {one.what}."


def built_for_another(environment: Environment, torch: str, matrix: Matrix) -> Iterator[tuple[Requirement, str]]:
    """What is pinned and was built against another torch than this one, with that torch."""
    series = versions.series(torch)
    for one in matrix.section("breaking", _Change):
        asked = (r for step in environment.steps for r in step.requirements if r.name == one.by)
        for r in asked:
            own = one.torch.get(versions.series(pinned(r.spec)) or "", "")
            if own and own != series:
                yield r, own


class _Need(msgspec.Struct, frozen=True):
    """What releases of torch require of another package, from catalog/torch_needs.yaml."""

    name: str
    torch: str
    spec: str
    sources: tuple[str, ...]
    grade: Grade
    checked: str


def left_out(environment: Environment, torch: str, matrix: Matrix) -> Iterator[tuple[Requirement, str]]:
    """What is pinned to a release that this torch does not admit, with the range that it requires."""
    needs = [one for one in matrix.section("torch_needs", _Need) if versions.contains(one.torch, torch)]
    for r in (r for step in environment.steps for r in (*step.requirements, *step.constraints)):
        version = pinned(r.spec)
        yield from ((r, one.spec) for one in needs if one.name == r.name and version and not admits(one.spec, version))
