"""AMD display devices that `lspci` prints: address, device id (with `-nn`) and driver (with `-k`).

    ==> cmd/lspci -nnk <==
    03:00.0 VGA compatible controller [0300]: Advanced Micro Devices, Inc. [AMD/ATI] Navi 31 [Radeon RX 7900 XTX] [1002:744c] (rev c8)
        Kernel driver in use: amdgpu

>>> print(probe(sample))
gpu 0 pci_bdf = 0000:03:00.0
gpu 0 device_id = 29772
gpu 0 marketing_name = Radeon RX 7900 XTX
gpu 0 driver = amdgpu
"""

from __future__ import annotations

import re

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Fact
from rocm_doctor.probes.read.document import Document, Line
from rocm_doctor.probes.read.result import Artifacts, ProbeResult
from rocm_doctor.probes.read.scan import documents

_DEVICE = regex(
    r"(?:^|\s)((?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-1][0-9a-f]\.[0-7]) (?:VGA compatible controller|Display controller"
    r"|3D controller|Processing accelerators)"
    r"(?: \[\w{4}\])?: Advanced Micro Devices, Inc\. \[AMD(?:/ATI)?\] ?(.*)$"
)  # fmt: skip
_ID = regex(r"\[1002:([0-9a-f]{4})\]")
_NAME = regex(r"([^\[\]]*)(?:\[((?!1002:)[^\[\]]+)\])?\s*(?:\[1002:[0-9a-f]{4}\])?$")
"""Of a line without its revision: what may be a blank is one part's only, or a long run of blanks takes minutes."""
_DRIVER = regex(r"\s+Kernel driver in use: (\S+)")


def probe(artifacts: Artifacts) -> ProbeResult:
    """pci_bdf, device_id, marketing_name and driver of each AMD display device in the listing."""
    result = ProbeResult()
    for document in documents(artifacts, "lspci", "cmd/lspci*"):
        lines = [
            (line, found)
            for line in document.find_lines("advanced micro devices", most=200)
            if (found := _DEVICE.search(line.text))
        ]
        if lines:
            listing = result.listing(complete=False)
            for line, found in lines:
                _record_device(result, document, line, found, listing.gpu())
    return result


def _record_device(result: ProbeResult, document: Document, line: Line, found: re.Match[str], gpu: dict[str, Fact]) -> None:
    reading = document.reading(line)
    address = found.group(1)
    result.record("pci_bdf", address if address.count(":") == 2 else f"0000:{address}", reading, gpu)
    device = _ID.search(found.group(2))
    if device:
        result.record("device_id", int(device.group(1), 16), reading, gpu)
    name = _NAME.match(found.group(2).partition("(rev ")[0].rstrip())
    if name and (name.group(2) or name.group(1)) and "Device" not in name.group(1):
        result.record("marketing_name", name.group(2) or name.group(1).rstrip(), reading, gpu)
    for following in document.after(line, 16):
        driver = _DRIVER.match(following.text)
        if driver:
            result.record("driver", driver.group(1), document.reading(following), gpu)
        if driver or not following.text.startswith((" ", "\t")):
            return
