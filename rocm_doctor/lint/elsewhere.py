"""What other places of a repository say of a finding: that it is meant for other GPUs, that a value is only a default, that an override helps."""

from __future__ import annotations

import re

from rocm_doctor.binaries.targets import covers, overridden
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint import lent
from rocm_doctor.lint.declared import OVERRIDE, ROCR, Environment, Repository, Setting, Target
from rocm_doctor.lint.environments.words import cards, holds
from rocm_doctor.lint.rules.built_for import lists, targets_of
from rocm_doctor.lint.rules.own_python import of_its_wheels
from rocm_doctor.lint.rules.torch_state import last_state
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding
from rocm_doctor.rules.build import build_of
from rocm_doctor.rules.override import names_sibling

DECIDES = {"arch.override-wrong": OVERRIDE, "access.visible-devices": ROCR}
"""The variable that decides a diagnosis."""


def doubt(
    one: Finding, environment: Environment, target: Target, repository: Repository, matrix: Matrix
) -> tuple[Setting, str] | None:
    """The place that leaves a doubt on an error, and what it says; None where there is none."""
    about = repository.beginning
    if one.id.startswith("arch.") and about and not holds(cards(about.value), target.gpu):
        return about, f"The {about.name} of the repository names other GPUs: {about.place.quote or about.value}. "
    if (wheels := of_its_wheels(environment, target)) and one.id not in DECIDES:
        return wheels, f"By the wheel on {wheels.place.words} it is for Python {wheels.value}. "
    if helping := _run_with(one, environment, target, repository, matrix):
        return helping, _of_helping(helping, target, matrix)
    if hides := lent.hidden_by(one, environment, target, repository, matrix):
        return hides, f"{OVERRIDE}={hides.value} on {hides.place.words} hides this: take that out as well. "
    if meant := _for_others(one, target, repository) or _built_for_others(one, environment, target, repository):
        return meant, f"By {meant.place.words} it is for other GPUs. "
    other = _given_otherwise(one, environment, target, repository)
    return (other, f"The repository gives {other.name} another value on {other.place.words}. ") if other else None


def is_met_by_override(one: Finding, environment: Environment, target: Target, repository: Repository, matrix: Matrix) -> bool:
    """True if a finding asks for an override that the repository has its user set somewhere, or for code that is there with it."""
    values = {s.value for s in repository.assigned if s.name == OVERRIDE}
    if one.id == "arch.override-needed":
        return any(f"={value} " in one.title for value in values)
    places = {r.at for r in one.evidence}
    built = [targets_of(s) for s in lists(environment) if s.place.at in places]
    siblings = [value for value in values if names_sibling(value, target.gpu, matrix)]
    return one.id == "arch.not-in-build" and any(covers(gpus, target.gpu, value) for gpus in built for value in siblings)


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
    overrides = (s for s in repository.assigned if s.name == OVERRIDE and build and covers(build.gfx, target.gpu, s.value))
    return next((s for s in overrides if names_sibling(s.value, target.gpu, matrix)), None)


def _of_helping(s: Setting, target: Target, matrix: Matrix) -> str:
    """What is said of an override that makes the GPU run a torch without code for it: where problems are reported, it is no way out."""
    chip = matrix.gfx.get(target.gpu)
    known = next((o for o in chip.overrides if o.value == s.value), None) if chip else None
    said = f"{OVERRIDE}={s.value}, as on {s.place.words}"
    if known and known.verdict in ("faulty", "harmful"):
        return f"It is run with {said}; reported of that on {target.gpu}: {known.words}. "
    return f"With {said}, the GPU runs this torch. "


# A comment, or a command that only prints.
_SAYS = regex(r"#|//|rem\b|(?:echo|printf?|print_\w+|log\w*|info|warn\w*|write-\w+)\b[^>]*$", re.I)
_PROSE = regex(r"\.(?:md|rst|txt|adoc|html|py|ipynb|json)$", re.I)


def also_set(one: Finding, target: Target, repository: Repository) -> str:
    """The further lines of commands and settings that set the override to a value for other GPUs, or to the same variable."""
    at = {r.at for r in one.evidence}
    own = {(s.place.file, s.value) for s in repository.assigned if s.place.at in at}
    more = [
        s.place.words
        for s in repository.assigned
        if s.name == OVERRIDE
        and (f"={s.value} " in one.title or not suits(s.value, target) or (s.value != "" and (s.place.file, s.value) in own))
        and s.place.at not in at
        and not is_told(s)
    ]
    lines = [line for line in dict.fromkeys(more) if line not in one.advice]
    return f"It is set on {', '.join(lines)} as well. " if lines else ""


def is_told(s: Setting) -> bool:
    """True if a value is given in a text that sets nothing: a document, a comment, what a command prints."""
    prose = _PROSE.search(s.place.file) and not _by_program(s)
    return bool(prose or _SAYS.match(s.place.quote) or _is_commented_out(s))


def _is_commented_out(s: Setting) -> bool:
    """True if a line has the variable behind a `#` only, as where it writes a comment into a file."""
    before = s.place.quote.split(s.name)[:-1]
    return bool(before) and all(_BEHIND_HASH.search(one) for one in before)


_BEHIND_HASH = regex(r"#[\s-]*(?:(?:export|ENV|set)\s+)?$", re.I)


def _by_program(s: Setting) -> bool:
    """True if a program in Python sets the variable for itself."""
    return s.place.file.endswith(".py") and "environ" in s.place.quote


_REFERS = regex(r"\$\{?([A-Za-z_]\w+)")


def _given_otherwise(one: Finding, environment: Environment, target: Target, repository: Repository) -> Setting | None:
    """What shows that the deciding value is only a default: another value of the same name in the repository, or the setting itself
    where its caller may give one.
    """
    at = {r.at for r in one.evidence}
    decisive = [s for s in environment.variables if s.place.at in at]
    own = [s for s in decisive if s.name == DECIDES.get(one.id)]
    names = {s.name for s in own} if own else {m[1] for r in one.evidence for m in _REFERS.finditer(r.quote)}
    files = {r.artifact for r in one.evidence}
    for name in sorted(names.difference(environment.given)):
        given = [
            s for s in repository.assigned if s.name == name and (own or s.place.file in files or not _IMAGE.search(s.place.file))
        ]
        here = [s.value for s in given if s.place.at in at] or [s.value for s in given]
        # A program that looks for an empty value replaces it by its own.
        empty = "" in here[:1]
        said = (
            s
            for s in given
            if s.value not in here[:1] and (not own or name != OVERRIDE or suits(s.value, target) or (empty and _by_program(s)))
        )
        if other := next(said, None):
            return other
    # Whoever needs no override gives none, and gets an empty default.
    return next((s for s in own if (s.default and s.value) or s.argument or _TEMPLATE.search(s.place.file)), None)


# An argument of another image is not this one's.
_IMAGE = regex(r"(?:docker|container)file[^/]*$|\.(?:docker|container)file$", re.I)


def suits(override: str, target: Target) -> bool:
    """True if another value of the override may be for the target: one of its generation, none, or one that a variable gives."""
    generation = target.gpu.removeprefix("gfx")[:-2]
    return not override[:1].isdigit() or override.partition(".")[0] == generation


# A file of settings that its user copies and fills in.
_TEMPLATE = regex(r"\.?env[\w.-]*(?:example|template|sample|dist)", re.I)
