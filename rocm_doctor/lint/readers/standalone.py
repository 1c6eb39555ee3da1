"""Requirements files, projects and locks that no command of the repository installs: each is an environment by itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Environment, Index, Place, Purpose, Requirement, Setting, Step, Tool
from rocm_doctor.lint.environments.purpose import JUDGED, with_purpose
from rocm_doctor.lint.environments.words import named, words_of
from rocm_doctor.lint.readers import projects, requirements
from rocm_doctor.lint.readers.files import Tree, folder_of
from rocm_doctor.lint.readers.installed import locked

# Extras that a person who trains on a ROCm GPU installs; others are optional.
_TAKEN = frozenset(("torch", "train", "training", "gpu", "all", "full"))
# Words of a list's name that say that it is the project's own, or one for training; any other names a choice beside it.
_OWN_LISTS = _TAKEN | frozenset((
    "requirements", "requirement", "reqs", "req", "txt", "in", "base", "main", "core", "common", "default", "runtime", "run", "prod",
    "production", "app", "webui", "ui", "server", "versions", "lock", "locked", "frozen", "freeze", "min", "minimal", "linux", "windows", "win", "win32", "win64",
    "install", "deps", "pip", "python", "pytorch", "pt", "finetune", "finetuning", "sft", "lora", "qlora", "rl", "rlhf", "grpo", "pretrain",
    "inference", "infer", "local", "new", "latest",
))  # fmt: skip


def environments(tree: Tree, listed: list[tuple[str, str]], used: set[str], alone: str, tool: str) -> Iterator[Environment]:
    """Requirements files and projects that nothing else installs or includes. `tool`: what is taken to install a list."""
    yield from _lists(tree, listed, used, alone, tool)
    folders = {folder_of(path) for kind, path in listed if kind == "pyproject"}
    for kind, path in listed:
        if kind == "pyproject" and (project := projects.read(tree, path)):
            yield from _project(tree, project, path in used)
        elif kind in ("pylock", "setuptools", "pixi", "pipfile") and not (kind == "pylock" and folder_of(path) in folders):
            yield from _other(tree, kind, path, path in used)


def _other(tree: Tree, kind: str, path: str, installed: bool) -> Iterator[Environment]:
    """The environments of a lock without a project, of setuptools, pixi and Pipenv."""
    from rocm_doctor.lint.readers import locks, pixi, setuptools

    if kind == "pylock" and (lock := locks.step(tree, path, kind)):
        yield Environment(path, Place(path, 1), steps=(lock,), sort="project")
    elif kind == "setuptools" and not installed:
        built = projects.builds_with_torch(tree, folder_of(path))
        more = (Step("pip", built, builds=built),) if built else ()
        yield from (msgspec.structs.replace(one, steps=one.steps + more) for one in setuptools.environments(tree, path))
    elif kind in ("pixi", "pipfile"):
        yield from pixi.environments(tree, path) if kind == "pixi" else pixi.pipfile(tree, path)


def _lists(tree: Tree, listed: list[tuple[str, str]], used: set[str], alone: str, tool: str) -> Iterator[Environment]:
    """Those that no other list includes and no project reads."""
    files = [path for kind, path in listed if kind == "requirements"]
    found = {path: requirements.read(tree, path) for path in files}
    included = {name for one in found.values() for name in one.included}
    read_by = [projects.read(tree, path) for kind, path in listed if kind == "pyproject"]
    included |= {name for project in read_by if project for name in projects.dynamic(project, project.extras)}
    for path, one in found.items():
        if path not in used | (included - {alone}) and not path.rsplit("/", 1)[-1].startswith("constraints"):
            by: Tool = "uv" if tool == "uv" else "pip"
            step = Step(
                by,
                Place(path, 1),
                tuple(one.requirements),
                tuple(one.constraints),
                requirements.in_force(one.indexes, by),
            )
            words = set(words_of(path.rsplit("/", 1)[-1]))
            named_windows = words & projects.WINDOWS and "linux" not in words
            python = _PYTHON.search(path.rsplit("/", 1)[-1])
            yield Environment(
                path, Place(path, 1), steps=(step,), os="windows" if named_windows else _system(one.requirements),
                python=Setting("python", f"3.{python[1]}", Place(path, 1)) if python else None,
            )  # fmt: skip


def _system(asked: Sequence[Requirement]) -> str:
    """The system that all wheels of a list are for, torch's among them; empty where they leave it open."""
    wheels = [r for r in asked if r.url.endswith(".whl") and not r.url.endswith("-any.whl")]
    if any(r.marker for r in wheels) or not any(r.name == "torch" for r in wheels):
        return ""
    systems = {next((s for s, tag in _TAGS if tag in r.url.rpartition("-")[2]), "") for r in wheels}
    return systems.pop() if len(systems) == 1 else ""


# A list that is called by the Python that it was made with, as in `requirements-py311.txt`.
_PYTHON = regex(r"(?:^|[-_.])(?:py|python|cp)-?3\.?(\d{1,2})(?=[-_.])", re.I)
_TAGS = (("windows", "win_"), ("macos", "macosx"))


def _project(tree: Tree, project: projects.Project, installed: bool) -> Iterator[Environment]:
    """The project without extras, and with each extra that concerns the GPU stack."""
    python = projects.requires_python(project)
    path = project.path
    base = locked(tree, project, ())
    resolved = project.names_torch_index or any(step.tool == "lock" or any(map(_settles, step.indexes)) for step in base)
    at = next((s.place for s in base), Place(path, 1))
    if not installed:
        yield Environment(
            path,
            Place(path, at.line if at.file == path else 1),
            steps=tuple(base),
            python=python,
            sort="project",
            open=not resolved,
        )
    for group in projects.groups(project):
        kind, word = named(group)
        purpose = Purpose(kind, f"{word} in group {group}", Place(path, 1)) if kind != "neutral" else Purpose()
        yield Environment(
            f"{path} group {group}", Place(path, 1), steps=tuple(projects.steps(tree, project, (group,))), python=python, sort="project",
            open=not resolved, labels=(group,), purpose=purpose,
        )  # fmt: skip
    has_lock = tree.is_file(f"{folder_of(path)}/uv.lock".lstrip("/"))
    for extra in projects.concerned(project):
        kind, word = named(extra)
        purpose = Purpose(kind, f"{word} in extra {extra}", Place(path, 1)) if kind != "neutral" else Purpose()
        steps = locked(tree, project, (extra,))
        if kind == "amd" and project.by_extra and not has_lock:
            steps = [msgspec.structs.replace(s, against=tuple(projects.against(project, extra))) for s in steps]
        one = Environment(
            f"{path} extra {extra}", Place(path, 1), steps=tuple(steps), python=python, sort="project",
            open=not resolved, labels=(extra,), purpose=purpose, os=projects.system_of(project, extra),
        )  # fmt: skip
        if kind == "neutral" and extra.lower() not in _TAKEN and with_purpose(one, frozenset()).purpose.kind != "amd":
            one = msgspec.structs.replace(one, purpose=Purpose("optional", f"extra {extra}", Place(path, 1)))
        yield one


def _settles(index: Index) -> bool:
    """True if an index of a project decides where torch comes from, whatever the GPU."""
    return index.url != "torch-backend:auto" and index.role in ("bound", "default") and (not index.only or "torch" in index.only)


def installer(found: Sequence[Environment]) -> str:
    """How the repository's scripts install the lists that they name by variables: by uv where all that is installed is by uv."""
    unnamed = {step.tool for one in found for step in one.steps if step.tool in ("pip", "uv") and not step.requirements}
    return "uv" if "uv" in unnamed else "pip"


def as_choice(one: Environment, all_: Sequence[Environment]) -> Environment:
    """A list called by what it adds (`requirements/vllm.txt`), beside the project's own one, is an optional extra."""
    if one.sort != "requirements" or one.purpose.kind != "neutral":
        return one
    file = one.place.file
    named_by = [
        w
        for w in words_of(file.rsplit("/", 1)[-1])
        if not (w in _OWN_LISTS or w[:1].isdigit() or re.fullmatch(r"(?:py|pt)\d+", w))
    ]
    folder = folder_of(file.lower()).removesuffix("requirements").rstrip("/")
    beside = any(
        other is not one and other.sort in ("requirements", "project") and other.purpose.kind in JUDGED
        and folder_of(other.place.file.lower()).removesuffix("requirements").rstrip("/") == folder
        and set(words_of(other.place.file.rsplit("/", 1)[-1])) <= _OWN_LISTS | {"pyproject", "toml", "setup", "py", "cfg"}
        for other in all_
    )  # fmt: skip
    if not named_by or not beside:
        return one
    return msgspec.structs.replace(one, purpose=Purpose("optional", f"{named_by[0]} in its name", one.place))
