"""What a pasted text shows of a run that ended: a process that was killed, and why an allocation failed.

    ==> paste/text <==
    torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB. 1.20 GiB is reserved by PyTorch but unallocated.

>>> print(probe(sample))
oom.kind = full
"""

from __future__ import annotations

import re

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Fact
from rocm_doctor.probes.read.document import Document
from rocm_doctor.probes.read.result import Artifacts, ProbeResult

_ASKED = regex(r"Tried to allocate (\d+(?:\.\d+)?) ([KMG]iB)")
_LOOSE = regex(r"(\d+(?:\.\d+)?) ([KMG]iB) is reserved by PyTorch but unallocated")
_TOTAL = regex(r"total capacity of (\d+(?:\.\d+)?) ([KMG]iB)")
LOOSE = 0.05
"""Unused memory below this part of the GPU's is what any allocator leaves over."""
_UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_KILLED = regex(r"^(?:\S*: line \d+:\s+\d+ )?Killed\b(?!\s+(?:by|process|the|it)\b).{0,120}$")


def probe(artifacts: Artifacts) -> ProbeResult:
    """run.killed and oom.kind, of pasted texts and logs."""
    result = ProbeResult()
    for document in artifacts.texts():
        _record_memory(result, document)
    return result


def _record_memory(result: ProbeResult, document: Document) -> None:
    """oom.kind: pieces where PyTorch held unused at least what was asked for and a part worth naming, else full; run.killed."""
    for line in document.find_lines("tried to allocate", most=20):
        sizes = [_bytes(pattern.search(line.text)) for pattern in (_ASKED, _LOOSE, _TOTAL)]
        if sizes[0] and sizes[1] is not None:
            pieces = sizes[1] >= max(sizes[0], LOOSE * (sizes[2] or 0))
            result.facts.setdefault("oom.kind", Fact("pieces" if pieces else "full", (document.reading(line),)))
    for line in document.find_lines("killed", most=20):
        if _KILLED.match(line.text):
            result.record("run.killed", True, document.reading(line))


def _bytes(found: re.Match[str] | None) -> float | None:
    return float(found[1]) * _UNITS[found[2]] if found else None
