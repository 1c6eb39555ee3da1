"""What a training repository declares: every file that says something about the stack, read without running any of it.

`read` gives a `Repository` of units. A requirements file or a project that a Dockerfile, a script or a workflow installs is
judged there, in its context (base image, indexes, what was installed before), and not once more on its own.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from rocm_doctor.lint.declared import Index, Place, Repository, Setting, Step, Unit
from rocm_doctor.lint.readers import dockerfile, policy, requirements, script, services, shell, toml, training
from rocm_doctor.lint.readers.files import Tree, folder_of

Used = tuple[str, str]
"""The tool that installs, and the file of the repository that it installs from."""
_LOCKS = {"uvlock": "uv.lock", "poetrylock": "poetry.lock", "pylock": "pylock.toml"}


def read(root: Path) -> Repository:
    """Everything that the repository at `root` declares. Raises NotADirectoryError when there is no such folder."""
    if not root.is_dir():
        raise NotADirectoryError(f"{root} is no folder")
    tree = Tree(root)
    rules = policy.read(tree)
    tree.exclude = rules.exclude
    listed = list(tree.listed())
    units: list[Unit] = []
    used: set[str] = set()
    for kind, path in listed:
        for unit, files in _contexts(tree, kind, path):
            units.append(_with_projects(tree, unit, files))
            # A job on a hosted runner is a test: what it installs is judged on its own as well.
            used |= {file for _, file in files} if kind != "workflow" or not unit.os else set()
    units += _alone(tree, listed, used)
    return Repository(
        tuple(u for u in units if _says_something(u)), rules, (*rules.problems, *dict.fromkeys(tree.problems)), len(listed)
    )


def _contexts(tree: Tree, kind: str, path: str) -> list[tuple[Unit, list[Used]]]:
    """Units of files that run something, with the files of the repository that they install from."""
    if kind == "dockerfile":
        made, used = dockerfile.unit(tree, path)
        return [(made, used)] if made else []
    if kind == "workflow":
        return list(services.workflow(tree, path))
    if kind == "compose":
        return [(unit, []) for unit in services.compose(tree, path)]
    if kind in ("shell", "env"):
        return [_script(tree, path)]
    reader = {"config": training.unit, "deepspeed": training.deepspeed, "conda": services.conda}.get(kind)
    made = reader(tree, path) if reader else None
    return [(made, [])] if made else []


def _script(tree: Tree, path: str) -> tuple[Unit, list[Used]]:
    found = shell.new()
    script.read(tree.text(path) or "", Place(path, 1), shell.Context(tree, folder_of(path), {}, {}), found)
    os = "windows" if path.lower().endswith((".bat", ".cmd", ".ps1")) else ""
    return Unit(
        path, Place(path, 1), steps=tuple(found.steps), env=tuple(found.env), containers=tuple(found.containers), os=os
    ), found.used


def _with_projects(tree: Tree, unit: Unit, files: list[Used]) -> Unit:
    """The unit with the steps of the projects and environment files that its commands install, at the end."""
    steps: list[Step] = []
    python: Setting | None = unit.python
    for tool, path in dict.fromkeys(files):
        if path.endswith("pyproject.toml") and tree.text(path, wanted=False) is not None:
            more, allowed = _project(tree, path)
            steps += more if tool != "pip" else _by_pip(tree, path)
            python = python or allowed
        elif path.endswith((".yml", ".yaml")) and (made := services.conda(tree, path)):
            steps += made.steps
    return msgspec.structs.replace(unit, steps=(*unit.steps, *steps), python=python)


def _by_pip(tree: Tree, path: str) -> list[Step]:
    """A project as pip installs it: neither uv's nor poetry's sources and locks count."""
    steps, _ = toml.project_steps(tree, path)
    return [msgspec.structs.replace(s, tool="pip", indexes=(), constraints=(), strategy="") for s in steps]


def _project(tree: Tree, path: str) -> tuple[list[Step], Setting | None]:
    """A project's steps; where a lock stands beside it and its tool would use that, the lock decides the versions."""
    steps, python = toml.project_steps(tree, path)
    for kind, name in _LOCKS.items():
        beside = f"{folder_of(path)}/{name}".lstrip("/")
        if tree.text(beside, wanted=False) and (locked := toml.lock_step(tree, beside, kind)):
            return [_locked(locked, steps)], python
    return steps, python


def _locked(lock: Step, steps: list[Step]) -> Step:
    """The lock's step; an index that the lock does not name (a direct URL) is taken from the project."""
    bound = {name for index in lock.indexes for name in index.only}
    more: list[Index] = [i for s in steps for i in s.indexes if i.only and not bound & set(i.only)]
    return msgspec.structs.replace(lock, indexes=(*lock.indexes, *more))


def _alone(tree: Tree, listed: list[tuple[str, str]], used: set[str]) -> list[Unit]:
    """Requirements files and projects that nothing else installs or includes."""
    files = [path for kind, path in listed if kind == "requirements"]
    found = {path: requirements.read(tree, path) for path in files}
    used = used | {name for one in found.values() for name in one.included}
    units = [
        Unit(
            path,
            Place(path, 1),
            steps=(Step("pip", Place(path, 1), tuple(one.requirements), tuple(one.constraints), tuple(one.indexes)),),
        )
        for path, one in found.items()
        if path not in used and not path.rsplit("/", 1)[-1].startswith("constraints")
    ]
    for kind, path in listed:
        if kind == "pyproject" and path not in used:
            steps, python = _project(tree, path)
            units.append(Unit(path, Place(path, 1), steps=tuple(steps), python=python))
        elif kind == "pylock" and f"{folder_of(path)}/pyproject.toml".lstrip("/") not in {p for _, p in listed}:
            lock = toml.lock_step(tree, path, kind)
            units.append(Unit(path, Place(path, 1), steps=(lock,) if lock else ()))
    return units


def _says_something(unit: Unit) -> bool:
    return bool(unit.steps or unit.env or unit.containers or unit.config or unit.image)
