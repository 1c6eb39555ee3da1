"""--reader: which language model is asked for a second opinion, by option or environment variable."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import click

from rocm_doctor.cli.common import InputError, options
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Artifact, Report

KEY = "ROCM_DOCTOR_READER_KEY"
reader_options = options(
    click.option(
        "--reader",
        "reader_url",
        metavar="URL",
        default="",
        envvar="ROCM_DOCTOR_READER",
        help="Send the redacted text and facts to this OpenAI-compatible server (http://localhost:11434/v1) for a second opinion, and "
        f"check what comes back. A key comes from {KEY}.",
    ),
    click.option("--reader-model", metavar="NAME", default="", envvar="ROCM_DOCTOR_READER_MODEL", help="The model to ask."),
    click.option(
        "--reader-seconds",
        type=click.FloatRange(1, 3600),
        default=120,
        show_default=True,
        envvar="ROCM_DOCTOR_READER_SECONDS",
        help="Limit of one question.",
    ),
)
dry_run_option = click.option(
    "--reader-dry-run", "dry_run", is_flag=True, help="Print exactly what --reader would send, and stop."
)


def ask_reader(url: str, model: str, seconds: float, matrix: Matrix) -> Callable[[Report, Sequence[Artifact]], Report]:
    """What adds the opinion of that reader to a report that is not `ready`. Without a URL nothing of the reader is imported.

    Raises InputError for an address or a model that cannot be asked.
    """
    if not url:
        return lambda report, artifacts: report
    from rocm_doctor.reader import add_opinion
    from rocm_doctor.reader.server import Reader, address_fault

    reader = Reader(url, model, os.environ.get(KEY, ""), seconds)
    if message := address_fault(reader):
        raise InputError(message)
    return lambda report, artifacts: report if report.verdict == "ready" else add_opinion(report, artifacts, reader, matrix)
