"""The GPUs that programs print at start-up: ComfyUI, llama.cpp, transformers, unsloth, SGLang, PyTorch's own report, clinfo, small benchmarks.

    ==> paste/text <==
    GPU 0,1: AMD Instinct MI355X

>>> print(probe(sample))
gpu 0 marketing_name = AMD Instinct MI355X
gpu 1 marketing_name = AMD Instinct MI355X
"""

from __future__ import annotations

import re

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Reading
from rocm_doctor.probes.read.document import Document
from rocm_doctor.probes.read.result import Artifacts, ProbeResult

_GFX = r"(?P<gfx>gfx[0-9a-f]{3,5})"
LINES = tuple((needle, regex(pattern, re.I)) for needle, pattern in (
    ("device: cuda:", r"^.{0,60}?Device: cuda:(?P<index>\d+) (?P<name>[^:\n]*[^:\s])(?: : \w+)?\s*$"),
    ("device ", rf"^.{{0,40}}?Device (?P<index>\d+): (?P<name>[^,\n]+), (?:{_GFX}|compute capability)(?:.*\bVRAM: (?P<mib>\d+) MiB)?"),
    ("device ", r"^\s*Device (?P<index>\d+) name:(?P<name>.*)$"),
    ("gpu ", r"^GPU (?P<index>\d+(?:,\d+){0,63}): (?P<name>[A-Za-z][^\n(]*)"),
    ("gpu models", r"GPU models and configuration:\s*(?:GPU 0: )?(?P<name>(?:AMD|Radeon|Device)(?:\((?:TM|R)\)|[^(:\n]){0,80}?)\s*"
        rf"(?:\({_GFX}|\((?!TM|R\))|NoGCNArch|$)"),
    ("board name", r"^\s*(?:Device )?Board name(?: \(AMD\))?:?\s+(?P<name>\S.*)$"),
    ("gpu type:", r"^[-*\s]*GPU type:\s*(?P<name>\S.*)$"),
    ("num gpus =", r"^\W{0,30}(?:GPU: )?(?P<name>[A-Za-z][^\n]*?)\. Num GPUs = (?P<times>\d{1,2})\.(?: Max memory: (?P<gb>\d{1,5}\.\d{1,6}) GB)?"),
    ("device:", r"^\s*Device:\s+(?P<name>[A-Za-z][^:\n]*)$"),
))  # fmt: skip
"""A word of the line in lower case, and a pattern with the group `name`; `index`: the GPU's, or several; `times`: how many there are."""
_NO_GPU = regex(
    r"(?:AMD )?(?:Ryzen|EPYC|Threadripper|Athlon|FX)\b|(?:\d+th Gen )?Intel|.*\bProcessor$|.*\bCPU\b|cpu$|NVIDIA|GeForce|mps$|cuda(?::\d)?$",
    re.I,
)
_ARCH = regex(r"AMD arch: " + _GFX)
_VRAM = regex(r"Total VRAM (\d{1,9}) MB")


def probe(artifacts: Artifacts) -> ProbeResult:
    """A listing for each kind of line: names, targets, and memory in bytes."""
    result = ProbeResult()
    for document in artifacts.texts():
        for needle, pattern in LINES:
            seen: dict[str, tuple[re.Match[str], Reading]] = {}
            for line in document.find_lines(needle, most=80):
                found = pattern.search(line.text)
                if found and not _NO_GPU.match(found["name"].strip()):
                    key = found.groupdict().get("index") or found["name"].strip()
                    seen.setdefault(key, (found, document.reading(line)))
            if seen:
                _record_listing(result, document, needle, list(seen.values()))
    return result


def _record_listing(result: ProbeResult, document: Document, needle: str, seen: list[tuple[re.Match[str], Reading]]) -> None:
    complete = needle != "device: cuda:" and any({"index", "times"} & found.groupdict().keys() for found, _ in seen)
    listing = result.listing(complete)
    for found, reading in seen:
        groups = found.groupdict()
        for _ in range(min(64, int(groups.get("times") or groups.get("index", "").count(",") + 1))):
            gpu = listing.gpu()
            if name := found["name"].strip():
                result.record("marketing_name", name, reading, gpu)
            if device := re.fullmatch(r"Device ([0-9a-f]{4})", name):
                result.record("device_id", int(device[1], 16), reading, gpu)
            if gfx := groups.get("gfx"):
                result.record("gfx", gfx.lower(), reading, gpu)
            if mib := groups.get("mib"):
                result.record("vram_bytes", int(mib[:9]) * 2**20, reading, gpu)
            elif gb := groups.get("gb"):
                result.record("vram_bytes", round(float(gb) * 2**30), reading, gpu)
    if needle == "device: cuda:" and len(listing.gpus) == 1:  # ComfyUI prints the target that the runtime reports, and the memory
        for line in document.find_lines("amd arch: ", "total vram ", most=4):
            if arch := _ARCH.search(line.text):
                result.record("gfx", arch["gfx"], document.reading(line), listing.gpus[0])
                result.record("gfx_reported", arch["gfx"], document.reading(line), listing.gpus[0])
            elif memory := _VRAM.search(line.text):
                result.record("vram_bytes", int(memory[1]) * 2**20, document.reading(line), listing.gpus[0])
