"""What a green verdict needs: an environment that is known to bring code for the target. Finding no problem alone proves nothing."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

import msgspec

from rocm_doctor.binaries.targets import covers, overridden
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.certainty import STOPS
from rocm_doctor.lint.declared import OVERRIDE, Environment, Place, Repository, Requirement, Setting, Target
from rocm_doctor.lint.environments.words import cards, holds
from rocm_doctor.lint.readers.starts import keeps_on_cpu
from rocm_doctor.lint.rules.built_for import indexed_for, lists, targets_of
from rocm_doctor.lint.rules.images import HAS_ROCM, last_word, release_of
from rocm_doctor.lint.rules.indexes import FAMILY, Torch, meant, pinned, wanted
from rocm_doctor.lint.rules.missing import is_of_nightlies, stale_nightly
from rocm_doctor.lint.rules.torch_state import Change, image_parts, last_state
from rocm_doctor.lint.rules.unlisted import unlisted
from rocm_doctor.lint.swapped import TRITONS
from rocm_doctor.lint.weighing import in_example
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding
from rocm_doctor.rules.build import build_of
from rocm_doctor.rules.override import names_sibling


def doubts(
    repository: Repository, meant: Collection[Environment], target: Target, findings: Collection[Finding], matrix: Matrix
) -> Iterator[str]:
    """What keeps a repository without a problem from being ready for a target, the first thing first. `meant`: its environments for the target."""
    stopping = {r.artifact for f in findings if f.id in STOPS for r in f.evidence}
    question = target.gpu and open_question(meant, target, matrix, stopping)
    unread = repository.unread_windows if target.os == "windows" else repository.unread
    if question:
        yield f"what {unread.file} line {unread.line} has for AMD GPUs is not read" if unread else question
    if place := repository.on_cpu:
        yield f"no program puts torch on a GPU, as by {place.words}"
    if place := repository.lost:
        yield f"{place.words} takes a file that is not there"
    if place := repository.beyond:
        yield (
            f"what {place.words} says of GPUs is not read"
            if place.line
            else f"whether {place.file} compiles for {target.gpu} is not known"
        )
    for limit in repository.limits:
        if covers(limit.gfx, target.gpu) is False:
            yield f"{limit.place.words} names GPUs without {target.gpu}"
    if library := unlisted(repository, matrix):
        yield f"nothing installs {library.name}, which {library.place.words} imports"
    if target.os == "linux" and (only := _only_for_wsl(repository.environments)):
        yield f"{only.name} is for WSL, and no service gets /dev/kfd"
    yield from (f.title for f in findings if f.id == "arch.override-wrong")
    images = {one.place.file for one in repository.environments if one.sort == "image"}
    for s in repository.assigned:
        gpu = overridden(s.value) if s.name == OVERRIDE and not s.gfx and s.place.file in images else None
        if target.gpu and gpu not in (None, target.gpu) and not names_sibling(s.value, target.gpu, matrix):
            yield f"{s.place.words} sets {OVERRIDE}={s.value}"
    for one in meant:
        neutral = one.purpose.kind == "neutral" and one.sort in ("requirements", "project") and not in_example(one)
        if (neutral or _is_way(one)) and (open_ := _unpinned(one, target)):
            yield f"{one.name}: {open_.place.words} pins no version of {open_.name}, and what its newest release needs is not known"


def _only_for_wsl(environments: Iterable[Environment]) -> Environment | None:
    """The service for AMD GPUs under WSL, where no other one gets /dev/kfd; None where there is none."""
    services = [e for e in environments if e.sort == "service" and e.purpose.kind == "amd"]
    if any("/dev/kfd" in device for e in services for c in e.containers for device in c.devices):
        return None
    return next((e for e in services if e.os == "wsl"), None)


def open_question(environments: Iterable[Environment], target: Target, matrix: Matrix, noted: Collection[str] = ()) -> str:
    """What keeps it open whether the repository brings code for the target's GPU; empty where its environments are known to.

    It has to be a torch: whether what is compiled runs, the files do not show. One environment does not vouch for another. Where no
    file for AMD brings a ROCm torch, the way that a document tells counts if it goes on with a list for AMD; not one of those `noted`, in which something stops.
    """
    last = [(one, last_state(one, matrix, target)) for one in environments]
    meant = [(one, state) for one, state in last if _is_way(one)]
    told, alone = _told(last, meant, noted), ""
    after = {r.place.file for one, _ in told for step in one.steps for r in step.requirements}
    if any(one.place.file in after for one, _ in meant):
        meant = told + [(one, state) for one, state in meant if one.place.file not in after]
    elif told:
        alone = f"only {told[0][0].place.file} says what to install for AMD GPUs"
    unread = next(
        (f"{one.name}: {p.message}" for one, state in meant if state is None and (p := one.unread)),
        "",
    )
    unread = unread or next(filter(None, (_of_others(one) for one, state in meant if state is None)), "")
    unread = unread or next(
        (f"{one.name}: which torch it ends up with is not known" for one, state in meant if state is None and _asks(one, target)),
        "",
    )
    if any(state for _, state in (*meant, *(pair for pair in last if pair[0].sort != "text"))):
        doubts = [_doubt(one, state[2], target, matrix) for one, state in meant if state]
        served = any(state and state[2].build == "rocm" for _, state in meant)
        return next(filter(None, doubts), unread) if served else alone or "no environment ends up with a ROCm torch"
    if unread or alone:
        return unread or alone
    built = any(covers(targets_of(s), target.gpu) for one, _ in last if one.sort != "job" and not one.unread for s in _built(one))
    if built:
        return f"nothing brings a ROCm torch; whether what is built for {target.gpu} runs is not known"
    return f"nothing is known to bring code for {target.gpu}"


def _is_way(one: Environment) -> bool:
    """True for an environment that AMD users are to make: no job, no document and no example."""
    return one.purpose.kind == "amd" and one.sort not in ("job", "text") and not in_example(one)


def _asks(one: Environment, target: Target) -> bool:
    """True if an environment asks for torch, whether or not it is there in the end."""
    return any(wanted(step, target) for step in one.steps)


def _built(one: Environment) -> Iterator[Setting]:
    """The lists of GPUs that commands of an environment build for. What a container is given builds nothing of its image."""
    handed = {container.place for container in one.containers}
    given = {container.place.file for container in one.containers if container.service}
    for s in lists(one):
        if s.place not in handed and s.place.file not in given and not _HANDED.match(s.place.quote) and not one.doubts:
            yield s


_HANDED = regex(r"(?:-e|--env)[= ]")


Stated = list[tuple[Environment, Change | None]]


def _told(every: Stated, meant: Stated, noted: Collection[str]) -> Stated:
    """The ways with a ROCm torch that documents tell, where no file brings one."""
    if any(state and state[2].build == "rocm" for _, state in meant):
        return []
    ways = [(one, state) for one, state in every if one.sort == "text" and one.purpose.kind == "amd" and not in_example(one)]
    return [(one, state) for one, state in ways if state and state[2].build == "rocm" and one.place.file not in noted]


def _of_others(one: Environment) -> str:
    """A service for AMD whose image comes from elsewhere and does not say that it has ROCm."""
    image = next((c.image for c in one.containers if "$" not in c.image), "") if one.sort == "service" else ""
    return f"{one.name}: what the image {image} holds is not known" if image and not HAS_ROCM.search(image) else ""


def _doubt(one: Environment, torch: Torch, target: Target, matrix: Matrix) -> str:
    """What is not known of an environment for AMD with a ROCm torch; empty where it has code for the GPU."""
    wheels = (
        r.url.rsplit("/", 1)[-1] for step in one.steps for r in step.requirements if meant(r, target) and _is_strange(r.url)
    )
    if torch.build in ("cuda", "cpu", "none"):
        return f"{one.name} brings no ROCm torch of its own"
    if unread := one.unread:
        return f"{one.name}: {unread.message}"
    if stop := next((step.place for step in one.steps if step.opaque and step.gfx and not step.requirements), None):
        return f"{one.name}: line {stop.line} ends it for {target.gpu}"
    if doubt := next(iter(one.doubts), None):
        return f"{one.name}: {doubt.message}"
    if other := _other_branch(one, torch, target, matrix):
        return f"{one.name}: whether line {torch.place.line} or line {other.line} installs torch is not known"
    if away := next((s for s in one.variables if s.name in _VISIBLE and _hides(s.value)), None):
        return f"{one.name}: {away.name} on line {away.place.line} may hide every GPU"
    if on_cpu := next((s for s in one.config if keeps_on_cpu(s)), None):
        return f"{one.name}: line {on_cpu.place.line} starts a program on the CPU"
    alone = (step for step in one.steps if step.no_deps)
    if bare := next((r for step in alone for r in step.requirements if r.name not in FAMILY and meant(r, target)), None):
        return f"{one.name}: what {bare.name} on line {bare.place.line} needs is not installed with it (--no-deps)"
    if nightly := stale_nightly(one, target, matrix):
        return f"{one.name}: whether the nightly build on line {nightly.place.line} is still there is not known"
    if torch.origin is not None and is_of_nightlies(torch.origin.url):
        return f"{one.name}: what nightly builds {torch.origin.url} has today is not known"
    if source := next((r for step in one.steps for r in step.requirements if meant(r, target) and r.from_git), None):
        return f"{one.name}: what {source.name} on line {source.place.line} needs is not read: it comes from {source.url.removeprefix('git+')}"
    if wheel := next(wheels, ""):
        return f"{one.name}: for which GPUs {wheel} was built is not known"
    if (build := build_of(matrix, torch.local)) and matrix.needs_a_kernel(target.gpu, build.rocm):
        return f"{one.name}: not every kernel runs ROCm {build.rocm} on {target.gpu}"
    if _torch_serves(torch, target, matrix) or _names_it(one, target) or _from(one, torch, target, matrix):
        return ""
    return f"{one.name}: for which GPUs {f'torch {torch.local}' if torch.version else 'its torch'} was built is not known"


def _unpinned(one: Environment, target: Target) -> Requirement | None:
    """The first package without a pinned version that is installed beside torch; None where there is none."""
    for step in one.steps:
        fixed = {r.name for r in step.constraints if pinned(r.spec)} | {*FAMILY, *TRITONS}
        asked = (r for r in step.requirements if step.tool != "lock" and meant(r, target))
        if found := next((r for r in asked if r.name not in fixed and not r.url and not pinned(r.spec)), None):
            return found
    return None


_VISIBLE = ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL")


def _hides(value: str) -> bool:
    """True for a list of indexes that leaves out the first GPU, the only one that each machine has."""
    first = [one.strip().strip("\"'") for one in value.split(",")]
    return first in ([""], ["-1"]) or (all(map(str.isdecimal, first)) and "0" not in first)


def _other_branch(one: Environment, torch: Torch, target: Target, matrix: Matrix) -> Place | None:
    """Another branch that brings a torch for CUDA or the CPU, where the files do not settle which of them runs."""
    for step in one.steps if torch.place in one.unsure else ():
        alone = msgspec.structs.replace(one, image=None, steps=(step,))
        state = last_state(alone, matrix, target) if step.place in one.unsure else None
        if state and state[2].build in ("cuda", "cpu"):
            return step.place
    return None


_COMPILED = regex(r"^https?://(?![^/]*(?:\.amd\.com|radeon\.com|pytorch\.org)/).*(?:linux\w*|win_amd64)\.whl")


def _is_strange(url: str) -> bool:
    """True for a compiled wheel at an address of others: which GPUs it has code for is not known."""
    return _COMPILED.match(url) is not None


def _torch_serves(torch: Torch, target: Target, matrix: Matrix) -> bool:
    """True if the catalog has this build, with code for the GPU and kernels of rocBLAS where those are known."""
    build = build_of(matrix, torch.local)
    return build is not None and target.gpu in build.gfx and (not build.blas or target.gpu in build.blas)


def _names_it(one: Environment, target: Target) -> bool:
    """True if torch is asked for with the device package of the GPU, as in `torch[device-gfx1100]`."""
    extras = {extra for step in one.steps for r in step.requirements if r.name == "torch" for extra in r.extras}
    return bool(extras & {"device-all", f"device-{target.gpu}"})


def _from(one: Environment, torch: Torch, target: Target, matrix: Matrix) -> bool:
    """True if torch comes from an index for the GPU, or with an image of AMD whose ROCm release lists it."""
    if torch.origin is not None:
        return indexed_for(torch.origin.url, target.gpu)
    return one.image is not None and _image_serves(one.image, target, matrix)


# Tags that are moved to each new build of a branch: what they hold today is not known.
_OF_TODAY = regex(r"(?:^|[_-])(?:main|master|nightly|dev)(?:$|[_-])")


def _image_serves(image: Setting, target: Target, matrix: Matrix) -> bool:
    repo, tag = image_parts(image.value)
    if not repo.startswith("rocm/") or _OF_TODAY.search(tag) or not holds(cards(image.value), target.gpu):
        return False
    if repo != "rocm/pytorch":
        # AMD's images for training and serving began with MI300X; later tags name a family, as rocm7.14.0_cdna and rocm6.4.2_navi.
        chip = matrix.gfx.get(target.gpu)
        return chip is not None and chip.family in ("CDNA3", "CDNA4") and not re.search(r"navi|rdna", tag)
    release = release_of(image.value, matrix)
    word = last_word(release, target, matrix) if release else None
    return word is not None and word.state == "supported" and word.layer in ("runtime", "framework")
