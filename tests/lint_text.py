"""Repositories for the tests of lint: files by path, judged for one target."""

from __future__ import annotations

import datetime
from pathlib import Path

from rocm_doctor.lint import readers
from rocm_doctor.lint.declared import Place, Repository, Target
from rocm_doctor.lint.judge import lint
from rocm_doctor.matrix import load
from rocm_doctor.model import Finding, Report

MATRIX = load()
TODAY = datetime.date(2026, 11, 21)


def uv_indexes(amd: str, nvidia: str) -> str:
    """Two explicit indexes of uv, called `amd` and `nvidia`, by the names of their folders on PyTorch's server."""
    url = "https://download.pytorch.org/whl/"
    made = (
        f'[[tool.uv.index]]\nname = "{name}"\nurl = "{url}{on}"\nexplicit = true\n'
        for name, on in (("amd", amd), ("nvidia", nvidia))
    )
    return "\n".join(made)


def written(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return root


def repository(root: Path, files: dict[str, str]) -> Repository:
    return readers.read(written(root, files))


def report(
    root: Path,
    files: dict[str, str],
    gpu: str = "gfx1100",
    rocm: str = "",
    python: str = "3.12",
    os: str = "linux",
    declared: bool = False,
) -> Report:
    """The report for one target; `declared`: the repository itself names it."""
    target = Target("t", gpu, rocm, python=python, os=os, place=Place("rocm-doctor.yaml", 1) if declared else None)
    return lint(repository(root, files), [target], MATRIX, name="repository x", today=TODAY)


def serious(found: Report) -> list[Finding]:
    return [f for f in found.findings if f.severity != "note"]


def said(found: Report) -> list[tuple[str, str, str]]:
    """Diagnosis, severity and place of what is more than a note."""
    return [(f.id, f.severity, f"{f.evidence[0].artifact}:{f.evidence[0].place.removeprefix('line ')}") for f in serious(found)]
