"""The machine in a few lines: GPUs of one kind together, and the stack from the kernel up."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Gpu, Snapshot

_CHIP_AND_PRODUCT = regex(r".*\[(.+)\]\s*$")
"""pci.ids writes `Aqua Vanjaram [Instinct MI300A]`."""


def gpu_lines(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """(label, words) of each GPU. Consecutive GPUs with the same words share a line: `GPU 0-7`, `8 × ...`. The label of a
    declared target is `for`."""
    if snapshot.value("declared") is True:
        yield from (("for", gpu_line(gpu)) for gpu in snapshot.gpus)
        return
    numbered = itertools.groupby(enumerate(snapshot.gpus), lambda item: gpu_line(item[1]))
    for words, group in numbered:
        members = list(group)
        first, last = members[0][0], members[-1][0]
        if first == last:
            yield f"GPU {first}", words
        else:
            yield f"GPU {first}-{last}", f"{len(members)} × {words}"


def gpu_line(gpu: Gpu) -> str:
    """A GPU in one line: product, target, compute units, memory."""
    vram = gpu.value("vram_bytes")
    mode = gpu.value("partition")
    parts = [
        product(gpu),
        f"({gpu.get('gfx').words})",
        f"{gpu.value('compute_units')} CUs" if isinstance(gpu.value("compute_units"), int) else "",
        f"{vram / 2**30:.1f} GiB" if isinstance(vram, int) else "",
        "APU" if gpu.value("is_apu") is True else "",
        f"{mode} mode" if isinstance(mode, str) and mode != "SPX" else "",
    ]
    return " ".join(p for p in parts if p)


def product(gpu: Gpu) -> str:
    """The product name: from a tool, else the catalog's product, else the chip's codename."""
    name = gpu.value("marketing_name")
    if isinstance(name, str) and name:
        found = _CHIP_AND_PRODUCT.fullmatch(name)
        return found[1] if found else name
    return next((v for k in ("product", "codename") if isinstance(v := gpu.value(k), str) and v), "GPU")


def stack_lines(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """(label, value) of the known parts of the stack, from the kernel up."""
    names = {
        "kernel": "kernel",
        "driver.version": "driver",
        "rocm.version": "ROCm",
        "torch.version": "torch",
        "python.version": "Python",
    }
    for key, label in names.items():
        fact = snapshot.get(key)
        if fact.known and fact.value is not None:
            yield label, str(fact.value)


def fact_lines(snapshot: Snapshot) -> Iterator[str]:
    """A line for each fact: its name, its value and where that was read; then what could not be read."""
    of_gpus = ((f"gpus[{n}].{name}", fact) for n, gpu in enumerate(snapshot.gpus) for name, fact in gpu.facts.items())
    for name, fact in (*((n, f) for n, f in snapshot.facts.items() if not n.endswith(".")), *of_gpus):
        where = f"   [{fact.readings[0].artifact} {fact.readings[0].place}]".replace(" ]", "]") if fact.readings else ""
        yield f"{name}: {fact.words}{where}"
    yield from (f"not read: {error.artifact}: {error.quote}" for error in snapshot.errors)
