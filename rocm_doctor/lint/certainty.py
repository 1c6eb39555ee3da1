"""What makes a finding an error: it certainly stops the target, in an environment that is certainly meant for it.

Everything else that is found is a warning: a build for other GPUs is a choice, a library that the GPU lacks can be done without,
a job runs on its own runner, a list without an index is installed with one that its caller names. A target that the repository
declares is one that all of it is meant for.
"""

from __future__ import annotations

import itertools

import msgspec

from rocm_doctor.binaries.targets import covers
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint import elsewhere
from rocm_doctor.lint.declared import OVERRIDE, Environment, Place, ReadProblem, Repository, Requirement, Target
from rocm_doctor.lint.environments.words import cards, holds
from rocm_doctor.lint.meant import not_meant
from rocm_doctor.lint.rules.addresses import source_of
from rocm_doctor.lint.rules.built_for import gpu_of_index, lists, targets_of
from rocm_doctor.lint.rules.images import HAS_ROCM
from rocm_doctor.lint.rules.indexes import FAMILY, of_local
from rocm_doctor.lint.rules.not_found import ON_A_DISK
from rocm_doctor.lint.rules.requires_torch import COMPANIONS, requires_torch
from rocm_doctor.lint.rules.torch_build import RESOLVES
from rocm_doctor.lint.rules.torch_state import last_state, of_image
from rocm_doctor.lint.taken import is_taken
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding, Reading
from rocm_doctor.rules.override import LACKS, names_sibling

NOT_ROCM = "version.torch-not-rocm"


def capped(one: Finding, environment: Environment, target: Target, repository: Repository, matrix: Matrix) -> Finding:
    """The finding; a warning where the environment, what leads to it, or another place of the repository leaves a doubt. One on an
    override names each further line that sets it: the advice is to take out all of them.
    """
    if one.id == "arch.override-wrong" and one.severity != "note":
        advice = elsewhere.also_set(one, target, repository) + one.advice
        advice += _for_others(one, environment)
        one = msgspec.structs.replace(one, advice=advice)
    if one.severity != "error":
        return one
    if _of_unknown_image(one, environment) and not any(_uses_gpu(e, target, matrix) for e in repository.environments):
        return msgspec.structs.replace(one, severity="warning")
    if not is_certain(one, environment, target, matrix) or _by_reports(one, environment, target, matrix):
        return msgspec.structs.replace(one, severity="warning")
    if target.place is not None:
        return one
    if ON_A_DISK in one.title and not is_taken(environment.place.file, repository):
        return msgspec.structs.replace(one, severity="warning")
    if against := elsewhere.doubt(one, environment, target, repository, matrix):
        return _doubted(one, against[0].place, against[1])
    unmeant = not_meant(one, environment, target, repository, matrix)
    return _doubted(one, *unmeant) if unmeant else one


def _of_unknown_image(one: Finding, environment: Environment) -> bool:
    """True for a variable of a service that says neither its image nor how that is built: another file does."""
    own = environment.built or environment.image or any(c.image or c.gpu for c in environment.containers)
    return one.id in elsewhere.DECIDES and environment.sort == "service" and not own


def _uses_gpu(environment: Environment, target: Target, matrix: Matrix) -> bool:
    """True if something in an environment is known to use a GPU: its torch, an image with ROCm, or what it builds for GPUs."""
    images = [c.image for c in environment.containers] + ([environment.image.value] if environment.image else [])
    return any(lists(environment)) or any(map(HAS_ROCM.search, images)) or last_state(environment, matrix, target) is not None


def _for_others(one: Finding, environment: Environment) -> str:
    """How the user of another GPU still has an override."""
    if environment.sort == "image":
        return " Who has a GPU that needs one sets it for the run (-e)."
    if environment.sort == "script":
        return " Who has a GPU that needs one exports it before."
    if environment.sort != "service":
        return ""
    mapping = any(f"{OVERRIDE}:" in r.quote for r in one.evidence)
    name = f"{OVERRIDE}:" if mapping else OVERRIDE
    return f" In its place the name alone, {name} without a value, passes on what the user's shell has."


def _by_reports(one: Finding, environment: Environment, target: Target, matrix: Matrix) -> bool:
    """True if an override names a GPU whose code the chip runs: what was reported of that happens to some, and others train so."""
    chip = matrix.gfx.get(target.gpu)
    reported = {o.value for o in chip.overrides if names_sibling(o.value, target.gpu, matrix)} if chip else set()
    set_ = {s.value for s in environment.variables if s.name == OVERRIDE}
    return one.id == "arch.override-wrong" and bool(reported & set_) and LACKS not in one.title


def _doubted(one: Finding, by: Place, said: str) -> Finding:
    """The finding as a warning that names the place of the repository that leaves the doubt."""
    known = by.at in {r.at for r in one.evidence}
    evidence = one.evidence if known or not by.line else (*one.evidence, by.reading())
    return msgspec.structs.replace(one, severity="warning", evidence=evidence, advice=("" if known else said) + one.advice)


def is_certain(one: Finding, environment: Environment, target: Target, matrix: Matrix) -> bool:
    """True if an environment that is meant for the target certainly has what is found, and it certainly stops the target."""
    purpose = environment.purpose
    if target.place is None and (one.id not in STOPS or purpose.kind != "amd" or not purpose.direct):
        return False
    if environment.sort == "job" and target.place is None and not _names(environment, target):
        return False
    if one.id in elsewhere.DECIDES and (any(container.idle for container in environment.containers) or _is_bare(environment)):
        return False
    if one.id == NOT_ROCM and environment.sort == "image" and not (environment.steps or environment.variables):
        return False  # a copy of another image, whatever its folder is called
    if target.place is None and one.title.startswith(RESOLVES) and not _names_torch(one, environment):
        return False  # which release of another package is taken, and what that requires, is settled on the day
    if one.id == NOT_ROCM and target.place is None and any(map(_ANOTHER.match, _asked_for(environment))):
        return False  # its framework on the GPU is another one, and torch may be meant for the CPU
    if _depends_on_pip(one, environment, matrix) or (target.place is None and _is_contested(one, environment, target)):
        return False
    if one.id == "version.companion-mismatch" and any(r.quote.count(".whl") for r in one.evidence):
        return False  # which torch such wheels require is not in the catalog
    if target.place is None and _OF_ONE.search(environment.place.file.lower()):
        return False  # written for one machine, or by one developer
    if target.place is None and one.id.startswith("arch.") and _is_for_another(environment, target):
        return False
    return is_settled(one, environment) and not index_by_caller(one, environment)


# Other frameworks in a build for AMD GPUs.
_ANOTHER = regex(r"jax-rocm|tensorflow-rocm$|paddlepaddle-(?:rocm|dcu)$")


def _asked_for(environment: Environment) -> set[str]:
    return {r.name for step in environment.steps for r in step.requirements}


def _depends_on_pip(one: Finding, environment: Environment, matrix: Matrix) -> bool:
    """True if a command that takes any torch decides, behind one that installs what requires torch: an older pip leaves the torch that is
    there, a newer one takes the one that the command's torchvision goes with (https://pip.pypa.io/en/stable/news/#v20-3, the resolver).
    """
    first = one.evidence[0] if one.evidence else Reading("", "")
    if one.id not in (NOT_ROCM, "arch.not-in-build") or not _is_any(first, environment):
        return False
    known = requires_torch(matrix)
    before = itertools.takewhile(
        lambda s: first.at not in {r.place.at for r in s.requirements if r.name == "torch"}, environment.steps
    )
    kept = (s for s in before if not (s.apart or s.no_deps or s.tool == "conda"))
    return any(r.name in known.range or r.name in known.exact for step in kept for r in step.requirements)


def _is_contested(one: Finding, environment: Environment, target: Target) -> bool:
    """True if a torch that is no ROCm build is what the environment ends up with, though a ROCm build is pinned in it, another command takes a
    companion of torch from a ROCm index, or a ROCm index lost its place to another one: its writer saw a ROCm torch come of it.
    """
    if one.id != NOT_ROCM or not one.title.startswith(RESOLVES):
        return False
    at = one.evidence[0].at
    for step in environment.steps:
        ours = [index.role for index in step.indexes if source_of(index, target.platform).build == "rocm"]
        local = [of_local(r.spec, r.url) for r in step.requirements if r.name in FAMILY]
        if any(found and found[0] == "rocm" for found in local):
            return True
        own = any(r.place.at == at for r in step.requirements)
        moves = not step.no_deps and any(r.name in COMPANIONS for r in step.requirements)
        if ("default" in ours) if own else (ours and moves):
            return True
    return False


def _names_torch(one: Finding, environment: Environment) -> bool:
    """True if the line that decides asks for torch itself, in a list, a lock or a command, or if the torch of the base image is out of sight."""
    first = one.evidence[0] if one.evidence else Reading("", "")
    if environment.image is not None and of_image(environment.image) is not None:
        return True
    asked = (r for step in environment.steps for r in step.requirements)
    return any(r.name == "torch" and r.place.at == first.at and not r.place.file.endswith(".py") for r in asked)


def _is_bare(environment: Environment) -> bool:
    """True for an image that installs and builds nothing for a GPU, on a base without torch: what would use one in it is not known."""
    return environment.bare and environment.image is not None and of_image(environment.image) is None


def _is_for_another(environment: Environment, target: Target) -> bool:
    """True if all that an environment builds, and the indexes and device packages that are for one GPU, are for others than the target: it is meant
    for those.
    """
    built = [targets_of(s) for s in lists(environment)]
    built += [gpus for step in environment.steps for r in step.requirements if (gpus := _devices_of(r))]
    built += [(gpu,) for step in environment.steps for index in step.indexes if (gpu := gpu_of_index(index.url))]
    return bool(built) and all(covers(one, target.gpu) is False for one in built)


def _devices_of(one: Requirement) -> tuple[str, ...]:
    """The GPUs whose device packages are asked for with a package of AMD's (`torch[device-gfx1150]`)."""
    return tuple(extra.removeprefix("device-") for extra in one.extras if extra.startswith("device-gfx"))


# What stops the target; any other diagnosis is of something that goes wrong now and then, or goes on in another way.
STOPS = frozenset((
    "access.container", "access.visible-devices", "arch.blas-missing", "arch.dropped-by-rocm", "arch.not-in-build", "arch.override-wrong",
    "repo.no-amd-environment", "repo.unreadable",
    "version.companion-mismatch", "version.package-mismatch", "version.python-unsupported", NOT_ROCM, "version.wheel-missing",
))  # fmt: skip
_OF_ONE = regex(r"(?<![a-z])(?:lumi|frontier|setonix|adastra|crusher|tuolumne|el[_-]?capitan)(?![a-z])|(?:^|/)\.envrc$")


def is_settled(one: Finding, environment: Environment) -> bool:
    """True if the files decide that what is found is so: all was read, and it is in no branch that may not run."""
    first = one.evidence[0] if one.evidence else Reading("", "")
    # What the build of an image does changes no variable of it.
    fixed = is_fixed(one, environment) or (environment.sort == "image" and _is_by_variable(one))
    if not fixed and any(_leaves_open(p, one, first) for p in environment.unresolved):
        return False
    if environment.open_ends and one.id in _OF_WHAT_WAS_BEFORE:
        return False
    if (
        one.id == "arch.not-in-build"
        and any(_is_before(end, first) for end in environment.open_ends)
        and _is_any(first, environment)
    ):
        return False
    open_ = (*environment.unsure, *(doubt.place for doubt in environment.doubts))
    return first.at not in {p.at for p in open_}


# What a torch that was installed before would settle.
_OF_WHAT_WAS_BEFORE = (NOT_ROCM, "version.companion-mismatch")


def _is_before(end: ReadProblem, first: Reading) -> bool:
    """True if an installer that is not read is run before the line that decides, in the same file."""
    line = first.place.removeprefix("line ")
    return end.place.file == first.artifact and line.isdigit() and end.place.line < int(line)


def _is_any(first: Reading, environment: Environment) -> bool:
    """True if a command takes any torch: it leaves one that is there."""
    at = first.at
    steps = (step for step in environment.steps if not (step.upgrade or step.anew or step.apart))
    asked = [r for step in steps for r in step.requirements if r.name == "torch" and r.place.at == at]
    return bool(asked) and not any(r.spec or r.url for r in asked)


def _leaves_open(problem: ReadProblem, one: Finding, first: Reading) -> bool:
    """True if what is not known could make a finding untrue. What may have installed a torch before does so for a CUDA torch alone."""
    if problem.about == "before":
        return one.id in _OF_WHAT_WAS_BEFORE
    if problem.about in ("absent", "stage"):
        return one.id != "repo.unreadable"
    if problem.about in ("copy", "gone"):
        return False  # it ends the build, and all that is found beside it is so
    if problem.about == "start":
        return one.id.startswith("version.") or one.id == "arch.not-in-build"
    return not (problem.about == "limits" and _TORCH.search(first.quote))


def is_fixed(one: Finding, environment: Environment) -> bool:
    """True if a variable alone decides what is found, and nothing is open but what a list installs, which changes no variable."""
    return _is_by_variable(one) and all(p.about in ("before", "packages") for p in environment.unresolved)


def _is_by_variable(one: Finding) -> bool:
    return one.id in elsewhere.DECIDES and LACKS not in one.title


# A list that names torch itself asks for it, whatever a constraint would allow.
_TORCH = regex(r"^[^\w]*torch\b")


def _names(environment: Environment, target: Target) -> bool:
    """True if a job's name, runner or matrix names the target's GPU."""
    only = cards(" ".join(environment.labels))
    return bool(only) and holds(only, target.gpu)


def index_by_caller(one: Finding, environment: Environment) -> bool:
    """True if a list or an extra for AMD names torch and no index: the command that installs it may name one."""
    if one.id not in (NOT_ROCM, "version.wheel-missing") or environment.purpose.kind != "amd":
        return False
    listed = environment.sort in ("requirements", "project") and not any(step.indexes for step in environment.steps)
    pinned = one.id == NOT_ROCM and any("+" in r.quote for r in one.evidence)
    return listed and not pinned and not any("://" in r.quote for r in one.evidence)
