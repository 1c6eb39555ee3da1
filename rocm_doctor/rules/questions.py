"""What to ask: for the facts that are missing, the few commands whose output would decide the most, best first.

A question whose command is in the text with its output was answered: it is not asked again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec

from rocm_doctor.matrix import Matrix
from rocm_doctor.matrix.types import QuestionEntry
from rocm_doctor.model import Finding, Question, Snapshot, Undecided
from rocm_doctor.rules.frameworks import drop_torch_commands
from rocm_doctor.rules.offers import drop_python

MOST = 5
MOST_OF_GUESS = 2
"""Questions beside a hypothesis, at most."""
_NEEDED = 100.0
"""Weight of a fact without which no machine is ready."""
_HYPOTHESIS = 60.0
_SEPARATES = 101.0
"""Weight of what a row of a likely diagnosis lacks, beside a hypothesis: asked first."""
_SEEN = 20.0
"""Weight of a row whose failure line is in the text."""
_LEAST = 15.0
"""Weight below which a row's fact is not worth a question."""
_EACH = 0.1
"""For each row more that asks for it."""
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
    """At most MOST questions. `missing`: facts without which the machine cannot be called ready, the first the most wanted.

    `python`: False leaves out what only a Python answers. Beside a hypothesis, what the rows of the `likely` diagnoses lack comes first, and
    no other row is asked about.
    """
    found: dict[str, tuple[float, Question]] = {}
    guessed = any(f.confidence == "low" and f.severity != "note" for f in findings)
    rows = _row_facts((one for one in undecided if one.id in likely or not guessed), matrix)
    for fact, weight in (*_wanted_facts(missing), *((fact, weight + guessed * _SEPARATES) for fact, weight in rows)):
        known = _find_question(fact, snapshot, matrix)
        if known:
            before, one = found.get(known.key, (0.0, Question(known.key, known.asks, matrix.classify([known.command])[0])))
            facts = tuple(dict.fromkeys((*one.facts, fact)))
            found[known.key] = max(before, weight) + _EACH, msgspec.structs.replace(one, facts=facts)
    found |= {one.key: (_HYPOTHESIS, one) for one in _hypotheses(findings)}
    answered = _answered_facts(snapshot)
    ranked = [one for _, one in sorted(found.values(), key=lambda pair: -pair[0]) if one.command.text not in answered]
    ranked = [one for one in ranked if drop_torch_commands([one.command], snapshot) and (python or drop_python([one.command]))]
    return tuple({one.command.text: one for one in reversed(ranked)}.values())[::-1][: MOST_OF_GUESS if guessed else MOST]


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


def _wanted_facts(missing: Iterable[str]) -> Iterator[tuple[str, float]]:
    yield from ((fact, _NEEDED - place) for place, fact in enumerate(missing))


def _row_facts(undecided: Iterable[Undecided], matrix: Matrix) -> Iterator[tuple[str, float]]:
    """The facts that undecided rows lack: a row counts more if it lacks fewer facts and if its problem is worse."""
    for one in undecided:
        row = matrix.row(one.row)
        if row is not None:
            weight = (_SEEN if "log" in row.when else 0.0) + _BY_STATUS.get(row.status, 0.0)
            weight -= 4.0 if row.grade == "field" else 0.0
            yield from ((fact, weight / len(one.missing)) for fact in one.missing if weight / len(one.missing) >= _LEAST)


def _hypotheses(findings: Sequence[Finding]) -> Iterator[Question]:
    """What would settle the first hypothesis."""
    first = next(
        (f for f in findings if f.confidence == "low" and f.settle and not f.follows_from and f.severity != "note"), None
    )
    if first and first.settle:
        yield Question(first.row or first.id, f"whether it is this: {first.title}", first.settle)


def _answered_facts(snapshot: Snapshot) -> frozenset[str]:
    ran = snapshot.value("said.ran")
    return frozenset(ran) if isinstance(ran, tuple) else frozenset()
