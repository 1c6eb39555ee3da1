"""What changed, and the variables that a person states are set, or are not."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.probes.read.result import ProbeResult
from rocm_doctor.probes.text.env_text import NAME
from rocm_doctor.probes.text.prose_text import Sentence

_TRIED = regex(
    r"\b(?:(?:i|we|i've|have|also|already) tried|tried (?:with|setting|using|different|both|various)|attempted"
    r"|(?:re)?install(?:ed|ing) (?:it )?again|reinstall(?:ed|ing)"
    r"|(?:did|does|do)(?:n't| not) (?:help|change|make a difference)|no (?:difference|change|luck|effect|success)"
    r"|without success|to no avail|whatever i tried"
    r"|nothing (?:helps|helped|changes|changed|worked)|same (?:error|result|crash) (?:with|when|after))\b",
    re.I,
)
_CHANGED = regex(
    r"\b(?:after|since) (?:the |an? |my )?(?:\w+ ){0,3}?(?:updat|upgrad|install|mov|switch|chang|reboot|restart)\w*"
    r"|\bsince\b.{0,60}\b(?:came in|was installed|update|build|release)\b",
    re.I,
)
_CAPITALS = regex(r"[A-Z]_|PYTHONPATH|HIPBLAS")
_NAMES = regex(r"(?<![\w$])" + NAME + r"(?![\w=])")
_IS_NOT_SET = regex(
    r"\b(?:(?:is|are|was|were) (?:not|never|un) ?-?(?:set|defined|exported)|(?:isn't|aren't|wasn't) set|unset|not set)\b", re.I
)
_REMOVED = regex(
    r"\b(?:without(?: setting| using)?|unset(?:ting)?|remov(?:e|ed|ing)|(?:do|did)(?:n't| not) (?:set|use|export)"
    r"|not (?:setting|using)|never set|no)\s+(?:the |any )?(?:\w+ ){0,2}$",
    re.I,
)
_SPOKEN = regex(
    r"(?<![\w$])" + NAME + r"(?:\s+(?:is |was |variable )?set (?:to|at|as)|\s+(?:to|as))\s+[\"']?([\w.:,/-]{1,60})", re.I
)
_VALUE = regex(r"[\d/:]|^(?:true|false|on|off|yes|no|all|none)\b", re.I)
"""What a variable is set to, and no word of the sentence (`set as before`)."""
_SETTING = regex(r"\b(?:set|setting|sets|exporting|export|exported|changed|changing)\s+(?:the )?(?:\w+ )?$", re.I)


_NIXOS = regex(r"\brocmOverrideGfx\s*=\s*\"([\d.]+)\"")
"""The option of NixOS' module for Ollama that sets HSA_OVERRIDE_GFX_VERSION for the service."""


def record_history(result: ProbeResult, text: Iterable[Sentence]) -> None:
    """said.changed, env.<NAME> absent or set in words."""
    for sentence in text:
        if _CHANGED.search(sentence.text):
            result.record("said.changed", sentence.reading.quote, sentence.reading)
        option = _NIXOS.search(sentence.text)
        if option:
            result.record("env.HSA_OVERRIDE_GFX_VERSION", option[1], sentence.reading)
        if "_" in sentence.text:
            _variables(result, sentence)


def _variables(result: ProbeResult, sentence: Sentence) -> None:
    """`I unset X`, `without X`, `X and Y are not set`: absent. `X set to V`: V (`X=V` is read by env.py)."""
    text = sentence.text
    if not _CAPITALS.search(text):  # the expressions of all variables are long
        return
    for found in _SPOKEN.finditer(text):
        before = text[max(0, found.start() - 40) : found.start()]
        stated = not _TRIED.search(text) and ("set" in found.group(0)[len(found.group(1)) :] or _SETTING.search(before))
        if stated and _VALUE.search(found.group(2)) and found.group(1).isupper() and not _REMOVED.search(before):
            result.record(f"env.{found.group(1)}", found.group(2).rstrip(".,"), sentence.reading)
    names = list(_NAMES.finditer(text))
    denied = _IS_NOT_SET.search(text)
    for found in names:
        after = denied is not None and denied.start() >= found.end() and denied.start() - names[-1].end() < 40
        if after or _REMOVED.search(text[max(0, found.start() - 40) : found.start()]):
            result.record(f"env.{found.group(1)}", None, sentence.reading)
