"""The host: what its files say, in units that rules can compare."""

from __future__ import annotations

from pathlib import Path

import pytest
from faketools import artifacts, bare_machine

from rocm_doctor.probes.kernel.host import probe
from rocm_doctor.probes.read.result import Artifacts
from rocm_doctor.sources.live.host import host_files


def values(texts: dict[str, str]) -> dict[str, object]:
    return {key: fact.value for key, fact in probe(artifacts(texts)).facts.items()}


def test_a_whole_host(tmp_path: Path) -> None:
    facts = probe(Artifacts(host_files(bare_machine(tmp_path)))).facts
    assert {key: fact.value for key, fact in facts.items()} == {
        "platform": "linux", "kernel": "6.8.0-45-generic", "wsl": False, "os": "Ubuntu 24.04.1 LTS", "cpu": "AMD Ryzen 9 7950X",
        "numa_balancing": True, "cmdline": "BOOT_IMAGE=/boot/vmlinuz-6.8.0-45-generic ro quiet iommu=pt", "iommu": "pt",
        "nomodeset": None, "ram_bytes": 65011712 * 1024,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("line", "iommu", "nomodeset"),
    [
        ("ro quiet", "default", None), ("iommu=pt amd_iommu=on", "on", None), ("amd_iommu=off", "off", None),
        ("intel_iommu=on iommu=pt", "pt", None), ("iommu=soft", "off", None), ("nomodeset", "default", "nomodeset"),
        ("amdgpu.modeset=0", "default", "amdgpu.modeset=0"), ("modprobe.blacklist=nouveau,amdgpu", "default", "modprobe.blacklist=nouveau,amdgpu"),
        ("module_blacklist=amdgpu", "default", "module_blacklist=amdgpu"), ("rd.driver.blacklist=amdgpu", "default", "rd.driver.blacklist=amdgpu"),
        ("modprobe.blacklist=nouveau", "default", None), ("amdgpu.modeset=1", "default", None),
        ("iommu=nonsense", "default", None),
    ],
)  # fmt: skip
def test_command_lines(line: str, iommu: str, nomodeset: str | None) -> None:
    got = values({"proc/cmdline": line + "\n"})
    assert (got["iommu"], got["nomodeset"]) == (iommu, nomodeset)


@pytest.mark.parametrize(
    ("uname", "platform", "kernel"),
    [("Linux 6.18.44 x86_64", "linux", "6.18.44"), ("Windows 10.0.26100 AMD64", "windows", None),
     ("Darwin 24.1.0 arm64", "macos", None),
     ("Linux box 5.15.0-1-amd64 #1 SMP x86_64 GNU/Linux", "linux", "5.15.0-1-amd64")],
)  # fmt: skip
def test_uname(uname: str, platform: str, kernel: str | None) -> None:
    got = values({"uname": uname + "\n"})
    assert (got["platform"], got.get("kernel")) == (platform, kernel)


def test_wsl() -> None:
    assert values({"proc/version": "Linux version 5.15.167.4-microsoft-standard-WSL2 (root@x)\n"})["wsl"] is True


@pytest.mark.parametrize(("data", "on"), [("06 00 00 00 01", True), ("06 00 00 00 00", False), ("01", None), ("", None)])
def test_secure_boot(data: str, on: bool | None) -> None:
    assert values({"sys/firmware/efi/efivars/SecureBoot-8be4df61": data + "\n"}).get("secure_boot") is on


def test_secure_boot_from_the_variable_itself(tmp_path: Path) -> None:
    path = tmp_path / "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"\x06\x00\x00\x00\x01")
    assert probe(Artifacts(host_files(tmp_path))).facts["secure_boot"].value is True


def test_user_and_limits() -> None:
    got = values({"user/groups": "uid: 1000\ngids: 1000 109\ngroups: me render\n", "limits/process": "memlock: -1\nglibc: 2.39\n",
                  "dev/shm": "exists: yes\nsize: 67108864\n"})  # fmt: skip
    assert got == {
        "user.root": False, "user.gids": ("1000", "109"), "user.groups": ("me", "render"), "glibc": "2.39", "memlock_bytes": -1,
        "shm_bytes": 67108864,
    }  # fmt: skip


def test_nothing_is_made_up() -> None:
    assert values({}) == {}
    assert values({"proc/meminfo": "MemTotal: lots\n", "proc/sys/kernel/numa_balancing": "x\n", "user/groups": "uid\n"}) == {}
