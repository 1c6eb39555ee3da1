"""The machine that a person describes: distribution, Windows, WSL, container, virtual machine, processor."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from rocm_doctor.probes.notes import Notes
from rocm_doctor.probes.prose_text import Sentence, stance

_DISTRIBUTIONS = re.compile(
    r"(?<![\w/.-])(Ubuntu(?: Server| Desktop)?|Debian|Fedora(?: Linux)?|Arch(?: Linux)?|Manjaro|CachyOS|EndeavourOS|Garuda|NixOS"
    r"|openSUSE(?: Leap| Tumbleweed)?|SLES|RHEL|Red Hat Enterprise Linux|Rocky(?: Linux)?|AlmaLinux|CentOS(?: Stream)?"
    r"|Oracle Linux"
    r"|Linux Mint|Pop!_OS|KDE neon|Proxmox(?: VE)?|Gentoo|Void Linux|Bazzite|SteamOS|Nobara(?: Linux)?|Kubuntu|Xubuntu"
    r"|Zorin OS|Alpine"
    r"|Slackware|Unraid)"
    r"(?![\w@]|-based)(?:[\s:-]{1,3}(?:version\s*)?[v(]?"
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


class State(NamedTuple):
    """Words that say outright how the machine stands, and the fact that they state."""

    fact: str
    value: bool | str
    pattern: re.Pattern[str]


def _state(fact: str, value: bool | str, pattern: str) -> State:
    return State(fact, value, re.compile(pattern, re.I))


_IS_NOT = r"(?:is|was|does|did|do|are|has|have|can|could)(?:n't|n’t| not)"
STATES = (
    _state("virtual_machine", "guest", r"\b(?:vfio|pci(?:e)?[- ]passthrough|passed? through to|passing .{0,40} through)\b"),
    _state("virtual_machine", "guest", r"\b(?:(?:in|inside|to) (?:a|the|my) (?:vm|virtual machine|guest)|esxi|hyper-v guest)\b"),
    _state(
        "kfd.exists",
        False,
        rf"\b(?:no|missing) /dev/kfd\b|/dev/kfd .{{0,12}}{_IS_NOT} (?:exist|there|present)|/dev/kfd is missing",
    ),
    _state("kfd.exists", True, r"/dev/kfd (?:does |also )?(?:exists?|is there|is present)\b"),
    _state("driver.loaded", False, rf"\b(?:amdgpu|driver|module)\b.{{0,12}} {_IS_NOT} loaded|\bunable to load (?:the )?amdgpu"),
    _state("driver.loaded", True, r"\b(?:amdgpu(?: module| driver)?|kernel (?:driver|module)) is loaded\b"),
    _state("secure_boot", True, r"\bsecure ?boot (?:is |was )?(?:enabled|on|active)\b|\bwith secure ?boot\b"),
    _state("secure_boot", False, r"\bsecure ?boot (?:is |was )?(?:disabled|off|inactive)\b|\bwithout secure ?boot\b"),
    _state("iommu", "pt", r"(?<!missing \")(?<!without )\biommu=pt\b(?!.{0,40}\bmissing\b)"),
    _state("iommu", "off", r"\biommu(?: is| was)? (?:disabled|off)\b|\biommu=off\b"),
    _state("iommu", "on", r"\biommu(?: is| was)? (?:enabled|on)\b"),
    _state("said.rebar", "on", r"\b(?:re-?bar|resizable bar)(?: is| was)? (?:enabled|on)\b"),
    _state("said.rebar", "off", r"\b(?:re-?bar|resizable bar)(?: is| was)? (?:disabled|off|not)\b"),
    _state("said.slot", "chipset", r"\b(?:chipset|pch)\b.{0,40}\b(?:slot|lanes?)\b|\b(?:slot|lanes?)\b.{0,40}\bchipset\b"),
    _state("said.slot", "riser", r"\b(?:riser|x1 (?:slot|adapter)|mining (?:board|rig))\b"),
    _state("said.slot", "external", r"\b(?:e-?gpu|thunderbolt|oculink|usb4)\b"),
    _state(
        "said.works.root",
        True,
        r"\b(?:as root|with sudo|using sudo)\b.{0,30}\b(?:it (?:is|does|works)|works?|shows?|lists?|fine|detects?|finds?)\b",
    ),
    _state(
        "said.works.root",
        True,
        r"\b(?:works?|lists?|shows?|detected|visible|found)\b.{0,30}\b(?:only )?(?:as root|with sudo|using sudo)\b",
    ),
)
_GROUPS = re.compile(
    r"\b(?:in|member of|added? .{0,20}to|belongs? to)\b.{0,12}\b(video|render)\b(?:\W{1,4}(?:and|or)?\W{0,4}(video"
    r"|render)\b)?.{0,3} groups?\b",
    re.I,
)
_BASED_ON = re.compile(r"\b(?:based on|derived from|host(?:ed)? (?:is |runs |on )?)\s*$", re.I)
_CPU = re.compile(
    r"\b((?:AMD )?(?:Ryzen(?:\(TM\))? (?:AI )?(?:Threadripper |\d )?(?:PRO |Max\+? |HX )*\d{3,4}\w{0,3}|EPYC \w{2,6}"
    r"|Threadripper(?: PRO)? \w{4,6}|FX(?:-\d{4})?(?=[\s.,]|$))"
    r"|Intel(?:\(R\))? (?:Core(?:\(TM\))? )?(?:Xeon(?:\(R\))? )?[\w-]+(?: \w+-\w+)?|i[3579]-\d{4,5}\w{0,2})"
)


def say_machine(notes: Notes, text: Iterable[Sentence]) -> None:
    """os, platform, wsl, container, cpu, said.groups, and what the table of states holds."""
    for sentence in text:
        _os(notes, sentence)
        _container(notes, sentence)
        groups = _GROUPS.search(sentence.text) if "group" in sentence.text else None
        if groups and not re.search(r"\b(?:not|n't|never)\b", sentence.text[: groups.start() + 3]):
            notes.say("said.groups", tuple(g.lower() for g in groups.groups() if g), sentence.reading)
        cpu = _CPU.search(sentence.text)
        if cpu:
            notes.say("cpu", cpu.group(1), sentence.reading)
        for row in STATES:
            if row.fact not in notes.facts and row.pattern.search(sentence.text):
                notes.say(row.fact, row.value, sentence.reading)


def _os(notes: Notes, sentence: Sentence) -> None:
    text = sentence.text
    wsl = _WSL.search(text)
    if wsl:
        notes.say("wsl", not _NEGATED.search(text[: wsl.start()]), sentence.reading)
        notes.say("platform", "linux", sentence.reading)
    found = next((f for f in _DISTRIBUTIONS.finditer(text) if not _named_only(text, f)), None)
    if found and (found.group(2) or "os" not in notes.facts):
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
    kind_known = "container" in notes.facts
    for kind, pattern in _CONTAINERS:
        found = pattern.search(sentence.text)
        if found is None or stance(sentence.text, *found.span()) == "elsewhere" or (kind == "container" and kind_known):
            continue
        notes.say("container", None if _NEGATED.search(sentence.text[: found.start()]) else kind, sentence.reading)
        return
