"""`rocm-doctor lint`: check a training repository for a target GPU, without needing one."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import click

from rocm_doctor.bounded.texts import printable
from rocm_doctor.cli.common import InputError, baselined, completes, deliver, finish, load_matrix, named_gpu, report_options
from rocm_doctor.lint.declared import Repository, Target
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Report

_OS = ("linux", "windows", "wsl", "macos")


@click.command(epilog="Example:  rocm-doctor lint --gpu gfx906 --rocm 6.3 --python 3.12 --format github")
@click.argument("paths", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("--gpu", shell_complete=completes("targets"), help="gfx target or product name, e.g. gfx1100 or 'RX 7900 XTX'.")
@click.option("--rocm", default="", help="ROCm release on the machine, e.g. 6.3.")
@click.option("--driver", default="", help="Version of the amdgpu DKMS driver, if not in-tree.")
@click.option("--python", default="", help="Python version, e.g. 3.12.")
@click.option("--os", "os_", type=click.Choice(_OS), default="linux", show_default=True, help="Operating system of the machine.")
@click.option(
    "--target", "names", multiple=True, help="Check only this target of [tool.rocm-doctor] or rocm-doctor.yaml; repeatable."
)
@click.option("--select", multiple=True, metavar="ID|ROW|PATH", help="Report only a diagnosis, a row, or a path; repeatable.")
@click.option(
    "--explain-environments", "explain", is_flag=True, help="List the environments, whom each is for and why, and stop."
)
@click.option("--fix", is_flag=True, help="Print the edits that are safe as a diff, and stop.")
@click.option("--apply", "go", is_flag=True, help="With --fix: write them.")
@report_options
def command(
    paths: tuple[Path, ...],
    gpu: str | None,
    rocm: str,
    driver: str,
    python: str,
    os_: str,
    names: tuple[str, ...],
    select: tuple[str, ...],
    explain: bool,
    fix: bool,
    go: bool,
    matrix_path: Path | None,
    overlays: tuple[Path, ...],
    fail_on: str,
    strict: bool,
    baseline: Path | None,
    ignore: tuple[str, ...],
    **show: Any,
) -> None:
    """Check the requirements, locks, Dockerfiles, workflows and training configurations under PATHS (default: here).

    The target is given by --gpu and related options, or declared in pyproject.toml or rocm-doctor.yaml.
    """
    from rocm_doctor.lint.environments import listing as environments

    if go and not fix:
        raise InputError("--apply needs --fix")
    try:
        Path.cwd()
    except FileNotFoundError as exc:
        raise InputError("the current folder was deleted: change to an existing one") from exc
    matrix = load_matrix(matrix_path, overlays)
    given = Target("the command line", gpu or "", rocm, driver, python, os_)
    reports = []
    for path in paths or (Path(),):
        repository = _read(path)
        if explain:
            known_targets = targets(repository, given, names, matrix) if given.gpu or repository.policy.targets else ()
            click.echo(environments.listed(repository, matrix, known_targets))
            continue
        if click.get_current_context().get_parameter_source("fail_on") == click.core.ParameterSource.DEFAULT:
            fail_on = repository.policy.fail_on or fail_on
        wanted = targets(repository, given, names, matrix)
        report = _judged(path, repository, wanted, matrix, ignore, select)
        if fix:
            _fix(_folder(path), repository, report, wanted, matrix, go)
            continue
        reports.append(_from_here(report, _folder(path)))
    if explain or fix:
        return
    report = baselined(merged(reports), baseline)
    deliver([report], **show)
    finish(report, fail_on=fail_on, strict=strict)


def targets(repository: Repository, given: Target, names: tuple[str, ...], matrix: Matrix) -> list[Target]:
    """The targets to check; a usage error if there is none, or for an unknown name or GPU."""
    declared = repository.policy.targets
    if given.gpu:
        return [known(given, matrix)]
    unknown = [name for name in names if name not in {t.name for t in declared}]
    if unknown or not declared:
        have = ", ".join(t.name for t in declared) or "none"
        what = f"unknown target {unknown[0]}" if unknown else "no target given"
        raise InputError(f"{what} (declared: {have}); give --gpu gfx1100, or targets in [tool.rocm-doctor] or rocm-doctor.yaml")
    return [known(t, matrix) for t in declared if not names or t.name in names]


def known(target: Target, matrix: Matrix) -> Target:
    """The target with the gfx name of its GPU, which may be given as the name of a product."""
    import msgspec

    if target.os not in _OS:
        raise InputError(f"target {target.name}: invalid os {target.os}: expected one of {', '.join(_OS)}")
    where = f" ({target.place.file}:{target.place.line})" if target.place else ""
    return msgspec.structs.replace(target, gpu=named_gpu(target.gpu, matrix, where))


def _read(path: Path) -> Repository:
    """The environments that a folder declares, or that one of its files declares or belongs to."""
    import msgspec

    from rocm_doctor.lint import readers

    if path.is_dir():
        return readers.read(path)
    root = _root_of(path)
    name = path.resolve().relative_to(root).as_posix()
    whole = readers.read(root, alone=name)
    only = tuple(e for e in whole.environments if e.place.file == name or e.name.split(" ")[0] == name)
    return msgspec.structs.replace(whole, environments=only, problems=tuple(p for p in whole.problems if p.place.file == name))


def _folder(path: Path) -> Path:
    return path if path.is_dir() else _root_of(path)


def _root_of(path: Path) -> Path:
    """The repository of a file: the nearest parent folder with `.git`, else the file's own folder."""
    folder = path.resolve().parent
    return next((up for up in (folder, *folder.parents) if (up / ".git").exists()), folder)


def _judged(
    path: Path, repository: Repository, wanted: list[Target], matrix: Matrix, ignore: tuple[str, ...], select: tuple[str, ...]
) -> Report:
    from rocm_doctor.lint.judge import lint

    folder = _folder(path)
    name = f"repository {printable(folder.resolve().name)} for {', '.join(t.gpu for t in wanted)}"
    today = datetime.datetime.now(datetime.timezone.utc).date()
    return lint(repository, wanted, matrix, name=name, today=today, ignore=ignore, select=select)


def _fix(root: Path, repository: Repository, report: Report, wanted: list[Target], matrix: Matrix, go: bool) -> None:
    """Print the safe edits of a repository as a diff; write them where that is asked for."""
    from rocm_doctor.lint.edits import changed, diff, edits

    files = changed(root, edits(repository, report, wanted, matrix))
    click.echo(diff(files), nl=False)
    if not files:
        click.echo("no finding has an edit that is safe to make", err=True)
    for file, (_, after) in files.items() if go else ():
        (root / file).write_bytes(after.encode())
    if files:
        click.echo(f"{'changed' if go else 'would change'} {', '.join(files)}" + ("" if go else "; --apply writes it"), err=True)


def _from_here(report: Report, folder: Path) -> Report:
    """The report with its files relative to the current folder, so that file:line opens there."""
    from rocm_doctor.lint.judge import rebased

    try:
        relative = folder.resolve().relative_to(Path.cwd().resolve()).as_posix()
    except ValueError:
        return report
    return report if relative == "." else rebased(report, relative + "/")


def merged(reports: list[Report]) -> Report:
    """Several repositories in one report: the findings of all, the verdict of the worst."""
    import msgspec

    if len(reports) == 1:
        return reports[0]
    worst = min(reports, key=lambda r: ("problems", "undetermined", "ready").index(r.verdict))
    return msgspec.structs.replace(
        worst,
        findings=tuple(f for r in reports for f in r.findings),
        undecided=tuple({u.row or u.id: u for r in reports for u in r.undecided}.values()),
        source="repository " + ", ".join(r.source.removeprefix("repository ") for r in reports),
    )
