"""The words that rocminfo fails with, or prints before its list: driver, /dev/kfd, groups, WSL, the HSA error."""

from __future__ import annotations

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.bounded.texts import whole
from rocm_doctor.model import Artifact, Reading
from rocm_doctor.probes.read.printed import Line, line_reading, lines
from rocm_doctor.probes.read.result import ProbeResult

_HSA = {
    0x1000: "HSA_STATUS_ERROR",
    0x1001: "HSA_STATUS_ERROR_INVALID_ARGUMENT",
    0x1003: "HSA_STATUS_ERROR_INVALID_ALLOCATION",
    0x1004: "HSA_STATUS_ERROR_INVALID_AGENT",
    0x1008: "HSA_STATUS_ERROR_OUT_OF_RESOURCES",
    0x100B: "HSA_STATUS_ERROR_NOT_INITIALIZED",
}
"""Numbers of hsa.h, which rocminfo of ROCm 1.x and 2.x printed in place of the names."""
_OPEN = regex(
    r"Unable to open /dev/kfd read-write: ([A-Z][A-Za-z ,/'-]{3,60}?)"
    r"(?= {2}|\.|$| \S{1,40} is (?:not )?member| Failed to)"
)
_MODULE = regex(r"ROCk module version (\d+(?:\.\d+){1,3}) is loaded")
_MEMBER = regex(r"(\S{1,40}) is (?:not )?member of \"?([a-z]+)\"? group")
_STATUS = regex(r"(?:Call returned|returned|code:) (HSA_STATUS_ERROR\w*|\d{4})")


def record_failures(result: ProbeResult, artifact: Artifact) -> None:
    """Record what these lines say about the machine. Fixed phrases count even in an unfinished last line, values do not."""
    wsl = "WSL environment detected" in artifact.text
    for line in lines(artifact):
        reading = line_reading(artifact, line)
        if "ROCk module" in line.text and not wsl:
            _record_module(result, line, reading)
        if "WSL environment detected" in line.text:
            result.record("wsl", True, reading)
        if "/dev/kfd" in line.text:
            _record_kfd(result, line, reading)
        if "is member of" in line.text and (group := _MEMBER.search(line.text)):
            result.record("user.member_of", group.group(2), reading)
        if (user := _MEMBER.search(line.text)) and user.group(1) == "root":
            result.record("user.root", True, reading)
        if "returned" in line.text or "hsa_init Failed" in line.text:
            _record_status(result, line, reading)


def _record_module(result: ProbeResult, line: Line, reading: Reading) -> None:
    """`NOT loaded` is also printed where /sys is not mounted, in containers; inside WSL it is always so and means nothing."""
    if "ROCk module is NOT loaded" in line.text:
        result.record("driver.loaded", False, reading)
    elif "ROCk module is loaded" in line.text:
        result.record("driver.loaded", True, reading)
    elif version := _MODULE.search(line.text):
        result.record("driver.loaded", True, reading)
        result.record("driver.version", version.group(1), reading)


def _record_kfd(result: ProbeResult, line: Line, reading: Reading) -> None:
    found = _OPEN.search(line.text)
    if not found:
        return
    result.record("kfd.openable", False, reading)
    if line.whole or found.end() < len(line.text):
        result.record("kfd.error", found.group(1), reading)
    if found.group(1) == "No such file or directory":
        result.record("kfd.exists", False, reading)


def _record_status(result: ProbeResult, line: Line, reading: Reading) -> None:
    if "hsa_init Failed" in line.text:
        result.record("hsa.status", "hsa_init failed", reading)
    elif (found := _STATUS.search(line.text)) and (line.whole or found.end() < len(line.text)):
        word = found.group(1)
        result.record("hsa.status", word if (number := whole(word)) is None else _HSA.get(number, word), reading)
