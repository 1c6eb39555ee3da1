"""The words that the nodes of a shell text become: quotes taken off, variables and arrays replaced where they are known."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rocm_doctor.bounded.patterns import regex

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_VALUE = 8000
EXPANSION = regex(r"\$(?:\{(\w+)(?:(?::?[-=])([^}]*))?\}|(\w+))")
ALL_ARGUMENTS = frozenset(('"$@"', "$@", '"$*"', "$*", '"${@}"', "${@}"))
_ARRAY = regex(r'"?\$\{(\w+)\[[@*]\]\}"?')


def text_of(node: Node) -> str:
    """The text of a node as it is written."""
    return (node.text or b"").decode("utf-8", "replace")


def filled(text: str, names: dict[str, str]) -> str:
    """`$NAME` and `${NAME:-default}` replaced where the name is known or has a default."""

    def value(m: re.Match[str]) -> str:
        known = names.get(m[1] or m[3])
        return known if known is not None else m[2] if m[2] is not None else m[0]

    return EXPANSION.sub(value, text)[:MAX_VALUE]


def words_of(node: Node, names: dict[str, str]) -> list[str]:
    """The words that an argument becomes: an unquoted variable is split, an array gives each of its members."""
    text = text_of(node)
    if text in ALL_ARGUMENTS and "@" in names:
        return [word for word in names["@"].split("\0") if word]
    array = _ARRAY.fullmatch(text)
    if array:
        known = names.get(array[1] + "[@]")
        return known.split("\0") if known else [text] if known is None else []
    value = value_of(node, names)
    if node.type in ("simple_expansion", "expansion"):
        return value.split() if value != text else [value]
    return [value]


def value_of(node: Node, names: dict[str, str]) -> str:
    """The one text that a node becomes."""
    kind, text = node.type, text_of(node)
    if kind == "raw_string":
        return text[1:-1]
    if kind in ("string", "concatenation", "command_name"):
        return _joined(node, text, names)
    if kind in ("simple_expansion", "expansion"):
        return filled(text, names)
    if kind in ("command_substitution", "process_substitution"):
        return text.replace("\\\n", "")  # a shell of its own parses it
    return re.sub(r"\\(.)", r"\1", text.replace("\\\n", "")) if "\\" in text else text


def _joined(node: Node, text: str, names: dict[str, str]) -> str:
    """A quoted string or joined parts: literal text between the children, the children by their values."""
    quotes = node.type == "string"
    raw = node.text or b""
    at, parts = (1 if quotes else 0), []
    for child in node.named_children:
        start, stop = child.start_byte - node.start_byte, child.end_byte - node.start_byte
        parts.append(raw[at:start].decode("utf-8", "replace"))
        parts.append(text_of(child).replace("\\\n", "") if child.type == "string_content" else value_of(child, names))
        at = stop
    parts.append(raw[at : len(raw) - (1 if quotes else 0)].decode("utf-8", "replace"))
    return "".join(parts) if node.named_children else text.strip('"') if quotes else text
