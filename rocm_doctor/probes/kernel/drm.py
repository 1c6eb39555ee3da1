"""DRM sysfs: memory, video BIOS and PCIe link of each GPU that amdgpu has claimed.

Where KFD topology is available, its memory banks decide `vram_bytes`: on an APU they may hold system memory outside the carve-out
that DRM reports (Linux, amdgpu `apu_prefer_gtt`); on a partitioned board they hold the partition's share.

    ==> sys/class/drm/card0/device/vendor <==
    0x1002
    ==> sys/class/drm/card0/device/device <==
    0x744c
    ==> sys/class/drm/card0/device/uevent <==
    DRIVER=amdgpu
    PCI_SLOT_NAME=0000:03:00.0
    ==> sys/class/drm/card0/device/mem_info_vram_total <==
    25753026560

>>> print(probe(sample))
gpu 0 pci_bdf = 0000:03:00.0
gpu 0 driver = amdgpu
gpu 0 carveout_bytes = 25753026560
gpu 0 vram_bytes = 25753026560
gpu 0 device_id = 29772
"""

from __future__ import annotations

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Artifact, Fact
from rocm_doctor.probes.read.keyed import Entry, first_value, read_keys
from rocm_doctor.probes.read.result import Artifacts, ProbeResult

_FILE = regex(r"(?:^|/)(?:drm/)?card(\d{1,3})/device/(\w+|\.link|\.power)$")
_NUMBERS = (
    ("gtt_bytes", "mem_info_gtt_total"),
    ("carveout_bytes", "mem_info_vram_total"),
    ("vram_used_bytes", "mem_info_vram_used"),
    ("device_id", "device"),
)
_WORDS = (("vbios", "vbios_version"), ("marketing_name", "product_name"), ("partition", "current_compute_partition"))
_POWER = (("power_cap_watts", "power1_cap"), ("power_default_watts", "power1_cap_default"))
_MICRO = 1_000_000
_LINK = (
    ("link_width", "current_link_width"),
    ("link_max_width", "max_link_width"),
    ("link_speed", "current_link_speed"),
    ("link_max_speed", "max_link_speed"),
)
_Card = dict[str, Artifact]


def probe(artifacts: Artifacts) -> ProbeResult:
    """pci_bdf, device_id, vram_*, carveout_bytes, gtt_bytes, vbios, link_*, power_*, partition, numa_node and driver
    of each AMD GPU."""
    result = ProbeResult()
    cards = {number: card for number, card in _cards(artifacts).items() if _is_amd(card)}
    if not cards:
        return result
    listing = result.listing(complete=False)
    has_banks = any("/mem_banks/" in artifact.name for artifact in artifacts)
    for _, card in sorted(cards.items()):
        _record_gpu(result, card, has_banks, listing.gpu())
    return result


def _cards(artifacts: Artifacts) -> dict[int, _Card]:
    cards: dict[int, _Card] = {}
    for artifact in artifacts:
        if "/device/" in artifact.name and (found := _FILE.search(artifact.name)):
            cards.setdefault(int(found.group(1)), {})[found.group(2)] = artifact
    return cards


def _is_amd(card: _Card) -> bool:
    vendor, event = first_value(card.get("vendor")), read_keys(card.get("uevent"), "=")
    if vendor:
        return vendor.number == 0x1002
    return "DRIVER" in event and event["DRIVER"].value == "amdgpu"


def _record_gpu(result: ProbeResult, card: _Card, has_banks: bool, into: dict[str, Fact]) -> None:
    event = read_keys(card.get("uevent"), "=")
    for key, name in (("pci_bdf", "PCI_SLOT_NAME"), ("driver", "DRIVER")):
        if name in event:
            result.record(key, event[name].value.lower(), event[name].reading, into)
    for key, name in _NUMBERS:
        entry = first_value(card.get(name))
        if entry and (entry.number or 0) > 0:
            result.record(key, entry.number, entry.reading, into)
            if key == "carveout_bytes" and not has_banks:
                result.record("vram_bytes", entry.number, entry.reading, into)
    for key, name in _WORDS:
        entry = first_value(card.get(name))
        if entry:
            result.record(key, entry.value, entry.reading, into)
    _record_link(result, card, into)
    _record_power(result, card, into)
    _record_numa(result, first_value(card.get("numa_node")), into)


def _record_link(result: ProbeResult, card: _Card, into: dict[str, Fact]) -> None:
    """link_*: the PCIe link of the slot where that was recorded, else of the GPU's own port."""
    slot = read_keys(card.get(".link"), ":")
    for key, name in _LINK:
        entry = slot.get(name) or first_value(card.get(name))
        if entry and key.endswith("speed") and entry.value[0].isdigit():
            result.record(key, entry.value.removesuffix(" PCIe"), entry.reading, into)
        elif entry and key.endswith("width") and (entry.number or 0) > 0:
            result.record(key, entry.number, entry.reading, into)


def _record_power(result: ProbeResult, card: _Card, into: dict[str, Fact]) -> None:
    told = read_keys(card.get(".power"), ":")
    for key, name in _POWER:
        entry = told.get(name)
        if entry and (entry.number or 0) >= _MICRO:
            result.record(key, (entry.number or 0) // _MICRO, entry.reading, into)


def _record_numa(result: ProbeResult, entry: Entry | None, into: dict[str, Fact]) -> None:
    """The NUMA node; the kernel prints -1 for none."""
    if entry and entry.number is not None:
        result.record("numa_node", entry.number if entry.number >= 0 else None, entry.reading, into)
