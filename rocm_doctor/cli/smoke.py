"""`rocm-doctor smoke`: run the smoke test and judge its results."""

from __future__ import annotations

import sys
import textwrap
from typing import Any

import click

from rocm_doctor import pipeline
from rocm_doctor.cli.common import (
    InputError,
    Reporting,
    interpreter,
    load_matrix,
    python_option,
    report_options,
    width,
)
from rocm_doctor.model import Artifact, Report
from rocm_doctor.smoke.summary import lines
from rocm_doctor.workers.smoke.table import BY_NAME, FRAMEWORKS


@click.command(
    epilog="Examples:  rocm-doctor smoke;  rocm-doctor smoke --framework jax;  rocm-doctor smoke --stage bf16 --gpu-index 1"
)
@click.option(
    "--framework",
    type=click.Choice(("auto", *FRAMEWORKS)),
    default="auto",
    show_default=True,
    help="What to test. auto: each of them that is installed.",
)
@click.option(
    "--level",
    type=click.IntRange(1, 3),
    default=1,
    show_default=True,
    help="1: about half a minute. 2: some minutes. 3: 15 min, all GPUs together.",
)
@click.option("--stage", "stages", multiple=True, metavar="NAME", help="Only this stage; repeatable. --stage list shows them.")
@click.option("--device", type=click.Choice(("auto", "cpu", "cuda")), default="auto", help="ROCm GPUs are called cuda, too.")
@click.option(
    "--gpu-index",
    "gpu",
    type=click.IntRange(0),
    metavar="INDEX",
    help="Only this GPU, by the framework's index. [default: every GPU]",
)
@python_option
@click.option(
    "--stage-limit", type=click.FloatRange(1), metavar="SECONDS", help="Time limit of each stage, instead of its default."
)
@report_options
def command(
    framework: str,
    level: int,
    stages: tuple[str, ...],
    device: str,
    gpu: int | None,
    python: str | None,
    stage_limit: float | None,
    reporting: Reporting,
) -> None:
    """Run short training steps, from a copy to LoRA, in child processes that may crash, hang or compute wrong results.

    Nothing is downloaded. Results are compared with float64 on the CPU; look at the first stage that fails.
    Ctrl-C ends the children, reports what has run until then, and exits with 130.
    """
    if "list" in stages:
        table = tuple(BY_NAME.values()) if framework == "auto" else FRAMEWORKS[framework]
        click.echo("\n".join(f"{stage.name:<20} level {stage.level}  {stage.about}" for stage in table))
        return
    check_stages(stages, framework)
    python = interpreter(python)
    matrix = load_matrix()
    artifacts = run_stages(
        python,
        framework=framework,
        level=level,
        device=device,
        stages=stages,
        gpu=gpu,
        limit=stage_limit,
    )
    artifacts += machine_facts(python, device, artifacts)
    report = reporting.drop_baseline(
        pipeline.judge(artifacts, matrix, source="the smoke test on this machine", kind="smoke", ignore=reporting.ignore)
    )
    if not reporting.quiet:
        summarize(report, to_stderr=not reporting.is_text_printed)
    reporting.deliver([report], artifacts)
    if any(artifact.note == "interrupted" for artifact in artifacts):
        click.echo("interrupted: the report covers what ran until then", err=True)
        sys.exit(130)
    reporting.finish([report])


def check_stages(names: tuple[str, ...], framework: str) -> None:
    """Raises InputError for a stage that no framework has, or not the one asked for."""
    from rocm_doctor.smoke.runner import stages_named

    has = set(BY_NAME) if framework == "auto" else {stage.name for stage in FRAMEWORKS[framework]}
    for name in names:
        try:
            found = stages_named(name)
        except KeyError:
            raise InputError(f"unknown stage {name}; `rocm-doctor smoke --stage list` shows them") from None
        if not has.intersection(found):
            raise InputError(
                f"{framework} has no stage {name}; `rocm-doctor smoke --framework {framework} --stage list` shows them"
            )


def summarize(report: Report, *, to_stderr: bool) -> None:
    """Print the stages by result: above a text report, else on standard error, apart from the format."""
    for line in lines(report.snapshot):
        click.echo(textwrap.fill(line, width(), subsequent_indent="  ", break_on_hyphens=False), err=to_stderr)


def machine_facts(python: str | None, device: str, results: list[Artifact]) -> list[Artifact]:
    """The facts of the machine, to judge the results with. A test requested for the CPU, or run on a CUDA GPU, needs none;
    one that found no GPU needs them to report why.
    """
    from rocm_doctor.probes.python.smoke import probe
    from rocm_doctor.probes.read.result import Artifacts

    kind = probe(Artifacts(results)).facts.get("smoke.kind")
    if device == "cpu" or (kind and kind.value == "cuda"):
        return []
    from rocm_doctor.sources.live import collect

    return collect(python=python)


def run_stages(python: str | None, **options: Any) -> list[Artifact]:
    """The smoke test's artifacts, with a line for each stage on standard error while it runs."""
    from rocm_doctor.smoke.runner import run_smoke

    return run_smoke(python, on_progress=lambda line: click.echo(line, err=True), **options)
