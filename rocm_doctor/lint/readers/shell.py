"""Commands of a shell text, literal words only.

tree-sitter-bash cuts the text; nothing is expanded but names whose literal value a Dockerfile states. A word with any other expansion is
None. What is in a branch, a loop or a function is not read.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.model import Place, Unread, UnreadReason

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MAX_TEXT = 2**18
RELEVANT = regex(
    r"\b(?:pip3?|uv|conda|mamba|micromamba|poetry|pdm)\b[^\n]*\b(?:install|add|sync|create|update|run)\b"
    r"|HSA_OVERRIDE|_VISIBLE_DEVICES|_ARCHS?\b|GPU_TARGETS|gfx\d|\brocm\b"
)
"""What a command has to do with the GPU stack: a text without any of it is not parsed, and a branch without it is not counted."""
_CALLS = regex(
    r"(?:^|[\s;&|(])(?:\./|(?:bash|sh|source|\.|c?make|ninja|hipcc|eval)(?:\s|$)|python[\d.]*\s+\S+\.py\b)|\|\s*(?:ba)?sh\b", re.M
)
"""What runs something else, which may install anything."""
_SHELLS = frozenset(("sh", "bash", "zsh", "python", "python3"))
_SIMPLE = regex(r"\$(?:\{(\w+)(?::?-([^${}\"'`\\]*))?\}|(\w+))")
"""A name, with its literal default where it has one."""
_ESCAPE = regex(r"\\(.)")


class ShellCommand(NamedTuple):
    """One command. `words`: None for one that is not literal; `assignments`: variables that it sets for itself, or for what follows where
    it has no words or is an export; `folder`: the shell's folder, by the literal `cd` before it; None where that is not known;
    `redirects`: files that it writes."""

    words: tuple[str | None, ...]
    assignments: tuple[tuple[str, str | None], ...]
    place: Place
    folder: str | None = ""
    redirects: tuple[str, ...] = ()

    @property
    def program(self) -> str:
        """The program, without its folder; empty where it is not literal."""
        return (self.words[0] or "").rsplit("/", 1)[-1] if self.words else ""


def parse(text: str, file: str, line: int = 1, names: Mapping[str, str] | None = None) -> Iterator[ShellCommand | Unread]:
    """The commands of a text in their order, and what was not read. `line`: the line of the file where the text begins."""
    if not (RELEVANT.search(text) or _CALLS.search(text)):
        return
    if len(text) > MAX_TEXT:
        yield Unread(Place(file, line), UnreadReason.SIZE, True)
        return
    yield from _Reader(file, line, names or {}).read(_parser().parse(text.encode("utf-8", "replace")).root_node)


class _Reader:
    def __init__(self, file: str, line: int, names: Mapping[str, str]) -> None:
        self.file, self.line, self.names = file, line, names
        self.folder: str | None = ""

    def read(self, root: Node) -> Iterator[ShellCommand | Unread]:
        pending: list[Node] = list(reversed(root.named_children))
        while pending:
            node = pending.pop()
            kind = node.type
            if kind in ("command", "declaration_command", "variable_assignment", "variable_assignments"):
                yield from self._command(node, ())
            elif kind == "redirected_statement":
                body, files = node.child_by_field_name("body"), self._redirect_targets(node)
                if body is not None and body.type == "command":
                    yield from self._command(body, files)
                elif body is not None:
                    pending.append(body)
            elif kind == "list":
                left, *rest = node.named_children
                either = any(child.type == "||" for child in node.children)
                if either:
                    yield from self._unread(rest, UnreadReason.BRANCH)
                pending += reversed(rest) if not either else []
                pending.append(left)
            elif kind == "pipeline":
                parts = node.named_children
                last = next(iter(self._command(parts[-1], ())), None) if parts and parts[-1].type == "command" else None
                if isinstance(last, ShellCommand) and last.program in _SHELLS:
                    yield Unread(self._place(node), UnreadReason.SCRIPT, True)
                else:
                    pending += reversed(parts)
            elif kind in ("subshell", "compound_statement"):
                pending += reversed(node.named_children)
            elif kind == "ERROR":
                yield from self._unread([node], UnreadReason.SYNTAX)
            elif kind != "comment":
                yield from self._unread([node], UnreadReason.BRANCH)

    def _unread(self, nodes: list[Node], reason: UnreadReason) -> Iterator[Unread]:
        """What is in nodes that are not read, one for each line that has to do with the GPU stack."""
        for node in nodes:
            for number, line in enumerate(_text(node).split("\n")):
                if RELEVANT.search(line):
                    place = Place(self.file, self.line + node.start_point[0] + number, line.strip()[:200])
                    yield Unread(place, reason, "install" in line or "sync" in line)

    def _place(self, node: Node) -> Place:
        return Place(self.file, self.line + node.start_point[0], " ".join(_text(node).replace("\\\n", " ").split())[:200])

    def _redirect_targets(self, node: Node) -> tuple[str, ...]:
        targets = (child.child_by_field_name("destination") for child in node.named_children if child.type == "file_redirect")
        return tuple(word for target in targets if target is not None and (word := self._word(target)))

    def _command(self, node: Node, files: tuple[str, ...]) -> Iterator[ShellCommand]:
        words: list[str | None] = []
        assigned: list[tuple[str, str | None]] = []
        end = -1
        for child in node.named_children or [node]:
            if child.type == "variable_assignment":
                assigned.append(self._read_assignment(child))
            elif child.type == "file_redirect":
                files = (*files, *(word for part in child.named_children if (word := self._word(part))))
            elif child.type in ("herestring_redirect", "heredoc_redirect", "comment", "file_descriptor"):
                continue
            elif words and child.start_byte == end:
                words[-1] = None  # the grammar cuts `$A-$B-c` in two
            elif node.type == "declaration_command" and child.type == "variable_name":
                continue
            elif node.type != "variable_assignment":
                words.append(
                    self._word(child.named_children[0] if child.type == "command_name" and child.named_children else child)
                )
            end = child.end_byte
        if node.type == "variable_assignment":
            assigned = [self._read_assignment(node)]
        if node.type == "declaration_command" and not _text(node).startswith(("export", "declare -x", "typeset -x")):
            return
        command = ShellCommand(tuple(words), tuple(assigned), self._place(node), self.folder, files)
        if command.program == "cd":
            self.folder = _change_folder(self.folder, command.words[1] if len(command.words) > 1 else None)
        yield command

    def _read_assignment(self, node: Node) -> tuple[str, str | None]:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        plain = node.named_child_count < 3 and "+=" not in _text(node).partition('"')[0]
        return _text(name) if name is not None else "", ("" if value is None else self._word(value)) if plain else None

    def _word(self, node: Node) -> str | None:
        """The text of a word, with known variables (`names`) filled in; None where a part is not known."""
        kind = node.type
        if kind in ("word", "number", "string_content", "command_name", "variable_name", "extglob_pattern"):
            return _ESCAPE.sub(r"\1", _text(node))
        if kind == "raw_string":
            return _text(node)[1:-1]
        if kind == "string":
            # The grammar gives no node for blanks between two expansions.
            inner = _text(node)[1:-1]
            return fill(inner.replace('\\"', '"'), self.names)
        if kind in ("simple_expansion", "expansion"):
            return fill(_text(node), self.names)
        if kind == "concatenation":
            parts = [self._word(child) for child in node.named_children]
            whole = sum(len(_text(child)) for child in node.named_children) == len(_text(node))
            return "".join(part for part in parts if part is not None) if None not in parts and whole else None
        return None


def fill(text: str, names: Mapping[str, str]) -> str | None:
    """The text with names as their literal values: `$NAME`, `${NAME}`, and `${NAME:-value}`, whose default holds where nothing else is
    given; None for a name that has none, and for any other expansion."""
    filled = _SIMPLE.sub(lambda m: names.get(m[1] or m[3], m[0] if m[2] is None else m[2]), text)
    return None if "$" in filled or "`" in filled else filled


def _change_folder(folder: str | None, to: str | None) -> str | None:
    """The folder after `cd TO`; None where it is not known."""
    if folder is None or to is None or to == "-":
        return None
    if to.startswith("/"):
        return to
    changed = posixpath.normpath("/" + posixpath.join(folder.lstrip("/"), to))
    return changed if folder.startswith("/") else changed[1:]


def _text(node: Any) -> str:
    return (node.text or b"").decode("utf-8", "replace")


@cache
def _parser() -> Parser:
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))
