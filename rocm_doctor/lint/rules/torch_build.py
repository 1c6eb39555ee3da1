"""Which torch an environment ends up with, and what put it there."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_doctor import versions
from rocm_doctor.commands import filled
from rocm_doctor.lint.advice import on_torch
from rocm_doctor.lint.declared import Environment, Step, Target
from rocm_doctor.lint.rules.companions import own_or_asked
from rocm_doctor.lint.rules.findings import found
from rocm_doctor.lint.rules.indexes import Torch, admits, of_local, pinned, said, sources, wanted
from rocm_doctor.lint.rules.replacing import replacing, way, with_own_torch
from rocm_doctor.lint.rules.requires_torch import is_open, requires_torch
from rocm_doctor.lint.rules.torch_state import is_either, last_state
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding, Severity

_PIP = "https://pip.pypa.io/en/stable/cli/pip_install/#finding-packages"

NO_TORCH = "no torch can be installed here"
RESOLVES = "torch resolves to"
"""How titles begin."""


def torch_build(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """`version.torch-not-rocm` where the environment ends up with a CUDA or CPU torch, naming what put it there."""
    state = last_state(environment, matrix, target)
    if state is None:
        return
    step, before, last = state
    if last.build == "none":
        yield _no_wheel(environment, target, matrix, step, last)
    if step is None or last.build not in ("cuda", "cpu") or (last.build == "cpu" and last.explicit):
        return
    bringing, there = replacing(environment, target, matrix)
    before = there or before
    replaced = before is not None and before.build == "rocm"
    settled = bool(last.version and bringing) or any(pinned(r.spec) for r in wanted(step, target))
    own = [] if settled else bringing or with_own_torch(step, target, matrix)
    version = last.version if not own and _is_known(environment, step, target) else ""
    what = said(last.build, version) if last.build == "cpu" or not is_either(step) else f"{version}, {_EITHER}".removeprefix(", ")
    if own:
        what += f", that of {own[0].name}'s {'newest release' if is_open(own[0].spec) else 'release'}"
    title = f"the ROCm torch is replaced by {what}" if replaced else f"{RESOLVES} {what}"
    places = [
        *(r.place for r in bringing),
        last.place,
        *([last.origin.place] if last.origin else []),
        *([before.place] if replaced and before else []),
    ]
    yield found(
        matrix,
        "version.torch-not-rocm",
        environment,
        target,
        places,
        severity="error" if replaced else _weight(environment, step, matrix),
        title=title,
        cause=_sentence(last.why) + (_unseen(step) if replaced else ""),
        advice=way(bringing, matrix)
        or (_TOGETHER if replaced and (step.apart or step.anew) else "")
        or on_torch(environment, target, matrix, step, last) + _later(environment),
        commands=filled("rocm-doctor plan --gpu {gfx}", gfx=target.gpu),
        sources=(_PIP, *matrix.diagnoses["version.torch-not-rocm"].sources),
    )


def _is_known(environment: Environment, step: Step, target: Target) -> bool:
    """True if the version is pinned, or that for a Python that is known: releases of torch are for some Pythons only."""
    return bool(own_or_asked(environment, target)) or any(pinned(r.spec) for r in wanted(step, target))


_EITHER = "a CPU or CUDA build"

_TOGETHER = "Name the ROCm index and the pinned torch in this command as well, or install all of it in one command."


def _unseen(step: Step) -> str:
    """Why the torch that is there does not count for pip."""
    if step.anew:
        return " With --force-reinstall, --ignore-installed or an eager upgrade pip takes the packages that others depend on anew as well."
    return f" pip does not look for installed packages in {step.apart}." if step.apart else ""


_LATER = " The GPU libraries beside it are judged once torch is a ROCm build."
_GPU_LIBRARIES = frozenset(("bitsandbytes", "xformers", "flash-attn", "torchao", "deepspeed", "vllm", "aiter", "triton"))


def _later(environment: Environment) -> str:
    """What the advice goes on with where it is not judged with another torch."""
    libraries = any(r.name in _GPU_LIBRARIES for step in environment.steps for r in step.requirements)
    return _LATER if libraries and environment.purpose.kind != "amd" else ""


def _weight(environment: Environment, step: Step, matrix: Matrix) -> Severity:
    """A list that names no torch may be meant to be installed beside one: that is a note, all else is an error."""
    named = any(r.name == "torch" or r.name in requires_torch(matrix).exact for r in step.requirements)
    return "error" if named or environment.image or step.tool == "lock" else "note"


def _sentence(words: str) -> str:
    """Words as a sentence; the name of a package at its beginning stays as it is written."""
    begins = words.startswith(("it ", "the ", "an "))
    return f"{words[0].upper() if begins else words[0]}{words[1:]}."


def _no_wheel(environment: Environment, target: Target, matrix: Matrix, step: Step | None, last: Torch) -> Finding:
    python = target.python and f"for Python {target.python}" in last.why
    return found(
        matrix,
        "version.python-unsupported" if python else "version.wheel-missing",
        environment,
        target,
        [last.place, *([last.origin.place] if last.origin else [])],
        title=f"{NO_TORCH}: {last.why}",
        cause=_sentence(last.why),
        advice=on_torch(environment, target, matrix, step, last),
        commands=filled("rocm-doctor plan --gpu {gfx}", gfx=target.gpu),
    )


def _is_open(spec: str, matrix: Matrix) -> bool:
    """True if a release that is yet to come may be in a range: one that ends before the newest release is settled."""
    newest = max((b.torch for b in matrix.torch if versions.parse(b.torch)), key=versions.sort_key)
    return admits(spec, newest) or admits(spec, "999")


def unsafe_indexes(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """A ROCm index beside the default one with an open range: today's result changes with the next release elsewhere. Only the step that
    brings the torch decides: pip leaves one that is there and in the range.
    """
    state = last_state(environment, matrix, target)
    step = state[0] if state and state[2].build == "rocm" else None
    if step is None:
        return
    asked, first = sources(step, "torch", target)
    rocm = next((s.origin for s in asked if s.build == "rocm" and s.origin), None)
    others = [s for s in asked if s.build != "rocm"]
    asked_for = wanted(step, target)
    settled = any(
        pinned(r.spec) or of_local(r.spec, r.url) for r in (*asked_for, *(c for c in step.constraints if c.name == "torch"))
    )
    open_ones = [r for r in asked_for if _is_open(r.spec, matrix)]
    if first or not rocm or not others or settled or not open_ones:
        return
    yield found(
        matrix,
        "version.torch-not-rocm",
        environment,
        target,
        [open_ones[-1].place, rocm.place],
        severity="warning",
        confidence="medium",
        row="",
        title="an open torch range over a ROCm index and the default one: the next release there replaces the ROCm build",
        cause=f"All indexes are searched and the highest version wins ({step.strategy or 'pip'}).",
        advice="Pin torch to one version, or give it the ROCm index alone.",
        sources=(_PIP,),
    )
