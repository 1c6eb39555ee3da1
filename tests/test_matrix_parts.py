"""Small parts of the matrix, each case with its healthy neighbour: conditions, ranges."""

from __future__ import annotations

import datetime
import os
from pathlib import Path

import pytest
from matrix_machines import MATRIX

from rocm_doctor.matrix.checks.citations import range_sources, source_form
from rocm_doctor.matrix.checks.rows import conditions, grades, open_ends
from rocm_doctor.matrix.checks.text import personal_data
from rocm_doctor.matrix.ranges import remedy
from rocm_doctor.matrix.rows import Range, Row
from rocm_doctor.matrix.source import read_entries
from rocm_doctor.matrix.store import SECTIONS, _is_newer, load
from rocm_doctor.matrix.types import Support

DAY = datetime.date(2026, 11, 22)
PAGE = "https://rocm.docs.amd.com/en/docs-7.0.2/compatibility/compatibility-matrix.html"


def row(key: str = "one", **more: object) -> Row:
    fields: dict[str, object] = {
        "diagnosis": "lib.triton",
        "title": "t",
        "status": "broken",
        "grade": "official",
        "layer": "library",
    }
    fields |= {"cause": "c", "when": {"pkg.triton": "set"}, "checked": DAY, "sources": (PAGE,)}
    return Row(key=key, **{**fields, **more})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("until", "sources", "beyond"),
    [
        ("7.0.x", (PAGE,), False),
        ("7.1", (PAGE,), True),
        ("", (PAGE,), False),
        ("dev", (PAGE,), False),
        ("7.1", (PAGE, "https://github.com/ROCm/TheRock/issues/1"), False),
    ],
)
def test_a_statement_ends_where_its_sources_do(until: str, sources: tuple[str, ...], beyond: bool) -> None:
    said = Support(
        "k", ("gfx1100",), "7.0", until, "linux", "supported", "runtime", "w", sources=sources, grade="official", checked=DAY
    )
    assert bool(list(range_sources(said))) is beyond


@pytest.mark.parametrize(
    ("name", "condition", "words"),
    [
        ("gpu.is_apu", "maybe", "`yes` or `no`, not `maybe`"),
        ("gpu.vram_bytes", "much", "not a bound on a number"),
        ("torch.release", "mine:2.1", "not a line of torch releases"),
        ("torch.version", ">=x", "x"),
        ("log", "*", "has no words"),
    ],
)
def test_each_kind_of_condition_says_what_is_wrong_with_it(name: str, condition: str, words: str) -> None:
    assert any(words in said for _, said in conditions(row(when={name: condition})))


@pytest.mark.parametrize(
    ("name", "condition"),
    [
        ("gpu.is_apu", "no"),
        ("gpu.vram_bytes", ">=16GiB"),
        ("torch.release", "amd:<2.10"),
        ("torch.version", "2.4.*"),
        ("log", "a*b"),
    ],
)
def test_a_sound_condition_is_no_complaint(name: str, condition: str) -> None:
    assert not list(conditions(row(when={name: condition})))


def test_a_grade_of_its_own_differs_from_that_of_the_cause() -> None:
    assert [field for field, _ in grades(row(range_grade="official", remedy_grade="field"))] == ["range_grade"]
    assert not list(grades(row()))


@pytest.mark.parametrize(
    ("fact", "words"),
    [
        ("torch.hip", "HIP 7.16"),
        ("rocm.loaded", "ROCm 7.16"),
        ("kernel", "kernel 7.16"),
        ("driver.windows", "driver 7.16"),
        ("torch.release", "torch 7.16"),
        ("pkg.peft", "peft 7.16"),
    ],
)
def test_a_fix_is_named_in_the_words_of_its_fact(fact: str, words: str) -> None:
    assert remedy({fact: (Range(fixed="7.16"),)}) == f"Fixed in {words}."


def test_the_short_names_of_sources_are_written_out_in_every_section(tmp_path: Path) -> None:
    for name in ("packages", "steps", "indexes", "xformers", "cuda_only", "requires_torch"):
        for entry in MATRIX.plain(name) or ():
            assert all(" " in source or "/" in source for source in entry.get("sources", ())), (name, entry)


@pytest.mark.parametrize(("after", "newer"), [(-1, False), (0, True), (1, True)])
def test_a_file_of_the_same_moment_counts_as_newer(after: int, newer: bool, tmp_path: Path) -> None:
    """A file system with a coarse clock gives one time to the compiled matrix and to an edit right after it."""
    made = 1_700_000_000_000_000_000
    inside = tmp_path / "row.yaml"
    inside.write_text("", encoding="utf-8")
    os.utime(inside, ns=(made + after * 10**9, made + after * 10**9))
    assert _is_newer(inside, made) == newer
    assert _is_newer(tmp_path, made) == newer


def test_every_typed_section_is_in_the_catalog() -> None:
    """A section without a type would be decoded as plain values, and nothing of it would be checked."""
    assert {entry.section for entry in read_entries(Path(__file__).parents[1] / "compat_matrix", [])} >= SECTIONS.keys()


@pytest.mark.parametrize(
    ("text", "private"),
    [
        ("/home/ada/train", True), ("/root/x", True), ("/Users/ada", True), ("C:\\Users\\ada", True), ("ada@lab.de", True), ("ada@lab.example", False),
        ("10.1.2.3", True), ("192.168.0.7", True), ("172.16.0.1", True), ("172.31.9.9", True), ("172.32.0.1", False), ("10.1.2.3.4", False),
        ("11.1.2.3", False), ("/opt/rocm-6.4.0", False), ("driver 30.10.0", False),
    ],
)  # fmt: skip
def test_what_looks_private_is_no_fact_of_the_world(text: str, private: bool) -> None:
    for field in ({"cause": text}, {"when": {"log": text}}, {"sources": (text,)}):
        assert bool(list(personal_data(row(**field)))) is private


META = "https://pypi.org/project/flash-attn/2.8.3/ § wheel flash-attn 2.8.3: METADATA"
BUILD = "https://github.com/Dao-AILab/flash-attention/blob/v2.8.3/setup.py § allowed_archs"


@pytest.mark.parametrize(
    ("status", "sources", "refused"),
    [
        ("works", (META,), True),
        ("works", (BUILD, META), True),
        ("works", (META, PAGE), False),
        ("allowed", (META,), False),
        ("broken", (META,), False),
    ],
)
def test_what_only_metadata_says_is_allowed_and_not_works(status: str, sources: tuple[str, ...], refused: bool) -> None:
    problems = list(grades(row(status=status, sources=sources)))
    assert bool(problems) is refused
    assert all("use `allowed`" in words for _, words in problems)


def test_wrong_results_are_never_harmless() -> None:
    assert list(grades(row(status="wrong", harmless=True)))
    assert not list(grades(row(status="degraded", harmless=True)))
    assert not list(grades(row(status="wrong")))


@pytest.mark.parametrize(
    ("when", "affected", "refused"),
    [
        ({"pkg.peft": "<0.20"}, Range(introduced="5.18"), True),
        ({"python.version": "<3.11"}, Range(introduced="5.21"), True),
        ({"pkg.peft": "<0.20"}, Range(introduced="5.18", last_affected="5.23.x"), False),
        ({"pkg.peft": "<0.20"}, Range(introduced="5.18", fixed="5.24"), False),
        ({"gpu.gfx": "gfx906"}, Range(introduced="0.49"), False),
        ({"pkg.peft": "absent"}, Range(introduced="5.18"), False),
    ],
)
def test_a_number_read_in_the_newest_release_has_an_end(when: dict[str, str], affected: Range, refused: bool) -> None:
    assert bool(list(open_ends(row(when=when, affected={"pkg.transformers": (affected,)})))) is refused


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("ROCm/TheRock RELEASES.md@89553ce § WSL, seen 2026-11-22", True), ("PyPI wheels peft 0.21.2: METADATA", True), (PAGE, False),
        ("field report: MI50 with torch 2.5.1+rocm6.2 (2025-12-27)", False), ("ROCm/TheRock RELEASES.md", True),
        ("ROCm 10.1.0 release notes", True), ("Linux kernel drivers/gpu/drm", True),
    ],
)  # fmt: skip
def test_a_source_opens_in_one_step(source: str, complaint: bool) -> None:
    assert bool(list(source_form(row(sources=(source,))))) is complaint


def test_every_source_of_the_matrix_has_an_address_or_is_a_field_report() -> None:
    matrix = load()
    sources = [s for row in matrix.rows for s in row.sources] + [s for known in matrix.diagnoses.values() for s in known.sources]
    sources += [s for stated in matrix.support for s in stated.sources] + [s for build in matrix.torch for s in build.sources]
    assert len(sources) > 1000
    assert not [s for s in sources if not s.startswith(("https://", "field report: "))]
