"""pyproject.toml: the project itself and each extra of it that concerns the GPU stack, by pip, uv, PDM or poetry.

uv binds a package to an index by extra and by marker (docs.astral.sh/uv/concepts/projects/dependencies), so every extra is an
environment of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from packaging.utils import canonicalize_name

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import REQUIRES_PYTHON, Index, Place, Requirement, Setting, Step, Tool
from rocm_doctor.lint.environments.words import named, words_of
from rocm_doctor.lint.readers import poetry, requirements
from rocm_doctor.lint.readers.files import Tree, folder_of, joined
from rocm_doctor.lint.readers.toml import Lines, items, load, strings, table

# Packages that bring torch, replace it, or hold GPU code: an extra without any of them is of no concern.
GPU_STACK = frozenset((
    "torch", "torchvision", "torchaudio", "triton", "pytorch-triton-rocm", "triton-rocm", "bitsandbytes", "xformers", "flash-attn",
    "vllm", "deepspeed", "torchao", "accelerate", "peft", "trl", "unsloth", "axolotl", "onnxruntime-gpu", "onnxruntime-rocm",
    "tensorrt", "auto-gptq", "gptqmodel", "autoawq", "transformer-engine", "sglang", "cupy", "faiss-gpu", "mamba-ssm",
    "causal-conv1d", "apex", "aqlm", "eetq", "hqq", "tensorflow-rocm", "torchtune",
))  # fmt: skip


class Project(NamedTuple):
    """A project file that was read: its values, its lines, the names of its extras, and the requirements seen so far."""

    path: str
    data: dict[str, Any]
    lines: Lines
    extras: tuple[str, ...]
    known: dict[tuple[str, str], list[Requirement]]

    @property
    def by_uv(self) -> bool:
        """True if uv's own tables say where packages come from."""
        uv = table(self.data, "tool", "uv")
        return bool(uv.keys() & {"sources", "index", "index-url", "extra-index-url", "pip", "find-links"})

    @property
    def by_extra(self) -> bool:
        """True if uv is told to take packages from another index for each extra."""
        return any(kind == "extra" for kind, _ in _bound(self.data))

    @property
    def names_torch_index(self) -> bool:
        """True if uv is told of an index that holds builds of torch, bound or not."""
        urls = (str(entry.get("url")) for entry in items(table(self.data, "tool", "uv").get("index")))
        return any(re.search(r"pytorch\.org|rocm|\.amd\.com|radeon", url) for url in urls)

    @property
    def library(self) -> bool:
        """True if others install it as a package: it has a name and a build backend or scripts."""
        return "build-system" in self.data or bool(table(self.data, "tool", "poetry").get("packages"))


def read(tree: Tree, path: str) -> Project | None:
    """A pyproject.toml; None where it cannot be read."""
    loaded = load(tree, path)
    if loaded is None:
        return None
    data, lines = loaded
    names = (*table(data, "project", "optional-dependencies"), *table(data, "tool", "poetry", "extras"))
    names += tuple(table(data, "tool", "setuptools", "dynamic", "optional-dependencies"))
    return Project(path, data, lines, tuple(dict.fromkeys(names)), {})


def builds_with_torch(tree: Tree, folder: str) -> Place | None:
    """Where a project asks for torch to be built with: pip then takes one from the package index, whatever is installed."""
    path = f"{folder}/pyproject.toml".lstrip("/")
    project = read(tree, path) if tree.is_file(path) else None
    needed = strings(table(project.data, "build-system").get("requires")) if project else []
    text = next((one for one in needed if _name(one) == "torch"), None)
    return project.lines.place("requires") if project and text and tree.is_file(f"{folder}/setup.py".lstrip("/")) else None


def against(project: Project, extra: str) -> list[Requirement]:
    """What the other extras ask for where uv resolves all of them together: those that conflict by its table are told apart."""
    told = [{str(one.get("extra")) for one in items(group)} for group in table(project.data, "tool", "uv").get("conflicts") or []]
    optional = table(project.data, "project", "optional-dependencies")
    others = [name for name in optional if name != extra and not any({name, extra} <= group for group in told)]
    return [r for name in others for text in strings(optional[name]) for r in requirements.one(text, project.lines.of_text(text))]


_NAME = regex(r"""^[ \t]*name[ \t]*=[ \t]*["']?([A-Za-z][\w.-]*)["']?[ \t]*(?:,[ \t]*)?$""", re.M)


def own_name(tree: Tree) -> str:
    """The name under which the project at the root is published; empty where it has none."""
    if "own name" not in tree.parsed:
        project = read(tree, "pyproject.toml") if tree.is_file("pyproject.toml") else None
        name = (
            table(project.data, "project").get("name") or table(project.data, "tool", "poetry").get("name") if project else None
        )
        texts = (tree.text_if_there(file) or "" for file in ("setup.cfg", "setup.py"))
        found = name or next((m[1] for text in texts if (m := _NAME.search(text))), "")
        tree.parsed["own name"] = str(canonicalize_name(str(found)))
    return str(tree.parsed["own name"])


def requires_python(project: Project) -> Setting | None:
    """The Pythons that the project allows."""
    data = project.data
    value = table(data, "project").get("requires-python") or table(data, "tool", "poetry", "dependencies").get("python")
    if not isinstance(value, str):
        return None
    return Setting(REQUIRES_PYTHON, poetry.as_pep440(value), project.lines.place("python", value))


def steps(tree: Tree, project: Project, extras: Sequence[str] = ()) -> list[Step]:
    """What installing the project with these extras asks for, by the tool that its tables name."""
    found = (_pep621_step(tree, project, extras), poetry.step(project.data, project.lines, extras))
    return [step for step in found if step.requirements]


def concerned(project: Project) -> list[str]:
    """The extras that bring packages of the GPU stack or that a source is bound to."""
    by_source = {name for kind, name in _bound(project.data) if kind == "extra"}
    own = table(project.data, "project", "optional-dependencies")
    return [
        name for name in project.extras
        if name in by_source or (name not in own and named(name)[0] != "neutral") or any(str(canonicalize_name(_name(text))) in GPU_STACK for text in strings(own.get(name)))
    ]  # fmt: skip


def groups(project: Project) -> list[str]:
    """The dependency groups that a source of uv is bound to: like extras, but that the default ones are left out beside them."""
    named = dict.fromkeys(name for kind, name in _bound(project.data) if kind == "group")
    return [name for name in named if name in table(project.data, "dependency-groups")]


def _bound(data: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for source in table(data, "tool", "uv", "sources").values():
        yield from ((kind, str(one[kind])) for one in _entries(source) for kind in ("extra", "group") if one.get(kind))


def dynamic(project: Project, extras: Sequence[str] = ()) -> list[str]:
    """The lists from which setuptools takes the dependencies of a project, and of these extras, where it says so."""
    said = strings(table(project.data, "project").get("dynamic"))
    made = table(project.data, "tool", "setuptools", "dynamic")
    tables = [table(made, "dependencies")] if "dependencies" in said else []
    tables += [table(made, "optional-dependencies", extra) for extra in extras] if "optional-dependencies" in said else []
    named = [name for one in tables for name in ([one["file"]] if isinstance(one.get("file"), str) else strings(one.get("file")))]
    return [path for name in named if (path := joined(folder_of(project.path), name))]


def _entries(source: Any) -> list[dict[str, Any]]:
    return [source] if isinstance(source, dict) else items(source)


def _pep621_step(tree: Tree, project: Project, extras: Sequence[str]) -> Step:
    """PEP 621 dependencies with the groups that uv installs by default and the extras. With a [tool.uv] table uv installs
    them, else pip.
    """
    data, lines = project.data, project.lines
    uv = table(data, "tool", "uv")
    needed = [r for text, key in _texts(data, extras) for r in _required(tree, project, text, key)]
    needed += [r for path in dynamic(project, extras) for r in requirements.read(tree, path).requirements]
    place = lines.place("[tool.uv") if uv else lines.place("[project")
    indexes = [*_uv_indexes(uv, extras, lines), *_pdm_indexes(data, lines)]
    constraints = [
        r
        for text in strings(uv.get("constraint-dependencies")) + strings(uv.get("override-dependencies"))
        for r in requirements.one(text, lines.of_text(text))
    ]
    strategy = uv.get("index-strategy") if isinstance(uv.get("index-strategy"), str) else table(uv, "pip").get("index-strategy")
    tool: Tool = "uv" if uv else "pdm" if table(data, "tool", "pdm") else "pip"
    return Step(tool, place, tuple(needed), tuple(constraints), tuple(indexes), str(strategy or ""))


def _required(tree: Tree, project: Project, text: str, key: str) -> list[Requirement]:
    """The requirement of a text of the array `key`; each is looked up once, however many environments have it."""
    if (text, key) not in project.known:
        project.lines.go_to(key)
        place = project.lines.of_text(text, _name(text), text[:60])
        project.known[text, key] = requirements.one(text, place, tree.problems)
    return project.known[text, key]


def _name(text: str) -> str:
    found = re.match(r"\s*([A-Za-z0-9._-]+)", text)
    return found[1] if found else text[:20]


def _texts(data: dict[str, Any], extras: Sequence[str]) -> list[tuple[str, str]]:
    """Requirement strings in the order of the file, each with the key of its array: main, the extras with those that they name, the default groups."""
    project = table(data, "project")
    own = str(canonicalize_name(str(project.get("name") or "")))
    optional = table(project, "optional-dependencies")
    found = [(text, "dependencies") for text in strings(project.get("dependencies"))]
    todo, done = list(extras), set[str]()
    while todo:
        name = todo.pop(0)
        if name in done:
            continue
        done.add(name)
        for text in strings(optional.get(name)) + strings(table(data, "dependency-groups").get(name)):
            itself = re.match(r"\s*([A-Za-z0-9._-]+)\[([^\]]*)\]\s*$", text)
            if itself and own and str(canonicalize_name(itself[1])) == own:
                todo += [e.strip() for e in itself[2].split(",")]
            else:
                found.append((text, name))
    in_groups = table(data, "dependency-groups")
    default = table(data, "tool", "uv").get("default-groups")
    for name in strings(default) if isinstance(default, list) else ["dev"]:
        found += [] if any(extra in in_groups for extra in extras) else [(text, name) for text in strings(in_groups.get(name))]
    return found + [(text, "dev-dependencies") for text in strings(table(data, "tool", "uv").get("dev-dependencies"))]


class _Binding(NamedTuple):
    """One entry of [tool.uv.sources] that holds for the extras: a package, the index's name or a URL, its marker."""

    package: str
    target: str
    marker: str


def _bindings(uv: dict[str, Any], extras: Sequence[str]) -> Iterator[_Binding]:
    for name, source in table(uv, "sources").items():
        for one in _entries(source):
            target = one.get("index") or one.get("url")
            wanted = one.get("extra") or one.get("group")
            if isinstance(target, str) and (wanted is None or wanted in extras):
                yield _Binding(str(canonicalize_name(name)), target, str(one.get("marker") or ""))


def bound_to(project: Project) -> dict[str, set[str]]:
    """The indexes that uv's sources name for each package, whatever their extras and markers."""
    uv = table(project.data, "tool", "uv")
    urls = {entry.get("name"): str(entry.get("url")).rstrip("/") for entry in items(uv.get("index"))}
    found: dict[str, set[str]] = {}
    for name, source in table(uv, "sources").items():
        targets = {urls[one["index"]] for one in _entries(source) if isinstance(one.get("index"), str) and one["index"] in urls}
        if targets and all("index" in one for one in _entries(source)):
            found[str(canonicalize_name(name))] = targets
    return found


def system_of(project: Project, extra: str) -> str:
    """The system that an extra is for, where its name or the markers of all that it asks for say so; empty for Linux and for any."""
    words = set(words_of(extra))
    texts = strings(table(project.data, "project", "optional-dependencies").get(extra))
    markers = [r.marker for text in texts for r in requirements.one(text, Place("", 0))]
    for system, (names, marker) in _SYSTEMS.items():
        if (words & names and "linux" not in words) or (markers and all(marker.search(m) and " or " not in m for m in markers)):
            return system
    return ""


WINDOWS = frozenset(("win", "windows", "win32", "win64"))
_SYSTEMS = {
    "windows": (WINDOWS, regex(r"""sys_platform\s*==\s*["']win32|platform_system\s*==\s*["']Windows|os_name\s*==\s*["']nt""")),
    "macos": (frozenset(("mac", "macos", "osx", "darwin")), regex(r"""(?:sys_platform|platform_system)\s*==\s*["'][dD]arwin""")),
}


def _uv_indexes(uv: dict[str, Any], extras: Sequence[str], lines: Lines) -> Iterator[Index]:
    bound = list(_bindings(uv, extras))
    for entry in items(uv.get("index")):
        url, name = entry.get("url"), entry.get("name")
        if not isinstance(url, str):
            continue
        place = lines.place(url)
        for marker in dict.fromkeys(b.marker for b in bound if b.target == name):
            yield Index(url, "bound", place, tuple(b.package for b in bound if b.target == name and b.marker == marker), marker)
        if entry.get("explicit") is not True:
            yield Index(url, "default" if entry.get("default") is True else "extra", place)
    yield from _flat_uv_indexes({**uv, **table(uv, "pip")}, lines)
    yield from (Index(b.target, "bound", lines.place(b.target), (b.package,), b.marker) for b in bound if "://" in b.target)


def _flat_uv_indexes(uv: dict[str, Any], lines: Lines) -> Iterator[Index]:
    if isinstance(backend := uv.get("torch-backend"), str):
        yield Index(f"torch-backend:{backend}", "bound", lines.place("torch-backend"), ("torch", "torchvision", "torchaudio"))
    if isinstance(uv.get("index-url"), str):
        yield Index(uv["index-url"], "default", lines.place(uv["index-url"]))
    yield from (Index(url, "extra", lines.place(url)) for url in strings(uv.get("extra-index-url")))
    yield from (Index(url, "find-links", lines.place(url)) for url in strings(uv.get("find-links")))


def _pdm_indexes(data: dict[str, Any], lines: Lines) -> Iterator[Index]:
    """PDM's sources: one called pypi takes the place of the default, the others are asked as well."""
    for entry in items(table(data, "tool", "pdm").get("source")):
        if isinstance(entry.get("url"), str):
            yield Index(entry["url"], "default" if entry.get("name") == "pypi" else "extra", lines.place(entry["url"]))
