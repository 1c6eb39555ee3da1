"""What to ask: for the facts that are missing, the few commands whose output would decide the most, best first.

A question whose command is in the text with its output was answered: it is not asked again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec

from rocm_doctor.matrix import Matrix
from rocm_doctor.matrix.advice import QuestionEntry
from rocm_doctor.model import Finding, Question, Snapshot, Undecided
from rocm_doctor.rules.frameworks import is_usable

MOST = 5
MOST_OF_GUESS = 2
"""Questions beside a hypothesis, at most."""
_SEEN = 20.0
"""Weight of a row whose failure line is in the text."""
_LEAST = 15.0
"""Weight below which a row's fact is not worth a question."""
_BY_STATUS = {"wrong": 16.0, "broken": 16.0, "degraded": 6.0, "unsupported": 6.0}


def questions(
    snapshot: Snapshot,
    findings: Sequence[Finding],
    undecided: Iterable[Undecided],
    missing: Iterable[str],
    matrix: Matrix,
    likely: Collection[str] = (),
    *,
    python: bool = True,
) -> tuple[Question, ...]:
    """At most MOST questions. `missing`: facts without which the machine cannot be called ready, the most wanted first. `python`:
    False leaves out what only a Python answers. If a finding is a hypothesis, only rows of the `likely` diagnoses are asked
    about, and these come first."""
    guessed = any(f.confidence == "low" and f.severity != "note" for f in findings)
    lacking = _row_facts((one for one in undecided if one.id in likely or not guessed), matrix)
    rows = [fact for fact, _ in sorted(lacking, key=lambda pair: -pair[1])]
    of_rows, needed = ([one for fact in facts for one in _ask(fact, snapshot, matrix)] for facts in (rows, missing))
    hypothesis = list(_hypotheses(findings))
    found: dict[str, Question] = {}
    for one in (*of_rows, *needed, *hypothesis) if guessed else (*needed, *hypothesis, *of_rows):
        before = found.setdefault(one.command.text, one)
        found[one.command.text] = msgspec.structs.replace(before, facts=tuple(dict.fromkeys((*before.facts, *one.facts))))
    ran = snapshot.value("said.ran")
    asked = [one for text, one in found.items() if not (isinstance(ran, tuple) and text in ran)]
    asked = [one for one in asked if is_usable(one.command, snapshot, python)]
    return tuple(asked[: MOST_OF_GUESS if guessed else MOST])


def _ask(fact: str, snapshot: Snapshot, matrix: Matrix) -> Iterator[Question]:
    """The question that settles the fact; none where there is none."""
    known = _find_question(fact, snapshot, matrix)
    if known:
        yield Question(known.key, known.asks, matrix.classify([known.command])[0], (fact,))


def _find_question(fact: str, snapshot: Snapshot, matrix: Matrix) -> QuestionEntry | None:
    """The question of this system that settles the fact; looked up once for each fact."""
    known, system = matrix.once(_question_cache), _system(snapshot)
    if (system, fact) not in known:
        asked = (q for q in matrix.questions if not q.systems or system in q.systems)
        known[system, fact] = next((q for q in asked if any(_covers(settled, fact) for settled in q.settles)), None)
    return known[system, fact]


def _question_cache(_: Matrix) -> dict[tuple[str, str], QuestionEntry | None]:
    return {}


def _system(snapshot: Snapshot) -> str:
    """The system that a command has to run on; Linux where nothing says otherwise."""
    if snapshot.value("wsl") is True:
        return "wsl"
    return "windows" if snapshot.value("platform") == "windows" else "linux"


def _covers(settled: str, fact: str) -> bool:
    return fact == settled or (settled.endswith(".") and fact.startswith(settled))


def _row_facts(undecided: Iterable[Undecided], matrix: Matrix) -> Iterator[tuple[str, float]]:
    """(fact, weight) for each fact that an undecided row lacks. The weight is higher for a worse problem, for a failure line that
    was seen, and for fewer missing facts. Weights below _LEAST are left out."""
    for one in undecided:
        row = matrix.row(one.row)
        if row is not None:
            weight = (_SEEN if "log" in row.when else 0.0) + _BY_STATUS.get(row.status, 0.0)
            weight -= 4.0 if row.grade == "field" else 0.0
            yield from ((fact, weight / len(one.missing)) for fact in one.missing if weight / len(one.missing) >= _LEAST)


def _hypotheses(findings: Sequence[Finding]) -> Iterator[Question]:
    """The question that settles the first hypothesis; none without a hypothesis that has a settling command."""
    first = next(
        (f for f in findings if f.confidence == "low" and f.settle and not f.follows_from and f.severity != "note"), None
    )
    if first and first.settle:
        yield Question(first.row or first.id, f"whether it is this: {first.title}", first.settle)
