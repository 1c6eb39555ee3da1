"""Failure lines are found in one line, whatever stands around them, in time linear in the text."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_doctor.matrix import load
from rocm_doctor.model import Artifact
from rocm_doctor.probes.read.words import WordSet
from rocm_doctor.rules.logs import Logs, fragments

_PADDING = "\n123" * 20_000
_LETTERS = str.maketrans("0123456789", "ghijklmnop")


def logs(text: str, *asked: str) -> Logs:
    """The text as a log; `asked`: conditions that may name complaints."""
    return Logs([Artifact("log/x", "paste", text)], {one: fragments(one, load().complaints) for one in asked})


def test_the_line_is_quoted_with_its_number() -> None:
    found = logs("start\nRuntimeError: HIP error: Invalid Device Function\nend").find("hip error: invalid device function")
    assert found is not None
    assert (found.place, found.quote) == ("line 2", "RuntimeError: HIP error: Invalid Device Function")


def test_fragments_must_stand_in_order_in_one_line() -> None:
    assert logs("cannot read /x/TensileLibrary.dat for GPU arch : gfx906").find("cannot read*tensilelibrary*gfx906")
    assert not logs("cannot read /x\nTensileLibrary.dat gfx906").find("cannot read*tensilelibrary")
    assert not logs("gfx906 cannot read").find("cannot read*gfx906")


def test_in_a_line_without_end_fragments_must_stand_near_to_one_another() -> None:
    line = "miopen 3.5 " + "step 1 loss 0.1 " * 1000 + "an error of hipblaslt " + "step 2 " * 1000
    assert logs(line).find("miopen*error") is None
    found = logs(line).find("error*hipblaslt")
    assert found is not None
    assert found.place == "line 1"


def test_alternatives() -> None:
    assert logs("b stands here").find("nothing like it|b stands")


def test_a_complaint_inside_an_alternative_stands_for_each_of_its_wordings() -> None:
    one, both = "miopen*{failing}", "miopen*{failing}|{failing}*miopen"
    assert logs("miopen: internal failure", one).find(one)
    assert logs("it cannot be run by miopen", both).find(both)
    assert not logs("miopen was found", both).find(both)
    assert not logs("miopen {unknown}", one).find(one)


@pytest.mark.slow
def test_every_complaint_of_the_catalog_is_found_in_its_own_words() -> None:
    for name, phrases in load().complaints.items():
        asked = f"before*{{{name}}}"
        assert all(logs(f"before {words.replace('*', ' x ')}", asked).find(asked) for words in phrases), name


@pytest.mark.parametrize("size", [300_000])
def test_a_large_text_gives_the_same_answer(size: int) -> None:
    text = "noise of a long run 123\n" * (size // 20) + "hipErrorNoBinaryForGpu: unable to find code object\n"
    assert logs(text).find("hiperrornobinaryforgpu*unable to find code object for") is None
    assert logs(text).find("hiperrornobinaryforgpu*find code object")


def test_a_text_with_more_words_than_a_log_has_gives_the_same_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocm_doctor.probes.read.words._MOST", 20_000)
    noise = "\n".join(hashlib.sha512(str(n).encode()).hexdigest().translate(_LETTERS) for n in range(300))
    text = f"{noise}\nHIP error: Invalid Device Function\n{noise}"
    assert not WordSet(text).known
    asked = ("hip error*invalid device", "hip error*out of memory", "{hang}|no such words")
    few, all_of_it = (
        Logs([Artifact("log/x", "paste", text)], {one: fragments(one, load().complaints) for one in asked}),
        logs(text, *asked),
    )
    for condition in asked:
        assert few.find(condition) == all_of_it.find(condition)
    assert few.find(asked[0]) is not None
    assert few.find(asked[1]) is None
    assert few.find("invalid device function") is not None, "a condition that was not listed is searched for"


@given(
    st.lists(st.text("abc ", min_size=1, max_size=6).filter(str.strip), min_size=1, max_size=12), st.text("abc \n", max_size=80)
)
def test_conditions_that_contain_one_another_are_all_found(asked: list[str], text: str) -> None:
    noise = ".".join(hashlib.sha256(str(n).encode()).hexdigest().translate(_LETTERS) for n in range(2))
    many = [Artifact("log/x", "paste", f"{text}\n{noise}")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rocm_doctor.probes.read.words._MOST", 1)
        few = Logs(many, {one: fragments(one) for one in asked})
        assert [few.find(one) is not None for one in asked] == [Logs(many).find(one) is not None for one in asked]


@given(st.text("aB z1.\n", max_size=60), st.integers(0, 60), st.integers(0, 60))
def test_a_vocabulary_never_denies_what_stands_in_the_text(text: str, start: int, end: int) -> None:
    assert WordSet(text + _PADDING).may_hold(*(line.lower() for line in text[start:end].split("\n")))


def test_a_vocabulary_knows_where_a_word_ends() -> None:
    words = WordSet("Memory access fault by GPU node-1" + _PADDING)
    assert words.may_hold("cess fault by gp")
    assert not words.may_hold("cess fault by gp ")
    assert not words.may_hold("access", "denied")


@given(st.text(max_size=300), st.text(min_size=1, max_size=30))
def test_any_text_and_condition(text: str, condition: str) -> None:
    found = logs(text).find(condition)
    assert found is None or found.artifact == "log/x"


def test_a_condition_with_a_line_end_in_it_finds_nothing_and_ends() -> None:
    assert logs("a\n\nb\n").find("\nb|\n") is None
