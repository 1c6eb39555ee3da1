"""`rocm-doctor bench`: measure the GPUs, and say what is slow and why."""

from __future__ import annotations

import click

from rocm_doctor.bench import runner, text
from rocm_doctor.cli.delivery import Printout, page_command, text_or_json
from rocm_doctor.cli.inputs import InputError, interpreter, load_matrix
from rocm_doctor.cli.options import device_options, python_option
from rocm_doctor.cli.output import INTERRUPTED
from rocm_doctor.figures import judge
from rocm_doctor.figures.types import BenchReport


@click.command(
    epilog="Examples:  rocm-doctor bench;  rocm-doctor bench --format json -o today.json;  rocm-doctor check today.json"
)
@device_options
@python_option
@page_command("text", "json")
def command(device: str, gpu: int | None, python: str | None) -> Printout:
    """Measure matrix products, memory, copies and attention, and judge each figure. `tune` measures a training run.

    References: the product's theoretical peak and PCIe link, the machine's other GPUs.
    A busy GPU is refused. Exit code 1 if a figure is slow. Ctrl-C ends the measurement and reports what ran until then.
    """
    matrix = load_matrix()
    python = interpreter(python)
    measured = runner.run(matrix, python, device=device, gpu=gpu, on_progress=lambda line: click.echo(line, err=True))
    if words := runner.busy_words(measured):
        raise InputError(f"{words}: end it, or choose another GPU with --gpu-index")
    if not measured.figures:
        raise InputError(explain_nothing(measured))
    judged = judge.judge_figures(measured, matrix)
    artifacts = []
    if any(gpu.kind == "hip" for gpu in judged.gpus):  # some causes are facts of the machine
        from rocm_doctor.sources.live import collect

        artifacts = collect(python=python)
    report = runner.add_causes(judged, matrix, artifacts)
    slow = any(figure.verdict == "slow" for figure in report.figures)
    code = INTERRUPTED if report.interrupted else int(slow)
    return text_or_json(lambda columns: text.page(report, columns), lambda: report, code)


def explain_nothing(report: BenchReport) -> str:
    """Why nothing was measured."""
    if any(n.stage == "import" and "not-installed" in f"{n.status} {n.reason}" for n in report.not_measured):
        return (
            "nothing was measured: bench measures with torch, which is not installed in this interpreter (--python names another); "
            "JAX is tested by `rocm-doctor smoke --framework jax`"
        )
    first = next((f"{n.stage} {n.status}: {n.reason}" for n in report.not_measured if n.stage in ("import", "device")), "")
    return f"nothing was measured{': ' + first if first else ''}; `rocm-doctor smoke` looks further"
