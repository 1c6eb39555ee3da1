"""Libraries that are built from source and do not serve the target at all, from catalog/libraries.yaml."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from rocm_doctor import versions
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Environment, Place, Requirement, Setting, Target
from rocm_doctor.lint.rules.findings import found
from rocm_doctor.lint.rules.indexes import meant
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding, Grade


class Accepted(msgspec.Struct, frozen=True):
    """The GPUs that the build of some versions takes; it stops at any other. `versions`: empty for the default branch."""

    versions: str
    gfx: tuple[str, ...]


class Library(msgspec.Struct, frozen=True):
    """A library. `gfx`: the GPUs that it may serve, empty for all; `variable`: the list of GPUs that its build takes, where it has one
    of its own; `wheel`: it usually comes as a wheel, for which that list says nothing; `accepted`: by version of its `repository`, for a list that
    other builds take as well.
    """

    name: str
    packages: frozenset[str]
    sources: tuple[str, ...]
    grade: Grade
    checked: str
    gfx: tuple[str, ...] = ()
    variable: str = ""
    wheel: bool = False
    repository: str = ""
    accepted: tuple[Accepted, ...] = ()

    def takes(self, r: Requirement) -> tuple[str, ...]:
        """The GPUs that the build of a revision takes; empty where that is not known."""
        if f"/{self.repository}".lower() not in r.url.lower():
            return ()
        revision = _REVISION.search(r.url.partition("#")[0])
        version = r.spec.removeprefix("==") or (revision[1].removeprefix("v") if revision else "")
        known = versions.parse(version) is not None
        fits = (one.gfx for one in self.accepted if (known and one.versions and versions.contains(one.versions, version)))
        default = (one.gfx for one in self.accepted if not one.versions and version in ("", "main"))
        return next(fits, ()) or next(default, ())

    @property
    def always(self) -> set[str]:
        """The GPUs that every version takes."""
        return set.intersection(*({*one.gfx} for one in self.accepted))

    def serves(self, gpu: str) -> bool:
        """True if no source says that it fails on a GPU."""
        return not self.gfx or gpu in self.gfx


_REVISION = regex(r"@([\w.-]+)$")


def from_source(environment: Environment, s: Setting, matrix: Matrix) -> Iterator[tuple[Library, Requirement]]:
    """The libraries that an environment builds from their repository, and whose build takes a list of GPUs that others take as well."""
    for one in matrix.section("libraries", Library):
        if one.accepted and one.variable == s.name:
            asked = (r for step in environment.steps for r in step.requirements if r.name in one.packages)
            yield from ((one, r) for r in asked if r.from_git)


def refuses(environment: Environment, s: Setting, target: Target, matrix: Matrix) -> bool:
    """True if a build that takes a list of GPUs is not known to take the target's: it is no remedy to add it. Of a revision that is not known,
    it takes what every version does.
    """
    return any(target.gpu not in (one.takes(r) or one.always) for one, r in from_source(environment, s, matrix))


def source_takes(r: Requirement, matrix: Matrix) -> tuple[str, ...]:
    """The GPUs that the build of a library from its own repository takes; empty where that is not known."""
    return next((one.takes(r) for one in matrix.section("libraries", Library) if one.accepted and r.name in one.packages), ())


def built_by(s: Setting, matrix: Matrix) -> Library | None:
    """The library whose build a variable is of."""
    return next((one for one in matrix.section("libraries", Library) if one.variable == s.name and not one.accepted), None)


def unserved(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """A library in an environment for AMD that has no code for the target, whatever it is built for."""
    for one in matrix.section("libraries", Library) if target.gpu in matrix.gfx and environment.purpose.kind == "amd" else ():
        places = list(_places(one, environment, target))
        if places and not one.serves(target.gpu):
            yield found(
                matrix,
                "arch.not-in-build",
                environment,
                target,
                places,
                row="",
                severity="warning",
                title=f"{one.name} does not serve {target.gpu}",
                cause=f"Its build for {target.gpu} fails, whatever list of GPUs it is given.",
                advice=f"Leave {one.name} out of the environment for this GPU.",
                sources=one.sources,
            )


def _places(one: Library, environment: Environment, target: Target) -> Iterator[Place]:
    yield from (s.place for s in environment.variables if s.name == one.variable)
    for step in environment.steps:
        yield from (r.place for r in step.requirements if r.name in one.packages and r.from_git and meant(r, target))
