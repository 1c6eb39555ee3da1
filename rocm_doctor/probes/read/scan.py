"""The texts in which a tool's output may occur, and helpers for their lines: values, versions, tables of `needle, pattern, fact`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.probes.read.document import Document
from rocm_doctor.probes.read.result import Artifacts, ProbeResult

_NOT_STATED = frozenset((
    "", "n/a", "na", "none", "null", "unknown", "unsupported", "false", "<fill in>", "<redacted>", "[censored]", "?", "-", "nan",
    "not set", "not available", "not applicable", "not installed", "not found", "could not collect", "no cuda", "module not"
    " found",
))  # fmt: skip
_VERSION = regex(r"v?(\d+(?:\.\d+)*(?:[-.+_]?[A-Za-z0-9][\w.+~-]*)?)", re.ASCII)


def documents(artifacts: Artifacts, kind: str, *globs: str) -> list[Document]:
    """The texts where a tool's output may occur: those cut out as that kind, else all pasted texts and logs."""
    own = artifacts.like(f"paste/*-{kind}", *globs)
    return [artifacts.document(a) for a in own or artifacts.like("paste/text*", "log/*")]


def texts(artifacts: Artifacts) -> list[Document]:
    """All pasted texts and logs, uncut."""
    return [artifacts.document(a) for a in artifacts.like("paste/text*", "log/*")]


class LinePattern(NamedTuple):
    """In a line that holds `needle` (lower case) and matches `pattern`, the group is the value of `fact`."""

    needle: str
    pattern: re.Pattern[str]
    fact: str


def line_pattern(needle: str, pattern: str, fact: str, flags: int = 0) -> LinePattern:
    """A row of a table of `needle, pattern, fact`."""
    return LinePattern(needle, regex(pattern, flags), fact)


def record_rows(result: ProbeResult, document: Document, rows: Iterable[LinePattern], tidy: Callable[[str], str]) -> None:
    """Record each fact that these rows find in the document; a kernel release also decides `wsl`."""
    for row in rows:
        for line in document.find_lines(row.needle, most=40):
            found = row.pattern.search(line.text)
            if found:
                result.record(row.fact, tidy(found.group(1)), document.reading(line))
                if row.fact == "kernel":
                    result.record("wsl", "microsoft" in found.group(1).lower(), document.reading(line))


def stated_value(value: str) -> str | None:
    """The value without outer blanks and quotes; None if the tool prints that it has none."""
    value = value.strip().strip("'\"`").strip()
    empty = not value.strip("0xX:.-") and not value.isdigit()
    return None if empty or value.lower() in _NOT_STATED else value


def leading_version(value: str) -> str | None:
    """The version that a value starts with (`3.10.12 (main, ...)` gives 3.10.12); None if it does not start with one."""
    found = _VERSION.match(value.strip().strip("'\"`"))
    return found.group(1).rstrip(".,;:)") if found else None


def canonical(name: str) -> str:
    """A distribution's name as PEP 503 spells it."""
    return re.sub(r"[-_.]+", "-", name.strip()).lower()
