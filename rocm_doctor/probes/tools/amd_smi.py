"""amd-smi of ROCm 6.0 to 7.2: text trees, the boxed table, `monitor`, `--json`, `--csv`, and the line of versions in each.

    ==> cmd/amd-smi static <==
    GPU: 0
        ASIC:
            MARKET_NAME: AMD Instinct MI210
            DEVICE_ID: 0x740f
            TARGET_GRAPHICS_VERSION: gfx90a
        BUS:
            BDF: 0000:63:00.0
        VRAM:
            SIZE: 65536 MB

>>> print(probe(sample))
gpu 0 marketing_name = AMD Instinct MI210
gpu 0 device_id = 29711
gpu 0 gfx = gfx90a
gpu 0 pci_bdf = 0000:63:00.0
gpu 0 vram_bytes = 68719476736
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Artifact
from rocm_doctor.probes.read.pairs import Gpus, Keys, Pair, csv_pairs, json_pairs, record_pair
from rocm_doctor.probes.read.printed import (
    OutputLine,
    bdf,
    count,
    gfx_target,
    hex_id,
    is_elided,
    lines,
    outputs,
    product_name,
    record_driver_version,
    size,
    stated_value,
    watts,
    whole_number,
)
from rocm_doctor.probes.read.result import Artifacts, ProbeResult

_UUID = regex(r"[0-9a-f]{2}ff([0-9a-f]{4})-0000-1000-[0-9a-f]{4}-([0-9a-f]{12})", re.IGNORECASE)


def _megabytes(value: str) -> int | None:
    """A size whose unit may be in the key."""
    return size(value) or size(value + " MB")


def _transfers(value: str) -> str | None:
    """A PCIe transfer rate as the kernel spells it."""
    found = re.fullmatch(r"(\d{1,2}(?:\.\d)?) GT/s", value)
    return f"{float(found[1]):.1f} GT/s PCIe" if found else None


def _uuid(value: str) -> str | None:
    """A UUID; None for one that ends in zeros: the GPU has no serial number, and all of its model share this text."""
    found = _UUID.fullmatch(value)
    return value if found and found[2].strip("0") else None


def _device_of_uuid(value: str) -> int | None:
    found = _UUID.fullmatch(value)
    return hex_id(found[1]) if found else None


def _render(value: str) -> str | None:
    return value if re.fullmatch(r"renderD\d+", value) else None


KEYS: Keys = {
    "market_name": ("marketing_name", product_name), "device_id": ("device_id", hex_id), "num_compute_units": ("compute_units", count),
    "target_graphics_version": ("gfx", gfx_target), "bdf": ("pci_bdf", bdf), "gpu_bdf": ("pci_bdf", bdf), "uuid": ("uuid", _uuid),
    "gpu_uuid": ("uuid", _uuid), "node_id": ("node", whole_number), "render": ("render_node", _render), "vram.size": ("vram_bytes", size),
    "vram.vram_size_mb": ("vram_bytes", _megabytes), "total_vram": ("vram_bytes", size), "vram_total": ("vram_bytes", size),
    "vram_used": ("vram_used_bytes", size), "mem_usage.used_vram": ("vram_used_bytes", _megabytes),
    "limit.socket_power": ("power_cap_watts", watts), "max_pcie_width": ("link_max_width", count),
    "max_pcie_speed": ("link_max_speed", _transfers), "pcie.width": ("link_width", count), "pcie.speed": ("link_speed", _transfers),
    "numa.node": ("numa_node", whole_number),
}  # fmt: skip
"""Fact and reader of each key in lower case, the same in text, tables, JSON and CSV; with its section where the key alone does not tell."""
_MODEL_KEYS: Keys = dict.fromkeys(("uuid", "gpu_uuid"), ("device_id", _device_of_uuid))
"""The device id inside a UUID."""


def probe(artifacts: Artifacts) -> ProbeResult:
    """GPUs, rocm.version, driver.version, driver.loaded and virtual_machine from the output of amd-smi: JSON, CSV, tree or table.
    The list of GPUs is complete only if they are numbered from 0 without a gap and nothing of the output is left out."""
    result = ProbeResult()
    for artifact in outputs(result, artifacts, "amd-smi"):
        gpus: Gpus = {}
        for pair in chain(json_pairs(artifact), csv_pairs(artifact, "gpu"), _tree_pairs(artifact), _table_pairs(artifact)):
            record_pair(result, gpus, pair, KEYS)
            record_pair(result, gpus, pair, _MODEL_KEYS)
            _record_machine(result, pair)
        for line in lines(artifact):
            _record_versions(result, line, bool(gpus))
        if gpus:
            complete = sorted(gpus) == list(range(len(gpus))) and not is_elided(artifact)
            result.listing(complete).gpus += [gpus[n] for n in sorted(gpus)]
    return result


def _record_machine(result: ProbeResult, pair: Pair) -> None:
    """The versions of `amd-smi version --json`, and the driver's that is printed for each GPU."""
    key = pair.key.lower()
    if key == "rocm_version" and pair.value[:1].isdigit():
        result.record("rocm.version", pair.value, pair.reading)
    elif key in ("amdgpu_version", "driver.version", "driver.driver_version") and stated_value(pair.value):
        record_driver_version(result, pair.value, pair.reading)


_ROCM = regex(r"ROCm version:\s*(\d+\.\d+(?:\.\d+){0,2})(?=\s|\||$)")
_DRIVER = regex(r"amdgpu version:\s*([^\s|]+)")


def _record_versions(result: ProbeResult, line: OutputLine, lists_gpus: bool) -> None:
    """`AMDSMI Tool: ... | ROCm version: 6.4.0 | amdgpu version: 6.12.12 | ...`, the table's head or the usage text's, and complaints.
    The last value of a line that is not whole may lack digits. amd-smi also misses the module of a built-in amdgpu."""
    rocm, driver = (pattern.search(line.text) if "ersion:" in line.text else None for pattern in (_ROCM, _DRIVER))
    if rocm and (line.whole or rocm.end() < len(line.text)):
        result.record("rocm.version", rocm[1], line.reading)
    if driver and (line.whole or driver.end() < len(line.text)) and stated_value(driver[1]):
        record_driver_version(result, driver[1], line.reading)
    if "amdgpu not found in modules" in line.text and not lists_gpus:
        result.record("driver.loaded", False, line.reading)
    if found := re.search(r"Platform: Linux (Baremetal|Guest)", line.text):
        result.record("virtual_machine", "guest" if found[1] == "Guest" else None, line.reading)


_BLOCK = regex(r"[ \t#>]*([CG]PU): (\d{1,4})$")
_PAIR = regex(r"[ \t#>]*([A-Z][A-Za-z0-9_ ]{1,60}):(?:\s{1,80}(.*))?$")
_OF_ASIC = ("MARKET_NAME", "NUM_COMPUTE_UNITS", "TARGET_GRAPHICS_VERSION")


def _tree_pairs(artifact: Artifact) -> Iterator[Pair]:
    """`GPU: 0` and the indented keys under it; a key without a value opens a section. `CPU: 0` blocks are skipped. In lines picked out
    with grep, a key that the last GPU has begins the next."""
    gpu: int | None = None
    section, headless = "", True
    seen: set[str] = set()
    for line in lines(artifact):
        if head := _BLOCK.match(line.text):
            gpu = int(head[2]) if head[1] == "GPU" and line.whole else None
            section, headless = "", False
            yield Pair(gpu, "gpu", head[2], line.reading)
        elif (pair := _PAIR.match(line.text)) and line.whole:
            key, value = pair[1], (pair[2] or "").strip()
            if headless and key in _OF_ASIC and (gpu is None or key in seen):
                gpu, seen = 0 if gpu is None else gpu + 1, set()
            seen.add(key)
            section = section if value else f"{key}."
            if gpu is not None and value:
                yield Pair(gpu, section + key, value, line.reading)


_CELL = regex(r"N/A|-?\d+(?:\.\d+)?(?:\s?(?:°C|[A-Za-z%/]+))?")
_HEADS = ("POWER", "XCP", "GPU_T", "GPU_TEMP", "GFX_UTIL", "GFX_CLK", "VRAM_USED", "VRAM_TOTAL")
_BOX = regex(
    r"[ \t>#]*\|\s*([0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])\s+([^|]*)(\||$)(?:.*\s\d{1,4}/([1-9]\d{1,3}) W\s*\|\s*$)?"
)
_BOX_SECOND = regex(r"[ \t>#]*\|\s*(\d{1,4})\s.*\s(\d+)/(\d+ ([KMG]B))\s*\|")


def _table_pairs(artifact: Artifact) -> Iterator[Pair]:
    """The rows of `monitor` by column heads, and the two lines of each GPU in the boxed table that plain `amd-smi` prints since 7.0."""
    heads: list[str] = []
    boxes = 0
    for line in lines(artifact):
        words = line.text.lstrip(" #>").rstrip(" #").split()
        if words[:1] == ["GPU"] and len(words) > 1 and words[1] in _HEADS:
            heads = words
        elif heads and words and words[0].isdigit():
            cells = _CELL.findall(line.text)
            if len(cells) == len(heads) and line.whole:
                yield from (Pair(int(cells[0].split()[0]), head, cell, line.reading) for head, cell in zip(heads, cells))
        elif "GPU-Name" in line.text:
            boxes = 0
        elif found := _BOX.match(line.text):
            boxes += 1
            keys = {"bdf": found[1], "market_name": found[2] if found[3] else "", "limit.socket_power": found[4] or ""}
            yield from (Pair(boxes - 1, key, value, line.reading) for key, value in keys.items())
        elif boxes and (second := _BOX_SECOND.match(line.text)):
            yield Pair(boxes - 1, "vram_total", second[3], line.reading)
            yield Pair(boxes - 1, "vram_used", f"{second[2]} {second[4]}", line.reading)
