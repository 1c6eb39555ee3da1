"""The kernel log: the GPUs, the driver and the kernel that it names, from dmesg or the journal, complete or in part. Its failure lines are
rows of the matrix.

A GPU is listed by the PCI address before its messages. Messages of several GPUs mix, so a line without an address (a device id,
its memory) counts for a GPU only if the log names a single one.

    ==> kernel/log <==
    [    3.141592] amdgpu 0000:03:00.0: amdgpu: VRAM: 16368M 0x0000008000000000 - 0x00000083FEFFFFFF (16368M used)
    [    3.812001] kfd kfd: amdgpu: added device 1002:66a1

>>> print(probe(sample))
driver.loaded = True
gpu 0 pci_bdf = 0000:03:00.0
gpu 0 vram_bytes = 17163091968
gpu 0 device_id = 26273
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Fact, Value
from rocm_doctor.probes.kernel.host import record_command_line
from rocm_doctor.probes.read.document import Document, Line
from rocm_doctor.probes.read.result import Artifacts, ProbeResult
from rocm_doctor.probes.read.scan import documents

MOST = 4000
"""Lines read: a crash loop fills a log with the same four."""
_ADDRESS = regex(r"\bamdgpu ([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2})(\.[0-7])?: ")
_DEVICE_IDS = (
    regex(r"initializing kernel modesetting \([\w ]{1,40} 0x1002:0x([0-9A-Fa-f]{4}) "),
    regex(r"added device 1002:([0-9a-f]{4})\b"),
    regex(r"Topology: Add (?:APU|dGPU) node \[0x([0-9a-f]{4}):0x1002\]"),
)
_UNITS = regex(r"\bactive_cu_number (\d{1,3})\b")
_MEMORY = regex(r"(?:HMM registered (\d{1,7})MB device memory|VRAM: (\d{1,7})M 0x)")
_OLD_APU = regex(r"Topology: Add APU node \[0x([0-9a-f]{4}):0x1002\]")
_DKMS = regex(r"\[drm\] amdgpu version: (\d+\.\d+\.\d+)")
_RELEASE = regex(r"\bLinux version (\d+\.\d+\.\d+[\w.+~-]*)")
_COMMAND_LINE = regex(r"\b(?:Kernel c|C)ommand line: (.+)$")


_NEEDLES = ("amdgpu", "kfd", "[drm", "linux version", "ommand line")


def probe(artifacts: Artifacts) -> ProbeResult:
    """GPUs by PCI address, driver.{version,loaded}, kernel and its command line, from each log."""
    result = ProbeResult()
    for document in documents(artifacts, "dmesg", "kernel/log"):
        lines = [line for line in document.find_lines(*_NEEDLES, most=MOST) if _is_kernels(line)]
        _record_system(result, document, lines)
        _record_gpus(result, document, lines)
    return result


def _is_kernels(line: Line) -> bool:
    """True if the kernel wrote the line: it has the kernel's timestamp or the driver's prefix."""
    start = line.text.lstrip("> `#|")
    return bool(re.match(r"\[\s*\d+\.\d+\]|\[drm|amdgpu |amdgpu: |kfd kfd|kernel:", start)) or " kernel: " in start[:90]


def _record_system(result: ProbeResult, document: Document, lines: list[Line]) -> None:
    for line in lines:
        for pattern, fact in ((_DKMS, "driver.version"), (_RELEASE, "kernel")):
            found = pattern.search(line.text)
            if found:
                result.record(fact, found.group(1), document.reading(line))
        if "kernel modesetting" in line.text or "added device 1002" in line.text:
            result.record("driver.loaded", True, document.reading(line))
        command = _COMMAND_LINE.search(line.text)
        if command:
            record_command_line(result, command.group(1).strip(), document.reading(line))


def _record_gpus(result: ProbeResult, document: Document, lines: list[Line]) -> None:
    addresses: dict[str, Line] = {}
    for line in lines:
        if found := _ADDRESS.search(line.text):
            addresses.setdefault(found.group(1) + (found.group(2) or ".0"), line)
    devices = dict(_device_ids(lines))
    if not addresses and not devices:
        return
    listing = result.listing(complete=False)
    for address, line in addresses.items():
        gpu = listing.gpu()
        result.record("pci_bdf", address, document.reading(line), gpu)
        own = lines if len(addresses) == 1 and len(devices) <= 1 else [each for each in lines if f"amdgpu {address}" in each.text]
        _describe(result, document, own, gpu)
    if not addresses:
        for device, line in devices.items():
            gpu = listing.gpu()
            result.record("device_id", device, document.reading(line), gpu)
            _describe(result, document, lines if len(devices) == 1 else [], gpu)


def _device_ids(lines: list[Line]) -> Iterator[tuple[int, Line]]:
    seen: set[int] = set()
    for line in lines:
        for pattern in _DEVICE_IDS:
            found = pattern.search(line.text)
            if found and int(found.group(1), 16) not in seen:
                seen.add(int(found.group(1), 16))
                yield int(found.group(1), 16), line


def _describe(result: ProbeResult, document: Document, lines: list[Line], gpu: dict[str, Fact]) -> None:
    """Facts of one GPU from the lines about it."""
    for line in lines:
        for key, value in _line_facts(line):
            result.record(key, value, document.reading(line), gpu)


def _line_facts(line: Line) -> Iterator[tuple[str, Value]]:
    for pattern in _DEVICE_IDS:
        if found := pattern.search(line.text):
            yield "device_id", int(found.group(1), 16)
    if _OLD_APU.search(line.text):
        yield "is_apu", True
    if found := _UNITS.search(line.text):
        yield "compute_units", int(found.group(1))
    if found := _MEMORY.search(line.text):
        yield "vram_bytes", int(found.group(1) or found.group(2)) << 20
