"""Packages that an installer does not find: the only index that it is given does not hold them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from rocm_doctor import versions
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Environment, Index, Place, Requirement, Step, Target
from rocm_doctor.lint.environments.words import words_of
from rocm_doctor.lint.rules.addresses import of_pytorch
from rocm_doctor.lint.rules.findings import found
from rocm_doctor.lint.rules.indexes import FAMILY, applies, meant, pinned, sources, tags_of
from rocm_doctor.lint.rules.torch_state import is_bare
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding, Grade

# PyTorch's own packages and those of GPU platforms: new ones come with a release (triton-rocm).
_OF_TORCH = regex(r"(?:py)?torch|triton|nvidia|cuda|rocm|amd|hip|intel|onemkl|fbgemm")
# Part of the title.
ON_NO_INDEX = "not on PyTorch's index, the only one that is asked"
# What installs packages, and brings none of those that a project asks for.
_BRINGS_NOTHING = frozenset(("pip", "setuptools", "wheel", "uv", "virtualenv", "build", "packaging"))
_OPTIONS = "https://pip.pypa.io/en/stable/cli/pip_install/#cmdoption-i"


class _Held(msgspec.Struct, frozen=True):
    """A package index of catalog/held.yaml. `holds`: every name that is on one of its indexes; `alone`: packages of
    which the public package index has no later release than this."""

    name: str
    holds: frozenset[str]
    alone: dict[str, str]
    sources: tuple[str, ...]
    grade: Grade
    checked: str


def not_on_the_only_index(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """Packages that are asked of PyTorch's index alone, which holds torch and what torch depends on."""
    pytorch = matrix.named("held", _Held).get("download.pytorch.org/whl")
    there: set[str] = set()
    by_system = {s.value.removeprefix("python3-") for s in environment.apt}
    for step in environment.steps if pytorch else ():
        asked = [r for r in step.requirements if meant(r, target) and not r.url]
        by_index: dict[Index, list[Requirement]] = {}
        for r in asked if step.tool in ("pip", "uv") else ():
            index = _only(step, r.name, target)
            if index and pytorch and r.name not in {*pytorch.holds, *there} and not _OF_TORCH.match(r.name):
                by_index.setdefault(index, []).append(r)
        for index, missing in by_index.items():
            first = there <= _BRINGS_NOTHING and not any(p.about == "before" for p in environment.unresolved)
            bare = environment.image is None or is_bare(environment.image.value)
            bare = bare and not any(r.name in by_system for r in missing)
            yield _finding(environment, target, matrix, index, missing, certain=first and bare)
        there |= {r.name for r in step.requirements}


def not_on_the_public_index(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """A pinned package that PyTorch's indexes alone have, asked of the public one."""
    pytorch = matrix.named("held", _Held).get("download.pytorch.org/whl")
    for step in environment.steps if pytorch else ():
        if any(r.name == "torch" and "+rocm" in r.spec for r in step.requirements):
            continue  # the index that this torch needs has the rest as well
        for r in step.requirements if step.tool in ("pip", "uv") else ():
            last, version = pytorch.alone.get(r.name, "") if pytorch else "", pinned(r.spec)
            public = all(s.public for s in sources(step, r.name, target)[0])
            if (
                last
                and version
                and not r.url
                and meant(r, target)
                and public
                and versions.sort_key(version) > versions.sort_key(last)
            ):
                yield _missing(
                    environment,
                    target,
                    matrix,
                    [r.place],
                    title=f"{r.name} {version} is not on the public package index",
                    cause=f"Its last release there is {last}; later ones are on PyTorch's indexes for ROCm.",
                    advice="Leave the line out: torch brings its Triton from its own index.",
                    sources=(f"https://pypi.org/project/{r.name}/#history",),
                )


def on_a_disk(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """Requirements by a path of the machine on which a list was written."""
    asked = [r for step in environment.steps if step.tool in ("pip", "uv") for r in step.requirements if meant(r, target)]
    theirs = [r for r in asked if _OF_A_DISK.match(r.url)]
    if theirs:
        more = f" and {len(theirs) - 1} more" if len(theirs) > 1 else ""
        yield _missing(
            environment,
            target,
            matrix,
            [r.place for r in theirs],
            # What builds an image, a script, or an image that brings its wheels may have a file there.
            severity="error" if environment.sort == "requirements" and not all(map(_is_archive, theirs)) else "warning",
            title=f"{theirs[0].name}{more}: {ON_A_DISK}",
            cause=f"pip takes {theirs[0].name} from {theirs[0].url} alone, and stops where that is not there.",
            advice=_by_version([r.name for r in theirs]),
            sources=(_FREEZE,),
        )


_OF_CONDA = regex(r"conda(?:-.*)?|libmambapy|menuinst|anaconda-.*")


def _by_version(names: Sequence[str]) -> str:
    """What to write in place of paths: versions, but for what the package index does not have."""
    own = [name for name in names if _OF_CONDA.fullmatch(name)]
    torch = [name for name in names if name in FAMILY]
    said = [f"Leave out conda's own packages, which the package index lacks: {', '.join(own)}."] if own else []
    said.append(
        f"Name a version in place of each {'other ' if own else ''}path: `pip list --format=freeze` writes versions, where `pip freeze` writes such paths in a conda environment."
    )
    if torch:
        said.append(f"Those of {', '.join(torch)} need their local version (+rocm) and its index.")
    return " ".join(said)


def _missing(environment: Environment, target: Target, matrix: Matrix, places: list[Place], **fields: Any) -> Finding:
    return found(matrix, "version.wheel-missing", environment, target, places, row="", **fields)


def _is_archive(r: Requirement) -> bool:
    return r.url.partition("#")[0].endswith((".whl", ".gz", ".zip"))


# Part of the title.
ON_A_DISK = "from a path on the disk of another machine"
_OF_A_DISK = regex(r"file:(?:/{1,3}\w|//localhost/)")
_FREEZE = "https://packaging.python.org/en/latest/specifications/direct-url/"


class _Elsewhere(msgspec.Struct, frozen=True):
    """A package of catalog/other_systems.yaml, for which pip finds nothing on Linux: `systems` are those that have wheels, none where the
    package index has no such project. `way`: what Linux has in its place.
    """

    name: str
    systems: tuple[str, ...]
    sources: tuple[str, ...]
    grade: Grade
    checked: str
    way: str = ""


def only_system(environment: Environment, matrix: Matrix) -> str:
    """The system, other than Linux, that a list is for by its packages; empty where they leave it open, or its name says Linux."""
    named_linux = any("linux" in words_of(part) for part in environment.place.file.split("/"))
    if environment.sort != "requirements" or named_linux:
        return ""
    known = matrix.named("other_systems", _Elsewhere)
    asked = [r for step in environment.steps for r in step.requirements if not r.marker and not r.url]
    systems = {known[r.name].systems for r in asked if r.name in known and known[r.name].systems}
    return systems.pop()[0].lower() if len(systems) == 1 else ""


def not_for_linux(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """A package for other systems in an environment for AMD GPUs under Linux, without a marker that leaves it out there."""
    if environment.purpose.kind != "amd" or target.platform != "linux":
        return
    known = matrix.named("other_systems", _Elsewhere)
    for step in environment.steps if environment.os != "windows" else ():
        for r in step.requirements if step.tool in ("pip", "uv") else ():
            package = known.get(r.name)
            if (
                package
                and not r.url
                and meant(r, target)
                and all(s.public or of_pytorch(s.origin) for s in sources(step, r.name, target)[0])
            ):
                there = " and ".join(package.systems)
                yield _missing(
                    environment,
                    target,
                    matrix,
                    [r.place],
                    title=f"{r.name} has wheels for {there} only" if there else f"{r.name} is not on the package index",
                    cause="The package index has no wheel for Linux and no source archive: pip finds nothing to install."
                    if there
                    else "The package index has no project of that name: pip finds nothing to install.",
                    advice=f"Leave it out under Linux{f': there is {package.way}' if package.way else ''}."
                    if there
                    else f"Ask for {package.way} in its place.",
                    sources=package.sources,
                    grade=package.grade,
                )


_WHEELS_OF = {"win": "Windows", "macosx": "macOS"}


def wheels_of_other_systems(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """A wheel for another system, by its address, in an image, which is Linux: pip ends with an error."""
    if environment.purpose.kind != "amd" or environment.image is None or target.platform != "linux":
        return
    for step in environment.steps if environment.os != "windows" else ():
        for r in step.requirements:
            system = next((name for tag, name in _WHEELS_OF.items() if tags_of(r.url)[1].startswith(tag)), "")
            if system and applies(r.marker, target):
                yield _missing(
                    environment,
                    target,
                    matrix,
                    [r.place],
                    title=f"{r.url.rpartition('/')[2]} is a wheel for {system}",
                    cause="pip refuses a wheel whose tags are not those of the system: it is not a supported wheel on this platform.",
                    advice=f"Name a wheel of {r.name} for Linux, or leave it out of the image.",
                    sources=("https://packaging.python.org/en/latest/specifications/platform-compatibility-tags/",),
                )


def _only(step: Step, name: str, target: Target) -> Index | None:
    """The index of the PyTorch project that is the only one to be asked for a package."""
    asked, first = sources(step, name, target)
    bound = first and any(i.role == "bound" and name in i.only for i in step.indexes)
    every = asked[:1] if bound else asked
    return every[0].origin if len(every) == 1 and of_pytorch(every[0].origin) else None


def _with_default(environment: Environment, target: Target, matrix: Matrix, index: Index) -> str:
    """How the default package index is asked as well: what has no local version then comes from the index with the higher one."""
    from rocm_doctor.lint.proposals import proposal

    if (stack := proposal(environment, target, matrix)) is None:
        pinned_so = (
            f"pin torch, torchvision and torchaudio with their local versions (+rocm) so that they still come from {index.url}"
        )
        return f"Add --extra-index-url https://pypi.org/simple, and {pinned_so}."
    asked = {"torch", *(r.name for step in environment.steps for r in step.requirements)}
    lines = [line for name, line in stack.by_name.items() if name in asked]
    return f"Write --extra-index-url {stack.index} in place of the option with {index.url}, and pin what comes from there: {', '.join(lines)}."


def _finding(
    environment: Environment, target: Target, matrix: Matrix, index: Index, missing: Sequence[Requirement], *, certain: bool
) -> Finding:
    """`certain`: nothing was installed before, so that pip has to look for all of them."""
    names = ", ".join(dict.fromkeys(r.name for r in missing[:3])) + (f" and {len(missing) - 3} more" if len(missing) > 3 else "")
    return _missing(
        environment,
        target,
        matrix,
        [missing[0].place, index.place],
        severity="error" if certain else "warning",
        title=f"{names}: {ON_NO_INDEX}",
        cause="--index-url takes the place of the default package index, and PyTorch's own holds torch and what torch depends on.",
        advice=_with_default(environment, target, matrix, index),
        sources=(_OPTIONS, *matrix.named("held", _Held)["download.pytorch.org/whl"].sources),
    )
