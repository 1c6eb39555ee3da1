"""Notes on what makes a healthy machine slower or smaller than it could be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding, Gpu, Reading, Snapshot, Subject
from rocm_doctor.rules.findings import finding

ID = "hw.below-capacity"
BUSY = 0.5
"""Share of a GPU's memory in use that gets a note. A desktop takes a tenth."""
SIBLINGS = 0.9
"""A power limit below this share of the limit of equal GPUs is lowered: boards of one chip differ by less."""
_Numbered = tuple[int, Gpu]


class _Lack(NamedTuple):
    """One kind of note; `facts` are its evidence."""

    title: str
    cause: str
    advice: str
    command: str
    facts: tuple[str, ...]


_LINK = _Lack(
    "the PCIe link is narrower than the GPU's",
    "Fewer PCIe lanes are in use than the GPU has. Copies to and from the GPU, and between GPUs without XGMI, are slower by that factor.",
    "Check how many lanes the slot has, whether the GPU is seated, and whether the BIOS splits the slot.",
    "sudo lspci -vv -d 1002: | grep -E 'VGA|Display|LnkCap:|LnkSta:'",
    ("link_width", "link_max_width"),
)
_POWER = _Lack(
    "the power limit is lowered",
    "The power limit is below the board's default, or below that of the same GPUs beside it. Long computations run at lower clocks.",
    "Reset it unless it was lowered on purpose.",
    "rocm-smi --showmaxpower",
    ("power_cap_watts", "power_default_watts"),
)
_MEMORY = _Lack(
    "less than half of the GPU's memory is free",
    "Another process, or an earlier run that is still alive, uses most of this GPU's memory.",
    "Find that process before a run that needs all of the memory.",
    "rocm-smi --showpids",
    ("vram_used_bytes", "vram_bytes", "vram_used_percent"),
)


def capacity_notes(snapshot: Snapshot, matrix: Matrix) -> Iterator[Finding]:
    """One note each on narrow PCIe links, lowered power limits, used memory, and GPUs hidden by a variable."""
    gpus = [(n, gpu) for n, gpu in enumerate(snapshot.gpus) if gpu.get("is_apu").value is not True]
    used = [(n, gpu) for n, gpu in gpus if gpu.get("visible").value is not False]
    yield from _note(matrix, _LINK, [(n, gpu, _narrow(gpu)) for n, gpu in gpus])
    yield from _note(matrix, _POWER, [(n, gpu, _limit_words(gpu, gpus)) for n, gpu in gpus])
    yield from _note(matrix, _MEMORY, [(n, gpu, _busy(gpu)) for n, gpu in used])
    yield from _hidden(snapshot, matrix)


def _note(matrix: Matrix, lack: _Lack, gpus: Iterable[tuple[int, Gpu, str]]) -> Iterator[Finding]:
    """One note for all GPUs with this lack, with distinct figures (`x4 of x16`) once."""
    found = [(n, gpu, figures) for n, gpu, figures in gpus if figures]
    if found:
        yield finding(
            matrix,
            ID,
            title=f"{lack.title} ({', '.join(dict.fromkeys(figures for _, _, figures in found))})",
            severity="note",
            status="degraded",
            subject=Subject("GPU " + ", ".join(str(n) for n, _, _ in found), "gpu"),
            cause=lack.cause,
            advice=lack.advice,
            commands=(lack.command,),
            evidence=tuple(r for _, gpu, _ in found[:2] for key in lack.facts for r in gpu.get(key).readings[:1]),
        )


def _narrow(gpu: Gpu) -> str:
    width, most = _number(gpu, "link_width"), _number(gpu, "link_max_width")
    return f"x{width} of x{most}" if width and most and width < most else ""


def _limit_words(gpu: Gpu, gpus: Sequence[_Numbered]) -> str:
    """The limit and its reference: the board's default, else the highest limit among GPUs of the same model."""
    cap, most = _number(gpu, "power_cap_watts"), _number(gpu, "power_default_watts")
    if most is None:
        alike = [other for _, other in gpus if other.get("device_id").value == gpu.get("device_id").value]
        most = max((_number(other, "power_cap_watts") or 0 for other in alike), default=0)
        if cap and cap > SIBLINGS * most:
            return ""
    return f"{cap} of {most} W" if cap and cap < most else ""


def _busy(gpu: Gpu) -> str:
    used, whole = _number(gpu, "vram_used_bytes"), _number(gpu, "vram_bytes")
    percent = _number(gpu, "vram_used_percent")
    if not used and percent and 100 >= percent > 100 * BUSY:
        return f"{percent} % in use"
    return f"{(whole - used) / 2**30:.1f} of {whole / 2**30:.1f} GiB" if used and whole and whole >= used > BUSY * whole else ""


def _number(gpu: Gpu, key: str) -> int | None:
    value = gpu.get(key).value
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _hidden(snapshot: Snapshot, matrix: Matrix) -> Iterator[Finding]:
    """The note on a variable that hides some GPUs, but not all."""
    hidden = [n for n, gpu in enumerate(snapshot.gpus) if gpu.get("visible").value is False]
    left = len(snapshot.gpus) - len(hidden)
    cards = [n for n in hidden if snapshot.gpus[n].get("is_apu").value is not True]
    if not cards or not left:
        return
    evidence: tuple[Reading, ...] = snapshot.gpus[cards[0]].get("visible").readings
    names = " and ".join(dict.fromkeys(r.quote.partition("=")[0].strip() for r in evidence)) or "a visibility variable"
    yield finding(
        matrix,
        "access.visible-devices",
        title=f"{left} of {len(snapshot.gpus)} GPUs {'is' if left == 1 else 'are'} visible",
        severity="note",
        status="degraded",
        cause=f"{names} leaves out GPU {', '.join(map(str, cards))}.",
        advice="Unset it to use all GPUs.",
        commands=(),
        evidence=evidence,
    )
