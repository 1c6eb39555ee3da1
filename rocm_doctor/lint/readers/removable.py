"""How a variable is taken out of its file so that the file stays valid: with the backslash before it, or the key above it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Environment, Place, Setting
from rocm_doctor.lint.readers.files import Tree, quoted

_MOST_LINES = 40
_OPENS = regex(r"(?:^|.*[\s;])(?:then|do|else)$|.*\{$")
_CLOSES = regex(r"(?:fi|done|else|elif|\})(?:\W|$)")
_KEY = regex(r"\s*(?:- )?[\w.\"'-]+:\s*(?:#.*)?")
_BARE = r"(?:ENV\s+|export\s+|set\s+|setx\s+|&&\s*|-\s+)*[\"']?{name}[\"']?\s*[= :]\s*(?:\"[^\"]*\"|'[^']*'|[^\s\"';&|,]+)[\"']?(?:\s+#.*)?"
_VERB = regex(r"\s*(?:ENV|RUN|export|set)\s", re.I)


def with_removals(environment: Environment, tree: Tree) -> Environment:
    """The environment with each variable at its own line of a continued command, and the edits that take it out."""
    moved = [_at_its_line(s, tree) for s in environment.variables]
    unsure = set(environment.unsure)
    more = tuple(new.place for old, new in zip(environment.variables, moved) if old.place in unsure and new.place not in unsure)
    variables = tuple(msgspec.structs.replace(s, removal=_removal(s, tree.lines(s.place.file))) for s in moved)
    return msgspec.structs.replace(environment, variables=variables, unsure=(*environment.unsure, *more))


def _at_its_line(s: Setting, tree: Tree) -> Setting:
    lines, first = tree.lines(s.place.file), s.place.line - 1
    named = re.compile(rf"\b{re.escape(s.name)}[\"']?\s*[=:]")
    for at in range(max(first, 0), min(first + _MOST_LINES, len(lines))):
        if named.search(lines[at]):
            return s if at == first else msgspec.structs.replace(s, place=Place(s.place.file, at + 1, quoted(lines[at])))
        if not _goes_on(lines[at]):
            break
    return s


def _removal(s: Setting, lines: Sequence[str]) -> str:
    """The edits that take a variable out, a sentence each; empty where its line holds more than that, or was not read."""
    at, file = s.place.line - 1, s.place.file
    if not 0 <= at < len(lines):
        return ""
    line = lines[at].strip()
    bare = line.removesuffix("\\").rstrip()
    if not re.fullmatch(_BARE.format(name=re.escape(s.name)), bare, re.I) or (_goes_on(line) and _VERB.match(lines[at])):
        return ""
    if file.endswith((".json", ".jsonc", ".py")):
        return ""
    above = next((n for n in range(at - 1, -1, -1) if _says(lines[n])), -1)
    below = next((one for one in lines[at + 1 :] if _says(one)), "")
    before = lines[above].strip() if above >= 0 else ""
    if file.endswith((".yml", ".yaml")):
        gone = [at, *_keys_left_empty(lines, at, below)]
    elif _goes_on(before) and not _goes_on(line):
        if not re.fullmatch(r"(?:ENV|export)?\s*\\", before, re.I):
            words = "&& \\" if before.endswith("&& \\") else "\\"
            return f"Delete line {at + 1} of {file}. Take {words} out of line {above + 1} of {file}."
        gone = [at, above]
    elif _OPENS.fullmatch(before) and _CLOSES.match(below.strip()):
        return f"Put : in place of line {at + 1} of {file}."
    else:
        gone = [at]
    return " ".join(f"Delete line {n + 1} of {file}." for n in sorted(gone))


def _keys_left_empty(lines: Sequence[str], at: int, below: str) -> Iterator[int]:
    """The key above a line of YAML, where the line is all that it holds."""
    above = next((n for n in range(at - 1, -1, -1) if _says(lines[n])), -1)
    if above >= 0 and _KEY.fullmatch(lines[above]):
        key, own, after = _margin(lines[above]), _margin(lines[at]), _margin(below) if below else -1
        listed = lines[at].lstrip().startswith("- ")
        if key <= own and after <= key and not (listed and after == own and below.lstrip().startswith("- ")):
            yield above


def _margin(line: str) -> int:
    return len(line) - len(line.lstrip())


def _says(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _goes_on(line: str) -> bool:
    return line.rstrip().endswith("\\")
