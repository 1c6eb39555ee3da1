"""`rocm-doctor tune`: the fastest configuration of a training run on this GPU."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click
import msgspec

from rocm_doctor.cli.bench import deliver
from rocm_doctor.cli.common import InputError, interpreter, load_matrix, python_option
from rocm_doctor.cli.fit import size
from rocm_doctor.fit import card as cards
from rocm_doctor.fit import resolve
from rocm_doctor.fit.job import Job, Method
from rocm_doctor.fit.shape import ShapeError
from rocm_doctor.matrix import Matrix
from rocm_doctor.tune import files, runner, search, text
from rocm_doctor.tune.space import Space


@click.command(
    epilog="Examples:  rocm-doctor tune --model Qwen2.5-0.5B;  rocm-doctor tune --model ./my-model --method full --seq 2048 --sequences 32"
)
@click.option("--model", required=True, help="A preset, a hub id of one, a config.json, or a folder that holds one.")
@click.option("--method", type=click.Choice(("lora", "full")), default="lora", show_default=True)
@click.option("--rank", type=click.IntRange(1), default=16, show_default=True, help="LoRA rank.")
@click.option("--seq", type=click.IntRange(1), default=1024, show_default=True, help="Tokens per sequence, padding included.")
@click.option(
    "--sequences", type=click.IntRange(1), default=16, show_default=True, help="Sequences of one optimizer step, kept the same."
)
@click.option("--vram", callback=size, help="Use no more than this much of the GPU's memory: 24GiB.")
@click.option("--compile", "compile_", is_flag=True, help="Try torch.compile, too: minutes more.")
@click.option(
    "--device",
    type=click.Choice(("gpu", "cpu")),
    default="gpu",
    show_default=True,
    help="The CPU only for tiny models: it is slow.",
)
@python_option
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write to this file.")
def command(
    model: str,
    method: Method,
    rank: int,
    seq: int,
    sequences: int,
    vram: int | None,
    compile_: bool,
    device: str,
    python: str | None,
    format_: str,
    output: Path | None,
) -> None:
    """Find the micro-batch, accumulation, checkpointing, attention, precision, optimizer and loss that give the most tokens a second.

    `fit` predicts what fits, and only that is measured: short runs first, long ones for the finalists. Weights are random; nothing is
    downloaded. Other programs on the GPU change the result: close them.
    """
    matrix, python = load_matrix(None, ()), interpreter(python)
    options = {"model": model, "method": method, "rank": rank, "seq": seq}
    began = time.monotonic()
    try:
        hello, found, job = tuned(options, matrix, python, vram, sequences, compile_, device)
    except (ValueError, ShapeError, runner.WorkerError, RuntimeError) as exc:
        raise InputError(str(exc)) from exc
    seconds = time.monotonic() - began
    made = files.every(found.best.choice, job, model, hello.liger)
    page = as_json(found, made, model, hello, seconds) if format_ == "json" else text.page(found, made, seconds) + "\n"
    deliver(page, output)


def tuned(
    options: dict[str, Any], matrix: Matrix, python: str | None, vram: int | None, sequences: int, compile_: bool, device: str
) -> tuple[runner.Hello, search.Tuned, Job]:
    """The worker's GPU, the outcome, and the run that was tuned."""
    packages = ("transformers",) if options["method"] == "full" else ("transformers", "peft")
    with runner.worker(python, vram or 0, packages) as first:
        hello = first.start()
        if hello.device == "cpu" and device != "cpu":
            raise runner.WorkerError(
                f"torch {hello.torch} has no GPU here: `rocm-doctor check` says why; --device cpu measures the CPU"
            )
        card = card_of(hello, vram, matrix)
        first.base = resolve.resolve(resolve.Request(options), card.gfx, hello.torch, matrix).job
        capped = first.base.config.get("final_logit_softcapping")  # a fused loss would leave the cap out
        space = Space(
            sequences, fused_loss=(False,) if capped else (False, True), compile=(False, True) if compile_ else (False,)
        )
        ask = runner.with_progress(first.measure, lambda line: click.echo(line, err=True))
        return hello, search.tune(space, first.base, card, ask), first.base


def card_of(hello: runner.Hello, vram: int | None, matrix: Matrix) -> cards.Card:
    """The GPU that the worker found, with no more memory than was allowed; a CPU has the memory that was given, or 8 GiB."""
    if hello.device == "cpu":
        return cards.measured("", "CPU", vram or 8 << 30, 0, matrix)
    total = min(hello.total, vram) if vram else hello.total
    return cards.measured(hello.gfx, hello.name, total, hello.context, matrix)


def as_json(found: search.Tuned, made: files.Files, model: str, hello: runner.Hello, seconds: float) -> str:
    """The outcome with the three files."""
    body = {
        "kind": "tune",
        "model": model,
        "gpu": hello,
        "seconds": round(seconds, 1),
        **msgspec.structs.asdict(found),
        **made._asdict(),
    }
    return msgspec.json.format(msgspec.json.encode(body), indent=1).decode() + "\n"
