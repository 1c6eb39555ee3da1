"""JSON: the judgement as it is."""

from __future__ import annotations

import msgspec

from rocm_doctor.fleet.judge import Judged


def render(judged: Judged) -> str:
    """One indented document that ends with a newline."""
    return msgspec.json.format(msgspec.json.encode(judged.summary), indent=1).decode() + "\n"
