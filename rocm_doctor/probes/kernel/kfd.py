"""KFD topology: GPUs as the kernel's compute driver lists them, with no tool, permission or override in between.

Fields: Linux drivers/gpu/drm/amd/amdkfd/kfd_topology.c and the thunk's hsakmttypes.h. A node with SIMDs is a GPU; one that also
has CPU cores is an older APU, in which both share a node. Newer kernels give an APU a node that looks like that of a discrete
GPU: nothing is recorded then. A node whose files cannot be read (EPERM) is a GPU that the container's device rules hide.

    ==> sys/class/kfd/kfd/topology/nodes/1/properties <==
    cpu_cores_count 0
    simd_count 240
    gfx_target_version 90006
    device_id 26273
    location_id 768
    domain 0
    ==> sys/class/kfd/kfd/topology/nodes/1/mem_banks/0/properties <==
    heap_type 1
    size_in_bytes 17163091968

>>> print(probe(sample))
kfd.nodes = 1
gpu 0 node = 1
gpu 0 gfx = gfx906
gpu 0 device_id = 26273
gpu 0 pci_bdf = 0000:03:00.0
gpu 0 vram_bytes = 17163091968
"""

from __future__ import annotations

from collections.abc import Iterator

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Fact, Reading, Value
from rocm_doctor.probes.read.keyed import Entries, absence, read_keys
from rocm_doctor.probes.read.result import Artifacts, Listing, ProbeResult

_FILE = regex(r"(?:^|/)nodes/(\d{1,4})/(properties|gpu_id|mem_banks/\d{1,3}/properties|(?:io|p2p)_links/\d{1,4}/properties)$")
_FRAME_BUFFER = ("1", "2")
"""Heap types of device memory: public (visible to the CPU) and private."""
_LINKS = {"2": "pcie", "11": "xgmi"}
_Node = dict[str, Entries]


def probe(artifacts: Artifacts) -> ProbeResult:
    """One GPU for each node that has SIMDs; kfd.nodes, and kfd.denied for nodes that may not be read."""
    result = ProbeResult()
    nodes, denied = _nodes(artifacts)
    nothing = absence(artifacts.get("sys/class/kfd"))
    if nothing:
        result.listing()
        result.record("kfd.nodes", 0, nothing)
    elif nodes or denied:
        _record_list(result, nodes, result.listing(complete=not denied))
    if denied:
        result.record("kfd.denied", tuple(denied), next(iter(denied.values())))
    return result


def _nodes(artifacts: Artifacts) -> tuple[dict[int, _Node], dict[str, Reading]]:
    """(nodes, denied): by the number of a node the entries of its files by name, and by the folder of a node that may not be read
    the error."""
    nodes: dict[int, _Node] = {}
    denied: dict[str, Reading] = {}
    for artifact in artifacts:
        found = _FILE.search(artifact.name) if "nodes/" in artifact.name else None
        if found and artifact.missing == "denied":
            denied.setdefault(f"nodes/{int(found.group(1))}", Reading(artifact.name, "", artifact.note or "could not be read"))
        elif found and not artifact.missing:
            nodes.setdefault(int(found.group(1)), {})[found.group(2)] = read_keys(artifact)
    return {number: nodes[number] for number in sorted(nodes)}, denied


def _record_list(result: ProbeResult, nodes: dict[int, _Node], listing: Listing) -> None:
    for number, node in nodes.items():
        simds = node.get("properties", {}).get("simd_count")
        if simds and (simds.number or 0) > 0:
            _record_gpu(result, number, node, listing.gpu())
    first = next((entry.reading for node in nodes.values() for entries in node.values() for entry in entries.values()), None)
    if first:
        quote = f"{len(nodes)} nodes, {len(listing.gpus)} of them GPUs"
        result.record("kfd.nodes", len(listing.gpus), Reading(first.artifact, "", quote))


def _record_gpu(result: ProbeResult, number: int, node: _Node, into: dict[str, Fact]) -> None:
    properties = node["properties"]
    for key, name, value in _node_facts(number, {name: entry.number or 0 for name, entry in properties.items()}):
        if value is not None and name in properties:
            result.record(key, value, properties[name].reading, into)
    if product := properties.get("product_name"):
        result.record("marketing_name", product.value, product.reading, into)
    _record_memory(result, node, into)
    _record_links(result, node, into)


def _node_facts(number: int, has: dict[str, int]) -> Iterator[tuple[str, str, Value]]:
    """(fact, property, value) for each fact of a node; the value is None if the property does not give it."""
    minor = has.get("drm_render_minor", 0)
    yield "node", "simd_count", number
    yield "gfx", "gfx_target_version", gfx_name(has.get("gfx_target_version", 0))
    yield "compute_units", "simd_count", _quotient(has["simd_count"], has.get("simd_per_cu", 0))
    yield "wavefront_size", "wave_front_size", has.get("wave_front_size") or None
    yield "device_id", "device_id", has.get("device_id") or None
    yield "pci_bdf", "location_id", address(has.get("domain", 0), has.get("location_id", 0))
    yield "render_node", "drm_render_minor", f"renderD{minor}" if minor >= 128 else None
    yield "is_apu", "cpu_cores_count", True if has.get("cpu_cores_count", 0) > 0 else None


def gfx_name(version: int) -> str | None:
    """`gfx90a` for 90010: decimal pairs for minor and stepping, both printed in hexadecimal; None if it is not a target."""
    major, minor, stepping = version // 10000, version // 100 % 100, version % 100
    return f"gfx{major}{minor:x}{stepping:x}" if 7 <= major <= 99 and minor < 16 and stepping < 16 else None


def address(domain: int, location: int) -> str | None:
    """PCI address from `domain` and `location_id` (bus, then five bits of device and three of function).

    On a partitioned board (CPX, DPX) the function bits count the partition, as they do in rocminfo's BDFID.
    """
    if not 0 <= domain < 1 << 32 or not 0 < location < 1 << 16:
        return None
    return f"{domain:04x}:{location >> 8:02x}:{location >> 3 & 31:02x}.{location & 7}"


def _quotient(whole: int, part: int) -> int | None:
    return whole // part if whole > 0 and part > 0 and whole % part == 0 else None


def _record_memory(result: ProbeResult, node: _Node, into: dict[str, Fact]) -> None:
    """Device memory in bytes: the sum of the node's frame buffer banks, else the property that old kernels have."""
    banks = [
        bank for name, bank in node.items() if name.startswith("mem_banks/") and {"size_in_bytes", "heap_type"} <= bank.keys()
    ]
    sizes = [bank["size_in_bytes"] for bank in banks if bank["heap_type"].value in _FRAME_BUFFER]
    properties = node["properties"]
    if not sizes and "local_mem_size" in properties:
        sizes = [properties["local_mem_size"]]
    total = sum(size.number or 0 for size in sizes)
    if total > 0:
        result.record("vram_bytes", total, sizes[0].reading, into)


def _record_links(result: ProbeResult, node: _Node, into: dict[str, Fact]) -> None:
    """Links to other nodes as `xgmi:3` or `pcie:0` (kind and KFD node)."""
    found: dict[str, Reading] = {}
    for name, link in node.items():
        if "_links/" in name and {"type", "node_to"} <= link.keys() and link["type"].value in _LINKS:
            found.setdefault(f"{_LINKS[link['type'].value]}:{link['node_to'].number}", link["type"].reading)
    if found:
        result.record("links", tuple(found), next(iter(found.values())), into)
