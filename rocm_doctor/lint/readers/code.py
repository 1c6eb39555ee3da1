"""What code says of the stack without being run: install commands in Python strings, the GPUs that Python, CMake and make name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Environment, Place, Purpose, Setting, Sort, Step
from rocm_doctor.lint.readers import installs, shell
from rocm_doctor.lint.readers.files import Tree, folder_of

_NAMES_INDEX = regex(r"(?:^|\s)(?:--(?:extra-)?index-url|-i|-f)\s+https?://|download\.pytorch\.org/whl|repo\.(?:radeon|amd)\.com")


def environments(tree: Tree, path: str, kind: str) -> Iterator[Environment]:
    """What a file of code installs or builds for."""
    text = tree.text(path, wanted=False) or ""
    if kind == "cmake":
        yield from _defaults(path, text)
    else:
        yield from _supported(path, text)
        yield from _python(tree, path, text)


def _python(tree: Tree, path: str, text: str) -> Iterator[Environment]:
    """Strings of a Python file that hold an install command with an index, as launchers and installers keep them."""
    if not _NAMES_INDEX.search(text):
        return
    module = _parsed(text)
    if module is None:
        return
    docs = {id(n.value) for n in ast.walk(module) if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)}
    sort: Sort = "text"
    for node in ast.walk(module):
        value = _written(node)
        if value is None or id(node) in docs or not _NAMES_INDEX.search(value) or not re.search(r"\btorch\b", value):
            continue
        found = shell.new()
        place = Place(path, node.lineno, value[:200])  # type: ignore[attr-defined]
        words = re.sub(r"^.*?(?=\btorch)", "", value.split(" install ", 1)[-1] if " install " in value else value, count=1)
        context = shell.checkout(tree, folder_of(path), {})
        step = installs.install(["pip", "install", *words.split()], place, context, found)
        if step is not None and step.requirements:
            yield Environment(f"{path} line {place.line}", place, steps=(step,), sort=sort, purpose=_by_index(step))


# A list of gfx names that CMake or make sets; one that also asks the machine is not a list.
_TARGET = r"gfx[0-9a-f]+(?:[:+-]\w*)*"
_DEFAULTS = (
    regex(rf"^[ \t]*set\s*\(\s*(\w+)\s+[\"']?((?:{_TARGET}[;,\s]*)+)[\"']?\s*(?:\)|CACHE)", re.M | re.I),
    regex(rf"^[ \t]*(?:export[ \t]+)?(\w+)[ \t]*[:?]?=[ \t]*((?:{_TARGET}[;, \t]*)+)$", re.M),
    regex(rf"\b(TARGETS|GPU_TARGETS|AMDGPU_TARGETS)\s+[\"']((?:{_TARGET}[;,\s]*)+)[\"']"),
)


def _defaults(path: str, text: str) -> Iterator[Environment]:
    """The GPUs that a build is for unless others are named: each list with all that later lines add to it."""
    if "gfx" not in text:
        return
    first: dict[str, re.Match[str]] = {}
    for found in (m for pattern in _DEFAULTS for m in pattern.finditer(text)):
        first.setdefault(found[1], found)
    rows = [line for line in text.splitlines() if "gfx" in line]
    for name, found in first.items():
        place = Place(path, text.count("\n", 0, found.start(2)) + 1, " ".join(found[0].split())[:200])
        more = [m for line in rows if re.search(rf"\b{name}\b", line) for m in re.findall(_TARGET, line)]
        value = ";".join(dict.fromkeys((*re.findall(_TARGET, found[2]), *more)))
        yield Environment(
            f"{path} {name}", place, variables=(Setting(name, value, place),), sort="text", purpose=Purpose("amd", name, place)
        )


_SUPPORTED = regex(r"(?:support|allow|valid)\w*arch", re.I)
_GFX_NAME = regex(r"gfx\d[0-9a-f]{2,3}")


def _supported(path: str, text: str) -> Iterator[Environment]:
    """The GPUs that Python code says it supports: a list of gfx names whose variable is called so."""
    if "gfx" not in text or not _SUPPORTED.search(text) or (module := _parsed(text)) is None:
        return
    for node in ast.walk(module):
        if not isinstance(node, ast.Assign) or not isinstance(node.value, (ast.List, ast.Tuple, ast.Set)):
            continue
        name = next((t.id for t in node.targets if isinstance(t, ast.Name) and _SUPPORTED.search(t.id)), "")
        words = [e.value for e in node.value.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)]
        found = [word for word in words if _GFX_NAME.fullmatch(word)]
        if name and found and len(found) >= len(words) - 1:
            place = Place(path, node.lineno, f"{name} = {', '.join(words)}"[:200])
            setting = Setting(name.upper(), ";".join(found), place)
            yield Environment(
                f"{path} line {place.line}", place, variables=(setting,), sort="text", purpose=Purpose("amd", name, place)
            )


def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _written(node: ast.AST) -> str | None:
    """A text, with what is filled in at run time as a variable."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 2000:
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else "$VALUE" for part in node.values
        )
    if isinstance(node, (ast.List, ast.Tuple)) and any(isinstance(e, ast.Constant) and e.value == "install" for e in node.elts):
        return " ".join(_written(part) or "$VALUE" for part in node.elts[:_MOST_WORDS])  # the words of a command
    return None


_MOST_WORDS = 100


def _by_index(step: Step) -> Purpose:
    rocm = next((i for i in step.indexes if "rocm" in i.url or "radeon" in i.url or ".amd.com" in i.url), None)
    if rocm is not None:
        return Purpose("amd", f"index {rocm.url}", rocm.place)
    return Purpose("documentation", "an install command in Python", step.place)
