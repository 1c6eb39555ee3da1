"""What makes a finding an error: it certainly stops the target, in an environment that is certainly meant for it.

Everything else that is found is a warning: a build for other GPUs is a choice, a library that the GPU lacks can be done without,
a job runs on its own runner, a list without an index is installed with one that its caller names. A target that the repository
declares is one that all of it is meant for.
"""

from __future__ import annotations

import re

import msgspec

from rocm_doctor.binaries.targets import covers, overridden
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import OVERRIDE, ROCR, Environment, ReadProblem, Repository, Setting, Target
from rocm_doctor.lint.environments.words import cards, holds
from rocm_doctor.lint.rules.built_for import gpu_of_index, lists, targets_of
from rocm_doctor.lint.rules.torch_state import last_state
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding, Reading
from rocm_doctor.rules.build import build_of
from rocm_doctor.rules.override import LACKS, same_isa

NOT_ROCM = "version.torch-not-rocm"


def capped(one: Finding, environment: Environment, target: Target, repository: Repository, matrix: Matrix) -> Finding:
    """The finding; a warning where the environment, what leads to it, or another place of the repository leaves a doubt. One on an
    override names each further line that sets it: the advice is to take out all of them.
    """
    if one.id == "arch.override-wrong" and one.severity != "note":
        one = msgspec.structs.replace(one, advice=_elsewhere(one, target, repository) + one.advice)
    if one.severity != "error":
        return one
    if not is_certain(one, environment, target) or _by_reports(one, environment, target, matrix):
        return msgspec.structs.replace(one, severity="warning")
    if target.place is not None:
        return one
    about = repository.beginning
    if one.id.startswith("arch.") and about and not holds(cards(about.value), target.gpu):
        return _doubted(one, about, f"The {about.name} of the repository names other GPUs: {about.place.quote or about.value}. ")
    if helping := _run_with(one, environment, target, repository, matrix):
        return _doubted(one, helping, _of_helping(helping, target, matrix))
    if meant := _for_others(one, target, repository) or _built_for_others(one, environment, target, repository):
        return _doubted(one, meant, f"By {_line(meant)} it is for other GPUs. ")
    other = given_otherwise(one, environment, target, repository)
    return _doubted(one, other, f"The repository gives {other.name} another value on {_line(other)}. ") if other else one


def is_met_by_override(one: Finding, environment: Environment, target: Target, repository: Repository, matrix: Matrix) -> bool:
    """True if a finding asks for an override that the repository has its user set somewhere, or for code that is there with it."""
    values = {s.value for s in repository.assigned if s.name == OVERRIDE}
    if one.id == "arch.override-needed":
        return any(f"={value} " in one.title for value in values)
    places = {(r.artifact, r.place) for r in one.evidence}
    built = [targets_of(s) for s in lists(environment) if (s.place.file, f"line {s.place.line}") in places]
    chip = matrix.gfx.get(target.gpu)
    siblings = [value for value in values if same_isa(chip, matrix.gfx.get(overridden(value) or ""))]
    return one.id == "arch.not-in-build" and any(covers(gpus, target.gpu, value) for gpus in built for value in siblings)


def _by_reports(one: Finding, environment: Environment, target: Target, matrix: Matrix) -> bool:
    """True if an override names a GPU whose code the chip runs: what was reported of that happens to some, and others train so."""
    chip = matrix.gfx.get(target.gpu)
    reported = {o.value for o in chip.overrides if same_isa(chip, matrix.gfx.get(overridden(o.value) or ""))} if chip else set()
    set_ = {s.value for s in environment.variables if s.name == OVERRIDE}
    return one.id == "arch.override-wrong" and bool(reported & set_) and LACKS not in one.title


def _doubted(one: Finding, by: Setting, said: str) -> Finding:
    """The finding as a warning that names the place of the repository that leaves the doubt."""
    known = (by.place.file, f"line {by.place.line}") in {(r.artifact, r.place) for r in one.evidence}
    evidence = one.evidence if known or not by.place.line else (*one.evidence, by.place.reading())
    return msgspec.structs.replace(one, severity="warning", evidence=evidence, advice=("" if known else said) + one.advice)


def _for_others(one: Finding, target: Target, repository: Repository) -> Setting | None:
    """Where comments say that the value of an override is for other GPUs: a choice, as a build for these is."""
    said = [s for s in repository.assigned if s.name == OVERRIDE and s.gfx and f"{OVERRIDE}={s.value} " in one.title]
    return None if any(holds(s.gfx, target.gpu) for s in said) else next(iter(said), None)


def _built_for_others(one: Finding, environment: Environment, target: Target, repository: Repository) -> Setting | None:
    """Where the repository builds for the GPU that an override names, and nowhere for the target."""
    named = [overridden(s.value) for s in environment.variables if s.name == OVERRIDE] if one.id == "arch.override-wrong" else []
    built = [s for e in repository.environments if e.purpose.kind == "amd" for s in lists(e)]
    if any(covers(targets_of(s), target.gpu) for s in built):
        return None
    return next((s for s in built for gpu in named if gpu and covers(targets_of(s), gpu)), None)


def _run_with(one: Finding, environment: Environment, target: Target, repository: Repository, matrix: Matrix) -> Setting | None:
    """The override that the repository runs its programs with, where the torch that lacks code for the GPU has the code that it names."""
    state = last_state(environment, matrix, target) if one.id in ("arch.not-in-build", "arch.dropped-by-rocm") else None
    build = build_of(matrix, state[2].local) if state else None
    chip = matrix.gfx.get(target.gpu)
    overrides = (s for s in repository.assigned if s.name == OVERRIDE and build and covers(build.gfx, target.gpu, s.value))
    return next((s for s in overrides if same_isa(chip, matrix.gfx.get(overridden(s.value) or ""))), None)


def _of_helping(s: Setting, target: Target, matrix: Matrix) -> str:
    """What is said of an override that makes the GPU run a torch without code for it: where problems are reported, it is no way out."""
    chip = matrix.gfx.get(target.gpu)
    known = next((o for o in chip.overrides if o.value == s.value), None) if chip else None
    said = f"{OVERRIDE}={s.value}, as on {_line(s)}"
    if known and known.verdict in ("faulty", "harmful"):
        return f"It is run with {said}; reported of that on {target.gpu}: {known.words}. "
    return f"With {said}, the GPU runs this torch. "


# A comment, or a command that only prints.
_SAYS = regex(r"#|//|rem\b|(?:echo|printf?|print_\w+|log\w*|info|warn\w*|write-\w+)\b[^>]*$", re.I)
_PROSE = regex(r"\.(?:md|rst|txt|adoc|html|py|ipynb|json)$", re.I)


def _elsewhere(one: Finding, target: Target, repository: Repository) -> str:
    """The further lines of commands and settings that set the override to a value for other GPUs, or to the same variable."""
    at = {(r.artifact, r.place) for r in one.evidence}
    own = {(s.place.file, s.value) for s in repository.assigned if (s.place.file, f"line {s.place.line}") in at}
    more = [
        _line(s)
        for s in repository.assigned
        if s.name == OVERRIDE
        and (f"={s.value} " in one.title or not _suits(s.value, target) or (s.value != "" and (s.place.file, s.value) in own))
        and (s.place.file, f"line {s.place.line}") not in at
        and (_by_program(s) or not _PROSE.search(s.place.file))
        and not _SAYS.match(s.place.quote)
        and not _is_commented_out(s)
    ]
    lines = [line for line in dict.fromkeys(more) if line not in one.advice]
    return f"It is set on {', '.join(lines)} as well. " if lines else ""


def _is_commented_out(s: Setting) -> bool:
    """True if a line has the variable behind a `#` only, as where it writes a comment into a file."""
    before = s.place.quote.split(s.name)[:-1]
    return bool(before) and all(_BEHIND_HASH.search(one) for one in before)


_BEHIND_HASH = regex(r"#[\s-]*(?:(?:export|ENV|set)\s+)?$", re.I)


def _by_program(s: Setting) -> bool:
    """True if a program in Python sets the variable for itself."""
    return s.place.file.endswith(".py") and "environ" in s.place.quote


def _line(s: Setting) -> str:
    return f"line {s.place.line} of {s.place.file}"


def is_certain(one: Finding, environment: Environment, target: Target) -> bool:
    """True if an environment that is meant for the target certainly has what is found, and it certainly stops the target."""
    purpose = environment.purpose
    if target.place is None and (one.id not in STOPS or purpose.kind != "amd" or not purpose.direct):
        return False
    if environment.sort == "job" and target.place is None and not _names(environment, target):
        return False
    if one.id in _DECIDES and any(container.idle for container in environment.containers):
        return False
    if one.id == "version.companion-mismatch" and any(r.quote.count(".whl") for r in one.evidence):
        return False  # which torch such wheels require is not in the catalog
    if target.place is None and _CLUSTER.search(environment.place.file.lower()):
        return False  # written for one machine
    if target.place is None and one.id.startswith("arch.") and _is_for_another(environment, target):
        return False
    return is_settled(one, environment) and not index_by_caller(one, environment)


def _is_for_another(environment: Environment, target: Target) -> bool:
    """True if all that an environment builds, or the indexes that are for one GPU, are for others than the target: it is meant for those."""
    built = [targets_of(s) for s in lists(environment)]
    built += [(gpu,) for step in environment.steps for index in step.indexes if (gpu := gpu_of_index(index.url))]
    return bool(built) and all(covers(one, target.gpu) is False for one in built)


# What stops the target; any other diagnosis is of something that goes wrong now and then, or goes on in another way.
STOPS = frozenset((
    "access.container", "access.visible-devices", "arch.blas-missing", "arch.dropped-by-rocm", "arch.not-in-build", "arch.override-wrong",
    "repo.no-amd-environment", "repo.unreadable",
    "version.companion-mismatch", "version.package-mismatch", "version.python-unsupported", NOT_ROCM, "version.wheel-missing",
))  # fmt: skip
_CLUSTER = regex(r"(?<![a-z])(?:lumi|frontier|setonix|adastra|crusher|tuolumne|el[_-]?capitan)(?![a-z])")
_REFERS = regex(r"\$\{?([A-Za-z_]\w+)")


def given_otherwise(one: Finding, environment: Environment, target: Target, repository: Repository) -> Setting | None:
    """What shows that the deciding value is only a default: another value of the same name in the repository, or the setting itself
    where its caller may give one.
    """
    at = {(r.artifact, r.place) for r in one.evidence}
    decisive = [s for s in environment.variables if (s.place.file, f"line {s.place.line}") in at]
    own = [s for s in decisive if s.name == _DECIDES.get(one.id)]
    names = {s.name for s in own} if own else {m[1] for r in one.evidence for m in _REFERS.finditer(r.quote)}
    files = {r.artifact for r in one.evidence}
    for name in sorted(names):
        given = [
            s for s in repository.assigned if s.name == name and (own or s.place.file in files or not _IMAGE.search(s.place.file))
        ]
        here = [s.value for s in given if (s.place.file, f"line {s.place.line}") in at] or [s.value for s in given]
        # A program that looks for an empty value replaces it by its own.
        empty = "" in here[:1]
        said = (
            s
            for s in given
            if s.value not in here[:1] and (not own or name != OVERRIDE or _suits(s.value, target) or (empty and _by_program(s)))
        )
        if other := next(said, None):
            return other
    # Whoever needs no override gives none, and gets an empty default.
    return next((s for s in own if (s.default and s.value) or s.argument or _TEMPLATE.search(s.place.file)), None)


_DECIDES = {"arch.override-wrong": OVERRIDE, "access.visible-devices": ROCR}
# An argument of another image is not this one's.
_IMAGE = regex(r"(?:docker|container)file[^/]*$|\.(?:docker|container)file$", re.I)


def _suits(override: str, target: Target) -> bool:
    """True if another value of the override may be for the target: one of its generation, none, or one that a variable gives."""
    generation = target.gpu.removeprefix("gfx")[:-2]
    return not override[:1].isdigit() or override.partition(".")[0] == generation


# A file of settings that its user copies and fills in.
_TEMPLATE = regex(r"\.?env[\w.-]*(?:example|template|sample|dist)", re.I)


def is_settled(one: Finding, environment: Environment) -> bool:
    """True if the files decide that what is found is so: all was read, and it is in no branch that may not run."""
    first = one.evidence[0] if one.evidence else Reading("", "")
    # What the build of an image does changes no variable of it.
    fixed = is_fixed(one, environment) or (environment.sort == "image" and _is_by_variable(one))
    if not fixed and any(_leaves_open(p, one, first) for p in environment.unresolved):
        return False
    if environment.open_ends and one.id in _OF_WHAT_WAS_BEFORE:
        return False
    return (first.artifact, first.place) not in {(p.file, f"line {p.line}") for p in environment.unsure}


# What a torch that was installed before would settle.
_OF_WHAT_WAS_BEFORE = (NOT_ROCM, "version.companion-mismatch")


def _leaves_open(problem: ReadProblem, one: Finding, first: Reading) -> bool:
    """True if what is not known could make a finding untrue. What may have installed a torch before does so for a CUDA torch alone."""
    if problem.about == "before":
        return one.id in _OF_WHAT_WAS_BEFORE
    if problem.about == "absent":
        return one.id != "repo.unreadable"
    if problem.about == "start":
        return one.id.startswith("version.") or one.id == "arch.not-in-build"
    return not (problem.about == "limits" and _TORCH.search(first.quote))


def is_fixed(one: Finding, environment: Environment) -> bool:
    """True if a variable alone decides what is found, and nothing is open but what a list installs, which changes no variable."""
    return _is_by_variable(one) and all(p.about in ("before", "packages") for p in environment.unresolved)


def _is_by_variable(one: Finding) -> bool:
    return one.id in _DECIDES and LACKS not in one.title


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
