"""The version of every installed package, and the ROCm that lives in wheels, from the names of the `*.dist-info` folders.

    ==> py/packages <==
    bitsandbytes==0.49.2
    torch==2.9.1+rocm6.4

>>> print(probe(sample))
pkg.bitsandbytes = 0.49.2
pkg.torch = 2.9.1+rocm6.4
pkg. = yes
torch.device_dists = absent
"""

from __future__ import annotations

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Artifact, Reading
from rocm_doctor.probes.read.printed import canonical
from rocm_doctor.probes.read.result import Artifacts, ProbeResult

_DEVICE = regex(r"(?:amd-torch-device|rocm-sdk-device)-(gfx[0-9a-z-]+)")
_SDK = ("rocm-sdk-core", "rocm")


def probe(artifacts: Artifacts) -> ProbeResult:
    """pkg.<name> for every line `name==version`; the list is complete, so any other package is absent."""
    result = ProbeResult()
    source = artifacts.get("py/packages")
    if source is None or source.missing:
        return result
    found = _read(source)
    for name, (version, reading) in found.items():
        result.record(f"pkg.{name}", version, reading)
    if found:
        result.record("pkg.", True, Reading(source.name, "", f"all {len(found)} packages"))
    record_wheels(result, found)
    if found and "torch.device_dists" not in result.facts:
        result.record("torch.device_dists", None, Reading(source.name, "", "no device wheel among the packages"))
    return result


def record_wheels(result: ProbeResult, found: dict[str, tuple[str, Reading]]) -> None:
    """rocm.version, rocm.source and torch.device_dists where ROCm came as wheels. Keys of `found` are canonical names."""
    sdk = next((found[name] for name in _SDK if name in found), None)
    if sdk is not None:
        result.record("rocm.version", sdk[0], sdk[1])
        result.record("rocm.source", "wheels", sdk[1])
    devices = {m.group(1): found[name][1] for name in found if (m := _DEVICE.fullmatch(name))}
    if devices:
        result.record("torch.device_dists", tuple(sorted(devices)), next(iter(devices.values())))


def _read(source: Artifact) -> dict[str, tuple[str, Reading]]:
    found: dict[str, tuple[str, Reading]] = {}
    for number, line in enumerate(source.text.splitlines(), 1):
        name, equals, version = line.strip().partition("==")
        if equals and name and version:
            found.setdefault(canonical(name), (version.strip(), Reading(source.name, f"line {number}", line.strip())))
    return found
