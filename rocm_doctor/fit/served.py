"""The answer of `rocm-doctor fit --serve`: does the model fit, at how many tokens, and by how much."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from rocm_doctor.fit import runner, serving, text, windows
from rocm_doctor.fit.allocator import Peak, replay
from rocm_doctor.fit.card import Card
from rocm_doctor.fit.estimate import Estimate, Verdict, margin, verdict
from rocm_doctor.fit.job import CUDA, Job, Kernels
from rocm_doctor.fit.serving import Serving
from rocm_doctor.fit.shape import served_shape
from rocm_doctor.matrix import Matrix
from rocm_doctor.versions import contains

FP8 = "feature-fp8-2.15"


class Served(msgspec.Struct, frozen=True):
    """`tokens` is what the cache could hold on this GPU beside weights and activations, all sequences together; None: not known."""

    serving: Serving
    source: str
    card: Card
    estimate: Estimate
    verdict: Verdict
    margin_bytes: int | None
    tokens: int | None
    notes: tuple[str, ...] = ()


def answer(wanted: Serving, source: str, card: Card, kernels: Kernels, python: str | None, fast: bool, matrix: Matrix) -> Served:
    """The answer: a simulation for transformers where torch is installed, arithmetic for the others.

    Raises ValueError for a format that the engine does not have, shape.ShapeError for an architecture that is not covered.
    """
    wanted = serving.validate(msgspec.structs.replace(wanted, total=card.total))
    card = _share(wanted, card)
    estimate, note = _estimate(wanted, card, kernels, python, fast)
    tokens = None if card.available is None else serving.room_for_tokens(wanted, card.available)
    notes = tuple(filter(None, (note, *_structure(wanted), *_paths(wanted, card.gfx, matrix))))
    return Served(wanted, source, card, estimate, verdict(estimate, card), margin(estimate, card), tokens, notes)


def _structure(wanted: Serving) -> Iterator[str]:
    """What the sum assumes of experts, windows and several GPUs."""
    few, window = windows.window_layers(wanted.config, wanted.engine)
    if few:
        yield f"{few} layers see a window of {window} tokens and keep no more than {wanted.engine}'s cache needs for it"
    elif wanted.config.get("sliding_window") and windows.window_layers(wanted.config, "vllm")[0]:
        yield f"the model's sliding window saves nothing in {wanted.engine}'s cache"
    experts = served_shape(wanted.config).experts
    if experts:
        yield f"all {experts.count} experts of each layer are counted, though a token takes {experts.chosen}"
    if wanted.gpus > 1:
        yield "buffers of RCCL and of vLLM's own all-reduce are not counted"


def _paths(wanted: Serving, gfx: str, matrix: Matrix) -> Iterator[str]:
    """What is known of the formats on this GPU, apart from memory."""
    if not gfx.startswith("gfx"):
        return
    if wanted.engine != "transformers":
        for part, fact in matrix.served_by({"vllm": "vLLM"}.get(wanted.engine, wanted.engine), gfx):
            yield f"{part} on {gfx}: {fact.words if fact else f'what {wanted.engine} has is not known'}"
    if wanted.engine == "vllm" and wanted.weight_format not in ("bf16", "f16", "fp8"):
        yield matrix.fact("vllm-formats").words
    if "fp8" in (wanted.weight_format, wanted.cache_format) and gfx not in matrix.fact(FP8).gfx:
        yield f"{gfx} is not among the targets with fp8 products: {', '.join(matrix.fact(FP8).gfx)}"


def share_of(engine: str, version: str | None, matrix: Matrix) -> float:
    """The part of a GPU's memory that this version of the engine takes; without a version, that of the newest."""
    known = [row for row in matrix.plain("shares") or [] if row["engine"] == engine]
    return next((row["share"] for row in reversed(known) if version is None or contains(row["version"], version)), 1.0)


def _share(wanted: Serving, card: Card) -> Card:
    """The card less the part of its memory that the engine leaves alone, which covers the runtime."""
    if wanted.share == 1 or card.total is None:
        return card
    left = int(card.total * (1 - wanted.share))
    note = f"{wanted.engine} takes {wanted.share:.0%} of the memory unless told otherwise (--gpu-memory-utilization), the runtime's part included"
    return msgspec.structs.replace(card, context=left + card.context, notes=(*card.notes, note))


def _estimate(wanted: Serving, card: Card, kernels: Kernels, python: str | None, fast: bool) -> tuple[Estimate, str]:
    note = ""
    if wanted.engine == "transformers" and not fast:
        try:
            found = runner.simulate(job_of(wanted, kernels), python, task="simulate-serve")
        except runner.WorkerError as exc:
            note = f"not simulated: {exc}"
        else:
            peak = peak_of(found, card.workspace)
            return Estimate("simulation", peak.allocated, peak.reserved, peak.breakdown, serving.SIMULATED), ""
    parts = serving.parts(wanted)
    if wanted.engine == "transformers":
        parts["BLAS workspace"] = 2 * card.workspace
    whole = sum(parts.values())
    return Estimate("closed form", whole, whole, parts, serving.CLOSED[wanted.engine]), note


def peak_of(found: runner.Simulated, workspace: int) -> Peak:
    """The peak of a simulated generation, BLAS scratch of both threads included."""
    scratch = [(-1, workspace), (-2, workspace)]
    return replay([*scratch, *found.events], {**found.labels, -1: "BLAS workspace", -2: "BLAS workspace"})


def job_of(wanted: Serving, kernels: Kernels = CUDA) -> Job:
    """The generation as the worker takes it. Its weights are 16 or 32 bits, or bitsandbytes' 4 or 8."""
    bits = {"nf4": 4, "int8": 8}.get(wanted.weight_format, 0)
    dtype = serving.DTYPES.get(wanted.weight_format, "bfloat16")
    fields = {"config": wanted.config, "dtype": dtype, "batch": wanted.batch, "seq": wanted.context, "quant_bits": bits}
    return msgspec.convert({**fields, "method": "full", "checkpointing": False, "kernels": kernels}, Job)


def page(found: Served, measured: runner.Measured | None, width: int = 100) -> str:
    """The whole answer in at most `width` columns; the verdict first."""
    wanted, left = found.serving, found.margin_bytes
    words = text.WORDS[found.verdict]
    if left is not None:
        words += f": {text.need(found.estimate, found.card)}"
    heading = f"{found.source}: {wanted.engine}, weights {wanted.weight_format}, cache {wanted.cache_format}, " + (
        f"{wanted.batch} x {wanted.context} tokens"
        + (f", divided over {wanted.gpus} GPUs: figures are those of one" if wanted.gpus > 1 else "")
    )
    parts: list[Sequence[str]] = [
        [words],
        [heading, f"on {found.card.gfx or 'an unnamed GPU'} {found.card.name}".rstrip()],
        [*text.breakdown(found.estimate, width), *(f"  {note}" for note in found.notes)],
        text.room(found.card),
        _capacity(found),
        text.comparison(found.estimate, measured) if measured else [],
    ]
    return "\n\n".join("\n".join(row for line in part for row in text.wrap(line, width)) for part in parts if part)


def _capacity(found: Served) -> list[str]:
    if found.tokens is None:
        return []
    at_once = found.tokens // found.serving.context
    return [f"Room in the cache: {found.tokens} tokens, {at_once} sequences of {found.serving.context} at once"]
