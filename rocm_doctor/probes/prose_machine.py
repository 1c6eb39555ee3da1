"""The machine that a person describes: distribution, Windows, WSL, container, virtual machine, processor."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rocm_doctor.probes.notes import Notes
from rocm_doctor.probes.prose_text import Sentence, stance

_DISTRIBUTIONS = re.compile(
    r"(?<![\w/.-])(Ubuntu(?: Server| Desktop)?|Debian|Fedora(?: Linux)?|Arch(?: Linux)?|Manjaro|CachyOS|EndeavourOS|Garuda|NixOS"
    r"|openSUSE(?: Leap| Tumbleweed)?|SLES|RHEL|Red Hat Enterprise Linux|Rocky(?: Linux)?|AlmaLinux|CentOS(?: Stream)?"
    r"|Oracle Linux"
    r"|Linux Mint|Pop!_OS|KDE neon|Proxmox(?: VE)?|Gentoo|Void Linux|Bazzite|SteamOS|Nobara|Kubuntu|Xubuntu|Zorin OS|Alpine"
    r"|Slackware|Unraid)"
    r"(?![\w@])(?:[\s:-]{1,3}(?:version\s*)?[v(]?"
    r"(\d{1,2}(?:\.\d{1,2}){0,2}(?![\d.-]*\d)(?: LTS)?|rawhide|tumbleweed|testing|sid|stable|unstable)\b)?(?![.-]\d)",
    re.I,
)
_EVERYDAY = frozenset(("arch", "alpine", "rocky", "sles"))
_WINDOWS = re.compile(r"\bWindows\s?(?:1[01]|Server(?: 20\d\d)?)(?:\s(?:Pro|Home|Enterprise))?|\bWin ?1[01]\b")
_ON_WINDOWS = re.compile(
    r"\b(?:on|under|for|in) Windows\b|\bPS C:\\|\bC:\\Users|WinError|\.exe\b|\\Scripts\\|\bHIP SDK\b|\bAdrenalin\b"
    r"|^Windows[,.:]|,\s*Windows[.,]",
    re.I,
)
_WSL = re.compile(r"\bWSL\s?2?\b|microsoft-standard|\broc4wsl\b|\blibrocdxg\b|/dev/dxg")
_CONTAINERS = (
    ("apptainer", re.compile(r"\b(?:apptainer|singularity)\b", re.I)),
    ("podman", re.compile(r"\bpodman\b", re.I)),
    ("toolbox", re.compile(r"\btool-?box(?:es)?\b", re.I)),
    ("distrobox", re.compile(r"\bdistrobox\b", re.I)),
    ("k8s", re.compile(r"\b(?:kubernetes|k8s|k3s|kubectl)\b", re.I)),
    ("lxc", re.compile(r"\b(?:lxc|lxd|incus)\b", re.I)),
    ("docker", re.compile(r"\bdocker(?:-compose|file)?\b|\brocm/(?:pytorch|vllm|dev-\w+|sgl-dev)\b", re.I)),
    (
        "container",
        re.compile(
            r"\b(?:inside (?:the|a) |in (?:the|a) (?:plain |\S+ )?|this |root@)container\b|\bcontainers?\b"
            r"|\bthe (?:\S+ )?image ran\b",
            re.I,
        ),
    ),
)
_NEGATED = re.compile(r"\b(?:no|not|without|never|outside|isn't|non-|instead of|rather than|unlike)\s+(?:\w+\s+){0,3}$", re.I)
_BARE_METAL = re.compile(r"\bbare[- ]metal\b", re.I)
_GUEST = re.compile(
    r"\b(?:vfio|pci(?:e)?[- ]passthrough|passed? through|passing .{0,40} through|(?:in|inside|to) (?:a|the|my) (?:vm"
    r"|virtual machine|guest)|esxi|hyper-v guest)\b",
    re.I,
)
_BASED_ON = re.compile(r"\b(?:based on|derived from|host(?:ed)? (?:is |runs |on )?)\s*$", re.I)
_CPU = re.compile(
    r"\b((?:AMD )?(?:Ryzen(?:\(TM\))? (?:AI )?(?:Threadripper |\d )?(?:PRO |Max\+? |HX )*\d{3,4}\w{0,3}|EPYC \w{2,6}"
    r"|Threadripper(?: PRO)? \w{4,6}|FX(?:-\d{4})?(?=[\s.,]|$))"
    r"|Intel(?:\(R\))? (?:Core(?:\(TM\))? )?(?:Xeon(?:\(R\))? )?[\w-]+(?: \w+-\w+)?|i[3579]-\d{4,5}\w{0,2})"
)


def say_machine(notes: Notes, text: Iterable[Sentence]) -> None:
    """os, platform, wsl, container, virtual_machine, cpu."""
    for sentence in text:
        _os(notes, sentence)
        _container(notes, sentence)
        cpu = _CPU.search(sentence.text)
        if cpu:
            notes.say("cpu", cpu.group(1), sentence.reading)
        if _GUEST.search(sentence.text):
            notes.say("virtual_machine", "guest", sentence.reading)


def _os(notes: Notes, sentence: Sentence) -> None:
    text = sentence.text
    wsl = _WSL.search(text)
    if wsl:
        notes.say("wsl", not _NEGATED.search(text[: wsl.start()]), sentence.reading)
        notes.say("platform", "linux", sentence.reading)
    for found in _DISTRIBUTIONS.finditer(text):
        if _named_only(text, found):
            continue
        notes.say("os", " ".join(p for p in (found.group(1), found.group(2)) if p), sentence.reading)
        notes.say("platform", "linux", sentence.reading)
    windows = _WINDOWS.search(text) or _ON_WINDOWS.search(text)
    if windows and not wsl and stance(text, *windows.span()) != "elsewhere":
        if _WINDOWS.match(windows.group(0)):
            notes.say("os", windows.group(0), sentence.reading)
        notes.say("platform", "windows", sentence.reading)


def _named_only(text: str, found: re.Match[str]) -> bool:
    """A distribution that the words only compare with, that built a compiler, or whose name is an everyday word."""
    name, version = found.group(1), found.group(2)
    before = text[max(0, found.start() - 40) : found.start()]
    if not version and (name[0].islower() or re.match(r"[\s:-]{0,3}\(?\d", text[found.end() : found.end() + 6])):
        return True
    if name.lower() in _EVERYDAY and not version and not re.search(r"(?:^|on |under |in |host |is |: |, )$", before, re.I):
        return True
    return bool(_BASED_ON.search(before)) or stance(text, *found.span()) in ("elsewhere", "maybe", "past")


def _container(notes: Notes, sentence: Sentence) -> None:
    if _BARE_METAL.search(sentence.text):
        notes.say("container", None, sentence.reading)
        notes.say("virtual_machine", None, sentence.reading)
    for kind, pattern in _CONTAINERS:
        found = pattern.search(sentence.text)
        if found is None or stance(sentence.text, *found.span()) == "elsewhere":
            continue
        notes.say("container", None if _NEGATED.search(sentence.text[: found.start()]) else kind, sentence.reading)
        return
