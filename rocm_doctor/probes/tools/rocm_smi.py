"""rocm-smi: `GPU[0] : key : value` lists, three generations of tables, `--json` and `--csv`, of ROCm 2 to 7.

One GPU of a listing for each index that the output names, even with no other key.

    ==> cmd/rocm-smi --showproductname <==
    ============================ ROCm System Management Interface ============================
    GPU[0]		: Card Series: 		AMD Radeon RX 6800 XT
    GPU[0]		: Card Model: 		0x73bf
    GPU[0]		: GFX Version: 		gfx1030
    ================================== End of ROCm SMI Log ===================================

>>> print(probe(sample))
gpu 0 marketing_name = AMD Radeon RX 6800 XT
gpu 0 device_id = 29631
gpu 0 gfx = gfx1030
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Artifact, Fact, Plain, Reading
from rocm_doctor.probes.read import printed
from rocm_doctor.probes.read.loose_json import roots
from rocm_doctor.probes.read.printed import (
    Line,
    bdf,
    csv_rows,
    hex_id,
    is_elided,
    line_reading,
    lines,
    number_reader,
    outputs,
    record_driver_version,
    record_known,
)
from rocm_doctor.probes.read.result import Artifacts, ProbeResult

Gpus = dict[int, dict[str, Fact]]
Pair = tuple[str, str, Reading]


def _target(value: str) -> str | None:
    """The target; ROCm 6.1 and 6.2 print the stepping in decimal: `gfx9010` is gfx90a."""
    decimal = re.fullmatch(r"gfx(9[0-9])(1[0-5])", value)
    return f"gfx{decimal[1]}{int(decimal[2]):x}" if decimal else printed.gfx_target(value)


def _board(value: str) -> str | None:
    """A marketing name; None for two names printed over each other."""
    return None if "Card series:" in value else printed.product_name(value)


_bytes = number_reader(r"([1-9]\d{6,15})")
_count = number_reader(r"(\d{1,3})")
_watts = number_reader(r"([1-9]\d{0,3}(?:\.\d{1,3})?)")

KEYS: dict[str, tuple[str, Callable[[str], Plain | None]]] = {
    "gpu id": ("device_id", hex_id), "device id": ("device_id", hex_id), "device name": ("marketing_name", _board),
    "card series": ("marketing_name", _board), "gfx version": ("gfx", _target), "pci bus": ("pci_bdf", bdf), "node id": ("node", _count),
    "vram total memory (b)": ("vram_bytes", _bytes),
    "gtt total memory (b)": ("gtt_bytes", _bytes), "vram total used memory (b)": ("vram_used_bytes", _bytes),
    "max graphics package power (w)": ("power_cap_watts", _watts),
    "gpu memory allocated (vram%)": ("vram_used_percent", _count),
    "(topology) numa node": ("numa_node", _count),
}  # fmt: skip
"""Fact and reader of each key in lower case, the same in lists, JSON and CSV. ROCm 6.0 and 6.1 renamed them."""
_IDS = {**dict.fromkeys(("Card Model", "Card series", "Card Series", "Device Name"), "device_id"), "Card model": "subsystem_id"}
"""The fact behind an id under another key. `Card Model` holds the device id since ROCm 6.1 and the subsystem's id before (`Card model`).
A series without a name in pci.ids is printed as its id."""


def probe(artifacts: Artifacts) -> ProbeResult:
    """GPUs, driver.version, driver.loaded."""
    result = ProbeResult()
    for artifact in outputs(result, artifacts, "rocm-smi"):
        gpus: Gpus = {}
        for read in (_read_json, _read_csv, _read_text):
            read(result, artifact, gpus)
        for line in lines(artifact) if not gpus else ():
            if "river not initialized (amdgpu not found in modules)" in line.text or "ROCk module is NOT loaded" in line.text:
                result.record("driver.loaded", False, line_reading(artifact, line))
        for gpu in gpus.values():  # AMD gives an Instinct's board the number of its device
            number = gpu.get("subsystem_id")
            if number and "device_id" not in gpu and number.value in artifacts.gpu_names.accelerators:
                gpu["device_id"] = number
        if gpus or "No AMD GPUs specified" in artifact.text:
            result.listing(_is_complete(artifact, gpus)).gpus += [gpus[n] for n in sorted(gpus)]
    return result


def _is_complete(artifact: Artifact, gpus: Gpus) -> bool:
    """True if all GPUs are listed: the indexes have no gap, nothing was left out, and the end was printed."""
    cut_short = "ROCm System Management Interface" in artifact.text and "End of ROCm SMI Log" not in artifact.text
    return sorted(gpus) == list(range(len(gpus))) and not is_elided(artifact) and not cut_short


def _describe(result: ProbeResult, gpu: dict[str, Fact], pairs: Iterable[Pair]) -> None:
    """Record the facts of a GPU behind pairs of key and value."""
    for key, value, reading in pairs:
        fact, read = KEYS.get(key.strip().lower(), (None, printed.stated_value))
        if fact is not None and not (fact == "marketing_name" and fact in gpu):
            record_known(result, gpu, fact, read(value.strip()), reading)
        if (number := hex_id(value)) is not None and (other := _IDS.get(key)) and other not in gpu:
            record_known(result, gpu, other, number, reading)


def _describe_system(result: ProbeResult, pairs: Iterable[Pair]) -> None:
    for key, value, reading in pairs:
        if key == "Driver version":
            record_driver_version(result, value, reading)


def _read_json(result: ProbeResult, artifact: Artifact, gpus: Gpus) -> None:
    """`{"card0": {...}, "system": {"Driver version": ...}}`; all values are strings."""
    for root in roots(artifact.text):
        for card, keys in root.items() if isinstance(root, dict) else ():
            items = keys.items() if isinstance(keys, dict) else ()
            pairs = [(k, v, Reading(artifact.name, f"{card}.{k}", f'"{k}": "{v}"'[:200])) for k, v in items if isinstance(v, str)]
            if isinstance(keys, dict) and re.fullmatch(r"card\d+", card):
                _describe(result, gpus.setdefault(int(card[4:]), {}), pairs)
            elif card == "system":
                _describe_system(result, pairs)


def _read_csv(result: ProbeResult, artifact: Artifact, gpus: Gpus) -> None:
    """Tables that begin with `device,...`: `card0,...` for a GPU, `cardsystem,...` for shared values."""
    for row, line in csv_rows(artifact, "device", r"card(?:\d{1,3}|system),"):
        device = row.pop("device")
        pairs = [(key, value, line_reading(artifact, line)) for key, value in row.items()]
        if device == "cardsystem":
            _describe_system(result, pairs)
        else:
            _describe(result, gpus.setdefault(int(device[4:]), {}), pairs)


_CUT = 20
"""Length to which the table of ROCm 6.0 cuts a name."""
_ITEM = regex(r"GPU\[(\d{1,3})\]\s*:?(.*)")
_RELEASE = regex(r"\W*Driver version:\s+(\S+)$")
_ROW_61 = regex(r"\W{0,12}(\d{1,3})\s+(\d{1,3})\s+(0x[0-9a-fA-F]{4})(?:,(?:\s|$)|\s+\d+\s+(gfx\w+)\s)")
"""Since 6.1, with `--showhw` too: GPU, node, device id; there the target follows."""
_ROW_60 = regex(r"\W{0,12}(\d{1,3})\s+\[([^:\]]{1,20}?)\s*:\s*0x")
"""ROCm 6.0: `[model : revision]`; the model is the subsystem's id."""
_ROW_OLD = regex(r"\W{0,12}(\d{1,3})\s+(?:\d{1,3}\.\d+c|N/A|None|unknown)\s")
"""Up to ROCm 5.7: the index."""
_BUS = regex(r"\s([0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])(?:\s|$)")
_TAIL = regex(r"\s(?:([1-9]\d{0,3}(?:\.\d{1,3})?)W|N/A|Unsupported)\s+(\d{1,3})%\s+(?:\d{1,3}%|N/A|Unsupported)$")
"""The last columns of a table: PwrCap, VRAM%, GPU%."""


def _read_text(result: ProbeResult, artifact: Artifact, gpus: Gpus) -> None:
    """Lists, and tables, whose head says what a row is. In the layout of 6.0 a GPU's name is on the line below its row."""
    head, unnamed = "", None
    for line in lines(artifact):
        reading = line_reading(artifact, line)
        text = line.text.lstrip(" #>").rstrip(" #")
        if item := _ITEM.search(line.text):
            key, _, value = item[2].partition(":")
            _describe(result, gpus.setdefault(int(item[1]), {}), [(key.strip(), value.strip(), reading)] if line.whole else ())
        elif release := _RELEASE.match(line.text):
            if line.whole:
                record_driver_version(result, release[1], reading)
        elif text.startswith(("GPU ", "Device ")) and text.count(" ") > 2 and len(text.split()) > 3:
            head, unnamed = " ".join(text.split()), None
        else:
            named, unnamed = unnamed, None
            gpu, is_new = _row(result, gpus, head, line, reading)
            if gpu is not None:
                unnamed = gpu if is_new else None
                _read_load(result, gpu, head, line, reading)
            elif named is not None and line.whole and len(text) <= _CUT and "==" not in text:
                number = hex_id(text)
                record_known(
                    result,
                    named,
                    "device_id" if number else "marketing_name",
                    number or _board(text if len(text) < _CUT else ""),
                    reading,
                )


def _row(result: ProbeResult, gpus: Gpus, head: str, line: Line, reading: Reading) -> tuple[dict[str, Fact] | None, bool]:
    """The GPU of a row, and whether its name is on the next line."""
    if found := _ROW_61.match(line.text):
        gpu = gpus.setdefault(int(found[1]), {})
        record_known(result, gpu, "node", int(found[2]), reading)
        record_known(result, gpu, "device_id", hex_id(found[3]), reading)
        _describe(result, gpu, [("GFX Version", found[4], reading)] if found[4] else ())
        _read_bus(result, gpu, line, reading) if found[4] else None
        return gpu, False
    if found := _ROW_60.match(line.text):
        gpu = gpus.setdefault(int(found[1]), {})
        record_known(result, gpu, "subsystem_id", hex_id(found[2]), reading)
        return gpu, True
    found = _ROW_OLD.match(line.text) if head.startswith("GPU") and "Perf" in head else None
    return (gpus.setdefault(int(found[1]), {}), False) if found else (None, False)


def _read_bus(result: ProbeResult, gpu: dict[str, Fact], line: Line, reading: Reading) -> None:
    if found := _BUS.search(line.text):
        record_known(result, gpu, "pci_bdf", bdf(found[1]), reading)


def _read_load(result: ProbeResult, gpu: dict[str, Fact], head: str, line: Line, reading: Reading) -> None:
    """The power limit and the memory in use, of a row under `... PwrCap VRAM% GPU%`."""
    found = _TAIL.search(line.text.rstrip(" #>")) if head.endswith("PwrCap VRAM% GPU%") and line.whole else None
    if found:
        record_known(result, gpu, "power_cap_watts", round(float(found[1])) if found[1] else None, reading)
        record_known(result, gpu, "vram_used_percent", int(found[2]), reading)
