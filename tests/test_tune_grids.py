"""The search of `tune` replayed on exhaustive grids that were measured on an H200 (docs/bench.md): what it chooses, and what it takes."""

from __future__ import annotations

import csv
import random
import statistics
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from rocm_doctor.tune import search
from rocm_doctor.tune.search import Measured
from rocm_doctor.tune.space import Choice, Space

GRIDS = Path(__file__).parent / "grids"
NAMES = sorted(path.stem for path in GRIDS.glob("*.csv"))
TOKENS = {"full-1.1b": 512}
"""Tokens of a sequence, where they are not 1024."""
STEPS = 4
"""Measured steps of each run of a grid."""


class Row(NamedTuple):
    """One run of a grid: tokens a second of its steps, and all its seconds."""

    samples: tuple[float, ...]
    seconds: float

    @property
    def speed(self) -> float:
        return statistics.median(self.samples)


class Replay:
    """A machine on which each configuration runs as it did in the grid; with `chance`, as fast as some of its steps, and slower at times."""

    def __init__(self, name: str, chance: random.Random | None = None) -> None:
        self.rows = dict(rows(name))
        self.tokens = max(one.batch * one.accumulation for one in self.rows) * TOKENS.get(name, 1024)
        self.chance, self.seconds = chance, 0.0

    def ask(self, choice: Choice, warm: int, steps: int) -> Measured:
        row = self.rows[choice]
        self.seconds += row.seconds - (STEPS - steps) * self.tokens / row.speed
        if not self.chance:
            return Measured(choice, steps, row.speed)
        spread = (max(row.samples) - min(row.samples)) / row.speed
        some = self.chance.sample(row.samples, min(steps, len(row.samples)))
        return Measured(choice, steps, statistics.median(some) * (1 - self.chance.random() * min(0.25, 2 * spread)))

    def chosen(self, monkeypatch: pytest.MonkeyPatch) -> float:
        """The speed of the chosen configuration, as a part of the fastest."""
        monkeypatch.setattr(search, "fits", lambda choice, base, card: choice in self.rows)
        losses = tuple(sorted({one.fused_loss for one in self.rows}))
        space = Space(max(one.batch * one.accumulation for one in self.rows), fused_loss=losses)
        found = search.tune(space, None, None, self.ask)  # type: ignore[arg-type]
        return self.rows[found.best.choice].speed / max(row.speed for row in self.rows.values())

    @property
    def share(self) -> float:
        """The seconds so far, as a part of those of the whole grid."""
        return self.seconds / sum(row.seconds for row in self.rows.values())


def rows(name: str) -> list[tuple[Choice, Row]]:
    """The grid of that name."""
    with (GRIDS / f"{name}.csv").open() as file:
        return [_row(line) for line in csv.DictReader(file)]


def _row(line: dict[str, Any]) -> tuple[Choice, Row]:
    samples = tuple(float(one) for one in line.pop("tokens_s").split())
    seconds = float(line.pop("seconds"))
    flags = {name: line.pop(name) == "1" for name in ("checkpointing", "fused_loss")}
    del line["peak_gib"]
    return msgspec.convert({**line, **flags}, Choice, strict=False), Row(samples, seconds)


@pytest.mark.parametrize("name", NAMES)
def test_the_choice_is_within_5_percent_of_the_fastest_at_a_fifth_of_the_grids_time(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    replay = Replay(name)
    assert replay.chosen(monkeypatch) >= 0.95
    assert replay.share <= 0.2


@pytest.mark.parametrize("name", NAMES)
def test_a_host_that_slows_runs_down_seldom_misleads_the_search(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [Replay(name, random.Random(seed)).chosen(monkeypatch) for seed in range(20)]
    assert statistics.median(found) >= 0.95
    assert min(found) >= 0.9
