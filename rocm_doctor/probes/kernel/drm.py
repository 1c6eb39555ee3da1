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
gpu 0 device_id = 29772
gpu 0 carveout_bytes = 25753026560
gpu 0 vram_bytes = 25753026560
"""

from __future__ import annotations

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Artifact, Fact
from rocm_doctor.probes.read.keyed import first_value, parse_number, read_keys
from rocm_doctor.probes.read.pairs import Keys, record_entries
from rocm_doctor.probes.read.result import Artifacts, ProbeResult

_FILE = regex(r"(?:^|/)(?:drm/)?card(\d{1,3})/device/(\w+|\.link|\.power)$")


def _above_zero(value: str) -> int | None:
    number = parse_number(value)
    return number if number and number > 0 else None


def _watts(value: str) -> int | None:
    """Watts of a number of microwatts."""
    return (_above_zero(value) or 0) // 1_000_000 or None


def _speed(value: str) -> str | None:
    return value.removesuffix(" PCIe") if value[0].isdigit() else None


KEYS: Keys = {
    "PCI_SLOT_NAME": ("pci_bdf", str.lower), "DRIVER": ("driver", str.lower), "device": ("device_id", _above_zero),
    "mem_info_gtt_total": ("gtt_bytes", _above_zero), "mem_info_vram_total": ("carveout_bytes", _above_zero),
    "mem_info_vram_used": ("vram_used_bytes", _above_zero), "product_name": ("marketing_name", str),
    "current_compute_partition": ("partition", str), "current_link_width": ("link_width", _above_zero),
    "max_link_width": ("link_max_width", _above_zero), "current_link_speed": ("link_speed", _speed), "max_link_speed": ("link_max_speed", _speed),
    "power1_cap": ("power_cap_watts", _watts), "power1_cap_default": ("power_default_watts", _watts),
}  # fmt: skip
"""Fact and reader of each file of a card's device, and of the keys of its `uevent`, `.link` (the slot's PCIe link) and `.power`."""
_Card = dict[str, Artifact]


def probe(artifacts: Artifacts) -> ProbeResult:
    """pci_bdf, device_id, vram_*, carveout_bytes, gtt_bytes, link_*, power_*, partition, numa_node and driver of each AMD GPU."""
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
    """The link of the slot counts where it was recorded, else that of the GPU's own port. The kernel prints -1 for no NUMA node."""
    files = {name: entry for name, artifact in card.items() if (entry := first_value(artifact))}
    entries = {
        **files,
        **read_keys(card.get("uevent"), "="),
        **read_keys(card.get(".link"), ":"),
        **read_keys(card.get(".power"), ":"),
    }
    record_entries(result, into, entries, KEYS)
    if "carveout_bytes" in into and not has_banks:
        into["vram_bytes"] = into["carveout_bytes"]
    numa = files.get("numa_node")
    if numa and numa.number is not None:
        result.record("numa_node", numa.number if numa.number >= 0 else None, numa.reading, into)
