"""Checks of any entry's words: personal data, age, and keys that are there twice."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.matrix.citations import parse_citation
from rocm_doctor.matrix.source import DataProblem, Entry, Untyped, nodes
from rocm_doctor.matrix.types import TorchBuild

_PERSONAL = (
    (regex(r"/home/[\w.-]+|/root/|/Users/[\w.-]+|C:\\Users\\[\w.-]+"), "a path of a private machine"),
    (regex(r"[\w.+-]+@[\w-]+\.(?:com|org|net|de|io|edu)\b"), "an e-mail address"),
    (regex(r"\b(?:10\.\d{1,3}|192\.168|172\.(?:1[6-9]|2\d|3[01]))\.\d{1,3}\.\d{1,3}\b(?!\.)"), "a private network address"),
)
_YEAR = datetime.timedelta(days=366)
_QUARTER = datetime.timedelta(days=92)


def personal_data(entry: Any) -> Iterator[tuple[str, str]]:
    """(field, message) for each text that looks like private data: a path of a home, an address of mail or of a private network."""
    for name, text in _texts(entry):
        for pattern, what in _PERSONAL:
            if found := pattern.search(text):
                yield name, f"`{found[0]}` is {what}"


def _texts(entry: Any) -> Iterator[tuple[str, str]]:
    for name in entry.__struct_fields__:
        value = getattr(entry, name)
        values = (*value, *value.values()) if isinstance(value, dict) else value if isinstance(value, tuple) else (value,)
        yield from ((name, v) for v in values if isinstance(v, str))


def age(entry: Any, today: datetime.date) -> Iterator[tuple[Literal["error", "warning"], str, str]]:
    """(level, field, message) for each date in the future (error), for an entry last checked over a year ago, and for a ticket
    that was open over a quarter ago (warning)."""
    verified = getattr(entry, "verified", None)
    seen = [("sources", parse_citation(source).seen) for source in getattr(entry, "sources", ())]
    dates = [("checked", getattr(entry, "checked", None)), ("verified", verified.date if verified else None), *seen]
    dates += [("issues", issue.seen) for issue in getattr(entry, "issues", ())]
    released = [("released", entry.released)] if isinstance(entry, TorchBuild) else []
    yield from (("error", field, f"{date} is in the future") for field, date in [*dates, *released] if date and date > today)
    last = max((date for field, date in dates if date and field != "issues"), default=None)
    if last and today - last > _YEAR:
        yield "warning", "checked", f"last checked on {last}, more than a year ago; check its sources again"
    for issue in getattr(entry, "issues", ()):
        if issue.state == "open" and today - issue.seen > _QUARTER:
            yield "warning", "issues", f"{issue.id} was open on {issue.seen}, more than three months ago; check it again"


def repeated(entries: Sequence[Entry]) -> Iterator[tuple[Entry, str, str]]:
    """(entry, field, message) for each entry whose name an earlier one of its section has. Entries without a type are not
    compared."""
    seen: set[tuple[str, str]] = set()
    for entry in entries:
        if isinstance(entry.value, Untyped):
            continue
        if (entry.section, entry.key) in seen:
            yield entry, entry.key_field, f"`{entry.key}` appears twice"
        seen.add((entry.section, entry.key))


def find_repeated_keys(files: Iterable[Path], root: Path) -> Iterator[DataProblem]:
    """A problem for each key that a mapping has twice: YAML's reader takes the last without a word."""
    for path in files:
        name = path.relative_to(root).as_posix()
        repeated = _find_repeated(path.read_text(encoding="utf-8"))
        yield from (DataProblem(name, line, key, "appears twice in this mapping", "format", name) for line, key in repeated)


def _find_repeated(text: str) -> Iterator[tuple[int, str]]:
    import yaml

    todo: list[Any] = [nodes(text)]
    while todo:
        node = todo.pop()
        if isinstance(node, yaml.MappingNode):
            keys = [key.value for key, _ in node.value]
            yield from ((k.start_mark.line + 1, k.value) for n, (k, _) in enumerate(node.value) if k.value in keys[:n])
            todo += [value for _, value in node.value]
        elif isinstance(node, yaml.SequenceNode):
            todo += node.value


def words(text: str) -> set[str]:
    """The words of a text that have the form of a short name of sources.yaml."""
    return set(re.findall(r"[a-z0-9][a-z0-9.-]*[a-z0-9]", text))
