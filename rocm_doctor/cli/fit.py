"""`rocm-doctor fit`: does this fine-tuning run fit into the GPU's memory?"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import click
import msgspec

from rocm_doctor import training
from rocm_doctor.cli.delivery import Printout, page_command, to_json
from rocm_doctor.cli.inputs import InputError, interpreter, load_matrix, notice_when_slow, resolve_gpu
from rocm_doctor.cli.machine import examine
from rocm_doctor.cli.options import FILE, F, completes, gpu_option, options, python_option
from rocm_doctor.fit import answer as answers
from rocm_doctor.fit import card as cards
from rocm_doctor.fit import resolve, runner, text
from rocm_doctor.fit.job import Job
from rocm_doctor.matrix import Matrix

UNITS = {"": 1 << 30, "g": 1 << 30, "gib": 1 << 30, "gb": 10**9, "mib": 1 << 20, "mb": 10**6}
RUN = {
    "method": "How it trains.",
    "rank": "LoRA rank.",
    "dtype": "Of the weights.",
    "autocast": "Of the matrix products (Trainer's bf16, fp16).",
    "batch": "Micro-batch per GPU.",
    "seq": "Tokens per sequence, padding included.",
    "grad_accum": "Micro-batches per optimizer step.",
    "checkpointing": "Recompute activations.",
    "optimizer": "What updates the weights.",
    "fused_loss": "Fused output head and loss, as in Liger-Kernel.",
}
"""The fields of a `Job` that are options. A configuration has more of them."""
_DEFAULTS = Job(config={})


def run_options(*names: str) -> Callable[[F], F]:
    """Options for these fields of a run, with the types and defaults that `Job` gives them; None for one that is not given."""
    return options(*map(_run_option, names))


def _run_option(name: str) -> Callable[[F], F]:
    kind, default, flag = get_type_hints(Job)[name], getattr(_DEFAULTS, name), f"--{name.replace('_', '-')}"
    words = f"{RUN[name]} [default: {('no', 'yes')[default] if kind is bool else default or 'none'}]"
    if kind is bool:
        return click.option(f"{flag}/--no-{flag[2:]}", default=None, help=words)
    names = next((get_args(one) for one in (kind, *get_args(kind)) if get_origin(one) is Literal), None)
    return click.option(flag, type=click.Choice(names) if names else click.IntRange(1), help=words)


def to_bytes(_ctx: click.Context, _param: click.Parameter, value: str | None) -> int | None:
    """The bytes of `24GiB`, `24` (GiB), `24GB` (decimal) or `512MiB`; None stays None. Raises click.BadParameter for another
    form."""
    if value is None:
        return None
    parts = re.fullmatch(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*([a-z]*)\s*", value.lower())
    if not parts or parts[2] not in UNITS:
        raise click.BadParameter(f"invalid size {value}: write 24GiB, 24GB or 512MiB")
    return int(float(parts[1]) * UNITS[parts[2]])


def split_names(_ctx: click.Context, _param: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """The names of a comma-separated option; None if it was not given."""
    return tuple(part for part in re.split(r"[,+\s]+", value) if part) if value else None


model_option = click.option(
    "--model",
    type=click.Path(),
    metavar="MODEL",
    shell_complete=completes("models"),
    help="A preset, a hub id of one, a config.json, or a folder that holds one.",
)
config_option = click.option(
    "--config", "file", type=FILE, help="A torchtune, axolotl, LLaMA-Factory, TRL or TrainingArguments file, or a Python script."
)
vram_option = click.option("--vram", callback=to_bytes, help="Memory of the GPU: 24GiB.")


@click.command(
    epilog="Examples:  rocm-doctor fit --model Qwen2.5-3B --gpu gfx906 --vram 32GiB;  "
    "rocm-doctor fit --model llama-3.1-8b --method qlora --gpu 'RX 7900 XTX';  rocm-doctor fit --config axolotl.yml"
)
@model_option
@config_option
@run_options(*RUN)
@click.option(
    "--targets", callback=split_names, help="Layers that LoRA adapts: q_proj,v_proj or all-linear. [default: the projections]"
)
@click.option(
    "--attention",
    type=click.Choice(["auto", "math", "flash", "eager"]),
    help="auto: the one torch uses for the GPU. [default: auto]",
)
@gpu_option(
    "A gfx target or a product's name (or sm_90, to compare), or auto: this machine's first.", default="auto", show_default=True
)
@vram_option
@click.option("--torch", "torch", help="Judge the kernels of this torch version instead of the installed one.")
@python_option
@click.option("--fast", is_flag=True, help="Arithmetic only: needs no torch, less accurate.")
@page_command("text", "json")
def command(
    file: Path | None,
    attention: str | None,
    gpu: str,
    vram: int | None,
    torch: str | None,
    python: str | None,
    fast: bool,
    **run: Any,
) -> Printout:
    """Predict the peak memory of a fine-tuning run on one GPU, which need not be here, without weights.

    The real model is built on the meta device and one training step is traced through it; without torch, a formula is
    used. Exit code 1 if it does not fit.
    """
    matrix = load_matrix()
    python = interpreter(python)
    request = resolve.FitRequest({k: v for k, v in run.items() if v is not None}, file, attention, torch)
    try:
        card, installed = find_card(gpu, vram, python, matrix)
        resolved = resolve.resolve(request, card.gfx, installed or None, matrix)
        with notice_when_slow("still tracing one training step through the model, on the CPU"):
            answer = answers.answer(resolved, card, python, fast, matrix)
    except (ValueError, runner.WorkerError) as exc:
        raise InputError(str(exc)) from exc
    first = next((way.fields for way in answer.enough or () if way.fields), {})
    change = describe_change(resolved.config, first)

    def render(form: str, columns: int) -> str:
        if form == "json":
            return as_json(answer)
        lines = ["", "the first of these, in your file", *change] if change else []
        return "\n".join((text.page(answer, columns).rstrip("\n"), *lines))

    return Printout(render, int(answer.verdict == "does not fit" or answer.reserves_too_much))


def describe_change(run: training.TrainingRun | None, wanted: Mapping[str, Any]) -> list[str]:
    """Lines for the fields of a job that are to change in the person's file; none without a file."""
    fields = {{"implementation": "attention"}.get(name, name): value for name, value in wanted.items()}
    return [f"  {line}" for line in run.describe_change(fields)] if run else []


def find_card(gpu: str, vram: int | None, python: str | None, matrix: Matrix) -> tuple[cards.Card, str]:
    """The GPU and the version of torch for it (empty for a declared GPU)."""
    if re.fullmatch(r"sm_\d+a?|cuda", gpu):
        return cards.declare_card(gpu, vram, matrix), ""
    if gpu != "auto":
        gfx = resolve_gpu(gpu, matrix)
        return cards.declare_card(gfx, vram, matrix, "" if "gfx" in gpu.lower() else gpu.strip()), ""
    report = examine(python, matrix)
    snapshot = report.snapshot
    here = cards.list_cards(snapshot, matrix) or [cards.declare_card("", vram, matrix)]
    torch = snapshot.get("torch.version").value if snapshot.get("torch.build").value == "rocm" else None
    blocker = next((finding.title for finding in report.findings if finding.severity == "error" and finding.leads), "")
    card = msgspec.structs.replace(here[0], blocker=blocker, total=here[0].total if vram is None else vram)
    return card, torch if isinstance(torch, str) else ""


def as_json(answer: answers.FitAnswer) -> str:
    """The answer with the estimate's fields at the top level."""
    body, run = msgspec.to_builtins(answer), answer.run
    parts = ("framework", "unread", "unmodelled")
    body |= body.pop("estimate") | {"model": run.source, "job": run.job, "bitsandbytes": run.bitsandbytes}
    body["available_bytes"] = answer.card.available
    body["config"] = {name: getattr(run.config, name) for name in parts} if run.config else None
    del body["run"]
    return to_json(body)
