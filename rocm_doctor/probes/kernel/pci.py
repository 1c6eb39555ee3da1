"""The PCI bus: AMD display controllers and accelerators, whether or not a driver has claimed them.

    ==> sys/bus/pci/devices/0000:03:00.0/uevent <==
    DRIVER=amdgpu
    PCI_CLASS=30000
    PCI_ID=1002:744C

>>> print(probe(sample))
pci.gpus = 1
gpu 0 pci_bdf = 0000:03:00.0
gpu 0 device_id = 29772
gpu 0 driver = amdgpu
"""

from __future__ import annotations

from collections.abc import Iterator

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Fact, Reading
from rocm_doctor.probes.read.keyed import Entries, absence, first_value, parse_number, read_keys
from rocm_doctor.probes.read.result import Artifacts, ProbeResult

BUS = "sys/bus/pci/devices"
_FILE = regex(r"(?:^|/)pci/devices/([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])/uevent$")
_AMD = 0x1002


def probe(artifacts: Artifacts) -> ProbeResult:
    """pci_bdf, device_id and driver of each AMD GPU on the bus, and their number as pci.gpus: None if there is no bus. `node` is
    recorded as absent where KFD's topology does not list the GPU."""
    result = ProbeResult()
    devices = {address: event for address, event in _devices(artifacts) if _is_gpu(event)}
    bus = first_value(artifacts.get(BUS))
    if not bus and not devices:
        nothing = absence(artifacts.get(BUS))
        if nothing:
            result.record("pci.gpus", None, nothing)
        return result
    listing = result.listing()
    for address, event in devices.items():
        _record_gpu(result, address, event, listing.gpu())
    quote = f"{bus.value}, " if bus else ""
    result.record("pci.gpus", len(devices), Reading(BUS, "", f"{quote}AMD display or accelerator: {len(devices)}"))
    _mark_no_node(result, artifacts, listing.gpus)
    return result


def _devices(artifacts: Artifacts) -> Iterator[tuple[str, Entries]]:
    """(address, entries of uevent) of each device on the bus."""
    for artifact in artifacts:
        if "pci/devices/" in artifact.name and (found := _FILE.search(artifact.name)) and not artifact.missing:
            yield found[1].lower(), read_keys(artifact, "=")


def _ids(event: Entries) -> tuple[int | None, ...]:
    """(vendor, device, class) as numbers; None for one that is missing."""
    pair = event["PCI_ID"].value.partition(":") if "PCI_ID" in event else ("", "", "")
    kind = event["PCI_CLASS"].value if "PCI_CLASS" in event else ""
    return tuple(parse_number(f"0x{text}") for text in (pair[0], pair[2], kind))


def _is_gpu(event: Entries) -> bool:
    """True for AMD devices of class 03 (display) or 1200 (processing accelerator)."""
    vendor, _, kind = _ids(event)
    return vendor == _AMD and kind is not None and (kind >> 16 == 0x03 or kind >> 8 == 0x1200)


def _record_gpu(result: ProbeResult, address: str, event: Entries, into: dict[str, Fact]) -> None:
    source, driver = event["PCI_ID"].reading, event.get("DRIVER")
    result.record("pci_bdf", address, Reading(source.artifact, "", address), into)
    result.record("device_id", _ids(event)[1], source, into)
    reading = driver.reading if driver else Reading(source.artifact, "", "no DRIVER line")
    result.record("driver", driver.value if driver else None, reading, into)


def _mark_no_node(result: ProbeResult, artifacts: Artifacts, gpus: list[dict[str, Fact]]) -> None:
    """Record `node` as absent for every GPU on the bus if there is no KFD, or if each of its nodes could be read; else record nothing.

    Where KFD lists the GPU, its own fact wins the merge.
    """
    reading = absence(artifacts.get("sys/class/kfd"))
    nodes = [artifact for artifact in artifacts if "/topology/nodes/" in artifact.name and artifact.name.endswith("/properties")]
    if not reading and nodes and not any(artifact.missing for artifact in nodes):
        reading = Reading(nodes[0].name.rpartition("/nodes/")[0], "", "not among the topology's nodes")
    for gpu in gpus:
        if reading:
            result.record("node", None, reading, gpu)
