"""A target that was declared in place of a machine: its GPU, and what else was declared of it.

    ==> declared/target <==
    gpu: gfx1100
    rocm: 6.4
    driver: inbox
    os: linux

>>> print(probe(sample))
declared = yes
rocm.version = 6.4
driver.version = absent
platform = linux
wsl = no
gpu 0 gfx = gfx1100
"""

from __future__ import annotations

from rocm_doctor.model import Reading
from rocm_doctor.probes.read.keyed import read_keys
from rocm_doctor.probes.read.result import Artifacts, ProbeResult

_FACTS = {"rocm": "rocm.version", "driver": "driver.version", "adrenalin": "driver.windows", "kernel": "kernel"}
_INBOX = "inbox"
"""The kernel's own amdgpu, which has no version."""


def probe(artifacts: Artifacts) -> ProbeResult:
    """declared, the GPU, and rocm.version, the driver's version, kernel, platform and wsl where they were declared."""
    result = ProbeResult()
    for source in artifacts.like("declared/target"):
        for key, entry in read_keys(source, ":").items():
            _record(result, key, entry.value, Reading(source.note or source.name, "", entry.reading.quote, "target"))
    return result


def _record(result: ProbeResult, key: str, value: str, reading: Reading) -> None:
    if key == "gpu":
        result.record("declared", True, reading)
        result.record("gfx", value, reading, result.listing().gpu())
    elif key == "os":
        result.record("platform", "windows" if value == "windows" else "linux", reading)
        result.record("wsl", value == "wsl", reading)
    elif key in _FACTS:
        result.record(_FACTS[key], None if (key, value) == ("driver", _INBOX) else value, reading)
