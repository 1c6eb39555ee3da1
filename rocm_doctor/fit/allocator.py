"""PyTorch's caching allocator, replayed over a list of allocations and frees.

The rules are those of `c10/cuda/CUDACachingAllocator.cpp` (unchanged in these points from torch 2.0 to 2.15, the same file
serves HIP): sizes round up to 512 B; up to 1 MiB lives in 2 MiB segments; below 10 MiB a 20 MiB segment is taken; above, the
size rounded up to 2 MiB; the best-fitting free block is reused, and split when more than 1 MiB (512 B among small blocks) would
be left over. What is not split off counts as allocated: that is why `max_memory_allocated` is larger than the sum of the
tensors.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping

import msgspec

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
SMALL, SMALL_SEGMENT = 1 * MIB, 2 * MIB
MIDDLE, MIDDLE_SEGMENT = 10 * MIB, 20 * MIB
ROUND_LARGE = 2 * MIB

Event = tuple[int, int]  # (storage, its bytes) when it comes to life, (storage, 0) when it dies
Block = tuple[bool, int, int]  # in the small pool?, address, bytes


class MemoryPeak(msgspec.Struct, frozen=True):
    """Highest allocated and reserved bytes of a replay, and what was alive (bytes by label) when the first was reached."""

    allocated: int
    reserved: int
    breakdown: dict[str, int]


def round_up(size: int) -> int:
    """A size as the allocator rounds it, in bytes."""
    return max(512, -(-size // 512) * 512)


def segment_size(size: int) -> int:
    """How much is asked of the driver for a block of `size` bytes (already rounded)."""
    if size <= SMALL:
        return SMALL_SEGMENT
    return MIDDLE_SEGMENT if size < MIDDLE else -(-size // ROUND_LARGE) * ROUND_LARGE


class Allocator:
    """Live and free blocks of one device and one stream, with what is allocated and reserved at this moment, in bytes."""

    def __init__(self) -> None:
        self.allocated = 0
        self.reserved = 0
        self._top = 0
        self._free: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])  # (bytes, address): large pool, small pool
        self._starts: dict[int, int] = {}
        self._ends: dict[int, int] = {}

    def take(self, size: int) -> Block:
        """Allocate at least `size` bytes."""
        size = round_up(size)
        small = size <= SMALL
        room, address = self._best(small, size) or self._grow(size)
        left = room - size
        if left >= 512 if small else left > SMALL:
            self._put(small, address + size, left)
            room = size
        self.allocated += room
        return small, address, room

    def give(self, block: Block) -> None:
        """Free a block; it grows together with free neighbours of its segment."""
        small, address, size = block
        self.allocated -= size
        if address in self._ends:
            before = self._ends[address]
            size += self._remove(small, before)
            address = before
        if address + size in self._starts:
            size += self._remove(small, address + size)
        self._put(small, address, size)

    def _best(self, small: bool, size: int) -> tuple[int, int] | None:
        free = self._free[small]
        at = bisect_left(free, (size, 0))
        if at == len(free):
            return None
        room, address = free.pop(at)
        del self._starts[address], self._ends[address + room]
        return room, address

    def _grow(self, size: int) -> tuple[int, int]:
        room, address = segment_size(size), self._top
        self.reserved += room
        self._top += room + 512  # the gap keeps blocks of two segments from becoming neighbours
        return room, address

    def _put(self, small: bool, address: int, size: int) -> None:
        insort(self._free[small], (size, address))
        self._starts[address] = size
        self._ends[address + size] = address

    def _remove(self, small: bool, address: int) -> int:
        size = self._starts.pop(address)
        del self._ends[address + size]
        free = self._free[small]
        free.pop(bisect_left(free, (size, address)))
        return size


def replay(events: Iterable[Event], labels: Mapping[int, str]) -> MemoryPeak:
    """Run the events through the allocator. A storage that dies without having come to life is ignored."""
    allocator = Allocator()
    blocks: dict[int, Block] = {}
    by_label: dict[str, int] = {}
    peak = MemoryPeak(0, 0, {})
    for storage, size in events:
        if size:
            block = blocks[storage] = allocator.take(size)
            label = labels.get(storage, "other")
            by_label[label] = by_label.get(label, 0) + block[2]
            if allocator.allocated > peak.allocated:
                peak = MemoryPeak(allocator.allocated, 0, dict(by_label))
        elif storage in blocks:
            block = blocks.pop(storage)
            by_label[labels.get(storage, "other")] -= block[2]
            allocator.give(block)
    return MemoryPeak(peak.allocated, allocator.reserved, {name: size for name, size in peak.breakdown.items() if size})
