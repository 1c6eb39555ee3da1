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

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Artifact, Fact, Reading
from rocm_doctor.probes.read.keyed import absence, first_value, parse_number, read_keys
from rocm_doctor.probes.read.result import Artifacts, ProbeResult

BUS = "sys/bus/pci/devices"
_FILE = regex(r"(?:^|/)pci/devices/([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])/(vendor|device|class|uevent)$")
_AMD = 0x1002
_Device = dict[str, Artifact]


def probe(artifacts: Artifacts) -> ProbeResult:
    """pci_bdf, device_id and driver of each; pci.gpus. `node` is absent for one that KFD's topology does not list."""
    result = ProbeResult()
    devices = {address: device for address, device in _devices(artifacts).items() if _is_gpu(device)}
    bus = first_value(artifacts.get(BUS))
    if not bus and not devices:
        nothing = absence(artifacts.get(BUS))
        if nothing:
            result.record("pci.gpus", None, nothing)
        return result
    listing = result.listing()
    for address, device in devices.items():
        _record_gpu(result, address, device, listing.gpu())
    quote = f"{bus.value}, " if bus else ""
    result.record("pci.gpus", len(devices), Reading(BUS, "", f"{quote}AMD display or accelerator: {len(devices)}"))
    _mark_no_node(result, artifacts, listing.gpus)
    return result


def _devices(artifacts: Artifacts) -> dict[str, _Device]:
    devices: dict[str, _Device] = {}
    for artifact in artifacts:
        if "pci/devices/" in artifact.name and (found := _FILE.search(artifact.name)):
            devices.setdefault(found.group(1).lower(), {})[found.group(2)] = artifact
    return devices


def _is_gpu(device: _Device) -> bool:
    """True for AMD devices of class 03 (display) or 1200 (processing accelerator)."""
    ids = _ids(device)
    return ids is not None and ids[0] == _AMD and (ids[2] >> 16 == 0x03 or ids[2] >> 8 == 0x1200)


def _ids(device: _Device) -> tuple[int, int, int] | None:
    """Vendor, device and class, from their own files or from uevent; None if one is missing."""
    event = read_keys(device.get("uevent"), "=")
    pair = event["PCI_ID"].value.split(":") if "PCI_ID" in event else []
    spare: list[int | None] = [parse_number(f"0x{part}") for part in pair] if len(pair) == 2 else [None, None]
    spare.append(parse_number(f"0x{event['PCI_CLASS'].value}") if "PCI_CLASS" in event else None)
    stated = [entry.number if (entry := first_value(device.get(name))) else None for name in ("vendor", "device", "class")]
    vendor, chip, kind = (one if one is not None else other for one, other in zip(stated, spare))
    return None if vendor is None or chip is None or kind is None else (vendor, chip, kind)


def _record_gpu(result: ProbeResult, address: str, device: _Device, into: dict[str, Fact]) -> None:
    source = next(iter(device.values()))
    ids = _ids(device)
    result.record("pci_bdf", address, Reading(source.name, "", address), into)
    if ids:
        result.record("device_id", ids[1], Reading(source.name, "", f"device 0x{ids[1]:04x}"), into)
    event = device.get("uevent")
    if event and not event.missing:
        driver = read_keys(event, "=").get("DRIVER")
        reading = driver.reading if driver else Reading(event.name, "", "no DRIVER line")
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
