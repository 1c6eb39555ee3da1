"""Tools that gave no answer: one that hangs or dies is a fact of the machine, not only a gap in what was read.

    ==> cmd/rocm-smi (timeout) <==
    ended after 20 s

>>> print(probe(sample))
tool.rocm-smi = ended after 20 s
error in cmd/rocm-smi: ended after 20 s
"""

from __future__ import annotations

from rocm_doctor.model import Reading
from rocm_doctor.probes.read.result import Artifacts, ProbeResult

_STATES = {"timeout": "did not end in time", "crashed": "died"}


def probe(artifacts: Artifacts) -> ProbeResult:
    """tool.<name>: how a tool without usable output ended; also recorded as an error."""
    result = ProbeResult()
    for item in artifacts:
        if item.name.startswith("cmd/") and item.missing in _STATES:
            words = item.note or _STATES[item.missing]
            result.record(f"tool.{item.name[4:].split()[0]}", words, Reading(item.name, "", words))
            result.fail(item.name, words)
    return result
