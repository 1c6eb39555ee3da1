"""`rocm-doctor watch`: what holds a running training back."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import msgspec

from rocm_doctor import watch
from rocm_doctor.cli.common import InputError, load_matrix, page_options, print_page
from rocm_doctor.cli.fit import FILE
from rocm_doctor.matrix import Matrix

PEAKS = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}


@click.command(
    epilog="Examples:  rocm-doctor watch;  rocm-doctor watch 4711 --seconds 60;  "
    "rocm-doctor watch --config train.py --step-seconds 6.01"
)
@click.argument("pid", type=click.IntRange(1), required=False)
@click.option("--seconds", type=click.FloatRange(1), default=20.0, show_default=True, help="How long to look.")
@click.option("--config", "files", type=FILE, multiple=True, help="The run's configuration or script, as for `fit`.")
@click.option(
    "--step-seconds",
    "step",
    type=click.FloatRange(0, min_open=True),
    help="Seconds of an optimizer step, as its progress bar shows them: with --config, says how much of the GPU's peak the run uses.",
)
@page_options("text", "json")
def command(pid: int | None, seconds: float, files: tuple[Path, ...], step: float | None, form: str, output: Path | None) -> None:
    """Look at a running training and say what holds it back: data, the CPU, the disk, memory, power, heat, another process.

    PID is that of the training; without it, the process that holds the most VRAM is taken. The run is only looked at, through sysfs and /proc.
    Exit code 1 if something holds it back.
    """
    if bool(files) is (step is None):
        raise InputError("--config and --step-seconds belong together: give both, or neither")
    matrix = load_matrix(None, ())
    try:
        work = step_work(files, matrix) if files else None
        found = watch.watch(pid, seconds, tell=lambda line: click.echo(line, err=True))
    except ValueError as exc:
        raise InputError(str(exc)) from exc
    if work and step:
        found = msgspec.structs.replace(found, pace=pace_words(work, step, found.gpu, matrix))
    as_json = msgspec.json.format(msgspec.json.encode(found), indent=1).decode()
    print_page(as_json if form == "json" else watch.page(found), output)
    sys.exit(0 if found.causes[0].id == "computes" else 1)


def step_work(files: tuple[Path, ...], matrix: Matrix) -> tuple[float, str]:
    """Floating-point operations of an optimizer step of this configuration, and the type of its products. Raises ValueError."""
    from rocm_doctor.fit.resolve import Request, resolve
    from rocm_doctor.fit.shape import operations

    job = resolve(Request({}, files), "", None, matrix).job
    return operations(job), PEAKS[job.autocast or job.dtype]


def pace_words(work: tuple[float, str], step: float, gpu: str, matrix: Matrix) -> str:
    """A sentence: TFLOP/s of the run, and its part of the GPU's peak. Work that checkpointing repeats does not count."""
    from rocm_doctor.figures import peaks

    operations, dtype = work
    rate, product = operations / step / 1e12, peaks.product_of(gpu, matrix)
    limit = peaks.compute_peak(dtype, product, matrix) if product else None
    if limit is None:
        return f"the run computes {rate:.3g} TFLOP/s; no {dtype} peak is known for {gpu or 'this GPU'}"
    return f"the run computes at {rate / limit.value:.0%} of the peak: {rate:.3g} of {limit.value:g} TFLOP/s ({limit.words}; {limit.source})"
