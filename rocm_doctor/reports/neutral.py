"""Neutralised output: text from outside cannot control the terminal, the log or the CI workflow that shows it.

`clean` takes control characters out of every string of a report before it is rendered; `defuse` breaks up what a CI runner would read
as a command in the finished text. `screen_text` does both for other output of the command line (paths in messages, names of tools).
"""

from __future__ import annotations

import re
from typing import TypeVar, cast

from rocm_doctor.bounded.patterns import regex

T = TypeVar("T")

_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufff9-\ufffb"
"""C0 but for tab and line feed, DEL, C1, and what reverses the direction of writing."""
_UNSEEN = regex(f"[{_CONTROLS}\ud800-\udfff]")
_OUR_COLOURS = regex(rf"(\x1b\[(?:0|1|2|22|31|32|33|36)m)|[{_CONTROLS}\ud800-\udfff]")

# GitHub's runner reads `##[name]` anywhere in a line and `::name ::` at its start as a command (ActionCommand.cs);
# Azure's and TeamCity's read `##vso[` and `##teamcity[`.
_ANYWHERE = regex(r"##(?=\w*\[)")
_AT_START = regex(r"^([^\S\n]*):(?=:)", re.MULTILINE)


def visible(text: str) -> str:
    """The text with U+FFFD for each character that a terminal interprets or that cannot be encoded."""
    return text if text.isascii() and text.isprintable() else _UNSEEN.sub("\ufffd", text)


def clean(value: T) -> T:
    """A report, or any part of one, with `visible` applied to every string."""
    return cast("T", _clean(value))


def _clean(value: object) -> object:
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, (tuple, list)):
        made = [_clean(item) for item in value]
        return value if all(a is b for a, b in zip(made, value)) else type(value)(made)
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    if names := getattr(value, "__struct_fields__", ()):
        fields = {name: (old, _clean(old)) for name in names if (old := getattr(value, name))}
        if changed := {name: new for name, (old, new) in fields.items() if new is not old}:
            import msgspec  # every command prints through this module, `--help` has no structs

            return msgspec.structs.replace(cast("msgspec.Struct", value), **changed)
    return value


def defuse(text: str, *, commands: bool = False) -> str:
    """The text without anything that a CI runner would read as a command. `commands`: lines that begin with `::` are ours."""
    text = _ANYWHERE.sub("## ", text)
    return text if commands else _AT_START.sub(r"\1: ", text)


def screen_text(text: str, *, commands: bool = False) -> str:
    """Text for the terminal: `visible` except for our own colours, and defused."""
    if not (text.isascii() and text.isprintable()):
        text = _OUR_COLOURS.sub(lambda found: found[1] or "\ufffd", text)
    return defuse(text, commands=commands)
