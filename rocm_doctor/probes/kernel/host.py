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
wsl = False
os = Ubuntu 24.04.2 LTS
cmdline = BOOT_IMAGE=/vmlinuz root=/dev/sda2 quiet nomodeset
iommu = default
nomodeset = nomodeset
ram_bytes = 33554432000
"""

from __future__ import annotations

import re

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Reading
from rocm_doctor.probes.read.keyed import Entry, first_value, read_keys
from rocm_doctor.probes.read.result import Artifacts, ProbeResult

_RELEASE = regex(r"(\d+\.\d+(?:\.\d+)?[\w.+~-]*)")
_PLATFORMS = {"linux": "linux", "windows": "windows", "darwin": "macos"}
_WSL = regex(r"microsoft|wsl2", re.IGNORECASE)
_NO_DRIVER = regex(r"^(?:nomodeset|amdgpu\.modeset=0|(?:rd\.)?(?:modprobe|module|driver)[._]blacklist=(?:\S*,)?amdgpu(?:,\S*)?)$")
_IOMMU = {"pt": "pt", "on": "on", "force": "on", "off": "off", "soft": "off", "force_isolation": "on", "nopt": "on"}


def probe(artifacts: Artifacts) -> ProbeResult:
    """host.*, platform, os, kernel, cmdline, cpu, memory, limits, secure_boot, numa_balancing, wsl and the user's groups."""
    result = ProbeResult()
    _record_system(result, artifacts)
    _record_command_line(result, artifacts)
    _record_memory(result, artifacts)
    _record_limits(result, artifacts)
    _record_user(result, artifacts)
    _record_name(result, artifacts)
    _record_firmware(result, artifacts)
    return result


def _record_system(result: ProbeResult, artifacts: Artifacts) -> None:
    for name in ("proc/sys/kernel/osrelease", "proc/version", "uname"):
        entry = first_value(artifacts.get(name))
        if entry:
            _record_kernel(result, name, entry)
    release = read_keys(artifacts.get("etc/os-release") or artifacts.get("usr/lib/os-release"), "=")
    title = release.get("PRETTY_NAME") or release.get("NAME")
    if title:
        result.record("os", title.value.strip("\"'"), title.reading)
    model = read_keys(artifacts.get("proc/cpuinfo"), ":").get("model name")
    if model:
        result.record("cpu", model.value, model.reading)
    balancing = first_value(artifacts.get("proc/sys/kernel/numa_balancing"))
    if balancing and balancing.value in ("0", "1", "2"):
        result.record("numa_balancing", balancing.value != "0", balancing.reading)


def _record_kernel(result: ProbeResult, name: str, entry: Entry) -> None:
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


def _record_memory(result: ProbeResult, artifacts: Artifacts) -> None:
    total = read_keys(artifacts.get("proc/meminfo"), ":").get("MemTotal")
    size = re.fullmatch(r"(\d{1,15}) kB", total.value) if total else None
    if total and size:
        result.record("ram_bytes", int(size.group(1)) * 1024, total.reading)
    shared = read_keys(artifacts.get("dev/shm"), ":").get("size")
    if shared and shared.number is not None:
        result.record("shm_bytes", shared.number, shared.reading)


def _record_limits(result: ProbeResult, artifacts: Artifacts) -> None:
    process = read_keys(artifacts.get("limits/process"), ":")
    if "glibc" in process:
        result.record("glibc", process["glibc"].value, process["glibc"].reading)
    if "memlock" in process and process["memlock"].number is not None:
        result.record("memlock_bytes", process["memlock"].number, process["memlock"].reading)
    limits = artifacts.text("proc/self/limits") or ""
    line = re.search(r"^Max locked memory\s+(unlimited|\d{1,20})\s.*$", limits, re.MULTILINE)
    if line:
        soft = -1 if line.group(1) == "unlimited" else int(line.group(1))
        result.record("memlock_bytes", soft, Reading("proc/self/limits", "", " ".join(line.group().split())))


def _record_name(result: ProbeResult, artifacts: Artifacts) -> None:
    """host.hostname; host.id, a hash of the machine id. A redacted bundle has pseudonyms in their place."""
    known = read_keys(artifacts.get("host"), ":")
    for key, fact in (("name", "host.hostname"), ("id", "host.id")):
        if key in known and "<" not in known[key].value:
            result.record(fact, known[key].value, known[key].reading)


def _record_user(result: ProbeResult, artifacts: Artifacts) -> None:
    user = read_keys(artifacts.get("user/groups"), ":")
    if "uid" in user:
        result.record("user.root", user["uid"].value == "0", user["uid"].reading)
    for key, name in (("user.gids", "gids"), ("user.groups", "groups"), ("user.joined", "joined")):
        if name in user:
            result.record(key, tuple(user[name].value.split()), user[name].reading)


def _record_firmware(result: ProbeResult, artifacts: Artifacts) -> None:
    """Secure boot: the fifth byte of the EFI variable (the first four are its attributes)."""
    for artifact in artifacts.like("sys/firmware/efi/efivars/SecureBoot-*"):
        data = artifact.text.split()
        if len(data) == 5 and data[4] in ("00", "01"):
            result.record("secure_boot", data[4] == "01", Reading(artifact.name, "byte 5", artifact.text.strip()))
