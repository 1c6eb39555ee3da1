"""Environment variables that a pasted text sets or unsets: in a shell, in Python, for a container or in a unit file.

    ==> paste/text <==
    export HSA_OVERRIDE_GFX_VERSION=10.3.0
    os.environ["HIP_VISIBLE_DEVICES"] = "0"
    unset ROCR_VISIBLE_DEVICES

>>> print(probe(sample))
env.HSA_OVERRIDE_GFX_VERSION = 10.3.0
env.HIP_VISIBLE_DEVICES = 0
env.ROCR_VISIBLE_DEVICES = absent
"""

from __future__ import annotations

import re

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.probes.python.env import strip_quotes
from rocm_doctor.probes.read.result import Artifacts, ProbeResult
from rocm_doctor.probes.read.variables import NAMES, PREFIXES

NAME = "((?:" + "|".join(map(re.escape, PREFIXES)) + ")[A-Z0-9_a-z]{1,60}|" + "|".join(NAMES) + ")"
_NEEDLES = tuple(n.lower() for n in PREFIXES + NAMES)
_VALUE = r"(\"[^\"\n]{0,300}\"|'[^'\n]{0,300}'|`[^`\n]{0,300}`|(?:[^\s\"'`;)}\]]|;(?=gfx)){0,300})"
_SET = regex(rf"(?<![\w$%{{/.\\-]){NAME}(?:\s?=\s?|[\"']\s*(?:\]\s*=(?!=)|:|,)\s*|:\s+(?=\S+\s*$)){_VALUE}")
_UNSET = regex(rf"\b(?:unset|env -u)\s+(?:-[a-z]+\s+)*{NAME}")
_REFERENCE = regex(r"[\"'`]*(?:=|<|\.\.\.|…|os\.|str\(|[$%][^:]*$)")
"""The rest of a comparison, a placeholder, or another variable."""
_ADVICE = regex(
    r"try (?:setting|to set|using)|consider (?:passing|setting)|please (?:set|use)|you (?:can|may|should|need to|must) set|should set|instead set"
    r"|enable it with|recommended|can be (?:set|enabled)|by setting|if you (?:set|use)|e\.g\.|for example|what if|should i|do i (?:need|have) to|without|not set",
    re.I,
)
"""Words before a setting that is not in force: error messages and questions recommend it."""


def probe(artifacts: Artifacts) -> ProbeResult:
    """env.<NAME> for each variable; absent for one that the text says is unset."""
    result = ProbeResult()
    for document in artifacts.texts():
        for line in document.find_lines(*_NEEDLES):
            for found in _SET.finditer(line.text):
                if not _REFERENCE.match(found[2]) and not _ADVICE.search(line.text[max(0, found.start() - 90) : found.start()]):
                    result.record(f"env.{found[1]}", strip_quotes(found[2]), document.reading(line))
            for found in _UNSET.finditer(line.text):
                result.record(f"env.{found[1]}", None, document.reading(line))
    return result
