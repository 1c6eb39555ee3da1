"""`rocm-doctor smoke`: run the smoke test and judge its results."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

import click

from rocm_doctor import pipeline
from rocm_doctor.cli.delivery import Reporting, report_options, width
from rocm_doctor.cli.inputs import InputError, interpreter, load_matrix
from rocm_doctor.cli.machine import was_interrupted
from rocm_doctor.cli.options import device_options, limit_option, python_option
from rocm_doctor.model import Artifact
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
@device_options
@python_option
@limit_option("Time limit of each stage, instead of its default.", flag="--stage-limit")
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
    from rocm_doctor.smoke.runner import run_smoke

    matrix, python = load_matrix(), interpreter(python)
    artifacts = run_smoke(
        python,
        framework=framework,
        level=level,
        device=device,
        stages=stages,
        gpu=gpu,
        limit=stage_limit,
        on_progress=lambda line: click.echo(line, err=True),
    )
    interrupted = was_interrupted(artifacts)
    artifacts += machine_facts(python, device, artifacts)
    source = "the smoke test on this machine"
    report = reporting.drop_baseline(pipeline.judge(artifacts, matrix, source=source, kind="smoke", ignore=reporting.ignore))
    for line in () if reporting.quiet else lines(report.snapshot):  # above a text report, else apart from the format
        stage = textwrap.fill(line, width(), subsequent_indent="  ", break_on_hyphens=False)
        click.echo(stage, err=not reporting.is_text_printed)
    reporting.deliver([report], artifacts)
    if interrupted:
        click.echo("interrupted: the report covers what ran until then", err=True)
    reporting.finish([report], interrupted)


def check_stages(names: Iterable[str], framework: str) -> None:
    """Raises InputError for a stage that no framework has, or not the one asked for."""
    from rocm_doctor.smoke.runner import stages_named

    stages = set(BY_NAME) if framework == "auto" else {stage.name for stage in FRAMEWORKS[framework]}
    for name in names:
        try:
            known = stages.intersection(stages_named(name))
        except KeyError:
            known = set()
        if not known:
            whose, option = ("", "") if framework == "auto" else (f" of {framework}", f" --framework {framework}")
            raise InputError(f"unknown stage {name}{whose}; `rocm-doctor smoke{option} --stage list` shows them")


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
