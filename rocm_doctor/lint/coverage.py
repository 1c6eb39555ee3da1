"""Which environments would run on a target, what is left out and why, and what a repository lacks that has none for AMD."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from rocm_doctor.commands import filled
from rocm_doctor.lint.advice import for_torch
from rocm_doctor.lint.certainty import NOT_ROCM
from rocm_doctor.lint.declared import Environment, Repository, Target
from rocm_doctor.lint.environments.words import cards, holds
from rocm_doctor.lint.rules.findings import target_reading
from rocm_doctor.lint.rules.indexes import for_system
from rocm_doctor.lint.rules.not_found import only_system
from rocm_doctor.lint.rules.torch_state import last_state
from rocm_doctor.lint.weighing import in_example
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding, Subject
from rocm_doctor.rules.build import build_of
from rocm_doctor.rules.findings import finding


def meant_for(target: Target, environments: Sequence[Environment], matrix: Matrix) -> Iterator[Environment]:
    """The environments that would run on the target, with what they do on its GPU."""
    for one in environments:
        if not why_not(one, target, matrix):
            yield on_gpu(one, target)


def why_not(one: Environment, target: Target, matrix: Matrix) -> str:
    """Why an environment is left out for a target; empty where it is judged."""
    if one.purpose.kind not in ("amd", "neutral") and not (one.purpose.kind == "windows" and target.os == "windows"):
        return one.purpose.kind
    only = cards(" ".join((one.place.file, *one.labels)))
    if one.purpose.kind == "amd" and only and not holds(only, target.gpu):
        return "other AMD GPUs"
    system = one.os or (
        "linux" if one.sort in ("image", "service") or one.place.file.endswith((".sh", ".bash", ".slurm", ".sbatch")) else ""
    )
    if not system and (elsewhere := only_system(one, matrix)) and not _needs_linux(one, _on_windows(target), matrix):
        system = elsewhere
    if not system and target.platform != "linux" and one.purpose.kind == "amd" and _needs_linux(one, target, matrix):
        system = "linux"
    return f"{system} only" if system and system not in (target.os, target.platform) else ""


def _on_windows(target: Target) -> Target:
    return msgspec.structs.replace(target, os="windows")


def _needs_linux(one: Environment, target: Target, matrix: Matrix) -> bool:
    """True if an environment ends up with a ROCm torch on Linux, and with none on the target's system."""
    there = last_state(one, matrix, msgspec.structs.replace(target, os="linux"))
    if there is None or there[2].build != "rocm":
        return False
    here = last_state(one, matrix, target)
    build = build_of(matrix, here[2].local) if here else None
    return here is None or here[2].build != "rocm" or bool(build and not for_system(build, target.platform))


def on_gpu(one: Environment, target: Target) -> Environment:
    """The environment without what its branches restrict to other GPUs."""
    return msgspec.structs.replace(
        one,
        steps=tuple(s for s in one.steps if holds(s.gfx, target.gpu)),
        variables=tuple(s for s in one.variables if holds(s.gfx, target.gpu)),
        containers=tuple(c for c in one.containers if holds(c.gfx, target.gpu)),
        doubts=tuple(d for d in one.doubts if holds(d.gfx, target.gpu)),
    )


_CALLED = {
    "nvidia": "NVIDIA", "intel": "Intel", "apple": "Apple", "other": "other accelerators", "cpu": "the CPU", "windows": "Windows",
    "documentation": "documentation", "example": "examples", "test": "tests", "vendored": "vendored", "ci": "hosted CI",
    "optional": "optional extras", "other AMD GPUs": "other AMD GPUs", "linux only": "Linux", "macos only": "macOS", "windows only": "Windows",
    "wsl only": "WSL",
}  # fmt: skip


def left_out(repository: Repository, targets: Sequence[Target], matrix: Matrix) -> Iterator[str]:
    """One line on the environments that no target would run, by what they are for."""
    counts: dict[str, int] = {}
    for one in repository.environments:
        whys = [why_not(one, target, matrix) for target in targets]
        if whys and all(whys):
            word = _CALLED.get(whys[0], whys[0])
            counts[word] = counts.get(word, 0) + 1
    if counts:
        said = ", ".join(
            f"{count} for {word}" if word[0].isupper() or word.startswith(("other", "the", "macOS")) else f"{count} {word}"
            for word, count in sorted(counts.items(), key=lambda c: -c[1])
        )
        total = sum(counts.values())
        yield f"{total} environment{'s' if total > 1 else ''} left out: {said}"


_OTHERS = ("nvidia", "intel", "apple", "other", "cpu")


def no_environment(repository: Repository, targets: Sequence[Target], found: Sequence[Finding], matrix: Matrix) -> list[Finding]:
    """The finding on a repository all of whose environments are for other hardware, or that only tells its readers what to type.

    It is an error only where the repository itself declares the target, and a list, an image or a lock settles the hardware.
    """
    every = [e for e in repository.environments if e.sort != "configuration"]
    open_ = [e for e in every if e.purpose.kind in ("amd", "neutral") and e.sort != "text"]
    judged = [e for e in open_ if e.purpose.kind == "amd" or brings_torch(e, targets, matrix)]
    others = [e for e in every if e.purpose.kind in _OTHERS and (e.steps or e.image) and e.sort != "text"]
    told = [
        e
        for e in every
        if e.sort == "text" and e.purpose.kind in ("documentation", *_OTHERS) and brings_torch(e, targets, matrix)
    ]
    said = any(f.id in (NOT_ROCM, "repo.no-amd-environment") and f.severity != "note" for f in found)
    settled = [e for e in others if e.sort not in ("job", "text") and not in_example(e)]
    first = next(iter(settled or others or told), None)
    documented = any(e.sort == "text" and not why_not(e, t, matrix) and e.purpose.kind == "amd" for e in every for t in targets)
    elsewhere = _only_elsewhere(every, targets, repository, matrix)
    if elsewhere and not said:
        return [elsewhere]
    if judged or said or documented or first is None or not targets:
        return []
    if repository.unread and targets[0].place is None:
        return []
    target = targets[0]
    state = last_state(first, matrix, target)
    certain = settled and not repository.package and target.place is not None
    places = [e.purpose.place or e.place for e in (settled or others or told)[:5]]
    places += [repository.mention] if repository.mention else []
    which = "only its documentation says what to install" if not others else _which(others)
    return [
        finding(
            matrix,
            "repo.no-amd-environment",
            evidence=[*(p.reading() for p in dict.fromkeys(places)), *target_reading(target)],
            severity="error" if certain else "warning",
            subject=Subject(first.name, "environment"),
            cause=matrix.diagnoses["repo.no-amd-environment"].cause if target.platform == "linux" else _ELSEWHERE,
            title=f"no environment for AMD GPUs{' is declared' if repository.mention else ''}: {which}",
            commands=filled("rocm-doctor plan --gpu {gfx}", gfx=target.gpu),
            advice=for_torch(first, target, matrix, state[0] if state else None),
        )
    ]


_ELSEWHERE = "The torch of the default package index is a CPU build on this system, which uses no GPU of AMD."
_SYSTEMS = {"linux": "Linux", "windows": "Windows", "macos": "macOS", "wsl": "WSL"}


def _only_elsewhere(
    every: Sequence[Environment], targets: Sequence[Target], repository: Repository, matrix: Matrix
) -> Finding | None:
    """The finding on a repository whose environments for AMD are all for another system, or for other AMD GPUs, than a target."""
    amd = [e for e in every if e.purpose.kind == "amd" and (e.steps or e.image)]
    amd = [e for e in amd if e.sort != "text"] or amd
    for target in targets:
        if not amd or not all(why_not(e, target, matrix) for e in amd):
            continue
        other = target.os == "windows"
        if other and repository.unread_windows and target.place is None:
            continue
        if any((state := last_state(e, matrix, target)) and state[2].build == "rocm" for e in meant_for(target, every, matrix)):
            continue
        whys = dict.fromkeys(why_not(e, target, matrix).removesuffix(" only") for e in amd)
        named = " and ".join(_SYSTEMS.get(why, why) for why in whys)
        return finding(
            matrix,
            "repo.no-amd-environment",
            evidence=[*((e.purpose.place or e.place).reading() for e in amd[:5]), *target_reading(target)],
            severity="note" if other and not any(map(_for_windows, every)) and target.place is None else "warning",
            subject=Subject(amd[0].name, "environment"),
            cause="A ROCm torch for Linux does not install on Windows."
            if other
            else matrix.diagnoses["repo.no-amd-environment"].cause,
            title=f"no environment for {target.gpu} on {_SYSTEMS[target.os]}: what the repository has for AMD GPUs is for {named}",
            commands=filled("rocm-doctor plan --gpu {gfx}", gfx=target.gpu),
        )
    return None


def _for_windows(one: Environment) -> bool:
    return one.os == "windows" or one.place.file.lower().endswith((".bat", ".cmd", ".ps1"))


def _which(others: Sequence[Environment]) -> str:
    kinds = {e.purpose.kind for e in others}
    whose = f"for {_CALLED[others[0].purpose.kind]}" if len(kinds) == 1 else "for other hardware"
    return f"the only one is {whose}" if len(others) == 1 else f"all {len(others)} are {whose}"


def brings_torch(one: Environment, targets: Sequence[Target], matrix: Matrix) -> bool:
    """True if an environment ends up with a torch on any of the targets."""
    return any(last_state(one, matrix, target) for target in targets)
