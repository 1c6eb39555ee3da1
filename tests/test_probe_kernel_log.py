"""The kernel's log: GPUs only where a line can be laid at one's door."""

from __future__ import annotations

import pytest
from faketools import artifacts

from rocm_doctor.model import Fact
from rocm_doctor.probes.kernel.kernel_log import probe

HEAD = "[    2.244241] "


def facts(text: str, name: str = "kernel/log") -> dict[str, object]:
    return {key: fact.value for key, fact in probe(artifacts({name: text})).facts.items()}


def gpus(text: str) -> list[dict[str, object]]:
    def plain(gpu: dict[str, Fact]) -> dict[str, object]:
        return {key: fact.value for key, fact in gpu.items()}

    return [plain(gpu) for listing in probe(artifacts({"kernel/log": text})).listings for gpu in listing.gpus]


@pytest.mark.parametrize(
    "stamp", ["[ 5071.443221] ", "Jan 06 14:37:38 host11 kernel: ", "nov 07 01:36:56 h kernel: [ 5.1] ", "> [ 1.0] ", ""]
)
def test_stamps(stamp: str) -> None:
    assert gpus(f"{stamp}amdgpu 0000:0b:00.0: amdgpu: GPU reset begin!\n") == [{"pci_bdf": "0000:0b:00.0"}]


def test_prose_about_a_fault_is_no_log() -> None:
    assert facts("I saw a message like GPU reset begin and then amdgpu was gone\n", "paste/text") == {}


def test_one_gpu_gets_what_lines_say_without_an_address() -> None:
    text = (
        "[ 8.2] [drm] initializing kernel modesetting (IP DISCOVERY 0x1002:0x73BF 0x1002:0x0E3A 0xC1).\n"
        "[ 8.3] amdgpu 0000:0b:00.0: amdgpu: SE 4, SH per SE 2, CU per SH 10, active_cu_number 72\n"
        "[ 8.8] amdgpu: HMM registered 16368MB device memory\n"
        "[ 8.9] kfd kfd: amdgpu: added device 1002:73bf\n"
    )
    assert gpus(text) == [{"pci_bdf": "0000:0b:00.0", "device_id": 0x73BF, "compute_units": 72, "vram_bytes": 16368 << 20}]
    assert facts(text)["driver.loaded"] is True


def test_two_gpus_get_only_their_own() -> None:
    text = (
        "[ 8.1] amdgpu 0000:0b:00.0: amdgpu: SE 4, active_cu_number 72\n"
        "[ 8.2] amdgpu 0000:0e:00.0: amdgpu: VRAM: 512M 0x000000F400000000 - 0x000000F41FFFFFFF (512M used)\n"
        "[ 8.3] amdgpu: HMM registered 16368MB device memory\n"
        "[ 8.4] kfd kfd: amdgpu: added device 1002:73bf\n[ 8.5] kfd kfd: amdgpu: added device 1002:164e\n"
    )
    assert gpus(text) == [{"pci_bdf": "0000:0b:00.0", "compute_units": 72}, {"pci_bdf": "0000:0e:00.0", "vram_bytes": 512 << 20}]


def test_two_device_ids_and_one_address_are_not_laid_together() -> None:
    text = (
        "[ 8.1] amdgpu 0000:0b:00.0: amdgpu: SMU is initialized successfully!\n"
        "[ 8.4] kfd kfd: amdgpu: added device 1002:73bf\n[ 8.5] kfd kfd: amdgpu: added device 1002:164e\n"
    )
    assert gpus(text) == [{"pci_bdf": "0000:0b:00.0"}]


def test_an_address_cut_short() -> None:
    assert gpus("kernel: amdgpu 0000:03:00: Fatal error during GPU init\n") == [{"pci_bdf": "0000:03:00.0"}]


def test_an_old_apu_says_so() -> None:
    assert gpus("[ 1.0] amdgpu: Topology: Add APU node [0x15dd:0x1002]\n") == [{"device_id": 0x15DD, "is_apu": True}]
    assert gpus("[ 1.0] amdgpu: Topology: Add APU node [0x0:0x0]\n") == []


def test_system_lines() -> None:
    got = facts(
        "[ 0.0] Linux version 6.11.0-25-generic (x)\n[ 0.0] Command line: ro nomodeset\n[ 2.7] [drm] amdgpu version: 6.12.12\n"
    )
    assert (got["kernel"], got["nomodeset"], got["driver.version"]) == ("6.11.0-25-generic", "nomodeset", "6.12.12")
