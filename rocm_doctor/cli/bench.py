"""`rocm-doctor bench`: measure the GPUs, and say what is slow and why."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from rocm_doctor.bench import runner, text
from rocm_doctor.cli.common import InputError, interpreter, load_matrix, page_options, print_page, python_option, to_json, width
from rocm_doctor.figures import judge
from rocm_doctor.figures.types import BenchReport
from rocm_doctor.model import Artifact


@click.command(
    epilog="Examples:  rocm-doctor bench --quick;  rocm-doctor bench --format json -o today.json;  "
    "rocm-doctor diff today.json later.json;  rocm-doctor check today.json"
)
@click.option("--quick", is_flag=True, help="Fewer samples: about 20 s a GPU instead of 50 s.")
@click.option("--device", type=click.Choice(("auto", "cpu", "cuda")), default="auto", help="torch calls ROCm GPUs cuda, too.")
@click.option(
    "--gpu-index", "gpu", type=click.IntRange(0), metavar="INDEX", help="Only this GPU, by torch's index. [default: every GPU]"
)
@python_option
@page_options("text", "json")
def command(quick: bool, device: str, gpu: int | None, python: str | None, form: str, output: Path | None) -> None:
    """Measure matrix products, memory, copies and attention, and judge each figure. `tune` measures a training run.

    References: the product's theoretical peak and PCIe link, what others measured, the machine's other GPUs.
    A busy GPU is refused. Exit code 1 if a figure is slow. Ctrl-C ends the measurement and reports what ran until then.
    """
    matrix = load_matrix()
    python = interpreter(python)
    measured = runner.run(
        matrix, python, quick=quick, device=device, gpu=gpu, on_progress=lambda line: click.echo(line, err=True)
    )
    if words := runner.busy_words(measured):
        raise InputError(f"{words}: end it, or choose another GPU with --gpu")
    if not measured.figures:
        raise InputError(explain_nothing(measured))
    judged = judge.judge_figures(measured, matrix)
    report = runner.add_causes(judged, matrix, machine_artifacts(judged, python))
    as_json = to_json(report)
    print_page(as_json if form == "json" else text.page(report, width(output is not None)), output)
    if report.interrupted:
        sys.exit(130)
    sys.exit(1 if any(f.verdict == "slow" for f in report.figures) else 0)


def explain_nothing(report: BenchReport) -> str:
    """Why nothing was measured."""
    if any(n.stage == "import" and "not-installed" in f"{n.status} {n.reason}" for n in report.not_measured):
        return (
            "nothing was measured: bench measures with torch, which is not installed in this interpreter (--python names another); "
            "JAX is tested by `rocm-doctor smoke --framework jax`"
        )
    first = next((f"{n.stage} {n.status}: {n.reason}" for n in report.not_measured if n.stage in ("import", "device")), "")
    return f"nothing was measured{': ' + first if first else ''}; `rocm-doctor smoke` looks further"


def machine_artifacts(report: BenchReport, python: str | None) -> list[Artifact]:
    """The machine's own artifacts, which some causes need; none for the CPU or a CUDA GPU."""
    if not any(gpu.kind == "hip" for gpu in report.gpus):
        return []
    from rocm_doctor.sources.live import collect

    return collect(python=python)
