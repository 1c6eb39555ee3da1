"""How much a finding weighs where it was found: in an environment for AMD, in one for no one in particular, in an example."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

import msgspec

from rocm_doctor.lint.certainty import NOT_ROCM, STOPS, capped, index_by_caller, is_settled
from rocm_doctor.lint.declared import OVERRIDE, Environment, Repository, Target
from rocm_doctor.lint.elsewhere import is_met_by_override
from rocm_doctor.lint.environments.purpose import INSTALLING, RETIRED, example_of
from rocm_doctor.lint.environments.words import named, words_of
from rocm_doctor.lint.guarded import may_fail
from rocm_doctor.lint.reinstalled import is_reinstalled
from rocm_doctor.lint.rules.indexes import pinned
from rocm_doctor.lint.rules.own_python import has_another_python
from rocm_doctor.lint.rules.requires_torch import requires_torch
from rocm_doctor.lint.rules.torch_state import ends_with_rocm, last_state
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding, Severity, Subject
from rocm_doctor.rules.findings import finding


class Judged(msgspec.Struct, frozen=True):
    """A finding with the environment and the target that it was made for. `alone`: it is folded with its equals only."""

    environment: Environment
    target: Target
    finding: Finding
    alone: bool = False


def weighed(judged: Iterable[Judged], repository: Repository, matrix: Matrix) -> list[Judged]:
    """The findings by weight; those on the torch of environments for no one in particular become one for each target."""
    for_amd = [e for e in repository.environments if e.purpose.kind == "amd"]
    amd = [e for e in for_amd if e.sort not in ("text", "configuration")]
    steps = [e for e in for_amd if e.sort in ("text", "script", "image")]
    told = [] if amd else [e for e in for_amd if e.sort == "text"]
    judged = list(judged)
    not_for = {
        (j.environment.name, j.target) for j in judged if j.finding.id.startswith("arch.") and j.finding.severity == "error"
    }
    kept: list[Judged] = []
    general: list[Judged] = []
    for one in sorted(_without_repeats(judged), key=lambda j: j.environment.place.file.count("/")):
        environment, found = one.environment, one.finding
        if is_met_by_override(found, environment, one.target, repository, matrix) or (
            found.severity != "note" and may_fail(found, environment)
        ):
            kept.append(_as(one, "note"))
        elif environment.sort == "text" and (environment in told or _in_installer(environment)):
            aside = in_example(environment) or _another_way(environment, one.target, told, judged, matrix)
            most: Severity = "note" if aside else "warning"
            kept.append(_as(one, most) if found.severity == "error" or most == "note" else one)
        elif (
            environment.sort == "text"
            or (
                environment.purpose.kind == "neutral"
                and _is_whole(environment, matrix)
                and any(_covers(a, environment) for a in amd)
            )
            or (found.id == "version.python-unsupported" and _is_list_beside(environment, amd))
            or (found.id == "version.python-unsupported" and _is_of_a_part(environment, one.target, matrix))
        ):
            kept.append(_as(one, "note"))
        elif environment.purpose.kind == "neutral" and found.id in (NOT_ROCM, "version.companion-mismatch"):
            if found.id == NOT_ROCM and any(_installs_torch(e) and _covers(e, environment) for e in told):
                kept.append(_as(one, "note" if _is_open(one, matrix) or found.severity == "note" else "warning"))
            elif found.id == NOT_ROCM:
                general.append(one)
        elif found.id == "env.debug-switch" and _looks_into(environment):
            kept.append(_as(one, "note"))
        elif found.severity != "note" and in_example(environment):
            lower = found.severity == "error" and not in_tests(environment) and example_of(environment) not in RETIRED
            kept.append(_as(one, "warning" if lower and found.id in STOPS else "note"))
        else:
            if (
                found.id.startswith("arch.")
                and found.severity == "error"
                and _has_sibling(environment, one.target, for_amd, not_for)
            ):
                one = _as(one, "note")
            elif (
                found.severity == "error"
                and found.id in _CHOSEN
                and _has_alternative(environment, one.target, for_amd, not_for, matrix)
            ) or (
                found.severity == "error"
                and is_reinstalled(found, environment, one.target, _around(environment, one.target, for_amd, not_for), matrix)
            ):
                one = _as(one, "warning")
            told_so = found.id == NOT_ROCM and repository.first is not None and _is_open(one, matrix)
            by_two_steps = index_by_caller(found, environment) and (
                told_so or any(ends_with_rocm(e, one.target, matrix) for e in steps if not _is_image_of(e, environment))
            )
            found = one.finding
            weight = _as(one, "note") if by_two_steps and one.target.place is None else one
            if found.id == "version.python-unsupported" and has_another_python(environment, one.target, repository):
                weight = _as(one, "warning" if weight.finding.severity == "error" else weight.finding.severity)
            kept.append(
                msgspec.structs.replace(weight, finding=capped(weight.finding, environment, one.target, repository, matrix))
            )
    return kept + _one_for_each_target(general, bool(amd), repository, matrix)


def _around(
    environment: Environment, target: Target, for_amd: Iterable[Environment], not_for: Collection[tuple[str, Target]]
) -> list[Environment]:
    """The environments for AMD of the same project that serve the target."""
    return [e for e in for_amd if (e.name, target) not in not_for and _covers(e, environment)]


def _is_image_of(image: Environment, listed: Environment) -> bool:
    """True for an image that installs a list: who installs the list without it has nothing of what the image brings."""
    return image.sort == "image" and any(r.place.file == listed.place.file for step in image.steps for r in step.requirements)


def _is_of_a_part(environment: Environment, target: Target, matrix: Matrix) -> bool:
    """True for a list for no one in particular in a folder of its own that brings no torch: it is for a part that needs no GPU."""
    alone = environment.purpose.kind == "neutral" and environment.sort == "requirements" and "/" in environment.place.file
    return alone and last_state(environment, matrix, target) is None


def _is_list_beside(environment: Environment, amd: Sequence[Environment]) -> bool:
    """True for a list for no one in particular that lies beside one for AMD, which its readers with such a GPU take."""
    folder = environment.place.file.rpartition("/")[0]
    return environment.purpose.kind == "neutral" and any(
        environment.sort == e.sort == "requirements" and e.place.file.rpartition("/")[0] == folder for e in amd
    )


def _another_way(
    environment: Environment, target: Target, told: Sequence[Environment], judged: Sequence[Judged], matrix: Matrix
) -> bool:
    """True if a document has another way for AMD beside this one, with a ROCm torch of which nothing is said."""
    bad = {j.environment.name for j in judged if j.target == target and j.finding.severity != "note"}
    return environment.name in bad and any(
        e.name not in bad and e.place.file == environment.place.file and ends_with_rocm(e, target, matrix) for e in told
    )


def _has_sibling(
    environment: Environment, target: Target, for_amd: Sequence[Environment], not_for: Collection[tuple[str, Target]]
) -> bool:
    """True if a list is one of several that differ by a number only, as those for ROCm releases do, and another serves the GPU; or
    if an image is one of several that are built with other arguments.
    """
    if environment.sort == "image":
        built = [e for e in for_amd if e.sort == "image" and e.place.file == environment.place.file and not e.unresolved]
        named = [e for e in built if " job " in e.name]
        return environment in named and any((e.name, target) not in not_for for e in named)
    stem = re.sub(r"\d+", "", environment.place.file)
    same = [e for e in for_amd if environment.sort == e.sort == "requirements" and re.sub(r"\d+", "", e.place.file) == stem]
    return any((e.name, target) not in not_for for e in same if e.place.file != environment.place.file)


# What another list, script or image beside this one may do without.
_CHOSEN = frozenset(("arch.not-in-build", "version.python-unsupported", "version.wheel-missing", "arch.override-wrong"))


def _has_alternative(
    environment: Environment,
    target: Target,
    for_amd: Sequence[Environment],
    not_for: Collection[tuple[str, Target]],
    matrix: Matrix,
) -> bool:
    """True if another list, script or image for AMD in the same folder brings a ROCm torch that serves the target."""
    folder = environment.place.file.rpartition("/")[0]
    return any(
        e.sort == environment.sort
        and (
            e.place.file != environment.place.file
            or (e.name != environment.name and " by " in e.name and " by " in environment.name)
        )
        and e.place.file.rpartition("/")[0] == folder
        and (e.name, target) not in not_for
        and not any(s.name == OVERRIDE for s in e.variables)
        and ends_with_rocm(e, target, matrix)
        for e in for_amd
        if environment.sort in ("requirements", "image", "script")
    )


def _without_repeats(judged: Iterable[Judged]) -> list[Judged]:
    """Without the notes and warnings that repeat an error on the same environment: no code, no BLAS, and not listed are one fact."""
    found = list(judged)
    errors = {(j.environment.name, j.target) for j in found if j.finding.severity == "error" and j.finding.id.startswith("arch.")}
    warned = {(j.environment.name, j.target) for j in found if j.finding.id == "arch.dropped-by-rocm"}
    return [
        j for j in found
        if not (j.finding.id in ("arch.not-listed", "arch.dropped-by-rocm") and j.finding.severity != "error" and (j.environment.name, j.target) in errors)
        and not (j.finding.id == "arch.not-listed" and (j.environment.name, j.target) in warned)
    ]  # fmt: skip


def _as(one: Judged, severity: Severity) -> Judged:
    return msgspec.structs.replace(one, finding=msgspec.structs.replace(one.finding, severity=severity))


def in_example(environment: Environment) -> bool:
    """True if an environment is in a folder of examples or tests."""
    return bool(example_of(environment)) or in_tests(environment)


_LOOKS_INTO = frozenset((
    "probe", "probes", "test", "tests", "debug", "debugging", "profile", "profiling", "profiler", "trace", "tracing", "diagnose", "diagnostics",
    "diag", "repro", "reproduce", "bench", "benchmark", "check", "verify",
))  # fmt: skip


def _looks_into(environment: Environment) -> bool:
    """True for a script that probes, tests or profiles: what it logs is its purpose."""
    folders, _, name = environment.place.file.rpartition("/")
    return environment.sort == "script" and bool({*words_of(name), *folders.lower().split("/")} & _LOOKS_INTO)


_OF_TESTS = frozenset(("test", "tests", "testing", "ci", ".ci", ".buildkite", ".jenkins", "e2e"))


def in_tests(environment: Environment) -> bool:
    """True if an environment is what tests use, whatever its name says."""
    return bool(set(environment.place.file.lower().split("/")[:-1]) & _OF_TESTS)


def _covers(amd: Environment, other: Environment) -> bool:
    """True if an environment for AMD belongs to the same project as another one: it is not in a sibling folder. A stage is not
    covered by another stage of its file, from which it takes nothing.
    """
    if amd.sort == other.sort == "image" and amd.place.file == other.place.file:
        return False
    folders = amd.place.file.split("/")[:-1]
    while folders and (named(folders[-1])[0] != "neutral" or set(words_of(folders[-1])) & INSTALLING):
        folders = folders[:-1]
    where = other.place.file.split("/")[:-1]
    return where[: len(folders)] == folders or folders[: len(where)] == where


def _prominence(one: Judged, matrix: Matrix) -> tuple[int, bool, bool]:
    """What a reader meets first: the root before its folders, what settles torch before an open range, an error before a note."""
    folders = [f for f in one.environment.place.file.lower().split("/")[:-1] if not set(words_of(f)) & INSTALLING]
    return len(folders), _is_open(one, matrix), one.finding.severity != "error"


def _is_whole(environment: Environment, matrix: Matrix) -> bool:
    """True if an environment settles its own torch or names CUDA wheels: it is another choice than the one for AMD beside it.
    What brings torch only by the way is judged with it.
    """
    if environment.sort in ("configuration", "service", "job"):
        return False
    asked = [r for step in environment.steps for r in step.requirements]
    known = requires_torch(matrix)
    return any(
        r.name == "torch" or r.name in known.range or r.name in known.exact or re.search(r"[+-]cu\d|%2Bcu\d", r.url)
        for r in asked
    )


def _in_installer(environment: Environment) -> bool:
    """What a Python installer or a build for AMD does by default; a README only tells it."""
    file = environment.place.file.lower()
    return environment.purpose.kind == "amd" and file.endswith((".py", ".cmake", "cmakelists.txt", "makefile"))


def _installs_torch(documented: Environment) -> bool:
    return any(r.name == "torch" for step in documented.steps for r in step.requirements)


def _is_open(one: Judged, matrix: Matrix) -> bool:
    """A range of torch in a list or a library, which is met by a ROCm build that was installed first."""
    exact = requires_torch(matrix).exact
    asked = [r for step in one.environment.steps for r in step.requirements if r.name == "torch" or r.name in exact]
    listed = one.environment.open or one.environment.sort == "requirements"
    return listed and not any(pinned(r.spec) or r.url for r in asked)


def _one_for_each_target(general: Sequence[Judged], any_amd: bool, repository: Repository, matrix: Matrix) -> list[Judged]:
    """The finding on the torch that everybody gets: its cause is that nothing in the repository is meant for AMD.

    It is an error only where the repository itself declares the target and settles torch.
    """
    made: list[Judged] = []
    mention = repository.mention
    for target in dict.fromkeys(j.target for j in general):
        of_target = sorted((j for j in general if j.target == target), key=lambda j: _prominence(j, matrix))
        first = of_target[0]
        places = [r for j in of_target for r in j.finding.evidence if r.origin != "target"]
        whose = [r for r in first.finding.evidence if r.origin == "target"]
        open_ = _is_open(first, matrix)
        found = first.finding
        doubt = open_ or not is_settled(found, first.environment) or target.place is None
        severity: Severity = "warning" if doubt or found.severity != "error" else "error"
        beside = any_amd and first.environment.sort in ("project", "requirements", "conda")
        if target.place is None and (beside or repository.unread or (open_ and repository.first and not any_amd)):
            severity = "note"
        title = found.title if any_amd else f"no environment for AMD GPUs{' is declared' if mention else ''}: {found.title}"
        made.append(
            msgspec.structs.replace(
                first,
                finding=msgspec.structs.replace(
                    found if any_amd or (target.place and not open_) else finding(matrix, "repo.no-amd-environment", evidence=(), subject=Subject(found.subject, "environment"), cause=found.cause),
                    severity=severity,
                    title=title,
                    evidence=tuple(dict.fromkeys((*places, *([mention.reading()] if mention else []), *whose))),
                    advice=found.advice,
                    commands=found.commands,
                ),
            )
        )  # fmt: skip
    return made
