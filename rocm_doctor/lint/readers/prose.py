"""Install commands in text: code blocks of a README, cells of a notebook, strings of Python installers.

Each block is an environment of its own. They say what a reader is told to type; what is found in them is a note.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator

import msgspec

from rocm_doctor.lint.declared import Environment, Place, Purpose, Setting, Sort, Step
from rocm_doctor.lint.environments.purpose import made_for_amd
from rocm_doctor.lint.environments.words import named
from rocm_doctor.lint.readers import installs, script, shell
from rocm_doctor.lint.readers.files import Tree, folder_of

_FENCE = re.compile(r"^\s*(```+|~~~+)\s*([\w+-]*)")
_HEADING = re.compile(r"^#{1,6}\s+(.*)")
_SHELLS = frozenset(("", "bash", "sh", "shell", "console", "zsh", "shell-session", "terminal", "text"))
_OF_WINDOWS = frozenset(("cmd", "powershell", "bat", "batch", "ps1", "pwsh"))
_INSTALLS = re.compile(r"pip3? install|uv add|uv sync|docker run|HSA_OVERRIDE|conda install|conda create|index-url")
_NAMES_INDEX = re.compile(
    r"(?:^|\s)(?:--(?:extra-)?index-url|-i|-f)\s+https?://|download\.pytorch\.org/whl|repo\.(?:radeon|amd)\.com"
)
MAX_BLOCKS = 60


def environments(tree: Tree, path: str, kind: str) -> Iterator[Environment]:
    """The blocks of a file that install something."""
    text = tree.text(path, wanted=False)
    if text and kind == "python":
        yield from _supported(path, text)
    if text and kind == "cmake":
        yield from _defaults(path, text)
        return
    if not text or not _INSTALLS.search(text):
        return
    kind = "rst" if path.lower().endswith(".rst") else kind
    reader = {"readme": _markdown, "rst": _restructured, "notebook": _notebook, "python": _python}[kind]
    yield from reader(tree, path, text)


def _made(
    tree: Tree, path: str, name: str, line: int, text: str, purpose: Purpose, heading: str = "", os: str = ""
) -> Environment | None:
    found = shell.new()
    lines = [re.sub(r"^\s*(?:\$|!|%|>)\s+|^\s*[!%](?=\w)", "", one) for one in text.splitlines()]
    script.read("\n".join(lines), Place(path, line), shell.checkout(tree, folder_of(path), {}), found)
    if not any(step.requirements for step in found.steps) and not found.variables and not found.containers:
        return None
    made = Environment(
        name, Place(path, line), steps=tuple(found.steps), variables=tuple(found.variables), containers=tuple(found.containers),
        sort="text", purpose=purpose, labels=(heading,) if heading else (), os=os,
    )  # fmt: skip
    own = made_for_amd(made) if purpose.kind == "documentation" else None
    return msgspec.structs.replace(made, purpose=own) if own else made


def _markdown(tree: Tree, path: str, text: str) -> Iterator[Environment]:
    """The fenced blocks of shell commands, each under the heading before it."""
    block: list[str] = []
    fence, language, start, heading, count = "", "", 0, "", 0
    for number, line in enumerate(text.splitlines(), 1):
        found = _FENCE.match(line)
        if fence:
            if found and found[1].startswith(fence) and not found[2]:
                body = "\n".join(block)
                if language in _SHELLS | _OF_WINDOWS and _INSTALLS.search(body) and count < MAX_BLOCKS:
                    count += 1
                    kind, word = named(heading)
                    words = f"{word} in the heading {heading}" if word else "a code block"
                    purpose = Purpose(kind if kind not in ("neutral", "amd") else "documentation", words, Place(path, start))
                    os = "windows" if language in _OF_WINDOWS else ""
                    if made := _made(tree, path, f"{path} block at line {start}", start, body, purpose, heading, os):
                        yield made
                fence, block = "", []
            else:
                block.append(line)
        elif found:
            fence, language, start, block = found[1], found[2].lower(), number + 1, []
        elif title := _HEADING.match(line):
            heading = title[1]


_DIRECTIVE = re.compile(r"(\s*)\.\. (?:code-block|code|sourcecode|prompt)::\s*(\S*)")


def _restructured(tree: Tree, path: str, text: str) -> Iterator[Environment]:
    """The code blocks of reStructuredText that are shell commands: the indented lines after their directive."""
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        found = _DIRECTIVE.match(line)
        if found is None or found[2].lower() not in _SHELLS:
            continue
        block: list[str] = []
        for one in lines[number:]:
            if one.strip() and len(one) - len(one.lstrip()) <= len(found[1]):
                break
            block.append("" if one.lstrip().startswith(":") else one.strip())
        body = "\n".join(block)
        if _INSTALLS.search(body):
            purpose = Purpose("documentation", "a code block", Place(path, number))
            if made := _made(tree, path, f"{path} block at line {number}", number + 1, body, purpose):
                yield made


def _notebook(tree: Tree, path: str, text: str) -> Iterator[Environment]:
    """The cells of a notebook that install; a line of the file is named where its words are found."""
    try:
        cells = json.loads(text).get("cells", [])
    except (ValueError, RecursionError, AttributeError):
        return
    lines = text.splitlines()
    for number, cell in enumerate(cells[:500] if isinstance(cells, list) else (), 1):
        source = cell.get("source") if isinstance(cell, dict) and cell.get("cell_type") == "code" else None
        rows = source if isinstance(source, list) else str(source or "").splitlines(keepends=True)
        commands = [str(row).strip() for row in rows if re.match(r"\s*[!%](?:pip|uv|conda)", str(row))]
        if not commands:
            continue
        line = next((n for n, one in enumerate(lines, 1) if json.dumps(commands[0])[1:-1] in one), 1)
        made = _made(
            tree,
            path,
            f"{path} cell {number}",
            line,
            "\n".join(commands),
            Purpose("documentation", "a notebook", Place(path, line)),
        )
        if made:
            yield made


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
    re.compile(rf"^[ \t]*set\s*\(\s*(\w+)\s+[\"']?((?:{_TARGET}[;,\s]*)+)[\"']?\s*(?:\)|CACHE)", re.M | re.I),
    re.compile(rf"^[ \t]*(?:export[ \t]+)?(\w+)[ \t]*[:?]?=[ \t]*((?:{_TARGET}[;, \t]*)+)$", re.M),
    re.compile(rf"\b(TARGETS|GPU_TARGETS|AMDGPU_TARGETS)\s+[\"']((?:{_TARGET}[;,\s]*)+)[\"']"),
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


_SUPPORTED = re.compile(r"(?:support|allow|valid)\w*arch", re.I)
_GFX_NAME = re.compile(r"gfx\d[0-9a-f]{2,3}")


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
    return None


def _by_index(step: Step) -> Purpose:
    rocm = next((i for i in step.indexes if "rocm" in i.url or "radeon" in i.url or ".amd.com" in i.url), None)
    if rocm is not None:
        return Purpose("amd", f"index {rocm.url}", rocm.place)
    return Purpose("documentation", "an install command in Python", step.place)
