"""What is enough where a run does not fit: the smallest set of changes, the number of GPUs, a larger GPU, or a smaller model.

All by the closed form, scaled to the estimate at the asked setting, with its error on top.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from rocm_doctor.fit.advice import neighbours, possible
from rocm_doctor.fit.allocator import GIB
from rocm_doctor.fit.card import Card
from rocm_doctor.fit.estimate import compute
from rocm_doctor.fit.job import Job
from rocm_doctor.fit.quantised import Wheels
from rocm_doctor.fit.shape import ShapeError
from rocm_doctor.matrix import Matrix

DEPTH = 4
"""Changes of one set, at most: a longer list is not followed."""
GPUS = (2, 4, 8)
"""Of one host: more need a second one."""
Peak = Callable[[Job], int]


class Enough(msgspec.Struct, frozen=True):
    """One way that suffices: in words, the options that make it, and the peak that is then allocated."""

    words: str
    options: str
    peak_allocated_bytes: int
    fields: dict[str, Any] = {}
    """The fields of `Job` that a change of settings sets; empty for other ways."""


def enough(job: Job, card: Card, peak: Peak, bound: float, wheels: Wheels, matrix: Matrix) -> tuple[Enough, ...]:
    """The ways that suffice, the least change first; empty when the memory of the GPU is not known."""
    if card.available is None:
        return ()
    room = card.available / (1 + bound)
    return (
        *_changes(job, peak, room, wheels),
        *_gpus(job, card, wheels),
        *_larger(job, card, peak, bound, matrix),
        *_smaller(job, peak, room, matrix),
    )


def _sets(job: Job, wheels: Wheels) -> Iterator[list[tuple[Job, dict[str, str]]]]:
    """The job as it is, then every set of one change, of two, up to DEPTH: the changed job and its options with their words."""
    level: list[tuple[Job, dict[str, str]]] = [(job, {})]
    yield level
    for _ in range(DEPTH):
        level = [
            (other, {**made, option: said})
            for one, made in level
            for said, option, other in neighbours(one)
            if possible(job, other, wheels)
        ]
        level = list({msgspec.json.encode(entry[0]): entry for entry in level}.values())
        yield level


def _best(level: Sequence[tuple[Job, dict[str, str]]], peak: Peak, room: float) -> tuple[list[str], list[str], int, Job] | None:
    """Words, options, peak and job of the set that fits and gives up least; None if none fits."""
    fitting = [(other, made, size) for other, made in level if (size := peak(other)) <= room]
    if not fitting:
        return None
    other, made, size = max(fitting, key=lambda entry: (entry[0].tokens * entry[0].grad_accum, entry[2]))
    last = {option.split()[0]: option for option in made}
    return [made[option] for option in last.values()], list(last.values()), size, other


def _changes(job: Job, peak: Peak, room: float, wheels: Wheels) -> Iterator[Enough]:
    """The smallest set of changes that suffices on the GPUs that are there."""
    for level in _sets(job, wheels):
        if found := _best(level, peak, room):
            words, options, size, other = found
            changed = {
                name: getattr(other, name) for name in other.__struct_fields__ if getattr(other, name) != getattr(job, name)
            }
            yield Enough(" and ".join(words), " ".join(options), size, changed)
            return


def _gpus(job: Job, card: Card, wheels: Wheels) -> Iterator[Enough]:
    """The fewest GPUs of this kind over which FSDP2 spreads the run, with as few further changes as possible."""
    for level in _sets(job, wheels):
        for count in (n for n in GPUS if n > card.count):
            many = msgspec.structs.replace(card, count=count)
            bound = compute(job, many, "fsdp2").error_bound.allocated
            peak = partial(_spread, many)
            if found := _best(level, peak, (card.available or 0) / (1 + bound)):
                words, options, size, _ = found
                yield Enough(
                    " and ".join((f"{count} of these GPUs", *words)),
                    " ".join((f"--gpus {count} --strategy fsdp2", *options)),
                    size,
                )
                return


def _spread(card: Card, job: Job) -> int:
    return compute(job, card, "fsdp2").peak_allocated_bytes


def _larger(job: Job, card: Card, peak: Peak, bound: float, matrix: Matrix) -> Iterator[Enough]:
    """The product with the least memory that is enough, of the same or a newer kind."""
    taken = (card.total or 0) - (card.available or 0) - card.used
    wanted = peak(job) * (1 + bound) + taken
    products = [
        (size, product, gfx) for gfx, target in matrix.gfx.items() for product, sizes in target.vram.items() for size in sizes
    ]
    least = min((size for size, _, _ in products if size * GIB >= wanted), default=None)
    if least is not None:
        size, product, gfx = next(one for one in reversed(products) if one[0] == least)
        yield Enough(f"a GPU with {size:g} GiB, such as {product}", f"--gpu {gfx} --vram {size:g}GiB", peak(job))


def _smaller(job: Job, peak: Peak, room: float, matrix: Matrix) -> Iterator[Enough]:
    """The largest preset that fits with the settings as they are, of the same architecture where one does."""
    presets: Mapping[str, Any] = matrix.plain("models") or {}
    kind = job.config.get("model_type")
    fitting = [
        (entry["config"].get("model_type") == kind, size, name)
        for name, entry in presets.items()
        if (size := _peak_of(job, entry["config"], peak)) is not None and size <= room
    ]
    if fitting:
        _, size, name = max(fitting)
        yield Enough(f"a smaller model, such as {name}", f"--model {name}", size)


def _peak_of(job: Job, config: Mapping[str, Any], peak: Peak) -> int | None:
    try:
        return peak(msgspec.structs.replace(job, config=config))
    except (ShapeError, ValueError, KeyError):
        return None
