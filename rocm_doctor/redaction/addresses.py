"""Ids and addresses that are known by their shape: UUIDs, MAC and IP addresses, mail, ids of containers."""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.redaction.rules import Spans, disjoint

_HEX = "0123456789abcdefABCDEF"


def identifies(value: str) -> bool:
    """Whether an id or serial says anything: `0`, `N/A`, `GPU-XX` and all-zero ids name no card."""
    return len(value) >= 5 and any(c.isdigit() for c in value) and len(set(value.removeprefix("0x")) - {"-"}) > 1


_UUID = regex(r"-(?<=[0-9a-fA-F]{8}-)[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}(?![0-9a-fA-F])")
_GPU_UUID = regex(r"GPU-[0-9a-fA-F]{16}(?![0-9a-fA-F])")


_SHORT_UUID = regex(r"UUID=[\"']?([0-9a-fA-F]{4,16}(?:-[0-9a-fA-F]{1,8})?)(?![\w-])")


def uuids(text: str) -> Spans:
    """UUIDs in the usual form, the 16 digits of the runtime's `GPU-...`, and the short ones of disks (`PARTUUID=1a2b3c4d-02`).

    Ids of one repeated digit name nothing and stay.
    """
    found = [(m.start() - 8, m.end()) for m in _UUID.finditer(text)] if "-" in text else []
    if "GPU-" in text:
        found += [(m.start() + 4, m.end()) for m in _GPU_UUID.finditer(text)]
    if "UUID=" in text:
        found += [m.span(1) for m in _SHORT_UUID.finditer(text)]
    return disjoint([(start, end) for start, end in found if identifies(text[start:end])])


_MAC = regex(r"([:-])(?<=[0-9a-fA-F]{2}[:-])[0-9a-fA-F]{2}(?:\1[0-9a-fA-F]{2}){4,62}(?![0-9a-fA-F:-])")
_OTHER_MACS = (
    ("\\:", regex(r"(?<![0-9a-zA-Z])[0-9a-fA-F]{2}(?:\\{1,2}:[0-9a-fA-F]{2}){5}(?![0-9a-fA-F])")),
    ("%3", regex(r"(?<![0-9a-zA-Z])[0-9a-fA-F]{2}(?:%3[aA][0-9a-fA-F]{2}){5}(?![0-9a-fA-F])")),
    ("dev_", regex(r"(?<=dev_)[0-9A-F]{2}(?:_[0-9A-F]{2}){5}(?![0-9A-Za-z])")),
    (".", regex(r"(?<![\w.])(?=[0-9.]{0,14}[a-f])[0-9a-f]{4}\.[0-9a-f]{4}\.[0-9a-f]{4}(?![\w.])")),
)
"""Ethernet addresses whose colons a program escaped (`nmcli -t`, a URL, D-Bus), and as switches print them."""


def macs(text: str) -> Spans:
    """Ethernet addresses, fingerprints of certificates, GUIDs. A PCI address has only one colon before its dot and never fits."""
    for m in _MAC.finditer(text):
        start = m.start() - 2
        if text[start - 1 : start + 2].upper() == "MAC":
            start += 3
        elif start and (text[start - 1].isalnum() or text[start - 1] in ":-"):
            continue
        if identifies(m[0]):
            yield start, m.end()
    for sign, pattern in _OTHER_MACS:
        if sign in text:
            yield from (m.span() for m in pattern.finditer(text))


_QUAD = regex(r"\.(?<=\d\.)\d{1,3}\.\d{1,3}\.\d{1,3}(?![\w.+~-]|\.\d)|\.(?<=\d\.)\d{1,3}\.\d{1,3}\.\d{1,3}(?=\.(?:\s|$))")
_VERSION_BEFORE = regex(
    r"(?:[<>=!~]=|[<>~^@]|[\w+~.-]|(?:\b|_)(?:version|ver|release|rocm|hip|hsa|driver|amdgpu|firmware|kernel|python|torch|library|adrenalin|cmake"
    r"|chrome|chromium|build|revision|rev|smc|vbios|bios|amdsmi|smi|triton|package|tool|clang|gcc|llvm|windows|ubuntu|sdk|runtime|installed)"
    r"\b[\w\s]{0,12}[\"')]*\s{0,40}[:=]?\s{0,40}[\"'(]?v?)$",
    re.I,
)
_PACKAGE_BEFORE = regex(
    r"(?:^|[\s(\"'])(?:(?:amd|amdgpu|google|hip\w*|jax|nvidia|onnxruntime|opencv|python|pytorch|rocm|tensorflow|torch|types)[-_][\w-]{1,40}"
    r"|lib[a-z][\w-]*|cu[a-z]+|[nr]ccl)\"?\s{0,30}[:=]?\s{0,30}\"?$"
)
"""A package's name, as pip lists it: `nvidia-cublas 13.1.1.3`."""
CONDA_BUILD = r"(?:(?:[a-z0-9]{1,12}_){0,4}(?:h?[0-9a-f]{7}|pyh\w{5,9}|py[23][\w.]{0,40}|pypi)_\d{1,3}|\d{1,2}_[a-z][a-z0-9]{2,12}(?:_mkl)?)(?!\w|\.\d)"
"""A build of conda's, behind a version: `h5eee18b_0`, `rocm62_py312h3c4b7d3_305`."""
_BUILD_AFTER = regex(rf"[ \t=-]{{1,30}}{CONDA_BUILD}")
_ADDRESS_BEFORE = regex(
    r"(?:(?:\b|_)(?:inet|addr(?:ess)?|ip|from|to|via|host|server|peer|gateway|nameserver|ssh|scp|ping|curl|connect\w*)\b[\s:=(\"'\[]*|://|@)$",
    re.I,
)
_UPGRADE = regex(r"\b(?:bump|upgrad|downgrad|updat)\w{0,9}\b[^\n]* (?:from|to) v?(?:\d[\w.]* to v?)?$", re.I)
_PORT = regex(r"[:#/]\d{1,5}(?![\d.])|<\d>")
_PRIVATE = ("192.168.", "169.254.", *(f"172.{n}." for n in range(16, 32)))


def ips(text: str) -> Spans:
    """Addresses of machines. Four numbers after a version's word or operator, or with leading zeros, are a version: 6.3.0.1."""
    return disjoint([*_ipv4(text), *_ipv6(text)])


def _ipv4(text: str) -> Spans:
    for m in _QUAD.finditer(text):
        start = m.start()
        while start and text[start - 1].isdigit():
            start -= 1
        value = text[start : m.end()]
        if _is_ipv4(value) and not (text[max(0, start - 1) : start] or " ").isalnum():
            before = text[max(0, start - 40) : start].rsplit("\n", 1)[-1]
            private = value.startswith(_PRIVATE) and not before.endswith("==")
            login = before.endswith("@")
            address = login and "://" in before
            if value[1] == "." and not (address or _ADDRESS_BEFORE.search(before) or _PORT.match(text, m.end())):
                continue  # the first number of a version, and of few addresses
            if _UPGRADE.search(before) and not login:
                continue
            named = _VERSION_BEFORE.search(before) or _PACKAGE_BEFORE.search(before) or _BUILD_AFTER.match(text, m.end())
            if private or login or not named:
                yield start, m.end()


def _is_ipv4(value: str) -> bool:
    parts = value.split(".")
    if value.endswith(".0.0") and parts[0] != "10":
        return False  # a network's name, and far more often a version: 24.2.0.0
    plain = all(p == str(int(p)) and int(p) < 256 for p in parts)
    return plain and parts[0] not in ("0", "127", "255")


_GROUPS = regex(r"[0-9a-fA-F:]*")
_LONGEST = 45
"""Letters of the longest IPv6 address."""
_DOUBLE_COLON = regex(r"::|:[0-9a-fA-F]{1,4}:[0-9a-fA-F]{1,4}:[0-9a-fA-F]{1,4}:")


def _ipv6(text: str) -> Spans:
    done = 0
    for m in _DOUBLE_COLON.finditer(text):
        if m.start() < done:
            continue
        start, end = m.span()
        before = text[max(done, start - _LONGEST) : start]
        start -= len(before) - len(before.rstrip(_HEX + ":"))
        done = end = _GROUPS.match(text, end).end()  # type: ignore[union-attr]
        if text[start:end].endswith(":") and not text[start:end].endswith("::"):
            end -= 1
        if _is_ipv6(text[start:end], text[max(0, start - 1) : start], text[end : end + 1]):
            yield start, end


def _is_ipv6(value: str, before: str, after: str) -> bool:
    """A written IPv6 address, and no piece of C++ (`c10::d`, `a::b`) or a time: it has a group of four digits or many colons."""
    if before.isalnum() or before == "_" or after.isalnum() or after == "_" or not any(c.isdigit() for c in value):
        return False
    if value.count(":") < 3 and not re.match(r"[0-9a-fA-F]{4}:", value):
        return False
    return _is_address(value)


@lru_cache(4096)
def _is_address(value: str) -> bool:
    """Whether the words are an IPv6 address, and not this machine's own. Cached: a log repeats its few addresses."""
    try:
        return not ipaddress.IPv6Address(value).is_loopback
    except ValueError:
        return False


_EMAIL = regex(r"@(?<=[\w.+-]@)[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}(?![\w@/(])")


def emails(text: str) -> Spans:
    """Mail addresses; the login `git@` of a forge is nobody's."""
    for m in _EMAIL.finditer(text):
        start = m.start()
        while start and (text[start - 1].isalnum() or text[start - 1] in "._+-"):
            start -= 1
        if text[start : m.start()] not in ("git", ""):
            yield start, m.end()


_CONTAINER = regex(r"(?<![0-9a-zA-Z])[0-9a-f]{64}(?![0-9a-zA-Z])")
_LONG_HEX = regex(r"[0-9a-f]{64}")
_CONTAINER_WORDS = ("docker", "libpod", "containerd", "crio", "containers", "kubepods", "lxc")
_CGROUP = regex(r"^\d{1,3}:[\w=,.-]{0,80}:/[^\n]{0,400}$", re.M)
_SEGMENT = regex(r"(?<=[/:_.-])[0-9a-f]{24,64}(?![0-9a-z])")
_CGROUP_PATH = regex(r"cgroup/[\w@./:-]{0,400}")


def containers(text: str) -> Spans:
    """The ids of containers: in control groups, in mount paths, alone on a line. The digest of an image is public and stays."""
    spans = [m.span() for line in _CGROUP.finditer(text) for m in _SEGMENT.finditer(text, *line.span())] if ":/" in text else []
    if "cgroup/" in text:
        spans += [m.span() for path in _CGROUP_PATH.finditer(text) for m in _SEGMENT.finditer(text, *path.span())]
    for m in _CONTAINER.finditer(text) if _LONG_HEX.search(text) else ():
        before = text[max(0, m.start() - 200) : m.start()].rsplit("\n", 1)[-1]
        alone = not before.strip() and text[m.end() : m.end() + 1] in ("", "\n", "\r")
        if not before.endswith("sha256:") and (alone or any(word in before.lower() for word in _CONTAINER_WORDS)):
            spans.append(m.span())
    return disjoint(spans)


_PHONE = regex(
    r"[(0](?<![\w.:/-][(0])(?<!\d\d [(0])(?:(?<=\()0?\d{2,5}\)[ /-]?\d{2,5}(?:[ .-]?\d{2,5}){1,3}|(?<=0)[1-9](?:(?:[ .-]\d{2}){4}|\d{0,4}[-/ ]\d{2,5}(?:[ -]\d{2,5}){1,2}"
    r"|\d{1,4}[-/ ]{1,3}\d{5,9}|\d{1,4} ?/ ?\d{2,5}(?: \d{2,5}){1,3}))(?![\w:/-]|[.,]\w| \d\d(?: |$))"
)


_PAIRS = regex(r" (?<=(?<![\d.])[1-9]\d\d )\d\d \d\d \d\d(?![\w.:/%-]| \d)")


def phones(text: str) -> Spans:
    """Telephone numbers as they are written inside a country: an area first, then groups of digits."""
    for m in _PHONE.finditer(text):
        if 9 <= sum(map(str.isdigit, m[0])) <= 13:
            yield m.span()
    for m in _PAIRS.finditer(text):
        yield m.start() - 3, m.end()
