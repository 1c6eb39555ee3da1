"""Errors that the kernel counted, device memory that processes hold, and RDMA ports.

    ==> sys/class/drm/card0/device/uevent <==
    PCI_SLOT_NAME=0000:03:00.0
    ==> sys/class/drm/card0/device/.health <==
    umc ue: 12
    umc ce: 48
    xgmi_wafl ue: 0
    bad pages: 2
    pcie replays: 3
    pcie fatal: 0
    uptime: 172800
    ==> sys/class/infiniband <==
    mlx5_0/1 state: 1: DOWN
    mlx5_0/1 phys_state: 2: Polling
    mlx5_0/1 gids: 1

>>> print(probe(sample))
rdma.active = 0
rdma.down = mlx5_0/1: DOWN, Polling
rdma.without_gid = absent
gpu 0 pci_bdf = 0000:03:00.0
gpu 0 ras_uncorrectable = 12
gpu 0 ras_correctable = 48
gpu 0 ras_correctable_per_day = 24
gpu 0 retired_pages = 2
gpu 0 pcie_replays = 3
gpu 0 pcie_errors = 0
"""

from __future__ import annotations

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Fact
from rocm_doctor.probes.kernel.kfd import address
from rocm_doctor.probes.read.keyed import Entries, first_value, read_keys
from rocm_doctor.probes.read.result import Artifacts, ProbeResult

_DEVICE = regex(r"(?:^|/)(?:drm/)?(card\d{1,3}/device)/\.health$")
_DAY = 86_400
_UNUSED = ("Disabled", "Sleep")
"""Physical states of a port that its administrator switched off."""


def probe(artifacts: Artifacts) -> ProbeResult:
    """ras_*, retired_pages, pcie_* and held_bytes of each GPU; rdma.*."""
    result = ProbeResult()
    counted = [artifact for artifact in artifacts if artifact.name.endswith("/.health") and _DEVICE.search(artifact.name)]
    listing = result.listing(complete=False) if counted else None
    for artifact in counted:
        event = read_keys(artifacts.get(artifact.name.replace(".health", "uevent")), "=")
        if listing and "PCI_SLOT_NAME" in event:
            gpu = listing.gpu()
            result.record("pci_bdf", event["PCI_SLOT_NAME"].value.lower(), event["PCI_SLOT_NAME"].reading, gpu)
            _record_counters(result, read_keys(artifact, ":"), gpu)
    _read_held_memory(result, artifacts)
    _record_ports(result, read_keys(artifacts.get("sys/class/infiniband"), ":"))
    return result


def _record_counters(result: ProbeResult, told: Entries, gpu: dict[str, Fact]) -> None:
    for key, names in (
        ("ras_uncorrectable", [name for name in told if name.endswith(" ue")]),
        ("ras_correctable", [name for name in told if name.endswith(" ce")]),
        ("retired_pages", ["bad pages"]),
        ("pcie_replays", ["pcie replays"]),
        ("pcie_errors", ["pcie fatal", "pcie nonfatal"]),
    ):
        counts = {name: told[name].number or 0 for name in names if name in told and told[name].number is not None}
        if counts:
            worst = max(counts, key=lambda name: counts[name])
            result.record(key, sum(counts.values()), told[worst].reading, gpu)
            uptime = told["uptime"].number if "uptime" in told else None
            if key == "ras_correctable" and uptime:
                days = max(uptime / _DAY, 1 / 24)
                result.record("ras_correctable_per_day", int(sum(counts.values()) / days), told[worst].reading, gpu)


def _read_held_memory(result: ProbeResult, artifacts: Artifacts) -> None:
    """Device memory that processes hold, by the GPU whose KFD node has that number."""
    held = read_keys(artifacts.get("sys/class/kfd/kfd/proc"), ":")
    places: dict[str, str | None] = {}
    for artifact in artifacts if held else ():
        if artifact.name.endswith("/gpu_id") and (number := first_value(artifact)):
            node = read_keys(artifacts.get(artifact.name.replace("/gpu_id", "/properties")))
            domain, location = (node[name].number or 0 if name in node else 0 for name in ("domain", "location_id"))
            places[number.value] = address(domain, location)
    by_place: dict[str, list[str]] = {}
    for name in held:
        if place := places.get(name.partition(" ")[2]):
            by_place.setdefault(place, []).append(name)
    listing = result.listing(complete=False) if by_place else None
    for place, names in by_place.items():
        most = max(names, key=lambda name: held[name].number or 0)
        gpu = listing.gpu() if listing else {}
        result.record("pci_bdf", place, held[most].reading, gpu)
        result.record("held_bytes", sum(held[name].number or 0 for name in names), held[most].reading, gpu)


def _record_ports(result: ProbeResult, told: Entries) -> None:
    ports: dict[str, dict[str, str]] = {}
    for name, entry in told.items():
        port, _, key = name.partition(" ")
        ports.setdefault(port, {})[key] = entry.value.partition(": ")[2] or entry.value
    if not ports:
        return
    reading = next(iter(told.values())).reading
    active = [port for port, state in ports.items() if state.get("state") == "ACTIVE"]
    down = [port for port in ports if port not in active and ports[port].get("phys_state") not in _UNUSED]
    without = [port for port in active if ports[port].get("gids") == "0"]
    result.record("rdma.active", len(active), reading)
    for key, found in (("rdma.down", down), ("rdma.without_gid", without)):
        if found:
            words = tuple(f"{port}: {ports[port].get('state')}, {ports[port].get('phys_state')}" for port in found)
            result.record(key, words, told[f"{found[0]} state"].reading if f"{found[0]} state" in told else reading)
        else:
            result.record(key, None, reading)
