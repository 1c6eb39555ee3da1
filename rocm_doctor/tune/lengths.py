"""What packing would save, by the lengths of the texts."""

from __future__ import annotations

from pathlib import Path

from rocm_doctor.bounded import files


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
