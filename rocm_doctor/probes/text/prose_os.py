"""The operating system that a person names: distribution, Windows, and the Linux inside Windows (WSL)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Reading
from rocm_doctor.probes.read.result import ProbeResult
from rocm_doctor.probes.text.prose_text import NEGATED, Sentence, stance

_DISTRIBUTIONS = regex(
    r"(?<![\w/.-])(Ubuntu(?: Server| Desktop)?|Debian|Fedora(?: Linux)?|Arch(?: Linux)?|Manjaro|CachyOS|EndeavourOS|Garuda|NixOS"
    r"|openSUSE(?: Leap| Tumbleweed)?|SLES|RHEL|Red Hat Enterprise Linux|Rocky(?: Linux)?|AlmaLinux|CentOS(?: Stream)?"
    r"|Oracle Linux"
    r"|Linux Mint|Pop!_OS|KDE neon|Proxmox(?: VE)?|Gentoo|Void Linux|Bazzite|SteamOS|Nobara(?: Linux)?|Kubuntu|Xubuntu"
    r"|Zorin OS|Alpine"
    r"|Slackware|Unraid)"
    r"(?![\w@]|-based)(?:[\s:-]{1,3}(?:version\s*:?\s*)?[v(]?"
    r"(\d{1,2}(?:\.\d{1,2}){0,2}(?![\d.-]*\d)(?: LTS)?|rawhide|tumbleweed|testing|sid|stable|unstable)\b)?(?![.-]\d)",
    re.I,
)
_EVERYDAY = frozenset(("arch", "alpine", "rocky", "sles"))
_WINDOWS = regex(r"\bWindows\s?(?:1[01]|Server(?: 20\d\d)?)(?:\s(?:Pro|Home|Enterprise))?|\bWin ?1[01]\b")
_ON_WINDOWS = regex(
    r"\b(?:on|under|for|in) Windows\b|\bPS C:\\|\bC:\\Users|WinError|\.exe\b|\\Scripts\\|\bHIP SDK\b|\bAdrenalin\b"
    r"|^Windows[,.:]|,\s*Windows[.,]|^\W*(?:OS|Operating system|Platform)\W{1,4}Windows\b",
    re.I,
)
_WORKS_ON_WINDOWS = regex(
    r"\b(?:work(?:s|ed|ing)?|runs?|ran|fine|ok(?:ay)?) (?:fine |well |great )?(?:on|under|in) windows\b(?! ?1[01])"
    r"|\b(?:on|under|in) windows,? (?:it|everything|all|that|this|the same \w+) (?:\w+ )?(?:works?|worked|runs?|ran|is (?:fine|ok(?:ay)?))\b",
    re.I,
)
"""Windows as the system beside the one that the text is about."""
_ON_LINUX = regex(
    r"/opt/rocm|/opt/amdgpu|/dev/(?:kfd|dri)|/sys/|\b(?:dmesg|modprobe|amdgpu-dkms|dkms|sudo|apt|apt-get|dnf|pacman"
    r"|systemctl|manylinux\w*|linux_x86_64)\b"
    r"|/home/|/usr/(?:lib|local|bin)|/lib/python3|\.so(?:\.\d+)*\b|\bLinux\b|\bkernel:? \d\.\d|\bkernel \d\.\d"
)
_SMALL = regex(
    r"(?<![\w/.:-])(?:ubuntu|debian|fedora|manjaro|cachyos|endeavouros|nixos|opensuse|rhel|centos|almalinux|kubuntu|gentoo)(?![\w@:/.-])"
)
"""A distribution in small letters says Linux; its name may be that of an image, so it does not become `os`."""
_WSL = regex(r"\bWSL\s?2?\b|microsoft-standard|\broc4wsl\b|\blibrocdxg\b|/dev/dxg")
_BASED_ON = regex(r"\b(?:based on|derived from|host(?:ed)? (?:is |runs |on )?)\s*$", re.I)
_VERSION_ALONE = regex(r"\s*(?:operating system|os|ubuntu|distro) version\s*:\s*(\d\d\.\d\d(?:\.\d)?)", re.I)

Named = tuple[str, Reading]


def record_os(result: ProbeResult, text: Sequence[Sentence]) -> None:
    """os, platform and wsl. Inside WSL the system is the Linux; else the first one named, with its version if there is one."""
    linux: list[Named] = []
    windows: list[Named] = []
    first = ""
    for sentence in text:
        wsl = _WSL.search(sentence.text)
        if wsl:
            result.record("wsl", not NEGATED.search(sentence.text[: wsl.start()]), sentence.reading)
        linux += _linux(sentence)
        windows += [] if wsl else _windows(sentence)
        first = first or ("linux" if linux else "windows" if windows else "")
    wsl_fact = result.facts.get("wsl")
    if wsl_fact is not None and wsl_fact.value:
        _say(result, "linux", linux, wsl_fact.readings[0])
    elif first:
        chosen = linux if first == "linux" else windows
        _say(result, first, chosen, chosen[0][1])
    else:
        sign = next((s for s in text if _ON_LINUX.search(s.text) or _SMALL.search(s.text)), None)
        if sign:
            result.record("platform", "linux", sign.reading)


def _say(result: ProbeResult, platform: str, named: list[Named], reading: Reading) -> None:
    """The first name with a version, else the first name; a separate version is joined to a name without one."""
    result.record("platform", platform, reading)
    full = [n for n in named if any(c.isdigit() for c in n[0])]
    names = [n for n in named if n[0] and n not in full]
    if names and full and full[0][0][0].isdigit():
        result.record("os", f"{names[0][0]} {full[0][0]}", names[0][1])
    elif full or names:
        result.record("os", *(full or names)[0])


def _linux(sentence: Sentence) -> list[Named]:
    alone = _VERSION_ALONE.match(sentence.text)
    found = next((f for f in _DISTRIBUTIONS.finditer(sentence.text) if not _named_only(sentence.text, f)), None)
    if found:
        return [(" ".join(p for p in found.groups() if p), sentence.reading)]
    return [(alone.group(1), sentence.reading)] if alone else []


def _windows(sentence: Sentence) -> list[Named]:
    found = _WINDOWS.search(sentence.text) or _ON_WINDOWS.search(sentence.text)
    if found is None or stance(sentence.text, *found.span()) == "elsewhere" or _WORKS_ON_WINDOWS.search(sentence.text):
        return []
    return [(found.group(0) if _WINDOWS.match(found.group(0)) else "", sentence.reading)]


def _named_only(text: str, found: re.Match[str]) -> bool:
    """True for a distribution that is only compared with, that built a compiler, or whose name is an everyday word here."""
    name, version = found.group(1), found.group(2)
    before = text[max(0, found.start() - 40) : found.start()]
    if not version and (name[0].islower() or re.match(r"[\s:-]{0,3}\(?\d", text[found.end() : found.end() + 6])):
        return True
    if name.lower() in _EVERYDAY and not version and not re.search(r"(?:^|on |under |in |host |is |: |, )$", before, re.I):
        return True
    return bool(_BASED_ON.search(before)) or stance(text, *found.span()) in ("elsewhere", "maybe", "past")
