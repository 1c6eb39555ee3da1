"""rocm-smi's own layouts: `GPU[0] : key : value` lists and four generations of tables."""

from __future__ import annotations

import re

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Artifact, Fact, Reading
from rocm_doctor.probes.read.printed import Line, apart, bdf, hex_id, name, put, put_release, quote
from rocm_doctor.probes.read.result import ProbeResult
from rocm_doctor.probes.tools.rocm_smi_keys import describe

_CUT = 20
"""Length to which the table of ROCm 6.0 cuts a name."""
_NEXT = regex(r"\s(?=GPU\[\d{1,3}\]|Driver version:|={4})")
_ITEM = regex(r"GPU\[(\d{1,3})\]\s*:?(.*)")
_RELEASE = regex(r"\W*Driver version:\s+(\S+)$")
_ROW_61 = regex(r"\W{0,12}(\d{1,3})\s+(\d{1,3})\s+(0x[0-9a-fA-F]{4}),(?:\s|$)")
_ROW_60 = regex(r"\W{0,12}(\d{1,3})\s+\[([^:\]]{1,20}?)\s*:\s*0x")
_ROW_HW = regex(r"\W{0,12}(\d{1,3})\s+(\d{1,3})\s+(0x[0-9a-fA-F]{4})\s+\d+\s+(gfx\w+)\s")
_BUS = regex(r"\s([0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])(?:\s|$)")
_VBIOS = regex(r"\s(\d{3}-[\w.-]{4,30})\s")
_ROW_DID = regex(r"\W{0,12}(\d{1,3})\s+((?:0x)?[0-9a-fA-F]{4})\s")
_ROW_OLD = regex(r"\W{0,12}(\d{1,3})\s+(?:\d{1,3}\.\d+c|N/A|None|unknown)\s")

_TAIL = regex(r"\s(?:([1-9]\d{0,3}(?:\.\d{1,3})?)W|N/A|Unsupported)\s+(\d{1,3})%\s+(?:(\d{1,3})%|N/A|Unsupported)$")
"""The last columns of a table: PwrCap, VRAM%, GPU%."""
_NOW = (
    (regex(r"\s(\d{1,3}\.\d)W\s"), "power_watts"),
    (regex(r"\s([1-9]\d{0,3})M[Hh]z\s+\d{1,4}M[Hh]z\s"), "clock_mhz"),
    (regex(r"\s(\d{1,3}\.\d) ?°?[cC]\s"), "temperature"),
)
"""The power, the shader clock (the first) and the temperature of such a row."""
_ROW_LINK = regex(r"\W{0,12}GPU(\d{1,3})\s+(?!GPU)\S")

Gpus = dict[int, dict[str, Fact]]


class _Table:
    """The head of the current table, and in the layout of 6.0 the GPU that the next line names."""

    head = ""
    unnamed: dict[str, Fact] | None = None


def read_text(result: ProbeResult, artifact: Artifact, gpus: Gpus) -> None:
    """Add the facts of the lines to the GPUs by index."""
    table = _Table()
    for line in apart(artifact, _NEXT):
        reading = quote(artifact, line)
        if item := _ITEM.search(line.text):
            _item(result, gpus, item, line, reading)
        elif release := _RELEASE.match(line.text):
            if line.whole:
                put_release(result, release.group(1), reading)
        else:
            _row(result, gpus, table, line, reading)


def _item(result: ProbeResult, gpus: Gpus, item: re.Match[str], line: Line, reading: Reading) -> None:
    gpu = gpus.setdefault(int(item.group(1)), {})
    key, _, value = item.group(2).partition(":")
    if line.whole:
        describe(result, gpu, [(key.strip(), value.strip(), reading)])


def _row(result: ProbeResult, gpus: Gpus, table: _Table, line: Line, reading: Reading) -> None:
    """Read one line of a table: its head, its end, a GPU, or a GPU's second line."""
    words = line.text.lstrip(" #>").rstrip(" #").split() or [""]
    named, table.unnamed = table.unnamed, None
    if words[0] in ("GPU", "Device") and len(words) > 3:
        table.head = " ".join(words)
    elif found := _ROW_HW.match(line.text):
        _hardware(result, gpus, found, line, reading)
    elif found := _ROW_61.match(line.text):
        gpu = gpus.setdefault(int(found.group(1)), {})
        put(result, gpu, "node", int(found.group(2)), reading)
        put(result, gpu, "device_id", hex_id(found.group(3)), reading)
        _power_and_memory(result, gpu, table.head, line, reading)
    elif found := _ROW_60.match(line.text):
        table.unnamed = _model(result, gpus, found, reading)
        _power_and_memory(result, table.unnamed, table.head, line, reading)
    elif found := _ROW_LINK.match(line.text):
        gpus.setdefault(int(found.group(1)), {})
    elif named is not None and line.whole and len(line.text.lstrip(" #>").rstrip(" #")) <= _CUT and "==" not in line.text:
        _second_line(result, named, line, reading)
    elif table.head.startswith("GPU"):
        _old_row(result, gpus, table.head, line, reading)


def _hardware(result: ProbeResult, gpus: Gpus, found: re.Match[str], line: Line, reading: Reading) -> None:
    """`--showhw` since 6.1: GPU, NODE, DID, GUID, GFX VER, ..., BUS, PARTITION ID."""
    gpu = gpus.setdefault(int(found.group(1)), {})
    put(result, gpu, "node", int(found.group(2)), reading)
    put(result, gpu, "device_id", hex_id(found.group(3)), reading)
    describe(result, gpu, [("GFX Version", found.group(4), reading)])
    _bus_and_vbios(result, gpu, line, reading)


def _bus_and_vbios(result: ProbeResult, gpu: dict[str, Fact], line: Line, reading: Reading) -> None:
    if bus := _BUS.search(line.text):
        put(result, gpu, "pci_bdf", bdf(bus.group(1)), reading)
    if vbios := _VBIOS.search(line.text):
        put(result, gpu, "vbios", vbios.group(1), reading)


def _model(result: ProbeResult, gpus: Gpus, found: re.Match[str], reading: Reading) -> dict[str, Fact]:
    """ROCm 6.0: `[model : revision]`; the model is the subsystem's id."""
    gpu = gpus.setdefault(int(found.group(1)), {})
    put(result, gpu, "subsystem_id", hex_id(found.group(2)), reading)
    return gpu


def _second_line(result: ProbeResult, gpu: dict[str, Fact], line: Line, reading: Reading) -> None:
    """ROCm 6.0: the name under it, cut at 20 characters: only a shorter one is complete. Without a name it is the device id."""
    text = line.text.lstrip(" #>").rstrip(" #")
    if hex_id(text) is not None:
        put(result, gpu, "device_id", hex_id(text), reading)
    elif len(text) < _CUT:
        put(result, gpu, "marketing_name", name(text), reading)


def _old_row(result: ProbeResult, gpus: Gpus, head: str, line: Line, reading: Reading) -> None:
    """Up to ROCm 5.7: the index, and in 1.6 and in `--showhw` the device id."""
    if head.startswith("GPU DID"):
        if found := _ROW_DID.match(line.text):
            gpu = gpus.setdefault(int(found.group(1)), {})
            put(result, gpu, "device_id", hex_id(found.group(2)), reading)
            _bus_and_vbios(result, gpu, line, reading)
    elif "Perf" in head and (found := _ROW_OLD.match(line.text)):
        _power_and_memory(result, gpus.setdefault(int(found.group(1)), {}), head, line, reading)


def _power_and_memory(result: ProbeResult, gpu: dict[str, Fact], head: str, line: Line, reading: Reading) -> None:
    """The power limit, and the part of the memory in use, of a row under `... PwrCap VRAM% GPU%`."""
    found = _TAIL.search(line.text.rstrip(" #>")) if head.endswith("PwrCap VRAM% GPU%") and line.whole else None
    if found:
        put(result, gpu, "power_cap_watts", round(float(found.group(1))) if found.group(1) else None, reading)
        put(result, gpu, "vram_used_percent", int(found.group(2)), reading)
        put(result, gpu, "busy_percent", int(found.group(3)) if found.group(3) else None, reading)
        for pattern, fact in _NOW:
            if now := pattern.search(line.text):
                put(result, gpu, fact, round(float(now.group(1))), reading)
