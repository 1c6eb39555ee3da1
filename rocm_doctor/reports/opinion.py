"""The second opinion of a language model as lines for every format: what of it was proven, corrected, withheld, or is its word only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rocm_doctor.model import Command, Opinion, Proof, Proposal

LABELS: dict[Proof, str] = {"proven": "checked", "corrected": "corrected", "word": "its word", "withheld": "withheld"}


class Line(NamedTuple):
    """A label, a sentence, and commands to paste."""

    label: str
    words: str
    commands: tuple[Command, ...] = ()


def heading(opinion: Opinion) -> str:
    """One sentence: whose opinion it is and what was checked of it, or why there is none."""
    who = f"{opinion.model} ({opinion.server})"
    if opinion.failure:
        return f"No second opinion of {who}: {opinion.failure}"
    return f"Second opinion of {who}, asked for with --reader: its quotes, commands and versions were checked, its conclusions were not"


def lines(opinion: Opinion) -> Iterator[Line]:
    """What it said, the likeliest cause first."""
    for cause in opinion.causes:
        yield Line("cause", f"{cause.id}: {cause.words}")
        if cause.against:
            yield Line("against", f"evidence says otherwise: {cause.against}")
        yield from (Line("quote", f"{r.artifact} {r.place}: {r.quote}".replace(" :", ":")) for r in cause.evidence)
        if cause.misquoted:
            yield Line("quote", f"{cause.misquoted} more stand nowhere in the text and are left out")
        for step in cause.steps:
            yield Line("step", step.words or "[withheld: it tells to run what deletes files]")
            yield from map(_proposal, step.proposals)


def _proposal(one: Proposal) -> Line:
    if one.proof == "corrected":
        return Line(LABELS[one.proof], f"{one.because}; in place of `{one.said}`:", one.commands)
    return Line(LABELS[one.proof], f"`{one.said}`: {one.because}" if one.proof == "word" else one.because, one.commands)
