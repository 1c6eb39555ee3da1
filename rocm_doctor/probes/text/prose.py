"""What a person writes around the output of tools: the system, the GPUs and the program.

Names and the numbers beside them are read. What a sentence says of them (works, failed, was,
would) is not: that takes a reader of language (`--reader`). A name that has several versions, or a GPU's name that fits several targets,
is ambiguous.

    ==> paste/text <==
    Two RX 7900 XTX on Ubuntu 24.04 with ROCm 6.4.

>>> print(probe(sample))
platform = linux
os = Ubuntu 24.04
gpu 0 marketing_name = RX 7900 XTX
gpu 0 gfx = gfx1100
gpu 1 marketing_name = RX 7900 XTX
gpu 1 gfx = gfx1100
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.matrix import Matrix
from rocm_doctor.matrix.advice import Application
from rocm_doctor.model import Reading, Unknown
from rocm_doctor.probes.read.result import Artifacts, ProbeResult
from rocm_doctor.probes.read.sentences import Sentence, sentences
from rocm_doctor.probes.text.gpu_names import GpuNames, Mention
from rocm_doctor.probes.text.versions import name_before, record_written

_NVIDIA = regex(
    r"\b((?:RTX|GTX)\s?(?:PRO\s)?A?\d{3,4}(?:\s?(?:Ti|Super))?|Tesla [A-Z]\d{1,3}|(?<![\w-])[AH][12]00\b|GeForce \w+)"
)


def probe(artifacts: Artifacts) -> ProbeResult:
    """GPUs, the system, the program and its version, from pasted texts (`paste/text`)."""
    result = ProbeResult()
    for artifact in artifacts.like("paste/text*"):
        text = sentences(artifacts.document(artifact))
        record_program(result, text, artifacts.programs)
        record_system(result, text)
        for sentence in text:
            if nvidia := _NVIDIA.search(sentence.text):
                result.record("said.nvidia", nvidia[1], sentence.reading)
        record_gpus(result, text, artifacts.gpu_names)
    return result


class Programs:
    """The programs of the catalog, and a pattern of all their names. Built once for a matrix."""

    def __init__(self, matrix: Matrix) -> None:
        self.known = matrix.applications
        self._by_name = {name: one for one in self.known for name in one.names}
        self._names = re.compile(rf"(?<![\w.])({_alternatives(self._by_name)})(?![\w])") if self.known else None

    def find_program(self, text: Iterable[Sentence]) -> tuple[Application, Sentence] | None:
        """(program, sentence): the program that is named most, and where it is first named. A name in the first sentence counts
        three times; one of an engine counts a third, since another program may bring it along. None if no program is named."""
        seen: Counter[str] = Counter()
        first: dict[str, Sentence] = {}
        for number, sentence in enumerate(text):
            for hit in self._names.finditer(sentence.text.lower()) if self._names else ():
                key = self._by_name[hit[1]].key
                seen[key] += 1 if number else 3
                first.setdefault(key, sentence)
        named = [one for one in self.known if one.key in seen]
        if not named:
            return None
        best = max(named, key=lambda one: seen[one.key] / (3 if one.engine else 1))
        return best, first[best.key]


def record_program(result: ProbeResult, text: Sequence[Sentence], programs: Programs | None) -> None:
    """said.program and, where the text has a version beside its name, said.release."""
    if named := programs.find_program(text) if programs else None:
        program, sentence = named
        result.record("said.program", program.key, sentence.reading)
        builds = f"|{program.versions}" if program.versions else ""
        release = r"\d+\.\d+(?:\.\d+){0,2}(?:[-.]?(?:rc|beta|alpha|post|a|b)\.?\d{1,3})?" + builds
        pattern = name_before(release, _alternatives(program.names))
        stated: dict[str, Sentence] = {}
        for one in text:
            for found in pattern.finditer(one.text):
                stated.setdefault(found[2].rstrip(".-"), one)
        if stated:
            record_written(result, "said.release", stated)


def _alternatives(names: Iterable[str]) -> str:
    return "|".join(map(re.escape, sorted(names, key=len, reverse=True)))


_DISTRIBUTION = regex(
    r"(?<![\w/.-])(Ubuntu|Debian|Fedora(?: Linux)?|Arch Linux|Manjaro|CachyOS|EndeavourOS|NixOS|openSUSE(?: Leap| Tumbleweed)?|SLES|RHEL"
    r"|Red Hat Enterprise Linux|Rocky Linux|AlmaLinux|CentOS(?: Stream)?|Oracle Linux|Linux Mint|Pop!_OS|Proxmox VE|Gentoo|Bazzite|Nobara)"
    r"(?![\w@]|-based)(?:[\s:-]{1,3}(?:version\s{0,9}:?\s{0,9})?[v(]?(\d{1,2}(?:\.\d{1,2}){0,2}(?![\d.-]*\d)(?: LTS)?)\b)?(?!\s?[.(-]?\d)",
    re.I,
)
_WINDOWS = regex(
    r"(?:\b(?:on|under|for|in) )?\b(Windows\s?(?:1[01]|Server(?: 20\d\d)?)(?:\s(?:Pro|Home|Enterprise))?|Win ?1[01])\b|\b(?:on|under|for|in) Windows\b|\b[CD]:\\"
    r"|WinError|\.exe\b|\bHIP SDK\b|\bAdrenalin\b|^Windows[,.:]|,\s*Windows[.,]|^\W*(?:OS|Operating system|Platform)\W{1,4}Windows\b",
    re.I,
)
_LINUX = regex(
    r"/opt/rocm|/dev/(?:kfd|dri)|\b(?:dmesg|modprobe|dkms|sudo|apt|apt-get|dnf|pacman|systemctl)\b|/home/|\.so(?:\.\d+)*\b|\bLinux\b|(?<![\w/.:-])(?:ubuntu|debian|fedora|nixos)\b"
)
_WSL = regex(r"\bWSL\s?2?\b|microsoft-standard|\broc4wsl\b|\blibrocdxg\b|/dev/dxg")
_CONTAINERS = regex(
    r"\b(?:(apptainer|singularity)|(podman)|(toolbox|distrobox)|(kubernetes|k8s|k3s|kubectl)|(lxc|lxd|incus)"
    r"|(docker(?:-compose|file)?|rocm/(?:pytorch|vllm|dev-\w+|sgl-dev))|(containers?))\b",
    re.I,
)
_KINDS = ("apptainer", "podman", "toolbox", "k8s", "lxc", "docker", "container")
_OUTSIDE = regex(r"\b(?:no|not|without|outside|bare[- ]metal|instead of)\s+(?:\w+\s+){0,3}$", re.I)


def record_system(result: ProbeResult, text: Sequence[Sentence]) -> None:
    """platform, wsl, os and container. Inside WSL the system is the Linux, else the first named, with its version if one is."""
    linux: list[tuple[str, Reading]] = []
    windows: list[tuple[str, Reading]] = []
    sign = next((sentence for sentence in text if _LINUX.search(sentence.text)), None)
    for sentence in text:
        if wsl := _WSL.search(sentence.text):
            result.record("wsl", not _OUTSIDE.search(sentence.text[: wsl.start()]), sentence.reading)
        for found in _DISTRIBUTION.finditer(sentence.text):
            if found[2] or not found[1][0].islower():
                linux.append((" ".join(filter(None, found.groups())), sentence.reading))
        if not wsl and not linux and (hint := _WINDOWS.search(sentence.text)) and (hint[1] or not sign):
            windows.append((hint[1] or "", sentence.reading))
        container = _CONTAINERS.search(sentence.text)
        if container and not _OUTSIDE.search(sentence.text[: container.start()]):
            kind = _KINDS[(container.lastindex or 1) - 1]
            if kind != "container" or "container" not in result.facts:
                result.record("container", kind, sentence.reading)
    wsl_fact = result.facts.get("wsl")
    inside = wsl_fact.readings[0] if wsl_fact and wsl_fact.value else None
    named = linux if inside else windows or linux
    if inside or named:
        result.record("platform", "windows" if windows and not inside else "linux", inside or named[0][1])
    elif sign:
        result.record("platform", "linux", sign.reading)
    names = [one for one in named if one[0]]
    if names:
        result.record("os", *next((name for name in names if any(c.isdigit() for c in name[0])), names[0]))


MOST = 16
"""GPUs of one text, and names read in one sentence."""
_TIMES = regex(r"(?:(?<!\d\.)\b(\d{1,2})\s?[x×]|\b(two|dual|pair of|three|four|six|eight|twin))\s*(?:(?:of|the|my|amd|radeon|instinct|identical)\s+)*$"
               r"|(?<!\d\.)\b(\d{1,2})[x×]$", re.I)  # fmt: skip
_BEHIND = regex(r"\s*\(?\s?[x×]\s?(\d{1,2})\b(?!\s?(?:gb|gib|cm|mm))", re.I)
_COUNTS = {"two": 2, "dual": 2, "pair of": 2, "twin": 2, "three": 3, "four": 4, "six": 6, "eight": 8}
_GFX = regex(r"(?<![^\W_])gfx(?:([19][0-9]{1,2})[xX]|(?!000)(?:[6-9][0-9a-f]{2}|1[0-9]{3}))(?![0-9a-fA-F])")
_KIND_ORDER = ("name", "gfx", "codename", "processor", "family")


class GpuMentions(msgspec.Struct):
    """The mentions of one GPU: the best of them with its sentence, the targets that all of them allow, and how many GPUs there are."""

    mention: Mention
    sentence: Sentence
    gfx: tuple[str, ...]
    count: int


def record_gpus(result: ProbeResult, text: Iterable[Sentence], names: GpuNames) -> None:
    """A listing of the GPUs that the text names."""
    groups = _groups([(mention, sentence) for sentence in text for mention in _mentions(sentence.text, names)])
    if not groups:
        return
    listing = result.listing(complete=False)
    for group in groups[:MOST]:
        mention, reading = group.mention, group.sentence.reading
        for _ in range(group.count):
            gpu = listing.gpu()
            if mention.kind == "name":
                result.record("marketing_name", mention.text, reading, gpu)
            elif mention.kind == "family":
                result.record("family", re.sub(r"\s", "", mention.text).upper(), reading, gpu)
            result.record("gfx", group.gfx[0] if len(group.gfx) == 1 else Unknown("ambiguous", group.gfx), reading, gpu)


def _mentions(text: str, names: GpuNames) -> Iterator[Mention]:
    yield from (one for one in names.find(text)[:MOST] if text[one.end : one.end + 1] != "+")  # `MI300+` is a requirement
    targets = {hit[0].lower(): hit for hit in reversed(list(_GFX.finditer(text)))} if "gfx" in text.lower() else {}
    # Several targets in one sentence are those of a build or a table.
    for hit in targets.values() if len(targets) == 1 else ():
        known = names.targets_with_prefix(hit[1]) if hit[1] else (hit[0].lower(),)
        if known:
            yield Mention(*hit.span(), hit[0], known, "gfx")


def _count(text: str, start: int, end: int) -> int:
    """The number of GPUs named in text[start:end], from the words around it (MOST at most): `8x`, `two`, `x4`."""
    if behind := _BEHIND.match(text, end):
        return min(MOST, int(behind[1]))
    before = _TIMES.search(text[max(0, start - 40) : start])
    if before is None:
        return 1
    return _COUNTS[before[2].lower()] if before[2] else min(MOST, int(before[1] or before[3]))


def _groups(mentions: list[tuple[Mention, Sentence]]) -> list[GpuMentions]:
    """Mentions by GPU. Names of products make the groups; others only narrow them, or are a group where no product is named: a target that
    none of the products has is that of an override or a build."""
    groups: list[GpuMentions] = []
    for one, sentence in sorted(mentions, key=lambda pair: _KIND_ORDER.index(pair[0].kind)):
        times = max(1, _count(sentence.text, one.start, one.end))
        group = next((group for group in groups if set(group.gfx) & set(one.gfx)), None)
        if group is not None:
            group.gfx = tuple(gfx for gfx in group.gfx if gfx in one.gfx)
            group.count = max(group.count, times)
        elif one.kind == "name" or not groups or groups[0].mention.kind == one.kind:
            groups.append(GpuMentions(one, sentence, one.gfx, times))
    return groups
