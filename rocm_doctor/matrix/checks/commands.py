"""Checks of commands: each parses in its shell, begins with a known program, and destroys nothing on a path that it computes.

Bash's own grammar reads the command; PowerShell's comes with `rocm-doctor[dev]`, and without it such a command is not parsed.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.commands import Program, classify, split_program, words
from rocm_doctor.matrix.source import COMMANDS as FIELDS
from rocm_doctor.matrix.source import Entry
from rocm_doctor.model import Command

_FIXED = ("$HOME", "$USER", "$LOGNAME", "${HOME}", "${USER}")
"""Variables that every login sets: a path with these is not computed."""
_COMPUTED = regex(r"\$\(|`|\$\{?\w+\}?")
_REDIRECTS = regex(r"(?<=\w)[<>]=?\d")


def faults(entries: Sequence[Entry]) -> Iterator[tuple[Entry, str, str]]:
    """(entry, field, message) for each command that a person should not be given: what `complaints` finds."""
    programs = {entry.key: entry.value for entry in entries if entry.section == "programs"}
    for entry in entries:
        for field in FIELDS:
            value = getattr(entry.value, field, None) or ()
            for command in (value,) if isinstance(value, Command) else value:
                yield from ((entry, field, f"`{command.text}` {words}") for words in complaints(command, programs))


def complaints(command: Command, programs: Mapping[str, Program]) -> Iterator[str]:
    """Sentences on what is wrong with one command; after one that it is not one line, or does not parse, no others. `programs`:
    the catalog; empty: the programs are not judged."""
    if "\n" in command.text or not command.text.strip():
        yield "is not one line"
        return
    error = _parse_error(command)
    if error:
        yield error
        return
    if re.search(r"(^|\s)#", re.sub(r"\"[^\"]*\"|'[^']*'", "", command.text)):
        yield "ends in a comment, which some shells reject; put it in `advice`"
    if command.shell == "sh":
        yield from _shell_complaints(command, programs)


def _shell_complaints(command: Command, programs: Mapping[str, Program]) -> Iterator[str]:
    if _REDIRECTS.search(re.sub(r"\"[^\"]*\"|'[^']*'", "", command.text)):
        yield "would redirect into a file: quote the version"
    for name in first_words(command.text):
        if programs and name not in programs:
            yield f"begins with `{name}`, which is not in catalog/programs.yaml"
    if programs and classify(command, programs).effect == "destructive" and _is_computed(command.text):
        yield "deletes a computed path; if the computed part is empty, it deletes another one"


def _is_computed(text: str) -> bool:
    return any(found[0] not in _FIXED for found in _COMPUTED.finditer(text))


def _parse_error(command: Command) -> str:
    """Why the command does not parse in its shell; empty when it does."""
    if command.shell == "sh":
        try:
            words(command.text)
        except ValueError as exc:
            return f"does not parse: {exc}"
    tree = _tree(command.text, command.shell)
    return f"does not parse in {command.shell}" if tree is not None and tree.has_error else ""


def first_words(text: str) -> list[str]:
    """The program of every simple command in a shell text, those within `$(...)` too."""
    return [name for node in _nodes(_tree(text, "sh")) if (name := split_program(node)[0])]


def _nodes(node: Any) -> Iterator[list[str]]:
    """The words of each command in a syntax tree; of `unset`, `export` and the like only the name."""
    if node.type == "unset_command" or node.type == "declaration_command":
        yield [node.children[0].text.decode()]
    elif node.type == "command":
        yield [child.text.decode() for child in node.children if child.type not in ("variable_assignment", "file_redirect")]
    for child in node.children:
        yield from _nodes(child)


def _tree(text: str, shell: str) -> Any:
    """The root of the syntax tree; None where no grammar is installed."""
    parser = _parser(shell)
    return parser.parse(text.encode()).root_node if parser else None


@cache
def _parser(shell: str) -> Any:
    import tree_sitter

    try:
        grammar = importlib.import_module({"sh": "tree_sitter_bash", "powershell": "tree_sitter_powershell"}[shell])
    except ImportError:
        return None
    return tree_sitter.Parser(tree_sitter.Language(grammar.language()))
