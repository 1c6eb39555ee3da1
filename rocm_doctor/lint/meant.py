"""Whether what is found in an environment concerns the target at all: the first words of its file or folder name other GPUs, what lies beside it
is set up for one other GPU, its image is of years before the GPU, or nothing has anybody install it.
"""

from __future__ import annotations

import datetime
import re

from rocm_doctor import versions
from rocm_doctor.binaries.targets import covers, overridden
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import OVERRIDE, Environment, Place, Repository, Setting, Target
from rocm_doctor.lint.elsewhere import DECIDES, is_told, suits
from rocm_doctor.lint.environments.words import cards, holds
from rocm_doctor.lint.readers.files import folder_of
from rocm_doctor.lint.readers.uses import GPU_MODULES
from rocm_doctor.lint.rules.built_for import lists, targets_of
from rocm_doctor.lint.rules.images import release_of
from rocm_doctor.lint.rules.requires_torch import requires_torch
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding
from rocm_doctor.rules.override import names_sibling

_OF_A_BUILD = ("arch.not-in-build", "arch.dropped-by-rocm", "arch.blas-missing")


def not_meant(
    one: Finding, environment: Environment, target: Target, repository: Repository, matrix: Matrix
) -> tuple[Place, str] | None:
    """The place that says that an error is none of the target's, and what it says; None where nothing does."""
    if named := _by_first_words(one, environment, target, repository):
        return named.place, f"By {named.place.words} it is for other GPUs. "
    if (listed := repository.served) and one.id.startswith("arch.") and not holds(listed.gfx, target.gpu):
        return listed.place, f"What the documents list of GPUs, on {listed.place.words}, is without {target.gpu}. "
    if own := _built_for_one_other(environment, target):
        return own.place, f"By {own.place.words} it is for another GPU. "
    if one.id == "arch.override-wrong" and (gpus := _named_beside(one)) and not any(covers((gpu,), target.gpu) for gpu in gpus):
        return environment.place, f"The same command is for {', '.join(gpus)}. "
    if (way := repository.other_way) and one.id.startswith("arch."):
        return way.place, f"The {way.name} of the repository names another way to AMD GPUs than ROCm: {way.value}. "
    if (program := repository.on_cpu) and (one.id.startswith("arch.") or one.id == "version.torch-not-rocm"):
        return program, f"No program of the repository puts torch on a GPU, as by {program.words}. "
    if swapped := _swapped(one, repository):
        return swapped, f"Another rocBLAS takes the place of torch's own by {swapped.words}. "
    if _without_torch(one, repository, matrix):
        return environment.place, "No program of the repository imports torch, or a library that is known to need it. "
    if environment.place.file in repository.unnamed or _is_of_own_machine(one, environment, repository):
        return environment.place, f"Nothing in the repository names {environment.place.file}: it may be a leftover. "
    if written := _left_behind(environment, repository):
        return written, f"By {written.words} it is kept from before, and nothing uses it. "
    if frozen := _of_another_age(one, environment, repository, matrix):
        return frozen, "Its ROCm is years old, and no document has the image built: it may be for the GPUs of its time. "
    if one.id not in _OF_A_BUILD or _is_documented(environment, repository):
        return None
    beside = _of_one_machine(environment, target, repository, matrix)
    return (beside, f"What lies beside it is set up for another GPU, as on {beside.words}. ") if beside else None


def _swapped(one: Finding, repository: Repository) -> Place | None:
    """Where the repository replaces the rocBLAS of an installed torch: what the wheel lacks may come from there."""
    if one.id != "arch.blas-missing":
        return None
    return next((p.place for e in repository.environments for p in e.unresolved if p.about == "rocblas"), None)


# Modules that need torch, or bring it, and are called otherwise than their packages in catalog/requires_torch.yaml.
_NEED_TORCH = frozenset((
    "comfy", "diffusers", "fairseq", "lightning_fabric", "mmcv", "mmengine", "nemo", "open_clip", "pyannote", "sam2", "segment_anything", "torch_geometric", "transformers", "TTS", "tts",
    "unsloth_zoo", "whisper", "chatterbox", "demucs", "audiocraft", "f5_tts", "fish_speech", "moshi",
))  # fmt: skip


def _without_torch(one: Finding, repository: Repository, matrix: Matrix) -> bool:
    """True if what is found is of torch, and the repository has programs none of which is known to use it: a list may name it in vain."""
    if not repository.modules or not one.id.startswith(
        ("arch.not", "arch.blas", "arch.dropped", "version.torch", "version.companion")
    ):
        return False
    known = requires_torch(matrix)
    using = GPU_MODULES | _NEED_TORCH | {name.replace("-", "_") for name in (*known.range, *known.exact)}
    return not any(module in using or module.startswith("torch") for module in repository.modules)


def _is_of_own_machine(one: Finding, environment: Environment, repository: Repository) -> bool:
    """True for a variable that a script sets which no other text names: its writer may run it on one machine alone."""
    file = environment.place.file
    named = (r for r in repository.references if r.file == file and r.how != "writes" and not _LISTS.search(r.place.quote))
    return one.id in DECIDES and _SCRIPT.search(file) is not None and not any(named)


# A drawing of the folders says what is there, not who runs it.
_LISTS = regex(r"[\u251c\u2514\u2502]|^[\s|`+-]*[|`+]--")
# What has to be named to be run; make and its like look for files of their own names.
_SCRIPT = regex(r"\.(?:sh|bash|zsh|fish|bat|cmd|ps1)$", re.I)


_AGE = datetime.timedelta(days=3 * 365)
"""How much older than the newest ROCm one is that nobody starts with any more."""


def _of_another_age(one: Finding, environment: Environment, repository: Repository, matrix: Matrix) -> Place | None:
    """The base image that a finding is about, where its ROCm is years older than the newest one and no document for AMD GPUs has it built: it was
    pinned for the GPUs of its time.
    """
    image = environment.image
    by_image = one.id.startswith("arch.") or one.id == "version.package-mismatch"
    if image is None or not by_image or environment.place.file in repository.documented:
        return None
    named = image.place.at in {r.at for r in one.evidence}
    release = release_of(image.value, matrix) if named else ""
    return image.place if release and _is_aged(release, matrix) else None


def _is_aged(release: str, matrix: Matrix) -> bool:
    dated = [(versions.sort_key(r.version), r.date) for r in matrix.rocm if r.date and versions.parse(r.version)]
    newest = max((date for _, date in dated), default=None)
    recent = [key for key, date in dated if newest and date > newest - _AGE]
    return bool(recent) and versions.sort_key(release) < min(recent)


_COPY = regex(r"[-_.](?:backup|bak|old|orig|disabled)(?:\.(?:sh|bash|\d+))?$", re.I)
_KEPT = regex(r"(?:^|[-_.])(?:backup|bak|old|orig|snapshot|freeze|frozen|before|previous|pre(?=[-_.](?!req)))(?=[-_.]|$)", re.I)


def _left_behind(environment: Environment, repository: Repository) -> Place | None:
    """Where a list is called a backup or a snapshot, or a command writes down into it what is installed, and no text has it installed; or where an
    image or a script is a copy by the end of its name, which no text names.
    """
    file = environment.place.file
    of_it = [r for r in repository.references if r.file == file]
    if environment.sort in ("image", "script"):
        return environment.place if not of_it and _COPY.search(file.rpartition("/")[2]) else None
    if environment.sort != "requirements" or any(r.how == "installs" for r in of_it):
        return None
    written = next((r.place for r in of_it if r.how == "writes"), None)
    return written or (environment.place if _KEPT.search(file.rpartition("/")[2]) else None)


_TARGETS = regex(r"PYTORCH_ROCM_ARCH|BNB_ROCM_ARCH|GPU_ARCHS|(?:AMD)?GPU_TARGETS|(?:CMAKE_)?HIP_ARCHITECTURES")


_BESIDE = regex(rf"\b(?:{_TARGETS.pattern})=[\"']?((?:gfx[0-9a-f]+[;,]?)+)")


def _named_beside(one: Finding) -> tuple[str, ...]:
    """The GPUs in a list of build targets on the line that sets an override."""
    found = _BESIDE.search(one.evidence[0].quote) if one.evidence else None
    return tuple(re.findall(r"gfx[0-9a-f]+", found[1])) if found else ()


def _built_for_one_other(environment: Environment, target: Target) -> Setting | None:
    """The list of build targets of an environment that names one GPU, where all of its lists name one other GPU than the target."""
    known = [s for s in lists(environment) if _TARGETS.fullmatch(s.name)]
    other = (
        len(targets_of(s)) == 1 and covers(targets_of(s), target.gpu) is False and not (s.default or s.argument) for s in known
    )
    return known[0] if known and all(other) else None


def _by_first_words(one: Finding, environment: Environment, target: Target, repository: Repository) -> Setting | None:
    """What names other GPUs at the head of a file; for what is found of a GPU's own code, at the beginning of the README of a folder as well."""
    file = environment.place.file
    for said in repository.meant:
        own = said.place.file == file if said.name == "head" else one.id.startswith("arch.") and _holds(said.place.file, file)
        if own and not holds(said.gfx, target.gpu):
            return said
    return None


def _holds(readme: str, file: str) -> bool:
    """True if a README lies in the folder of a file, or in one above it."""
    return file.startswith(folder_of(readme) + "/")


def _is_documented(environment: Environment, repository: Repository) -> bool:
    """True if a document tells its readers of the file: then it is for more than the machine of one of them."""
    told = (r for r in repository.references if r.file == environment.place.file and r.how in ("tells", "installs"))
    return any(r.place.file.endswith((".md", ".rst", ".adoc")) for r in told)


def _of_one_machine(environment: Environment, target: Target, repository: Repository, matrix: Matrix) -> Place | None:
    """The first place in the files of the same folder, other than those that are named after a GPU, that is for one other GPU: an override, a single
    build target, the head of a file. None where one of them may be for the target.
    """
    file = environment.place.file
    beside: list[tuple[Place, bool]] = []
    for s in repository.assigned:
        if s.name == OVERRIDE and (named := overridden(s.value)) and _is_beside(s.place.file, file) and not is_told(s):
            other = (
                not covers((named,), target.gpu) and not suits(s.value, target) and not names_sibling(s.value, target.gpu, matrix)
            )
            beside.append((s.place, other))
    for e in repository.environments:
        for s in lists(e) if _is_beside(e.place.file, file) and e.sort != "text" else ():
            gpus = targets_of(s)
            beside += [(s.place, covers(gpus, target.gpu) is False)] if len(gpus) == 1 else []
    beside += [
        (s.place, not holds(s.gfx, target.gpu)) for s in repository.meant if s.name == "head" and _is_beside(s.place.file, file)
    ]
    return beside[0][0] if beside and all(other for _, other in beside) else None


def _is_beside(file: str, own: str) -> bool:
    return file != own and folder_of(file) == folder_of(own) and not cards(file.rpartition("/")[2])
