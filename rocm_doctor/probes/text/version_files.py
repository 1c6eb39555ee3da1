"""Versions in small files and from package managers: dkms, `.info/version`, apt, dpkg, rpm, pacman, firmware, lsmod, uname.

    ==> cmd/dkms status <==
    amdgpu/6.12.12-2164967.24.04, 6.8.0-60-generic, x86_64: installed

>>> print(probe(sample))
driver.version = 6.12.12
kernel = 6.8.0-60-generic
"""

from __future__ import annotations

import re

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.probes.read.document import Document, Line
from rocm_doctor.probes.read.result import Artifacts, ProbeResult
from rocm_doctor.probes.read.scan import documents, line_pattern, record_rows

_DKMS = regex(r"(?:^|\s)amdgpu(?:/|, )(\d+\.\d+\.\d+)[\w.-]*, (?:([\w.+-]+), \w+: )?(\w+)")
_CORE_RPM = r"rocm-core(?:\d[\d.]*)?-(\d+\.\d+\.\d+)[.-]"
_FIRMWARE = regex(r"\bMES feature version: \d+, firmware version: (0x[0-9a-fA-F]+)")
_KERNEL_RELEASE = r"(\d+\.\d+\.\d+[\w.+~-]*)"

SAYS = (
    line_pattern("rocm-core", r"^ii\s+rocm-core\s+(\d+\.\d+\.\d+)\.\d{5}", "rocm.version"),
    line_pattern("rocm-core", r"^rocm-core/\S+ (\d+\.\d+\.\d+)\.\d{5}\S* .*\[installed", "rocm.version"),
    line_pattern("rocm-core", rf"(?:^|\s){_CORE_RPM}", "rocm.version"),
    line_pattern("rocm-core", r"(?:^|\s|/)rocm-core (\d+\.\d+\.\d+)-\d", "rocm.version"),
    line_pattern("rocm-hip-", r"(?:^|\s|/)rocm-hip-(?:runtime|libraries|sdk) (\d+\.\d+\.\d+)-\d", "rocm.version"),
    line_pattern("pytorch", r"(?:^|\s|/)(?:python-)?pytorch(?:-opt)?-rocm (\d+\.\d+\.\d+)-\d", "torch.version"),
    line_pattern("amdgpu-dkms", r"^ii\s+amdgpu-dkms\s+(?:\d:)?(\d+\.\d+\.\d+)[.-]", "driver.version"),
    line_pattern("amdgpu-dkms", r"(?:^|\s|/)amdgpu-dkms[ -](?:\d:)?(\d+\.\d+\.\d+)[.-]\d", "driver.version"),
    line_pattern("linux version ", rf"^.{{0,60}}Linux version {_KERNEL_RELEASE}", "kernel"),
    line_pattern("linux ", rf"^Linux \S+ {_KERNEL_RELEASE} #\d", "kernel"),
    line_pattern("pretty_name=", r"^PRETTY_NAME=\"?([^\"\n]+)", "os"),
    line_pattern(
        "description:",
        r"^Description:\s+((?:Ubuntu|Debian|Linux Mint|Fedora|Rocky|AlmaLinux|Red Hat|SUSE|openSUSE|Arch)[^\n]{0,60})$",
        "os",
    ),
)
_PACKAGE_OF = {
    "rocm-core": "rocm.version",
    "rocm-libs": "rocm.version",
    "rocm": "rocm.version",
    "rocm-dev": "rocm.version",
    "amdgpu-dkms": "driver.version",
}


def probe(artifacts: Artifacts) -> ProbeResult:
    """rocm.version, driver.version, driver.loaded, kernel, os, firmware.mes."""
    result = ProbeResult()
    for document in documents(
        artifacts,
        "versions",
        "cmd/dkms*",
        "cmd/apt*",
        "cmd/dpkg*",
        "cmd/rpm*",
        "cmd/lsmod*",
        "sys/kernel/debug/dri/*firmware_info",
    ):
        record_rows(result, document, SAYS, str.strip)
        _record_dkms(result, document)
        _record_packages(result, document)
        _record_firmware(result, document)
        _record_lsmod(result, document)
    return result


def _record_dkms(result: ProbeResult, document: Document) -> None:
    """driver.version and kernel from `dkms status`; a build that is not installed gives no driver version."""
    built: list[tuple[str, Line]] = []
    for line in document.find_lines("amdgpu/", "amdgpu, ", most=20):
        found = _DKMS.search(line.text)
        if found and found.group(3) == "installed":
            result.record("driver.version", found.group(1), document.reading(line))
            built.append((found.group(2) or "", line))
    if len({kernel for kernel, _ in built}) == 1 and built[0][0]:
        result.record("kernel", built[0][0], document.reading(built[0][1]))


def _record_packages(result: ProbeResult, document: Document) -> None:
    """Versions from records of apt, dpkg and rpm: `Package:` (or `Name`) and `Version` within a few lines."""
    for line in document.find_lines("package: ", "name        : ", most=40):
        name = re.match(r"\s*(?:Package: |Name\s+: )([\w.-]+)\s*$", line.text)
        fact = _PACKAGE_OF.get(name.group(1)) if name else None
        for following in document.after(line, 8) if fact else ():
            version = re.match(r"\s*Version\s*: (?:\d:)?(\d+\.\d+\.\d+)", following.text)
            if version and fact:
                result.record(
                    fact, version.group(1), document.reading(following, f"{line.text.strip()} {following.text.strip()}")
                )
                break


def _record_firmware(result: ProbeResult, document: Document) -> None:
    for line in document.find_lines("mes feature version", most=5):
        found = _FIRMWARE.search(line.text)
        if found:
            result.record("firmware.mes", found.group(1), document.reading(line))


def _record_lsmod(result: ProbeResult, document: Document) -> None:
    for line in document.find_lines("amdgpu ", most=40):
        if re.match(r"\s*amdgpu\s+\d{5,}\s+-?\d+", line.text):
            result.record("driver.loaded", True, document.reading(line))
