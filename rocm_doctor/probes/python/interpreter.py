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
platform = linux
python.prefix = /home/ada/.venv
python.env = venv
"""

from __future__ import annotations

import re

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.probes.read.keyed import read_keys
from rocm_doctor.probes.read.printed import leading_version
from rocm_doctor.probes.read.result import Artifacts, ProbeResult

_SYSTEM = regex(r"/?|/usr(?:/local)?/?|.*/\.local|[A-Za-z]:\\(?:Program Files\\)?Python\d*", re.I)
_CONDA = regex(r"conda|mamba|miniforge", re.I)

_SYSTEMS = {"win32": "windows", "cygwin": "windows", "darwin": "macos"}


def probe(artifacts: Artifacts) -> ProbeResult:
    """python.version, python.prefix, python.env; platform and glibc if the interpreter reported them."""
    result = ProbeResult()
    entries = read_keys(artifacts.get("py/interpreter"), ":")
    for key, fact in (("version", "python.version"), ("glibc", "glibc")):
        if key in entries:
            result.record(fact, leading_version(entries[key].value), entries[key].reading)
    if system := entries.get("platform"):
        known = "linux" if system.value.startswith("linux") else system.value
        result.record("platform", _SYSTEMS.get(system.value, known), system.reading)
    if prefix := entries.get("prefix"):
        result.record("python.prefix", prefix.value, prefix.reading)
        own = entries.get("base_prefix", prefix).value != prefix.value
        result.record("python.env", "doctor" if "owner" in entries else environment(prefix.value, own), prefix.reading)
    return result


def environment(prefix: str, own: bool) -> str:
    """venv, conda, uv or system for a `sys.prefix`. `own`: it differs from `sys.base_prefix`."""
    if "/uv/" in prefix.replace("\\", "/"):
        return "uv"
    if _CONDA.search(prefix) and not own:
        return "conda"
    return "venv" if own or not _SYSTEM.fullmatch(prefix) else "system"
