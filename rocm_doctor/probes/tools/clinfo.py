"""clinfo, which is two programs: AMD's (`  Board name:` and tabs) and Khronos' (two columns, `Device Board Name (AMD)`).

    ==> cmd/clinfo <==
      Platform Name                                   AMD Accelerated Parallel Processing
    Number of devices                                 1
      Device Name                                     gfx1030
      Device Board Name (AMD)                         AMD Radeon RX 6800 XT
      Max compute units                               36
      Global memory size                              17163091968 (15.98GiB)

>>> print(probe(sample))
gpu 0 gfx = gfx1030
gpu 0 marketing_name = AMD Radeon RX 6800 XT
gpu 0 opencl_bytes = 17163091968
gpu 0 vram_bytes = 17163091968
"""

from __future__ import annotations

import re

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Artifact, Fact, Reading
from rocm_doctor.probes.read.printed import (
    bdf,
    gfx_target,
    hex_id,
    is_elided,
    line_reading,
    lines,
    outputs,
    product_name,
    record_known,
)
from rocm_doctor.probes.read.result import Artifacts, ProbeResult

_PAIR = regex(r"[ \t#>]*([A-Za-z][\w /.()-]{1,48}?)(?::\s*|\s{2,}|$)(.*)$")
_LISTED = regex(r"[\s#>|`+-]*(Device|Platform) #\d{1,3}: (.+)$")
_TOPOLOGY = regex(r"PCI\[ B#(\d{1,3}), D#(\d{1,2}), F#([0-7]) \]")
_ALIASES = {
    "Device Type": "type",
    "Device Board Name (AMD)": "board",
    "Board name": "board",
    "Device Topology (AMD)": "topology",
    "Device Topology": "topology",
    "Device Name": "name",
    "Device": "listed",
    "Name": "name",
    "Max compute units": "units",
    "Wavefront width (AMD)": "wavefront",
    "Wavefront width": "wavefront",
    "Global memory size": "memory",
    "Unified memory for Host and Device": "unified",
    "Device PCI-e ID (AMD)": "id",
    "Device Vendor": "vendor",
    "Vendor": "vendor",
}
_NO_WGP = ("vega", "instinct", "fiji", "ellesmere", "polaris", "hawaii", "radeon vii")
"""GCN and CDNA boards, where OpenCL counts compute units; on RDNA it counts WGPs, half as many."""
_APU_NAMES = regex(
    r"ryzen|mobile gfx|radeon(?:\(tm\))? (?:vega \d+ |\d{3,4}[ms] )?graphics|\b\d{3}m\b|8060s|8050s", re.IGNORECASE
)

Entries = dict[str, tuple[str, Reading]]


def probe(artifacts: Artifacts) -> ProbeResult:
    """GPUs of AMD's OpenCL platform. A platform without a device means that the runtime is installed and sees no GPU."""
    result = ProbeResult()
    for artifact in outputs(result, artifacts, "clinfo"):
        gpus, none = _devices(artifact)
        if gpus or none:
            listing = result.listing(not is_elided(artifact))
            for said in gpus:
                gpu = listing.gpu()
                _describe(result, gpu, said)
                _own_memory(gpu, said, artifacts)
    return result


def _devices(artifact: Artifact) -> tuple[list[Entries], bool]:
    """The GPUs, and True if AMD's platform lists no device. A fragment without a platform name counts as AMD's;
    in lines picked out with grep, each board name is a GPU."""
    blocks: list[Entries] = [{}]
    amd, none = True, False
    for line in lines(artifact):
        found = _LISTED.match(line.text) or _PAIR.match(line.text)
        if not found or not line.whole:
            continue
        key, value = found.group(1), found.group(2).strip()
        amd = _is_amd(value) if key in ("Platform Name", "Platform") else amd
        none = none or (key == "Number of devices" and value == "0" and amd)
        if _begins(key, value, blocks[-1]):
            blocks.append({})
        if amd and key in _ALIASES:
            blocks[-1].setdefault(_ALIASES[key], (value, line_reading(artifact, line)))
    typed = [b for b in blocks if "type" in b]
    gpus = [b for b in typed if "GPU" in b["type"][0]] if typed else [b for b in blocks if "board" in b or "listed" in b]
    return [b for b in gpus if "vendor" not in b or _is_amd(b["vendor"][0])], none


def _is_amd(words: str) -> bool:
    return "AMD" in words or "Advanced Micro Devices" in words


def _begins(key: str, value: str, current: Entries) -> bool:
    """True for the first key of a device: its type in AMD's program, its name in Khronos'."""
    if key == "Device Type":
        return value.startswith("CL_DEVICE_TYPE") or "type" in current
    return key in ("Device Name", "Device", "Number of devices", "Platform Name") or (
        _ALIASES.get(key) == "board" and "board" in current
    )


def _describe(result: ProbeResult, gpu: dict[str, Fact], said: Entries) -> None:
    def value(key: str) -> str:
        return said[key][0] if key in said else ""

    gfx = gfx_target(value("name"))
    for key, source, read in (
        ("gfx", "name", gfx),
        ("gfx", "listed", gfx_target(value("listed"))),
        ("marketing_name", "board", product_name(value("board"))),
        ("device_id", "board", hex_id(value("board")[7:]) if value("board").startswith("Device ") else None),
        ("device_id", "id", hex_id(value("id"))),
        ("pci_bdf", "topology", _address(value("topology"))),
        ("wavefront_size", "wavefront", {"32": 32, "64": 64}.get(value("wavefront"))),
        ("compute_units", "units", _number(value("units")) if _counts_units(value("board"), gfx, value("wavefront")) else None),
        ("opencl_bytes", "memory", _number(value("memory").split(" ")[0])),
    ):
        if source in said:
            record_known(result, gpu, key, read, said[source][1])


def _counts_units(board: str, gfx: str | None, wavefront: str) -> bool:
    if gfx:
        return not gfx.startswith("gfx1")
    return wavefront == "64" or any(word in board.lower() for word in _NO_WGP)


def _own_memory(gpu: dict[str, Fact], said: Entries, artifacts: Artifacts) -> None:
    """Take what OpenCL reports as the GPU's memory, unless it is a share of the system's, as on an APU."""
    memory = gpu.get("opencl_bytes")
    board = said["board"][0] if "board" in said else ""
    unified = said["unified"][0] if "unified" in said else ""
    if memory is None or not ("gfx" in gpu or board) or _APU_NAMES.search(board) or unified not in ("", "0", "No"):
        return
    if "gfx" not in gpu or gpu["gfx"].value not in artifacts.gpu_names.apus:
        gpu["vram_bytes"] = memory


def _number(printed: str) -> int | None:
    return int(printed) if re.fullmatch(r"[1-9]\d{0,17}", printed) else None


def _address(printed: str) -> str | None:
    """The PCI address: `PCI[ B#67, D#0, F#0 ]` is decimal, `PCI-E, 03:00.0` hex; newer releases put the domain in front."""
    if found := _TOPOLOGY.match(printed):
        bus, device, function = map(int, found.groups())
        return f"0000:{bus:02x}:{device:02x}.{function}" if bus < 256 and device < 32 else None
    return bdf(printed.removeprefix("PCI-E, "))
