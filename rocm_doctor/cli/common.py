"""Shared by all checking commands: the matrix, formats and outputs, and the exit code."""

from __future__ import annotations

import datetime
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from functools import cache, wraps
from pathlib import Path
from typing import Any, Literal, NamedTuple, NoReturn, TypeVar, cast

import click
import msgspec

from rocm_doctor.bounded import Unreadable, files
from rocm_doctor.cli.output import workflow_commands
from rocm_doctor.model import Artifact, Report
from rocm_doctor.reports import FORMATS, RenderOptions, render_cleaned
from rocm_doctor.reports.json import read as read_report
from rocm_doctor.reports.neutral import clean

F = TypeVar("F", bound=Callable[..., Any])
FAIL_ON = ("error", "warning", "note", "never")


class InputError(click.ClickException):
    """Invalid input (a path, a row): the message names it and the remedy; exit code 2."""

    exit_code = 2


def options(*several: Callable[[F], F]) -> Callable[[F], F]:
    """A decorator that gives a command these options, in this order."""

    def add(command: F) -> F:
        for option in reversed(several):
            command = option(command)
        return command

    return add


def completes(what: str) -> Callable[[click.Context, click.Parameter, str], list[Any]]:
    """The completion of a parameter by that function of complete.py, which is loaded when a shell asks."""

    def items(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        from rocm_doctor.cli import complete

        found: list[Any] = getattr(complete, what)(incomplete)
        return found

    return items


python_option = click.option(
    "--python",
    help="Interpreter or environment to examine. [default: the environment that is active in this shell, else the doctor's own]",
)


def page_options(*formats: str) -> Callable[[F], F]:
    """--format with these choices, the first by default, as `form`, and -o as `output`: of a command that prints one page."""

    return options(
        click.option("--format", "form", type=click.Choice(formats), default=formats[0], show_default=True),
        click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file."),
    )


def to_json(body: Any) -> str:
    """The value as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(body), indent=1).decode()


def print_page(page: str, output: Path | None) -> None:
    """Write a page to the file, or to standard output."""
    if output:
        write_file(output, (page.rstrip("\n") + "\n").encode())
    else:
        click.echo(page.rstrip("\n"))


system_option = click.option(
    "--os", "system", type=click.Choice(("linux", "windows", "wsl")), help="With --gpu: its system. [default: this one]"
)
machine_options = options(
    click.option("--rocm", default="", help="With --gpu: ROCm release of the machine that trains, e.g. 6.4."),
    click.option("--driver", default="", help="With --gpu: its amdgpu driver (6.12.12), or `inbox` for the in-tree driver."),
    click.option("--kernel", default="", help="With --gpu: its kernel release, as uname -r prints it."),
    system_option,
)
"""The machine of a GPU that need not be here."""
no_redact_option = click.option("--no-redact", is_flag=True, help="Keep host, user and serials in what is shared.")
sysroot_option = click.option(
    "--sysroot", type=click.Path(exists=True, file_okay=False, path_type=Path), hidden=True, help="Read this root instead of /."
)
with_option = click.option(
    "--with",
    "packages",
    multiple=True,
    metavar="NAMES",
    shell_complete=completes("packages"),
    help="Packages besides torch (bitsandbytes,flash-attn), or another framework (jax, tensorflow); repeatable.",
)


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
        help="Ignore a diagnosis or one row of it; repeatable.",
        shell_complete=completes("names"),
    ),
    click.option(
        "--baseline",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="Ignore the findings of this earlier JSON report.",
    ),
    no_redact_option,
    click.option("-v", "--verbose", is_flag=True, help="Show every reading and every undecided check."),
    click.option("-q", "--quiet", is_flag=True, help="Show only the verdict."),
)


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

    def finish(self, reports: Iterable[Report]) -> NoReturn:
        """Exit with the highest exit code of the reports."""
        sys.exit(max(map(self.exit_code, reports)))


def report_options(command: F) -> F:
    """The options of a command that reports, as one argument `reporting`."""

    @wraps(command)
    def collect(**given: Any) -> Any:
        return command(reporting=Reporting(**{name: given.pop(name) for name in Reporting._fields}), **given)

    return _report_options(cast("F", collect))


def read_report_file(path: Path) -> Report:
    """The report in a JSON file; InputError for another file."""
    try:
        return read_report(files.read(path))
    except (OSError, Unreadable) as exc:
        raise InputError(
            f"{path}: not a report of rocm-doctor ({exc}); make one with `check --format json -o {path.name}`"
        ) from exc


def interpreter(python: str | None) -> str | None:
    """The interpreter to examine: the one that --python names (a path, a name on PATH, an environment's folder), else that of the
    active environment. None: our own. Raises InputError if there is none."""
    if python is None:
        return _active_interpreter()
    import shutil

    from rocm_doctor.sources.live.python import locate
    from rocm_doctor.workers.process import run

    named = shutil.which(python) or python
    found = locate(named, Path("/"), os.environ)
    program = found if isinstance(found, str) else found.executable if Path(named).is_dir() else named
    if isinstance(found, str):
        raise InputError(f"--python {found}")
    answered = run([program, "-c", "print(8 * 2)"], limit=20)
    if answered.stdout.strip() != "16":
        why = answered.stderr.strip().rpartition("\n")[2] or answered.state
        raise InputError(f"--python {python}: no Python found: {program} does not start ({why[:200]}): make its environment anew")
    return program


def _active_interpreter() -> str | None:
    """The interpreter of the active environment; None if it is ours (after pipx or uvx it is not), if there is none, and under
    `python -m rocm_doctor`. Says on stderr what is examined."""
    from rocm_doctor.sources.live.python import active_folder, active_interpreter, own_is_active

    folder, found = active_folder(os.environ), active_interpreter(os.environ)
    if folder and not found and not own_is_active(os.environ):
        what = "has no Python" if folder.is_dir() else "is not there"
        _say_once(f"{folder}, the active environment, {what}; examining the doctor's own")
    found = None if Path(sys.argv[0]).name == "__main__.py" else found
    if found:
        _say_once(f"examining {found}, of the active environment; --python examines another")
    return found


def this_system(release: Path = Path("/proc/sys/kernel/osrelease")) -> Literal["linux", "windows", "wsl"]:
    """The system that runs the doctor; WSL by the release of its kernel."""
    if sys.platform == "win32":
        return "windows"
    return "wsl" if release.exists() and "microsoft" in release.read_text(errors="replace").lower() else "linux"


def resolve_gpu(text: str, matrix: Any, where: str = "") -> str:
    """The gfx target that a user names directly or by product; InputError for none or several. `where` goes into its message."""
    from rocm_doctor.facts.enrich import find_target

    found = find_target(text, matrix)
    if isinstance(found, str):
        return found
    help_ = f"it may be {' or '.join(found)}" if found else f"known are {', '.join(matrix.gfx)}"
    raise InputError(f"`{text}`{where} is not one GPU of the catalog: {help_}")


def load_matrix() -> Any:
    """The matrix; a note says once where a newer one is installed that cannot be used."""
    from rocm_doctor.matrix import load

    matrix = load()
    _say_once(matrix.refused and f"note: {matrix.refused}; the matrix {matrix.version} of the tool is used")
    return matrix


@cache
def _say_once(words: str) -> None:
    if words:
        click.echo(words, err=True)


OLD = 60
"""Days after which `check` prints the age of the matrix."""


def matrix_age(matrix: Any) -> str:
    """`matrix 2026.11.22, 12 days old`; without the age if the matrix has no calendar version."""
    days = matrix.age(datetime.date.today())
    age = "" if days is None else ", of today" if days < 1 else f", {days} day{'s' if days > 1 else ''} old"
    return f"matrix {matrix.version}{age}"


def matrix_place(matrix: Any) -> str:
    """Which of the two a matrix is: the copy inside the tool or the distribution that is installed."""
    return f"from rocm-doctor-matrix in {matrix.place}" if matrix.place else "the copy inside the tool"


def say_when_old(matrix: Any) -> None:
    """Print one note on standard error if the matrix is older than OLD days."""
    if (matrix.age(datetime.date.today()) or 0) > OLD:
        click.echo(f"note: {matrix_age(matrix)}: it lacks newer releases and fixes: rocm-doctor matrix update", err=True)


_STDOUT = ("-", "/dev/stdout", "/dev/fd/1")
"""Outputs that are standard output: opening one as a file would truncate it."""


def write_file(path: Path, data: bytes) -> None:
    """Write an output file; InputError if that is not possible."""
    try:
        path.write_bytes(data)
    except OSError as exc:
        raise InputError(f"{path}: {exc.strerror or exc}; give a file in an existing, writable folder") from exc


def _render(name: str, reports: Sequence[Report], look: RenderOptions) -> str:
    """The cleaned reports in that format."""
    if len(reports) == 1:
        return render_cleaned(name, reports[0], look)
    from rocm_doctor.reports.several import render_several

    return render_several(name, reports, look)


def _redact(reports: Sequence[Report], artifacts: Sequence[Artifact]) -> list[Report]:
    """The redacted reports, with the same pseudonyms in all of them."""
    from rocm_doctor.redaction.shared import for_reports, having_read, redact_report

    redactor = having_read(artifacts, for_reports(reports))
    return [redact_report(report, redactor) for report in reports]


def width(to_file: bool = False) -> int:
    """Columns for text: those of the terminal, 40 at least and 100 at most; 100 without one."""
    if to_file or not sys.stdout.isatty():
        return 100
    import shutil

    return max(40, min(100, shutil.get_terminal_size().columns))


def _color() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
