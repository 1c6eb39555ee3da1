"""A plan in every format: text, JSON, requirements.txt, and pyproject.toml for uv."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

import msgspec
from packaging.requirements import Requirement

from rocm_doctor.plan.answer import Plan
from rocm_doctor.plan.commands import Tool, install, package_requirements, replacements, torch_requirements
from rocm_doctor.plan.frameworks import FrameworkPlan, framework_text, script
from rocm_doctor.plan.search import Stack
from rocm_doctor.plan.text import text

SCHEMA_VERSION = 1


class UnknownFormat(ValueError):
    """The plan cannot be written in this format; the text says why."""


def render(form: str, plan: Plan | FrameworkPlan, *, tool: Tool = "pip", verbose: bool = False) -> str:
    """The plan in that format. A file format becomes text if no stack is known to work. Raises UnknownFormat if a file is asked
    for JAX or TensorFlow, or pyproject.toml for packages that need an own pip command."""
    if form == "json":
        document = _framework_document(plan) if isinstance(plan, FrameworkPlan) else _document(plan)
        return msgspec.json.format(msgspec.json.encode({"schema_version": SCHEMA_VERSION, **document}), indent=2).decode() + "\n"
    if isinstance(plan, FrameworkPlan):
        if form in FILES and plan.release:
            raise UnknownFormat(f"for torch alone; {plan.release.name} has commands: take --format text or json")
        return framework_text(plan, tool)
    if form not in FILES or plan.best is None:
        return text(plan, verbose=verbose, tool=tool)
    return "\n".join([*(f"# {' '.join(line.split())}" for line in _heading(plan, plan.best)), *FILES[form](plan, plan.best), ""])


def _heading(plan: Plan, stack: Stack) -> Iterator[str]:
    """What a file says of itself: the stack, its evidence, and the variables, which a file cannot hold."""
    yield f"{plan.machine.words()}: {stack.name} ({stack.grade}), rocm-doctor matrix {plan.known.matrix.version}"
    yield from (f"{claim.words} [{claim.source}]" for claim in stack.candidate.claims[:2])
    for variable in plan.variables:
        setting = f"unset {variable.name}" if variable.value is None else f"{variable.name}={variable.value}"
        yield f"{setting}: see rocm-doctor env"


def _requirements(plan: Plan, stack: Stack) -> Iterator[str]:
    """requirements.txt: the index as an option, exact versions whose local part only that index has. A nightly has no such version,
    so its index is the only one, and other packages come afterwards."""
    only = stack.candidate.index.nightly
    yield f"--{'' if only else 'extra-'}index-url {stack.candidate.index.url}"
    yield from _from_index(plan, stack)
    yield from () if only else _others(stack)
    yield from (f"# afterwards: pip install {arguments}" for arguments in (*(_others(stack) if only else ()), *_later(stack)))


def _uv(plan: Plan, stack: Stack) -> Iterator[str]:
    """Lines of pyproject.toml for uv. The index is bound to its own requirements, so that nothing else comes from it. Raises
    UnknownFormat if a package needs a pip command of its own."""
    if later := _later(stack):
        raise UnknownFormat(f"pyproject.toml cannot say `pip install {later[0]}`; take --format text")
    bound, index = _from_index(plan, stack), stack.candidate.index
    yield from ("[project]", 'name = "training"', 'version = "0"')
    yield from [f'requires-python = "=={plan.machine.python}.*"'] if plan.machine.python else []
    yield from ("dependencies = [", *(f'    "{requirement}",' for requirement in (*bound, *_others(stack))), "]")
    yield from ("", "[tool.uv.sources]", *(f'{Requirement(requirement).name} = {{ index = "rocm" }}' for requirement in bound))
    explicit = not index.extras and stack.candidate.build.family == "bundled"
    yield from ("", "[[tool.uv.index]]", 'name = "rocm"', f'url = "{index.url}"', f"explicit = {str(explicit).lower()}")


def _from_index(plan: Plan, stack: Stack) -> list[str]:
    """Requirements that come from the index of the stack: torch, its companions and its Triton."""
    triton = stack.candidate.build.triton
    return [
        *torch_requirements(stack.candidate, plan.machine),
        *([triton] if "==" in triton and not stack.candidate.index.extras else []),
    ]


def _others(stack: Stack) -> list[str]:
    """Requirements that come from the package index."""
    before = dict.fromkeys(need for release in stack.packages.values() if release.alone for need in release.build_with)
    return [*package_requirements(stack), *before]


def _later(stack: Stack) -> list[str]:
    """Arguments of the pip commands that have to follow, which no file can hold."""
    alone, built = package_requirements(stack, "alone"), package_requirements(stack, "built")
    return [*(f"--no-deps {name}" for name in alone), *(f"--no-build-isolation {name}" for name in built)]


FILES = {"requirements": _requirements, "uv": _uv}
FORMATS = ("text", "json", *FILES)


def _document(plan: Plan) -> dict[str, Any]:
    """Everything, for programs: stacks with their commands, variables, rejected builds, nearest changes."""
    return {
        **{name: getattr(plan, name) for name in ("wish", "remarks", "variables", "nearest", "works", "keeps")},
        "matrix_version": plan.known.matrix.version,
        "machine": plan.machine.fields(),
        "stacks": [_stack_document(plan, s) for s in plan.stacks],
        "replaces": replacements(plan.stacks[0], plan.machine) if plan.stacks else [],
        "rejected": [{"build": r.build.key, "why": r.why, "source": r.source} for r in plan.rejected],
        "blocked": [{"package": b.name, "version": b.version, "id": b.finding.id, "removed": b.removed} for b in plan.blocked],
        "by_hand": [{"id": f.id, "title": f.title, "subject": f.subject} for f in plan.by_hand],
    }


def _stack_document(plan: Plan, stack: Stack) -> dict[str, Any]:
    candidate = stack.candidate
    packages = [*package_requirements(stack), *package_requirements(stack, "built")]
    return {
        "name": stack.name,
        "grade": stack.grade,
        "torch": candidate.build.local or candidate.build.torch,
        "rocm": candidate.build.rocm,
        "index": candidate.index.url,
        "requirements": [*torch_requirements(candidate, plan.machine), *packages],
        "packages": {name: release.version for name, release in stack.packages.items()},
        "env": stack.env,
        "because": [{"words": s.words, "grade": s.grade, "source": s.source} for s in candidate.claims],
        "notes": [{"id": n.id, "row": n.row, "title": n.title, "sources": n.sources} for n in stack.notes],
        "commands": [shlex.join(c) for c in install(stack, plan.machine, python=plan.machine.interpreter, drop=plan.drop)],
    }


def _framework_document(plan: FrameworkPlan) -> dict[str, Any]:
    return {
        **{name: getattr(plan, name) for name in ("framework", "release", "instead", "works", "undecided")},
        "machine": plan.machine.fields(),
        "commands": list(script(plan)) if plan.release else [],
        "against": [{"why": why, "source": cited} for why, cited in plan.against],
    }
