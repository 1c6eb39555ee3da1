"""Lists that a command makes of another one by leaving lines out, as in `grep -v torch requirements.txt > rest.txt`."""

from __future__ import annotations

import re
from typing import NamedTuple

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Index, Requirement
from rocm_doctor.lint.readers import shell
from rocm_doctor.lint.readers.expansion import filled
from rocm_doctor.lint.readers.requirements import RequirementsFile

MAX_PATTERN, MAX_REPEATS = 300, 4
"""Of a pattern that a stranger wrote and that is matched against each line."""
_GREP = regex(
    r"\s*(?P<name>e?grep)\s+(?P<options>(?:-\w+\s+)+)(?P<quote>['\"]?)(?P<pattern>[^'\"]+?)(?P=quote)\s+(?P<file>[\w./-]+)\s*"
)
_CAT = regex(r"\s*(?:cat\s+|<\s*)(?P<file>[\w./-]+)\s*")
_WRITTEN = regex(r"(?P<command>(?:'[^']*'|\"[^\"]*\"|[^>;&'\"])+?)\s*>\s*[\"']?(?P<file>[\w./-]+)[\"']?\s*")
_DELETED = regex(r"/(?P<pattern>[^/]+)/(?P<ignore>I?)d")
MADE = "made "
"""Before the whole path of a list, as a name: the command that made it of another one."""


class Filtered(NamedTuple):
    """A list by its name, and what a line has that is left out of it."""

    file: str
    without: tuple[re.Pattern[str], ...] = ()


def of(command: str) -> Filtered | None:
    """The list that a command prints, where it leaves out lines of another one or prints it as it is; None for any other command."""
    if cat := _CAT.fullmatch(command):
        return Filtered(cat["file"])
    found = _GREP.fullmatch(command)
    options = re.sub(r"[\s-]", "", found["options"]) if found else ""
    if found is None or "v" not in options or set(options) - set("vieEw"):
        return None
    pattern = _pattern(found["pattern"], extended="E" in options or found["name"] == "egrep", ignore="i" in options)
    return Filtered(found["file"], (pattern,)) if pattern and "w" not in options else None


def inside(word: str) -> Filtered | None:
    """The list in a word that a command prints (`$(...)`), or that is read from one (`<(...)`)."""
    found = re.fullmatch(r"[$<]\((.+)\)|`(.+)`", word)
    return of(found[1] or found[2]) if found else None


def note(whole: str, context: shell.Context) -> None:
    """Record the list that a statement writes into a file."""
    found = _WRITTEN.fullmatch(filled(whole, context.names)) if ">" in whole and len(whole) < shell.MAX_LINE else None
    if found and of(found["command"]):
        context.names[MADE + context.at(found["file"])] = found["command"][: shell.MAX_VALUE]


def deleted(commands: str) -> tuple[re.Pattern[str], ...]:
    """What `sed -i /.../d` takes out of a list; nothing where one of the commands, a line each, changes it in another way."""
    found = []
    for words in (line.split() for line in commands.split("\n")):
        scripts = [word for word in words[1:-1] if not word.startswith("-")]
        extended = any(re.fullmatch(r"-\w*[Er]\w*", word) for word in words)
        for script in scripts:
            m = _DELETED.fullmatch(script)
            pattern = _pattern(m["pattern"], extended=extended, ignore=bool(m["ignore"])) if m and words[0] == "sed" else None
            if pattern is None:
                return ()
            found.append(pattern)
    return tuple(found)


def left(listed: RequirementsFile, path: str, without: tuple[re.Pattern[str], ...]) -> RequirementsFile | None:
    """The list without the lines of one file that have what is left out; None where a pattern names torch and leaves it in: it may be
    misunderstood.
    """

    def stays(one: Requirement | Index) -> bool:
        return one.place.file != path or not any(pattern.search(one.place.quote) for pattern in without)

    kept = [one for one in listed.requirements if stays(one)]
    if any("torch" in pattern.pattern for pattern in without) and any(r.name == "torch" for r in kept):
        return None
    return listed._replace(requirements=kept, indexes=[one for one in listed.indexes if stays(one)])


_CLASSES = {"space": r"\s", "blank": r" \t", "alnum": "a-zA-Z0-9", "alpha": "a-zA-Z", "digit": "0-9"}


def _pattern(text: str, *, extended: bool, ignore: bool) -> re.Pattern[str] | None:
    """A pattern of grep's or sed's as one of Python's; None for one that cannot be told, or that is too costly."""
    if (
        len(text) > MAX_PATTERN
        or ("$" in text.rstrip("$)") and "|$" not in text)
        or len(re.findall(r"[*+{]", text)) > MAX_REPEATS
    ):
        return None
    text = re.sub(r"\[:(\w+):\]", lambda m: _CLASSES.get(m[1], "?"), text)
    if not extended:
        text = re.sub(r"\\([(){}|+?])|([(){}|+?])", lambda m: m[1] or "\\" + m[2], text)
    try:
        return re.compile(text, re.I if ignore else 0)
    except re.error:
        return None
