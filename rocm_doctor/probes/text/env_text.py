"""Environment variables that a pasted text sets or unsets: in a shell, in Python, for a container or in a unit file.

    ==> paste/text <==
    export HSA_OVERRIDE_GFX_VERSION=10.3.0
    unset ROCR_VISIBLE_DEVICES

>>> print(probe(sample))
env.HSA_OVERRIDE_GFX_VERSION = 10.3.0
env.ROCR_VISIBLE_DEVICES = absent
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.probes.python.env import strip_quotes
from rocm_doctor.probes.read.document import Document, Line
from rocm_doctor.probes.read.result import Artifacts, ProbeResult
from rocm_doctor.probes.read.scan import texts
from rocm_doctor.probes.read.variables import NAMES, PREFIXES

NAME = "((?:" + "|".join(map(re.escape, PREFIXES)) + ")[A-Z0-9_a-z]{1,60}|" + "|".join(NAMES) + ")"
_NEEDLES = tuple(n.lower() for n in PREFIXES + NAMES)

_VALUE = r"(\"[^\"\n]{0,300}\"|'[^'\n]{0,300}'|`[^`\n]{0,300}`|(?:[^\s\"'`;)}\]]|;(?=gfx)){0,300})"
_BEFORE = r"(?<![\w$%{/.\\-])"
_SET = regex(_BEFORE + NAME + r"\s?=\s?" + _VALUE)
_PYTHON = regex(r"environ(?:\[|\.setdefault\(|\.putenv\()\s*[\"']" + NAME + r"[\"']\s*(?:\]\s*=(?!=)|,)\s*" + _VALUE)
_QUOTED = regex(r"[\"']" + NAME + r"[\"']\s*:\s*" + _VALUE)
_YAML = regex(r"^\s*(?:-\s+)?" + NAME + r"\s*:\s+" + _VALUE + r"\s*$")
_SPOKEN = regex(r"\b(?:ENV|setx|set -g?x|set -x -g|setenv)\s+" + NAME + r"\s+" + _VALUE)
_OF_HIPCONFIG = frozenset(("HIP_PATH", "HIP_PLATFORM", "HIP_COMPILER", "HIP_RUNTIME", "ROCM_PATH", "HSA_PATH", "HIP_CLANG_PATH"))
_POWERSHELL = regex(r"\$env:" + NAME + r"\s*=\s*" + _VALUE, re.I)
_UNSET = regex(r"\b(?:unset|env -u|set -e|Remove-Item)\s+(?:-[a-z]+\s+)*(?:Env:\\?)?" + NAME)
_WITHOUT = regex(
    r"\b(?:without(?: setting)?|(?:do|did|does)(?:n't| not) (?:set|use|export)|not (?:setting|using))\s+[`\"']?$", re.I
)
_SENTENCE = regex(r"[^=$#>{\[]{0,200}\b(?:with|setting|using|adding|after|when|it|if)\b", re.I)
_CURE = regex(r"\b(?:works?|worked|fix(?:es|ed)|solve[sd]|resolve[sd]|helps|helped|goes away|is gone)\b", re.I)
_ADVICE = regex(
    r"(?:try (?:setting|to set|using)|consider (?:passing|setting)|please (?:set|use)|(?:you (?:can|may|should|need to|must)"
    r"|should|could|need to|instead) set"
    r"|enable it with|for debugging|recommended|can be (?:set|enabled)|by setting|if you (?:set|use)|e\.g\.|for example"
    r"|such as|what if|would setting"
    r"|\b(?:tried|trying)\b|do i (?:need|have) to|should i)",
    re.I,
)


def probe(artifacts: Artifacts) -> ProbeResult:
    """env.<NAME> for each variable that is set, absent for one that is unset. A setting that is said to be the cure is left out."""
    result = ProbeResult()
    for document in texts(artifacts):
        _record_text(result, document)
    return result


def _record_text(result: ProbeResult, document: Document) -> None:
    for line in document.find_lines(*_NEEDLES):
        for name, value, place in _settings(line):
            if _SENTENCE.match(line.text) and _CURE.search(line.text):
                continue
            if _WITHOUT.search(line.text[max(0, place - 40) : place]):
                result.record(f"env.{name}", None, document.reading(line))
            elif not _is_advice(line.text[:place]):
                result.record(f"env.{name}", strip_quotes(value), document.reading(line))
        for found in _UNSET.finditer(line.text):
            result.record(f"env.{found.group(1)}", None, document.reading(line))


def _settings(line: Line) -> Iterator[tuple[str, str, int]]:
    """(name, value, offset) of each setting in a line, in any of the languages."""
    taken: set[str] = set()
    for pattern in (_PYTHON, _POWERSHELL, _SPOKEN, _SET, _QUOTED, _YAML):
        for found in pattern.finditer(line.text):
            name, value = found.group(1), found.group(2)
            if (
                name in taken
                or _is_reference(value)
                or (not value and pattern is not _SET)
                or (pattern is _YAML and name in _OF_HIPCONFIG)
            ):
                continue
            taken.add(name)
            yield name, value, found.start()


def _is_reference(value: str) -> bool:
    """True for a reference to another value, a placeholder, or the rest of a comparison (`NAME == ...`)."""
    bare = value.strip("\"'`")
    return bare.startswith(("=", "<", "...", "…", "os.", "str(")) or (bare.startswith(("$", "%")) and ":" not in bare)


def _is_advice(before: str) -> bool:
    """True if the words before a setting only recommend it, as error messages and questions do."""
    return _ADVICE.search(before[-90:]) is not None
