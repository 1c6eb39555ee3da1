"""Loading: the built-in matrix, a replacement; a bad file names itself and is never a pass."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from matrix_machines import MATRIX

from rocm_doctor.matrix import load, store
from rocm_doctor.matrix.source import MatrixError, compile_json

SOURCE = Path(__file__).resolve().parents[1] / "compat_matrix"


def written(folder: Path, text: str, name: str = "site.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_the_whole_of_it_decodes() -> None:
    assert len(MATRIX.rows) > 200
    assert len(MATRIX.gfx) >= 30
    assert {"torch", "rocm", "support", "env", "facts", "modules"} <= MATRIX.raw.keys()
    assert all((MATRIX.torch, MATRIX.rocm, MATRIX.support, MATRIX.env, MATRIX.facts, MATRIX.driver_modules))
    assert MATRIX.row("gfx906-rocblas-6.4") is MATRIX.by_key["gfx906-rocblas-6.4"]


def test_a_folder_and_a_compiled_file_replace_the_matrix(tmp_path: Path) -> None:
    compiled = tmp_path / "matrix.json"
    compiled.write_bytes(compile_json(SOURCE))
    assert len(load(compiled).rows) == len(load(SOURCE).rows) == len(MATRIX.rows)


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


def test_a_checkout_that_cannot_be_written_is_compiled_anew_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").write_text("no folder")
    monkeypatch.setattr(store, "_COMPILED", tmp_path / "data" / "matrix.json")
    store._write(b"{}")
    assert (tmp_path / "data").read_text() == "no folder"
