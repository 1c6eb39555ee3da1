"""What `tune` found, as text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from rocm_doctor.bounded import files
from rocm_doctor.fit.allocator import GIB
from rocm_doctor.tune.search import Effect, Measured, Tuned
from rocm_doctor.tune.space import Choice, changes

WHY = {
    "batch": "larger matrix products use the GPU better, and there are fewer kernels to start",
    "checkpointing": "without it no layer's forward pass runs twice",
    "fused_loss": "the logits of all tokens are never there at once",
    "implementation": "a fused kernel does not write the scores of every pair of tokens",
    "optimizer": "one kernel updates many parameters",
    "dtype": "16-bit weights are read at half the bytes and need no cast",
    "autocast": "16-bit products run on the matrix units",
    "adapter_dtype": "peft's float32 adapters cast the activations of every layer back and forth",
    "compile": "fewer, larger kernels",
}
"""Why a change of each field changes the speed. What it changes here is measured."""


class Answer(msgspec.Struct, frozen=True):
    """The outcome, the change as a diff of the person's file ("" without one) and what the file has no key for; `gain` is 2.3 for 2.3 times
    as fast as the baseline, None where that gave no figure."""

    tuned: Tuned
    source: str
    gpu: str
    seconds: float
    diff: str = ""
    left: tuple[str, ...] = ()
    faster_diff: str = ""
    notes: tuple[str, ...] = ()

    @property
    def gain(self) -> float | None:
        """How many times as fast the best run is as the person's own; None where that one measured nothing."""
        own = self.tuned.baseline.tokens_s
        return self.tuned.best.tokens_s / own if own else None


def page(answer: Answer) -> str:
    """The gain and the lines to change, what each change brings, what other numerics would bring, and the runs."""
    found = answer.tuned
    parts = [
        [*([] if found.complete else ["ended early: the best so far"]), *_head(answer)],
        _diff(answer.diff, answer.left, changes(found.baseline.choice, found.best.choice)),
        ["what each change brings", *map(_effect, found.effects)] if found.effects else [],
        _faster(answer),
        list(answer.notes),
        [f"{len(found.runs)} runs in {answer.seconds:.0f} s on {answer.gpu}", *_table(found)],
    ]
    return "\n\n".join("\n".join(part) for part in parts if part)


def _head(answer: Answer) -> list[str]:
    found, gain = answer.tuned, answer.gain
    base = found.baseline.error or summary(found.baseline)
    rows = [f"  yours  {found.baseline.choice.words}", f"         {base}"]
    if found.best.choice == found.baseline.choice:
        return [f"{answer.source}: nothing faster was found with the same numerics", *rows]
    said = f"{gain:.2f} x yours" if gain else "yours gave no figure"
    return [
        f"{answer.source}: {said}, with the same numerics",
        *rows, f"  best   {found.best.choice.words}", f"         {summary(found.best)}",
    ]  # fmt: skip


def _diff(diff: str, left: tuple[str, ...], wanted: dict[str, Any]) -> list[str]:
    if not wanted:
        return []
    words = [f"  {name} {wanted[name]}" for name in (left if diff else wanted) if name in wanted]
    head = "set" if not diff else "the file has no key for"
    return [*(diff.splitlines()), *([head, *words] if words else [])]


def _faster(answer: Answer) -> list[str]:
    found, faster = answer.tuned, answer.tuned.faster
    if faster is None:
        return []
    lines = ["with other numerics (the numbers change: check the loss of a short run)", f"  {faster.choice.words}"]
    lines += [f"  {summary(faster)}: {faster.tokens_s / found.best.tokens_s - 1:+.0%} beside the best with yours"]
    wanted = {k: v for k, v in changes(found.best.choice, faster.choice).items() if k in ("dtype", "autocast", "adapter_dtype")}
    lines += [f"  {name} {value}: {WHY[name]}" for name, value in wanted.items()]
    return [*lines, *(f"  {line}" for line in answer.faster_diff.splitlines())]


def summary(run: Measured) -> str:
    """Speed, memory and energy of one run."""
    energy = f", {1000 * run.joules_per_token:.3g} mJ a token" if run.joules_per_token else ""
    memory = (
        f", {run.peak_allocated / GIB:.1f} GiB allocated, {run.peak_reserved / GIB:.1f} reserved" if run.peak_allocated else ""
    )
    return f"{run.tokens_s:.0f} tokens/s{memory}{energy}"


def _table(found: Tuned) -> Iterator[str]:
    fastest = max((run.tokens_s for run in found.runs), default=0.0)
    for run in sorted(found.runs, key=lambda one: -one.tokens_s):
        part = f"{run.tokens_s / fastest:>5.0%}" if run.tokens_s else "    -"
        yield f"  {part}  {run.steps} steps  {run.choice.words}: {run.error or summary(run)}"


def _effect(effect: Effect) -> str:
    return f"  {effect.change:+5.0%}  {effect.field} {effect.value} instead of {effect.against}: {WHY[effect.field]}; the numbers stay the same"


def packing(path: Path, seq: int | None) -> tuple[str, ...]:
    """A line about padding. `path`: a whole number of tokens a line; `seq`: longer texts are cut there. Raises ValueError."""
    words = files.text(path, files.MIB * 8).split()
    if not words or not all(word.isdigit() and int(word) for word in words):
        raise ValueError(f"{path}: expected a whole number of tokens on each line")
    lengths = sorted(min(int(word), seq or int(word)) for word in words)
    longest = seq or lengths[-1]
    full = sum(lengths) / (longest * len(lengths))
    return (
        f"packing: {len(lengths)} texts of {lengths[len(lengths) // 2]} tokens (median) fill {full:.0%} of sequences of {longest} tokens; "
        f"packed, or padded to the longest of a batch, a step would do up to {1 / full:.1f} x the work",
    )


def progress(run: Measured, best: float, choice: Choice) -> str:
    """One line for a run that ended, with the best so far."""
    said = run.error or f"{run.tokens_s:.0f} tokens/s"
    return f"{choice.words}: {said} (best so far {best:.0f})"
