"""What a package needs beside it from a release on that an advice goes past."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from rocm_doctor import versions
from rocm_doctor.lint.declared import Environment, Requirement
from rocm_doctor.lint.rules.indexes import pinned
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Grade


class _Moved(msgspec.Struct, frozen=True):
    """A release that moved a part into another package, from catalog/moved.yaml. `torch`: the one that each release of that package is built
    against, both by their first two numbers.
    """

    name: str
    since: str
    what: str
    needs: str
    sources: tuple[str, ...]
    grade: Grade
    checked: str
    torch: dict[str, str] = msgspec.field(default_factory=dict)


def needed_beside(environment: Environment, torch: str, proposed: Mapping[str, str], matrix: Matrix) -> Iterator[str]:
    """Sentences on what the proposed releases need that the environment does not ask for, where its torch is of before that. `proposed`: versions by name."""
    there = {r.name for step in environment.steps for r in step.requirements}
    for one in matrix.section("moved", _Moved):
        version = proposed.get(one.name, "")
        past = version and versions.sort_key(version) >= versions.sort_key(one.since)
        if past and torch and versions.sort_key(torch) < versions.sort_key(one.since) and one.needs not in there:
            yield f"{one.name} {one.since} and later {one.what}: install {one.needs} as well."


def built_for_another(environment: Environment, torch: str, matrix: Matrix) -> Iterator[tuple[Requirement, str]]:
    """What is pinned and was built against another torch than this one, with that torch."""
    series = versions.series(torch)
    for one in matrix.section("moved", _Moved):
        asked = (r for step in environment.steps for r in step.requirements if r.name == one.needs and pinned(r.spec))
        for r in asked:
            own = one.torch.get(versions.series(pinned(r.spec)) or "", "")
            if own and own != series:
                yield r, own
