"""What keeps an environment for AMD from being installed as it is declared: extras that uv refuses together, builds in isolation."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_doctor import versions
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import REQUIRES_PYTHON, Environment, ReadProblem, Target
from rocm_doctor.lint.rules.findings import found
from rocm_doctor.lint.rules.indexes import admits, admits_python, meant, pinned, wanted
from rocm_doctor.lint.rules.requires_torch import pinning
from rocm_doctor.lint.rules.torch_state import last_state
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding

_ELSEWHERE = regex(r" is in (.+) and not in .+, which")
_CONFLICTS = "https://docs.astral.sh/uv/concepts/projects/config/#conflicting-dependencies"
_KEPT = "https://peps.python.org/pep-0668"
_REQUIRES_PYTHON = "https://packaging.python.org/en/latest/specifications/core-metadata/#requires-python"
_ISOLATION = "https://pip.pypa.io/en/stable/reference/build-system/#build-isolation"


def refused_together(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """An extra for AMD that pins another torch than an extra beside it: uv resolves all extras together and refuses both."""
    for step in environment.steps:
        own = next((r for r in reversed(wanted(step, target)) if r.spec.startswith("==") and "*" not in r.spec), None)
        other = next(
            (r for r in step.against if r.name == "torch" and meant(r, target) and r.spec.startswith("==") and "*" not in r.spec),
            None,
        )
        if own and other and own.spec != other.spec and not own.url and not other.url:
            yield found(
                matrix,
                "version.package-mismatch",
                environment,
                target,
                [own.place, other.place],
                row="",
                title=f"uv refuses to lock: one extra asks for torch{own.spec}, another for torch{other.spec}",
                cause="uv resolves all extras together unless its table of conflicts tells them apart.",
                advice="Name the two extras in [tool.uv] conflicts.",
                commands=(),
                sources=(_CONFLICTS,),
            )


def at_odds(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """A pinned package that requires another torch than the one that the same command asks for: pip finds no solution."""
    for step in environment.steps:
        asked = [r for r in wanted(step, target) if not r.url and r.spec]
        for r, torch in pinning((r for r in step.requirements if meant(r, target)), matrix) if not step.no_deps else ():
            other = next((one for one in asked if not admits(one.spec, torch)), None)
            if other and step.tool in ("pip", "uv"):
                yield found(
                    matrix,
                    "version.package-mismatch",
                    environment,
                    target,
                    [r.place, other.place],
                    row="",
                    title=f"{r.name} {pinned(r.spec)} requires torch=={torch}, and torch{other.spec} is asked for",
                    cause="pip finds no release of torch that satisfies both, and installs nothing.",
                    advice=f"Take {r.name} out of {r.place.words}, or ask for a release of it that goes with the torch.",
                    commands=(),
                    sources=(f"https://pypi.org/project/{r.name}/{pinned(r.spec)}/",),
                )


def kept_python(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """An image whose pip is that of a system which keeps its Python for its own packages."""
    if environment.managed is not None:
        yield found(
            matrix,
            "version.package-mismatch",
            environment,
            target,
            [environment.managed, *([environment.image.place] if environment.image else [])],
            row="",
            severity="error"
            if environment.image and "rocm/" not in environment.image.value
            else "warning",  # AMD's image may change
            title="pip refuses to install: externally-managed-environment",
            cause="The image's system keeps its Python for its own packages, and its pip installs nothing beside them.",
            advice="Make a virtual environment, or give pip --break-system-packages.",
            sources=(_KEPT,),
        )


def starts_another_python(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """An image that is started with another Python than the one that pip installs for."""
    own, starts = environment.python, environment.starts
    if own and starts and any(step.tool == "pip" and step.requirements for step in environment.steps):
        yield found(
            matrix,
            "version.package-mismatch",
            environment,
            target,
            [starts.place, own.place],
            row="",
            title=f"pip installs for Python {own.value}, and the image starts Python {starts.value}",
            cause=f"apt's python3-pip is run by the Python of the system, whatever `python` is linked to: Python {starts.value} finds none of the packages.",
            advice=f"Install by the Python that is started (python{starts.value} -m pip install ...), or start python3.",
            sources=("https://packages.ubuntu.com/jammy/all/python3-pip/filelist",),
        )


def refused_python(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """A project that the Python of the image, or of the environment that commands make, is too old or too new for."""
    own = environment.python
    if own is None or own.name == REQUIRES_PYTHON or not own.value[:1].isdigit():
        return
    for step in environment.steps:
        allowed = step.pythons
        if allowed and not admits_python(allowed.value, own.value):
            yield found(
                matrix,
                "version.python-unsupported",
                environment,
                target,
                [allowed.place, own.place],
                row="",
                title=f"the project requires Python {allowed.value}, and {own.value} installs it",
                cause="pip refuses a project whose requires-python leaves the interpreter out.",
                advice=f"Install it with a Python in {allowed.value}: take an image, or make an environment, that has one.",
                sources=(_REQUIRES_PYTHON,),
            )


def isolated_build(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """A project that pip builds with a torch of the package index, beside the ROCm torch of an environment for AMD."""
    state = last_state(environment, matrix, target)
    for step in environment.steps if state and state[2].build == "rocm" else ():
        if step.builds is not None:
            yield found(
                matrix,
                "version.torch-not-rocm",
                environment,
                target,
                [step.builds],
                row="",
                severity="warning",
                title="pip builds the project with a torch of the default package index, a CUDA build",
                cause="The project asks for torch to be built with, and pip builds in an environment of its own.",
                advice="Install it with --no-build-isolation once the ROCm torch is there.",
                sources=(_ISOLATION,),
            )


def ends_build(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """What ends the build of an image: a list that no COPY brings before it is installed, a stage that is not there, words for a shell in a COPY."""
    for problem in environment.unresolved:
        if why := _why(problem):
            cause, advice, source = why
            yield found(
                matrix,
                "repo.unreadable",
                environment,
                target,
                [problem.place],
                severity="error",
                title=problem.message,
                cause=cause,
                advice=advice,
                sources=(source,),
            )


_OF_COPY = "https://docs.docker.com/reference/dockerfile/#copy"
_ENDS = {
    "stage": (
        "The build ends there: Docker does not find the target stage.",
        "Name a stage of the Dockerfile, or leave the target out.",
        "https://docs.docker.com/reference/compose-file/build/#target",
    ),
    "copy": (
        "No shell reads a COPY: Docker looks for files of these names, finds none, and the build ends.",
        "Leave what is for a shell out. What may be missing is copied by a pattern beside a file that is there.",
        _OF_COPY,
    ),
    "gone": (
        "COPY finds no such file in the folder of the build, and the build ends. No other text of the repository names it.",
        "Add it to the repository, or leave it out of the COPY.",
        _OF_COPY,
    ),
}


def _why(problem: ReadProblem) -> tuple[str, str, str] | None:
    """Why a problem ends the build, what to do, and who says so; None for one that does not."""
    if problem.about != "absent":
        return _ENDS.get(problem.about)
    folder, _, name = problem.message.split()[0].rpartition("/")
    if elsewhere := _ELSEWHERE.search(problem.message):
        cause = "COPY brings nothing from outside of that folder"
        advice = f"Build the image from {elsewhere[1]}, with {problem.place.file} as its Dockerfile."
    else:
        cause = "No COPY before the line brings it"
        advice = f"Add COPY {name} {folder or '.'}/ above the RUN with {problem.place.words}."
    return f"{cause}, so pip finds no such file and the build ends.", advice, _OF_COPY


def undefined(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """A command that asks for an extra or a group that its project does not define."""
    asked = {r.name: pinned(r.spec) for step in environment.steps for r in step.requirements}
    for step in environment.steps:
        first, sources = _REFUSES.get(step.tool, ("", ()))
        ignores = asked.get(step.tool) and versions.sort_key(asked[step.tool]) < versions.sort_key(first)
        if step.lacks and not step.guarded and not ignores:
            yield found(
                matrix,
                "version.wheel-missing",
                environment,
                target,
                [step.place],
                row="",
                title=f"{step.tool} {STOPS_FOR}{step.lacks}",
                cause=f"{step.tool} ends with an error and installs nothing.",
                advice="Define it in the project, with torch from a ROCm index, and lock again; or do not ask for it.",
                sources=sources,
            )


def left_out(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """An extra for GPUs that a project does not define: pip installs the project without it."""
    for step in environment.steps if environment.purpose.kind == "amd" else ():
        if step.without:
            yield found(
                matrix,
                "version.wheel-missing",
                environment,
                target,
                [step.place],
                row="",
                severity="warning",
                title=f"pip installs the project without {step.without}",
                cause="pip warns of an extra that it does not find, and goes on without what the extra was to bring.",
                advice="Define the extra in the project, or do not ask for it.",
                sources=("https://github.com/pypa/pip/issues/12516",),
            )


STOPS_FOR = "stops: it is asked for "
"""Part of the title."""
# The first release of each tool that does; those before it go on without a word.
_REFUSES = {
    "uv": ("0.6", ("https://github.com/astral-sh/uv/issues/10597",)),
    "poetry": ("1.5", ("https://github.com/python-poetry/poetry/issues/7303",)),
}
