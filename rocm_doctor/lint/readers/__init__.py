"""What a training repository declares: every file that says something about the stack, read without running any of it.

`read` gives a `Repository` of environments. A requirements file or a project that a Dockerfile, a script or a workflow installs is
judged there, in its context (base image, indexes, what was installed before). It is judged on its own as well unless an
environment that is for AMD, or for no one in particular, installs it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Environment, Repository
from rocm_doctor.lint.environments.purpose import JUDGED, with_purpose
from rocm_doctor.lint.environments.words import named
from rocm_doctor.lint.readers import (
    docker,
    entered,
    image_python,
    imported,
    installed,
    limited,
    on_cpu,
    otherwise,
    policy,
    projects,
    referred,
    removable,
    served,
    standalone,
    unread,
)
from rocm_doctor.lint.readers.files import Tree
from rocm_doctor.lint.readers.shell import Build, Made
from rocm_doctor.lint.rules.torch_state import of_image


def read(root: Path, alone: str = "") -> Repository:
    """Everything that the repository at `root` declares. `alone`: a file that is read by itself, whatever installs it. Raises NotADirectoryError when there is no such folder."""
    if not root.is_dir():
        raise NotADirectoryError(f"{root} is not a folder")
    tree = Tree(root)
    rules = policy.read(tree)
    tree.exclude = rules.exclude
    listed = list(tree.listed())
    listed += [("dockerfile", path) for path in docker.named_files(tree, listed)]
    vendored, apart = _submodules(tree), _projects(tree, listed) | _by_processor(listed)
    found: list[Environment] = []
    used: set[str] = set()
    bare: set[str] = set()
    for made, files in _in_context(tree, listed):
        one = with_purpose(installed.with_projects(tree, made, files), vendored, apart)
        found.append(one)
        if one.purpose.kind in JUDGED and one.sort != "text" and one.os != "windows":
            used |= {file.path for file in files}
        elif one.sort == "text" and one.image is None and not any(step.indexes for step in one.steps):
            torch = (r.place.file for step in one.steps for r in step.requirements if r.name == "torch")
            bare |= {file for file in torch if named(file.rsplit("/", 1)[-1])[0] == "amd"}
    used -= bare  # a document has its readers install them without the image that does
    found = image_python.of_scripts(found)
    more = [
        with_purpose(one, vendored, apart)
        for one in standalone.environments(tree, listed, used - {alone}, alone, standalone.installer(found))
    ]
    more = entered.with_image(tree, listed, more, found)
    found += [standalone.as_choice(one, found + more) for one in more]
    problems = (*rules.problems, *dict.fromkeys(tree.problems))
    asked = {r.name for one in found for step in one.steps for r in step.requirements}
    companions = tuple(sorted(asked & {"torchvision", "torchaudio"}))
    shared = _over_images(found)
    said = tuple(
        removable.with_removals(
            msgspec.structs.replace(e, companions=companions, shared=() if e.image and of_image(e.image) else shared), tree
        )
        for e in found
        if _says_something(e)
    )
    for_amd = any(e.purpose.kind == "amd" and e.sort != "text" for e in said)
    read_ = {e.place.file for e in said} | {step.place.file for e in said for step in e.steps}
    needed = None if for_amd else unread.needed(tree, read_) or unread.loaded(tree)
    on_windows = any(e.os == "windows" and e.purpose.kind == "amd" for e in said)
    references = referred.references(tree, said)
    return Repository(
        said, rules, problems, len(listed), _is_package(tree),
        mention=None if for_amd else needed or unread.mention(tree),
        unread=needed, unread_windows=None if on_windows else unread.needed_on_windows(tree, read_),
        first=unread.told_rocm(tree, said) if for_amd else unread.told_first(tree),
        assigned=otherwise.assigned(tree, said), pythons=otherwise.pythons(tree, said),
        beginning=unread.beginning(tree), other_way=unread.other_way(tree), served=served.served(tree) if for_amd else None, meant=referred.meant(tree, said), references=references,
        unnamed=referred.unnamed(tree, said, references), documented=referred.documented(tree, said),
        on_cpu=on_cpu.fixed(tree) or on_cpu.unused(tree) if for_amd else None, lost=referred.lost(tree) if for_amd else None,
        beyond=unread.beyond(tree, read_ | _included(said) | {path for kind, path in listed if kind not in _IN_PART}) if for_amd else None,
        limits=limited.limits(tree, read_) if for_amd else (), imports=imported.imports(tree) if for_amd else (), modules=imported.modules(tree) if for_amd else frozenset(),
    )  # fmt: skip


def _included(environments: Iterable[Environment]) -> set[str]:
    """The files that commands and lists take requirements, constraints and indexes from."""
    steps = [step for e in environments for step in e.steps]
    required = {r.place.file for step in steps for r in (*step.requirements, *step.constraints)}
    return required | {index.place.file for step in steps for index in step.indexes}


# Kinds of files of which only some forms are read.
_IN_PART = ("python", "shell", "setuptools", "cmake", "make", "config", "deepspeed", "tomlconfig", "pinokio")


def _over_images(environments: Iterable[Environment]) -> tuple[str, ...]:
    """The lists that images install over the torch of their base."""
    over = (e for e in environments if e.image is not None and of_image(e.image) is not None)
    files = {r.place.file for e in over for step in e.steps for r in step.requirements if r.place.file != e.place.file}
    return tuple(sorted(files))


def _in_context(tree: Tree, listed: Iterable[tuple[str, str]]) -> Iterator[Made]:
    """Environments of files that run something, with the files of the repository that they install from."""
    services: set[tuple[Build, str]] = set()
    built: set[str] = set()
    served: set[str] = set()
    listed = list(listed)
    composed = [path for kind, path in listed if kind == "compose"]
    for path in composed:
        for one, used in _services(tree, path, services, composed):
            served |= {one.place.file} if one.sort == "image" and _is_for_amd(one) else set()
            yield one, used
    for path in (path for kind, path in listed if kind == "devcontainer"):
        yield from _devcontainer(tree, path, built)
    served |= built
    built |= {build.dockerfile for build, _ in services}
    for kind, path in listed:
        if kind in _READERS and not (kind == "dockerfile" and path in built):
            yield from _READERS[kind](tree, path, kind)
        elif kind == "dockerfile" and path not in served:  # its services give it arguments that leave its part for AMD out
            yield from (made for made in _dockerfile(tree, path, kind) if _is_for_amd(made[0]))


def _is_for_amd(one: Environment) -> bool:
    return with_purpose(one, frozenset()).purpose.kind == "amd"


# A reader is imported for the first file of its kind: few repositories have all of them.


def _services(tree: Tree, path: str, built: set[tuple[Build, str]], files: list[str]) -> Iterable[Made]:
    from rocm_doctor.lint.readers.built import services

    return services(tree, path, built, files)


def _devcontainer(tree: Tree, path: str, built: set[str]) -> Iterable[Made]:
    from rocm_doctor.lint.readers import devcontainer

    return devcontainer.environments(tree, path, built)


def _dockerfile(tree: Tree, path: str, _: str) -> Iterable[Made]:
    from rocm_doctor.lint.readers import dockerfile

    return dockerfile.environments(tree, path)


def _workflow(tree: Tree, path: str, _: str) -> Iterable[Made]:
    from rocm_doctor.lint.readers import workflows

    return workflows.environments(tree, path)


def _pipeline(tree: Tree, path: str, _: str) -> Iterable[Made]:
    from rocm_doctor.lint.readers import gitlab

    return gitlab.environments(tree, path)


def _script(tree: Tree, path: str, _: str) -> Iterable[Made]:
    from rocm_doctor.lint.readers import by_hardware

    return by_hardware.environments(tree, path)


def _launcher(tree: Tree, path: str, _: str) -> Iterable[Made]:
    from rocm_doctor.lint.readers import pinokio

    return pinokio.environments(tree, path)


def _document(tree: Tree, path: str, kind: str) -> Iterable[Made]:
    from rocm_doctor.lint.readers import documents

    return documents.environments(tree, path, kind)


def _code(tree: Tree, path: str, kind: str) -> Iterable[Made]:
    from rocm_doctor.lint.readers import code

    return ((one, ()) for one in code.environments(tree, path, kind))


def _make(tree: Tree, path: str, _: str) -> Iterator[Made]:
    from rocm_doctor.lint.readers import recipes

    yield from _code(tree, path, "cmake")
    yield from recipes.environments(tree, path)


def _configuration(tree: Tree, path: str, kind: str) -> Iterable[Made]:
    from rocm_doctor.lint.readers import conda, kubernetes, training

    if kind == "config" and kubernetes.is_manifest(tree.text(path, wanted=False) or ""):
        return kubernetes.environments(tree, path)
    reader = {"config": training.environment, "deepspeed": training.deepspeed, "conda": conda.environment,
              "tomlconfig": training.from_toml}[kind]  # fmt: skip
    made = reader(tree, path)
    return [(made, ())] if made else []


_READERS: dict[str, Callable[[Tree, str, str], Iterable[Made]]] = {
    "dockerfile": _dockerfile, "workflow": _workflow, "gitlab": _pipeline, "shell": _script, "env": _script, "pinokio": _launcher, "readme": _document, "guide": _document, "notebook": _document,
    "python": _code, "setuptools": _code, "cmake": _code, "make": _make, "config": _configuration, "deepspeed": _configuration,
    "conda": _configuration, "tomlconfig": _configuration,
}  # fmt: skip


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


_BUILT_BY = frozenset(
    ("pyproject.toml", "setup.py", "cmakelists.txt", "cargo.toml", "package.json", "license", "license.txt", "license.md")
)


def _projects(tree: Tree, listed: Iterable[tuple[str, str]]) -> frozenset[str]:
    """The folders called by some hardware that are projects of their own: they have a README, and what builds them or their licence."""
    parts = [path.split("/")[:-1] for _, path in listed]
    folders = {"/".join(one[: n + 1]) for one in parts for n, name in enumerate(one) if named(name)[0] != "neutral"}
    inside = {folder: {name.rpartition("/")[2].lower() for name in tree.matching(f"{folder}/*")} for folder in folders}
    return frozenset(f for f, names in inside.items() if names & _BUILT_BY and any(n.startswith("readme") for n in names))


_PROCESSOR = regex(r"(?<![a-z])amd(?![a-z0-9])", re.I)


def _by_processor(listed: Iterable[tuple[str, str]]) -> frozenset[str]:
    """The files in whose names `amd` is a processor: beside Dockerfile.amd there is Dockerfile.arm."""
    paths = {path.lower(): path for _, path in listed}
    return frozenset(
        path
        for low, path in paths.items()
        if _PROCESSOR.search(low) and any(_PROCESSOR.sub(arm, low) in paths for arm in ("arm", "arm64"))
    )


def _says_something(environment: Environment) -> bool:
    steps = any(step.requirements or step.indexes for step in environment.steps)
    return bool(
        steps
        or (environment.labels and any(p.about not in ("before", "start") for p in environment.unresolved))
        or environment.variables
        or environment.containers
        or environment.config
        or environment.image
    )
