"""Pieces of GitHub-flavoured Markdown. Text from outside starts no markup, HTML, link, mention, reference or formula."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.commands import remarks
from rocm_doctor.model import Command, Reading

_SPECIAL = regex(r"([\\`*_{}\[\]<>()#+!|~])")
# GitHub links these in finished text, where a backslash does not stop it: `://`, `www.`, `@name`, `#12`, `GH-12`.
_LINKED = regex(r"://|@\w|#\d|\bgh-\d|\bwww\.", re.I)
_WORD = regex(r"[^\s|]+")
_SPAN = regex(r"`([^`\s][^`]*)`")


def escape(text: str) -> str:
    """Text in one line that is only text. What would become a link or notify anyone is code, which can be copied as it is."""
    flat, parts, end = " ".join(text.split()), [], 0
    for found in (word for word in _WORD.finditer(flat) if _LINKED.search(word[0])):
        parts += [escape_markup(flat[end : found.start()]), code(found.group())]
        end = found.end()
    return "".join([*parts, escape_markup(flat[end:])])


def escape_markup(text: str) -> str:
    """The text with a backslash before each sign that Markdown reads as markup."""
    return _SPECIAL.sub(r"\\\1", text).replace("$", "&#36;")


def prose(text: str) -> str:
    """Sentences, in which `words` in backticks stay code. Within a code span nothing else is markup."""
    parts = _SPAN.split(text)
    return "".join(code(part) if n % 2 else _piece(part) for n, part in enumerate(parts))


def _piece(text: str) -> str:
    """Text between code spans: escaped, with its blanks at both ends."""
    return (" " if text[:1].isspace() else "") + escape(text) + (" " if text[-1:].isspace() and text.strip() else "")


def code(text: str) -> str:
    """An inline code span that its own text cannot close."""
    flat = " ".join(text.split())
    fence = "`" * (1 + max((len(run) for run in re.findall(r"`+", flat)), default=0))
    pad = " " if flat[:1] == "`" or flat[-1:] == "`" else ""
    return f"{fence}{pad}{flat}{pad}{fence}" if flat else ""


def reading(one: Reading) -> str:
    """An item of a list: where it was read, and its words."""
    return f"- {code(f'{one.artifact} {one.place}'.strip())} {code(one.quote) if one.quote else ''}".rstrip()


def block(commands: Iterable[Command]) -> Iterator[str]:
    """Commands in code blocks, one for each shell, with the note on a command behind its block."""
    for shell, group in itertools.groupby(commands, lambda command: command.shell):
        ours = list(group)
        text = "\n".join(command.text for command in ours)
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
        yield f"\n{fence}{shell}\n{text}\n{fence}"
        yield from (f"\n{code(command.text)}: {escape(said)}" for command in ours if (said := remarks(command)))


def fold(title: str, lines: Iterable[str]) -> Iterator[str]:
    """The lines behind a title that opens them; nothing without lines."""
    body = list(lines)
    if body:
        yield f"\n<details><summary>{title}</summary>\n"
        yield from body
        yield "\n</details>"
