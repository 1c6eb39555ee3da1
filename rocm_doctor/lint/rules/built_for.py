"""Build targets that leave the target's GPU out: variables of builds, indexes and archives that are for one GPU or family."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import msgspec

from rocm_doctor import versions
from rocm_doctor.binaries.targets import covers
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.advice import on_torch
from rocm_doctor.lint.declared import OVERRIDE, Environment, Index, Place, Setting, Step, Target
from rocm_doctor.lint.environments.purpose import is_hosted
from rocm_doctor.lint.environments.words import holds
from rocm_doctor.lint.rules.addresses import holds_nothing
from rocm_doctor.lint.rules.findings import found
from rocm_doctor.lint.rules.indexes import FAMILY, Torch, known_index
from rocm_doctor.lint.rules.libraries import Library, built_by, refuses
from rocm_doctor.lint.rules.torch_state import last_state
from rocm_doctor.matrix import Matrix
from rocm_doctor.matrix.types import Override
from rocm_doctor.model import Fact, Finding, Severity
from rocm_doctor.rules.arch import sibling_override
from rocm_doctor.rules.build import build_of

_VARIABLE = regex(r"(?:^|_)(?:GFX\w*|(?:ROCM_|GPU_|HIP_)?ARCHS?|(?:AMD)?GPU_TARGETS?|TARGETS|ARCHITECTURES)$", re.I)
_LIST = regex(r"gfx[0-9a-fx]+(?:-generic)?(?::[a-z+:-]+)*(?:[;,\s]+gfx[0-9a-fx]+(?:-generic)?(?::[a-z+:-]+)*)*[;,]?", re.I)
_IN_INDEX = regex(r"/(gfx[0-9a-f]+X?)(?:-[\w-]+)?(?:/|$)")
_SOURCE = "https://github.com/ROCm/TheRock/blob/main/RELEASES.md"


def built_for(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """A build, or an index, that has no code for the target."""
    if not target.gpu:
        return
    # Of a library that does not serve the GPU at all, the list of GPUs is not what is wrong.
    # Where it comes as a wheel, the list has no effect.
    left = [
        s
        for s in leaving_out(environment, target)
        if ((library := built_by(s, matrix)) is None or _is_built(s, library, environment, target))
        and not refuses(environment, s, target, matrix)
        and not any(_names(s, index) for step in environment.steps for index in step.indexes)
    ]
    # Where another of its builds has code for the GPU, what leaves it out is a part that may do without, by its maker's choice.
    serving = [s for s in lists(environment) if covers(targets_of(s), target.gpu)]
    # A job builds for the GPU of its own runner or for a release, a default is one until the caller gives another.
    given = {(s.name, s.value) for s in environment.variables if s.default}
    remedies = " ".join(dict.fromkeys(_remedy(s, target) for s in left if not s.name.islower() and not _is_handed(s, left)))
    # What a service is given when it runs, its image was built without.
    runs = environment.sort == "service" and not environment.steps
    compiled = not runs and (environment.compiles or _from_archive(environment, matrix))
    # A torch without code for the GPU comes first: what is built beside it follows.
    indexed = any(_is_for_other(index, target) for step in environment.steps for index in step.indexes)
    for s in left:
        one = _left_out(environment, target, matrix, s.place, f"{s.name}={s.value}", remedies or _remedy(s, target))
        # A name in lower case is of the script itself; what a script of a hosted job builds for is a part of a release; and beside ready
        # wheels a list has no effect.
        part = any(other.name != s.name or _of_one_command(s) for other in serving)
        spared = indexed or (part and target.place is None)
        note = spared or s.name.islower() or (is_hosted(environment) and s.place.file != environment.place.file) or not compiled
        aside = note or bool(s.argument) or part or environment.sort == "job" or (s.name, s.value) in given
        weight: Severity = "note" if note else "warning"
        yield msgspec.structs.replace(one, severity=weight) if aside else _choice(one, target)
    seen: set[str] = set()
    state = last_state(environment, matrix, target)
    known = state is not None and (build := build_of(matrix, state[2].local)) is not None and bool(build.gfx)
    for step in environment.steps:
        yield from (_choice(one, target) for one in _devices(step, environment, target, matrix))
        for index in step.indexes:
            if holds_nothing(index):
                continue
            from_it = state is None or not _from_elsewhere(state[0], state[2], index)
            if not known and from_it and index.url not in seen and (old := _too_old(index.url, environment, target, matrix)):
                seen.add(index.url)
                torch = on_torch(environment, target, matrix, state[0], state[2]) if state else ""
                advice = f"Take the index of a newer ROCm. {torch}".rstrip()
                one = _left_out(environment, target, matrix, index.place, f"the index {index.url}", advice)
                if not any(r.name in FAMILY for r in step.requirements):  # whether any torch comes from it is not known
                    one = msgspec.structs.replace(one, severity="warning")
                yield _by_override(one, other) if (other := _sibling(old, target, matrix)) else one
            if index.url not in seen and (named := _is_for_other(index, target)):
                seen.add(index.url)
                words = f"the index {index.url}, for {named},"
                torch = on_torch(environment, target, matrix, state[0], state[2]) if state and from_it else ""
                advice = " ".join(filter(None, (f"Take an index that serves {target.gpu}.", torch, remedies if compiled else "")))
                yield _choice(_left_out(environment, target, matrix, index.place, words, advice), target)


def _names(s: Setting, index: Index) -> bool:
    """True if the address of an index is made with the GPU of a variable: of which GPUs there is another, the variable does not know."""
    return not takes_list(s) and f"/{s.value.strip()}/" in f"{index.url}/"


def _is_handed(s: Setting, among: list[Setting]) -> bool:
    """True if a list is given the value of another variable: that one is to be changed."""
    return any(re.search(rf"\$\{{?{re.escape(other.name)}\b", s.place.quote) for other in among if other.name != s.name)


def _of_one_command(s: Setting) -> bool:
    """True if a list is given to one command alone: `NAME=list python setup.py install`."""
    return (
        re.search(
            rf"(?:ENV|ARG|export)\b.*\b{re.escape(s.name)}\b|^{re.escape(s.name)}=(?:\"[^\"]*\"|\S*)(?: \\)?$", s.place.quote
        )
        is None
    )


def _from_elsewhere(step: Step | None, torch: Torch, index: Index) -> bool:
    """True if the torch that counts is no ROCm build, comes with the image, or from another index: this one is asked for what goes beside it."""
    if torch.build in ("cuda", "cpu"):
        return True
    return torch.build == "rocm" and (step is None or (torch.origin is not None and torch.origin.url != index.url))


def _is_for_other(index: Index, target: Target) -> str:
    """The GPU or family that an index is for, where the target's is another; else empty."""
    named = _IN_INDEX.search(index.url)
    return named[1] if named and not holds_nothing(index) and not _of_family(named[1], target.gpu) else ""


def _from_archive(environment: Environment, matrix: Matrix) -> bool:
    """True if an environment asks for a package that pip builds: from a repository, or one without wheels."""
    asked = [r for step in environment.steps for r in step.requirements]
    return any(r.from_git or r.url.endswith(".tar.gz") or r.name in matrix.once(_archives) for r in asked)


def _archives(matrix: Matrix) -> frozenset[str]:
    from rocm_doctor.plan.catalog import known

    return frozenset(name for name, one in known(matrix).packages.items() if any(release.built for release in one.releases))


def _is_built(s: Setting, library: Library, environment: Environment, target: Target) -> bool:
    """True if a library serves the GPU and is built from source, as far as the environment says."""
    asked = [r for step in environment.steps for r in step.requirements if r.name in library.packages]
    from_source = any(r.url for r in asked) or (not asked and (not library.wheel or f"-D{s.name}" in s.place.quote))
    return library.serves(target.gpu) and from_source


def _devices(step: Step, environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """A torch that is asked for with the device packages of other GPUs alone, as in `torch[device-gfx1151]`."""
    for r in step.requirements:
        named = [extra for extra in r.extras if extra.startswith("device-")]
        if r.name == "torch" and named and not {"device-all", f"device-{target.gpu}"} & {*named}:
            what = f"torch[{','.join(named)}]"
            yield _left_out(environment, target, matrix, r.place, what, f"Ask for torch[device-{target.gpu}].")


# Those that take a list; what else names one GPU takes one.
_LISTS = regex(r"PYTORCH_ROCM_ARCH|GPU_ARCHS|(?:AMD)?GPU_TARGETS|CMAKE_HIP_ARCHITECTURES|HIP_ARCHITECTURES")


_DECLARES = regex(r"SUPPORT|ALLOW|VALID", re.I)


def takes_list(s: Setting) -> bool:
    """True if a variable holds several GPUs, or is known to take them."""
    return len(targets_of(s)) > 1 or _LISTS.fullmatch(s.name) is not None


def with_gpu(s: Setting, gpu: str) -> str:
    """The value that serves another GPU: added to a list in the list's own form, or in place of the one."""
    value = s.value.strip().strip(";,")
    mark = next((m[0] for m in [re.search(r"[;,]\s*|\s+", value)] if m), ";")
    return f"{value}{mark}{gpu}" if takes_list(s) else gpu


def _remedy(s: Setting, target: Target) -> str:
    if _DECLARES.search(s.name):
        return "The project says which GPUs this part is for: on others it has to be left out."
    value = with_gpu(s, target.gpu)
    if s.argument:
        quotes = '"' if re.search(r"[;\s]", value) else ""
        return f"It is the default of a build argument: build with --build-arg {s.argument}={quotes}{value}{quotes}."
    if given := re.match(rf"(?:export |readonly )?{re.escape(s.name)}=[\"']?\$\{{(\d):?[-=]", s.place.quote):
        return f"It is the default of argument {given[1]} of {s.place.file}: give {shlex.quote(value)} as that argument."
    return f"Add {target.gpu} to {s.name}." if takes_list(s) else f"Set {s.name} to {value} for this GPU."


def _choice(one: Finding, target: Target) -> Finding:
    """What is built for named GPUs is meant for those: it is wrong only where the repository itself declares the target."""
    return one if target.place else msgspec.structs.replace(one, severity="warning")


def leaving_out(environment: Environment, target: Target) -> Iterator[Setting]:
    """The variables of builds whose targets cover neither the target's GPU nor the one that its override names."""
    for s in lists(environment) if target.gpu else ():
        if covers(targets_of(s), target.gpu) is False and covers(targets_of(s), target.gpu, override_of(environment)) is not True:
            yield s


def override_of(environment: Environment) -> str | None:
    """The override that an environment sets; None for none."""
    return next((s.value for s in reversed(environment.variables) if s.name == OVERRIDE and s.value), None)


def without_override(environment: Environment) -> str:
    """That the override of an environment goes: with it the GPU does not load the code that it would then have. Empty where none is set."""
    places = dict.fromkeys(s.place.words for s in environment.variables if s.name == OVERRIDE and s.value.strip())
    return f"Take {OVERRIDE} out of {' and '.join(places)} then: the GPU has code of its own." if places else ""


def lists(environment: Environment) -> Iterator[Setting]:
    """The variables of an environment that list build targets."""
    for s in environment.variables:
        if _VARIABLE.search(s.name) and _LIST.fullmatch(s.value.strip()) and "OVERRIDE" not in s.name:
            yield s


def targets_of(s: Setting) -> tuple[str, ...]:
    """The GPUs in a list of build targets."""
    return tuple(re.split(r"[;,\s]+", s.value.strip().strip(";,").lower()))


_OF_PYTORCH = regex(r"download\.pytorch\.org/whl/(?:nightly/|test/)?rocm(\d+\.\d+(?:\.\d+)?)")


def _too_old(url: str, environment: Environment, target: Target, matrix: Matrix) -> tuple[str, ...]:
    """The GPUs of an index of PyTorch for a ROCm release, if no known build of it, nor of any release before it, has code for the GPU
    or for the one that the environment makes of it.
    """
    named = _OF_PYTORCH.search(url)
    if named is None or not known_index(matrix, named[1]):
        return ()  # that there is no such index is said
    built = sorted((b for b in matrix.torch if b.gfx and versions.parse(b.rocm)), key=lambda b: versions.sort_key(b.rocm))
    upto = [b for b in built if versions.sort_key(b.rocm) <= versions.sort_key(named[1] + ".99")] or built[:1]
    served = tuple(dict.fromkeys(gfx for b in upto for gfx in b.gfx))
    return () if target.gpu in served or covers(served, target.gpu, override_of(environment)) else served


def _sibling(served: tuple[str, ...], target: Target, matrix: Matrix) -> Override | None:
    return sibling_override(matrix.gfx.get(target.gpu), Fact(served), matrix)


def _by_override(one: Finding, other: Override) -> Finding:
    """A build that leaves the GPU out and holds code that it runs with an override, which whoever starts the program may set."""
    advice = f"Set {OVERRIDE}={other.value} where the program is started, or take the index of a newer ROCm."
    return msgspec.structs.replace(one, severity="warning", advice=advice, sources=other.sources)


def indexed_for(url: str, gpu: str) -> bool:
    """True if an index is called by the GPU, or by the family that it belongs to."""
    named = _IN_INDEX.search(url)
    return named is not None and _of_family(named[1], gpu)


def targets_of_index(url: str, matrix: Matrix) -> tuple[str, ...]:
    """The GPUs that an index is for, where it is called by one or by a family; empty for any other."""
    named = _IN_INDEX.search(url)
    return tuple(gpu for gpu in matrix.gfx if _of_family(named[1], gpu)) if named else ()


def gpu_of_index(url: str) -> str:
    """The GPU that an index is called by; empty for one of a family, or of all."""
    named = _IN_INDEX.search(url)
    return named[1] if named and "X" not in named[1] else ""


def _of_family(name: str, gpu: str) -> bool:
    """True if a GPU belongs to the family that an index is called by: gfx110X holds gfx1100 to gfx1103."""
    return holds((name.replace("X", "*").lower(),), gpu) or name.lower() == gpu


def _left_out(environment: Environment, target: Target, matrix: Matrix, place: Place, what: str, advice: str) -> Finding:
    return found(
        matrix,
        "arch.not-in-build",
        environment,
        target,
        [place],
        row="",
        title=f"{what} leaves out {target.gpu}",
        cause=f"What is built or installed with it has no code for {target.gpu}: its kernels end in `invalid device function`.",
        advice=advice,
        sources=(_SOURCE,),
    )
