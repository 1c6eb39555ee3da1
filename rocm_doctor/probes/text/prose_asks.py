"""The question that a text asks, and whether it asks for support of a GPU. Both report no failure.

Which torch for my RX 9070 XT?              -> said.asks = that sentence
Is the RX 9070 XT supported by ROCm 6.3?    -> said.asks_support = 6.3
Does ROCm run on my RX 580?                 -> said.asks_support = any
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.probes.read.result import ProbeResult
from rocm_doctor.probes.text.prose_text import Sentence

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
