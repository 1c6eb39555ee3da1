"""A question whether ROCm supports a GPU. It reports no failure: the support data answer it.

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


def record_asks(result: ProbeResult, text: Sequence[Sentence]) -> None:
    """said.asks_support: the ROCm release that the first such question names, or `any`."""
    for sentence in text:
        asked = _ROCM.search(sentence.text) if _ASKS.search(sentence.text) else None
        if asked:
            result.record("said.asks_support", asked.group(1) or "any", sentence.reading)
            return
