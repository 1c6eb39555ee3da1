"""What a person writes around the output of tools: the system, versions, GPUs, the program, and where torch came from.

Names and the numbers beside them are read, and whether a sentence asks something. What a sentence says of them (works, failed, was,
would) is not: that takes a reader of language (`--reader`). A name that has several versions is ambiguous.

    ==> paste/text <==
    Two RX 7900 XTX on Ubuntu 24.04 with ROCm 6.4, torch 2.9.1+rocm6.4.
    pip install torch --index-url https://download.pytorch.org/whl/rocm6.4

>>> print(probe(sample))
torch.version = 2.9.1+rocm6.4
torch.build = rocm
torch.rocm = 6.4
torch.family = bundled
rocm.version = 6.4
platform = linux
os = Ubuntu 24.04
said.torch_index = rocm6.4
gpu 0 marketing_name = RX 7900 XTX
gpu 0 gfx = gfx1100
gpu 1 marketing_name = RX 7900 XTX
gpu 1 gfx = gfx1100
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.matrix.types import Application
from rocm_doctor.model import Reading, Unknown
from rocm_doctor.probes.python.packages import record_wheels
from rocm_doctor.probes.python.torch_build import Build, record_build
from rocm_doctor.probes.read.document import Document
from rocm_doctor.probes.read.result import Artifacts, ProbeResult
from rocm_doctor.probes.read.scan import canonical
from rocm_doctor.probes.text.pip_list import find_pins
from rocm_doctor.probes.text.prose_gpus import Sentence, record_gpus

HEAD, TAIL = 96_000, 32_000
"""Characters read at the start and at the end of a text: people write around the log, not in the middle of it."""
LONGEST = 4_000
"""Characters read of a line."""
ALIKE = 20
"""Lines read of those that differ in their digits only."""


_END = regex(r"(?<=[.!?])[\"')`*]{0,3}\s+(?=[\"'(`*]{0,3}\w)|;\s+")
_ABBREVIATION = regex(r"(?:\b(?:e\.g|i\.e|vs|etc|no|approx|ver|incl|ca|resp|cf|v)|\.\.)\.$", re.I)
_EMPHASIS = str.maketrans("*`|\u2022", "    ")
_DIGITS = dict.fromkeys(map(ord, "0123456789"))
_AUTHOR = regex(r"\W{0,6}@?([\w-]{1,39})\W{1,6}(?:commented|wrote|replied|posted|answered)\b")
_HEADING = regex(
    r"\s*#{0,6}\s*(?:your |system )?(?:(?:operating system|os|rocm|python|(?:linux )?kernel|(?:py)?torch|(?:amdgpu |gpu )?driver|adrenalin"
    r"|hip sdk)(?: version)?|distro|distribution|gpu(?: model)?|graphics card|hardware|cpu)\s*:?\s*$",
    re.I,
)
"""A line of an issue form that names what the next line holds."""


def sentences(document: Document) -> list[Sentence]:
    """The first writer's sentences of the text's first and last part, in order; each line of a form follows its heading."""
    found: list[Sentence] = []
    reporter, heading, other = "", "", False
    shapes: Counter[str] = Counter()
    for number, line in _lines(document.text):
        shape = line[:LONGEST].translate(_DIGITS)
        shapes[shape] += 1
        author = _AUTHOR.match(line[:120])
        if author:
            reporter = reporter or (author[1] if not found else "the first writer")
            other = author[1] != reporter
        if other or (shape and shapes[shape] > ALIKE):
            continue
        text = line[:LONGEST].translate(_EMPHASIS)
        for part in _split(heading + text):
            if part.strip():
                found.append(Sentence(part, Reading(document.name, f"line {number}", " ".join(part.split())[:200])))
        if text.strip():
            heading = f"{text.strip(' #:_')}: " if _HEADING.match(text.strip()[:80]) else ""
    return found


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """(number, line) of the text's first and last part."""
    if len(text) <= HEAD + TAIL:
        yield from enumerate(text.split("\n"), 1)
        return
    yield from enumerate(text[:HEAD].split("\n"), 1)
    start = text.find("\n", len(text) - TAIL) + 1 or len(text) - TAIL
    yield from enumerate(text[start:].split("\n"), 1 + text.count("\n", 0, start))


def _split(line: str) -> Iterator[str]:
    place = 0
    for gap in _END.finditer(line):
        if gap[0][0] == ";" or not _ABBREVIATION.search(line, max(0, gap.start() - 8), gap.start()):
            yield line[place : gap.start()]
            place = gap.end()
    yield line[place:]


def probe(artifacts: Artifacts) -> ProbeResult:
    """GPUs, versions, the system, the program, questions, and the index of torch, from pasted texts (`paste/text`)."""
    result = ProbeResult()
    for artifact in artifacts.like("paste/text*"):
        document = artifacts.document(artifact)
        text = sentences(document)
        record_versions(result, text, artifacts.programs.find_program(text) if artifacts.programs else None)
        record_system(result, text)
        record_questions(result, text)
        for sentence in text:
            record_index(result, sentence)
            record_files(result, sentence)
            if (nvidia := _NVIDIA.search(sentence.text)) is not None:
                result.record("said.nvidia", nvidia[1], sentence.reading)
        record_gpus(result, text, artifacts.gpu_names)
        for line in document.find_lines("rocm version: (", most=1):  # ComfyUI prints torch's ROCm as `(6, 4)`
            if (found := _COMFYUI.search(line.text)) and "rocm.version" not in result.facts:
                result.record("rocm.version", f"{found[1]}.{found[2]}", document.reading(line))
    return result


_COMFYUI = regex(r"ROCm version: \((\d{1,2}), (\d{1,2})\)")
_NVIDIA = regex(
    r"\b((?:RTX|GTX)\s?(?:PRO\s)?(?:A)?\d{3,4}(?:\s?(?:Ti|Super))?|Tesla [A-Z]\d{1,3}|(?<![\w-])[AH][12]00\b|GeForce \w+)"
)

_V3 = r"(\d{1,2}\.\d{1,2}(?:\.\d{1,2})?(?:(?:a|b|rc)\d+)?)(?!\d|\.\d{3})"
_KERNEL = r"([2-9]\.\d{1,2}(?:\.\d+)?(?:\.\d+)?(?:-[\w.+~-]+)?)"
_WINDOWS_DRIVER = r"((?:20)?2\d\.(?:1[0-2]|0?[1-9])(?:\.\d{1,2})?)(?![\w.]\d)"
"""A version of Windows' display driver, which is its year and month."""
_PACKAGES = (
    "transformers|peft|accelerate|bitsandbytes|torchvision|torchaudio|torchao|torchtune|triton|triton-rocm|pytorch-triton-rocm"
    "|flash[-_]attn|flash[-_]attention|xformers|deepspeed|unsloth|unsloth_zoo|vllm|sglang|numpy|datasets|trl|aiter|diffusers|ray"
    "|onnxruntime|axolotl|llama-factory|comfyui"
)
_PACKAGE = regex(
    rf"(?<![\w./-])({_PACKAGES})(?:\s+(?:version\s+)?v?|==|\s*:\s*v?)"
    r"(\d+\.\d+(?:\.\d+)*(?:(?:a|b|rc)\d+)?(?:\.(?:dev|post)\d+)?(?:\+[\w.]+)?)",
    re.I,
)


class Subject(NamedTuple):
    """A fact that is a version, and how people write it: words of which one is in every such sentence, and a pattern with the version
    as its group."""

    fact: str
    words: tuple[str, ...]
    pattern: re.Pattern[str]


def _subject(fact: str, words: str, pattern: str) -> Subject:
    return Subject(fact, tuple(words.split("|")), regex(pattern, re.I))


SUBJECTS = (
    _subject("torch.version", "torch", r"(?<![\w/.+])(?<!build )(?:py)?torch(?:\.__version__)?(?:\s+(?:version|nightly|build))?(?:\s*(?:==|=|:)\s*"
        r"|[\s-]+(?:is\s+|was\s+)?v?)([0-2]\.\d{1,2}(?:\.\d{1,2})?(?:(?:a|b|rc)\d+)?(?:\.(?:dev|post)\d+)?(?:\+[\w.]+)?)(?![\w])"),
    _subject("rocm.version", "rocm|rock|hip sdk", r"(?:(?<=torch/)|(?<![\w/.+-]))(?:the\s?rock|hip sdk|rocm)\b(?:[\s-]+(?:version|stack|release"
        r"|runtime|sdk|nightly|installation|preview))?[\s:=-]{1,8}(?:is\s+)?v?" + _V3),
    _subject("rocm.version", "rocm|rock", r"(?<![\w/.+-])(?:rocm|the\s?rock)\b(?:[\s-]+\w+){0,4}\s+(?:is|at|version|dist|stack|to)\s+v?" + _V3),
    _subject("rocm.version", "rocm", r"(?<![\w/.+])rocm-?" + _V3 + r"(?![\w])"),
    _subject("rocm.version", "rocm|hip", r"(?<![\w/.+])(?:rocm|hip)-(?:opencl|hip|hip-sdk|llvm|runtime|libs|opencl-runtime|hip-runtime)\s+v?" + _V3),
    _subject("python.version", "py", r"(?<![\w./])py(?:thon)?[\s-]{0,2}(?:version\s?)?[:=]{0,2}\s*v?(3\.\d{1,2}(?:\.\d{1,2})?)(?![\d])"),
    _subject("kernel", "kernel", r"(?<![\w/-])kernels?(?:\s+version|\s+now)?(?:\s*[:=]\s*|\s+(?:is\s+|linux\s+|release\s+)?)v?" + _KERNEL),
    _subject("kernel", "linux", r"(?:^|[.;,:(]\s{0,4}|\b(?:since|with|on|under|from|to|of|and|using|after|running|mainline|vanilla)\s+)"
        r"linux[\s-]+v?([3-9]\.\d{1,2}(?:\.\d+)?(?:-[\w.+~-]+)?)"),
    _subject("kernel", "linux", r"(?<![\w/.-])linux(?:-(?:lts|zen|hardened|cachyos|xanmod|liquorix|mainline|rt|bore|eevdf|generic)){1,3}[\s-]+v?"
        + _KERNEL),
    _subject("kernel", "generic|pve|lowlatency|oem|amd64|microsoft|arch|zen|cachyos|x86_64|azure|aws|default|manjaro|xanmod",
        r"(?<![\w./+-])(\d\.\d{1,2}\.\d+(?:\.\d+)?-[\w.~+-]*?(?:generic|pve|lowlatency|oem|amd64|microsoft-standard[\w-]*|arch\d[\w-]*|zen\d[\w-]*"
        r"|cachyos[\w-]*|x86_64|azure|aws|default|manjaro|xanmod\d))(?![\w])"),
    _subject("driver.version", "amdgpu", r"(?<![\w/])(?:amdgpu-dkms|amdgpu(?: kernel)?(?: driver| module)?)\s+(?:version\s+)?v?"
        r"([3-6]\.\d{1,2}\.\d{1,2})(?![\d])"),
    _subject("driver.windows", "adrenalin", r"\badrenalin(?:\s+(?:edition|software|driver|version|pro))*[\s:]+v?(\d\d\.\d{1,2}(?:\.\d{1,2}){0,2})"),
    _subject("driver.windows", "driver", r"\bdrivers?\b(?:\s+version)?(?:\s+is)?[\s:=-]+(?:amd\s+|adrenalin\s+|software\s+|v)*" + _WINDOWS_DRIVER),
    _subject("driver.windows", "driver", r"(?<![\w.])" + _WINDOWS_DRIVER + r"(?=\s+(?:(?:amd|gpu|adrenalin|radeon|whql)\s+)*drivers?\b)"),
    _subject("firmware.mes", "mes", r"\bMES(?:\s+(?:firmware|fw))?(?:\s+version)?[\s:=]+(0x[0-9a-f]{2,8})\b"),
    _subject("glibc", "glibc", r"\bglibc[\s-]+(\d\.\d{1,2})"),
)  # fmt: skip
_OF_PIP = regex(r"\s*(?:Downloading|Collecting|Requirement already|Using cached|Found existing|Attempting)\b")
_OF_WHEEL = regex(r"\b(?:wheels?|whl|torch|index|nightly|pip|builds?|packages?|many(?:wheel|linux))\b", re.I)
"""A sentence in which `rocm6.2`, in one word, is the tag of a wheel."""


def record_versions(result: ProbeResult, text: Sequence[Sentence], program: Program | None) -> None:
    """The version of each subject and package, and said.program with said.release. Of several versions one is in use: ambiguous."""
    of_program: tuple[Subject, ...] = ()
    if program:
        result.record("said.program", program.known.key, program.sentence.reading)
        of_program = (Subject("said.release", ("",), program.version),)
    stated: dict[str, dict[str, Sentence]] = {}
    for sentence in text:
        for fact, version in _versions(sentence, (*SUBJECTS, *of_program)):
            stated.setdefault(fact, {}).setdefault(version, sentence)
    for fact, versions in stated.items():
        whole = [v for v in versions if not any(re.match(re.escape(v) + r"[.+-]", other) for other in versions)]
        reading = versions[whole[0]].reading
        if len(whole) == 1:
            result.record(fact, whole[0].removeprefix("20") if fact == "driver.windows" else whole[0], reading)
        else:
            result.record(fact, Unknown("ambiguous", "state which version is in use", tuple(whole)), reading)
        if fact == "torch.version" and len(whole) == 1:
            record_build(result, Build(whole[0]), reading)


def _versions(sentence: Sentence, subjects: Iterable[Subject]) -> Iterator[tuple[str, str]]:
    """(fact, version) of each version next to its name; the first match of a span keeps it."""
    text, low = sentence.text, sentence.text.lower()
    if not any(c.isdigit() for c in text) or _OF_PIP.match(text):
        return
    taken: list[tuple[int, int]] = []
    for subject in subjects:
        for found in subject.pattern.finditer(text) if any(word in low for word in subject.words) else ():
            if not any(found.start(1) < end and start < found.end(1) for start, end in taken):
                taken.append(found.span(1))
                tag = subject.fact == "rocm.version" and re.match(r"rocm\d", found[0]) and _OF_WHEEL.search(text)
                yield "torch.rocm" if tag else subject.fact, found[1].rstrip(".-")
    for found in _PACKAGE.finditer(text):
        yield f"pkg.{canonical(found[1])}", found[2]


class Program(NamedTuple):
    """The program that a text is about, the first sentence that names it, and the pattern of its versions (group 1)."""

    known: Application
    sentence: Sentence
    version: re.Pattern[str]


class Programs:
    """The programs of the catalog, and a pattern of all their names. Built once for a matrix."""

    def __init__(self, known: Sequence[Application]) -> None:
        self.known = known
        self._by_name = {name: one for one in known for name in one.names}
        self._names = re.compile(rf"(?<![\w.])({_alternatives(self._by_name)})(?![\w])") if known else None

    def find_program(self, text: Iterable[Sentence]) -> Program | None:
        """The program that is named most, the first sentence above all; an engine only where no program that may bring it is."""
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
        builds = "".join(f"|{best.versions}" if best.versions else "")
        version = re.compile(
            rf"(?<![\w.])(?:{_alternatives(best.names)})(?:[\s\"'(\[:@=/_-]|\b(?:version|release|is|v)\b){{0,6}}"
            rf"v?(\d+\.\d+(?:\.\d+){{0,2}}(?:[-.]?(?:rc|beta|alpha|a|b)\.?\d{{1,3}})?{builds})(?![\w])",
            re.I,
        )
        return Program(best, first[best.key], version)


def _alternatives(names: Iterable[str]) -> str:
    return "|".join(map(re.escape, sorted(names, key=len, reverse=True)))


_DISTRIBUTIONS = regex(
    r"(?<![\w/.-])(Ubuntu(?: Server| Desktop)?|Debian|Fedora(?: Linux)?|Arch(?: Linux)?|Manjaro|CachyOS|EndeavourOS|Garuda|NixOS"
    r"|openSUSE(?: Leap| Tumbleweed)?|SLES|RHEL|Red Hat Enterprise Linux|Rocky(?: Linux)?|AlmaLinux|CentOS(?: Stream)?|Oracle Linux"
    r"|Linux Mint|Pop!_OS|KDE neon|Proxmox(?: VE)?|Gentoo|Void Linux|Bazzite|SteamOS|Nobara(?: Linux)?|Kubuntu|Xubuntu|Zorin OS"
    r"|Alpine|Slackware|Unraid)"
    r"(?![\w@]|-based)(?:[\s:-]{1,3}(?:version\s*:?\s*)?[v(]?"
    r"(\d{1,2}(?:\.\d{1,2}){0,2}(?![\d.-]*\d)(?: LTS)?|rawhide|tumbleweed|testing|sid|stable|unstable)\b)?(?![.-]\d)",
    re.I,
)
_EVERYDAY = regex(r"(?:arch|alpine|rocky|sles)$", re.I)
"""Distributions whose name alone may be another word."""
_WINDOWS = regex(r"\bWindows\s?(?:1[01]|Server(?: 20\d\d)?)(?:\s(?:Pro|Home|Enterprise))?|\bWin ?1[01]\b")
_ON_WINDOWS = regex(
    r"\b(?:on|under|for|in) Windows\b|\bPS C:\\|\bC:\\Users|WinError|\.exe\b|\\Scripts\\|\bHIP SDK\b|\bAdrenalin\b"
    r"|^Windows[,.:]|,\s*Windows[.,]|^\W*(?:OS|Operating system|Platform)\W{1,4}Windows\b",
    re.I,
)
_ON_LINUX = regex(
    r"/opt/rocm|/opt/amdgpu|/dev/(?:kfd|dri)|/sys/|\b(?:dmesg|modprobe|amdgpu-dkms|dkms|sudo|apt|apt-get|dnf|pacman|systemctl|manylinux\w*"
    r"|linux_x86_64)\b|/home/|/usr/(?:lib|local|bin)|/lib/python3|\.so(?:\.\d+)*\b|\bLinux\b|\bkernel:? \d\.\d"
    r"|(?<![\w/.:-])(?:ubuntu|debian|fedora|manjaro|cachyos|endeavouros|nixos|opensuse|rhel|centos|almalinux|kubuntu|gentoo)(?![\w@:/.-])"
)
_WSL = regex(r"\bWSL\s?2?\b|microsoft-standard|\broc4wsl\b|\blibrocdxg\b|/dev/dxg")
_VERSION_ALONE = regex(r"\s*(?:operating system|os|ubuntu|distro) version\s*:\s*(\d\d\.\d\d(?:\.\d)?)", re.I)
_CONTAINERS = regex(
    r"\b(?:(apptainer|singularity)|(podman)|(tool-?box(?:es)?)|(distrobox)|(kubernetes|k8s|k3s|kubectl)|(lxc|lxd|incus)"
    r"|(docker(?:-compose|file)?|rocm/(?:pytorch|vllm|dev-\w+|sgl-dev))|(containers?))\b",
    re.I,
)
_CPU = regex(
    r"\b((?:AMD )?(?:Ryzen(?:\(TM\))? (?:AI )?(?:Threadripper |\d )?(?:PRO |Max\+? |HX )*\d{3,4}\w{0,3}|EPYC \w{2,6}|Threadripper(?: PRO)? \w{4,6})"
    r"|Intel(?:\(R\))? (?:Core(?:\(TM\))? )?(?:Xeon(?:\(R\))? )?[\w-]+(?: \w+-\w+)?|i[3579]-\d{4,5}\w{0,2})"
)
_KINDS = ("apptainer", "podman", "toolbox", "distrobox", "k8s", "lxc", "docker", "container")
_OUTSIDE = regex(r"\b(?:no|not|without|outside|bare[- ]metal|instead of)\s+(?:\w+\s+){0,3}$", re.I)


def record_system(result: ProbeResult, text: Sequence[Sentence]) -> None:
    """platform, wsl, os, cpu and container. Inside WSL the system is the Linux, else the first named, with its version if one is."""
    linux: list[tuple[str, Reading]] = []
    windows: list[tuple[str, Reading]] = []
    first, sign = "", next((sentence for sentence in text if _ON_LINUX.search(sentence.text)), None)
    for sentence in text:
        if wsl := _WSL.search(sentence.text):
            result.record("wsl", not _OUTSIDE.search(sentence.text[: wsl.start()]), sentence.reading)
        linux += [(name, sentence.reading) for name in _distributions(sentence.text)]
        if not wsl and (found := _WINDOWS.search(sentence.text) or (not sign and _ON_WINDOWS.search(sentence.text))):
            windows.append((found[0] if _WINDOWS.match(found[0]) else "", sentence.reading))
        first = first or ("linux" if linux else "windows" if windows else "")
        if cpu := _CPU.search(sentence.text):
            result.record("cpu", cpu[1], sentence.reading)
        if container := _CONTAINERS.search(sentence.text):
            kind = _KINDS[(container.lastindex or 1) - 1]
            if not _OUTSIDE.search(sentence.text[: container.start()]) and (
                kind != "container" or "container" not in result.facts
            ):
                result.record("container", kind, sentence.reading)
    inside = result.facts.get("wsl")
    if inside and inside.value:
        _record_os(result, "linux", linux, inside.readings[0])
    elif first:
        named = linux if first == "linux" else windows
        _record_os(result, first, named, named[0][1])
    elif sign:
        result.record("platform", "linux", sign.reading)


def _distributions(text: str) -> Iterator[str]:
    """The first distribution of a sentence, or the version that a form has without the name."""
    for found in _DISTRIBUTIONS.finditer(text):
        name, version = found.groups()
        image = name[0].islower() or re.match(r"[\s:-]{0,3}\(?\d", text[found.end() : found.end() + 6])
        if version or not (image or _EVERYDAY.match(name)):
            yield " ".join(filter(None, (name, version)))
            return
    if alone := _VERSION_ALONE.match(text):
        yield alone[1]


def _record_os(result: ProbeResult, platform: str, named: list[tuple[str, Reading]], reading: Reading) -> None:
    """The first name with a version, else the first name; a separate version is joined to a name without one."""
    result.record("platform", platform, reading)
    full = [one for one in named if any(c.isdigit() for c in one[0])]
    names = [one for one in named if one[0] and one not in full]
    if names and full and full[0][0][0].isdigit():
        result.record("os", f"{names[0][0]} {full[0][0]}", names[0][1])
    elif full or names:
        result.record("os", *(full or names)[0])


_GREETING = r"^[\W_]*(?:(?:hi|hello|hey|question|[\w ]{0,30}:)[,!:]?\s*)?"
_QUESTION = regex(
    r"\?[\s\"')*_]*$|" + _GREETING + r"(?:how (?:do|can|to|much|many|should|fast)|which|does|do i|is it|is there|is my|can i|can my|should i"
    r"|will (?:it|my|a|this)|what (?:torch|rocm|pytorch|version|driver))\b",
    re.I,
)  # fmt: skip


def record_questions(result: ProbeResult, text: Sequence[Sentence]) -> None:
    """said.asks: the first question."""
    if question := next((sentence for sentence in text if _QUESTION.search(sentence.text[:400])), None):
        result.record("said.asks", question.reading.quote, question.reading)


_OFFICIAL = regex(
    r"whl/(?:nightly/|test/)?(rocm\d+\.\d+(?:\.\d+)?|cu\d+|cpu|xpu)\b|\b(?:nightly/)?(rocm\d+\.\d+(?:\.\d+)?|cu1[0-9]{2})\s+index\b"
)
_RADEON = regex(r"radeon\.com\S*rocm-rel-(\d+\.\d+(?:\.\d+)?)")
_THEROCK = regex(
    r"rocm\.(?:nightlies|prereleases|devreleases)\.amd\.com|repo\.amd\.com/rocm|/v2(?:-staging)?/gfx|whl-multi-arch|whl-staging-multi-arch"
)
_INSTALL = regex(r"\b(?:pip[\d.]*|uv pip|uv add|poetry add|conda)\s+(?:install|add)\b|\buv add\b")
_FROM_PYPI = regex(
    r"\btorch\b[^,;]{0,30}\bfrom (?:pip|pypi)\b|\b(?:pip[\d.]* install|uv add)\s(?!.*(?:https?://|index|\.whl|-f |find-links))"
    r".*(?<![\w./-])torch(?=[\s=<>~\"']|$)",
    re.I,
)


def record_index(result: ProbeResult, sentence: Sentence) -> None:
    """said.torch_index and what it decides of torch's build; versions that an install command pins."""
    text = sentence.text
    pins = dict(find_pins(text)) if "==" in text and _INSTALL.search(text) else {}
    for name, version in pins.items():
        result.record("torch.version" if name == "torch" else f"pkg.{name}", version, sentence.reading)
    record_wheels(result, {name: (version, sentence.reading) for name, version in pins.items()})
    if _FROM_PYPI.search(text):
        result.record("said.torch_index", "pypi", sentence.reading)
    if official := _OFFICIAL.search(text) if "whl" in text or "index" in text else None:
        tag = official[1] or official[2]
        result.record("said.torch_index", tag, sentence.reading)
        if "torch" in text or "index" in text:
            record_build(result, Build(f"0+{tag}"), sentence.reading)
    elif radeon := _RADEON.search(text):
        result.record("said.torch_index", "repo.radeon.com", sentence.reading)
        record_build(result, Build(f"0+rocm{radeon[1]}"), sentence.reading)
    elif _THEROCK.search(text):
        result.record("said.torch_index", "therock", sentence.reading)
        result.record("torch.build", "rocm", sentence.reading)
        result.record("torch.family", "therock", sentence.reading)


_WHEEL = regex(
    r"(?<![\w])(torch|torchvision|torchaudio|bitsandbytes|triton|pytorch_triton_rocm|flash_attn|xformers|vllm)"
    r"-(\d[\w.]*(?:(?:\+|%2B)[\w.]+)?)-(?:cp|py)(\d{1,3})"
)
_INSTALLER = regex(
    r"amdgpu-install_(\d+\.\d+(?:\.\d+)?)\.\d{5,6}|/amdgpu-install/(\d+\.\d+(?:\.\d+)?)/"
    r"|therock-dist-\w+-gfx\w+-(\d+\.\d+\.\d+\w*)|rocm/apt/(\d+\.\d+(?:\.\d+)?)"
)
_IMAGE = regex(
    r"rocm/(?:pytorch|pytorch-nightly|vllm|vllm-dev|dev-ubuntu-[\d.]+|sgl-dev):([\w.-]{3,120})|(?<![\w/])(rocm\d+\.\d+(?:\.\d+)?_ubuntu[\w.]{3,100})"
)
_OF_TAG = (
    ("rocm.version", regex(r"rocm-?_?(\d+\.\d+(?:\.\d+)?)(?=[_-]|$)")),
    ("python.version", regex(r"_py(3\.\d{1,2})")),
    ("torch.version", regex(r"_pytorch_(?:release_)?(\d+\.\d+(?:\.\d+)?)")),
    ("os", regex(r"_(ubuntu\d\d\.\d\d)")),
)


def record_files(result: ProbeResult, sentence: Sentence) -> None:
    """Versions in the names of wheels and installers, and in the tags of AMD's images."""
    text = sentence.text
    for wheel in _WHEEL.finditer(text) if "-cp" in text or "-py" in text else ():
        if _OF_PIP.match(text):
            break
        name, version, python = wheel[1], wheel[2].replace("%2B", "+"), wheel[3]
        result.record("torch.version" if name == "torch" else f"pkg.{canonical(name)}", version, sentence.reading)
        if name == "torch":
            record_build(result, Build(version), sentence.reading)
        if len(python) > 1:
            result.record("python.version", f"{python[0]}.{python[1:]}", sentence.reading)
    if installer := _INSTALLER.search(text):
        result.record("rocm.version", next(filter(None, installer.groups())), sentence.reading)
    for image in _IMAGE.finditer(text) if "rocm" in text else ():
        result.record("container", "docker", sentence.reading)
        tag = (image[1] or image[2]).rstrip(".")
        for fact, value in ((fact, found[1]) for fact, pattern in _OF_TAG if (found := pattern.search(tag))):
            result.record(fact, f"Ubuntu {value[6:]}" if fact == "os" else value, sentence.reading)
