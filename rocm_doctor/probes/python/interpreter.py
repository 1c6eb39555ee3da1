"""The examined Python as it describes itself (`py/interpreter`: one `key: value` a line).

    ==> py/interpreter <==
    executable: /home/ada/.venv/bin/python
    version: 3.12.3
    prefix: /home/ada/.venv
    base_prefix: /usr
    platform: linux-x86_64
    libc: glibc 2.39

>>> print(probe(sample))
python.version = 3.12.3
python.prefix = /home/ada/.venv
platform = linux
python.env = venv
"""

from __future__ import annotations

import re

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Reading
from rocm_doctor.probes.read.result import Artifacts, ProbeResult
from rocm_doctor.probes.read.scan import leading_version

_SYSTEM = regex(r"/?|/usr(?:/local)?/?|.*/\.local|[A-Za-z]:\\(?:Program Files\\)?Python\d*", re.I)
_CONDA = regex(r"conda|mamba|miniforge", re.I)

_SYSTEMS = {"win32": "windows", "cygwin": "windows", "darwin": "macos"}


def probe(artifacts: Artifacts) -> ProbeResult:
    """python.version, python.prefix, python.env; platform and glibc if the interpreter reported them."""
    result = ProbeResult()
    source = artifacts.get("py/interpreter")
    if source is not None and not source.missing:
        _add_stated(result, source.name, source.text)
    return result


def _add_stated(result: ProbeResult, name: str, text: str) -> None:
    told = {}
    for number, line in enumerate(text.splitlines(), 1):
        key, colon, value = line.partition(":")
        if colon and value.strip():
            told[key.strip()] = (value.strip(), Reading(name, f"line {number}", line.strip()))
    for key, fact in (("version", "python.version"), ("prefix", "python.prefix"), ("glibc", "glibc")):
        if key in told:
            value, reading = told[key]
            result.record(fact, leading_version(value) if fact != "python.prefix" else value, reading)
    if "platform" in told:
        system, reading = told["platform"]
        result.record("platform", _SYSTEMS.get(system, "linux" if system.startswith("linux") else system), reading)
    if "prefix" in told:
        prefix, reading = told["prefix"]
        base = told.get("base_prefix", (prefix, reading))[0]
        kind = "doctor" if "owner" in told else environment(prefix, base != prefix)
        result.record("python.env", kind, reading)


def environment(prefix: str, own: bool) -> str:
    """venv, conda, uv or system for a `sys.prefix`. `own`: it differs from `sys.base_prefix`."""
    if "/uv/" in prefix.replace("\\", "/"):
        return "uv"
    if _CONDA.search(prefix) and not own:
        return "conda"
    return "venv" if own or not _SYSTEM.fullmatch(prefix) else "system"
