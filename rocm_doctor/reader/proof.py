"""What a language model said, proven: quotes are looked up, commands and versions are judged, contradictions are named."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from rocm_doctor.commands import settings
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Artifact, Cause, Command, Finding, Proposal, Reading, Report, Step
from rocm_doctor.reader.answer import Told, ToldCause, ToldStep
from rocm_doctor.reader.prompt import is_decided, own_text
from rocm_doctor.reader.verify import Verifier
from rocm_doctor.rules.logs import readable_logs

NONE, OTHER = "none", "other"
_SHORTEST = 6
"""Characters of a quote that tell something."""


def proven(told: Told, report: Report, artifacts: Sequence[Artifact], matrix: Matrix) -> tuple[Cause, ...]:
    """The causes with what was proven of each, for the report and the artifacts that the model was shown."""
    known = Verifier(report.snapshot, report.kind, matrix, own_text(artifacts))
    decided = [finding for finding in report.findings if is_decided(finding)]
    lines = list(_lines(report, artifacts))
    return tuple(_cause(cause, known, decided, lines) for cause in told.causes)


def _lines(report: Report, artifacts: Sequence[Artifact]) -> Iterator[Reading]:
    """Every line of the text, then what facts were read in."""
    for log in readable_logs(artifacts):
        for number, line in enumerate(log.text.split("\n"), 1):
            yield Reading(log.note or log.name, f"line {number}", " ".join(line.split()))
    for facts in (report.snapshot.facts, *(gpu.facts for gpu in report.snapshot.gpus)):
        yield from (reading for fact in facts.values() for reading in fact.readings)


def _cause(told: ToldCause, known: Verifier, decided: Sequence[Finding], lines: Sequence[Reading]) -> Cause:
    quotes = [" ".join(part.split()) for quote in told.quotes for part in quote.split("\n") if part.strip()]
    found = {
        quote: next((r for r in lines if len(quote) >= _SHORTEST and quote in " ".join(r.quote.split())), None)
        for quote in quotes
    }
    against = decided[0].title if decided and told.diagnosis == NONE else ""
    return Cause(
        told.diagnosis if told.diagnosis in known.matrix.diagnoses or told.diagnosis == NONE else OTHER,
        "" if known.destroys(told.cause) else known.names.mark(_flat(told.cause)),
        tuple(Reading(r.artifact, r.place, one) for one, r in found.items() if r),
        sum(r is None for r in found.values()),
        tuple(_step(one, known, decided) for one in told.cure),
        against,
    )


def _step(told: ToldStep, known: Verifier, decided: Sequence[Finding]) -> Step:
    words = "" if known.destroys(told.do) else known.names.mark(_flat(told.do))
    return Step(words, tuple(_proposal(text, known, decided) for text in told.commands if text.strip()))


def _proposal(text: str, known: Verifier, decided: Sequence[Finding]) -> Proposal:
    """The command, judged; withheld where it sets a variable otherwise than a finding that evidence decides."""
    one = known.judge(text)
    stated = {name: (value, of.title) for of in decided for command in of.commands for name, value in settings(command).items()}
    for name, value in (pair for command in (*one.commands, Command(text)) for pair in settings(command).items()):
        if name in stated and stated[name][0] != value:
            return Proposal("withheld", f"it sets {name} otherwise than evidence says: {stated[name][1]}")
    return msgspec.structs.replace(one, said="" if one.proof == "withheld" else _flat(text))


def _flat(text: str) -> str:
    return " ".join(text.split())
