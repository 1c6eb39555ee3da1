"""Three-valued rows: what is found, what stays open, what a fact rules out, and in which order it is said."""

from __future__ import annotations

import datetime

from rocm_doctor.matrix import Matrix, load
from rocm_doctor.matrix.rows import Diagnosis, Row
from rocm_doctor.model import Artifact, Fact, Finding, Reading, Snapshot
from rocm_doctor.rules.engine import failure_lines, judge
from rocm_doctor.rules.findings import finding
from rocm_doctor.rules.logs import Logs

TODAY = datetime.date(2026, 11, 21)
READ = (Reading("cmd/x", "line 1", "as read"),)


def row(key: str, diagnosis: str, when: dict[str, str], **more: object) -> Row:
    fields = {"title": key, "status": "broken", "grade": "official", "layer": "library", "cause": "c", "sources": ("s",), **more}
    return Row(key=key, diagnosis=diagnosis, when=when, checked=TODAY, **fields)  # type: ignore[arg-type]


def run(rows: list[Row], log: str = "", **facts: Fact) -> tuple[list[Finding], list[str]]:
    words = {r.diagnosis: Diagnosis(r.diagnosis, "t", "c", "c", "a", ("s",), TODAY) for r in rows}
    named = {name.replace("__", "."): fact for name, fact in facts.items()}
    matrix = Matrix(rows=tuple(rows), diagnoses=words, raw=load().raw)
    found, open_ = judge(Snapshot(named), Logs([Artifact("log/x", "paste", log)], failure_lines(matrix)), matrix, ())
    return found, [u.row for u in open_]


LINE = "boom at last\n"
TORCH = Fact("2.9.1+rocm6.4", READ)


def test_a_line_with_one_common_meaning_is_likely_and_quoted() -> None:
    found, _ = run([row("r", "d.one", {"log": "boom"}, prior="common")], LINE)
    assert (found[0].severity, found[0].confidence) == ("error", "medium")
    assert found[0].evidence[0].quote == "boom at last"


def test_a_line_with_many_meanings_is_a_hypothesis_and_no_error() -> None:
    found, _ = run([row("r", "d.one", {"log": "boom"})], LINE)
    assert (found[0].severity, found[0].confidence) == ("warning", "low")


def test_a_fact_decides() -> None:
    found, _ = run([row("r", "d.one", {"log": "boom", "torch.version": ">=2.9"})], LINE, torch__version=TORCH)
    assert (found[0].severity, found[0].confidence) == ("error", "high")
    assert READ[0] in found[0].evidence


def test_false_settles_and_a_missing_fact_leaves_it_open() -> None:
    asked = row("r", "d.one", {"log": "boom", "torch.version": ">=2.10"})
    assert run([asked], LINE, torch__version=TORCH) == ([], [])
    assert run([asked], LINE) == ([], ["r"])
    assert run([asked], "nothing of the kind") == ([], [])


def test_what_only_rules_out_counts_as_true_until_something_says_otherwise() -> None:
    asked = row("r", "d.one", {"log": "boom", "container": "absent", "wsl": "!yes"}, prior="common")
    assert [f.id for f in run([asked], LINE)[0]] == ["d.one"]
    assert not run([asked], LINE, container=Fact("docker", READ))[0]


def test_of_rivals_the_one_that_facts_speak_for_is_named_and_the_other_is_a_hypothesis() -> None:
    rows = [
        row("plain", "d.plain", {"log": "boom"}, prior="common"),
        row("told", "d.told", {"log": "boom", "torch.version": ">=2.9"}),
    ]
    found, _ = run(rows, LINE, torch__version=TORCH)
    assert [(f.id, f.confidence) for f in found] == [("d.told", "high"), ("d.plain", "low")]


def test_of_rivals_without_a_fact_the_more_common_one_is_named_first() -> None:
    rows = [
        row("a-rare", "d.rare", {"log": "boom"}, prior="rare"),
        row("b-possible", "d.possible", {"log": "boom"}, prior="possible"),
    ]
    assert [f.id for f in run(rows, LINE)[0]] == ["d.possible", "d.rare"]
    rows = [
        row("a-possible", "d.possible", {"log": "boom"}, prior="possible"),
        row("b-common", "d.common", {"log": "boom"}, prior="common"),
    ]
    assert [f.id for f in run(rows, LINE)[0]] == ["d.common", "d.possible"]


def test_a_rule_comes_before_rows_of_the_same_severity_and_confidence() -> None:
    facts = {"torch.version": TORCH, "torch.rocm": Fact("6.4", READ)}
    rows = [row("r", "a.row", {"torch.version": ">=2.9", "torch.rocm": ">=6.4"})]
    words = {name: Diagnosis(name, "t", "c", "c", "a", ("s",), TODAY) for name in ("a.row", "z.rule")}
    matrix = Matrix(rows=tuple(rows), diagnoses=words)
    found, _ = judge(Snapshot(facts), Logs(()), matrix, [lambda snapshot, matrix: [finding(matrix, "z.rule", evidence=READ)]])
    assert [(f.id, f.severity, f.confidence) for f in found] == [("z.rule", "error", "high"), ("a.row", "error", "high")]


def test_a_consequence_is_folded_under_its_cause() -> None:
    rows = [
        row("effect", "d.effect", {"log": "boom"}, prior="common", after=("d.cause",)),
        row("cause", "d.cause", {"torch.version": ">=2.9"}),
    ]
    found, _ = run(rows, LINE, torch__version=TORCH)
    assert [(f.id, f.follows_from) for f in found] == [("d.cause", ""), ("d.effect", "cause")]


def test_the_same_cause_from_two_lines_is_said_once() -> None:
    rows = [row("a", "d.one", {"log": "boom"}, prior="common"), row("b", "d.one", {"log": "crash"}, prior="common")]
    found, _ = run(rows, "boom\ncrash\n")
    assert [f.follows_from for f in found] == ["", "a"]
    assert {r.quote for r in found[0].evidence} == {"boom", "crash"}


def test_a_guess_on_grounds_of_experience_stays_low_even_beside_a_fact() -> None:
    guess = row("g", "d.one", {"log": "boom", "torch.version": "set"}, grade="field", prior="possible")
    assert run([guess], LINE, torch__version=TORCH)[0][0].confidence == "low"


def test_where_the_text_says_that_all_works_a_line_alone_is_a_hypothesis() -> None:
    asked = row("r", "d.one", {"log": "boom"}, prior="common")
    assert run([asked], LINE + "Everything works, can I ignore it?")[0][0].confidence == "low"


def test_a_harmless_row_is_a_note() -> None:
    found, _ = run([row("r", "d.one", {"log": "boom"}, status="works", harmless=True)], LINE)
    assert found[0].severity == "note"


def test_a_row_that_says_that_it_works_mutes_no_other() -> None:
    """A wide row of the best grade does not know the exception that a narrow one does."""
    wrong = row("wrong", "d.one", {"torch.version": "2.9.*"}, status="wrong", grade="field")
    works = row("works", "d.one", {"torch.version": ">=2.9"}, status="works")
    for rows in ([wrong, works], [works, wrong]):
        assert [(f.row, f.severity) for f in run(rows, torch__version=TORCH)[0]] == [("wrong", "error")]


def test_a_row_supersedes_by_key_whatever_its_grade() -> None:
    broken = row("old", "d.one", {"torch.version": ">=2.9"}, grade="upstream")
    newer = row("new", "d.two", {"torch.version": ">=2.9"}, status="works", grade="field", supersedes=("old",), title="fixed")
    for rows in ([broken, newer], [newer, broken]):
        found, _ = run(rows, torch__version=TORCH)
        assert found == []


def test_a_superseding_row_that_cannot_be_decided_overrules_nothing() -> None:
    broken = row("old", "d.one", {"torch.version": ">=2.9"}, grade="upstream")
    newer = row("new", "d.two", {"torch.version": ">=2.9", "kernel": ">=6"}, status="works", supersedes=("old",))
    assert [f.severity for f in run([broken, newer], torch__version=TORCH)[0]] == ["error"]


def test_silently_wrong_results_come_first() -> None:
    crash = row("crash", "d.one", {"torch.version": ">=2.9"})
    wrong = row("wrong", "d.two", {"torch.version": ">=2.9"}, status="wrong", grade="field")
    found, _ = run([crash, wrong], torch__version=TORCH)
    assert [(f.row, f.severity) for f in found] == [("wrong", "error"), ("crash", "error")]


def test_hearsay_is_never_more_than_a_note() -> None:
    assert run([row("r", "d.one", {"torch.version": ">=2.9"}, grade="hearsay")], torch__version=TORCH)[0][0].severity == "note"
