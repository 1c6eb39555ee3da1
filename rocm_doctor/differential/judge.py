"""The differential of one report: the likely diagnoses with what speaks for them, and the findings in their order.

It is asked only where a person or a failing program speaks. What it says alone is a hypothesis: a row or a rule has to decide an
error.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.differential import model
from rocm_doctor.differential.complaint import FAILURE, Line, complaint, text_of
from rocm_doctor.differential.features import finding_features, in_words, text_features
from rocm_doctor.differential.relations import fact_of, relations
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import GUESS, Artifact, Finding, Likely, Reading, Similar, Snapshot
from rocm_doctor.rules.findings import finding

SHOWN = 5
"""Diagnoses in a differential, at most."""
HYPOTHESES = 3
"""Diagnoses that become findings without a row, at most: the likeliest and its alternatives."""
LEAST = 0.03
"""Probability below which a diagnosis is left out."""
HYPOTHESIS = 0.04
"""Probability from which on a diagnosis that no row found becomes a finding of its own."""
AGAINST_NONE = 0.05
"""How probable a hypothesis has to be, as a share of the probability that nothing is wrong with the GPU stack."""
CLEAR = 0.9
"""Probability of the first diagnosis from which on it has no alternatives."""
TIMES = 10
"""How many times as probable as a finding of more than low confidence a hypothesis has to be to come before it."""
MOST_SIMILAR = 3
"""Solved reports beside a diagnosis, at most."""
_WORDS = 6
"""Words of a person that make a complaint; less is a caption over a tool's output."""
_MANY_WORDS = 25
"""Words of a person that are a complaint even without a word of failure."""
_TROUBLE = regex(
    FAILURE
    + r"|crash|freez|wrong|broken|problem|issue|trouble|help|weird|strange|stops|doesn't|does not|don't|won't|never|stopped"
    r"|not (?:work|detect|find|found|see|use|recogni|support|start|load|able|listed|visible)|\boom\b|dies|dead|nothing happens|black"
    r"|\bnone\b|\bno (?:gpu|device|hip|card)|any ?more|but not|works (?:with|on|in|only)|warning"
    r"|\?|how (?:do|can|to)|why|feature|request|suggest|would be nice|only (?:the )?cpu|on cpu|instead of",
    re.I,
)
_BROKEN = regex(
    r"segmentation fault|sigsegv|core dumped|traceback \(most|\b\w*error:|\b(?:failed|could not|cannot|unable to)\b|invalid device",
    re.I,
)
_QUOTES = 2


class Differential(msgspec.Struct, frozen=True):
    """The likely diagnoses, the most probable first; the share of every diagnosis; the lines weighed; what carried each likely one."""

    likely: tuple[Likely, ...]
    shares: dict[str, float]
    lines: tuple[Line, ...]
    features: dict[str, tuple[str, ...]]
    near: tuple[Similar, ...]
    """Solved reports that read like this one, whatever their diagnosis, the nearest first."""
    model: model.Loaded

    def gains(self) -> dict[str, float]:
        """By fact, what knowing it is expected to tell the likely diagnoses apart, in nats."""
        return model.gains(self.model, list(self.shares.values()), fact_of)

    def ordered(self, findings: Sequence[Finding], matrix: Matrix, *, machine: bool, lead: bool = False) -> list[Finding]:
        """The findings in the order of the differential, with hypotheses where it names what no row found.

        Consequences stay behind their causes, notes behind both. `machine`: the facts were read on the machine itself and decide;
        the order stays, and hypotheses are added only where nothing else was found. A hypothesis is an alternative unless it comes
        first and is at least as likely as `none`. `lead`: it leads all the same, since there is an answer to the symptom.
        """
        serious = {f.id for f in findings if f.severity != "note"}
        if machine and serious:
            return list(findings)
        found = [
            *findings,
            *(_hypothesis(one, self, matrix) for one in self._hypotheses(bool(serious) or lead) if one.id not in serious),
        ]
        found.sort(key=lambda f: (f.severity == "note", bool(f.follows_from), -self._weight(f)))
        none = self.shares.get(model.NONE, 0.0)
        return [
            msgspec.structs.replace(f, alternative=n > 0 or (not lead and self.shares[f.id] < none)) if f.origin == GUESS else f
            for n, f in enumerate(found)
        ]

    def _hypotheses(self, found: bool) -> list[Likely]:
        """The likeliest diagnosis, and those to think of next. Where rows found nothing, the likeliest has to be likely enough."""
        named = [one for one in self.likely if one.id != model.NONE][:HYPOTHESES]
        least = max(HYPOTHESIS, AGAINST_NONE * self.shares.get(model.NONE, 0.0))
        if not named or (not found and named[0].probability < least):
            return []
        return named if named[0].probability < CLEAR else named[:1]

    def _weight(self, one: Finding) -> float:
        """Its probability, TIMES that where a row or a rule is sure of more than a hypothesis. Facts that decide come first where the
        model does not know the diagnosis; another row of such a diagnosis weighs as the likeliest that it knows."""
        unknown = 1.0 if one.confidence == "high" else max(self.shares.values(), default=0.0)
        return self.shares.get(one.id, unknown) * (1 if one.confidence == "low" else TIMES)


def differential(
    artifacts: Sequence[Artifact], snapshot: Snapshot, findings: Sequence[Finding], matrix: Matrix
) -> Differential | None:
    """None where no complaint is to be weighed, or no weights are at hand."""
    lines = complaint(artifacts)
    silent = all(f.severity == "note" for f in findings)
    if not any(a.name.startswith("log/") for a in artifacts) and not _complains(lines) and not (silent and _breaks(lines)):
        return None
    loaded = model.load()
    if loaded is None or not lines:
        return None
    text = text_of(lines)
    facts = set(relations(snapshot, matrix, text))
    found = set(finding_features(findings))
    vector = model.vector(loaded, text_features(text), facts)
    shares = model.probabilities(loaded, model.scores(loaded, vector, found))
    order = sorted(range(len(shares)), key=lambda n: -shares[n])
    near = tuple(Similar(c.thread, c.label, c.cause, c.fix, round(s, 2), c.gfx) for c, s in model.similar(loaded, vector))
    likely: list[Likely] = []
    features: dict[str, tuple[str, ...]] = {}
    for number in order[:SHOWN]:
        name = loaded.weights.classes[number]
        if shares[number] < LEAST and likely:
            break
        carried = [f for f, _ in model.strongest(loaded, vector, name)]
        features[name] = tuple(carried)
        because = [
            *(_row_word(f) for f in findings if f.id == name and f.severity != "note"),
            *filter(None, map(in_words, carried)),
        ]
        alike = tuple(one for one in near if one.label == name)[:MOST_SIMILAR]
        likely.append(Likely(name, round(shares[number], 3), tuple(dict.fromkeys(because))[:6], alike))
    return Differential(tuple(likely), dict(zip(loaded.weights.classes, shares)), tuple(lines), features, near, loaded)


def _complains(lines: Sequence[Line]) -> bool:
    """True if a person speaks, and something fails or is asked: a listing with its captions is neither."""
    said = sum(len(line.text.split()) for line in lines if line.person)
    return said >= _MANY_WORDS or (said >= _WORDS and any(_TROUBLE.search(line.text) for line in lines))


def _breaks(lines: Sequence[Line]) -> bool:
    """True if a program ends with an error. Where a row knows that error, words of a person are needed beside it."""
    return any(_BROKEN.search(line.text) for line in lines)


def _row_word(one: Finding) -> str:
    return f"{one.row or 'a rule'} found it ({one.confidence} confidence)"


def _hypothesis(top: Likely, made: Differential, matrix: Matrix) -> Finding:
    """What the differential says alone: never an error, and with the lines that carried it.

    It proposes no command that changes anything: a wrong one costs more than a right one helps.
    """
    commands = matrix.typed(matrix.diagnoses[top.id].commands)
    return finding(
        matrix,
        top.id,
        commands=tuple(c for c in commands if c.effect == "reads"),
        severity="warning",
        confidence="low",
        evidence=_quotes(made.lines, made.features[top.id]),
        grade="field",
        origin=GUESS,
    )


def _quotes(lines: Sequence[Line], features: Sequence[str]) -> list[Reading]:
    """The lines that hold most of the words that carried a diagnosis; the first line where facts alone carried it."""
    weight = {name: len(features) - n for n, name in enumerate(features)}
    scored = [(sum(weight.get(name, 0) for name in text_features(line.text)), -n, line) for n, line in enumerate(lines)]
    best = sorted((one for one in scored if one[0] > 0), reverse=True, key=lambda one: one[:2])[:_QUOTES]
    chosen = [line for _, _, line in sorted(best, key=lambda one: -one[1])] or list(lines[:1])
    return [Reading(line.artifact, f"line {line.number}", line.quote.strip()[:240]) for line in chosen]
