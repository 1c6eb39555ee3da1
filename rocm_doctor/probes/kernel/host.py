"""The host: name, system, kernel and its command line, memory and limits, groups of the user, and secure boot.

    ==> proc/sys/kernel/osrelease <==
    6.8.0-60-generic
    ==> etc/os-release <==
    PRETTY_NAME="Ubuntu 24.04.2 LTS"
    ==> proc/cmdline <==
    BOOT_IMAGE=/vmlinuz root=/dev/sda2 quiet nomodeset
    ==> proc/meminfo <==
    MemTotal:       32768000 kB

>>> print(probe(sample))
platform = linux
kernel = 6.8.0-60-generic
wsl = no
os = Ubuntu 24.04.2 LTS
cmdline = BOOT_IMAGE=/vmlinuz root=/dev/sda2 quiet nomodeset
iommu = default
nomodeset = nomodeset
ram_bytes = 33554432000
"""

from __future__ import annotations

import re

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Reading, Value
from rocm_doctor.probes.read.keyed import KeyedValue, first_value, parse_number, read_keys
from rocm_doctor.probes.read.pairs import Keys, record_entries
from rocm_doctor.probes.read.printed import size
from rocm_doctor.probes.read.result import Artifacts, ProbeResult

_RELEASE = regex(r"(\d+\.\d+(?:\.\d+)?[\w.+~-]*)")
_PLATFORMS = {"linux": "linux", "windows": "windows", "darwin": "macos"}
_WSL = regex(r"microsoft|wsl2", re.IGNORECASE)
_NO_DRIVER = regex(r"^(?:nomodeset|amdgpu\.modeset=0|(?:rd\.)?(?:modprobe|module|driver)[._]blacklist=(?:\S*,)?amdgpu(?:,\S*)?)$")
_IOMMU = {"pt": "pt", "on": "on", "force": "on", "off": "off", "soft": "off", "force_isolation": "on", "nopt": "on"}


def _words(value: str) -> Value:
    return tuple(value.split())


def _own_name(value: str) -> Value:
    """The name; None for the pseudonym (`<host-1>`) of a redacted bundle."""
    return None if "<" in value else value


_KEYED: tuple[tuple[str, str, Keys], ...] = (
    ("proc/cpuinfo", ":", {"model name": ("cpu", str)}),
    ("proc/meminfo", ":", {"MemTotal": ("ram_bytes", size)}),
    ("dev/shm", ":", {"size": ("shm_bytes", parse_number)}),
    ("limits/process", ":", {"glibc": ("glibc", str), "memlock": ("memlock_bytes", parse_number)}),
    ("user/groups", ":", {"uid": ("user.root", "0".__eq__), "gids": ("user.gids", _words), "groups": ("user.groups", _words), "joined": ("user.joined", _words)}),
    ("host", ":", {"name": ("host.hostname", _own_name), "id": ("host.id", _own_name)}),
)  # fmt: skip
"""Artifact, separator, and the fact of each key. `id` is a hash of the machine's own."""


def probe(artifacts: Artifacts) -> ProbeResult:
    """host.*, platform, os, kernel, cmdline, cpu, memory, limits, secure_boot, numa_balancing, wsl and the user's groups."""
    result = ProbeResult()
    _record_system(result, artifacts)
    _record_command_line(result, artifacts)
    for name, separator, keys in _KEYED:
        record_entries(result, None, read_keys(artifacts.get(name), separator), keys)
    _record_firmware(result, artifacts)
    return result


def _record_system(result: ProbeResult, artifacts: Artifacts) -> None:
    for name in ("proc/sys/kernel/osrelease", "proc/version", "uname"):
        entry = first_value(artifacts.get(name))
        if entry:
            _record_kernel(result, name, entry)
    release = read_keys(artifacts.get("etc/os-release") or artifacts.get("usr/lib/os-release"), "=")
    if title := release.get("PRETTY_NAME") or release.get("NAME"):
        result.record("os", title.value.strip("\"'"), title.reading)
    balancing = first_value(artifacts.get("proc/sys/kernel/numa_balancing"))
    if balancing and balancing.value in ("0", "1", "2"):
        result.record("numa_balancing", balancing.value != "0", balancing.reading)


def _record_kernel(result: ProbeResult, name: str, entry: KeyedValue) -> None:
    """Kernel release and platform; proc/version and uname name the system before the release, osrelease is the release alone."""
    system = entry.value.split()[0].lower() if name != "proc/sys/kernel/osrelease" else "linux"
    platform = _PLATFORMS.get(system)
    if platform:
        result.record("platform", platform, entry.reading)
    release = _RELEASE.search(entry.value)
    if release and platform == "linux":
        result.record("kernel", release.group(1), entry.reading)
        result.record("wsl", bool(_WSL.search(entry.value)), entry.reading)
    elif platform:
        result.record("os", entry.value, entry.reading)


def _record_command_line(result: ProbeResult, artifacts: Artifacts) -> None:
    entry = first_value(artifacts.get("proc/cmdline"))
    if entry:
        record_command_line(result, entry.value, entry.reading)


def record_command_line(result: ProbeResult, text: str, reading: Reading) -> None:
    """cmdline, iommu and nomodeset from the kernel's command line."""
    words = text.split()
    result.record("cmdline", text, reading)
    modes = [_IOMMU[value] for word in words if (value := _iommu_word(word)) in _IOMMU]
    result.record("iommu", modes[-1] if modes else "default", reading)
    result.record("nomodeset", next(filter(_NO_DRIVER.match, words), None), reading)


def _iommu_word(word: str) -> str:
    """The value of `iommu=` or `amd_iommu=`; the first of several (`iommu=pt,...`)."""
    name, _, value = word.partition("=")
    return value.split(",")[0] if name in ("iommu", "amd_iommu") else ""


def _record_firmware(result: ProbeResult, artifacts: Artifacts) -> None:
    """Secure boot: the fifth byte of the EFI variable (the first four are its attributes)."""
    for artifact in artifacts.like("sys/firmware/efi/efivars/SecureBoot-*"):
        data = artifact.text.split()
        if len(data) == 5 and data[4] in ("00", "01"):
            result.record("secure_boot", data[4] == "01", Reading(artifact.name, "byte 5", artifact.text.strip()))
