"""Package versions in pasted text: pip list, freeze, show and install lines, uv, conda list, apt.

    ==> paste/text <==
    Package      Version
    ------------ ------------
    bitsandbytes 0.49.2
    torch        2.9.1+rocm6.4

>>> print(probe(sample))
pkg.bitsandbytes = 0.49.2
pkg.torch = 2.9.1+rocm6.4
torch.version = 2.9.1+rocm6.4
torch.build = rocm
torch.rocm = 6.4
torch.family = bundled
"""

from __future__ import annotations

import re

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.probes.python.packages import record_wheels
from rocm_doctor.probes.python.torch_build import Build, record_build
from rocm_doctor.probes.read.document import Document, Line
from rocm_doctor.probes.read.limits import PACKAGES
from rocm_doctor.probes.read.printed import canonical
from rocm_doctor.probes.read.result import Artifacts, ProbeResult

_VER = r"(\d+(?:\.\w+){1,5}[\w.+!-]{0,60})"
_NAME = r"([A-Za-z][A-Za-z0-9]*(?:[-_.][A-Za-z0-9]+){0,8})"
_ROWS = (
    regex(r"^\W{0,3}(?:\[pip3?\] )?" + _NAME + r"==" + _VER + r"(?:\s*;.*|\s*#.*|\s*--hash.*|\\)?$"),
    regex(r"^\s*" + _NAME + r" @ \S{0,300}?/[A-Za-z0-9_.]+-(\d[\w.+!]*?(?:%2B[\w.]+)?)-[\w.]+-[\w.]+-[\w.]+\.whl"),
    regex(
        r"^\s*"
        + _NAME
        + r"[ \t]+"
        + _VER
        + r"(?:[ \t]+(?:[/~].*|file:.*|pip|uv|(?:pypi_0|py[0-9]|h[0-9a-f]{6,}|mkl|\w{1,30}_\d{1,6}\b|[a-z0-9]*cuda|[a-z0-9]*rocm)\S{0,60}(?:[ \t]+\S{1,80}){0,2}))?$"
    ),
)
"""A package and its version: `torch==2.9.1`, `torch @ file:///tmp/torch-2.9.1-cp312-...whl`, and the row of a table, behind which pip prints a
folder (editable) or an installer, and conda its build and channel."""
_HEADING = regex(
    r"^\W{0,4}(?:Package\s+Version\b|Name\s+Version\s+Build|-{4,}\s+-{4,})"
    r"|\b(?:(?:pip3?|uv pip|conda|mamba|micromamba) (?:list|freeze|show)|python3? -m pip (?:list|freeze|show))\b"
)
"""The line before a list: its heading, or the command that printed it."""
_SHOWN = regex(r"(?:^\s*(?:Name|Package)\s*:\s*|\bpip3? show (?:-\w+ )*)" + _NAME + r"\s*(?:\||$)")
_VERSION = regex(r"^\s*Version\s*:\s*" + _VER)
_OF_SYSTEM = {**dict.fromkeys(("rocm", "rocm-core", "rocm-dev", "rocm-libs"), "rocm.version"), "amdgpu-dkms": "driver.version"}
"""The fact that a package of the system's package manager decides, with the three numbers that its version begins with."""
_INSTALLED = regex(r"(?:^|\s)([A-Za-z][A-Za-z0-9_]*(?:[-.][A-Za-z][A-Za-z0-9_]*)*(?:-gfx\w+(?:-\w+)?)?)-" + _VER + r"(?=\s|$)")
_ALREADY = regex(r"Requirement already satisfied: " + _NAME + r"\b.{0,400}\(" + _VER + r"\)\s*$")
_RUN = 3
"""Rows that make a list without a heading."""


def probe(artifacts: Artifacts) -> ProbeResult:
    """pkg.<name>; with torch among them, torch.version and the facts that follow from it."""
    result = ProbeResult()
    commands = artifacts.like("paste/*-pip", "cmd/pip*", "cmd/conda list*", "cmd/uv pip*")
    for document in [*map(artifacts.document, commands), *artifacts.texts()]:
        if document.has("==", "torch", "pip ", "pip3 ", "conda ", "package"):
            _record_tables(result, document)
    for document in artifacts.texts():
        _record_install_lines(result, document)
        _record_shown(result, document)
    _record_torch(result)
    return result


def _record_tables(result: ProbeResult, document: Document) -> None:
    """Rows of two (pip, uv) or four (conda) columns and `name==version` lines."""
    rows: list[tuple[Line, str, str]] = []
    headed, packages = False, 0
    for number, text in enumerate(document.text.split("\n") if len(document.text) < 2_000_000 else (), 1):
        row = next(filter(None, (pattern.match(text.rstrip("\r")) for pattern in _ROWS)), None) if len(text) < 400 else None
        if row:
            packages += 1
            rows.append((Line(number, text, 0), row[1], row[2].replace("%2B", "+")))
        elif text.strip():
            _record_rows(result, document, rows, headed)
            rows, headed = [], bool(_HEADING.search(text[:400]))
        if packages > PACKAGES:
            result.fail(document.name, f"too long: only the first {PACKAGES} packages were read", f"line {number}")
            break
    _record_rows(result, document, rows[:PACKAGES], headed)


def _record_rows(result: ProbeResult, document: Document, rows: list[tuple[Line, str, str]], headed: bool) -> None:
    """Two words in a line are a package in a list; `name==version` is one anywhere."""
    for line, name, version in rows:
        if headed or len(rows) >= _RUN or "==" in line.text or " @ " in line.text:
            result.record(f"pkg.{canonical(name)}", version, document.reading(line))


def _record_install_lines(result: ProbeResult, document: Document) -> None:
    for line in document.find_lines("successfully installed ", most=20):
        for found in _INSTALLED.finditer(line.text):
            quote = f"Successfully installed … {found[0].strip()}"
            result.record(f"pkg.{canonical(found[1])}", found[2], document.reading(line, quote))
    for line in document.find_lines("requirement already satisfied: ", most=200):
        if present := _ALREADY.search(line.text):
            result.record(f"pkg.{canonical(present[1])}", present[2], document.reading(line))


def _record_shown(result: ProbeResult, document: Document) -> None:
    """Versions that pip and apt print some lines below the package's name, or below the command that names it."""
    words = ("name:", "package:", "name  ", "pip show", "pip3 show")
    for line in document.find_lines(*words, most=80) if document.has("version") else ():
        shown = _SHOWN.search(line.text)
        below = ((one, _VERSION.match(one.text)) for one in document.after(line, 2)) if shown else ()
        for following, version in below:
            if shown and version:
                name, quote = canonical(shown[1]), f"{line.text.strip()} {following.text.strip()}"
                number = re.match(r"\d+\.\d+\.\d+", version[1]) if name in _OF_SYSTEM else None
                if number or name not in _OF_SYSTEM:
                    value = number[0] if number else version[1]
                    result.record(_OF_SYSTEM.get(name, f"pkg.{name}"), value, document.reading(following, quote))
                break


def _record_torch(result: ProbeResult) -> None:
    torch = result.facts.get("pkg.torch")
    if torch is not None and isinstance(torch.value, str):
        reading = torch.readings[0]
        result.record("torch.version", torch.value, reading)
        record_build(result, Build(torch.value), reading)
    found = {k.removeprefix("pkg."): (str(f.value), f.readings[0]) for k, f in result.facts.items() if k.startswith("pkg.")}
    record_wheels(result, found)
