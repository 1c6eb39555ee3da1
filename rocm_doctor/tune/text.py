"""What `tune` found, as text."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_doctor.fit.allocator import GIB
from rocm_doctor.tune import files
from rocm_doctor.tune.search import Effect, Measured, Tuned

LABELS = {"fused_loss": "fused loss", "precision": "precision", "optimizer": "optimizer", "attention": "attention"}


def page(found: Tuned, made: files.Files, seconds: float) -> str:
    """The best configuration, the measured table, how far each choice matters, and the three files."""
    parts = [
        [f"fastest: {found.best.choice.words}", f"  {summary(found.best)}"],
        ["measured (micro-batch x accumulation; a long run has 4 steps):", *_table(found)],
        ["how far each choice matters, at the base's micro-batch:", *map(_effect, found.effects)] if found.effects else [],
        [f"{len(found.runs)} runs in {seconds:.0f} s; {len(found.unfit)} configurations were not tried: predicted not to fit"],
        ["TrainingArguments (YAML):", *_indented(files.yaml(made.training_arguments))],
        [f"note: axolotl and LLaMA-Factory: {made.note}"] if made.note else [],
        ["axolotl:", *_indented(files.yaml(made.axolotl))],
        ["LLaMA-Factory:", *_indented(files.yaml(made.llama_factory))],
    ]
    return "\n\n".join("\n".join(part) for part in parts if part)


def summary(run: Measured) -> str:
    """Speed, memory and energy of one run."""
    energy = f", {1000 * run.joules_per_token:.3g} mJ a token" if run.joules_per_token else ""
    memory = (
        f", {run.peak_allocated / GIB:.1f} GiB allocated, {run.peak_reserved / GIB:.1f} GiB reserved"
        if run.peak_allocated
        else ""
    )
    return f"{run.tokens_s:.0f} tokens/s{memory}{energy}"


def _table(found: Tuned) -> Iterator[str]:
    fastest = found.best.tokens_s
    for run in sorted(found.runs, key=lambda one: -one.tokens_s):
        part = f"{run.tokens_s / fastest:>5.0%}" if run.tokens_s else "    -"
        yield f"  {part}  {run.steps} steps  {run.choice.words}: {run.error or summary(run)}"


def _effect(effect: Effect) -> str:
    name = LABELS.get(effect.factor, effect.factor)
    return f"  {name} {effect.value} instead of {effect.against}: {effect.change:+.0%}"


def _indented(text: str) -> list[str]:
    return ["  " + line for line in text.splitlines()]
