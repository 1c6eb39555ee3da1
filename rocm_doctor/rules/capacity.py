"""Notes on what makes a healthy machine slower or smaller than it could be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding, Gpu, Snapshot, Subject
from rocm_doctor.rules.findings import finding

BUSY = 0.5
"""Share of a GPU's memory in use that gets a note. A desktop takes a tenth."""
SIBLINGS = 0.9
"""A power limit below this share of the limit of equal GPUs is lowered: boards of one chip differ by less."""
_Judge = Callable[[Gpu, Sequence[Gpu]], str]


def capacity_notes(snapshot: Snapshot, matrix: Matrix) -> Iterator[Finding]:
    """One note each on narrow PCIe links, lowered power limits and used memory, with distinct figures (`x4 of x16`) once."""
    gpus = [gpu for gpu in snapshot.gpus if gpu.value("is_apu") is not True]
    for case, judge, facts in _LACKS:
        found = [(n, gpu, figures) for n, gpu in enumerate(snapshot.gpus) if gpu in gpus and (figures := judge(gpu, gpus))]
        if found:
            yield finding(
                matrix,
                case,
                (reading for _, gpu, _ in found[:2] for key in facts for reading in gpu.get(key).readings[:1]),
                subject=Subject("GPU " + ", ".join(str(n) for n, _, _ in found), "gpu"),
                figures=", ".join(dict.fromkeys(figures for _, _, figures in found)),
            )


def _narrow(gpu: Gpu, _: Sequence[Gpu]) -> str:
    width, most = _number(gpu, "link_width"), _number(gpu, "link_max_width")
    return f"x{width} of x{most}" if width and most and width < most else ""


def _describe_lowered_cap(gpu: Gpu, gpus: Sequence[Gpu]) -> str:
    """The limit and its reference: the board's default, else the highest limit among GPUs of the same model."""
    cap, most = _number(gpu, "power_cap_watts"), _number(gpu, "power_default_watts")
    if most is None:
        alike = [other for other in gpus if other.value("device_id") == gpu.value("device_id")]
        most = max((_number(other, "power_cap_watts") or 0 for other in alike), default=0)
        if cap and cap > SIBLINGS * most:
            return ""
    return f"{cap} of {most} W" if cap and cap < most else ""


def _busy(gpu: Gpu, _: Sequence[Gpu]) -> str:
    if gpu.value("visible") is False:
        return ""
    used, whole = _number(gpu, "vram_used_bytes"), _number(gpu, "vram_bytes")
    percent = _number(gpu, "vram_used_percent")
    if not used and percent and 100 >= percent > 100 * BUSY:
        return f"{percent} % in use"
    return f"{(whole - used) / 2**30:.1f} of {whole / 2**30:.1f} GiB" if used and whole and whole >= used > BUSY * whole else ""


def _number(gpu: Gpu, key: str) -> int | None:
    value = gpu.value(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


_LACKS: tuple[tuple[str, _Judge, tuple[str, ...]], ...] = (
    ("hw.below-capacity/link", _narrow, ("link_width", "link_max_width")),
    ("hw.below-capacity/power", _describe_lowered_cap, ("power_cap_watts", "power_default_watts")),
    ("hw.below-capacity/memory", _busy, ("vram_used_bytes", "vram_bytes", "vram_used_percent")),
)
"""Each note's case, what gives the figures of a GPU that it is for, and the facts that are its evidence."""
