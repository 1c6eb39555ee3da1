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
from collections.abc import Callable, Iterator

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Artifact, Fact, Plain, Reading
from rocm_doctor.probes.read.loose_json import Json, roots
from rocm_doctor.probes.read.printed import (
    Line,
    bdf,
    csv_rows,
    gfx_target,
    hex_id,
    is_elided,
    line_reading,
    lines,
    number_reader,
    outputs,
    product_name,
    record_driver_version,
    record_known,
    size,
    stated_value,
    whole_number,
)
from rocm_doctor.probes.read.result import Artifacts, ProbeResult

Gpus = dict[int, dict[str, Fact]]
_UUID = regex(r"[0-9a-f]{2}ff([0-9a-f]{4})-0000-1000-[0-9a-f]{4}-([0-9a-f]{12})", re.IGNORECASE)


def _bytes(value: str) -> int | None:
    """A size whose unit may be in the key."""
    return size(value) or size(value + " MB") or None


def _transfers(value: str) -> str | None:
    """A PCIe transfer rate as the kernel spells it."""
    found = re.fullmatch(r"(\d{1,2}(?:\.\d)?) GT/s", value)
    return f"{float(found[1]):.1f} GT/s PCIe" if found else None


def _uuid(value: str) -> str | None:
    """A UUID; None for one that ends in zeros: the GPU has no serial number, and all of its model share this text."""
    found = _UUID.fullmatch(value)
    return value if found and found[2].strip("0") else None


def _render(value: str) -> str | None:
    return value if re.fullmatch(r"renderD\d+", value) else None


def _count(value: str) -> int | None:
    return whole_number(value) or None


_watts = number_reader(r"([1-9]\d{0,3})(?:\.\d+)?(?: W)?")

KEYS: dict[str, tuple[str, Callable[[str], Plain | None]]] = {
    "asic.market_name": ("marketing_name", product_name), "asic.device_id": ("device_id", hex_id), "asic.num_compute_units": ("compute_units", _count),
    "asic.target_graphics_version": ("gfx", gfx_target), "bus.bdf": ("pci_bdf", bdf), ".bdf": ("pci_bdf", bdf), ".gpu_bdf": ("pci_bdf", bdf),
    ".uuid": ("uuid", _uuid), ".gpu_uuid": ("uuid", _uuid), ".node_id": ("node", whole_number), ".render": ("render_node", _render),
    "vram.size": ("vram_bytes", size), "vram.vram_size_mb": ("vram_bytes", _bytes), "mem_usage.total_vram": ("vram_bytes", size),
    ".vram_total": ("vram_bytes", size), "mem_usage.used_vram": ("vram_used_bytes", _bytes),
    "limit.socket_power": ("power_cap_watts", _watts),
    "bus.max_pcie_width": ("link_max_width", _count), "bus.max_pcie_speed": ("link_max_speed", _transfers),
    "pcie.width": ("link_width", _count), "pcie.speed": ("link_speed", _transfers), "numa.node": ("numa_node", whole_number),
}  # fmt: skip
"""Fact and reader of each key, by `section.key` in lower case: the same in text, JSON and (without a section) CSV."""
_ALONE = {
    key.partition(".")[2]: value for key, value in KEYS.items() if key.startswith(("asic.", ".")) or key.endswith("total_vram")
}
"""Keys that need no section."""


def probe(artifacts: Artifacts) -> ProbeResult:
    """GPUs, rocm.version, driver.version, driver.loaded, virtual_machine."""
    result = ProbeResult()
    for artifact in outputs(result, artifacts, "amd-smi"):
        gpus: Gpus = {}
        for read in (_read_json, _read_csv, _read_tree, _read_tables):
            read(result, artifact, gpus)
        for line in lines(artifact):
            _read_machine(result, line, line_reading(artifact, line), bool(gpus))
        if gpus:
            complete = sorted(gpus) == list(range(len(gpus))) and not is_elided(artifact)
            result.listing(complete).gpus += [gpus[n] for n in sorted(gpus)]
    return result


_ROCM = regex(r"ROCm version:\s*(\d+\.\d+(?:\.\d+){0,2})(?=\s|\||$)")
_DRIVER = regex(r"amdgpu version:\s*([^\s|]+)")


def _read_machine(result: ProbeResult, line: Line, reading: Reading, lists_gpus: bool) -> None:
    """`AMDSMI Tool: ... | ROCm version: 6.4.0 | amdgpu version: 6.12.12 | ...`, the table's head or the usage text's, and complaints.
    The last value of a line that is not whole may lack digits. amd-smi also misses the module of a built-in amdgpu."""
    rocm, driver = (pattern.search(line.text) if "ersion:" in line.text else None for pattern in (_ROCM, _DRIVER))
    if rocm and (line.whole or rocm.end() < len(line.text)):
        result.record("rocm.version", rocm[1], reading)
    if driver and (line.whole or driver.end() < len(line.text)) and stated_value(driver[1]):
        record_driver_version(result, driver[1], reading)
    if "amdgpu not found in modules" in line.text and not lists_gpus:
        result.record("driver.loaded", False, reading)
    if found := re.search(r"Platform: Linux (Baremetal|Guest)", line.text):
        result.record("virtual_machine", "guest" if found[1] == "Guest" else None, reading)


def _describe(result: ProbeResult, gpu: dict[str, Fact], section: str, key: str, value: str, reading: Reading) -> None:
    """Record the fact behind a key of a section, of the GPU or (driver) of the machine."""
    section, key = section.lower(), key.lower()
    if section == "driver" and key in ("version", "driver_version") and stated_value(value):
        record_driver_version(result, value, reading)
    if key in ("uuid", "gpu_uuid") and (found := _UUID.fullmatch(value)):
        record_known(result, gpu, "device_id", hex_id(found[1]), reading)
    if fact := KEYS.get(f"{section}.{key}") or (_ALONE.get(key) if not section else None):
        record_known(result, gpu, fact[0], fact[1](value), reading)


def _read_json(result: ProbeResult, artifact: Artifact, gpus: Gpus) -> None:
    """Each entry with a number under `gpu` (a list up to 6.x, `{"gpu_data": [...]}` later); of others, versions and one GPU's memory."""
    for root in roots(artifact.text):
        entries = root.get("gpu_data", [root]) if isinstance(root, dict) else root
        for entry in entries if isinstance(entries, list) else ():
            number = entry.get("gpu") if isinstance(entry, dict) else None
            if isinstance(entry, dict) and isinstance(number, int) and not isinstance(number, bool) and 0 <= number < 4096:
                for section, key, value in _leaves(entry):
                    reading = Reading(artifact.name, f"gpu {number}: {section or key}", f'"{key}": "{value}"'[:200])
                    _describe(result, gpus.setdefault(number, {}), section, key, value, reading)
                gpus.setdefault(number, {})
            elif isinstance(entry, dict):
                _read_other(result, artifact, gpus, {key: _words(value) for key, value in entry.items()})


def _read_other(result: ProbeResult, artifact: Artifact, gpus: Gpus, entry: dict[str, str]) -> None:
    """`amd-smi version --json`, and the `vram` part of one GPU, picked out with jq."""
    for key, value in entry.items():
        reading = Reading(artifact.name, key, f'"{key}": "{value}"'[:200])
        if key == "rocm_version" and value[:1].isdigit():
            result.record("rocm.version", value, reading)
        elif key == "amdgpu_version":
            record_driver_version(result, value, reading)
        elif key == "size" and "vendor" in entry and entry.get("type", "").upper().startswith(("HBM", "GDDR", "DDR", "LPDDR")):
            record_known(result, gpus.setdefault(0, {}), "vram_bytes", size(value) or None, reading)


def _leaves(entry: dict[str, Json]) -> Iterator[tuple[str, str, str]]:
    """Section, key and value as text, of the first two levels."""
    for section, inner in entry.items():
        if isinstance(inner, dict):
            yield from ((section, key, _words(value)) for key, value in inner.items())
        else:
            yield "", section, _words(inner)


def _words(value: Json) -> str:
    """The value as text: `{"value": 16304, "unit": "MB"}` is `16304 MB`."""
    if isinstance(value, dict):
        return f"{value.get('value', '')} {value.get('unit', '')}".strip()
    return "" if value is None or isinstance(value, (list, bool)) else str(value)


def _read_csv(result: ProbeResult, artifact: Artifact, gpus: Gpus) -> None:
    """The rows of a table under `gpu,...`, without sizes: they have no unit, and bytes look like megabytes."""
    for row, line in csv_rows(artifact, "gpu", r"\d{1,4},"):
        gpu = gpus.setdefault(int(row.pop("gpu")), {})
        for key, value in row.items():
            _describe(result, gpu, "", key, value, line_reading(artifact, line))


_BLOCK = regex(r"[ \t#>]*([CG]PU): (\d{1,4})$")
_PAIR = regex(r"[ \t#>]*([A-Z][A-Za-z0-9_ ]{1,60}):(?:\s{1,80}(.*))?$")
_TELLING = ("MARKET_NAME", "NUM_COMPUTE_UNITS", "TARGET_GRAPHICS_VERSION")


def _read_tree(result: ProbeResult, artifact: Artifact, gpus: Gpus) -> None:
    """`GPU: 0` and the indented keys under it; a key without a value opens a section. `CPU: 0` blocks are skipped. In lines picked out
    with grep, a key that the last GPU has begins the next."""
    gpu: dict[str, Fact] | None = None
    section, headless = "", True
    for line in lines(artifact):
        if head := _BLOCK.match(line.text):
            gpu = gpus.setdefault(int(head[2]), {}) if head[1] == "GPU" and line.whole else None
            section, headless = "", False
        elif (pair := _PAIR.match(line.text)) and line.whole:
            key, value = pair[1], (pair[2] or "").strip()
            if headless and key in _TELLING:
                last = gpus.get(len(gpus) - 1)
                again = last is None or KEYS[f"asic.{key.lower()}"][0] in last
                gpu = gpus.setdefault(len(gpus), {}) if again else last
            if gpu is not None and not value:
                section = key
            elif gpu is not None:
                section = "ASIC" if key in _TELLING else section
                _describe(
                    result,
                    gpu,
                    section if key not in ("BDF", "UUID", "NODE_ID", "RENDER") else "",
                    key,
                    value,
                    line_reading(artifact, line),
                )


_CELL = regex(r"N/A|-?\d+(?:\.\d+)?(?:\s?(?:°C|[A-Za-z%/]+))?")
_HEADS = ("POWER", "XCP", "GPU_T", "GPU_TEMP", "GFX_UTIL", "GFX_CLK", "VRAM_USED", "VRAM_TOTAL")
_COLUMNS = {"VRAM_TOTAL": "vram_bytes", "VRAM_USED": "vram_used_bytes"}
_BOX = regex(r"[ \t>#]*\|\s*([0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])\s+([^|]*)(\||$)")
_BOX_POWER = regex(r"\s\d{1,4}/([1-9]\d{1,3}) W\s*\|\s*$")
_BOX_SECOND = regex(r"[ \t>#]*\|\s*(\d{1,4})\s.*\s(\d+)/(\d+ ([KMG]B))\s*\|")


def _read_tables(result: ProbeResult, artifact: Artifact, gpus: Gpus) -> None:
    """The rows of `monitor` by column heads, and the two lines of each GPU in the boxed table that plain `amd-smi` prints since 7.0."""
    heads: list[str] = []
    boxed: dict[str, Fact] | None = None
    count = 0
    for line in lines(artifact):
        reading = line_reading(artifact, line)
        words = line.text.lstrip(" #>").rstrip(" #").split()
        if words[:1] == ["GPU"] and len(words) > 1 and words[1] in _HEADS:
            heads = words
        elif heads and words and words[0].isdigit():
            cells = _CELL.findall(line.text)
            if len(cells) == len(heads) and line.whole:
                gpu = gpus.setdefault(int(cells[0].split()[0]), {})
                for head, cell in zip(heads, cells):
                    if head in _COLUMNS:
                        record_known(result, gpu, _COLUMNS[head], size(cell) or None, reading)
        elif "GPU-Name" in line.text:
            count = 0
        elif found := _BOX.match(line.text):
            boxed = gpus.setdefault(count, {})
            count += 1
            record_known(result, boxed, "pci_bdf", bdf(found[1]), reading)
            record_known(result, boxed, "marketing_name", product_name(found[2]) if found[3] else None, reading)
            if cap := _BOX_POWER.search(line.text):
                record_known(result, boxed, "power_cap_watts", int(cap[1]), reading)
        elif boxed is not None and (second := _BOX_SECOND.match(line.text)):
            record_known(result, boxed, "vram_bytes", size(second[3]) or None, reading)
            record_known(result, boxed, "vram_used_bytes", size(f"{second[2]} {second[4]}") or None, reading)
            boxed = None
