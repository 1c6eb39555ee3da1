"""Ranks whose sums are wrong, that are slow, die or hang are named. The search itself is tested without torch."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from rocm_doctor.workers.smoke.collectives import Shown, find_culprits, run_ranks
from rocm_doctor.workers.smoke.compare import Wrong

torch = pytest.mark.skipif(not importlib.util.find_spec("torch") or sys.platform != "linux", reason="torch is not installed")


class Ranks:
    """Ranks of which some are bad alone, and some pairs are bad together."""

    def __init__(self, bad: set[int], pairs: set[tuple[int, int]]) -> None:
        self.bad, self.pairs, self.measured = bad, pairs, 0

    def measure(self, group: Sequence[int]) -> Shown:
        self.measured += 1
        bad = bool(self.bad & set(group)) or any({*pair} <= set(group) for pair in self.pairs)
        return Shown(0.5 if bad else 0.01, bad)


def culprits(ranks: Ranks, world: int, symptom: str) -> list[tuple[int, ...]]:
    return [culprit for kind, culprit in find_culprits(ranks.measure, world) if kind == symptom]


@pytest.mark.parametrize("symptom", ["slow", "wrong-sums"])
@pytest.mark.parametrize("world", [3, 4, 8, 13])
def test_every_rank_is_found(symptom: str, world: int) -> None:
    for bad in sorted({0, 1, world // 2, world - 1}):
        assert culprits(Ranks({bad}, set()), world, symptom) == [(bad,)]


@pytest.mark.parametrize("symptom", ["slow", "wrong-sums"])
@pytest.mark.parametrize("pair", [(0, 1), (2, 9), (7, 8), (14, 15), (0, 15), (5, 6)])
def test_every_pair_is_found(symptom: str, pair: tuple[int, int]) -> None:
    assert culprits(Ranks(set(), {pair}), 16, symptom) == [pair]


def test_two_culprits_and_none() -> None:
    assert culprits(Ranks({3, 12}, {(5, 6)}), 16, "wrong-sums") == [(3,), (12,), (5, 6)]
    assert culprits(Ranks(set(), set()), 16, "slow") == []


def test_of_two_ranks_slow_cannot_be_said_and_wrong_is_their_pair() -> None:
    assert culprits(Ranks({0}, set()), 2, "slow") == []
    assert culprits(Ranks({0}, set()), 2, "wrong-sums") == [(0, 1)]


def test_a_rank_that_was_slow_once_is_not_blamed() -> None:
    ranks = Ranks({6}, set())

    def until_it_passes(group: Sequence[int]) -> Shown:
        shown = ranks.measure(group)
        ranks.bad = ranks.bad if ranks.measured < 28 else set()
        return shown

    assert find_culprits(until_it_passes, 8) == []


HOOK = (
    "plain = rank.all_reduce\ndef hook(values, ranks):\n    if {when}: {act}\n    plain(values, ranks)\nrank.all_reduce = hook\n"
)
FAULTS = {
    "dies": ("rank.number == 1", "import os; os._exit(3)", "lost-rank", "all-reduce: rank 1 ended with exit code 3"),
    "hangs": ("rank.number == 1", "import time; time.sleep(3600)", "lost-rank", "all-reduce: no answer of rank 1"),
    "wrong": ("rank.number == 2", "values.add_(1)", "wrong-sums", "all-reduce, a sum is wrong: rank 2"),
    "slow pair": ("list(ranks) == [1, 3]", "import time; time.sleep(1)", "slow", "all-reduce, it is slow: ranks 1 and 3"),
}


@torch
@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.parametrize(("when", "act", "reason", "words"), FAULTS.values(), ids=FAULTS)
def test_a_fault_in_one_of_four_ranks(tmp_path: Path, when: str, act: str, reason: str, words: str) -> None:
    (tmp_path / "prelude.py").write_text(HOOK.format(when=when, act=act))
    with pytest.raises(Wrong) as wrong:
        run_ranks(4, "cpu", lambda _: None, 8.0 if "3600" in act else 30.0, [str(tmp_path / "prelude.py")])
    assert (wrong.value.reason, str(wrong.value)) == (reason, words)


@torch
@pytest.mark.slow
@pytest.mark.torch
def test_sound_ranks_have_a_rate() -> None:
    details = run_ranks(4, "cpu", lambda _: None)
    assert details["ranks"] == 4
    assert all(rate > 0 for rate in details["gb_per_s"].values())
