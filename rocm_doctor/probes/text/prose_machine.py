"""The machine that a person describes: system, container, virtual machine, processor, groups, variables, what changed, and its state."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Reading
from rocm_doctor.probes.read.result import ProbeResult
from rocm_doctor.probes.text.env_text import NAME
from rocm_doctor.probes.text.prose_text import NEGATED, Sentence, stance

_TRIED = regex(
    r"\b(?:(?:i|we|i've|have|also|already) tried|tried (?:with|setting|using|different|both|various)|attempted"
    r"|(?:re)?install(?:ed|ing) (?:it )?again|reinstall(?:ed|ing)"
    r"|(?:did|does|do)(?:n't| not) (?:help|change|make a difference)|no (?:difference|change|luck|effect|success)"
    r"|without success|to no avail|whatever i tried"
    r"|nothing (?:helps|helped|changes|changed|worked)|same (?:error|result|crash) (?:with|when|after))\b",
    re.I,
)
_CHANGED = regex(
    r"\b(?:after|since) (?:the |an? |my )?(?:\w+ ){0,3}?(?:updat|upgrad|install|mov|switch|chang|reboot|restart)\w*"
    r"|\bsince\b.{0,60}\b(?:came in|was installed|update|build|release)\b",
    re.I,
)
_CAPITALS = regex(r"[A-Z]_|PYTHONPATH|HIPBLAS")
_NAMES = regex(r"(?<![\w$])" + NAME + r"(?![\w=])")
_IS_NOT_SET = regex(
    r"\b(?:(?:is|are|was|were) (?:not|never|un) ?-?(?:set|defined|exported)|(?:isn't|aren't|wasn't) set|unset|not set)\b", re.I
)
_REMOVED = regex(
    r"\b(?:without(?: setting| using)?|unset(?:ting)?|remov(?:e|ed|ing)|(?:do|did)(?:n't| not) (?:set|use|export)"
    r"|not (?:setting|using)|never set|no)\s+(?:the |any )?(?:\w+ ){0,2}$",
    re.I,
)
_SPOKEN = regex(
    r"(?<![\w$])" + NAME + r"(?:\s+(?:is |was |variable )?set (?:to|at|as)|\s+(?:to|as))\s+[\"']?([\w.:,/-]{1,60})", re.I
)
_VALUE = regex(r"[\d/:]|^(?:true|false|on|off|yes|no|all|none)\b", re.I)
"""What a variable is set to, and no word of the sentence (`set as before`)."""
_SETTING = regex(r"\b(?:set|setting|sets|exporting|export|exported|changed|changing)\s+(?:the )?(?:\w+ )?$", re.I)


_NIXOS = regex(r"\brocmOverrideGfx\s*=\s*\"([\d.]+)\"")
"""The option of NixOS' module for Ollama that sets HSA_OVERRIDE_GFX_VERSION for the service."""


def record_history(result: ProbeResult, text: Iterable[Sentence]) -> None:
    """said.changed, env.<NAME> absent or set in words."""
    for sentence in text:
        if _CHANGED.search(sentence.text):
            result.record("said.changed", sentence.reading.quote, sentence.reading)
        option = _NIXOS.search(sentence.text)
        if option:
            result.record("env.HSA_OVERRIDE_GFX_VERSION", option[1], sentence.reading)
        if "_" in sentence.text:
            _variables(result, sentence)


def _variables(result: ProbeResult, sentence: Sentence) -> None:
    """`I unset X`, `without X`, `X and Y are not set`: absent. `X set to V`: V (`X=V` is read by env.py)."""
    text = sentence.text
    if not _CAPITALS.search(text):  # the expressions of all variables are long
        return
    for found in _SPOKEN.finditer(text):
        before = text[max(0, found.start() - 40) : found.start()]
        stated = not _TRIED.search(text) and ("set" in found.group(0)[len(found.group(1)) :] or _SETTING.search(before))
        if stated and _VALUE.search(found.group(2)) and found.group(1).isupper() and not _REMOVED.search(before):
            result.record(f"env.{found.group(1)}", found.group(2).rstrip(".,"), sentence.reading)
    names = list(_NAMES.finditer(text))
    denied = _IS_NOT_SET.search(text)
    for found in names:
        after = denied is not None and denied.start() >= found.end() and denied.start() - names[-1].end() < 40
        if after or _REMOVED.search(text[max(0, found.start() - 40) : found.start()]):
            result.record(f"env.{found.group(1)}", None, sentence.reading)


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


_CONTAINER_WORDS = (
    *(
        "metal",
        "apptainer",
        "singularity",
        "podman",
        "tool",
        "distrobox",
        "kube",
        "k8s",
        "k3s",
        "lx",
        "incus",
        "docker",
        "rocm/",
        "container",
    ),
    " image ran",
)
_CONTAINERS = (
    ("apptainer", regex(r"\b(?:apptainer|singularity)\b", re.I)),
    ("podman", regex(r"\bpodman\b", re.I)),
    ("toolbox", regex(r"\btool-?box(?:es)?\b", re.I)),
    ("distrobox", regex(r"\bdistrobox\b", re.I)),
    ("k8s", regex(r"\b(?:kubernetes|k8s|k3s|kubectl)\b", re.I)),
    ("lxc", regex(r"\b(?:lxc|lxd|incus)\b", re.I)),
    ("docker", regex(r"\bdocker(?:-compose|file)?\b|\brocm/(?:pytorch|vllm|dev-\w+|sgl-dev)\b", re.I)),
    (
        "container",
        regex(
            r"\b(?:inside (?:the|a) |in (?:the|a) (?:plain |\S+ )?|this |root@)container\b|\bcontainers?\b"
            r"|\bthe (?:\S+ )?image ran\b",
            re.I,
        ),
    ),
)
_BARE_METAL = regex(r"\bbare[- ]metal\b", re.I)


class State(NamedTuple):
    """A pattern of words that state a fact outright, and that fact."""

    fact: str
    value: bool | str
    needles: tuple[str, ...]
    pattern: re.Pattern[str]


def _state(fact: str, value: bool | str, needles: str, pattern: str) -> State:
    """`needles`: lower-case words, one of which is in every matching sentence (a cheap test before the expensive one)."""
    return State(fact, value, tuple(needles.split("|")), regex(pattern, re.I))


_IS_NOT = r"(?:is|was|does|did|do|are|has|have|can|could)(?:n't|n’t| not)"
STATES = (
    _state(
        "virtual_machine",
        "guest",
        "vfio|pass",
        r"\b(?:vfio|pci(?:e)?[- ]passthrough|passed? through to|passing .{0,40} through)\b",
    ),
    _state(
        "virtual_machine",
        "guest",
        "vm|virtual|guest|esxi",
        r"\b(?:(?:in|inside|to) (?:a|the|my) (?:vm|virtual machine|guest)|esxi|hyper-v guest)\b",
    ),
    _state(
        "kfd.exists",
        False,
        "/dev/kfd",
        rf"\b(?:no|missing) /dev/kfd\b|/dev/kfd .{{0,12}}{_IS_NOT} (?:exist|there|present)|/dev/kfd is missing",
    ),
    _state("kfd.exists", True, "/dev/kfd", r"/dev/kfd (?:does |also )?(?:exists?|is there|is present)\b"),
    _state(
        "driver.loaded",
        False,
        "load",
        rf"\b(?:amdgpu|driver|module)\b.{{0,12}} {_IS_NOT} loaded|\bunable to load (?:the )?amdgpu",
    ),
    _state("driver.loaded", True, "loaded", r"\b(?:amdgpu(?: module| driver)?|kernel (?:driver|module)) is loaded\b"),
    _state("secure_boot", True, "secure", r"\bsecure ?boot (?:is |was )?(?:enabled|on|active)\b|\bwith secure ?boot\b"),
    _state("secure_boot", False, "secure", r"\bsecure ?boot (?:is |was )?(?:disabled|off|inactive)\b|\bwithout secure ?boot\b"),
    _state("iommu", "pt", "iommu", r"(?<!missing \")(?<!without )\biommu=pt\b(?!.{0,40}\bmissing\b)"),
    _state("iommu", "off", "iommu", r"\biommu(?: is| was)? (?:disabled|off)\b|\biommu=off\b"),
    _state("iommu", "on", "iommu", r"\biommu(?: is| was)? (?:enabled|on)\b"),
    _state("said.rebar", "on", "rebar|re-bar|resizable", r"\b(?:re-?bar|resizable bar)(?: is| was)? (?:enabled|on)\b"),
    _state("said.rebar", "off", "rebar|re-bar|resizable", r"\b(?:re-?bar|resizable bar)(?: is| was)? (?:disabled|off|not)\b"),
    _state(
        "said.slot",
        "chipset",
        "chipset|pch",
        r"\b(?:chipset|pch)\b.{0,40}\b(?:slot|lanes?)\b|\b(?:slot|lanes?)\b.{0,40}\bchipset\b",
    ),
    _state("said.slot", "riser", "riser|mining|x1 ", r"\b(?:riser|x1 (?:slot|adapter)|mining (?:board|rig))\b"),
    _state("said.slot", "external", "gpu|thunderbolt|oculink|usb4", r"\b(?:e-?gpu|thunderbolt|oculink|usb4)\b"),
    _state(
        "said.works.root",
        True,
        "root|sudo",
        r"\b(?:as root|with sudo|using sudo)\b.{0,30}\b(?:it (?:is|does|works)|works?|shows?|lists?|fine|detects?|finds?)\b",
    ),
    _state(
        "said.works.root",
        True,
        "root|sudo",
        r"\b(?:works?|lists?|shows?|detected|visible|found)\b.{0,30}\b(?:only )?(?:as root|with sudo|using sudo)\b",
    ),
)
_GROUPS = regex(
    r"\b(?:in|member of|added? .{0,20}to|belongs? to)\b.{0,12}\b(video|render)\b(?:\W{1,4}(?:and|or)?\W{0,4}(video"
    r"|render)\b)?.{0,3} groups?\b",
    re.I,
)
_CPU_WORDS = ("ryzen", "epyc", "threadripper", "fx", "intel", "i3-", "i5-", "i7-", "i9-")
_CPU = regex(
    r"\b((?:AMD )?(?:Ryzen(?:\(TM\))? (?:AI )?(?:Threadripper |\d )?(?:PRO |Max\+? |HX )*\d{3,4}\w{0,3}|EPYC \w{2,6}"
    r"|Threadripper(?: PRO)? \w{4,6}|FX(?:-\d{4})?(?=[\s.,]|$))"
    r"|Intel(?:\(R\))? (?:Core(?:\(TM\))? )?(?:Xeon(?:\(R\))? )?[\w-]+(?: \w+-\w+)?|i[3579]-\d{4,5}\w{0,2})"
)


def record_machine(result: ProbeResult, text: Iterable[Sentence]) -> None:
    """container, cpu, said.groups, and the facts of the table of states."""
    for sentence in text:
        low = sentence.text.lower()
        if any(word in low for word in _CONTAINER_WORDS):
            _container(result, sentence)
        groups = _GROUPS.search(sentence.text) if "group" in sentence.text else None
        if groups and not re.search(r"\b(?:not|n't|never)\b", sentence.text[: groups.start() + 3]):
            result.record("said.groups", tuple(g.lower() for g in groups.groups() if g), sentence.reading)
        cpu = _CPU.search(sentence.text) if any(word in low for word in _CPU_WORDS) else None
        if cpu:
            result.record("cpu", cpu.group(1), sentence.reading)
        for row in STATES:
            if row.fact not in result.facts and any(n in low for n in row.needles) and row.pattern.search(sentence.text):
                result.record(row.fact, row.value, sentence.reading)


def _container(result: ProbeResult, sentence: Sentence) -> None:
    if _BARE_METAL.search(sentence.text):
        result.record("container", None, sentence.reading)
        result.record("virtual_machine", None, sentence.reading)
    kind_known = "container" in result.facts
    for kind, pattern in _CONTAINERS:
        found = pattern.search(sentence.text)
        if found is None or stance(sentence.text, *found.span()) == "elsewhere" or (kind == "container" and kind_known):
            continue
        result.record("container", None if NEGATED.search(sentence.text[: found.start()]) else kind, sentence.reading)
        return
