"""The GPUs that programs print at start-up: ComfyUI, llama.cpp, transformers, unsloth, SGLang, small benchmarks.

Lines as printed by ComfyUI comfy/model_management.py, ggml ggml-cuda.cu, unsloth models/_utils.py, sglang check_env.py.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Fact
from rocm_doctor.probes.read.document import Document, Line
from rocm_doctor.probes.read.result import ProbeResult

MIB = 1024**2
_CPU = regex(
    r"(?:AMD )?(?:Ryzen|EPYC|Threadripper|Athlon|FX)\b|(?:\d+th Gen )?Intel|.*\bProcessor$|.*\bCPU\b|cpu$|NVIDIA|GeForce"
    r"|mps$|cuda(?::\d)?$",
    re.I,
)
_GFX = r"gfx[0-9a-f]{3,5}"


class Names(NamedTuple):
    """A line that names a GPU: a word to search for (lower case), and a pattern with `name` and optional groups."""

    needle: str
    pattern: re.Pattern[str]


def _names(needle: str, pattern: str) -> Names:
    return Names(needle, regex(pattern, re.I))


NAMES = (
    _names("device: cuda:", r"^.{0,60}?Device: cuda:(?P<index>\d+) (?P<name>[^:\n]+?)(?: : \w+)?\s*$"),
    _names(
        "device ",
        rf"^.{{0,40}}?Device (?P<index>\d+): (?P<name>[^,\n]+), (?:(?P<gfx>{_GFX})"
        rf"|compute capability)(?:.*\bVRAM: (?P<mib>\d+) MiB)?",
    ),
    _names("device ", r"^\s*Device (?P<index>\d+) name:(?P<name>.*)$"),
    _names("gpu ", r"^GPU (?P<count>\d+(?:,\d+){0,63}): (?P<name>[A-Za-z][^\n]*)$"),
    _names("gpu type:", r"^[-*\s]*GPU type:\s*(?P<name>\S.*)$"),
    _names(
        "num gpus =",
        r"^\W{0,30}(?:GPU: )?(?P<name>[A-Za-z][^\n]*?)\. Num GPUs = (?P<times>\d+)\.(?: Max memory: (?P<gb>[\d.]+) GB)?",
    ),
    _names("device:", r"^\s*Device:\s+(?P<name>[A-Za-z][^:\n]*)$"),
    _names("torch device:", r"Using torch device: (?P<name>[A-Za-z].*)$"),
    _names("device=", r"\bdevice=(?P<name>(?:AMD|Radeon)[^=\n]*?) n=(?P<times>\d+)"),
)
_ARCH = regex(rf"AMD arch: ({_GFX})")
_VRAM = regex(r"Total VRAM (\d+) MB")


def record_gpus(result: ProbeResult, document: Document) -> None:
    """One listing for each kind of line that names GPUs, with the names and the facts beside them."""
    for row in NAMES:
        seen: dict[str, tuple[Line, re.Match[str]]] = {}
        for line in document.find_lines(row.needle, most=80):
            found = row.pattern.search(line.text)
            if found and not _CPU.match(found["name"].strip()):
                seen.setdefault(_group(found, "index") or found["name"].strip(), (line, found))
        if seen:
            complete = any(_group(found, key) for _, found in seen.values() for key in ("index", "count", "times"))
            listing = result.listing(complete and row.needle != "device: cuda:")
            for line, found in seen.values():
                for _ in range(_times(found)):
                    _describe(result, document, line, found, listing.gpu())
            if row.needle == "device: cuda:" and len(listing.gpus) == 1:
                _record_comfyui(result, document, listing.gpus[0])


def _group(found: re.Match[str], name: str) -> str | None:
    return found.groupdict().get(name)


def _times(found: re.Match[str]) -> int:
    """The number of GPUs that one line means (64 at most)."""
    count, times = _group(found, "count"), _group(found, "times")
    return min(64, count.count(",") + 1 if count else int(times[:3]) if times else 1)


def _describe(result: ProbeResult, document: Document, line: Line, found: re.Match[str], gpu: dict[str, Fact]) -> None:
    reading = document.reading(line)
    name, gfx, mib, gb = found["name"].strip(), _group(found, "gfx"), _group(found, "mib"), _group(found, "gb")
    if name:
        result.record("marketing_name", name, reading, gpu)
    if gfx:
        result.record("gfx", gfx.lower(), reading, gpu)
    if mib:
        result.record("vram_bytes", int(mib[:9]) * MIB, reading, gpu)
    elif gb and re.fullmatch(r"\d{1,5}(?:\.\d{1,6})?", gb):
        result.record("vram_bytes", round(float(gb) * 1024**3), reading, gpu)


def _record_comfyui(result: ProbeResult, document: Document, gpu: dict[str, Fact]) -> None:
    """Memory and architecture that ComfyUI prints on separate lines above the name of the device in use."""
    for line in document.find_lines("amd arch: ", most=1):
        if found := _ARCH.search(line.text):
            result.record("gfx", found.group(1), document.reading(line), gpu)
            result.record("gfx_reported", found.group(1), document.reading(line), gpu)
    for line in document.find_lines("total vram ", most=1):
        if found := _VRAM.search(line.text):
            result.record("vram_bytes", int(found.group(1)[:9]) * MIB, document.reading(line), gpu)
