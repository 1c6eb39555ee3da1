"""What `tune` found, as text."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from rocm_doctor.fit.allocator import GIB
from rocm_doctor.tune.search import Measured, Tuned
from rocm_doctor.tune.space import TuneChoice


class TuneAnswer(msgspec.Struct, frozen=True):
    """The outcome. `predicted`: bytes that `fit` expects the own run to allocate, by its closed form; `edits`: the lines of the
    person's file to change for the best run, `faster_edits` for that of other numerics; none without a file."""

    tuned: Tuned
    source: str
    gpu: str
    seconds: float
    predicted: int = 0
    edits: tuple[str, ...] = ()
    faster_edits: tuple[str, ...] = ()

    @property
    def gain(self) -> float | None:
        """How many times as fast the best run is as the person's own; None where that one measured nothing."""
        own = self.tuned.baseline.tokens_s
        return self.tuned.best.tokens_s / own if own else None


def page(answer: TuneAnswer) -> str:
    """The gain and the lines to change, what other numerics would bring, and the runs."""
    tuned = answer.tuned
    ran = sum(run.steps > 0 for run in tuned.runs)
    cut = [] if tuned.complete else ["ended early: the best so far"]
    cut += [f"the time was over before {len(tuned.runs) - ran} of the runs below"] if ran < len(tuned.runs) else []
    parts = [
        [*cut, *_head(answer)],
        ["in your file", *answer.edits] if answer.edits else [],
        _faster(answer),
        [f"{ran} runs in {answer.seconds:.0f} s on {answer.gpu}", *_table(tuned)],
    ]
    return "\n\n".join("\n".join(part) for part in parts if part)


def _head(answer: TuneAnswer) -> list[str]:
    tuned, gain = answer.tuned, answer.gain
    base = tuned.baseline.error or summary(tuned.baseline)
    rows = [f"  yours  {tuned.baseline.choice.words}", f"         {base} ({answer.predicted / GIB:.1f} GiB predicted)"]
    if tuned.best.choice == tuned.baseline.choice:
        return [f"{answer.source}: nothing faster was found with the same numerics", *rows]
    gain_words = f"{gain:.2f} x yours" if gain else "yours gave no figure"
    return [
        f"{answer.source}: {gain_words}, with the same numerics",
        *rows, f"  best   {tuned.best.choice.words}", f"         {summary(tuned.best)}",
    ]  # fmt: skip


def _faster(answer: TuneAnswer) -> list[str]:
    faster = answer.tuned.faster
    if faster is None:
        return []
    gain = faster.tokens_s / answer.tuned.best.tokens_s - 1
    return [
        "with other numerics (the numbers change: check the loss of a short run)",
        f"  {faster.choice.words}",
        f"  {summary(faster)}: {gain:+.0%} beside the best with yours",
        *answer.faster_edits,
    ]


def summary(run: Measured) -> str:
    """Speed and memory of one run."""
    memory = (
        f", {run.peak_allocated / GIB:.1f} GiB allocated, {run.peak_reserved / GIB:.1f} reserved" if run.peak_allocated else ""
    )
    return f"{run.tokens_s:.0f} tokens/s{memory}"


def _table(tuned: Tuned) -> Iterator[str]:
    fastest = max((run.tokens_s for run in tuned.runs), default=0.0)
    for run in sorted(tuned.runs, key=lambda run: -run.tokens_s):
        part = f"{run.tokens_s / fastest:>5.0%}" if run.tokens_s else "    -"
        steps = f"{run.steps} steps" if run.steps else "not run"
        yield f"  {part}  {steps}  {run.choice.words}: {run.error or summary(run)}"


def progress(run: Measured, best: float, choice: TuneChoice) -> str:
    """One line for a run that ended, with the best so far."""
    result = run.error or f"{run.tokens_s:.0f} tokens/s"
    return f"{choice.words}: {result} (best so far {best:.0f})"
