"""How answers leave: a page or reports, each in its format to a file or to standard output, and the exit code that follows."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from functools import cache, wraps
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeVar, cast

import click
import msgspec

from rocm_doctor.cli.inputs import InputError, input_errors, read_report_file
from rocm_doctor.cli.options import FILE, completes, gather, no_redact_option, options, page_options
from rocm_doctor.cli.output import INTERRUPTED, workflow_commands
from rocm_doctor.model import Artifact, Report
from rocm_doctor.reports import FORMATS, RenderOptions, render_cleaned
from rocm_doctor.reports.neutral import clean

F = TypeVar("F", bound=Callable[..., Any])
FAIL_ON = ("error", "warning", "note", "never")
_STDOUT = ("-", "/dev/stdout", "/dev/fd/1")
"""Outputs that are standard output: opening one as a file would truncate it."""


class Printout(NamedTuple):
    """What a command prints: `render(form, columns)` is its text in a format for so many columns; then the exit code. `redact`: a file
    gets pseudonyms for what identifies people."""

    render: Callable[[str, int], str]
    exit_code: int = 0
    redact: bool = False


def text_or_json(text: Callable[[int], str], body: Callable[[], Any], exit_code: int = 0) -> Printout:
    """A printout with a text for a number of columns, or a value as JSON."""
    return Printout(lambda form, columns: to_json(body()) if form == "json" else text(columns), exit_code)


def page_command(*formats: str) -> Callable[[Callable[..., Printout]], Callable[..., NoReturn]]:
    """A decorator of a command that returns a Printout: it gets --format with these choices, the first by default, and -o; what it returns is
    written there, and the command exits with its code."""

    def add(command: Callable[..., Printout]) -> Callable[..., NoReturn]:
        @page_options(*formats)
        @wraps(command)
        def deliver(form: str, output: Path | None, **given: Any) -> NoReturn:
            printout = command(**given)
            page = printout.render(form, width(output is not None))
            write_page(redact(page) if output and printout.redact else page, output)
            sys.exit(printout.exit_code)

        return cast("Callable[..., NoReturn]", deliver)

    return add


def to_json(body: Any) -> str:
    """The value as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(body), indent=1).decode()


def redact(plain: Any) -> Any:
    """A text, or plain values, with pseudonyms for what identifies people."""
    from rocm_doctor.redaction.shared import redact_plain

    return redact_plain(plain)


def write_page(page: str, output: Path | None) -> None:
    """Write a page to the file, or to standard output."""
    if output:
        write_file(output, (page.rstrip("\n") + "\n").encode())
    else:
        click.echo(page.rstrip("\n"))


def write_file(path: Path, data: bytes) -> None:
    """Write an output file; InputError if that is not possible."""
    with input_errors(path, "give a file in an existing, writable folder"):
        path.write_bytes(data)


class Reporting(NamedTuple):
    """What the options of `report_options` say of reports: their formats and files, what is left out, and what fails."""

    formats: tuple[str, ...] = ()
    outputs: tuple[Path, ...] = ()
    fail_on: str = "error"
    strict: bool = False
    ignore: tuple[str, ...] = ()
    baseline: Path | None = None
    no_redact: bool = False
    verbose: bool = False
    quiet: bool = False

    @property
    def is_text_printed(self) -> bool:
        """True if standard output gets a report as text."""
        return "text" in (self.formats or ("text",))[len(self.outputs) :]

    def drop_baseline(self, report: Report) -> Report:
        """The report without findings whose fingerprints are in the earlier JSON report. Raises InputError for another file."""
        if self.baseline is None:
            return report
        from rocm_doctor.pipeline import accept_findings

        known = {f.fingerprint for f in read_report_file(self.baseline).findings}
        return accept_findings(report, [f for f in report.findings if f.fingerprint in known])

    def deliver(self, reports: Sequence[Report], artifacts: Sequence[Artifact] = ()) -> None:
        """Write the reports, one for each machine: one document for each format, to its file or, without one, to standard output in the
        order given.

        Shared formats are redacted, including names that occur only in `artifacts`, from which the reports were made.
        """
        names = self.formats or ("text",)
        if len(self.outputs) > len(names):
            raise InputError(f"{len(self.outputs)} outputs but {len(names)} formats: give one --format for each -o")

        @cache
        def prepare(redacted: bool) -> list[Report]:
            return list(map(clean, _redact(reports, artifacts) if redacted else reports))

        for number, name in enumerate(names):
            to_file = number < len(self.outputs) and str(self.outputs[number]) not in _STDOUT
            look = RenderOptions(width(to_file), not to_file and _color(), self.verbose, self.quiet)
            text = _render(name, prepare(not self.no_redact and (name != "text" or number < len(self.outputs))), look)
            if to_file:
                write_file(self.outputs[number], text.encode("utf-8"))
            else:
                with workflow_commands() if name == "github" else nullcontext():
                    click.echo(text.rstrip("\n"), color=look.color)

    def exit_code(self, report: Report) -> int:
        """0 nothing at or above `fail_on`, 1 findings, 3 undetermined under `strict`: the same for every format."""
        if self.fail_on != "never" and any(FAIL_ON.index(f.severity) <= FAIL_ON.index(self.fail_on) for f in report.findings):
            return 1
        return 3 if self.strict and report.verdict == "undetermined" else 0

    def finish(self, reports: Iterable[Report], interrupted: bool = False) -> NoReturn:
        """Exit with the highest exit code of the reports, or as interrupted."""
        sys.exit(INTERRUPTED if interrupted else max(map(self.exit_code, reports)))


_report_options = options(
    click.option(
        "--format", "formats", multiple=True, type=click.Choice(FORMATS), help="Report format; repeatable. [default: text]"
    ),
    click.option(
        "-o",
        "--output",
        "outputs",
        multiple=True,
        type=click.Path(path_type=Path),
        help="File for the --format at the same position.",
    ),
    click.option(
        "--fail-on", type=click.Choice(FAIL_ON), default="error", show_default=True, help="Exit with 1 from this severity on."
    ),
    click.option("--strict", is_flag=True, help="Exit with 3 if the verdict is undetermined."),
    click.option(
        "--ignore",
        multiple=True,
        metavar="ID[:ROW]",
        shell_complete=completes("names"),
        help="Ignore a diagnosis or one row of it; repeatable.",
    ),
    click.option("--baseline", type=FILE, help="Ignore the findings of this earlier JSON report."),
    no_redact_option,
    click.option("-v", "--verbose", is_flag=True, help="Show every reading and every undecided check."),
    click.option("-q", "--quiet", is_flag=True, help="Show only the verdict."),
)


def report_options(command: F) -> F:
    """The options of a command that reports, as one argument `reporting`."""
    return gather("reporting", Reporting, _report_options)(command)


def _render(name: str, reports: Sequence[Report], look: RenderOptions) -> str:
    """The cleaned reports in that format."""
    if len(reports) == 1:
        return render_cleaned(name, reports[0], look)
    from rocm_doctor.reports.several import render_several

    return render_several(name, reports, look)


def _redact(reports: Sequence[Report], artifacts: Sequence[Artifact]) -> list[Report]:
    """The redacted reports, with the same pseudonyms in all of them."""
    from rocm_doctor.redaction.shared import learn_artifacts, redact_report, redactor_for_reports

    redactor = learn_artifacts(artifacts, redactor_for_reports(reports))
    return [redact_report(report, redactor) for report in reports]


def width(to_file: bool = False) -> int:
    """Columns for text: those of the terminal, 40 at least and 100 at most; 100 without one."""
    if to_file or not sys.stdout.isatty():
        return 100
    import shutil

    # shutil asks Python's own stream, which the guarded one has replaced.
    size = shutil.get_terminal_size(os.get_terminal_size(sys.stdout.fileno()))
    return max(40, min(100, size.columns))


def _color() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
