"""Loading: the built-in matrix, a replacement, overlays; a bad file names itself, the line and the field, and is never a pass."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from matrix_machines import MATRIX

from rocm_doctor.matrix import load
from rocm_doctor.matrix.source import MatrixError, compile_json

SOURCE = Path(__file__).resolve().parents[1] / "compat_matrix"
ROW = """- key: site-row
  diagnosis: lib.triton
  title: our cluster's triton is pinned
  when: {pkg.triton: ">=3"}
  status: broken
  grade: field
  layer: package
  cause: Our images carry 2.3.
  advice: Ask the cluster's desk.
  sources: ["field report: cluster notes (2026-11)"]
  checked: 2026-11-20
"""


def written(folder: Path, text: str, name: str = "site.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_the_whole_of_it_decodes() -> None:
    assert len(MATRIX.rows) > 200
    assert len(MATRIX.gfx) >= 30
    assert {"torch", "rocm", "support", "env", "facts", "driver"} <= MATRIX.raw.keys()
    assert all((MATRIX.torch, MATRIX.rocm, MATRIX.support, MATRIX.env, MATRIX.facts, MATRIX.driver.modules))
    assert MATRIX.row("gfx906-rocblas-6.4") is MATRIX.by_key["gfx906-rocblas-6.4"]


def test_an_overlay_adds_and_replaces_and_shows_its_origin(tmp_path: Path) -> None:
    both = ROW + ROW.replace("site-row", "mi50-working").replace("status: broken", "status: works")
    matrix = load(overlays=[written(tmp_path, both)])
    assert matrix.by_key["site-row"].origin == "site.yaml"
    assert matrix.by_key["mi50-working"].title == "our cluster's triton is pinned"
    assert len(matrix.rows) == len(MATRIX.rows) + 1
    assert matrix.version.endswith("+site.yaml")
    assert load().by_key["mi50-working"].origin == ""


def test_rows_of_a_yaml_file_replace_all_rows(tmp_path: Path) -> None:
    matrix = load(written(tmp_path, ROW))
    assert [row.key for row in matrix.rows] == ["site-row"]
    assert matrix.gfx.keys() == MATRIX.gfx.keys()


def test_a_folder_and_a_compiled_file_replace_the_matrix(tmp_path: Path) -> None:
    compiled = tmp_path / "matrix.json"
    compiled.write_bytes(compile_json(SOURCE))
    assert len(load(compiled).rows) == len(load(SOURCE).rows) == len(MATRIX.rows)


@pytest.mark.parametrize(
    ("damage", "line", "words"),
    [
        (("status: broken", "status: brokn"), 5, "brokn"),
        (("grade: field", "grade: rumour"), 6, "rumour"),
        (("pkg.triton", "pkg_triton"), 4, "not a known fact"),
        (('">=3"', '">=banana"'), 4, "not a bound"),
        (('">=3"', "3.0"), 4, "str"),
        (("checked: 2026-11-20", "checked: yesterday"), 11, "date"),
        (("  title: our cluster's triton is pinned\n", ""), 1, "title"),
        (("cause:", "casue:"), 1, "casue"),
        (("field report: cluster notes (2026-11)", "somebody said so"), 10, "citation"),
        (("Our images carry 2.3.", "See /home/anna/notes."), 8, "machine"),
        (("- key", "  key"), 1, "list"),
        (("- key: site-row", "- {}\n- key: site-row"), 1, "key"),
    ],
)
def test_a_bad_overlay_names_file_line_and_field(tmp_path: Path, damage: tuple[str, str], line: int, words: str) -> None:
    path = written(tmp_path, ROW.replace(*damage))
    with pytest.raises(MatrixError) as caught:
        load(overlays=[path])
    assert f"{path}:{line}:" in str(caught.value)
    assert words in str(caught.value)


@pytest.mark.parametrize("text", ["", "just words", "- 1\n- 2\n", "{a: b}", "\t- x", "key: [unclosed"])
def test_an_overlay_that_is_no_list_of_rows(tmp_path: Path, text: str) -> None:
    path = written(tmp_path, text)
    if not text:
        assert len(load(overlays=[path]).rows) == len(MATRIX.rows)
        return
    with pytest.raises(MatrixError):
        load(overlays=[path])


def test_missing_and_foreign_files(tmp_path: Path) -> None:
    for path in (tmp_path / "none.yaml", written(tmp_path, "not json", "matrix.json"), written(tmp_path, "{}", "other.json")):
        with pytest.raises(MatrixError):
            load(path)
    folder = tmp_path / "empty"
    folder.mkdir()
    with pytest.raises(MatrixError, match="VERSION"):
        load(folder)


def test_a_matrix_of_another_schema_is_refused(tmp_path: Path) -> None:
    written(tmp_path, "2026.11.21\nrows 99\n", "VERSION")
    with pytest.raises(MatrixError, match="update one of the two"):
        load(tmp_path)


def test_a_retired_key_leads_to_its_successor() -> None:
    matrix = msgspec.structs.replace(MATRIX, retired={"old-name": "mi50-working"})
    row = matrix.row("old-name")
    assert row is not None
    assert row.key == "mi50-working"
