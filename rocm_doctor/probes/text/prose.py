"""What a person writes around the output of tools: the system, versions, GPUs, the program, and where torch came from.

Names and the numbers beside them are read, and whether a sentence asks something. What a sentence says of them (works, failed, was,
would) is not: that takes a reader of language (`--reader`). A name that has several versions, or a GPU's name that fits several targets,
is ambiguous.

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

import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.matrix.types import Application
from rocm_doctor.model import Fact, Reading, Unknown
from rocm_doctor.probes.python.torch_build import Build, record_build
from rocm_doctor.probes.read.document import Document
from rocm_doctor.probes.read.result import Artifacts, ProbeResult
from rocm_doctor.probes.read.scan import canonical
from rocm_doctor.probes.text.gpu_names import GpuNames

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
_NVIDIA = regex(
    r"\b((?:RTX|GTX)\s?(?:PRO\s)?A?\d{3,4}(?:\s?(?:Ti|Super))?|Tesla [A-Z]\d{1,3}|(?<![\w-])[AH][12]00\b|GeForce \w+)"
)


class Sentence(NamedTuple):
    """A sentence, or a line of output: its text without emphasis marks, and its reading."""

    text: str
    reading: Reading


def probe(artifacts: Artifacts) -> ProbeResult:
    """GPUs, versions, the system, the program, questions, and the index of torch, from pasted texts (`paste/text`)."""
    result = ProbeResult()
    for artifact in artifacts.like("paste/text*"):
        text = sentences(artifacts.document(artifact))
        record_versions(result, text, artifacts.programs.find_program(text) if artifacts.programs else None)
        record_system(result, text)
        record_questions(result, text)
        for sentence in text:
            record_index(result, sentence)
            if nvidia := _NVIDIA.search(sentence.text):
                result.record("said.nvidia", nvidia[1], sentence.reading)
        record_gpus(result, text, artifacts.gpu_names)
    return result


def sentences(document: Document) -> list[Sentence]:
    """The sentences of the text's first and last part, in order."""
    found: list[Sentence] = []
    shapes: Counter[str] = Counter()
    for number, line in _lines(document.text):
        shape = line[:LONGEST].translate(_DIGITS)
        shapes[shape] += 1
        for part in _split(line[:LONGEST].translate(_EMPHASIS)) if shapes[shape] <= ALIKE else ():
            if part.strip():
                found.append(Sentence(part, Reading(document.name, f"line {number}", " ".join(part.split())[:200])))
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


_DISTRIBUTION = regex(
    r"(?<![\w/.-])(Ubuntu|Debian|Fedora(?: Linux)?|Arch Linux|Manjaro|CachyOS|EndeavourOS|NixOS|openSUSE(?: Leap| Tumbleweed)?|SLES|RHEL"
    r"|Red Hat Enterprise Linux|Rocky Linux|AlmaLinux|CentOS(?: Stream)?|Oracle Linux|Linux Mint|Pop!_OS|Proxmox VE|Gentoo|Bazzite|Nobara)"
    r"(?![\w@]|-based)(?:[\s:-]{1,3}(?:version\s*:?\s*)?[v(]?(\d{1,2}(?:\.\d{1,2}){0,2}(?![\d.-]*\d)(?: LTS)?)\b)?(?![.-]\d)",
    re.I,
)
_WINDOWS = regex(
    r"\b(Windows\s?(?:1[01]|Server(?: 20\d\d)?)(?:\s(?:Pro|Home|Enterprise))?|Win ?1[01])\b|\b(?:on|under|for|in) Windows\b|\b[CD]:\\"
    r"|WinError|\.exe\b|\bHIP SDK\b|\bAdrenalin\b|^Windows[,.:]|,\s*Windows[.,]|^\W*(?:OS|Operating system|Platform)\W{1,4}Windows\b",
    re.I,
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
    for sentence in text:
        if wsl := _WSL.search(sentence.text):
            result.record("wsl", not _OUTSIDE.search(sentence.text[: wsl.start()]), sentence.reading)
        for found in _DISTRIBUTION.finditer(sentence.text):
            if found[2] or not found[1][0].islower():
                linux.append((" ".join(filter(None, found.groups())), sentence.reading))
        if not wsl and not linux and (found := _WINDOWS.search(sentence.text)):
            windows.append((found[1] or "", sentence.reading))
        if container := _CONTAINERS.search(sentence.text):
            kind = _KINDS[(container.lastindex or 1) - 1]
            if not _OUTSIDE.search(sentence.text[: container.start()]) and (
                kind != "container" or "container" not in result.facts
            ):
                result.record("container", kind, sentence.reading)
    inside = result.facts.get("wsl")
    named = linux if inside and inside.value else windows or linux
    if named or (inside and inside.value):
        result.record(
            "platform", "windows" if named and named is windows else "linux", named[0][1] if named else inside.readings[0]
        )  # type: ignore[union-attr]
    names = [one for one in named if one[0]]
    if names:
        result.record("os", *next((one for one in names if any(c.isdigit() for c in one[0])), names[0]))


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


_INDEX = regex(r"(?:whl/(?:nightly/|test/)?|rocm-rel-)((?:rocm)?\d+\.\d+(?:\.\d+)?|rocm\d+\.\d+(?:\.\d+)?|cu\d+|cpu|xpu)\b")
_THEROCK = regex(
    r"rocm\.(?:nightlies|prereleases|devreleases)\.amd\.com|repo\.amd\.com/rocm|/v2(?:-staging)?/gfx|whl-(?:staging-)?multi-arch"
)


def record_index(result: ProbeResult, sentence: Sentence) -> None:
    """said.torch_index, and what it decides of torch's build."""
    if found := _INDEX.search(sentence.text):
        tag = f"rocm{found[1]}" if found[1][0].isdigit() else found[1]
        result.record("said.torch_index", "repo.radeon.com" if found[0].startswith("rocm-rel") else tag, sentence.reading)
        record_build(result, Build(f"0+{tag}"), sentence.reading)
    elif _THEROCK.search(sentence.text):
        result.record("said.torch_index", "therock", sentence.reading)
        result.record("torch.build", "rocm", sentence.reading)
        result.record("torch.family", "therock", sentence.reading)


MOST = 16
"""GPUs of one text, and names read in one sentence."""
_TIMES = regex(r"(?:(?<!\d\.)\b(\d{1,2})\s?[x×]|\b(two|dual|pair of|three|four|six|eight|twin))\s*(?:(?:of|the|my|amd|radeon|instinct|identical)\s+)*$"
               r"|(?<!\d\.)\b(\d{1,2})[x×]$", re.I)  # fmt: skip
_BEHIND = regex(r"\s*\(?\s?[x×]\s?(\d{1,2})\b(?!\s?(?:gb|gib|cm|mm))", re.I)
_COUNTS = {"two": 2, "dual": 2, "pair of": 2, "twin": 2, "three": 3, "four": 4, "six": 6, "eight": 8}
_GFX = regex(r"(?<![^\W_])gfx(?:([19][0-9]{1,2})[xX]|(?!000)(?:[6-9][0-9a-f]{2}|1[0-9]{3}))(?![0-9a-fA-F])")
_AS_IF = regex(
    r"\b(?:as|like|not|instead of|than|(?:spoof|pretend|overr|treat|fak)\w*(?: it)?(?: to| with)?(?: be)?)\s+(?:an?\s+)?$", re.I
)
"""Before a target that the GPU is driven as."""
_KIND_ORDER = ("name", "gfx", "codename", "processor", "family")


class Mention(NamedTuple):
    """A GPU named in a sentence, and how many of it."""

    gfx: tuple[str, ...]
    kind: str
    words: str
    times: int
    sentence: Sentence
    start: int


class Group(msgspec.Struct):
    """Mentions of one GPU, and the targets that all of them allow."""

    gfx: tuple[str, ...]
    mentions: list[Mention]
    count: int = 1


def record_gpus(result: ProbeResult, text: Iterable[Sentence], names: GpuNames) -> None:
    """A listing of the GPUs that the text names."""
    groups = _groups([mention for sentence in text for mention in _mentions(sentence, names)])
    listing = result.listing(complete=False) if groups else None
    for group in groups[:MOST]:
        for _ in range(group.count if listing else 0):
            _describe(result, group, listing.gpu())  # type: ignore[union-attr]


def _mentions(sentence: Sentence, names: GpuNames) -> Iterator[Mention]:
    text = sentence.text
    for one in names.find(text)[:MOST]:
        if text[one.end : one.end + 1] != "+":  # `MI300+` is a requirement
            yield Mention(one.gfx, one.kind, one.text, _count(text, one.start, one.end), sentence, one.start)
    targets = {hit[0].lower(): hit for hit in reversed(list(_GFX.finditer(text)))} if "gfx" in text.lower() else {}
    # Several targets in one sentence are those of a build or a table.
    for hit in targets.values() if len(targets) == 1 else ():
        known = _targets_with_prefix(hit[1], names) if hit[1] else (hit[0].lower(),)
        if known and not _AS_IF.search(text[max(0, hit.start() - 40) : hit.start()]):
            yield Mention(known, "gfx", hit[0], _count(text, *hit.span()), sentence, hit.start())


def _count(text: str, start: int, end: int) -> int:
    """The number of GPUs named in text[start:end], from the words around it (MOST at most): `8x`, `two`, `x4`."""
    if behind := _BEHIND.match(text, end):
        return min(MOST, int(behind[1]))
    before = _TIMES.search(text[max(0, start - 40) : start])
    if before is None:
        return 1
    return _COUNTS[before[2].lower()] if before[2] else min(MOST, int(before[1] or before[3]))


def _targets_with_prefix(digits: str, names: GpuNames) -> tuple[str, ...]:
    """All targets of the catalog with this prefix: gfx110x is gfx1100 to gfx1103."""
    known = {gfx for entry in names.entries.values() for gfx in entry.gfx}
    return tuple(sorted(gfx for gfx in known if gfx.startswith("gfx" + digits) and len(gfx) == len(digits) + 4))


def _groups(mentions: list[Mention]) -> list[Group]:
    """Mentions by GPU. Exact names make the groups; code names, families and processors only narrow them, or are a group alone. A target
    beside a product's name that it contradicts (`Radeon 8060S (gfx1100)`) is that of an override."""
    groups: list[Group] = []
    for one in sorted(mentions, key=lambda one: _KIND_ORDER.index(one.kind) > 1):
        last = groups[-1].mentions[-1] if groups else None
        group = next((group for group in groups if set(group.gfx) & set(one.gfx)), None)
        if group is not None:
            group.gfx = tuple(gfx for gfx in group.gfx if gfx in one.gfx)
            group.mentions.append(one)
            group.count = max(group.count, one.times)
        elif not (last and (last.kind, one.kind) == ("name", "gfx") and last.sentence is one.sentence):
            groups.append(Group(one.gfx, [one], max(1, one.times)))
    return groups


def _describe(result: ProbeResult, group: Group, gpu: dict[str, Fact]) -> None:
    best = min(group.mentions, key=lambda one: _KIND_ORDER.index(one.kind))
    reading = best.sentence.reading
    if best.kind == "name":
        result.record("marketing_name", best.words, reading, gpu)
    elif best.kind == "family":
        result.record("family", re.sub(r"\s", "", best.words).upper(), reading, gpu)
    several = Unknown("ambiguous", f"`{best.words}` fits several targets; run rocminfo", group.gfx)
    result.record("gfx", group.gfx[0] if len(group.gfx) == 1 else several, reading, gpu)
