"""What is written on the lines of a repository in place of other words, and how that is said."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Place, Requirement

_COMMAND = regex(
    r"(?:^|[\s/@\"'])(?:pip[\d.]*|uv(?: pip)?)[\"']? (?:-\S+ )*(?:install|add)\b|\$[({]?\w*PIP\w*[)}]?[\"']? install\b"
)


class Change(NamedTuple):
    """`old` becomes `new` on a line. An empty `old`: `new` is a line of its own above it, or further words of a command. `why`: why
    it goes.
    """

    place: Place
    old: str
    new: str
    why: str = ""


class Unwritable(Exception):
    """A place whose words are not those of the requirement, as where a variable has them."""


def is_command(place: Place) -> bool:
    """True if the words of a place are a command that installs."""
    return _COMMAND.search(place.quote) is not None


def words_of(r: Requirement) -> str:
    """The words of a place that are the requirement."""
    if r.url:
        if r.url in r.place.quote:
            there = re.search(rf"{r.name}\s*@\s*{re.escape(r.url)}|{re.escape(r.url)}", r.place.quote)
            return there[0] if there else r.url
        raise Unwritable
    name = re.escape(r.name).replace(r"\-", "[-_.]")
    one = r"(?:===?|[<>!~]=?)\s*[\w.*+!${}]+"
    hits = list(
        re.finditer(rf"(?<![\w./=-]){name}(?:\[[^\]]*\])?(?:\s*{one}(?:\s*,\s*{one})*)?(?=$|[\s'\";,)#])", r.place.quote, re.I)
    )
    if len(hits) != 1:
        raise Unwritable
    # pip ignores an index behind a requirement of a list: it goes with the words before it.
    return hits[0][0] if is_command(r.place) or " --" not in r.place.quote else r.place.quote


def told(changes: Sequence[Change]) -> str:
    """The changes in words, each with its line."""
    return " ".join(dict.fromkeys(_told(changes)))


def _told(changes: Sequence[Change]) -> Iterator[str]:
    by_place: dict[Place, list[Change]] = {}
    for one in changes:
        by_place.setdefault(one.place, []).append(one)
    for place, here in by_place.items():
        if is_command(place):
            yield _command(place, here)
            continue
        for one in here:
            if one.new and one.old == place.quote and " --" in one.old:
                yield f"Write on {place.words}: {one.new}."
            elif one.old and one.new:
                yield f"Write {_word(one)} on {place.words}."
            elif one.old:
                yield f"Take {re.split('[<>=!~ @;]', one.old)[0]} out of {place.words}: {one.why}."
        if new := [one.new for one in here if not one.old]:
            yield f"Add above {place.words}: {', '.join(sorted(new, key=lambda line: not line.startswith('-')))}."


def _word(one: Change) -> str:
    """What is written in a file: an address with the key that it is given."""
    key = re.search(rf"[\w-]+\s*=\s*[\"']?{re.escape(one.old)}[\"']?", one.place.quote) if "://" in one.old else None
    return key[0].replace(one.old, one.new) if key else one.new


def _command(place: Place, changes: Sequence[Change]) -> str:
    """The whole command where its words are known, else what it has to ask for."""
    text = place.quote
    for one in (one for one in changes if one.old):
        hits = list(re.finditer(rf"(?<![\w./-]){re.escape(one.old)}(?![\w-])", text))
        if len(hits) != 1 or place.quote.endswith("…"):
            words = " ".join(_shell(one.new, "") for one in changes if one.new)
            return f"In the command on {place.words} ask for: {words}."
        at, end = hits[0].span()
        text = text[:at] + _shell(one.new, text[at - 1 : at]) + text[end:]
    added = " ".join(_shell(one.new, "") for one in changes if one.new and not one.old)
    cut = _AFTER.search(text)
    end = cut.start() if cut else len(text)
    whole = " ".join(_EMPTY.sub(" ", f"{text[:end]} {added}{text[end:]}").split())
    return f"Change the command on {place.words} to: {whole}."


# What is no word for pip: where the output goes.
_AFTER = regex(r"\s+(?:\d?>|&>|\|).*$")
_EMPTY = regex(r"\s(?:''|\"\")(?=\s|$)")


def _shell(word: str, before: str) -> str:
    """A word that a shell takes as it is, in quotes where it needs some and has none."""
    return f"'{word}'" if "[" in word and before not in ("'", '"') else word
