"""How much a finding weighs, by whom its environment is for, what it does, and whether it is literal: the one place that decides it.

What lint judges is literal where every line that it needs was read word for word, and nothing unread comes before it. Environments for others
are not judged.
"""

from __future__ import annotations

from rocm_doctor.lint.model import Audience, Effect, Problem
from rocm_doctor.model import Severity

_TABLE: dict[tuple[Effect, bool], tuple[Severity, Severity]] = {
    # (effect, literal): (in an environment for AMD, or the main one; in a neutral one)
    ("stops", True): ("error", "warning"),
    ("stops", False): ("warning", "note"),
    ("harms", True): ("warning", "note"),
    ("harms", False): ("note", "note"),
    ("informs", True): ("note", "note"),
    ("informs", False): ("note", "note"),
}


def severity(problem: Problem, audience: Audience) -> Severity:
    """The severity of a finding in an environment for that audience."""
    return _TABLE[problem.effect, problem.is_literal][audience == "neutral"]
