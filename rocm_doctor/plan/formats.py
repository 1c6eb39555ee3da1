"""A plan in every format: text, JSON, and the files of an environment (requirements.txt, pyproject for uv, a Dockerfile, a script)."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from packaging.requirements import Requirement

from rocm_doctor.plan.answer import Plan
from rocm_doctor.plan.commands import Argv, Tool, container, install, package_requirements, replacements, torch_requirements
from rocm_doctor.plan.frameworks import FrameworkPlan, framework_text, installs, script
from rocm_doctor.plan.search import Stack
from rocm_doctor.plan.text import text
from rocm_doctor.plan.variables import lines

SCHEMA_VERSION = 1


class UnknownFormat(ValueError):
    """The plan cannot be written in this format; the text says why."""


class Contents(NamedTuple):
    """What the files hold. `bound`: requirements from the index `source`; `plain`: those from the package index, if pip is to ask it as well
    (`alone` is false); `later`: arguments of the pip commands that have to follow, which no file can hold. `commands`: all that install;
    `image`: what a Dockerfile starts from."""

    heading: Sequence[str]
    python: str
    source: str
    bound: Sequence[str]
    plain: Sequence[str]
    commands: Sequence[Argv]
    script: Sequence[str]
    image: str
    later: Sequence[str] = ()
    env: Sequence[tuple[str, str]] = ()
    start: str = ""
    """The command that starts a container."""
    alone: bool = False
    explicit: bool = False
    """True: nothing else is to come from the index."""
    refused: Mapping[str, str] = {}
    """Formats that cannot be written, each with its reason."""


def render(form: str, plan: Plan | FrameworkPlan, *, tool: Tool = "pip", verbose: bool = False) -> str:
    """The plan in that format; as text where nothing is known to work and a file is asked for. Raises UnknownFormat."""
    if form == "json":
        made = _framework_document(plan) if isinstance(plan, FrameworkPlan) else _document(plan)
        return msgspec.json.format(msgspec.json.encode({"schema_version": SCHEMA_VERSION, **made}), indent=2).decode() + "\n"
    if isinstance(plan, FrameworkPlan):
        if form not in FILES or plan.release is None:
            return framework_text(plan, tool)
        made_of = _framework_contents(plan)
    elif form not in FILES or plan.best is None:
        return text(plan, verbose=verbose, tool=tool)
    else:
        made_of = _stack_contents(plan)
    if form in made_of.refused:
        raise UnknownFormat(made_of.refused[form])
    return "\n".join([*(f"# {' '.join(line.split())}" for line in made_of.heading), *FILES[form](made_of), ""])


def _requirements(made: Contents) -> Iterator[str]:
    """requirements.txt: the index as an option, exact versions whose local part only that index has."""
    if made.source:
        yield f"--{'' if made.alone else 'extra-'}index-url {made.source}"
    yield from made.bound
    yield from () if made.alone else made.plain
    yield from (f"# afterwards: pip install {arguments}" for arguments in (*(made.plain if made.alone else ()), *made.later))


def _uv(made: Contents) -> Iterator[str]:
    """pyproject.toml for uv. The index is bound to its own requirements, so that nothing else comes from it."""
    if made.later:
        raise UnknownFormat(f"pyproject.toml cannot say `pip install {made.later[0]}`; take --format shell")
    yield from ("[project]", 'name = "training"', 'version = "0"')
    yield from [f'requires-python = "=={made.python}.*"'] if made.python else []
    yield from ("dependencies = [", *(f'    "{one}",' for one in (*made.bound, *made.plain)), "]")
    if made.source:
        yield from ("", "[tool.uv.sources]", *(f'{Requirement(one).name} = {{ index = "rocm" }}' for one in made.bound))
        yield from ("", "[[tool.uv.index]]", 'name = "rocm"', f'url = "{made.source}"')
        yield f"explicit = {'true' if made.explicit else 'false'}"


def _dockerfile(made: Contents) -> Iterator[str]:
    """A Dockerfile on a plain Python image: these wheels bring their ROCm, the driver is the host's."""
    yield from (f"# {made.start}", f"FROM {made.image}")
    yield from (f"ENV {name}={shlex.quote(value)}" for name, value in made.env)
    yield from (f"RUN {shlex.join((*command[:2], '--no-cache-dir', *command[2:]))}" for command in made.commands)


FILES: dict[str, Callable[[Contents], Iterator[str]]] = {
    "requirements": _requirements,
    "uv": _uv,
    "dockerfile": _dockerfile,
    "shell": lambda made: iter(made.script),
}
FORMATS = ("text", "json", *FILES)


def _stack_contents(plan: Plan) -> Contents:
    """What the files of the first stack hold."""
    stack, machine = plan.stacks[0], plan.machine
    one, powershell = stack.candidate, machine.system == "windows"
    triton = [one.build.triton] if "==" in one.build.triton and not one.index.extras else []
    alone, built = package_requirements(stack, "alone"), package_requirements(stack, "built")
    before = dict.fromkeys(need for release in stack.packages.values() if release.alone for need in release.build_with)
    why = f"{', '.join(built)} is compiled with hipcc, which a plain Python image lacks" if built else ""
    why = "a Linux container on Windows has no HIP device; plan for --os wsl or linux" if powershell else why
    settings = [f"unset {v.name}" if v.value is None else f"{v.name}={v.value}" for v in plan.variables]
    return Contents(
        heading=[
            f"{machine.words()}: {stack.name} ({stack.grade}), rocm-doctor matrix {plan.matrix_version}",
            *(f"{said.words} [{said.source}]" for said in one.said[:2]),
            *(f"{setting}: see rocm-doctor env" for setting in settings),
        ],
        python=machine.python,
        source=one.index.url,
        bound=[*torch_requirements(one, machine), *triton],
        plain=[*package_requirements(stack), *before],
        commands=install(stack, machine, drop=plan.drop),
        script=[
            *lines(plan.variables, "powershell" if powershell else "bash"),
            *map(shlex.join, install(stack, machine, python=machine.interpreter, drop=plan.drop)),
        ],
        image=f"python:{machine.python or '3.12'}-slim",
        later=[*(f"--no-deps {name}" for name in alone), *(f"--no-build-isolation {name}" for name in built)],
        env=list(stack.env.items()),
        start="" if powershell else container(machine.system, "IMAGE"),
        alone=one.index.nightly,
        explicit=not one.index.extras and one.build.family == "bundled",
        refused={"dockerfile": why} if why else {},
    )


def _framework_contents(plan: FrameworkPlan) -> Contents:
    """What the files of a release of JAX or TensorFlow hold."""
    release = plan.release
    assert release is not None
    packages = [(name, one.index) for one, names in plan.packages() for name in names]
    image = f"{release.name} comes as the image {release.image}; take --format dockerfile"
    needs = {"dockerfile": f"{release.name} needs {release.needs}"} if release.needs else {}
    return Contents(
        heading=[
            plan.headline,
            f"{release.words} [{release.sources[0]}]",
            *([f"needs {release.needs}"] if release.needs else []),
        ],
        python=plan.python,
        source=next((index for _, index in packages if index), ""),
        bound=[name for name, index in packages if index],
        plain=[name for name, index in packages if not index],
        commands=installs(plan),
        script=list(script(plan)),
        image=release.image or f"python:{plan.python}-slim",
        start=container("linux", "IMAGE"),
        refused={"requirements": image, "uv": image} if release.image else needs,
    )


def _document(plan: Plan) -> dict[str, Any]:
    """Everything, for programs: stacks with their commands, variables, rejected builds, nearest changes."""
    return {
        **{name: getattr(plan, name) for name in ("matrix_version", "wish", "remarks", "variables", "nearest", "works", "keeps")},
        "machine": plan.machine.fields(),
        "stacks": [_stack_document(plan, s) for s in plan.stacks],
        "replaces": replacements(plan.stacks[0], plan.machine) if plan.stacks else [],
        "rejected": [{"build": r.build.key, "why": r.why, "source": r.source} for r in plan.rejected],
        "blocked": [{"package": b.name, "version": b.version, "id": b.finding.id, "removed": b.goes} for b in plan.blocked],
        "elsewhere": [{"id": f.id, "title": f.title, "subject": f.subject} for f in plan.elsewhere],
    }


def _stack_document(plan: Plan, stack: Stack) -> dict[str, Any]:
    one = stack.candidate
    packages = [*package_requirements(stack), *package_requirements(stack, "built")]
    return {
        "name": stack.name,
        "grade": stack.grade,
        "torch": one.build.local or one.build.torch,
        "rocm": one.build.rocm,
        "index": one.index.url,
        "requirements": [*torch_requirements(one, plan.machine), *packages],
        "packages": {name: release.version for name, release in stack.packages.items()},
        "env": stack.env,
        "because": [{"words": s.words, "grade": s.grade, "source": s.source} for s in one.said],
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
