"""A plan in every format: text, JSON, and the files of an environment."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

import msgspec

from rocm_doctor.plan import frameworks
from rocm_doctor.plan.answer import Plan
from rocm_doctor.plan.commands import Tool, install, package_requirements, replacements, torch_requirements
from rocm_doctor.plan.files import FILES, Contents, write
from rocm_doctor.plan.frameworks import FrameworkPlan
from rocm_doctor.plan.stacks import Stack
from rocm_doctor.plan.text import text
from rocm_doctor.plan.variables import lines

SCHEMA_VERSION = 1
FORMATS = ("text", "json", *FILES)


def render(form: str, plan: Plan | FrameworkPlan, *, tool: Tool = "pip", verbose: bool = False) -> str:
    """The plan in that format; as text where nothing is known to work and a file is asked for. Raises UnknownFormat."""
    if isinstance(plan, FrameworkPlan):
        words, found = frameworks.text(plan, tool), plan.release is not None
    else:
        words, found = text(plan, verbose=verbose, tool=tool), plan.best is not None
    if form == "json":
        made = frameworks.as_document(plan) if isinstance(plan, FrameworkPlan) else _document(plan)
        return msgspec.json.format(msgspec.json.encode({"schema_version": SCHEMA_VERSION, **made}), indent=2).decode() + "\n"
    if form in FILES and found:
        return write(form, frameworks.contents(plan) if isinstance(plan, FrameworkPlan) else contents(plan))
    return words


def _document(plan: Plan) -> dict[str, Any]:
    """Everything, for programs: stacks with their commands, variables, rejected builds, nearest changes."""
    return {
        "matrix_version": plan.matrix_version,
        "machine": plan.machine.fields(),
        "wish": plan.wish,
        "stacks": [_stack(plan, s) for s in plan.stacks],
        "remarks": plan.remarks,
        "variables": plan.variables,
        "replaces": replacements(plan.stacks[0], plan.machine) if plan.stacks else [],
        "rejected": [{"build": r.build.key, "why": r.why, "source": r.source} for r in plan.rejected],
        "nearest": plan.nearest,
        "works": plan.works,
        "keeps": plan.keeps,
        "blocked": [{"package": b.name, "version": b.version, "id": b.finding.id, "removed": b.goes} for b in plan.blocked],
        "elsewhere": [{"id": f.id, "title": f.title, "subject": f.subject} for f in plan.elsewhere],
    }


def _stack(plan: Plan, stack: Stack) -> dict[str, Any]:
    one = stack.candidate
    return {
        "name": stack.name,
        "grade": stack.grade,
        "torch": one.build.local or one.build.torch,
        "rocm": one.build.rocm,
        "index": one.index.url,
        "requirements": [
            *torch_requirements(one, plan.machine),
            *package_requirements(stack),
            *package_requirements(stack, "built"),
        ],
        "packages": {name: release.version for name, release in stack.packages.items()},
        "env": stack.env,
        "because": [{"words": s.words, "grade": s.grade, "source": s.source} for s in one.said],
        "notes": [{"id": n.id, "row": n.row, "title": n.title, "sources": n.sources} for n in stack.notes],
        "commands": [shlex.join(command) for command in install(stack, plan.machine, drop=plan.drop)],
    }


def contents(plan: Plan) -> Contents:
    """What the files of the first stack hold."""
    stack, machine = plan.stacks[0], plan.machine
    one = stack.candidate
    installs = install(stack, machine, drop=plan.drop)
    triton = [one.build.triton] if "==" in one.build.triton and not one.index.extras else []
    alone, built = package_requirements(stack, "alone"), package_requirements(stack, "built")
    before = dict.fromkeys(need for release in stack.packages.values() if release.alone for need in release.build_with)
    unfit = {"dockerfile": f"{', '.join(built)} is compiled with hipcc, which a plain Python image lacks"} if built else {}
    if machine.system == "windows":
        unfit = {"dockerfile": "a Linux container on Windows has no HIP device; plan for --os wsl or linux"}
    return Contents(
        heading=list(_heading(plan)),
        python=machine.python,
        source=one.index.url,
        bound=[*torch_requirements(one, machine), *triton],
        plain=[*package_requirements(stack), *before],
        installs=installs,
        script=[
            *lines(plan.variables, "powershell" if machine.system == "windows" else "bash"),
            *(shlex.join(command) for command in installs),
        ],
        later=[*(f"--no-deps {name}" for name in alone), *(f"--no-build-isolation {name}" for name in built)],
        env=stack.env,
        system=machine.system,
        alone=one.index.nightly,
        explicit=not one.index.extras and one.build.family == "bundled",
        unfit=unfit,
    )


def _heading(plan: Plan) -> Iterator[str]:
    stack = plan.stacks[0]
    yield f"{plan.machine.words()}: {stack.name} ({stack.grade}), rocm-doctor matrix {plan.matrix_version}"
    yield from (f"{said.words} [{said.source}]" for said in stack.candidate.said[:2])
    for variable in plan.variables:
        setting = f"unset {variable.name}" if variable.value is None else f"{variable.name}={variable.value}"
        yield f"{setting}: see rocm-doctor env"
