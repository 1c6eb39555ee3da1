"""`rocm-doctor diff`: two reports, benchmarks or bundles, likely causes first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rocm_doctor import pipeline
from rocm_doctor.bounded import Unreadable, files, jsons
from rocm_doctor.cli.delivery import Printout, page_command, to_json
from rocm_doctor.cli.inputs import InputError, load_matrix, read_report_file
from rocm_doctor.cli.machine import read_captures
from rocm_doctor.cli.options import no_redact_option, verbose_option
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Report


@click.command(epilog="Example:  rocm-doctor diff yesterday.json today.json")
@click.argument("before", type=click.Path(exists=True, path_type=Path))
@click.argument("after", type=click.Path(exists=True, path_type=Path))
@no_redact_option
@verbose_option
@page_command("text", "json", "markdown")
def command(before: Path, after: Path, no_redact: bool, verbose: bool) -> Printout:
    """Compare two reports (--format json), also of `bench`, or bundles: what changed, and which change can explain a finding.

    Exit code 1 if AFTER has a root-cause error that BEFORE does not have, else 0.
    """
    from rocm_doctor.reports import RenderOptions
    from rocm_doctor.reports.diff import as_page, compare
    from rocm_doctor.reports.neutral import clean
    from rocm_doctor.reports.page import render

    matrix = load_matrix()
    diff = clean(compare(_read(before, matrix, no_redact), _read(after, matrix, no_redact), matrix))
    look = RenderOptions(verbose=verbose)
    return Printout(
        lambda form, _: to_json(diff) if form == "json" else render(form, as_page(diff), look),
        int(any(f.severity == "error" and not f.follows_from for f in diff.new)),
    )


def _read(path: Path, matrix: Matrix, no_redact: bool) -> Report:
    """The report in a JSON file, or of a benchmark's report or a bundle; a usage error for anything else."""
    from rocm_doctor.redaction.shared import learn_artifacts, redact_report

    if path.suffix == ".json" and not path.is_dir() and not _is_bench(path):
        return read_report_file(path)
    artifacts = read_captures([path])
    report = pipeline.judge(artifacts, matrix, source=path.name, kind="capture")
    if not (report.snapshot.facts or report.snapshot.gpus or report.findings):
        raise InputError(f"{path}: neither a report nor a bundle: it has no facts of a machine; make one with `bundle`")
    return report if no_redact else redact_report(report, learn_artifacts(artifacts))


def _is_bench(path: Path) -> bool:
    """True for a report of `bench`, whose figures are facts as any others."""
    try:
        return jsons.decode(files.read(path), dict[str, Any]).get("kind") == "bench"
    except (OSError, Unreadable):
        return False
