"""What a person wrote around the output of tools: the least trusted source, and often the only one.

The patterns are the grammar of such statements (prose_text.py); the catalog knows which GPU a name means (gpu_names.py).
Facts of one name that differ stay disputed; a name that fits several targets stays ambiguous.

    ==> paste/text <==
    I have two RX 7900 XTX in this box. With ROCm 6.2 it works, since ROCm 6.3 training hangs.

>>> print(probe(sample))
rocm.version = 6.3
said.works.rocm = 6.2
said.broken.rocm = 6.3
gpu 0 marketing_name = RX 7900 XTX
gpu 0 gfx = gfx1100
gpu 1 marketing_name = RX 7900 XTX
gpu 1 gfx = gfx1100
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.probes.read.document import Document
from rocm_doctor.probes.read.result import Artifacts, ProbeResult
from rocm_doctor.probes.text.prose_commands import record_commands
from rocm_doctor.probes.text.prose_gpus import record_gpus
from rocm_doctor.probes.text.prose_machine import record_history, record_machine, record_os
from rocm_doctor.probes.text.prose_text import Sentence, sentences
from rocm_doctor.probes.text.prose_versions import record_packages, record_versions

_ASKS = regex(
    r"^[\W_]*(?:(?:hi|hello|hey|question|[\w ]{0,30}:)[,!:]?\s*)?(?:is|are|does|do|will|can|which|what|has|could)\b[^?]{0,160}"
    r"\b(?:support(?:s|ed|ing)?|compatible|work(?:s)? (?:with|on)|run(?:s)? on)\b[^?]{0,120}\?",
    re.I,
)
_ROCM = regex(r"\bROCm\b[\s-]{0,2}(?:version )?v?(\d{1,2}(?:\.\d{1,2}){1,2})?", re.I)


_QUESTION = regex(
    r"\?[\s\"')*_]*$|^[\W_]*(?:(?:hi|hello|hey|question)[,!:]?\s*)?(?:how (?:do|can|to|much|many|should|fast)|which|does|do i|is it|is there"
    r"|is my|can i|can my|should i|will (?:it|my|a|this)|what (?:torch|rocm|pytorch|version|driver))\b",
    re.I,
)


def record_asks(result: ProbeResult, text: Sequence[Sentence]) -> None:
    """said.asks: the first question; said.asks_support: the ROCm release that the first one about support names, or `any`."""
    question = next((sentence for sentence in text if _QUESTION.search(sentence.text[:400])), None)
    if question:
        result.record("said.asks", question.reading.quote, question.reading)
    for sentence in text:
        asked = _ROCM.search(sentence.text) if _ASKS.search(sentence.text) else None
        if asked:
            result.record("said.asks_support", asked.group(1) or "any", sentence.reading)
            return


_COMFYUI = regex(r"ROCm version: \((\d{1,2}), (\d{1,2})\)")


def probe(artifacts: Artifacts) -> ProbeResult:
    """GPUs, versions, the machine, commands and what works where, from pasted texts (`paste/text`)."""
    result = ProbeResult()
    for artifact in artifacts.like("paste/text*"):
        document = artifacts.document(artifact)
        text = sentences(document)
        mine = [sentence for sentence in text if not sentence.other]
        found = artifacts.programs.of_text(mine) if artifacts.programs else None
        record_versions(result, text, found)
        record_packages(result, text)
        record_os(result, mine)
        record_machine(result, mine)
        record_commands(result, document, mine)
        record_history(result, mine)
        record_asks(result, mine)
        record_gpus(result, text, artifacts.gpu_names)
        _record_torchs_rocm(result, document)
    return result


def _record_torchs_rocm(result: ProbeResult, document: Document) -> None:
    """rocm.version as ComfyUI prints torch's, `(6, 4)`: taken for the system's if nothing else states that."""
    for line in document.lines_with("rocm version: (", most=1):
        found = _COMFYUI.search(line.text)
        if found and "rocm.version" not in result.facts:
            result.record("rocm.version", f"{found.group(1)}.{found.group(2)}", document.reading(line))
