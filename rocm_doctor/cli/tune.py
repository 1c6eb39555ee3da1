"""`rocm-doctor tune`: the fastest configuration of a training run on this GPU, measured against the person's own."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click
import msgspec

from rocm_doctor.cli.delivery import Printout, page_command, text_or_json
from rocm_doctor.cli.fit import config_option, describe_change, model_option, run_options, vram_option
from rocm_doctor.cli.inputs import InputError, interpreter, load_matrix
from rocm_doctor.cli.options import python_option
from rocm_doctor.fit import card as cards
from rocm_doctor.fit import estimate, resolve
from rocm_doctor.fit.job import Dtype
from rocm_doctor.fit.runner import WorkerError
from rocm_doctor.matrix import Matrix
from rocm_doctor.tune import runner, search, text
from rocm_doctor.tune.space import TuneChoice, changes

SEQUENCES = 16
"""Sequences of one optimizer step of a run without a file."""


@click.command(
    epilog="Examples:  rocm-doctor tune --config axolotl.yml;  rocm-doctor tune --config train.py --minutes 5;  "
    "rocm-doctor tune --model Qwen2.5-0.5B --vram 16GiB"
)
@config_option
@model_option
@click.option("--method", type=click.Choice(("lora", "full")), help="[default: lora]")
@run_options("rank", "batch", "seq")
@click.option("--minutes", type=click.FloatRange(0.2), default=2.0, show_default=True, help="How long to measure.")
@vram_option
@click.option(
    "--device", type=click.Choice(("gpu", "cpu")), default="gpu", show_default=True, help="The CPU only for tiny models."
)
@python_option
@page_command("text", "json")
def command(file: Path | None, minutes: float, vram: int | None, device: str, python: str | None, **run: Any) -> Printout:
    """Measure your own run, then what is faster with the same numbers and the same optimizer steps: micro-batch, checkpointing, attention,
    loss, optimizer. What other numerics (precision of weights, products and adapters) would bring is shown beside it.

    `fit` predicts what fits, and only that is measured. Weights are random; nothing is downloaded. Ctrl-C ends the search and shows the best so
    far.
    """
    matrix, python, began = load_matrix(), interpreter(python), time.monotonic()
    request = resolve.FitRequest({k: v for k, v in run.items() if v is not None}, file)
    try:
        answer = tune_run(request, matrix, python, vram, device, 60 * minutes, began)
    except (ValueError, WorkerError, RuntimeError) as exc:
        raise InputError(str(exc)) from exc
    body = {"kind": "tune", **msgspec.structs.asdict(answer), "gain": answer.gain}
    return text_or_json(lambda _: text.page(answer), lambda: body)


def tune_run(
    request: resolve.FitRequest, matrix: Matrix, python: str | None, vram: int | None, device: str, seconds: float, began: float
) -> text.TuneAnswer:
    """The outcome; the best so far if Ctrl-C ends the search."""
    resolved = resolve.resolve(request, "", None, matrix)
    packages = ("transformers",) if resolved.job.method == "full" else ("transformers", "peft")
    with runner.worker(python, vram or 0, packages) as first:
        first.until = began + seconds
        hello = first.start()
        if hello.device == "cpu" and device != "cpu":
            raise WorkerError(f"torch {hello.torch} has no GPU here: `rocm-doctor check` says why; --device cpu measures the CPU")
        card = worker_card(hello, vram, matrix)
        resolved = resolve.resolve(request, card.gfx, hello.torch, matrix)
        job = resolved.job
        if request.file is None:
            job = msgspec.structs.replace(job, grad_accum=max(1, SEQUENCES // job.batch))
        first.base = job
        half: Dtype = "float16" if (chip := matrix.gfx.get(card.gfx)) and chip.bf16 == "none" else "bfloat16"

        def ask(choice: TuneChoice, count: int) -> search.Measured:
            figure = first.measure(choice, count)
            best = max([figure.tokens_s, *(run.tokens_s for run in hunt.runs)])
            click.echo(text.progress(figure, best, choice), err=True)
            return figure

        hunt = search.TuneSearch(job, card, half, ask, first.until - time.monotonic())
        complete = run_search(hunt)
    outcome = hunt.outcome(complete)
    own = outcome.baseline.choice
    edits = describe_change(resolved.config, changes(own, outcome.best.choice))
    faster = describe_change(resolved.config, changes(own, outcome.faster.choice)) if outcome.faster else []
    seconds = round(time.monotonic() - began, 1)
    predicted = estimate.compute(job, card).peak_allocated_bytes
    gpu = hello.name or "the CPU"
    return text.TuneAnswer(outcome, resolved.source, gpu, seconds, predicted, tuple(edits), tuple(faster))


def run_search(hunt: search.TuneSearch) -> bool:
    """Run the search. False if Ctrl-C ended it after a first figure."""
    try:
        hunt.search()
    except KeyboardInterrupt:
        if not any(run.tokens_s for run in hunt.runs):
            raise
        return False
    return True


def worker_card(hello: runner.Hello, vram: int | None, matrix: Matrix) -> cards.Card:
    """The GPU that the worker found, with no more memory than was allowed; a CPU has the memory that was given, or 8 GiB."""
    if hello.device == "cpu":
        return cards.measured_card("", "CPU", vram or 8 << 30, 0, matrix)
    total = min(hello.total, vram) if vram else hello.total
    return cards.measured_card(hello.gfx, hello.name, total, hello.context, matrix)
