"""`rocm-doctor check`: check this machine, a bundle, or a pasted text."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from rocm_doctor import pipeline
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.cli.common import (
    InputError,
    Reporting,
    interpreter,
    load_matrix,
    python_option,
    report_options,
    say_when_old,
    sysroot_option,
)
from rocm_doctor.cli.gate import declares_targets, framework_of_repository, judge, target_options, targets
from rocm_doctor.cli.reader import ask_reader, dry_run_option, reader_options
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Artifact, Report, ReportKind
from rocm_doctor.probes.read.scan import canonical
from rocm_doctor.sources.declared import Target


@click.command(
    epilog="Examples:  rocm-doctor check;  rocm-doctor check ticket.zip -v;  some-command 2>&1 | rocm-doctor check -;  "
    "rocm-doctor check --gpu gfx1100 --python .venv;  rocm-doctor check train.log --reader http://localhost:11434/v1 --reader-model qwen3:8b"
)
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--log",
    "logs",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    help="A failing log to judge with the live facts.",
)
@python_option
@click.option(
    "--framework",
    type=click.Choice(("torch", "jax", "tensorflow")),
    help="Judge and test this framework. [default: those that are installed, or that the text names]",
)
@click.option("--no-smoke", is_flag=True, help="Skip the smoke test.")
@click.option("--same-machine", is_flag=True, help="Treat all paths as captures of one machine.")
@click.option("--example", is_flag=True, help="Check a packaged sample bundle; needs no AMD GPU.")
@sysroot_option
@reader_options
@dry_run_option
@target_options
@report_options
def command(
    paths: tuple[Path, ...],
    logs: tuple[Path, ...],
    python: str | None,
    gpus: tuple[str, ...],
    root: Path | None,
    rocm: str,
    driver: str,
    kernel: str,
    system: str | None,
    framework: str | None,
    no_smoke: bool,
    same_machine: bool,
    example: bool,
    sysroot: Path | None,
    reader_url: str,
    reader_model: str,
    reader_seconds: float,
    dry_run: bool,
    reporting: Reporting,
) -> None:
    """Check this machine (no PATH), or captured text: files, folders, archives, or - for standard input.

    With --gpu, check the installed environment for a GPU that need not be here, as in CI or while an image is built. Root causes come first, each with evidence, sources, and the commands that fix it.
    """
    matrix = load_matrix()
    framework = framework or framework_of_repository(gpus)
    named = [Artifact("declared/framework", "declared", f"framework: {framework}\n")] if framework else []
    second = ask_reader(reader_url, reader_model, reader_seconds, matrix)
    if wanted := targets(gpus, root, Target("", rocm, driver, kernel, system or ""), matrix):
        if paths or logs or same_machine or example or sysroot:
            raise InputError("--gpu judges an installed environment: it cannot be combined with captures or logs")
        with notice_when_slow("still reading the environment's libraries"):
            reports, artifacts = judge(wanted, python, root, matrix, reporting.ignore, named)
        reports = [second(reporting.drop_baseline(report), artifacts) for report in reports]
        reporting.deliver(reports, artifacts)
        say_when_old(matrix)
        reporting.finish(reports)
    python = interpreter(python) if python or not (paths or example or sysroot) else None
    captures = (
        [(name, [*found, *named]) for name, found in _captures(paths, logs)]
        if paths
        else [(_source(paths, example), _alone(python, sysroot, logs, example, no_smoke, named))]
    )
    found = [_as_one(captures)] if same_machine else pipeline.machines(captures, matrix)
    kind: ReportKind = "capture" if paths or example else "machine"
    judged = [pipeline.judge(artifacts, matrix, source=name, kind=kind, ignore=reporting.ignore) for name, artifacts in found]
    reports = list(map(reporting.drop_baseline, judged))
    if dry_run:
        from rocm_doctor.reader import question

        for report, (_, artifacts) in zip(judged, found):
            click.echo(question(report, artifacts, reader_model, matrix))
        return
    stopped = any(was_interrupted(artifacts) for _, artifacts in found)
    try:
        with notice_when_slow("still waiting for the language model of --reader"):
            reports = [second(report, artifacts) for report, (_, artifacts) in zip(reports, found)]
    except KeyboardInterrupt:
        stopped = True
        click.echo("interrupted: the reports are without the opinion of --reader", err=True)
    reporting.deliver(reports, [a for _, artifacts in found for a in artifacts])
    say_when_old(matrix)
    if (
        kind == "machine"
        and any(one.id == "access.no-gpu" for report in reports for one in report.findings)
        and declares_targets()
    ):
        click.echo(
            "note: this folder declares targets: `rocm-doctor check --gpu declared` judges the environment for them", err=True
        )
    if stopped:
        sys.exit(130)
    reporting.finish(reports)


def _alone(
    python: str | None, sysroot: Path | None, logs: tuple[Path, ...], example: bool, no_smoke: bool, named: list[Artifact]
) -> list[Artifact]:
    """Artifacts of the packaged example, or of this machine."""
    return [*read_captures((), logs, True), *named] if example else live(python, sysroot, logs, smoke=not no_smoke, named=named)


def _as_one(captures: Sequence[pipeline.Named]) -> pipeline.Named:
    return ", ".join(name for name, _ in captures), [a for _, artifacts in captures for a in artifacts]


def _captures(paths: tuple[Path, ...], logs: tuple[Path, ...]) -> list[pipeline.Named]:
    """The inputs by name, logs together with the machine; a path that cannot be read is a usage error."""
    from rocm_doctor.sources.bundle import BundleError, read_each

    try:
        found = [
            one
            for p in paths
            for one in ([("standard input", read_captures((p,), (), False))] if str(p) == "-" else read_each(p))
        ]
    except BundleError as exc:
        raise InputError(str(exc)) from exc
    if logs:
        name, artifacts = _as_one(found)
        return [(name, artifacts + read_captures((), logs, False))]
    return found


def _source(paths: tuple[Path, ...], example: bool) -> str:
    if example:
        return "the packaged example"
    return ", ".join("standard input" if str(p) == "-" else p.name or str(p) for p in paths) or "this machine"


def read_captures(paths: tuple[Path, ...], logs: tuple[Path, ...], example: bool) -> list[Artifact]:
    """Artifacts of the given paths; a path that cannot be read is a usage error."""
    from rocm_doctor.sources.bundle import BundleError, read_stream

    try:
        if example:
            return pipeline.read_paths([example_bundle()], logs)
        if sys.stdin is None and any(str(p) == "-" for p in paths):
            raise InputError("standard input is closed; give a file, or pipe the text into `rocm-doctor check -`")
        stdin = [a for p in paths if str(p) == "-" for a in read_stream(sys.stdin.buffer)]
        return stdin + pipeline.read_paths([p for p in paths if str(p) != "-"], logs)
    except BundleError as exc:
        raise InputError(str(exc)) from exc


def example_bundle() -> Path:
    """The packaged example; in a source checkout, the fixture that it is built from."""
    package = Path(__file__).parent.parent
    packaged = package / "data" / "example"
    return packaged if packaged.is_dir() else package.parent / "fixtures" / "mi50-wrong-override"


def live(
    python: str | None, sysroot: Path | None, logs: tuple[Path, ...], *, smoke: bool, named: Sequence[Artifact] = ()
) -> list[Artifact]:
    """Artifacts of this machine, with the smoke test's if requested and if there are a GPU and a framework."""
    from rocm_doctor.sources.live import collect

    with notice_when_slow("still reading this machine: waiting for a tool"):
        artifacts = collect(python=python, root=sysroot or Path("/"))
    artifacts += [*(read_captures((), logs, False) if logs else ()), *named]
    if was_interrupted(artifacts):
        click.echo("interrupted: the report covers what was read until then", err=True)
    elif smoke and sysroot is None and not (framework := smokes(artifacts)):
        click.echo("smoke test skipped: it needs a GPU, and JAX or a ROCm build of torch", err=True)
    elif smoke and sysroot is None:
        from rocm_doctor.smoke.runner import run_smoke

        artifacts += run_smoke(python, framework=framework, on_progress=lambda line: click.echo(line, err=True))
    return artifacts


def examine(python: str | None, matrix: Matrix) -> Report:
    """The report on this machine without a smoke test: plan, fix, env and fit start from what `check` says. Ctrl-C ends the command."""
    artifacts = live(python, None, (), smoke=False)
    if was_interrupted(artifacts):
        raise KeyboardInterrupt
    return pipeline.judge(artifacts, matrix)


def was_interrupted(artifacts: list[Artifact]) -> bool:
    """True if Ctrl-C ended the reading of this machine."""
    live_source = sys.modules.get("rocm_doctor.sources.live")
    return bool(live_source and live_source.was_interrupted(artifacts))


@contextmanager
def notice_when_slow(words: str, after: float = 2.0) -> Iterator[None]:
    """Print `words` on standard error if the block takes longer than `after` seconds.

    A signal says it, and nothing where there is none: a thread would keep the block's children from naming their group before they start
    (`guard.single_threaded`), and one of them could outlive a doctor that is killed.
    """
    import threading

    if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGALRM, lambda *_: click.echo(words, err=True))
    signal.setitimer(signal.ITIMER_REAL, after)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before or signal.SIG_DFL)


_NO_HIP = regex(r"^hip\b[^=\n]*=\s*None\s*$", re.MULTILINE)


def smokes(artifacts: list[Artifact]) -> str:
    """The framework to test: torch, JAX where it is for AMD GPUs, or auto for both or where JAX alone is installed. Empty without any, without a device (the kernel's node, WSL's, or on Windows a GPU that hipInfo lists), or where there
    is only a torch whose version file says that it is a build for the CPU or CUDA: what it computes says nothing of the GPU.
    """
    texts = {a.name: a.text for a in artifacts if not a.missing}
    node = any("exists: yes" in texts.get(name, "") for name in ("dev/kfd", "dev/dxg"))
    if not node and "device#" not in texts.get("cmd/hipInfo", ""):
        return ""
    if declared := texts.get("declared/framework"):
        framework = declared.partition(":")[2].strip()
        return framework if framework in ("torch", "jax") else ""
    names = {canonical(line.partition("==")[0]) for line in texts.get("py/packages", "").splitlines()}
    built = ["jax"] if any(name.startswith("jax-rocm") for name in names) else []
    if "py/torch/version.py" in texts:
        built += [] if _NO_HIP.search(texts["py/torch/version.py"]) else ["torch"]
        return built[0] if len(built) == 1 else "auto" if built else ""
    return "auto" if "jax" in names else ""
