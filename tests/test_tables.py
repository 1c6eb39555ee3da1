"""Tables of the command line: widths, wrapping, alignment."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rocm_doctor.reports.table import markdown, simple

CELLS = st.text(st.characters(codec="ascii", categories=["L", "N", "P", "Zs"]), max_size=40)


def test_cells_wrap_within_their_column() -> None:
    shown = simple([["gfx906", "no MFMA, so rocWMMA refuses it"], ["gfx1100", ""]], ["target", "notes"], [8, 12])
    assert shown == ("target   notes\n-------  -----------\ngfx906   no MFMA, so\n         rocWMMA\n         refuses it\ngfx1100")


def test_what_holds_no_blank_is_cut_at_the_width_and_not_at_a_hyphen() -> None:
    assert simple([["https://a-b.example/c-d"]], ["source"], [12]).splitlines()[2:] == ["https://a-b.", "example/c-d"]


def test_numbers_are_aligned_to_the_right() -> None:
    assert simple([["qwen", "1.5"], ["llama", "12.25"]], ["model", "GiB"], [5, 5], right=True).splitlines() == [
        "model    GiB",
        "-----  -----",
        "qwen     1.5",
        "llama  12.25",
    ]


def test_markdown_keeps_a_bar_and_a_line_end_inside_their_cell() -> None:
    assert markdown([["a|b", "c\nd"]], ["one", "two"]).splitlines() == [
        "| one  | two |",
        "|------|-----|",
        "| a\\|b | c d |",
    ]


@given(st.lists(st.tuples(CELLS, CELLS), max_size=5), st.integers(8, 30))
def test_no_line_is_wider_than_the_columns_and_no_word_is_lost(lines: list[tuple[str, str]], width: int) -> None:
    shown = simple(lines, ["first", "second"], [width, width])
    assert max(map(len, shown.splitlines())) <= 2 * width + 2
    letters = "".join(sorted("".join(cell for line in lines for cell in line if cell)))
    below = "".join(sorted("".join(shown.splitlines()[2:])))
    assert "".join(letters.split()) == "".join(below.split())
