"""Values as tools print them: targets, names, versions, sizes, addresses, and the many ways of printing nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Artifact, Reading
from rocm_doctor.probes.read.result import Artifacts, ProbeResult

_VERSION = regex(r"v?(\d+(?:\.\d+)*(?:[-.+_]?[A-Za-z0-9][\w.+~-]*)?)", re.ASCII)
_TARGET = regex(r"gfx([6-9][0-9][0-9a-f]|1[0-9]{2}[0-9a-f])(?=$|[+:\s,;'\")\]])")
_HEX_ID = regex(r"(?:0x)?([0-9a-fA-F]{4})$")
_BDF = regex(r"(?:([0-9a-fA-F]{4,8}):)?([0-9a-fA-F]{2}):([0-9a-fA-F]{2})\.([0-7])$")
_ELIDED = regex(r"^[ \t#>|*]*(?:\.\.|\u2026|\[?(?:output )?truncated|\[?\.\.\.|-{2,} ?snip|<snip)", re.MULTILINE | re.IGNORECASE)
_NOTHING_TO_LIST = ("No JSON data to report", "Number of platforms", "usage:")
_UNITS = {"B": 1, "KB": 2**10, "KIB": 2**10, "MB": 2**20, "MIB": 2**20, "GB": 2**30, "GIB": 2**30}
_NOTHING = frozenset((
    "", "n/a", "na", "none", "null", "unknown", "unsupported", "not supported", "not available", "not specified", "undefined",
    "unknown amd gpu",
))  # fmt: skip
_MASKED = regex(
    r"[<\[(].*(?:redacted|censored|removed|hidden).*[>\])]$|(?:0x)?(?:X{2,}|0+|f+)$|(?:GPU|CPU|AIE)-(?:X+|0+|f+)$|[*.\u2026]+$",
    re.IGNORECASE,
)

_LONGEST = 300
"""Longest value; a longer one is several joined lines."""


class OutputLine(NamedTuple):
    """One line: its text, its reading, and `whole`: its end was read (the last number of a cut text may lack digits)."""

    text: str
    reading: Reading
    whole: bool


def outputs(result: ProbeResult, artifacts: Artifacts, tool: str, *others: str) -> Iterator[Artifact]:
    """A tool's outputs: as a command's (by any path to it) or cut out of a text. An output of which the caller records nothing is
    an error, unless the tool had nothing to list."""
    for artifact in artifacts.like(
        f"paste/*-{tool}", *(glob for name in (tool, *others) for glob in (f"cmd/{name}*", f"cmd/*/{name}*"))
    ):
        before = len(result.facts), len(result.listings)
        yield artifact
        nothing = not artifact.text.strip() or any(words in artifact.text for words in _NOTHING_TO_LIST)
        if before == (len(result.facts), len(result.listings)) and artifact.name.startswith("cmd/") and not nothing:
            result.fail(artifact.name, f"not understood: {' '.join(artifact.text.split())[:100]}", "line 1")


def lines(artifact: Artifact) -> Iterator[OutputLine]:
    """The artifact's lines without trailing blanks and empty lines."""
    rows = artifact.text.split("\n")
    for number, row in enumerate(rows, 1):
        if row and not row.isspace():
            whole = number < len(rows) or row.endswith("  ")
            yield OutputLine(row.rstrip(), Reading(artifact.name, f"line {number}", " ".join(row.split())[:200]), whole)


def is_elided(artifact: Artifact) -> bool:
    """True if lines were left out (`...`, `[output truncated]`) or the text ends inside a line."""
    return not artifact.text.endswith("\n") or _ELIDED.search(artifact.text) is not None


def stated_value(value: str) -> str | None:
    """The value without outer blanks and quotes; None if the tool prints that it has none, or the value was struck out."""
    value = value.strip().strip("\"'").strip()
    return None if value.lower() in _NOTHING or len(value) > _LONGEST or _MASKED.match(value) else value


def leading_version(value: str) -> str | None:
    """The version that a value starts with (`3.10.12 (main, ...)` gives 3.10.12); None if it does not start with one."""
    found = _VERSION.match(value.strip().strip("'\"`"))
    return found.group(1).rstrip(".,;:)") if found else None


def canonical(name: str) -> str:
    """A distribution's name as PEP 503 spells it."""
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def gfx_target(value: str) -> str | None:
    """The plain target at the start of a name (`gfx902+xnack`, `gfx90a:sramecc+`); None for generic targets and the CPU's gfx000."""
    found = _TARGET.match(value.strip())
    return "gfx" + found.group(1) if found else None


def product_name(value: str) -> str | None:
    """A marketing name; None for a bare id, a name cut at one end, or no name."""
    name = stated_value(value)
    cut = name is None or name.startswith(("...", "\u2026")) or name.endswith(("...", "\u2026"))
    return None if cut or re.fullmatch(r"(?:0x)?[0-9a-fA-F]{4}", name or "") else name


def hex_id(value: str) -> int | None:
    """A PCI device id printed in hex, with or without 0x. None for AMD's vendor id, which some releases print instead."""
    found = _HEX_ID.match(value.strip().strip("\"'"))
    number = int(found.group(1), 16) if found else 0
    return number if number not in (0, 0x1002, 0xFFFF) else None


def whole_number(value: str) -> int | None:
    """A count: `104`, `104(0x68)`."""
    found = re.match(r"(\d{1,19})(?:\(0x([0-9a-fA-F]{1,16})\))?(?=$|\s|[KMG]B)", value.strip())
    if found is None or (found.group(2) and int(found.group(2), 16) != int(found.group(1))):
        return None
    return int(found.group(1))


def count(value: str) -> int | None:
    """A count above zero."""
    return whole_number(value) or None


def watts(value: str) -> int | None:
    """Watts of `191.0 W` or `191.0`, rounded; None for 0, which means that the limit is not known."""
    found = re.fullmatch(r"([1-9]\d{0,3}(?:\.\d{1,3})?)(?: ?W)?", value.strip())
    return round(float(found[1])) if found else None


def size(value: str) -> int | None:
    """Bytes of `16304 MB` or `33538048(0x1ffc000) KB`; AMD's tools mean powers of two. None without a unit, and for 0."""
    found = re.match(r"(\d{1,19})(\(0x[0-9a-fA-F]{1,16}\))?\s*([KMG]i?B|B)$", value.strip(), re.IGNORECASE)
    number = whole_number(found.group(1) + (found.group(2) or "")) if found else None
    return number * _UNITS[found.group(3).upper()] if found and number else None


def bdf(value: str) -> str | None:
    """A full PCI address in lower case; a missing domain is 0000."""
    found = _BDF.match(value.strip().strip("\"'"))
    if not found:
        return None
    domain, bus, device, function = found.groups()
    return f"{int(domain or '0', 16):04x}:{bus}:{device}.{function}".lower()


def record_driver_version(result: ProbeResult, printed: str, reading: Reading) -> None:
    """The driver's version as a tool prints it. The in-tree amdgpu has none: rocm-smi and amd-smi 6.x print the kernel's release in
    its place, kept as printed (`enrich` takes it out), others `/proc/version` without blanks (`Linuxversion6.17.0(...`, `Linuxver`)."""
    if re.fullmatch(r"\d+\.\d+\.\d+(?:\.\d+)?", printed):
        result.record("driver.version", printed, reading)
        result.record("driver.loaded", True, reading)
        return
    kernel = re.match(r"(?:Linuxversion)?(\d+\.\d+\.\d+[\w.+~-]*)(?:\(|$)", printed)
    if kernel or printed.startswith("Linuxver"):
        result.record("driver.version", printed if kernel and kernel.group(1) == printed else None, reading)
        result.record("driver.loaded", True, reading)
    if kernel:
        result.record("kernel", kernel.group(1), reading)
