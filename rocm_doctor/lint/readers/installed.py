"""What a command that installs a project of the repository brings: its requirements, its extras, and the lock beside it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from rocm_doctor.lint.declared import Environment, Index, Setting, Step
from rocm_doctor.lint.readers import projects
from rocm_doctor.lint.readers.files import Tree, folder_of
from rocm_doctor.lint.readers.shell import Used, places_of

_LOCKS = {"uvlock": "uv.lock", "poetrylock": "poetry.lock", "pylock": "pylock.toml"}


def with_projects(tree: Tree, environment: Environment, files: Sequence[Used]) -> Environment:
    """The environment with the steps of the projects and environment files that its commands install, each at its place."""
    steps = list(environment.steps)
    python: Setting | None = environment.python
    unsure = list(environment.unsure)
    for file in sorted(dict.fromkeys(files), key=lambda f: f.at, reverse=True):
        more: Sequence[Step] = ()
        if file.path.endswith(".toml"):
            more, allowed = _installed(tree, file)
            python = python or allowed
        elif file.path.endswith((".yml", ".yaml")) and (made := _conda(tree, file.path)):
            more = made.steps
        steps[file.at : file.at] = more
        unsure += () if file.sure else places_of(more)
    return msgspec.structs.replace(environment, steps=tuple(steps), python=python, unsure=tuple(unsure))


def _conda(tree: Tree, path: str) -> Environment | None:
    from rocm_doctor.lint.readers import conda

    return conda.environment(tree, path)


def _installed(tree: Tree, file: Used) -> tuple[list[Step], Setting | None]:
    """A project as a command installs it. pip takes neither uv's sources nor any lock; `uv pip` takes the sources only."""
    built = projects.builds_with_torch(tree, folder_of(file.path)) if file.isolated and file.tool in ("pip", "uv pip") else None
    steps, python = _asked(tree, file)
    if not file.isolated:
        steps = [msgspec.structs.replace(s, isolated=False) for s in steps]
    if file.apart or file.anew:
        steps = [msgspec.structs.replace(s, apart=file.apart, anew=file.anew) for s in steps]
    checked = [Step("pip", python.place, pythons=python)] if file.checks and file.sure and python else []
    return [*steps, *checked, *([Step("pip", built, builds=built)] if built else [])], python


def _asked(tree: Tree, file: Used) -> tuple[list[Step], Setting | None]:
    """What the project asks for."""
    from rocm_doctor.lint.readers import setuptools

    if not tree.is_file(file.path):
        folder = folder_of(file.path)
        return setuptools.steps(tree, folder, file.extras), None
    project = projects.read(tree, file.path)
    if project is None:
        return [], None
    python = projects.requires_python(project)
    if file.tool in ("pip", "uv pip"):
        steps = projects.steps(tree, project, file.extras) or setuptools.steps(tree, folder_of(file.path), file.extras)
        if file.tool == "uv pip":
            return steps, python
        return [msgspec.structs.replace(s, tool="pip", indexes=(), constraints=(), strategy="") for s in steps], python
    if not file.locked:
        return projects.steps(tree, project, file.extras), python
    return locked(tree, project, file.extras, frozen=file.frozen, lock=(file.tool, file.lock)), python


def locked(
    tree: Tree, project: projects.Project, extras: Sequence[str], *, frozen: bool = False, lock: tuple[str, str] = ("", "")
) -> list[Step]:
    """A project's steps; where a lock is beside it the lock decides the versions, unless uv locks again because its sources have changed.

    `lock`: the tool that takes one, and the file that is its lock then.
    """
    from rocm_doctor.lint.readers import locks

    steps = projects.steps(tree, project, extras)
    for kind, name in _LOCKS.items():
        beside = lock[1] if name == f"{lock[0]}.lock" and lock[1] else f"{folder_of(project.path)}/{name}".lstrip("/")
        if kind == "uvlock" and tree.is_file(beside):
            stale = locks.is_stale(tree, beside, projects.bound_to(project)) or locks.lacks(tree, beside, extras)
            if stale and not frozen:
                continue
        if tree.is_file(beside) and tree.text(beside, wanted=False) and (held := locks.step(tree, beside, kind, extras)):
            bound = {package for index in held.indexes for package in index.only}
            more: list[Index] = [i for s in steps for i in s.indexes if i.only and not bound & set(i.only)]
            return [msgspec.structs.replace(held, indexes=(*held.indexes, *more))]
    return steps
