"""One snapshot from the results of all probes, which come in order of trust: kernel, tools, text, prose."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from rocm_doctor.facts.match_gpus import are_of_two_machines, have_same, pair, value
from rocm_doctor.model import Fact, Gpu, Reading, Snapshot
from rocm_doctor.probes.read.result import Listing, ProbeResult, merge

_Facts = dict[str, Fact]
MOST_GPUS = 256
"""Most GPUs of one machine: eight MI300X in CPX mode are 64. More means a log in which a tool ran repeatedly."""


def build(notes: Iterable[ProbeResult]) -> Snapshot:
    """The merged results: for each name the first known value wins, and a later one that differs is kept as a dispute."""
    facts: _Facts = {}
    listings: list[Listing] = []
    errors: list[Reading] = []
    for note in notes:
        for key, fact in note.facts.items():
            facts[key] = merge(facts.get(key), fact)
        listings += (Listing(item.complete, item.gpus[:MOST_GPUS]) for item in note.listings)
        errors += (*note.errors, *(_limit_error(item) for item in note.listings if len(item.gpus) > MOST_GPUS))
    gpus, clashes = _join(listings)
    return Snapshot(facts, tuple(Gpu(g) for g in gpus), bool(listings), (*errors, *clashes))


def _limit_error(listing: Listing) -> Reading:
    first = next((r for fact in listing.gpus[0].values() for r in fact.readings), Reading("a list of GPUs"))
    return msgspec.structs.replace(first, quote=f"{len(listing.gpus)} GPUs listed; only the first {MOST_GPUS} were read")


def _join(listings: Sequence[Listing]) -> tuple[list[_Facts], list[Reading]]:
    """(GPUs, clashes): one list of several tools' lists, complete ones first, and a reading for each GPU that shows that the text
    is of two machines."""
    joined: list[_Facts] = []
    clashes: list[Reading] = []
    for listing in sorted(listings, key=lambda item: not item.complete):
        left = [dict(gpu) for gpu in listing.gpus]
        if not joined:
            joined = left
            continue
        foreign = [gpu for gpu in left if _is_on_another_machine(gpu, joined)]
        own = [gpu for gpu in left if not any(gpu is other for other in foreign)]
        pairs = pair(joined, own, listing.complete)
        for mine, other in pairs:
            for key, fact in own[other].items():
                joined[mine][key] = merge(joined[mine].get(key), fact)
        paired = {other for _, other in pairs}
        joined += _new_gpus(joined, [gpu for n, gpu in enumerate(own) if n not in paired], listing) + foreign
        clashes += [_clash(gpu) for gpu in foreign]
    return joined, clashes


def _is_on_another_machine(gpu: _Facts, joined: Sequence[_Facts]) -> bool:
    """True if every GPU of ours at this address is a different one."""
    there = [ours for ours in joined if have_same(ours, gpu, "pci_bdf")]
    return bool(there) and all(are_of_two_machines(ours, gpu) for ours in there)


def _clash(gpu: _Facts) -> Reading:
    at = gpu["pci_bdf"].readings[0]
    words = f"two machines in one text: different GPUs at {value(gpu, 'pci_bdf')}; check each machine's text on its own"
    return Reading(at.artifact, at.place, words)


def _new_gpus(joined: list[_Facts], rest: list[_Facts], listing: Listing) -> list[_Facts]:
    """Unmatched GPUs that cannot be one of ours: at another address, or more of them than ours."""
    known = {str(value(j, "pci_bdf")).casefold() for j in joined}
    addressed = [g for g in rest if str(value(g, "pci_bdf")).casefold() not in {*known, "none"} and "none" not in known]
    excess = len(listing.gpus) - len(joined) if listing.complete else 0
    others = [g for g in rest if g not in addressed]
    return addressed + others[len(others) - excess :] if excess > 0 else addressed
