"""KFD topology: what the kernel's compute driver says of every GPU, with no tool, no permission and no override in between.

Fields: Linux drivers/gpu/drm/amd/amdkfd/kfd_topology.c and the thunk's hsakmttypes.h. A node with SIMDs is a GPU; one
that has CPU cores as well is an APU of the era in which both shared a node. Newer kernels give an APU a node that looks like a card's: then
nothing is said. A node whose files refuse to be read (EPERM) belongs to a GPU that the container's device rules keep away.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocm_doctor.model import Artifact, Fact, Reading
from rocm_doctor.probes.keyed import Entry, absent, keyed
from rocm_doctor.probes.notes import Artifacts, Listing, Notes

_INSIDE = r"nodes/(\d{1,4})/(properties|gpu_id|mem_banks/\d{1,3}/properties|(?:io|p2p)_links/\d{1,4}/properties)"
_FILE = re.compile(rf"(?:^|/){_INSIDE}$")
_HEADING = re.compile(rf"(?:==> )?\S*?{_INSIDE}(?: <==|:|$)")
_FRAME_BUFFER = ("1", "2")
"""Heap types of device memory: public (visible to the CPU) and private."""
_LINKS = {"2": "pcie", "11": "xgmi"}
_Node = dict[str, Artifact]


def probe(artifacts: Artifacts) -> Notes:
    """One GPU for each node that has SIMDs; kfd.nodes, and kfd.denied for nodes that may not be read."""
    notes = Notes()
    nodes = _nodes(artifacts)
    nothing = absent(artifacts.get("sys/class/kfd"))
    if nothing:
        notes.listing()
        notes.say("kfd.nodes", 0, nothing)
    elif nodes:
        _list(notes, nodes, notes.listing(complete=not any(_refused(node) for node in nodes.values())))
    for artifact in artifacts.like("paste/*-kfd"):
        if printed := _printed(artifact):
            _list(notes, printed, notes.listing(complete=False))
    return notes


def _nodes(artifacts: Artifacts) -> dict[int, _Node]:
    """The files of each node, by their names below it."""
    nodes: dict[int, _Node] = {}
    for artifact in artifacts:
        if "nodes/" in artifact.name and (found := _FILE.search(artifact.name)):
            nodes.setdefault(int(found.group(1)), {})[found.group(2)] = artifact
    return {number: nodes[number] for number in sorted(nodes)}


def _refused(node: _Node) -> bool:
    return any(artifact.missing == "denied" for artifact in node.values())


def _list(notes: Notes, nodes: dict[int, _Node], listing: Listing) -> None:
    for number, node in nodes.items():
        properties = keyed(node.get("properties"))
        if (simds := properties.get("simd_count")) and (simds.number or 0) > 0:
            _gpu(notes, number, node, properties, listing.gpu())
    denied = {f"nodes/{number}": node for number, node in nodes.items() if _refused(node)}
    if denied:
        first = next(a for a in next(iter(denied.values())).values() if a.missing == "denied")
        notes.say("kfd.denied", tuple(denied), Reading(first.name, "", first.note or "could not be read"))
    where = next((a.name for node in nodes.values() for a in node.values()), "")
    notes.say("kfd.nodes", len(listing.gpus), Reading(where, "", f"{len(nodes)} nodes, {len(listing.gpus)} of them GPUs"))


def _gpu(notes: Notes, number: int, node: _Node, properties: dict[str, Entry], into: dict[str, Fact]) -> None:
    def say(key: str, value: bool | int | str | tuple[str, ...] | None, entry: Entry) -> None:
        if value is not None:
            notes.say(key, value, entry.reading, into)

    simds = properties["simd_count"]
    say("node", number, simds)
    if target := properties.get("gfx_target_version"):
        say("gfx", gfx_name(target.number or 0), target)
    if per_unit := properties.get("simd_per_cu"):
        say("compute_units", _quotient(simds.number, per_unit.number), simds)
    for key, name in (("wavefront_size", "wave_front_size"), ("device_id", "device_id")):
        if entry := properties.get(name):
            say(key, entry.number or None, entry)
    if place := properties.get("location_id"):
        say("pci_bdf", address(properties["domain"].number if "domain" in properties else 0, place.number), place)
    if (minor := properties.get("drm_render_minor")) and (minor.number or 0) >= 128:
        say("render_node", f"renderD{minor.number}", minor)
    if (cores := properties.get("cpu_cores_count")) and (cores.number or 0) > 0:
        say("is_apu", True, cores)
    _memory(notes, node, properties, into)
    _links(notes, node, into)


def gfx_name(version: int) -> str | None:
    """`gfx90a` for 90010: decimal pairs for minor and stepping, both printed in hexadecimal; None for what is no target."""
    major, minor, stepping = version // 10000, version // 100 % 100, version % 100
    return f"gfx{major}{minor:x}{stepping:x}" if 7 <= major <= 99 and minor < 16 and stepping < 16 else None


def address(domain: int | None, location: int | None) -> str | None:
    """PCI address from `domain` and `location_id` (bus, then five bits of device and three of function).

    On a partitioned board (CPX, DPX) the function bits count the partition, as they do in rocminfo's BDFID.
    """
    if domain is None or location is None or not 0 <= domain < 1 << 32 or not 0 < location < 1 << 16:
        return None
    return f"{domain:04x}:{location >> 8:02x}:{location >> 3 & 31:02x}.{location & 7}"


def _quotient(whole: int | None, part: int | None) -> int | None:
    return whole // part if whole and part and part > 0 and whole % part == 0 else None


def _memory(notes: Notes, node: _Node, properties: dict[str, Entry], into: dict[str, Fact]) -> None:
    """Device memory in bytes: the sum of the node's frame buffer banks; old kernels also state it among the properties."""
    banks = [keyed(artifact) for name, artifact in node.items() if name.startswith("mem_banks/")]
    sizes = [
        bank["size_in_bytes"]
        for bank in banks
        if "size_in_bytes" in bank and "heap_type" in bank and bank["heap_type"].value in _FRAME_BUFFER
    ]
    if not sizes and "local_mem_size" in properties:
        sizes = [properties["local_mem_size"]]
    total = sum(size.number or 0 for size in sizes)
    if total > 0:
        notes.say("vram_bytes", total, sizes[0].reading, into)


def _links(notes: Notes, node: _Node, into: dict[str, Fact]) -> None:
    """Links to other nodes as `xgmi:3` or `pcie:0` (kind and KFD node)."""
    found: dict[str, Reading] = {}
    for name, artifact in node.items():
        if "_links/" in name:
            link = keyed(artifact)
            if "type" in link and "node_to" in link and link["type"].value in _LINKS and link["node_to"].number is not None:
                found.setdefault(f"{_LINKS[link['type'].value]}:{link['node_to'].number}", link["type"].reading)
    if found:
        notes.say("links", tuple(found), next(iter(found.values())), into)


def _printed(artifact: Artifact) -> dict[int, _Node]:
    """A topology printed as text: `head` and `grep -r` name the file of each line, `cat` only shows one block after another."""
    files: dict[tuple[int, str], list[str]] = {}
    where = (0, "properties")
    for line in _lines(artifact.text):
        if heading := _HEADING.match(line):
            where = (int(heading.group(1)), heading.group(2))
            line = line[heading.end() :]
        elif line.startswith("cpu_cores_count") and any(kept.startswith("cpu_cores_count") for kept in files.get(where, ())):
            where = (where[0] + 1, "properties")
        files.setdefault(where, []).append(line)
    nodes: dict[int, _Node] = {}
    for (number, name), lines in files.items():
        nodes.setdefault(number, {})[name] = Artifact(artifact.name, artifact.origin, "\n".join(lines))
    return nodes


def _lines(text: str) -> Iterator[str]:
    return (line.strip() for line in text.splitlines() if line.strip())
