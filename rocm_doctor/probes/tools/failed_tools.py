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

SLOW = 5.0
"""Seconds for which AMD's own node test waits for rocm-smi: a driver that is about to hang answers late at first."""
_STATES = {"timeout": "did not end in time", "crashed": "died"}


def probe(artifacts: Artifacts) -> ProbeResult:
    """tool.<name>: how a tool without usable output ended; also recorded as an error. tools.slow: those that answered late."""
    result = ProbeResult()
    for item in artifacts:
        if item.name.startswith("cmd/") and item.missing in _STATES:
            words = item.note or _STATES[item.missing]
            result.record(f"tool.{item.name[4:].split()[0]}", words, Reading(item.name, "", words))
            result.fail(item.name, words)
    slow = [item for item in artifacts if item.name.startswith("cmd/") and not item.missing and (item.seconds or 0) > SLOW]
    if slow:
        said = tuple(f"{item.name[4:].split()[0]} {item.seconds:.0f} s" for item in slow)
        result.record("tools.slow", said, Reading(slow[0].name, "", f"took {slow[0].seconds:.1f} s"))
    return result
