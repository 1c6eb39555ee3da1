"""The ticket bundle: redacted artifacts and their report in one zip. `rocm-doctor bundle` and the hooks for training write it."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from pathlib import Path

from rocm_doctor import pipeline
from rocm_doctor.matrix import Matrix, load
from rocm_doctor.model import Artifact, Report
from rocm_doctor.redaction.redactor import local_redactor
from rocm_doctor.redaction.shared import redact_artifacts
from rocm_doctor.reports import RenderOptions, render
from rocm_doctor.sources import bundle


def pack_ticket(shared: Sequence[Artifact], name: str, matrix: Matrix) -> tuple[bytes, Report]:
    """(zip, report): the zip has the artifacts, which may be shared, and their report as JSON and Markdown."""
    report = pipeline.judge(shared, matrix, source=name, kind="capture")
    extra = {f"report.{end}": render(form, report, RenderOptions()) for end, form in (("json", "json"), ("md", "markdown"))}
    return bundle.write(list(shared), extra), report


def crash_ticket(error: BaseException, path: Path) -> Report:
    """The report on this machine with the traceback as a failing log. Its bundle is written to `path`, redacted. Raises OSError
    if it cannot be."""
    from rocm_doctor.sources.live import collect

    artifacts = [*collect(), traceback_log(error)]
    redactor = local_redactor()
    data, report = pack_ticket(redact_artifacts(artifacts, redactor), redactor.text(path.name), load())
    path.write_bytes(data)
    return report


def traceback_log(error: BaseException) -> Artifact:
    """The traceback of an exception, as a failing log."""
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    return Artifact("log/traceback.log", "live", text)
