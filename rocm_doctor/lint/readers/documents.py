"""Install commands in documentation: code blocks of Markdown and reStructuredText, cells of a notebook.

The blocks under one heading are the steps of one environment. What is for AMD in them is one way, of which the lines for other
hardware are left out; without anything for AMD each block is documentation by itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Environment, Place, Purpose, Setting
from rocm_doctor.lint.environments.purpose import made_for_amd
from rocm_doctor.lint.environments.words import Kind, cards, named
from rocm_doctor.lint.readers import dockerfile, script, shell
from rocm_doctor.lint.readers.files import Tree, folder_of
from rocm_doctor.lint.readers.image_python import one_of
from rocm_doctor.lint.readers.shell import Made

_FENCE = regex(r"^\s*(```+|~~~+)\s*([\w+-]*)")
_HEADING = regex(r"^#{1,6}\s+(.*)")
# A heading that only counts belongs to the one above it.
# A command in a line of text, or one that is the whole line: one for AMD is a way of its own.
_CODE = regex(r"`([^`]{12,500})`|^\s*(?:\$\s*)?((?:sudo )?(?:uv pip|pip3?|python[\d.]* -m pip|docker|podman) [^`]{12,500})$")
_OF_ROCM = regex(
    r"\binstall\b.*(?:whl/(?:nightly/|test/)?rocm|radeon\.com|\.amd\.com)|^(?:sudo )?(?:docker|podman) run\b.*/dev/kfd"
)
_COUNTS = regex(r"\W*(?:step\s*)?\d+\b", re.I)
_SHELLS = frozenset(("", "bash", "sh", "shell", "console", "zsh", "shell-session", "terminal", "text"))
_OF_IMAGES = frozenset(("dockerfile", "docker", "containerfile"))
_IMAGE = "image"
"""In place of the system of a block: it shows a Dockerfile."""
_OF_WINDOWS = frozenset(("cmd", "powershell", "bat", "batch", "ps1", "pwsh", "dos"))
_INSTALLS = regex(
    r"pip3? (?:un)?install|uv add|uv sync|poetry install|docker run|HSA_OVERRIDE|conda install|conda create|index-url"
)
_TORCH = regex(r"install\b.*[\s\"']torch\b(?!-)")
_OTHERS_INDEX = regex(r"/cu\d{2,3}\b|/cpu\b|/xpu\b")
_ROCM_INDEX = regex(r"rocm|radeon|\.amd\.com")
MAX_BLOCKS = 60


class Block(NamedTuple):
    """Shell lines of a document: where they begin, the heading above them, and the line of text before them."""

    line: int
    rows: Sequence[str]
    heading: str
    section: int
    label: str = ""
    os: str = ""


class Part(NamedTuple):
    """Rows of a block that belong together: whom they are for, by the heading, the text or the comment before them."""

    line: int
    rows: list[str]
    kind: Kind
    gfx: tuple[str, ...]


def environments(tree: Tree, path: str, kind: str) -> Iterator[Made]:
    """What a document tells its readers to install; of a guide beside the README what is for AMD."""
    yield from (made for made in _told(tree, path, kind) if kind != "guide" or made[0].purpose.kind == "amd")


def _told(tree: Tree, path: str, kind: str) -> Iterator[Made]:
    text = tree.text(path, wanted=False)
    if not text or not _INSTALLS.search(text):
        return
    reader = _restructured if path.lower().endswith(".rst") else _notebook if kind == "notebook" else _markdown
    blocks = [block for block in reader(text) if _INSTALLS.search("\n".join(block.rows))][:MAX_BLOCKS]
    for (_, os), same in groupby(blocks, key=lambda block: (block.section, block.os)):
        if os == _IMAGE:
            yield from (one for block in same for one in _image(tree, path, block))
        else:
            yield from _section(tree, path, list(same))


def _image(tree: Tree, path: str, block: Block) -> Iterator[Made]:
    """The Dockerfile that a block shows, at its lines of the document."""
    text = "\n" * (block.line - 1) + "\n".join(block.rows)
    for one, used in dockerfile.environments(tree, path, text=text):
        place = Place(path, block.line)
        purpose = made_for_amd(one) or Purpose("documentation", "a code block", place)
        labels = (block.heading,) if block.heading else ()
        made = msgspec.structs.replace(
            one, name=f"{path} block at line {block.line}", sort="text", purpose=purpose, labels=labels
        )
        yield made, used


def _section(tree: Tree, path: str, blocks: list[Block]) -> Iterator[Made]:
    """One environment where some of it is for AMD, else one for each block."""
    parts = [_parts(block) for block in blocks]
    rows = [row for some in parts for part in some if part.kind in ("amd", "neutral") for row in part.rows]
    if any(_ROCM_INDEX.search(row) and _TORCH.search(row) for row in rows):
        kept = [part for some in parts for part in some if part.kind in ("amd", "neutral")]
        if made := _made(tree, path, blocks, [_without_other_ways(part) for part in kept]):
            yield made
        return
    inside: Setting | None = None
    for block, some in zip(blocks, map(_one_way, parts)):
        if made := _made(tree, path, [block], some):
            one, used = made
            yield msgspec.structs.replace(one, image=one.image or inside), used
            inside = next((Setting("FROM", c.image, c.place) for c in reversed(one.containers) if c.image), inside)


def _parts(block: Block) -> Iterator[Part] | list[Part]:
    """The rows of a block, cut at blank lines and at comments that name hardware."""
    kind, gfx = _for(block.label)
    own = _for(block.heading)[0] if kind == "neutral" else kind
    found = [Part(block.line, [], own, gfx)]
    for number, row in enumerate(block.rows, block.line):
        goes_on = bool(found[-1].rows) and found[-1].rows[-1].rstrip().endswith("\\")
        comment = _for(row.lstrip("# ")) if row.lstrip().startswith("#") else None
        if not goes_on and (not row.strip() or (comment and (comment[0] != "neutral" or comment[1]))):
            found.append(
                Part(number, [], comment[0] if comment and comment[0] != "neutral" else own, comment[1] if comment else gfx)
            )
        found[-1].rows.append(row)
    return found


def _one_way(parts: Iterable[Part]) -> list[Part]:
    """The parts of a block without those for other hardware, where comments offer a way for each."""
    every = list(parts)
    amd = any(part.kind == "amd" and _INSTALLS.search("\n".join(part.rows)) for part in every)
    return [part for part in every if not amd or part.kind in ("amd", "neutral")]


def _for(words: str) -> tuple[Kind, tuple[str, ...]]:
    """The hardware that a line of text names, and its GPUs."""
    return named(words)[0], cards(words)


def _without_other_ways(part: Part) -> Part:
    """The part without the commands that take torch from elsewhere: beside one for ROCm they are another reader's."""
    if part.kind == "amd":
        other = _OTHERS_INDEX
    else:
        other = re.compile(rf"{_OTHERS_INDEX.pattern}|^(?!.*(?:{_ROCM_INDEX.pattern})).*{_TORCH.pattern}")
    whole = re.sub(r"\\\n", lambda m: "\0", "\n".join(part.rows)).split("\n")
    kept = [re.sub(r"[^\0]+", "", row) if other.search(row.replace("\0", " ")) else row for row in whole]
    return part._replace(rows="\n".join(kept).replace("\0", "\\\n").split("\n"))


def _made(tree: Tree, path: str, blocks: list[Block], parts: Iterable[Part]) -> Made | None:
    found, context = shell.new(), shell.checkout(tree, folder_of(path), {})
    for part in parts:
        lines = [re.sub(r"^\s*(?:\$|!|%|>)\s+|^\s*[!%](?=\w)", "", one) for one in part.rows]
        before = len(found.steps), len(found.variables), len(found.containers)
        script.read("\n".join(lines), Place(path, part.line), context, found)
        if part.gfx:
            script.restrict(found, before, part.gfx)
    if not any(step.requirements for step in found.steps) and not (found.variables or found.containers or found.used):
        return None
    first = blocks[0]
    kind, word = named(first.heading)
    words = f"{word} in the heading {first.heading}" if word else "a code block"
    purpose = Purpose(kind if kind not in ("neutral", "amd") else "documentation", words, Place(path, first.line))
    made = Environment(
        f"{path} {'block at' if len(blocks) == 1 else 'from'} line {first.line}", Place(path, first.line), steps=tuple(found.steps),
        variables=tuple(found.variables), containers=tuple(found.containers), sort="text", purpose=purpose,
        labels=(first.heading,) if first.heading else (), os=first.os, unresolved=tuple(found.problems), unsure=tuple(found.unsure),
        python=one_of(found.pythons), image=_entered(found),
    )  # fmt: skip
    own = made_for_amd(made)
    # A block under "GPU/NPU support" that takes torch from a ROCm index is for AMD, whatever the heading names.
    if own and (purpose.kind == "documentation" or own.words.startswith("index")):
        made = msgspec.structs.replace(made, purpose=own)
    return made, found.used


def _entered(found: shell.Script) -> Setting | None:
    """The image of a container that is started before anything is installed: the steps after it are done inside."""
    first = min((step.place.line for step in found.steps), default=0)
    return next((Setting("FROM", c.image, c.place) for c in found.containers if c.image and c.place.line < first), None)


def _markdown(text: str) -> Iterator[Block]:
    """The fenced blocks of shell commands."""
    rows: list[str] = []
    fence, language, start, heading, section, label = "", "", 0, "", 0, ""
    for number, line in enumerate(text.splitlines(), 1):
        found = _FENCE.match(line)
        if fence:
            if found and found[1].startswith(fence) and not found[2]:
                if language in _SHELLS | _OF_WINDOWS | _OF_IMAGES:
                    os = _IMAGE if language in _OF_IMAGES else "windows" if language in _OF_WINDOWS else ""
                    yield Block(start, rows, heading, section, label[:120], os)
                fence, rows, label = "", [], ""
            else:
                rows.append(line)
        elif found:
            fence, language, start, rows = found[1], found[2].lower(), number + 1, []
        elif title := _HEADING.match(line):
            if not _COUNTS.match(title[1]):
                heading, section = title[1], number
            label = ""
        elif line.strip():
            label = line.strip()
            codes = ("".join(code) for code in _CODE.findall(line))
            yield from (Block(number, [code], heading, -number, label[:120]) for code in codes if _OF_ROCM.search(code))


_DIRECTIVE = regex(r"(\s*)\.\. (?:code-block|code|sourcecode|prompt)::\s*(\S*)")
_UNDERLINE = regex(r"([=\-~^\"'#*+])\1{2,}\s*$")


def _restructured(text: str) -> Iterator[Block]:
    """The code blocks of reStructuredText that are shell commands: the indented lines after their directive."""
    lines = text.splitlines()
    heading, section, label = "", 0, ""
    for number, line in enumerate(lines, 1):
        if number < len(lines) and line.strip() and _UNDERLINE.match(lines[number]) and not _UNDERLINE.match(line):
            heading, section, label = (line.strip(), number, "") if not _COUNTS.match(line) else (heading, section, "")
            continue
        found = _DIRECTIVE.match(line)
        if found is None or found[2].lower() not in _SHELLS:
            label = line.strip() or label
            continue
        block: list[str] = []
        for one in lines[number:]:
            if one.strip() and len(one) - len(one.lstrip()) <= len(found[1]):
                break
            block.append("" if one.lstrip().startswith(":") else one.strip())
        yield Block(number + 1, block, heading, section, label[:120])


def _notebook(text: str) -> Iterator[Block]:
    """The cells of a notebook that install; a line of the file is named where its words are found."""
    try:
        cells = json.loads(text).get("cells", [])
    except (ValueError, RecursionError, AttributeError):
        return
    lines = text.splitlines()
    for cell in cells[:500] if isinstance(cells, list) else ():
        source = cell.get("source") if isinstance(cell, dict) and cell.get("cell_type") == "code" else None
        rows = source if isinstance(source, list) else str(source or "").splitlines(keepends=True)
        commands = [str(row).strip() for row in rows if re.match(r"\s*[!%](?:pip|uv|conda)", str(row))]
        if commands:
            line = next((n for n, one in enumerate(lines, 1) if json.dumps(commands[0])[1:-1] in one), 1)
            yield Block(line, commands, "", 0)
