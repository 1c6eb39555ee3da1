"""Telltale words: which line of a pasted text belongs to which tool's output. Seen in captures of ROCm 1.6 to 7.13.

Words of `ANYWHERE` are looked for in the whole text, for output that was joined, quoted or set behind something; words of
`STARTS` count at the beginning of a line only (behind blanks, `#`, `>`, `|`, `*`). Where the words could be prose,
a pattern tests the line.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from rocm_doctor.bounded.patterns import regex


class Mark(NamedTuple):
    """Words that give a tool's output away. `fits`: what the line must also look like, from its beginning."""

    kind: str
    words: str
    fits: re.Pattern[str] | None = None


def _marks(kind: str, *words: str, fits: str = "") -> tuple[Mark, ...]:
    return tuple(Mark(kind, w, regex(fits) if fits else None) for w in words)


# A command behind a prompt, behind an assignment, or alone on its line: never in the middle of a sentence.
_BEFORE = r"(?:[^\n]{0,160}?(?:[$#%>+:;&|]|\w=\S{1,40})\s*)?(?:sudo\s+|srun\s+|time\s+)?(?:[\w./~:\\-]{0,80}[/\\])?"
_BEHIND = r"(?:\.exe)?(?:\s+(?:--?\w|version|list|static|monitor|metric|[|>&;])|\s*$)"


def _command(kind: str, *names: str) -> tuple[Mark, ...]:
    return tuple(Mark(kind, n, regex(_BEFORE + re.escape(n) + _BEHIND)) for n in names)


# Decoration is gone from the line that a pattern of STARTS sees.
STARTS: tuple[Mark, ...] = (
    *_marks("rocminfo", "hsa api call failure at", "Chip ID:", "Segment: "),
    *_marks("rocminfo", "Name:", fits=r"Name:\s+(?:amdgcn-amd-amdhsa--)?gfx[0-9]"),
    *_marks("rocminfo", "Agent ", fits=r"Agent \d+\W*$"),
    *_marks("rocm-smi", '"card', fits=r'"card\d+":\s*\{'),
    *_marks("rocm-smi", "device,", fits=r"device,\w"),
    *_marks("rocm-smi", "card", fits=r"card(?:\d+|system),"),
    *_marks("amd-smi", "AMD-SMI "),
    *_marks("amd-smi", "GPU: ", fits=r"GPU: \d+$"),
    *_marks("amd-smi", "GPU ", fits=r"GPU\s+(?:XCP|POWER|GPU_T|GFX_|VRAM_)"),
    *_marks("amd-smi", '"gpu":', fits=r'"gpu":\s*\d'),
    *_marks("amd-smi", "gpu,", fits=r"gpu,\w"),
    *_marks("hipinfo", "device#  ", "gcnArchName:", "totalGlobalMem:"),
    *_marks("pip", "Package", fits=r"Package(?:\s+|:? +\| +)Version\b"),
    *_marks("pip", "torch", "pytorch-triton", "triton", "rocm", "transformers", "accelerate", "bitsandbytes",
            fits=r"[\w-]+\s+\d+\.\d\S*(?:\s|$)"),
)  # fmt: skip

ANYWHERE: tuple[Mark, ...] = (
    *_marks("rocminfo", "ROCk module", "HSA System Attributes", "HSA Agents", "Unable to open /dev/kfd", "hsa_init Failed"),
    *_marks("rocminfo", "*** Done ***", "WSL environment detected", "Marketing Name:", "the default DRM access group"),
    *_marks("rocminfo", "Call returned HSA_STATUS", "rocminfo.cc"),
    *_marks("rocminfo", "member of ", "group membership",
            fits=r".*?(?:is member of \w+ group|(?:video|render) group membership)"),
    *_marks("rocm-smi", "ROCm System Management Interface", "End of ROCm SMI Log", "Concise Info"),
    *_marks("rocm-smi", "Driver not initialized (amdgpu not found"),
    *_marks("rocm-smi", "GPU[", fits=r".*?GPU\[\d+\]\s*:"),
    *_marks("rocm-smi", "Mhz", fits=r"\W*\d+\s+(?:\d+\s+0x[0-9a-f]{4},\s|\[\S.{0,20} : 0x|[0-9.]+c\s)"),
    *_marks("amd-smi", "AMDSMI Tool:", "| AMD-SMI "),
    *_marks("amd-smi", "Unable to detect any GPU devices", "MARKET_NAME:"),
    *_marks("pip", "==", fits=r"\s{0,8}[A-Za-z0-9][\w.-]{0,60}(?:\[[\w,]{1,40}\])?==\d\S*\s*$"),
    *_command("rocminfo", "rocminfo"),
    *_command("rocm-smi", "rocm-smi"),
    *_command("amd-smi", "amd-smi"),
    *_command("hipinfo", "hipinfo", "hipInfo"),
)  # fmt: skip

# Lines of the kernel log: all of them go into one artifact, wherever they are.
LINE_STARTS: tuple[Mark, ...] = _marks(
    "dmesg", "amdgpu ", "amdgpu: ", "[drm] ", "[drm:", "kfd kfd: ", fits=r"(?:amdgpu(?: [0-9a-f]{4}:|: )|\[drm|kfd kfd: )"
)
LINE_ANYWHERE: tuple[Mark, ...] = (
    *_marks("dmesg", "amdgpu", "[drm", "kfd", "Linux version", "Out of memory", fits=r"\s{0,8}\[\s*\d{1,8}\.\d{2,6}\]"),
    *_marks("dmesg", " kernel: ", "kernel: amdgpu", "*ERROR* "),
)


Placed = tuple[str, Mark]
"""A mark with the kind of artifact that it leads to: `block` (one tool's output) or `single` (lines gathered from everywhere)."""

ANYWHERE_TABLE: tuple[Placed, ...] = (*(("block", m) for m in ANYWHERE), *(("single", m) for m in LINE_ANYWHERE))


def _index_by_beginning(marks: tuple[Placed, ...]) -> dict[str, tuple[Placed, ...]]:
    """The marks by their first three letters, to look a line up by its own."""
    keys = dict.fromkeys(mark.words[:3] for _, mark in marks)
    return {key: tuple((where, m) for where, m in marks if m.words.startswith(key)) for key in keys}


STARTS_INDEX = _index_by_beginning((*(("block", m) for m in STARTS), *(("single", m) for m in LINE_STARTS)))
