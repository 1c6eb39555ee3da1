"""`rocm-doctor diff`: two reports, benchmarks or bundles, likely causes first."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from rocm_doctor import pipeline
from rocm_doctor.bounded import Unreadable, files, jsons
from rocm_doctor.cli.common import InputError, load_matrix, no_redact_option, page_options, print_page, read_report_file, to_json
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Report


@click.command(epilog="Example:  rocm-doctor diff yesterday.json today.json")
@click.argument("before", type=click.Path(exists=True, path_type=Path))
@click.argument("after", type=click.Path(exists=True, path_type=Path))
@page_options("text", "json", "markdown")
@no_redact_option
@click.option("-v", "--verbose", is_flag=True, help="Show every difference.")
def command(before: Path, after: Path, form: str, output: Path | None, no_redact: bool, verbose: bool) -> None:
    """Compare two reports (--format json), also of `bench`, or bundles: what changed, and which change can explain a finding.

    Exit code 1 if AFTER has a root-cause error that BEFORE does not have, else 0.
    """
    from rocm_doctor.reports import RenderOptions
    from rocm_doctor.reports.diff import as_page, compare
    from rocm_doctor.reports.neutral import clean
    from rocm_doctor.reports.page import render

    matrix = load_matrix()
    found = clean(compare(_report(before, matrix, no_redact), _report(after, matrix, no_redact), matrix))
    print_page(to_json(found) if form == "json" else render(form, as_page(found), RenderOptions(verbose=verbose)), output)
    sys.exit(1 if any(f.severity == "error" and not f.follows_from for f in found.new) else 0)


def _report(path: Path, matrix: Matrix, no_redact: bool) -> Report:
    """The report in a JSON file, or of a benchmark's report or a bundle; a usage error for anything else."""
    from rocm_doctor.redaction.shared import having_read, redact_report
    from rocm_doctor.sources.bundle import BundleError

    if path.suffix == ".json" and not path.is_dir() and not _is_bench(path):
        return read_report_file(path)
    try:
        artifacts = pipeline.read_paths([path])
        report = pipeline.judge(artifacts, matrix, source=path.name, kind="capture")
    except BundleError as exc:
        raise InputError(str(exc)) from exc
    if not (report.snapshot.facts or report.snapshot.gpus or report.findings):
        raise InputError(f"{path}: neither a report nor a bundle: it has no facts of a machine; make one with `bundle`")
    return report if no_redact else redact_report(report, having_read(artifacts))


def _is_bench(path: Path) -> bool:
    """Whether the file is a report of `bench`, whose figures are facts as any others."""
    try:
        return jsons.decode(files.read(path), dict[str, Any]).get("kind") == "bench"
    except (OSError, Unreadable):
        return False
