"""rocm-doctor's own documents in a text: reports in JSON, JSON lines, SARIF and Markdown, audits, and benchmarks in JSON.

They are data and no complaint: each is taken out of the text, which keeps its line numbers, and handed on as an artifact. Of a
report as a terminal shows it, the lines on the machine and what the doctor had read stay in the text; its judgements do not.
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec

from rocm_doctor.bounded import jsons
from rocm_doctor.bounded.patterns import regex

MOST = 256
"""Reports of one text, at most."""
_LARGEST = 4 << 20
"""Bytes of one unpacked report: a comment of 40,000 characters unpacks to a tenth of that."""
_LONGEST = 6 << 20
"""Characters of one object: twice the report of a machine with 64 GPUs."""
_ATTEMPTS = 200
"""Objects that are decoded to see whether they are ours, at most."""
_TELLTALES = ("rocm-doctor", '"tool_version"', '"holdings"')
_OPENING = regex(r"^[ \t>]*\{", re.MULTILINE)
_PACKED = regex(r"<!-- rocm-doctor report: ([A-Za-z0-9+/=\s]{8,}?) -->")
_MARKDOWN = regex(
    r"^## [✅❌❔] [^\n]*\n\nrocm-doctor [^\n]{1,60}, matrix [^\n]*\n(?:.*?^<!-- rocm-doctor report: [^\n]* -->|.*^</details>|.*?\Z)",
    re.DOTALL | re.MULTILINE,
)


def extract(text: str) -> tuple[str, list[tuple[str, str]]]:
    """The text without its own documents, and each as (kind, JSON): `report`, `audit`, `bench`, or `unreadable` with an empty text."""
    if not any(word in text for word in _TELLTALES):
        return text, []
    found: list[tuple[str, str]] = []
    for page in list(_MARKDOWN.finditer(text))[:MOST]:
        packed = _PACKED.search(page[0])
        data = _unpack(packed[1]) if packed else ""
        found.append(("report", data) if data else ("unreadable", ""))
        text = _blank(text, *page.span())
    text, printed = _drop_judgements(text)
    found += [("unreadable", "")] * printed
    for start, end, plain in _objects(text):
        kinds = list(_read_object(plain))
        found += kinds
        text = _blank(text, start, end) if kinds else text
    return text, found[:MOST]


def _blank(text: str, start: int, end: int) -> str:
    """The text with that part replaced by as many characters and line ends, so that every place stays."""
    return text[:start] + re.sub(r"[^\n]", " ", text[start:end]) + text[end:]


def _objects(text: str) -> Iterator[tuple[int, int, Any]]:
    """(start, end, value) of each JSON object that begins a line and may be one of ours."""
    decoder, whole = jsons.decoder(), jsons.whole_letters(text)
    last = max(text.rfind(word) for word in _TELLTALES)
    place = 0
    for opening in islice(_OPENING.finditer(text, 0, last + 1), _ATTEMPTS):
        start = opening.end() - 1
        if start < place:
            continue
        try:
            plain, length = decoder.raw_decode(whole[start : start + _LONGEST])
        except (ValueError, RecursionError):
            continue
        place = start + length
        yield start, place, plain


def _read_object(plain: Any) -> Iterator[tuple[str, str]]:
    """(kind, JSON) for each document of ours that a decoded JSON object is or has in it: report, bench, audit."""
    if not isinstance(plain, dict):
        return
    if {"schema_version", "verdict", "findings", "snapshot"} <= plain.keys():
        yield "report", _encode(plain)
    elif plain.get("kind") == "bench" and {"tool_version", "figures", "gpus"} <= plain.keys():
        yield "bench", _encode(plain)
    elif isinstance(plain.get("machines"), list):
        for one in plain["machines"][:MOST]:
            yield from _read_object(one)
    elif isinstance(plain.get("audit"), dict) and "holdings" in plain["audit"]:
        yield "audit", _encode(plain["audit"])
    elif isinstance(plain.get("runs"), list):
        for run in plain["runs"][:MOST]:
            yield from _read_run(run)


def _read_run(run: Any) -> Iterator[tuple[str, str]]:
    """("report", JSON) of a SARIF run of this tool, which has it in its properties; ("unreadable", "") if it is not there;
    nothing for another tool."""
    try:
        ours, report = run["tool"]["driver"]["name"] == "rocm-doctor", run["properties"].get("report")
    except (KeyError, TypeError, AttributeError):
        return
    if ours:
        yield ("report", _encode(report)) if isinstance(report, dict) else ("unreadable", "")


_HEAD = regex(r"rocm-doctor \d[\w.+]*, matrix \d[\d.]*: \S")
_BODY = regex(r"[✓✗!?·] |  |\s*$|Read$|Undecided: ")
_READ = regex(r"  (?=GPU \d|stack )|(?:  evidence)?\s+\S+ line \d+: ")


def _drop_judgements(text: str) -> tuple[str, int]:
    """(text, count): the text without what our reports for a terminal judge, and the number of these reports. If the text has
    other words, too, the lines on the GPUs and the stack stay, and so do quoted lines."""
    if ", matrix " not in text:
        return text, 0
    lines, read, count, inside = text.split("\n"), {}, 0, False
    for n, line in enumerate(lines):
        head = _HEAD.match(line) is not None
        count += head
        inside = head or (inside and _BODY.match(line) is not None)
        if inside:
            found = _READ.match(line)
            read[n] = line[found.end() :] if found else ""
    has_words = any(line.strip() for n, line in enumerate(lines) if n not in read)
    return "\n".join(read.get(n, line) if has_words else "" for n, line in enumerate(lines)), min(count, MOST)


def _encode(plain: Any) -> str:
    return msgspec.json.encode(plain).decode()


def _unpack(packed: str) -> str:
    """The JSON of a packed report; empty when it is damaged or too large."""
    try:
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(base64.b64decode("".join(packed.split()), validate=True), _LARGEST)
        return data.decode() if unpacker.eof else ""
    except (binascii.Error, zlib.error, ValueError):
        return ""
