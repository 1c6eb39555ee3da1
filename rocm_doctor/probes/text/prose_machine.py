"""The machine that a person describes: container, virtual machine, processor, groups, and plain statements on its state."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.probes.read.result import ProbeResult
from rocm_doctor.probes.text.prose_text import NEGATED, Sentence, stance

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
