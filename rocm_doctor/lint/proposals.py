"""The torch to propose for a target inside the range that a project allows, by the same ranking as `plan`, in a file's own syntax."""

from __future__ import annotations

import shlex
from functools import lru_cache

from rocm_doctor import versions
from rocm_doctor.lint.declared import Environment, Step, Target
from rocm_doctor.lint.rules.indexes import admits, meant
from rocm_doctor.matrix import Matrix
from rocm_doctor.plan.answer import answer
from rocm_doctor.plan.catalog import System, known
from rocm_doctor.plan.commands import torch_requirements
from rocm_doctor.plan.machine import declared
from rocm_doctor.plan.stacks import Stack

_COMPANIONS = ("torchvision", "torchaudio")


class Proposal:
    """A stack of `plan` as requirement lines, with the index that they come from."""

    def __init__(self, stack: Stack, gfx: str, python: str, matrix: Matrix, system: System) -> None:
        self.index = stack.candidate.index.url
        self.version = stack.candidate.build.torch
        self.rocm = stack.candidate.build.rocm
        self._lines = torch_requirements(stack.candidate, declared(gfx, python, matrix, system))

    def arguments(self, environment: Environment | None = None) -> str:
        """The requirements as words of a shell command."""
        return " ".join(map(shlex.quote, self.requirements(environment)))

    def requirements(self, environment: Environment | None = None) -> list[str]:
        """torch, and those of torchvision and torchaudio that the environment asks for."""
        named = {r.name for step in environment.steps for r in step.requirements} if environment else set()
        return [line for line in self._lines if not line.startswith(_COMPANIONS) or line.split("=")[0].split("[")[0] in named]


_SYSTEMS: dict[str, System] = {"linux": "linux", "windows": "windows", "wsl": "wsl"}


def proposal(environment: Environment | None, target: Target, matrix: Matrix) -> Proposal | None:
    """The best stack that the environment's own ranges of torch admit; None where there is none."""
    if not target.gpu or target.os not in _SYSTEMS:
        return None
    system = _SYSTEMS[target.os]
    python = ".".join((target.python or _python(environment)).split(".")[:2])
    ranges = _ranges(environment, target) if environment else []
    stacks = _stacks(target.gpu, python, system, target.driver, id(matrix), _Held(matrix))
    series = versions.series(target.rocm) if target.rocm else None
    fit = [s for s in stacks if all(admits(spec, s.candidate.build.torch) for spec in ranges)]
    same = [s for s in fit if series is None or versions.series(s.candidate.build.rocm) == series]
    best = next(iter(same or fit), None)
    return Proposal(best, target.gpu, python, matrix, system) if best else None


class _Held:
    """A matrix as an argument that is not hashed: its id is."""

    def __init__(self, matrix: Matrix) -> None:
        self.matrix = matrix

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Held)


@lru_cache(maxsize=64)
def _stacks(gfx: str, python: str, system: System, driver: str, _matrix: int, held: _Held) -> tuple[Stack, ...]:
    return answer(declared(gfx, python, held.matrix, system, driver), known(held.matrix)).stacks


def _python(environment: Environment | None) -> str:
    value = environment.python.value if environment and environment.python else ""
    return value if value[:1].isdigit() else ""


def _ranges(environment: Environment, target: Target) -> list[str]:
    """The ranges of torch that the environment asks for; a pinned version of another build leaves the choice of one near it."""
    return [
        r.spec for step in environment.steps if step.tool != "lock" for r in step.requirements
        if r.name == "torch" and meant(r, target) and r.spec and "$" not in r.spec and not r.spec.startswith("==")
    ]  # fmt: skip


def advice(environment: Environment, step: Step | None, found: Proposal | None) -> str:
    """What to write, in the syntax of the file that declares the step."""
    if found is None:
        return "No build of the catalog serves this GPU inside the range that is asked for; `rocm-doctor plan` says what would."
    lines = found.requirements(environment)
    file = environment.place.file.rsplit("/", 1)[-1].lower()
    if environment.sort == "project" or (step and step.tool in ("lock", "poetry")):
        return _in_project(environment, found, step)
    if environment.sort == "conda" or (step and step.tool == "conda"):
        return (
            f"Take torch out of the conda packages and add to the pip section: --index-url {found.index} and {', '.join(lines)}."
        )
    if environment.sort == "image":
        return (
            f"Start from a rocm/pytorch image, or write RUN pip install {found.arguments(environment)} --index-url {found.index}."
        )
    if environment.sort == "requirements" and file.endswith((".txt", ".in")):
        return f"Add a file for ROCm beside it with these lines: --index-url {found.index}, {', '.join(lines)}."
    return f"Install torch first: pip install {found.arguments(environment)} --index-url {found.index}."


def _in_project(environment: Environment, found: Proposal, step: Step | None) -> str:
    name = f"pytorch-rocm{found.rocm.replace('.', '')}"
    if step and step.tool == "poetry":
        return f'Add a source: [[tool.poetry.source]] name = "{name}", url = "{found.index}", priority = "explicit", and torch = {{ version = "{found.version}", source = "{name}" }}.'
    if step is None or step.tool == "pip":
        return f"Say in the documentation to install torch first: pip install {found.arguments(environment)} --index-url {found.index}."
    return (
        f'Bind torch to a ROCm index: [[tool.uv.index]] name = "{name}", url = "{found.index}", and '
        f'[tool.uv.sources] torch = [{{ index = "{name}", extra = "rocm" }}], without `explicit`: what torch depends on is there too.'
        + (" Then lock again." if step and step.tool == "lock" else "")
    )
