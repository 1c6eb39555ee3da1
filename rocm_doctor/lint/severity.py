"""How much a finding weighs: the one place that decides it.

stops: the target cannot train with it; harms: wrong numbers now and then, a slow path, a part that can be done without.
informs: it is worth knowing, and no more. literal: every line that it needs was read word for word, and nothing unread comes before it.
"""

from __future__ import annotations

from rocm_doctor.lint.model import Audience, Problem
from rocm_doctor.model import Severity

_OURS: tuple[Audience, ...] = ("declared", "amd", "main")
_TABLE: dict[tuple[bool, bool], tuple[Severity, Severity]] = {
    # (stops, literal): (in an environment for AMD GPUs, in a neutral one); a note in any other
    (True, True): ("error", "warning"),
    (True, False): ("warning", "note"),
    (False, True): ("warning", "note"),
    (False, False): ("note", "note"),
}


def severity(one: Problem, audience: Audience) -> Severity:
    """The severity of a finding in an environment for that audience."""
    if one.informs:
        return "note"
    ours, neutral = _TABLE[one.stops, one.is_literal]
    return ours if audience in _OURS else neutral if audience == "neutral" else "note"
