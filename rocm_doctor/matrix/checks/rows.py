"""Checks of rows: keys, conditions, remedies, references."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.coords import Kind, coord
from rocm_doctor.matrix.advice import Cure
from rocm_doctor.matrix.citations import parse_citation
from rocm_doctor.matrix.ranges import LINED
from rocm_doctor.matrix.rows import Diagnosis, Range, Row
from rocm_doctor.matrix.source import Entry
from rocm_doctor.versions import contains, parse, parse_spec, sort_key

_KEY = regex(r"[a-z0-9]+(?:[.+-][a-z0-9]+)*$")
_NUMBER = regex(r"(>=|<=|==|!=|>|<)?\s*-?(0x[0-9a-f]+|\d+(\.\d+)?)\s*([kmgt]ib)?$", re.IGNORECASE)
_METADATA = regex(
    r"pypi\.org/project/.*(METADATA|metadata|Requires-|requirements|contents|\.py\b|code objects)|/(setup\.py|pyproject\.toml|build-rocm\.sh|wheels\.yml|requirements\S*\.txt)\b"
)
_REQUIRED = ("torch.version", "torch.release", "python.version")
"""Facts besides packages whose version a package may require."""


def form(row: Row) -> Iterator[tuple[str, str]]:
    """(field, message) for what is wrong with a row's key, title, conditions or cause."""
    if not _KEY.match(row.key):
        yield "key", f"`{row.key}` is not a key: small letters, digits, and - . + between them"
    if "\n" in row.title or row.title.endswith(".") or len(row.title) > 80:
        yield "title", "a title is one line of at most 80 characters without a full stop"
    if not row.when:
        yield "when", "a row without conditions would apply everywhere"
    if not row.cause.strip():
        yield "cause", "a row says why"


def coordinates(row: Row | Cure) -> Iterator[tuple[str, str]]:
    """(field, message) for each condition on a fact that coords.py does not list."""
    for name in row.when:
        if coord(name) is None:
            yield f"when.{name}", f"`{name}` is not a known fact (coords.py lists them)"


def conditions(row: Row | Cure) -> Iterator[tuple[str, str]]:
    """(field, message) for each condition that cannot be read."""
    for name, condition in row.when.items():
        fact = coord(name)
        if fact and (fault := condition_fault(fact.kind, condition)):
            yield f"when.{name}", fault


def condition_fault(kind: Kind, condition: str) -> str:
    """Why a condition cannot be read; empty when it can."""
    inner = condition.removeprefix("!")
    if not inner.strip() or inner.startswith("!"):
        return f"`{condition}` is empty"
    if inner in ("absent", "set"):
        return (
            ""
            if kind != "log"
            else "a log line is neither absent nor set: write the words, with ! for a line that must not be there"
        )
    parts = [p.strip() for p in inner.split("|")]
    if any(not p for p in parts) or any(p in ("absent", "set") for p in parts):
        return f"`{condition}` has an alternative that is empty, `absent` or `set`"
    return next((fault for part in parts if (fault := _part_fault(kind, part))), "")


def ranges(row: Row) -> Iterator[tuple[str, str]]:
    """(field, message) for each fault in `row.affected`: a fact that is not a version; an end that is not a version; no end, or
    two of them; a line that does not go with the fact; a range that ends before it begins; two ranges of one line that
    overlap."""
    for fact, several in row.affected.items():
        coordinate = coord(fact)
        if coordinate is None or coordinate.kind not in ("version", "release"):
            yield f"affected.{fact}", "a range needs a fact that is a version"
            continue
        for one in several:
            if fault := _range_fault(fact, one):
                yield f"affected.{fact}", fault
        for line in dict.fromkeys(one.line for one in several):
            ordered = sorted((one for one in several if one.line == line), key=lambda one: sort_key(_number(one.introduced)))
            for one, other in pairwise(ordered):
                if not (one.fixed or one.last_affected) or contains(_end(one), _number(other.introduced)) is not False:
                    yield (
                        f"affected.{fact}",
                        f"two ranges{' of ' + line if line else ''} overlap at {other.introduced or 'the beginning'}",
                    )


def _range_fault(fact: str, one: Range) -> str:
    ends = [text for text in (one.introduced, one.fixed, one.last_affected) if text]
    unread = next((text for text in ends if parse(_number(text)) is None), "")
    if unread:
        return f"`{unread}` is not a version"
    if not ends:
        return "a range has at least one end"
    if one.fixed and one.last_affected:
        return "a range ends with `fixed` or with `last_affected`, not with both"
    if (one.line != "") is not (fact == LINED):
        return f"a range with a line belongs to {LINED}, and only there"
    if one.introduced and (one.fixed or one.last_affected) and contains(_end(one), _number(one.introduced)) is False:
        return f"the range ends at {one.fixed or one.last_affected} before it begins at {one.introduced}"
    return ""


def _number(text: str) -> str:
    return text.removesuffix(".x")


def _end(one: Range) -> str:
    return f"<{one.fixed}" if one.fixed else f"<={one.last_affected}"


def grades(row: Row) -> Iterator[tuple[str, str]]:
    """(field, message) where the grade or the status does not follow from the sources and the second reading."""
    if row.verified and row.verified.outcome == "unverifiable" and row.grade != "hearsay":
        yield "grade", f"{row.grade}, but the second reading could not verify it; use hearsay"
    for name, grade in (("range_grade", row.range_grade), ("remedy_grade", row.remedy_grade)):
        if grade == row.grade:
            yield name, "same as `grade`; omit it"
    if row.status == "wrong" and row.harmless:
        yield "harmless", "wrong results are not harmless; use `degraded` for a fault that few runs meet"
    sources = [f"{one.ref} {one.at}" for one in map(parse_citation, row.sources)]
    if row.status == "works" and not row.harmless and all(_METADATA.search(source) for source in sources):
        yield "status", "works, but its sources are package metadata or build files alone; use `allowed`"


def open_ends(row: Row) -> Iterator[tuple[str, str]]:
    """(field, message) for a range of a package's releases that has no end, if the row requires a version that was read in these
    releases: the next release may require another."""
    required = [name for name in row.when if name not in row.affected and (name.startswith("pkg.") or name in _REQUIRED)]
    pinned = any(re.search(r"\d", row.when[name]) for name in required)
    for fact, several in row.affected.items():
        if pinned and fact.startswith("pkg.") and any(not (one.fixed or one.last_affected) for one in several):
            yield (
                f"affected.{fact}",
                f"asks for {required[0]} {row.when[required[0]]} without an end; end it at the newest release read",
            )


def _part_fault(kind: Kind, part: str) -> str:
    if kind == "release":
        line, colon, part = part.rpartition(":")
        if colon and line not in ("upstream", "amd"):
            return f"`{line}` is not a line of torch releases: upstream or amd"
        kind = "version" if part else kind
    if kind == "version":
        try:
            parse_spec(part)
        except ValueError as exc:
            return str(exc)
    if kind == "number" and not _NUMBER.match(part):
        return f"`{part}` is not a bound on a number"
    if kind == "flag" and part not in ("yes", "no"):
        return f"a flag is `yes` or `no`, not `{part}`"
    if kind == "log" and not part.replace("*", "").strip():
        return f"`{part}` has no words"
    return ""


def remedies(entries: Sequence[Entry]) -> Iterator[tuple[Entry, str, str]]:
    """(entry, field, message) for each row of status wrong, broken or degraded that has neither a remedy, nor one of its
    diagnosis, nor "no known fix"."""
    advised = {e.key for e in entries if isinstance(e.value, Diagnosis) and (e.value.advice or e.value.commands)}
    for entry in entries:
        if not isinstance(row := entry.value, Row) or row.status not in ("wrong", "broken", "degraded"):
            continue
        if not (row.advice or row.commands or row.settle or "no known fix" in row.cause or row.diagnosis in advised):
            yield entry, "advice", 'a wrong, broken or degraded row needs a remedy, or "no known fix"'


def references(entries: Sequence[Entry]) -> Iterator[tuple[Entry, str, str]]:
    """(entry, field, message) for each reference of a row to a row or diagnosis that does not exist."""
    keys, ids = ({e.key for e in entries if e.section == section} for section in ("rows", "diagnoses"))
    for entry in entries:
        if not isinstance(row := entry.value, Row):
            continue
        if row.diagnosis not in ids:
            yield entry, "diagnosis", f"`{row.diagnosis}` is not a diagnosis"
        yield from ((entry, "supersedes", f"`{n}` is not another row") for n in row.supersedes if n == row.key or n not in keys)
        yield from ((entry, "after", f"`{n}` is neither a diagnosis nor a row") for n in row.after if n not in ids | keys)
