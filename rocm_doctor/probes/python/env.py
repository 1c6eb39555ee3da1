"""Environment variables as the examined process sees them: the captured list, which is complete.

    ==> env <==
    HSA_OVERRIDE_GFX_VERSION=10.3.0
    ROCR_VISIBLE_DEVICES="0"
    ==> user/.bashrc <==
    HSA_OVERRIDE_GFX_VERSION=10.3.0

>>> print(probe(sample))
env. = yes
env.HSA_OVERRIDE_GFX_VERSION = 10.3.0
env.ROCR_VISIBLE_DEVICES = 0
startup.HSA_OVERRIDE_GFX_VERSION = yes
"""

from __future__ import annotations

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Reading
from rocm_doctor.probes.read.result import Artifacts, ProbeResult
from rocm_doctor.redaction.secret_names import SECRET_NAME

_LINE = regex(r"\s*(?:export\s+|declare -x\s+)?([A-Z][A-Z0-9_]{2,60})=(.*)$")


def probe(artifacts: Artifacts) -> ProbeResult:
    """env.<NAME> for each variable of the list, except those of secrets; the list is complete, so any other variable is absent.
    startup.<NAME>: read from the lines of start-up files that set it."""
    result = ProbeResult()
    for item in artifacts.like("env", "user/.*", "etc/environment", "etc/profile*", "etc/*bashrc"):
        if item.name == "env":
            result.record("env.", True, Reading(item.name, "", "every variable that matters"))
        for number, line in enumerate(item.text.splitlines(), 1):
            found, reading = _LINE.match(line), Reading(item.name, f"line {number}", line.strip()[:200])
            if found and item.name != "env":
                result.record(f"startup.{found[1]}", True, reading)
            elif found and not SECRET_NAME.search(found[1]):
                result.record(f"env.{found[1]}", strip_quotes(found[2]), reading)
    return result


def strip_quotes(value: str) -> str:
    """The value without quotes and trailing punctuation."""
    value = value.strip().strip("`")
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value.rstrip(",.\\")
