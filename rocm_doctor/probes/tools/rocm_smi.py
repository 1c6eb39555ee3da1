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
from collections.abc import Iterator
from itertools import chain

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Artifact
from rocm_doctor.probes.read import printed
from rocm_doctor.probes.read.pairs import Gpus, Keys, Pair, csv_pairs, json_pairs, record_pair
from rocm_doctor.probes.read.printed import (
    OutputLine,
    bdf,
    count,
    hex_id,
    is_elided,
    lines,
    outputs,
    record_driver_version,
    watts,
    whole_number,
)
from rocm_doctor.probes.read.result import Artifacts, ProbeResult


def _target(value: str) -> str | None:
    """The target; ROCm 6.1 and 6.2 print the stepping in decimal: `gfx9010` is gfx90a."""
    decimal = re.fullmatch(r"gfx(9[0-9])(1[0-5])", value)
    return f"gfx{decimal[1]}{int(decimal[2]):x}" if decimal else printed.gfx_target(value)


def _board(value: str) -> str | None:
    """A marketing name; None for two names printed over each other."""
    return None if "Card series:" in value else printed.product_name(value)


KEYS: Keys = {
    "gpu id": ("device_id", hex_id), "device id": ("device_id", hex_id), "device name": ("marketing_name", _board),
    "card series": ("marketing_name", _board), "gfx version": ("gfx", _target), "pci bus": ("pci_bdf", bdf),
    "node id": ("node", whole_number), "vram total memory (b)": ("vram_bytes", count), "gtt total memory (b)": ("gtt_bytes", count),
    "vram total used memory (b)": ("vram_used_bytes", count), "max graphics package power (w)": ("power_cap_watts", watts),
    "gpu memory allocated (vram%)": ("vram_used_percent", whole_number), "(topology) numa node": ("numa_node", whole_number),
}  # fmt: skip
"""Fact and reader of each key in lower case, the same in lists, tables, JSON and CSV. ROCm 6.0 and 6.1 renamed them."""
_IDS = {**dict.fromkeys(("Card Model", "Card series", "Card Series", "Device Name"), "device_id"), "Card model": "subsystem_id"}
"""The fact behind an id under another key. `Card Model` holds the device id since ROCm 6.1 and the subsystem's id before (`Card model`).
A series without a name in pci.ids is printed as its id."""


def probe(artifacts: Artifacts) -> ProbeResult:
    """GPUs, driver.version and driver.loaded from the output of rocm-smi: JSON, CSV or text."""
    result = ProbeResult()
    for artifact in outputs(result, artifacts, "rocm-smi"):
        gpus: Gpus = {}
        for pair in chain(json_pairs(artifact), csv_pairs(artifact, "device"), _text_pairs(artifact)):
            _record(result, gpus, pair)
        for line in lines(artifact) if not gpus else ():
            if "river not initialized (amdgpu not found in modules)" in line.text or "ROCk module is NOT loaded" in line.text:
                result.record("driver.loaded", False, line.reading)
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


def _record(result: ProbeResult, gpus: Gpus, pair: Pair) -> None:
    """Record the fact behind a pair: of several names the first, an id only where no other key has it."""
    if pair.gpu is None:
        if pair.key == "Driver version":
            record_driver_version(result, pair.value, pair.reading)
        return
    gpu = gpus.setdefault(pair.gpu, {})
    if "marketing_name" not in gpu or KEYS.get(pair.key.lower(), ("",))[0] != "marketing_name":
        record_pair(result, gpus, pair, KEYS)
    fact, number = _IDS.get(pair.key), hex_id(pair.value)
    if fact and number and fact not in gpu:
        result.record(fact, number, pair.reading, gpu)


_CUT = 20
"""Length to which the table of ROCm 6.0 cuts a name."""
_ITEM = regex(r"GPU\[(\d{1,3})\]\s*:?([^:]*):?(.*)")
_RELEASE = regex(r"\W*Driver version:\s+(\S+)$")
_ROW_61 = regex(
    r"\W{0,12}(\d{1,3})\s+(\d{1,3})\s+(0x[0-9a-fA-F]{4})"
    r"(?:,(?:\s|$)|\s+\d+\s+(gfx\w+)\s(?:.*\s([0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])(?:\s|$))?)"
)
"""Since 6.1, with `--showhw` too: GPU, node, device id; there the target and the address follow."""
_ROW_60 = regex(r"\W{0,12}(\d{1,3})\s+\[([^:\]]{1,20}?)\s*:\s*0x")
"""ROCm 6.0: `[model : revision]`; the model is the subsystem's id."""
_ROW_OLD = regex(r"\W{0,12}(\d{1,3})\s+(?:\d{1,3}\.\d+c|N/A|None|unknown)\s")
"""Up to ROCm 5.7: the index."""
_TAIL = regex(r"\s(?:([1-9]\d{0,3}(?:\.\d{1,3})?)W|N/A|Unsupported)\s+(\d{1,3})%\s+(?:\d{1,3}%|N/A|Unsupported)$")
"""The last columns of a table: PwrCap, VRAM%, GPU%."""


def _text_pairs(artifact: Artifact) -> Iterator[Pair]:
    """Lists, and tables, whose head says what a row is. In the layout of 6.0 a GPU's name is on the line below its row."""
    head, unnamed = "", None
    for line in lines(artifact):
        text = line.text.lstrip(" #>").rstrip(" #")
        if item := _ITEM.search(line.text):
            yield Pair(int(item[1]), item[2].strip(), item[3].strip() if line.whole else "", line.reading)
        elif release := _RELEASE.match(line.text):
            yield Pair(None, "Driver version" if line.whole else "", release[1], line.reading)
        elif text.startswith(("GPU ", "Device ")) and len(text.split()) > 3:
            head, unnamed = " ".join(text.split()), None
        else:
            before, unnamed = unnamed, None
            row = dict(_row(head, line))
            if row:
                gpu = int(row["index"])
                unnamed = gpu if "Card model" in row else None
                yield from (Pair(gpu, key, value, line.reading) for key, value in row.items())
            elif before is not None and line.whole and len(text) <= _CUT and "==" not in text:
                key = "Device ID" if hex_id(text) else "Card Series"
                yield Pair(before, key, text if len(text) < _CUT or key == "Device ID" else "", line.reading)


def _row(head: str, line: OutputLine) -> Iterator[tuple[str, str]]:
    """(key, cell) for each cell of a table's row, its `index` first; none if the line is not a row."""
    keys: tuple[str, ...] = ()
    if found := _ROW_61.match(line.text):
        keys = ("index", "Node ID", "Device ID", "GFX Version", "PCI Bus")
    elif found := _ROW_60.match(line.text):
        keys = ("index", "Card model")
    elif found := _ROW_OLD.match(line.text) if head.startswith("GPU") and "Perf" in head else None:
        keys = ("index",)
    if found:
        yield from ((key, cell or "") for key, cell in zip(keys, found.groups()))
        if line.whole and head.endswith("PwrCap VRAM% GPU%") and (load := _TAIL.search(line.text.rstrip(" #>"))):
            yield "Max Graphics Package Power (W)", load[1] or ""
            yield "GPU Memory Allocated (VRAM%)", load[2]
