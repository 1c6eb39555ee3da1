"""`rocm-doctor lint`: read a repository literally and judge it for a GPU that need not be here."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rocm_doctor.bounded.texts import printable
from rocm_doctor.cli.delivery import Reporting, report_options
from rocm_doctor.cli.inputs import InputError, load_matrix, resolve_gpu
from rocm_doctor.cli.options import SYSTEMS, gpu_option
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Report

if TYPE_CHECKING:
    from rocm_doctor.lint.judge import Result
    from rocm_doctor.lint.model import LintTarget

Shown = Callable[[str], str]
_EPILOG = """\b
Examples:
  rocm-doctor lint                                        what each file is for, and whether it serves that
  rocm-doctor lint --gpu gfx1100                          does this repository serve gfx1100?
  rocm-doctor lint --gpu gfx942 requirements-rocm.txt     this file is for AMD GPUs
  rocm-doctor lint --gpu gfx942 --resolve requirements-rocm.txt
\b
Exit codes: 0 passes, 1 fails, 2 usage, 3 nothing was judged."""


@click.command(epilog=_EPILOG)
@click.argument("paths", nargs=-1, type=click.Path(exists=True, path_type=Path))
@gpu_option("gfx target or product name, e.g. gfx1100; repeatable.", multiple=True)
@click.option("--rocm", default="", help="ROCm release on the machine, e.g. 6.3.")
@click.option("--driver", default="", help="Version of the amdgpu DKMS driver, if not in-tree.")
@click.option("--python", default="", help="Python version, e.g. 3.12.")
@click.option(
    "--os", "os_", type=click.Choice(SYSTEMS), default="linux", show_default=True, help="Operating system of the machine."
)
@click.option("--resolve", "resolving", is_flag=True, help="Ask uv what would be installed, and judge that. Needs the network.")
@report_options
def command(
    paths: tuple[Path, ...],
    gpus: tuple[str, ...],
    rocm: str,
    driver: str,
    python: str,
    os_: str,
    resolving: bool,
    reporting: Reporting,
) -> None:
    """Read the requirements, Dockerfiles, compose files and scripts under PATHS (default: here) as they are written, and judge them for GPUs that need not be here.

    PATHS are of one repository. A file among them is judged alone, as one for AMD GPUs. Without --gpu the targets are those that the repository declares, else those
    that its files name themselves.
    """
    from rocm_doctor.lint import judge, report
    from rocm_doctor.lint.accept import accept
    from rocm_doctor.lint.model import LintTarget

    try:
        here = Path.cwd().resolve()
    except FileNotFoundError as exc:
        raise InputError("the current folder was deleted: change to an existing one") from exc
    if not gpus and (rocm or driver or python):
        raise InputError("--rocm, --driver and --python declare a machine for --gpu: name its GPU")
    matrix = load_matrix()
    given = [LintTarget(gpu, resolve_gpu(gpu, matrix), rocm, driver, python, os_) for gpu in gpus]
    root, files = _locate(paths)
    targets = given or _read_targets(root, matrix)
    if resolving and not targets:
        raise InputError("--resolve needs a target: give --gpu gfx1100, or targets in rocm-doctor.yaml")
    today = datetime.datetime.now(datetime.timezone.utc).date()
    result = accept(judge.lint(root, targets, matrix, files=files), today, reporting.ignore)
    name, shown = printable(root.name), _path_from_here(root, here)
    document = report.report(result, matrix, name, shown)
    document = reporting.drop_baseline(_add_resolved(document, result, targets, matrix, shown) if resolving else document)
    if reporting.is_text_printed and not reporting.quiet:
        click.echo("".join(f"{line}\n" for line in (*report.table(result, shown, whole=reporting.verbose), "")), nl=False)
    reporting.deliver([document])
    if click.get_current_context().get_parameter_source("fail_on") == click.core.ParameterSource.DEFAULT:
        reporting = reporting._replace(fail_on=result.policy.fail_on or reporting.fail_on)
    is_judged = result.verdict in ("fails", "passes") if reporting.baseline else document.verdict != "undetermined"
    sys.exit(reporting.exit_code(document) if reporting.exit_code(document) == 1 or is_judged else 3)


def _locate(paths: tuple[Path, ...]) -> tuple[Path, tuple[str, ...]]:
    """The repository of the paths, and its files that are judged alone (none: all of it); InputError for paths of several."""
    roots = {path.resolve() if path.is_dir() else _repository(path) for path in paths or (Path(),)}
    if len(roots) > 1:
        raise InputError(f"the paths are in {len(roots)} repositories: give paths of one")
    (root,) = roots
    return root, tuple(path.resolve().relative_to(root).as_posix() for path in paths if not path.is_dir())


def _repository(path: Path) -> Path:
    """The repository of a file: the nearest parent folder with `.git`, else the file's own folder."""
    folder = path.resolve().parent
    return next((up for up in (folder, *folder.parents) if (up / ".git").exists()), folder)


def _path_from_here(root: Path, here: Path) -> Callable[[str], str]:
    """The names of a repository's files as they are opened from the current folder, where they lie in it."""
    if root.is_relative_to(here):
        folder = root.relative_to(here).as_posix()
        return str if folder == "." else lambda name: f"{folder}/{name}"
    above = f"{here.relative_to(root).as_posix()}/" if here.is_relative_to(root) else ""
    return lambda name: name.removeprefix(above)


def _read_targets(root: Path, matrix: Matrix) -> list[LintTarget]:
    """The targets that a repository declares, with their GPUs as gfx targets; InputError for an unknown GPU or system."""
    import msgspec

    from rocm_doctor.lint import policy
    from rocm_doctor.lint.tree import Tree

    targets: list[LintTarget] = []
    for target in policy.read(Tree(root)).targets:
        if target.os not in SYSTEMS:
            raise InputError(f"target {target.name}: invalid os {target.os}: expected one of {', '.join(SYSTEMS)}")
        where = f" ({target.place.file}:{target.place.line})" if target.place else ""
        targets.append(msgspec.structs.replace(target, gpu=resolve_gpu(target.gpu, matrix, where)))
    return targets


def _add_resolved(document: Report, result: Result, targets: list[LintTarget], matrix: Matrix, shown: Shown) -> Report:
    """The report with what is wrong in the packages that a resolver takes, as if they were installed."""
    import msgspec

    from rocm_doctor.lint.resolve import findings
    from rocm_doctor.pipeline import judge_packages

    resolved = [f for target in targets for f in findings(result, target, matrix, shown, judge_packages)]
    extra = [f for _, more in resolved for f in more]
    words = "; ".join(word for word, _ in resolved)
    verdict = document.verdict
    if any(f.severity == "error" for f in extra):
        verdict = "problems"
    elif resolved and verdict != "problems":
        verdict = "ready" if all(not more and "judged" in word for word, more in resolved) else "undetermined"
    return msgspec.structs.replace(
        document,
        verdict=verdict,
        summary=f"{words}; {document.summary}" if words else document.summary,
        findings=(*extra, *document.findings),
    )
