"""Libraries that are built from source and do not serve the target at all, from catalog/libraries.yaml."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from rocm_doctor.lint.declared import Environment, Place, Setting, Target
from rocm_doctor.lint.rules.findings import found
from rocm_doctor.lint.rules.indexes import meant
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding, Grade


class Library(msgspec.Struct, frozen=True):
    """A library. `gfx`: the GPUs that it may serve, empty for all; `variable`: the list of GPUs that its build takes, where it has one
    of its own; `wheel`: it usually comes as a wheel, for which that list says nothing.
    """

    name: str
    packages: frozenset[str]
    sources: tuple[str, ...]
    grade: Grade
    checked: str
    gfx: tuple[str, ...] = ()
    variable: str = ""
    wheel: bool = False

    def serves(self, gpu: str) -> bool:
        """True if no source says that it fails on a GPU."""
        return not self.gfx or gpu in self.gfx


def _libraries(matrix: Matrix) -> tuple[Library, ...]:
    return msgspec.json.decode(matrix.raw.get("libraries", b"[]"), type=tuple[Library, ...])


def built_by(s: Setting, matrix: Matrix) -> Library | None:
    """The library whose build a variable is of."""
    return next((one for one in matrix.once(_libraries) if one.variable == s.name), None)


def unserved(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """A library in an environment for AMD that has no code for the target, whatever it is built for."""
    for one in matrix.once(_libraries) if target.gpu in matrix.gfx and environment.purpose.kind == "amd" else ():
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
        yield from (
            r.place for r in step.requirements if r.name in one.packages and r.url.startswith("git+") and meant(r, target)
        )
