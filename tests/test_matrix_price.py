"""The price of one more piece of knowledge: one file and about 25 lines, no Python, and it works at once."""

from __future__ import annotations

import datetime
import shutil
from pathlib import Path

import pytest
from matrix_machines import findings, rows, torch

from rocm_doctor.matrix import Matrix, load
from rocm_doctor.matrix.checks import lint

ROOT = Path(__file__).resolve().parents[1]
PRICE = ROOT / "docs" / "price"


def additions(patch: str) -> dict[str, list[str]]:
    """The lines that a patch adds, by file."""
    out: dict[str, list[str]] = {}
    for line in (PRICE / patch).read_text(encoding="utf-8").splitlines():
        if line.startswith("+++ b/"):
            out[line.removeprefix("+++ b/")] = []
        elif line.startswith("+"):
            out[list(out)[-1]].append(line[1:])
    return out


PATCHES = ("gpu.patch", "torch.patch", "library.patch", "signature.patch")


@pytest.fixture(scope="module")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> Matrix:
    """The matrix with the lines of the patches added at the end of their files; it must still be clean."""
    folder: Path = tmp_path_factory.mktemp("patched")
    root = Path(shutil.copytree(ROOT / "compat_matrix", folder / "compat_matrix", ignore=shutil.ignore_patterns("reports")))
    for name, lines in (found for patch in PATCHES for found in additions(patch).items()):
        path = folder / name
        before = path.read_text(encoding="utf-8") if path.is_file() else ""
        path.write_text(before + "\n".join(lines) + "\n", encoding="utf-8")
    assert [str(p) for p in lint(root, datetime.date.today()) if p.level == "error"] == []
    return load(root)


@pytest.mark.parametrize("patch", PATCHES)
def test_one_file_and_about_25_lines(patch: str) -> None:
    files = additions(patch)
    assert len(files) == 1
    assert sum(map(len, files.values())) <= 25
    assert not any(name.endswith(".py") for name in files)


def test_a_gpu(matrix: Matrix) -> None:
    found = findings(torch("2.9.1+rocm6.4"), {"device_id": 0x75FF}, matrix=matrix)
    assert [f.id for f in found if f.severity == "error"] == ["arch.not-in-build"]
    assert "gfx1251" in found[0].title


def test_a_torch_release(matrix: Matrix) -> None:
    found = findings(torch("2.99.0+rocm7.2"), {"gfx": "gfx1201"}, matrix=matrix)
    assert [f.id for f in found if f.severity == "error"] == ["arch.blas-missing"]


def test_a_rule_about_a_library(matrix: Matrix) -> None:
    found = findings(torch("2.9.1+rocm6.4", pkg__fastlora="3.1"), {"gfx": "gfx1100"}, matrix=matrix)
    assert "fastlora-old-torch" in rows(found)


def test_a_failure_signature(matrix: Matrix) -> None:
    row = matrix.row("sig-fastlora-wave")
    assert row
    report = row.example
    assert "sig-fastlora-wave" in rows(findings(torch("2.12.0+rocm7.2"), {"gfx": "gfx1100"}, log=report, matrix=matrix))
    assert "sig-fastlora-wave" not in rows(findings(torch("2.9.1+rocm6.4"), {"gfx": "gfx1100"}, log=report, matrix=matrix))
