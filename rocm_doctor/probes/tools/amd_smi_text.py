"""amd-smi's trees (`list`, `static`, `metric`), its `monitor` table, and the boxed table that plain `amd-smi` prints since ROCm 7.0."""

from __future__ import annotations

import re

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Artifact, Fact, Reading
from rocm_doctor.probes.read.printed import Line, apart, bdf, lines, name, put, quote, size
from rocm_doctor.probes.read.result import ProbeResult
from rocm_doctor.probes.tools.amd_smi_keys import KEYS, describe

_NEXT = regex(r"\s(?=[A-Z][A-Z0-9_]{2,40}:(?:\s|$))")
_BLOCK = regex(r"[ \t#>]*([CG]PU): (\d{1,4})$")
_PAIR = regex(r"[ \t#>]*([A-Z][A-Za-z0-9_ ]{1,60}):(?:\s+(.*))?$")
_TELLING = ("MARKET_NAME", "NUM_COMPUTE_UNITS", "TARGET_GRAPHICS_VERSION")
_CELL = regex(r"N/A|-?\d+(?:\.\d+)?(?:\s?(?:°C|[A-Za-z%/]+))?")
_BOX = regex(r"[ \t>#]*\|\s*([0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])\s+([^|]*)(\||$)")
_BOX_POWER = regex(r"\s\d{1,4}/([1-9]\d{1,3}) W\s*\|\s*$")
_BOX_SECOND = regex(r"[ \t>#]*\|\s*(\d{1,4})\s.*\s(\d+)/(\d+ ([KMG]B))\s*\|")

Gpus = dict[int, dict[str, Fact]]


def read_tree(result: ProbeResult, artifact: Artifact, gpus: Gpus) -> None:
    """Add `GPU: 0` and the indented keys under it; a key without a value opens a section. `CPU: 0` blocks are skipped."""
    gpu: dict[str, Fact] | None = None
    section, headless = "", True
    for line in apart(artifact, _NEXT):
        if head := _BLOCK.match(line.text):
            gpu = gpus.setdefault(int(head.group(2)), {}) if head.group(1) == "GPU" and line.whole else None
            section, headless = "", False
        elif (pair := _PAIR.match(line.text)) and line.whole:
            if headless and pair.group(1) in _TELLING:
                gpu = _next(gpus, pair.group(1))
            if gpu is not None:
                section = _take(result, gpu, section, pair, quote(artifact, line))


def _next(gpus: Gpus, key: str) -> dict[str, Fact]:
    """The GPU of a line picked out with grep: a new one if the last has that key already."""
    fact = KEYS["asic", key.lower()][0]
    last = gpus.get(len(gpus) - 1)
    return gpus.setdefault(len(gpus), {}) if last is None or fact in last else last


def _take(result: ProbeResult, gpu: dict[str, Fact], section: str, pair: re.Match[str], reading: Reading) -> str:
    """Read one line; returns the section of the next line."""
    key, value = pair.group(1), (pair.group(2) or "").strip()
    if not value:
        return key
    if key in _TELLING:
        section = "ASIC"
    describe(result, gpu, section if key not in ("BDF", "UUID", "NODE_ID", "RENDER") else "", key, value, reading)
    return section


def read_table(result: ProbeResult, artifact: Artifact, gpus: Gpus) -> None:
    """Add the rows of `monitor` by column heads, and the two lines of each GPU in the boxed table."""
    heads: list[str] = []
    boxed: dict[str, Fact] | None = None
    count = 0
    for line in lines(artifact):
        words = line.text.lstrip(" #>").rstrip(" #").split()
        if (
            words[:1] == ["GPU"]
            and len(words) > 1
            and words[1] in ("POWER", "XCP", "GPU_T", "GPU_TEMP", "GFX_UTIL", "GFX_CLK", "VRAM_USED", "VRAM_TOTAL")
        ):
            heads = words
        elif heads and words and words[0].isdigit():
            _monitor_row(result, gpus, heads, line, quote(artifact, line))
        elif "GPU-Name" in line.text:
            count = 0
        elif found := _BOX.match(line.text):
            boxed = gpus.setdefault(count, {})
            count += 1
            _box(result, boxed, found, quote(artifact, line))
        elif boxed is not None and (second := _BOX_SECOND.match(line.text)):
            put(result, boxed, "vram_bytes", size(second.group(3)) or None, quote(artifact, line))
            put(result, boxed, "vram_used_bytes", size(f"{second.group(2)} {second.group(4)}") or None, quote(artifact, line))
            boxed = None


def _box(result: ProbeResult, gpu: dict[str, Fact], found: re.Match[str], reading: Reading) -> None:
    put(result, gpu, "pci_bdf", bdf(found.group(1)), reading)
    if found.group(3):
        put(result, gpu, "marketing_name", name(found.group(2)), reading)
    if cap := _BOX_POWER.search(found.string):
        put(result, gpu, "power_cap_watts", int(cap.group(1)), reading)


def _monitor_row(result: ProbeResult, gpus: Gpus, heads: list[str], line: Line, reading: Reading) -> None:
    """Add a row as a GPU if it has a cell for each head; its memory if that has a column and a unit."""
    cells = _CELL.findall(line.text)
    if len(cells) != len(heads) or not line.whole:
        return
    gpu = gpus.setdefault(int(cells[0].split()[0]), {})
    row = dict(zip(heads, cells))
    put(result, gpu, "vram_bytes", size(row.get("VRAM_TOTAL", "")) or None, reading)
    put(result, gpu, "vram_used_bytes", size(row.get("VRAM_USED", "")) or None, reading)
    for heading, fact in (
        ("GFX%", "busy_percent"),
        ("GFX_UTIL", "busy_percent"),
        ("POWER", "power_watts"),
        ("GFX_CLK", "clock_mhz"),
        ("GPU_T", "temperature"),
    ):
        if found := re.match(r"\d+", row.get(heading, "")):
            put(result, gpu, fact, int(found.group()), reading)
