"""The kernel log: the GPUs, the driver and the kernel that it names, from dmesg or the journal, complete or in part. Its failure lines are
rows of the matrix.

A GPU is listed by the PCI address before its messages. Messages of several GPUs mix, so a line without an address (a device id,
its memory) counts for a GPU only if the log names a single one.

    ==> kernel/log <==
    [    3.141592] amdgpu 0000:03:00.0: amdgpu: VRAM: 16368M 0x0000008000000000 - 0x00000083FEFFFFFF (16368M used)
    [    3.812001] kfd kfd: amdgpu: added device 1002:66a1

>>> print(probe(sample))
driver.loaded = yes
gpu 0 pci_bdf = 0000:03:00.0
gpu 0 vram_bytes = 17163091968
gpu 0 device_id = 26273
"""

from __future__ import annotations

import re

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Reading
from rocm_doctor.probes.kernel.host import record_command_line
from rocm_doctor.probes.read.document import Document, Line
from rocm_doctor.probes.read.result import Artifacts, ProbeResult

MOST = 4000
"""Lines read: a crash loop fills a log with the same four."""
_ADDRESS = regex(r"\bamdgpu ([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2})(\.[0-7])?: ")
_DEVICE_ID = regex(
    r"(?:initializing kernel modesetting \([\w ]{1,40} 0x1002:0x|added device 1002:|Topology: Add (?:APU|dGPU) node \[0x(?=[0-9a-f]{4}:0x1002\]))"
    r"([0-9a-f]{4})\b",
    re.I,
)
_OF_GPU = (
    ("device_id", _DEVICE_ID, lambda text: int(text, 16)),
    ("is_apu", regex(r"Topology: Add (APU) node \[0x[0-9a-f]{4}:0x1002\]"), lambda _: True),
    ("compute_units", regex(r"\bactive_cu_number (\d{1,3})\b"), int),
    ("vram_bytes", regex(r"(?:HMM registered |VRAM: )(\d{1,7})MB? (?:device memory|0x)"), lambda text: int(text) << 20),
)
"""Fact, pattern with its text as group 1, and reader."""
_OF_SYSTEM = (
    ("driver.version", regex(r"\[drm\] amdgpu version: (\d+\.\d+\.\d+)")),
    ("kernel", regex(r"\bLinux version (\d+\.\d+\.\d+[\w.+~-]*)")),
)
_COMMAND_LINE = regex(r"\b(?:Kernel c|C)ommand line: (.+)$")
_NEEDLES = ("amdgpu", "kfd", "[drm", "linux version", "ommand line")


def probe(artifacts: Artifacts) -> ProbeResult:
    """GPUs by PCI address, driver.{version,loaded}, kernel and its command line, from each log."""
    result = ProbeResult()
    for document in artifacts.texts("paste/*-dmesg", "kernel/log") or artifacts.texts():
        lines = [line for line in document.find_lines(*_NEEDLES, most=MOST) if _is_kernels(line)]
        for line in lines:
            _record_system(result, line, document.reading(line))
        _record_gpus(result, document, lines)
    return result


def _is_kernels(line: Line) -> bool:
    """True if the kernel wrote the line: it has the kernel's timestamp or the driver's prefix."""
    start = line.text.lstrip("> `#|")
    return bool(re.match(r"\[\s*\d+\.\d+\]|\[drm|amdgpu |amdgpu: |kfd kfd|kernel:", start)) or " kernel: " in start[:90]


def _record_system(result: ProbeResult, line: Line, reading: Reading) -> None:
    for fact, pattern in _OF_SYSTEM:
        if found := pattern.search(line.text):
            result.record(fact, found[1], reading)
    if "kernel modesetting" in line.text or "added device 1002" in line.text:
        result.record("driver.loaded", True, reading)
    if command := _COMMAND_LINE.search(line.text):
        record_command_line(result, command[1].strip(), reading)


def _record_gpus(result: ProbeResult, document: Document, lines: list[Line]) -> None:
    addresses: dict[str, Line] = {}
    devices: dict[str, Line] = {}
    for line in lines:
        if at := _ADDRESS.search(line.text):
            addresses.setdefault(at[1] + (at[2] or ".0"), line)
        if device := _DEVICE_ID.search(line.text):
            devices.setdefault(device[1].lower(), line)
    single = len(addresses) <= 1 and len(devices) <= 1
    if not addresses and not devices:
        return
    listing = result.listing(complete=False)
    for key, line in (addresses or devices).items():
        gpu = listing.gpu()
        if addresses:
            result.record("pci_bdf", key, document.reading(line), gpu)
        own = lines if single else [each for each in lines if f"amdgpu {key}" in each.text] if addresses else [line]
        for each in own:
            for fact, pattern, read in _OF_GPU:
                if found := pattern.search(each.text):
                    result.record(fact, read(found[1]), document.reading(each), gpu)
