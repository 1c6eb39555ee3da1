"""A plan as files: JSON, HTML, requirements.txt, pyproject for uv, a conda environment, a Dockerfile, shell lines."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from rocm_doctor.plan.answer import Plan
from rocm_doctor.plan.commands import install, package_requirements, replaces, torch_requirements
from rocm_doctor.plan.html import page
from rocm_doctor.plan.stacks import Stack
from rocm_doctor.plan.variables import lines

SCHEMA_VERSION = 1


class UnknownFormat(ValueError):
    """The plan cannot be written in this format; the text says why."""


def as_json(plan: Plan) -> str:
    """Everything, for programs: stacks with their commands, variables, rejected builds, nearest changes."""
    document = {
        "schema_version": SCHEMA_VERSION,
        "matrix_version": plan.matrix_version,
        "machine": plan.machine.fields(),
        "wish": plan.wish,
        "stacks": [_stack(plan, s) for s in plan.stacks],
        "remarks": plan.remarks,
        "variables": plan.variables,
        "replaces": replaces(plan.stacks[0], plan.machine) if plan.stacks else [],
        "rejected": [{"build": r.build.key, "why": r.why, "source": r.source} for r in plan.rejected],
        "nearest": plan.nearest,
        "works": plan.works,
        "keeps": plan.keeps,
        "blocked": [{"package": b.name, "version": b.version, "id": b.finding.id, "removed": b.goes} for b in plan.blocked],
        "elsewhere": [{"id": f.id, "title": f.title, "subject": f.subject} for f in plan.elsewhere],
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def _stack(plan: Plan, stack: Stack) -> dict[str, Any]:
    one = stack.candidate
    return {
        "name": stack.name,
        "grade": stack.grade,
        "torch": one.build.local or one.build.torch,
        "rocm": one.build.rocm,
        "index": one.index.url,
        "requirements": [*torch_requirements(one, plan.machine), *_packages(stack)],
        "packages": {name: release.version for name, release in stack.packages.items()},
        "env": stack.env,
        "because": [{"words": s.words, "grade": s.grade, "source": s.source} for s in one.said],
        "notes": [{"id": n.id, "row": n.row, "title": n.title, "sources": n.sources} for n in stack.notes],
        "commands": [shlex.join(command) for command in install(stack, plan.machine, drop=plan.drop)],
    }


def _packages(stack: Stack) -> list[str]:
    return package_requirements(stack) + package_requirements(stack, "built")


def requirements(plan: Plan) -> str:
    """requirements.txt: the index as an option, exact versions whose local part only that index has."""
    return "".join(f"{line}\n" for line in [*_heading(plan), *_requirements(plan)])


def _requirements(plan: Plan) -> Iterator[str]:
    stack = plan.stacks[0]
    if stack.candidate.index.nightly:
        yield "# Nightlies have no fixed version: this file lists torch alone, from its own index."
        yield f"--index-url {stack.candidate.index.url}"
        yield from torch_requirements(stack.candidate, plan.machine)
        yield from (f"# afterwards: pip install {name}" for name in _packages(stack))
        return
    yield f"--extra-index-url {stack.candidate.index.url}"
    yield from torch_requirements(stack.candidate, plan.machine)
    yield from package_requirements(stack)
    alone = package_requirements(stack, "alone")
    yield from dict.fromkeys(need for one in stack.packages.values() if one.alone for need in one.build_with)
    yield from (f"# afterwards, without its dependencies: pip install --no-deps {n}" for n in alone)
    yield from (
        f"# afterwards, compiled here: pip install --no-build-isolation {n}" for n in package_requirements(stack, "built")
    )


def _heading(plan: Plan) -> Iterator[str]:
    stack = plan.stacks[0]
    yield f"# {plan.machine.words()}: {stack.name} ({stack.grade}), rocm-doctor matrix {plan.matrix_version}"
    for said in stack.candidate.said[:2]:
        yield f"# {' '.join(said.words.split())} [{said.source}]"
    for variable in plan.variables:
        setting = f"unset {variable.name}" if variable.value is None else f"{variable.name}={variable.value}"
        yield f"# {setting}: see rocm-doctor env"


def uv(plan: Plan) -> str:
    """pyproject.toml for uv. The ROCm index is bound to torch and its companions, so that nothing else comes from it."""
    stack = plan.stacks[0]
    one = stack.candidate
    if alone := package_requirements(stack, "alone"):
        raise UnknownFormat(
            f"{', '.join(alone)} goes without its dependencies, which pyproject.toml cannot say; take --format shell"
        )
    torch = torch_requirements(one, plan.machine)
    triton = [one.build.triton] if "==" in one.build.triton and not one.index.extras else []
    names = [name.partition("==")[0].partition("[")[0] for name in (*torch, *triton)]
    bound = not one.index.extras and one.build.family == "bundled"
    quoted = "\n".join(f'    "{r}",' for r in (*torch, *triton, *_packages(stack)))
    sources = "\n".join(f'{name} = {{ index = "rocm" }}' for name in names)
    return "\n".join(
        [
            *_heading(plan),
            "[project]",
            'name = "training"',
            'version = "0"',
            *([f'requires-python = "=={plan.machine.python}.*"'] if plan.machine.python else []),
            f"dependencies = [\n{quoted}\n]",
            "",
            "[tool.uv.sources]",
            sources,
            "",
            "[[tool.uv.index]]",
            'name = "rocm"',
            f'url = "{one.index.url}"',
            f"explicit = {'true' if bound else 'false'}",
            "",
        ]
    )


def conda(plan: Plan) -> str:
    """environment.yml: Python from conda, torch and its company from pip, as the catalog has no channel with ROCm builds."""
    stack = plan.stacks[0]
    pip = [line for line in _requirements(plan) if not line.startswith("#")]
    python = f"={plan.machine.python}" if plan.machine.python else ""
    rows = [*_heading(plan), "name: training", "dependencies:", f"  - python{python}", "  - pip", "  - pip:"]
    env = [f'  {name}: "{value}"' for name, value in stack.env.items()]
    return "\n".join([*rows, *(f'      - "{line}"' for line in pip), *(["variables:", *env] if env else []), ""])


DEVICES = {
    "linux": "--device=/dev/kfd --device=/dev/dri --group-add $(stat -c %g /dev/kfd) "
    "--group-add $(stat -c %g /dev/dri/renderD128)",
    "wsl": "--device=/dev/dxg -v /usr/lib/wsl/lib:/usr/lib/wsl/lib -v /opt/rocm/lib/librocdxg.so:/usr/lib/librocdxg.so",
}


def dockerfile(plan: Plan) -> str:
    """A Dockerfile on a plain Python image: these wheels bring their ROCm, the driver is the host's. Raises UnknownFormat."""
    stack, machine = plan.stacks[0], plan.machine
    if machine.system == "windows":
        raise UnknownFormat("a Linux container on Windows has no HIP device; plan for --os wsl or linux")
    if built := package_requirements(stack, "built"):
        raise UnknownFormat(f"{', '.join(built)} is compiled with hipcc, which a plain Python image lacks")
    env = [f"ENV {name}={shlex.quote(value)}" for name, value in stack.env.items()]
    runs = [f"RUN {shlex.join((*command[:2], '--no-cache-dir', *command[2:]))}" for command in install(stack, machine)]
    run = f"# docker run --rm -it {DEVICES[machine.system]} --ipc=host --security-opt seccomp=unconfined IMAGE"
    return "\n".join([*_heading(plan), run, f"FROM python:{machine.python or '3.12'}-slim", *env, *runs, ""])


def shell(plan: Plan) -> str:
    """Variables and installation as a script for sh (PowerShell on Windows)."""
    kind = "powershell" if plan.machine.system == "windows" else "bash"
    commands = [shlex.join(command) for command in install(plan.stacks[0], plan.machine, drop=plan.drop)]
    return "\n".join([*_heading(plan), *lines(plan.variables, kind), *commands, ""])


FORMATS: dict[str, Callable[[Plan], str]] = {
    "json": as_json,
    "html": page,
    "requirements": requirements,
    "uv": uv,
    "conda": conda,
    "dockerfile": dockerfile,
    "shell": shell,
}
