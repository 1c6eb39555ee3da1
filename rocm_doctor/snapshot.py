"""From the notes of all probes to one snapshot. The order of the notes is the order of trust: kernel, tools, text, prose."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rocm_doctor.model import Fact, Gpu, Reading, Snapshot
from rocm_doctor.probes.notes import Listing, Notes, agree

_Facts = dict[str, Fact]


def build(notes: Iterable[Notes]) -> Snapshot:
    """Join the notes: for each name the first known value wins, and a later one that differs is kept beside it as a dispute."""
    facts: _Facts = {}
    listings: list[Listing] = []
    errors: list[Reading] = []
    for note in notes:
        for key, fact in note.facts.items():
            facts[key] = agree(facts.get(key), fact)
        listings += note.listings
        errors += note.errors
    gpus = _join(listings)
    return Snapshot(facts, tuple(Gpu(g) for g in gpus), bool(listings), tuple(errors))


def _join(listings: Sequence[Listing]) -> list[_Facts]:
    """One list of GPUs out of several tools' lists, complete ones first: by PCI address, by order, or by what is unique."""
    joined: list[_Facts] = []
    for listing in sorted(listings, key=lambda item: not item.complete):
        left = [dict(gpu) for gpu in listing.gpus]
        if not joined:
            joined = left
            continue
        pairs = _pairs(joined, left, listing.complete)
        for mine, other in pairs:
            for key, fact in left[other].items():
                joined[mine][key] = agree(joined[mine].get(key), fact)
        paired = {other for _, other in pairs}
        joined += _really_new(joined, [gpu for n, gpu in enumerate(left) if n not in paired], listing)
    return joined


def _really_new(joined: list[_Facts], rest: list[_Facts], listing: Listing) -> list[_Facts]:
    """Of the GPUs that match none of ours: those that cannot be one of ours (another address, or more of them than we have)."""
    addressed = [g for g in rest if _value(g, "pci_bdf") and all(_value(j, "pci_bdf") for j in joined)]
    excess = len(listing.gpus) - len(joined) if listing.complete else 0
    others = [g for g in rest if g not in addressed]
    return addressed + others[len(others) - excess :] if excess > 0 else addressed


def _pairs(ours: list[_Facts], theirs: list[_Facts], complete: bool) -> list[tuple[int, int]]:
    """Indices (ours, theirs) of entries that are the same GPU."""
    pairs = [(i, j) for j, b in enumerate(theirs) for i, a in enumerate(ours) if _same(a, b, "pci_bdf")]
    mine = [i for i in range(len(ours)) if i not in {p[0] for p in pairs}]
    rest = [j for j in range(len(theirs)) if j not in {p[1] for p in pairs}]
    if complete and len(mine) == len(rest) and all(_compatible(ours[i], theirs[j]) for i, j in zip(mine, rest)):
        return pairs + list(zip(mine, rest))
    for j in rest:
        fits = [i for i in mine if _compatible(ours[i], theirs[j]) and _alike(ours[i], theirs[j])]
        if fits and (len(fits) == 1 or complete):
            pairs.append((fits[0], j))
            mine.remove(fits[0])
        elif len(ours) == len(theirs) == 1 and _compatible(ours[0], theirs[0]):
            pairs.append((0, 0))
    return pairs


def _value(gpu: _Facts, key: str) -> object:
    fact = gpu.get(key)
    return fact.value if fact is not None and fact.known else None


def _same(one: _Facts, other: _Facts, key: str) -> bool:
    a, b = _value(one, key), _value(other, key)
    return a is not None and str(a).casefold() == str(b).casefold()


def _alike(one: _Facts, other: _Facts) -> bool:
    return any(_same(one, other, key) for key in ("gfx", "device_id", "marketing_name", "uuid"))


def _compatible(one: _Facts, other: _Facts) -> bool:
    """Nothing that both state says that these are two GPUs."""
    for key in ("pci_bdf", "device_id", "gfx", "is_apu"):
        a, b = _value(one, key), _value(other, key)
        if a is not None and b is not None and str(a).casefold() != str(b).casefold():
            return False
    return True
