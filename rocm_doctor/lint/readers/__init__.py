"""What a training repository declares: every file that says something about the stack, read without running any of it.

`read` gives a `Repository` of environments. A requirements file or a project that a Dockerfile, a script or a workflow installs is
judged there, in its context (base image, indexes, what was installed before). It is judged on its own as well unless an
environment that is for AMD, or for no one in particular, installs it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import OPEN_ARGUMENT, Environment, Index, Place, Purpose, ReadProblem, Repository, Setting, Step
from rocm_doctor.lint.environments.purpose import with_purpose
from rocm_doctor.lint.environments.words import Kind, named, words_of
from rocm_doctor.lint.readers import (
    bash,
    code,
    compose,
    conda,
    dockerfile,
    documents,
    locks,
    pixi,
    policy,
    projects,
    recipes,
    requirements,
    script,
    setuptools,
    shell,
    training,
    workflows,
)
from rocm_doctor.lint.readers.files import Tree, folder_of, quoted
from rocm_doctor.lint.readers.script import places_of
from rocm_doctor.lint.readers.shell import Build, Used

_LOCKS = {"uvlock": "uv.lock", "poetrylock": "poetry.lock", "pylock": "pylock.toml"}
# Extras that a person who trains on a ROCm GPU installs; others are optional.
_TAKEN = frozenset(("torch", "train", "training", "gpu", "all", "full"))
# Words of a list's name that say that it is the project's own, or one for training; any other names a choice beside it.
_OWN_LISTS = _TAKEN | frozenset((
    "requirements", "requirement", "reqs", "req", "txt", "in", "base", "main", "core", "common", "default", "runtime", "run", "prod",
    "production", "app", "webui", "ui", "server", "versions", "lock", "locked", "frozen", "freeze", "min", "minimal", "linux", "windows", "win", "win32", "win64",
    "install", "deps", "pip", "python", "pytorch", "pt", "finetune", "finetuning", "sft", "lora", "qlora", "rl", "rlhf", "grpo", "pretrain",
    "inference", "infer", "local", "new", "latest",
))  # fmt: skip
_BRING_TORCH = frozenset(("torch", "torchvision", "torchaudio", "xformers", "vllm"))
_WINDOWS = frozenset(("win", "windows", "win32", "win64"))
_JUDGED = ("amd", "neutral")


def read(root: Path, alone: str = "") -> Repository:
    """Everything that the repository at `root` declares. `alone`: a file that is read by itself, whatever installs it. Raises NotADirectoryError when there is no such folder."""
    if not root.is_dir():
        raise NotADirectoryError(f"{root} is not a folder")
    tree = Tree(root)
    rules = policy.read(tree)
    tree.exclude = rules.exclude
    listed = list(tree.listed())
    vendored = _submodules(tree)
    found: list[Environment] = []
    used: set[str] = set()
    for made, files in _in_context(tree, listed):
        one = with_purpose(_with_projects(tree, made, files), vendored)
        found.append(one)
        if one.purpose.kind in _JUDGED and one.sort != "text" and one.os != "windows":
            used |= {file.path for file in files}
    more = [with_purpose(one, vendored) for one in _alone(tree, listed, used - {alone}, alone, _installer(found))]
    found += [_as_choice(one, found + more) for one in more]
    problems = (*rules.problems, *dict.fromkeys(tree.problems))
    asked = {r.name for one in found for step in one.steps for r in step.requirements}
    companions = tuple(sorted(asked & {"torchvision", "torchaudio"}))
    said = tuple(msgspec.structs.replace(e, companions=companions) for e in found if _says_something(e))
    for_amd = any(e.purpose.kind == "amd" and e.sort != "text" for e in said)
    read_ = {e.place.file for e in said} | {step.place.file for e in said for step in e.steps}
    unread = None if for_amd else tree.mention(_NEEDED, _HINTS, read_)
    on_windows = any(e.os == "windows" and e.purpose.kind == "amd" for e in said)
    return Repository(
        said, rules, problems, len(listed), _is_package(tree),
        mention=None if for_amd else unread or tree.mention(_OF_AMD, _HINTS),
        unread=unread, unread_windows=None if on_windows else tree.mention(_NEEDED_ON_WINDOWS, (b"rocm", b"radeon"), read_),
        first=None if for_amd else _told_first(tree),
    )  # fmt: skip


# What only an environment for AMD GPUs has.
_NEEDED = re.compile(
    rb"/dev/kfd|whl/(?:nightly/|test/)?rocm|rocm/(?:pytorch|vllm|dev-ubuntu)|repo\.radeon\.com/rocm|\.amd\.com/(?:rocm|v2)|TheRock/|\+rocm\d|torch[-_]directml"
)
_NEEDED_ON_WINDOWS = re.compile(
    rb"rocm/windows|rocm[^\n]{0,120}win_amd64|win_amd64[^\n]{0,120}rocm|rocm\.nightlies\.amd\.com|repo\.amd\.com/rocm/whl"
)
_TELLS = regex(r"pytorch\.org/get-started|\binstall(?:ing)?\W{1,4}(?:the )?(?:appropriate |right |correct )?\[?PyTorch", re.I)


def _told_first(tree: Tree) -> Place | None:
    """Where the README has its reader install PyTorch as its own instructions say, which offer ROCm."""
    for name in ("README.md", "README.rst", "INSTALL.md", "docs/INSTALL.md"):
        text = tree.text(name, wanted=False) if tree.is_file(name) else None
        if text and (found := _TELLS.search(text)):
            line = text.count("\n", 0, found.start())
            return Place(name, line + 1, quoted(text.splitlines()[line]))
    return None


_HINTS = (b"rocm", b"radeon", b"amd", b"gfx", b"hip", b"mi2", b"mi3", b"kfd", b"directml")
_OF_AMD = re.compile(
    rb"(?i:\brocm|radeon|amdgpu|\bamd (?:gpu|instinct))|\bgfx(?:9|10|11|12)\d|torch\.version\.hip|\bHIP_|hipcc|\bMI[23]\d\d[AX]?\b"
)


def _as_choice(one: Environment, all_: Sequence[Environment]) -> Environment:
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
        other is not one and other.sort in ("requirements", "project") and other.purpose.kind in _JUDGED
        and folder_of(other.place.file.lower()).removesuffix("requirements").rstrip("/") == folder
        and set(words_of(other.place.file.rsplit("/", 1)[-1])) <= _OWN_LISTS | {"pyproject", "toml", "setup", "py", "cfg"}
        for other in all_
    )  # fmt: skip
    if not named_by or not beside:
        return one
    return msgspec.structs.replace(one, purpose=Purpose("optional", f"{named_by[0]} in its name", one.place))


def _is_package(tree: Tree) -> bool:
    """True if the root is a package that is built, and no lock or source of uv says which torch it is used with."""
    if tree.is_file("setup.py") or tree.is_file("setup.cfg"):
        return True
    project = projects.read(tree, "pyproject.toml") if tree.is_file("pyproject.toml") else None
    return project is not None and project.library and not project.by_uv and not tree.is_file("uv.lock")


def _submodules(tree: Tree) -> frozenset[str]:
    """The folders of git submodules."""
    text = tree.text(".gitmodules", wanted=False) or ""
    return frozenset(re.findall(r"^[ \t]*path[ \t]*=[ \t]*(\S+)", text, re.M))


Made = tuple[Environment, Sequence[Used]]


def _in_context(tree: Tree, listed: Iterable[tuple[str, str]]) -> Iterator[Made]:
    """Environments of files that run something, with the files of the repository that they install from."""
    built: set[tuple[Build, str]] = set()
    listed = list(listed)
    for kind, path in listed:
        if kind == "compose":
            yield from _services(tree, path, built)
    for kind, path in listed:
        if kind == "dockerfile" and path not in {build.dockerfile for build, _ in built}:
            yield from dockerfile.environments(tree, path)
        elif kind == "workflow":
            yield from workflows.environments(tree, path)
        elif kind in ("shell", "env"):
            yield from _script(tree, path)
        else:
            reader = {"config": training.environment, "deepspeed": training.deepspeed, "conda": conda.environment,
                      "tomlconfig": training.from_toml}.get(kind)  # fmt: skip
            if reader and (made := reader(tree, path)):
                yield made, ()
            elif kind in ("readme", "notebook"):
                yield from documents.environments(tree, path, kind)
            elif kind in ("python", "setuptools", "cmake"):
                yield from ((one, ()) for one in code.environments(tree, path, kind))
            if kind == "make":
                yield from ((one, ()) for one in code.environments(tree, path, "cmake"))
                yield from _recipes(tree, path)


def _services(tree: Tree, path: str, built: set[tuple[Build, str]]) -> Iterator[Made]:
    """The services of a compose file; one that is built is read as its Dockerfile, with the context that it names."""
    for service, build, template in compose.environments(tree, path):
        image: list[Made] = []
        if build and tree.is_file(build.dockerfile):
            image = list(dockerfile.environments(tree, build.dockerfile, build))
        own = with_purpose(service, frozenset()).purpose
        if len(image) == 1 and build and (build, own.kind) not in built:
            one, used = image[0]
            if build.arguments or build.target or own.kind == "amd":
                one = msgspec.structs.replace(
                    one, name=f"{service.name} by {build.dockerfile}", labels=(*service.labels, *one.labels),
                    purpose=own if own.kind == "amd" else one.purpose,
                )  # fmt: skip
            if own.kind == "amd" and (argument := dockerfile.for_others(tree, build)):
                problem = ReadProblem(service.place, f"{argument} {OPEN_ARGUMENT}")
                one = msgspec.structs.replace(one, unresolved=(*one.unresolved, problem))
            built.add((build, own.kind))
            yield one, used
        words = with_purpose(image[-1][0], frozenset()).purpose if image else Purpose()
        if (
            "amd" in (words.kind if own.kind == "neutral" else own.kind, own.kind)
            and image
            and not template
            and _uses_gpu(image[-1][0])
        ):
            service = msgspec.structs.replace(
                service, containers=tuple(msgspec.structs.replace(c, gpu=True) for c in service.containers)
            )
        yield msgspec.structs.replace(service, purpose=words if own.kind == "neutral" else own), ()


def _uses_gpu(image: Environment) -> bool:
    """True if an image has something for a GPU: a base of AMD's, or torch."""
    base = image.image.value if image.image else ""
    return base.startswith("rocm/") or any(r.name in _BRING_TORCH for step in image.steps for r in step.requirements)


def _recipes(tree: Tree, path: str) -> Iterator[Made]:
    """The targets of a Makefile or justfile that are for AMD: their own commands, and the images that they build."""
    for one, found in recipes.environments(tree, path):
        yield from _images(tree, one, found)
        if with_purpose(one, frozenset()).purpose.kind == "amd":
            yield one, found.used


def _images(tree: Tree, by: Environment, found: shell.Script) -> Iterator[Made]:
    """The images that commands build with arguments of their own, called by the target or script that builds them."""
    for build in dict.fromkeys(found.builds):
        images = list(dockerfile.environments(tree, build.dockerfile, build)) if build.arguments or build.target else []
        for one, used in images if len(images) == 1 else ():
            tag = build.tag.rsplit("/", 1)[-1]
            yield (
                msgspec.structs.replace(one, name=f"{build.dockerfile} by {by.name}", labels=(*by.labels, tag, *one.labels)),
                used,
            )


def _script(tree: Tree, path: str) -> Iterator[Made]:
    """A script: one environment for AMD or for no one in particular, and one for each other hardware that its branches name."""
    text = tree.text(path) or ""
    windows = path.lower().endswith((".bat", ".cmd", ".ps1"))
    if windows:
        found = shell.new()
        script.read_windows(text, Place(path, 1), shell.checkout(tree, folder_of(path), {}), found)
        one = _of_script(path, Place(path, 1), found, "windows")
        if word := _ZLUDA.search(text):
            place = Place(path, text.count("\n", 0, word.start()) + 1)
            one = msgspec.structs.replace(one, purpose=Purpose("other", "ZLUDA, which runs the CUDA torch", place))
        yield one, found.used
        return
    if not script.speaks(text):
        return
    branches = bash.kinds(text)
    made: dict[Kind, Made] = {}
    for kind in ("amd", "nvidia", "intel", "apple", "cpu", "other"):
        if kind == "amd" or kind in branches:
            found = shell.new()
            script.read(text, Place(path, 1), shell.checkout(tree, folder_of(path), {}, kind), found)
            script.drop_other_lists(text, found, 0)
            made[kind] = _of_script(path, Place(path, 1), found), found.used
            if kind == "amd":
                yield from _images(tree, made[kind][0], found)
    amd = made["amd"][0]
    whole = named(path)[0] not in ("neutral", "amd")
    if "amd" not in branches and not made["amd"][1] and (only := _only_torch(made)):
        amd = msgspec.structs.replace(
            amd, purpose=Purpose(only, "its only torch is in such a branch", Place(path, branches[only]))
        )
        made["amd"] = amd, ()
    for kind, (one, used) in made.items():
        if kind == "amd" and one.purpose.kind != "neutral":
            yield one, used
        elif kind == "amd":
            branch = (
                Purpose("amd", f"the branch at line {branches['amd']}", Place(path, branches["amd"]))
                if "amd" in branches
                else Purpose()
            )
            yield one if whole or not one.steps else msgspec.structs.replace(one, purpose=branch), used
        elif one.steps != amd.steps and one.steps and not whole:
            purpose = Purpose(kind, f"the branch at line {branches[kind]}", Place(path, branches[kind]))
            yield msgspec.structs.replace(one, name=f"{path} branch {kind}", purpose=purpose), used


_ZLUDA = regex(r"\bzluda", re.I)


def _only_torch(made: dict[Kind, Made]) -> Kind | None:
    """The other hardware whose branches alone install a torch; None where several do, or where everybody gets one."""
    bring = [
        kind for kind, (one, _) in made.items() if any(r.name in _BRING_TORCH for step in one.steps for r in step.requirements)
    ]
    return bring[0] if len(bring) == 1 and bring[0] != "amd" else None


def _of_script(path: str, place: Place, found: shell.Script, os: str = "") -> Environment:
    return Environment(
        path, place, steps=tuple(found.steps), variables=tuple(found.variables), containers=tuple(found.containers), os=os,
        sort="script", unresolved=tuple(found.problems), unsure=tuple(found.unsure),
        config=tuple(found.options),
    )  # fmt: skip


def _with_projects(tree: Tree, environment: Environment, files: Sequence[Used]) -> Environment:
    """The environment with the steps of the projects and environment files that its commands install, each at its place."""
    steps = list(environment.steps)
    python: Setting | None = environment.python
    unsure = list(environment.unsure)
    for file in sorted(dict.fromkeys(files), key=lambda f: f.at, reverse=True):
        more: Sequence[Step] = ()
        if file.path.endswith(".toml"):
            more, allowed = _installed(tree, file)
            python = python or allowed
        elif file.path.endswith((".yml", ".yaml")) and (made := conda.environment(tree, file.path)):
            more = made.steps
        steps[file.at : file.at] = more
        unsure += () if file.sure else places_of(more)
    return msgspec.structs.replace(environment, steps=tuple(steps), python=python, unsure=tuple(unsure))


def _installed(tree: Tree, file: Used) -> tuple[list[Step], Setting | None]:
    """A project as a command installs it. pip takes neither uv's sources nor any lock; `uv pip` takes the sources only."""
    built = projects.builds_with_torch(tree, folder_of(file.path)) if file.isolated and file.tool in ("pip", "uv pip") else None
    steps, python = _asked(tree, file)
    return [*steps, *([Step("pip", built, builds=built)] if built else [])], python


def _asked(tree: Tree, file: Used) -> tuple[list[Step], Setting | None]:
    """What the project asks for."""
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
    return _locked(tree, project, file.extras), python


def _locked(tree: Tree, project: projects.Project, extras: Sequence[str]) -> list[Step]:
    """A project's steps; where a lock is beside it the lock decides the versions."""
    steps = projects.steps(tree, project, extras)
    for kind, name in _LOCKS.items():
        beside = f"{folder_of(project.path)}/{name}".lstrip("/")
        if tree.is_file(beside) and tree.text(beside, wanted=False) and (lock := locks.step(tree, beside, kind, extras)):
            bound = {package for index in lock.indexes for package in index.only}
            more: list[Index] = [i for s in steps for i in s.indexes if i.only and not bound & set(i.only)]
            return [msgspec.structs.replace(lock, indexes=(*lock.indexes, *more))]
    return steps


def _installer(found: Sequence[Environment]) -> str:
    """How the repository's scripts install the lists that they name by variables: by uv where all that is installed is by uv."""
    unnamed = {step.tool for one in found for step in one.steps if step.tool in ("pip", "uv") and not step.requirements}
    return "uv" if "uv" in unnamed else "pip"


def _alone(tree: Tree, listed: list[tuple[str, str]], used: set[str], alone: str, tool: str) -> Iterator[Environment]:
    """Requirements files and projects that nothing else installs or includes. `tool`: what is taken to install a list."""
    files = [path for kind, path in listed if kind == "requirements"]
    found = {path: requirements.read(tree, path) for path in files}
    included = {name for one in found.values() for name in one.included}
    read_by = [projects.read(tree, path) for kind, path in listed if kind == "pyproject"]
    included |= {name for project in read_by if project for name in projects.dynamic(project, project.extras)}
    for path, one in found.items():
        if path not in used | (included - {alone}) and not path.rsplit("/", 1)[-1].startswith("constraints"):
            step = Step(
                "uv" if tool == "uv" else "pip",
                Place(path, 1),
                tuple(one.requirements),
                tuple(one.constraints),
                tuple(one.indexes),
            )
            words = set(words_of(path.rsplit("/", 1)[-1]))
            yield Environment(
                path, Place(path, 1), steps=(step,), os="windows" if words & _WINDOWS and "linux" not in words else ""
            )
    folders = {folder_of(path) for kind, path in listed if kind == "pyproject"}
    for kind, path in listed:
        if kind == "pyproject" and (project := projects.read(tree, path)):
            yield from _project(tree, project, path in used)
        elif kind == "pylock" and folder_of(path) not in folders and (lock := locks.step(tree, path, kind)):
            yield Environment(path, Place(path, 1), steps=(lock,), sort="project")
        elif kind == "setuptools" and path not in used:
            built = projects.builds_with_torch(tree, folder_of(path))
            more = (Step("pip", built, builds=built),) if built else ()
            yield from (msgspec.structs.replace(one, steps=one.steps + more) for one in setuptools.environments(tree, path))
        elif kind in ("pixi", "pipfile"):
            yield from pixi.environments(tree, path) if kind == "pixi" else pixi.pipfile(tree, path)


def _project(tree: Tree, project: projects.Project, installed: bool) -> Iterator[Environment]:
    """The project without extras, and with each extra that concerns the GPU stack."""
    python = projects.requires_python(project)
    path = project.path
    base = _locked(tree, project, ())
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
    locked = tree.is_file(f"{folder_of(path)}/uv.lock".lstrip("/"))
    for extra in projects.concerned(project):
        kind, word = named(extra)
        purpose = Purpose(kind, f"{word} in extra {extra}", Place(path, 1)) if kind != "neutral" else Purpose()
        steps = _locked(tree, project, (extra,))
        if kind == "amd" and project.by_extra and not locked:
            steps = [msgspec.structs.replace(s, against=tuple(projects.against(project, extra))) for s in steps]
        one = Environment(
            f"{path} extra {extra}", Place(path, 1), steps=tuple(steps), python=python, sort="project",
            open=not resolved, labels=(extra,), purpose=purpose,
        )  # fmt: skip
        if kind == "neutral" and extra.lower() not in _TAKEN and with_purpose(one, frozenset()).purpose.kind != "amd":
            one = msgspec.structs.replace(one, purpose=Purpose("optional", f"extra {extra}", Place(path, 1)))
        yield one


def _settles(index: Index) -> bool:
    """True if an index of a project decides where torch comes from, whatever the GPU."""
    return index.url != "torch-backend:auto" and index.role in ("bound", "default") and (not index.only or "torch" in index.only)


def _says_something(environment: Environment) -> bool:
    steps = any(step.requirements or step.indexes for step in environment.steps)
    return bool(
        steps
        or (environment.labels and environment.unresolved)
        or environment.variables
        or environment.containers
        or environment.config
        or environment.image
    )
