"""`rocm-doctor check`: check this machine, a bundle, or a pasted text."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import click

from rocm_doctor import pipeline
from rocm_doctor.cli.delivery import Reporting, report_options
from rocm_doctor.cli.gate import Gate, gate_options, judge
from rocm_doctor.cli.inputs import InputError, interpreter, load_matrix, notice_when_slow, say_when_old
from rocm_doctor.cli.machine import example_bundle, live, read_captures, read_each_capture, was_interrupted
from rocm_doctor.cli.options import F, gather, logs_option, options, paths_argument, python_option, sysroot_option
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Artifact, Report, ReportKind

KEY = "ROCM_DOCTOR_READER_KEY"


class ReaderOptions(NamedTuple):
    """Which language model is asked, for how long, and whether the question is only printed."""

    reader_url: str
    reader_model: str
    reader_seconds: float
    reader_dry_run: bool

    def prepare(self, matrix: Matrix) -> Callable[[Report, Sequence[Artifact]], Report]:
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
    dry_run = click.option("--reader-dry-run", is_flag=True, help="Print exactly what --reader would send, and stop.")
    return gather("reader", ReaderOptions, options(url, model, seconds, dry_run))(command)


@click.command(
    epilog="Examples:  rocm-doctor check;  rocm-doctor check ticket.zip -v;  some-command 2>&1 | rocm-doctor check -;  "
    "rocm-doctor check --gpu gfx1100 --python .venv;  rocm-doctor check train.log --reader http://localhost:11434/v1 --reader-model qwen3:8b"
)
@paths_argument
@logs_option
@python_option
@click.option(
    "--framework",
    type=click.Choice(("torch", "jax", "tensorflow")),
    help="Judge and test this framework. [default: those that are installed, or that the text names]",
)
@click.option("--no-smoke", is_flag=True, help="Skip the smoke test.")
@click.option("--example", is_flag=True, help="Check a packaged sample bundle; needs no AMD GPU.")
@sysroot_option
@reader_options
@gate_options
@report_options
def command(
    paths: tuple[Path, ...],
    logs: tuple[Path, ...],
    python: str | None,
    framework: str | None,
    no_smoke: bool,
    example: bool,
    sysroot: Path | None,
    reader: ReaderOptions,
    gate: Gate,
    reporting: Reporting,
) -> None:
    """Check this machine (no PATH), or captured text: files, folders, archives, or - for standard input.

    With --gpu, check the installed environment for a GPU that need not be here, as in CI or while an image is built. Root causes come first, each with evidence, sources, and the commands that fix it.
    """
    matrix = load_matrix()
    beside = [Artifact("declared/framework", "declared", f"framework: {framework}\n")] if framework else []
    add_opinion = reader.prepare(matrix)
    interrupted = False
    if targets := gate.targets(matrix):
        if paths or logs or example or sysroot:
            raise InputError("--gpu judges an installed environment: it cannot be combined with captures or logs")
        with notice_when_slow("still reading the environment's libraries"):
            reports, read = judge(targets, python, gate.root, matrix, reporting.ignore, beside)
        machines = [("", read)] * len(reports)
    else:
        python = interpreter(python) if python or not (paths or example or sysroot) else None
        kind: ReportKind = "capture" if paths or example else "machine"
        if paths:
            captures = [(name, [*artifacts, *beside]) for name, artifacts in read_each_capture(paths, logs)]
        elif example:
            captures = [("the packaged example", [*read_captures([example_bundle()], logs), *beside])]
        else:
            captures = [("this machine", live(python, sysroot, logs, smoke=not no_smoke, beside=beside))]
            interrupted = was_interrupted(captures[0][1])
        machines = pipeline.machines(captures)
        reports = [pipeline.judge(read, matrix, source=name, kind=kind, ignore=reporting.ignore) for name, read in machines]
    reports = list(map(reporting.drop_baseline, reports))
    if reader.reader_dry_run:
        from rocm_doctor.reader import question

        for report, (_, read) in zip(reports, machines):
            click.echo(question(report, read, reader.reader_model, matrix))
        return
    try:
        with notice_when_slow("still waiting for the language model of --reader"):
            reports = [add_opinion(report, read) for report, (_, read) in zip(reports, machines)]
    except KeyboardInterrupt:
        interrupted = True
        click.echo("interrupted: the reports are without the opinion of --reader", err=True)
    reporting.deliver(reports, [artifact for _, read in machines for artifact in read])
    say_when_old(matrix)
    reporting.finish(reports, interrupted)
