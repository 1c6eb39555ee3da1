"""The replay of torch's caching allocator: its published rules, and what must hold of any allocator."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_doctor.fit.allocator import MIB, Allocator, replay, round_up, segment_size

SIZES = st.one_of(st.integers(1, 4096), st.integers(1, 3 * MIB), st.integers(1, 64 * MIB))


@pytest.mark.parametrize(
    ("size", "block", "segment"),
    [
        (1, 512, 2 * MIB),
        (513, 1024, 2 * MIB),
        (MIB, MIB, 2 * MIB),
        (MIB + 1, MIB + 512, 20 * MIB),
        (10 * MIB, 10 * MIB, 10 * MIB),
    ],
)
def test_sizes(size: int, block: int, segment: int) -> None:
    assert (round_up(size), segment_size(round_up(size))) == (block, segment)


def test_a_remainder_of_up_to_a_mebibyte_stays_with_the_block() -> None:
    """A large block is split only where more than 1 MiB would be left: this is why allocated exceeds the tensors' own bytes."""
    kept, split = Allocator(), Allocator()
    assert kept.take(11 * MIB)[2] == 12 * MIB
    assert split.take(9 * MIB)[2] == 9 * MIB
    assert split.reserved == 20 * MIB


def test_the_best_fitting_free_block_is_taken() -> None:
    allocator = Allocator()
    blocks = [allocator.take(size * MIB) for size in (40, 30, 12)]
    for block in blocks:
        allocator.give(block)
    assert allocator.take(29 * MIB)[1] == blocks[1][1]
    assert allocator.reserved == 82 * MIB


def test_neighbours_grow_together_within_a_segment_only() -> None:
    allocator = Allocator()
    first, second = allocator.take(8 * MIB), allocator.take(8 * MIB)
    third = allocator.take(40 * MIB)
    for block in (first, second, third):
        allocator.give(block)
    assert allocator.take(16 * MIB)[1] == first[1]
    allocator.take(60 * MIB)
    assert allocator.reserved == 120 * MIB


@given(st.lists(st.tuples(SIZES, st.booleans()), max_size=120))
def test_what_holds_of_any_sequence(steps: list[tuple[int, bool]]) -> None:
    """Live blocks never overlap, reserved covers them and never shrinks, and nothing is lost when all is freed."""
    allocator, live, before = Allocator(), [], 0
    for size, free_one in steps:
        live.append(allocator.take(size))
        if free_one:
            allocator.give(live.pop(len(live) // 2))
        ranges = sorted((address, address + room) for _, address, room in live)
        assert all(end <= start for (_, end), (start, _) in itertools.pairwise(ranges))
        assert before <= allocator.reserved
        assert sum(room for _, _, room in live) == allocator.allocated <= allocator.reserved
        before = allocator.reserved
    for block in live:
        allocator.give(block)
    assert allocator.allocated == 0


@given(st.lists(SIZES, min_size=1, max_size=40))
def test_the_same_step_twice_reserves_nothing_new(sizes: list[int]) -> None:
    """Freed in the reverse order and taken again, everything fits where it was."""
    allocator = Allocator()
    for _ in range(2):
        blocks = [allocator.take(size) for size in sizes]
        after = allocator.reserved
        for block in reversed(blocks):
            allocator.give(block)
    assert allocator.reserved == after
    assert allocator.reserved <= sum(segment_size(round_up(size)) for size in sizes)


def test_the_peak_knows_what_was_alive() -> None:
    events = [(1, 30 * MIB), (2, 20 * MIB), (2, 0), (3, 40 * MIB), (3, 0), (4, 1000), (9, 0)]
    peak = replay(events, {1: "weights", 2: "activations", 3: "logits and loss"})
    assert peak.allocated == 70 * MIB
    assert peak.breakdown == {"weights": 30 * MIB, "logits and loss": 40 * MIB}
    assert peak.reserved == 92 * MIB
