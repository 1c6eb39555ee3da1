"""--reader: which language model is asked for a second opinion, by option or environment variable."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

import click

from rocm_doctor.cli.inputs import InputError
from rocm_doctor.cli.options import F, gather, options
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Artifact, Report

KEY = "ROCM_DOCTOR_READER_KEY"


class ReaderOptions(NamedTuple):
    """Which language model is asked, and for how long."""

    reader_url: str
    reader_model: str
    reader_seconds: float

    def asker(self, matrix: Matrix) -> Callable[[Report, Sequence[Artifact]], Report]:
        """What adds the reader's opinion to a report that is not `ready`. Without a URL nothing of the reader is imported.

        Raises InputError for an address or a model that cannot be asked.
        """
        if not self.reader_url:
            return lambda report, artifacts: report
        from rocm_doctor.reader import add_opinion
        from rocm_doctor.reader.server import Reader, address_fault

        reader = Reader(self.reader_url, self.reader_model, os.environ.get(KEY, ""), self.reader_seconds)
        if message := address_fault(reader):
            raise InputError(message)
        return lambda report, artifacts: report if report.verdict == "ready" else add_opinion(report, artifacts, reader, matrix)


def reader_options(command: F) -> F:
    """The options of a command that may ask a language model, as one argument `reader`."""
    url = click.option(
        "--reader",
        "reader_url",
        metavar="URL",
        default="",
        envvar="ROCM_DOCTOR_READER",
        help="Send the redacted text and facts to this OpenAI-compatible server (http://localhost:11434/v1) for a second opinion, and "
        f"check what comes back. A key comes from {KEY}.",
    )
    model = click.option(
        "--reader-model", metavar="NAME", default="", envvar="ROCM_DOCTOR_READER_MODEL", help="The model to ask."
    )
    seconds = click.option(
        "--reader-seconds",
        type=click.FloatRange(1, 3600),
        default=120,
        show_default=True,
        envvar="ROCM_DOCTOR_READER_SECONDS",
        help="Limit of one question.",
    )
    return gather("reader", ReaderOptions, options(url, model, seconds))(command)
