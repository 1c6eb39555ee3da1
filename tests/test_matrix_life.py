"""The life of a row: ranges with a beginning and an end, release lines, the ROCm that is loaded, sources with a place and a date."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
from matrix_machines import MATRIX, findings, machine, rows, torch

from rocm_doctor.matrix import Matrix
from rocm_doctor.matrix.checks.citations import addresses, publications, source_form
from rocm_doctor.matrix.checks.rows import ranges
from rocm_doctor.matrix.checks.text import age
from rocm_doctor.matrix.citations import Citation, parse_citation
from rocm_doctor.matrix.hip import hip_of_rocm, rocm_of_hip
from rocm_doctor.matrix.ranges import condition, remedy
from rocm_doctor.matrix.rows import Issue, Range, Row, Verified
from rocm_doctor.matrix.source import Shorts, entries, read_yaml
from rocm_doctor.model import Unknown
from rocm_doctor.versions import series

TODAY = datetime.date(2026, 11, 21)
URL = "https://example.org/page"
WRITTEN = """
- key: planted
  diagnosis: arch.blas-missing
  title: planted
  when: {gpu.gfx: gfx1201}
  affected:
    torch.release:
      - {line: upstream, introduced: "2.7", fixed: "2.12"}
      - {line: amd, introduced: "2.7", fixed: "2.10"}
  status: wrong
  grade: upstream
  range_grade: field
  layer: library
  cause: c
  advice: Wait.
  issues: [{id: "ROCm/TheRock#1", state: open, seen: 2026-11-20}]
  verified: {date: 2026-11-21, outcome: confirmed}
  sources: ["https://example.org/x § heading, seen 2026-11-20"]
  checked: 2026-11-20
"""


def row(**more: object) -> Row:
    fields = {"status": "broken", "grade": "upstream", "layer": "library", "cause": "c", "sources": (URL,), **more}
    return Row(key="r", diagnosis="d.x", title="t", when={}, checked=TODAY, **fields)  # type: ignore[arg-type]


@pytest.fixture
def planted(tmp_path: Path) -> Matrix:
    path = tmp_path / "site.yaml"
    path.write_text(WRITTEN, encoding="utf-8")
    planted = entries("rows", path, read_yaml(path), Shorts({}, {}), [], tmp_path)
    return MATRIX.replace_rows((*MATRIX.rows, *(entry.value for entry in planted)))


@pytest.mark.parametrize(
    ("version", "family", "found"),
    [
        ("2.11.0+rocm7.2", "bundled", True),
        ("2.12.0+rocm7.2", "bundled", False),
        ("2.6.0+rocm6.2", "bundled", False),
        ("2.9.1+rocm7.2.0.lw.git7e1940d4", "amd-listing", True),
        ("2.11.0+rocm7.12.0", "therock", False),
    ],
)
def test_a_fork_and_upstream_have_their_own_ends(planted: Matrix, version: str, family: str, found: bool) -> None:
    made = findings(torch(version, family), {"gfx": "gfx1201"}, matrix=planted)
    assert ("planted" in rows(made)) is found
    if found:
        one = next(f for f in made if f.row == "planted")
        assert one.advice == "Wait. Fixed in PyTorch's torch 2.12 and in AMD's torch 2.10."
        assert one.severity == "error"


def test_a_build_from_source_may_come_from_either_line(planted: Matrix) -> None:
    assert isinstance(machine(torch("2.11.0", "source")).get("torch.release").value, Unknown)
    assert "planted" not in rows(findings(torch("2.11.0", "source"), {"gfx": "gfx1201"}, matrix=planted))
    assert "planted" in rows(findings(torch("2.8.0", "source"), {"gfx": "gfx1201"}, matrix=planted))


@pytest.mark.parametrize(
    ("family", "own", "systems", "loaded"),
    [
        ("bundled", "7.2", "6.4.1", "7.2"),
        ("therock", "10.0.0", None, "10.0.0"),
        ("amd-listing", "7.2.0", "7.2.1", "7.2.1"),
        ("source", "6.3.0", "6.3.4", "6.3.4"),
        ("source", "6.3.0", None, "6.3.0"),
        (None, "7.2", "6.4.1", "7.2"),
        (None, None, "6.4.1", "6.4.1"),
        (None, None, None, None),
    ],
)
def test_the_rocm_that_is_loaded(family: str | None, own: str | None, systems: str | None, loaded: str | None) -> None:
    facts = {"torch.family": family, "torch.rocm": own, "rocm.version": systems}
    made = machine({name: value for name, value in facts.items() if value})
    assert (made.get("rocm.loaded").value if loaded else made.facts.get("rocm.loaded")) == loaded


def test_the_bounds_of_a_range() -> None:
    assert condition([Range(introduced="7.2", fixed="10.1")]) == ">=7.2,<10.1"
    assert condition([Range(last_affected="7.2.x"), Range(introduced="10.0")]) == "<=7.2.x|>=10.0"
    assert condition([Range(line="amd", fixed="2.10")]) == "amd:<2.10"
    assert remedy({"rocm.loaded": (Range(introduced="7.2", last_affected="7.3"),)}) == ""


@pytest.mark.parametrize(
    ("fact", "made", "words"),
    [
        ("rocm.loaded", [Range(introduced="10.1", fixed="7.2")], "ends at 7.2 before it begins at 10.1"),
        ("rocm.loaded", [Range(introduced="7.2", fixed="7.2")], "before it begins"),
        ("rocm.loaded", [Range(introduced="7.3", last_affected="7.2.x")], "before it begins"),
        ("rocm.loaded", [Range(fixed="7.2", last_affected="7.1")], "not with both"),
        ("rocm.loaded", [Range()], "at least one end"),
        ("rocm.loaded", [Range(fixed="soon")], "not a version"),
        ("rocm.loaded", [Range(line="amd", fixed="7.2")], "belongs to torch.release"),
        ("torch.release", [Range(fixed="2.12")], "belongs to torch.release"),
        ("rocm.loaded", [Range(introduced="7.0", fixed="7.2"), Range(introduced="7.1", fixed="7.3")], "overlap at 7.1"),
        ("rocm.loaded", [Range(introduced="7.0"), Range(introduced="7.1", fixed="7.3")], "overlap at 7.1"),
        ("gpu.gfx", [Range(fixed="7.2")], "a version"),
    ],
)
def test_lint_names_a_range_that_cannot_be(fact: str, made: list[Range], words: str) -> None:
    assert any(words in message for _, message in ranges(row(affected={fact: tuple(made)})))


@pytest.mark.parametrize(
    ("fact", "made"),
    [
        ("rocm.loaded", [Range(introduced="7.2.x", last_affected="7.2.x")]),
        ("rocm.loaded", [Range(introduced="7.0", fixed="7.2"), Range(introduced="7.2", fixed="7.3")]),
        ("torch.release", [Range(line="amd", fixed="2.10"), Range(line="upstream", fixed="2.12")]),
    ],
)
def test_sound_ranges_pass(fact: str, made: list[Range]) -> None:
    assert not list(ranges(row(affected={fact: tuple(made)})))


def test_a_source_has_a_place_a_quotation_and_a_date() -> None:
    whole = 'https://x.org/i/1 § comment of 2026-10-02 "fixed in 10.1", seen 2026-11-22'
    assert parse_citation(whole) == Citation(
        "https://x.org/i/1", "comment of 2026-10-02", "fixed in 10.1", datetime.date(2026, 11, 22)
    )
    assert parse_citation(f"{URL}, seen 2026-11-22") == Citation(URL, seen=datetime.date(2026, 11, 22))
    assert parse_citation(URL) == Citation(URL)
    assert not list(source_form(row(sources=(whole,))))
    assert list(source_form(row(sources=("a friend § aside, seen 2026-11-22",))))
    assert list(source_form(row(affected={"rocm.loaded": (Range(fixed="7.2", source="a friend"),)})))


@pytest.mark.parametrize(
    ("source", "wrong"),
    [
        ("https://github.com/ROCm/TheRock/issues/7699", True),
        ("https://github.com/ROCm/pytorch/pull/3448 § description", True),
        ("https://gitlab.freedesktop.org/drm/amd/-/issues/4000", True),
        ("https://bugzilla.kernel.org/show_bug.cgi?id=219000", True),
        ("https://www.reddit.com/r/ROCm/comments/1abcde/title/", True),
        ("field report: cluster notes (2026-11)", True),
        ("https://rocm.docs.amd.com/en/latest/x.html", False),
        ("ROCm/rocm-docs docs/data/gpus.yaml@793e0c2", False),
    ],
)
def test_a_thread_of_a_tracker_is_not_official(source: str, wrong: bool) -> None:
    assert bool(list(publications(row(grade="official", sources=(source,))))) is wrong
    assert not list(publications(row(sources=(source,))))


@pytest.mark.parametrize(
    ("sources", "grade", "wrong"),
    [
        (("field report: cluster notes (2026-11)",), "field", True),
        (("field report: cluster notes (2026-11)",), "hearsay", False),
        (("field report: cluster notes (2026-11)", URL), "field", False),
    ],
)
def test_what_no_one_can_follow_is_hearsay(sources: tuple[str, ...], grade: str, wrong: bool) -> None:
    assert bool(list(addresses(row(grade=grade, sources=sources)))) is wrong


def test_stale_rows_and_dates_to_come() -> None:
    def said(one: Row, day: datetime.date) -> list[tuple[str, str]]:
        return [(level, field) for level, field, _ in age(one, day)]

    open_ = row(issues=(Issue("a/b#1", "open", TODAY),))
    assert said(open_, TODAY + datetime.timedelta(93)) == [("warning", "issues")]
    assert said(row(issues=(Issue("a/b#1", "fixed", TODAY),)), TODAY + datetime.timedelta(93)) == []
    year = TODAY + datetime.timedelta(400)
    assert said(row(), year) == [("warning", "checked")]
    assert said(row(verified=Verified(year, "confirmed")), year) == []
    assert said(row(sources=(f"{URL}, seen {year}",)), TODAY) == [("error", "sources")]


@pytest.mark.parametrize(
    ("hip", "rocm"),
    [
        ("7.15.26333", "10.0"),
        ("7.16.26385", "10.1"),
        ("7.14.60850", "7.14"),
        ("6.1.32830", "6.0"),
        ("6.1.32831", "6.0"),
        ("6.1.40091-a8dbc0c19", "6.1"),
        ("6.3.42134-a9a80e791", "6.3"),
        ("5.4.22801", "5.4"),
        ("7.99.1", None),
        ("?", None),
    ],
)
def test_rocm_of_a_hip_version(hip: str, rocm: str | None) -> None:
    assert rocm_of_hip(hip, MATRIX.rocm) == rocm


def test_every_release_gets_its_hip_and_back() -> None:
    assert all(rocm_of_hip(r.hip, MATRIX.rocm) == series(r.version) for r in MATRIX.rocm if r.hip)
    assert (hip_of_rocm("10.0.0", MATRIX.rocm), hip_of_rocm("7.2", MATRIX.rocm)) == ("7.15", "7.2")


def test_torchs_rocm_follows_from_its_hip_where_only_that_was_read() -> None:
    assert machine({"torch.hip": "7.16.26385"}).get("torch.rocm").value == "10.1"
    assert machine({"torch.hip": "7.16.26385", "torch.rocm": "9"}).get("torch.rocm").value == "9"
    assert "torch.rocm" not in machine({"torch.hip": "7.99.1"}).facts
