"""The program that a text is about, and the versions that a person states: of it, of ROCm, torch, Python, the kernel, drivers and
packages; which of them work and which fail.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.matrix.types import Application
from rocm_doctor.model import Unknown
from rocm_doctor.probes.python.torch_build import Build, record_build
from rocm_doctor.probes.read.result import ProbeResult
from rocm_doctor.probes.read.scan import canonical
from rocm_doctor.probes.text.prose_text import Sentence, Stance

_TITLE = 3
"""Times that a mention in the first sentence counts."""
_VERSION = r"\d+\.\d+(?:\.\d+){0,2}(?:[-.]?(?:rc|beta|alpha|a|b)\.?\d{1,3})?"
_BETWEEN = (
    r"(?:[\s\"'(\[:@=/_-]|\b(?:version|release|runtime|engine|client|server|build|is|for amd|v)\b|\((?:windows|linux)\)){0,8}"
)
_ANY_RELEASE = (
    r"\b(?:the|to|from|of|since|with|on|in|new|newest|latest|current|older|previous|last|my)\s+(?:new\s+)?"
    r"(?:release|version|build|runtime|engine|tag)s?\s+"
)


class Programs:
    """The programs of the catalog, and a pattern of all their names. Built once for a matrix."""

    def __init__(self, known: Sequence[Application]) -> None:
        self.known = known
        self._by_name = {name: one for one in known for name in one.names}
        names = sorted(self._by_name, key=len, reverse=True)
        self._names = re.compile(r"(?<![\w.])(" + "|".join(map(re.escape, names)) + r")(?![\w])") if names else None

    def of_text(self, text: Iterable[Sentence]) -> Found | None:
        """The program that is named most, the first sentence above all; an engine only where no program that may bring it is."""
        seen: dict[str, int] = {}
        first: dict[str, Sentence] = {}
        for number, sentence in enumerate(text):
            for hit in self._names.finditer(sentence.text.lower()) if self._names else ():
                key = self._by_name[hit[1]].key
                seen[key] = seen.get(key, 0) + (1 if number else _TITLE)
                first.setdefault(key, sentence)
        named = [one for one in self.known if one.key in seen]
        if not named:
            return None
        best = max(named, key=lambda one: seen[one.key] / (3 if one.engine else 1))
        names = re.compile("|".join(map(re.escape, best.names)))
        return Found(best, first[best.key], self._version(best), names)

    def _version(self, one: Application) -> re.Pattern[str]:
        """The pattern of a version of the program, or of the engine in it, in group 1."""
        names = [name for known in self.known if known is one or known.engine for name in known.names]
        before = r"(?<![\w.])(?:" + "|".join(map(re.escape, names)) + ")" + _BETWEEN
        builds = "|".join(
            dict.fromkeys(known.versions for known in self.known if known.versions and (known is one or known.engine))
        )
        version = f"({_VERSION}{'|' + builds if builds else ''})"
        return re.compile(rf"(?:{before}|{_ANY_RELEASE})v?{version}(?![\w])", re.I)


class Found(NamedTuple):
    """The program of a text, the first sentence that names it, the pattern of its versions, and that of its names in lower case."""

    program: Application
    sentence: Sentence
    version: re.Pattern[str]
    names: re.Pattern[str]


_V3 = r"(\d{1,2}\.\d{1,2}(?:\.\d{1,2})?(?:(?:a|b|rc)\d+)?)(?!\d|\.\d{3})"
_TORCH = r"([0-2]\.\d{1,2}(?:\.\d{1,2})?(?:(?:a|b|rc)\d+)?(?:\.(?:dev|post)\d+)?(?:\+[\w.]+)?)(?![\w])"
_KERNEL = r"([2-9]\.\d{1,2}(?:\.\d+)?(?:\.\d+)?(?:-[\w.+~-]+)?)"
_PRERELEASE = regex(r"[-.]?(?:rc|beta|alpha|a|b)\.?\d+$", re.I)
_DRIVER = r"((?:20)?2\d\.(?:1[0-2]|0?[1-9])(?:\.\d{1,2})?)(?![\w.]\d)"
"""A version of Windows' display driver, which is its year and month."""
_PACKAGES = (
    "transformers|peft|accelerate|bitsandbytes|torchvision|torchaudio|torchao|torchtune|triton|triton-rocm"
    "|pytorch-triton-rocm|flash[-_]attn|flash[-_]attention"
    "|xformers|deepspeed|unsloth|unsloth_zoo|vllm|sglang|numpy|datasets|trl|aiter|diffusers|ray|onnxruntime|axolotl"
    "|llama-factory|comfyui"
)


PROGRAM = "program"
"""Name of the subject that is the program of the text."""


class Subject(NamedTuple):
    """A subject of versions: the fact it states, its name under said.works and said.broken, and how people write it."""

    fact: str
    name: str
    pattern: re.Pattern[str]


def _subject(fact: str, name: str, pattern: str) -> Subject:
    return Subject(fact, name, regex(pattern, re.I))


SUBJECTS = (
    _subject("torch.version", "torch", r"(?<![\w/.+])(?<!build )(?:py)?torch(?:\.__version__)?(?:\s+(?:version|nightly"
        r"|build))?(?:\s*(?:==|="
        r"|:)\s*|[\s-]+(?:is\s+|was\s+)?v?)" + _TORCH),
    _subject("rocm.version", "rocm", r"(?:(?<=torch/)|(?<![\w/.+-]))(?:the\s?rock|hip sdk|rocm)\b(?:[\s-]+(?:version"
        r"|stack|release|runtime"
        r"|sdk|nightly|installation|preview))?[\s:=-]{1,8}(?:is\s+)?v?" + _V3),
    _subject("rocm.version", "rocm", r"(?<![\w/.+-])(?:rocm|the\s?rock)\b(?:[\s-]+\w+){0,4}\s+(?:is|at|version|dist|stack"
        r"|to)\s+v?" + _V3),
    _subject("rocm.version", "rocm", r"(?<![\w/.+])rocm-?" + _V3 + r"(?![\w])"),
    _subject("python.version", "python", r"(?<![\w./])python\s?(?:version\s?)?[:=]{0,2}\s*v?(3\.\d{1,2}(?:\.\d{1,2})?)(?![\d])"),
    _subject("python.version", "python", r"(?<![\w./])py(?:thon)?[\s-]{0,2}(?:v)?(3\.\d{1,2}(?:\.\d{1,2})?)(?![\d])"),
    _subject("kernel", "kernel", r"(?<![\w/-])kernels?(?:\s+version|\s+now)?(?:\s*[:=]\s*|\s+(?:is\s+|linux\s+|release\s+)?)v?" + _KERNEL),
    _subject("kernel", "kernel", r"(?:^|[.;,:(]\s{0,4}|\b(?:since|with|on|under|from|to|of|and|using|after|running|mainline"
        r"|vanilla)\s+)linux[\s-]+v?([3-9]\.\d{1,2}(?:\.\d+)?(?:-[\w.+~-]+)?)"),
    _subject("kernel", "kernel", r"(?<![\w/.-])linux(?:-(?:lts|zen|hardened|cachyos|xanmod|liquorix|mainline|rt|bore|eevdf|generic)){1,3}[\s-]+v?"
        + _KERNEL),
    _subject("rocm.version", "rocm", r"(?<![\w/.+])(?:rocm|hip)-(?:opencl|hip|hip-sdk|llvm|runtime|libs|opencl-runtime|hip-runtime)\s+v?" + _V3),
    _subject("driver.version", "driver", r"(?<![\w/])(?:amdgpu-dkms|amdgpu(?: kernel)?(?: driver"
        r"| module)?)\s+(?:version\s+)?v?([3-6]\.\d{1,2}\.\d{1,2})(?![\d])"),
    _subject("driver.windows", "driver", r"\badrenalin(?:\s+(?:edition|software|driver|version"
        r"|pro))*[\s:]+v?(\d\d\.\d{1,2}(?:\.\d{1,2}){0,2})"),
    _subject("driver.windows", "driver", r"\bwindows\s+(?:gpu\s+|graphics\s+"
        r"|amd\s+)?driver(?:\s+version)?[\s:]+v?(\d\d\.\d{1,2}(?:\.\d{1,2}){0,2})"),
    _subject("driver.windows", "driver", r"\b(?:(?:gpu|graphics|display|amd|radeon|adrenalin)\s+)*drivers?\b(?:\s+version)?(?:\s+is)?"
        r"[\s:=-]+(?:amd\s+|adrenalin\s+|software\s+|v)*" + _DRIVER),
    _subject("driver.windows", "driver", r"(?<![\w.])" + _DRIVER + r"(?=\s+(?:(?:amd|gpu|adrenalin|radeon|whql)\s+)*drivers?\b)"),
    _subject("firmware.linux", "firmware", r"\blinux-firmware(?:-amdgpu)?(?:\s+(?:version|package))?[\s:=-]+(?:1:)?(20\d{6})"),
    _subject("firmware.mes", "firmware", r"\bMES(?:\s+(?:firmware|fw))?(?:\s+version)?[\s:=]+(0x[0-9a-f]{2,8})\b"),
    _subject("hip.version", "hip", r"\bhip(?:config)?(?:\s+(?:version|runtime))?[\s:]+(\d\.\d{1,2}\.\d{5}[\w-]*)"),
    _subject("glibc", "glibc", r"\bglibc[\s-]+(\d\.\d{1,2})"),
)  # fmt: skip
_PACKAGE = regex(
    rf"(?<![\w./-])({_PACKAGES})(?:\s+(?:version\s+)?v?|==|\s*:\s*v?)(\d+\.\d+(?:\.\d+)*(?:(?:a|b|rc)\d+)?(?:\.(?:dev"
    rf"|post)\d+)?(?:\+[\w.]+)?)",
    re.I,
)
_UNAME = regex(r"(?<![\w./+-])(\d\.\d{1,2}\.\d+(?:\.\d+)?-[\w.~+-]*?(?:generic|pve|lowlatency|oem|amd64"
    r"|microsoft-standard[\w-]*|arch\d[\w-]*|zen\d[\w-]*|cachyos[\w-]*"
                    r"|x86_64|azure|aws|default|MANJARO|xanmod\d))(?![\w])")  # fmt: skip
_FROM_TO = regex(
    r"\bfrom\s+(?:\w+\s+){0,2}?(?:v|rocm-?|torch-?)?(\d+\.\d+(?:\.\d+)?[\w.+]*)\s+(?:up\s+)?to\s+(?:\w+\s+){0,2}?(?:v|rocm-?|torch-?)?(\d+\.\d+(?:\.\d+)?[\w.+]*)",
    re.I,
)
_BARE = regex(
    r"(?:\b(?:with|on|in|under|using|since|and|or|vs\.?|versus|both|the|at|than|after|to|have|use|run|using|running"
    r"|currently|got|is|was)\s+|^\s*)v?"
    r"(\d{1,2}\.\d{1,3}(?:\.\d{1,2}){0,2}(?:(?:a|b|rc)\d+)?(?:\+[\w.]+)?)(?=[\s,;:.)]|$)(?!\.\d)(?!\s*(?:gb|gib|mb|%|s\b"
    r"|seconds|x\b|tok))", re.I,
)  # fmt: skip
_UBUNTU = regex(r"(?:ubuntu|mint|fedora|debian|rhel|suse|leap|centos|rocky|alma\w*|windows|from)[\s-]*$", re.I)


class StatedVersion(NamedTuple):
    """One version that a text states, and the text's stance on it."""

    subject: Subject
    version: str
    stance: Stance
    sentence: Sentence


def record_versions(result: ProbeResult, text: Sequence[Sentence], program: Found | None = None) -> None:
    """Each subject's version in use; said.works.<name>, said.broken.<name>, said.earlier and said.updated where the text compares."""
    of_program = Subject("said.release", PROGRAM, program.version) if program else None
    if program:
        result.record("said.program", program.program.key, program.sentence.reading)
    stated = list(_stated_versions(text, of_program))
    _record_changes(result, text, program)
    torch = _current([s for s in stated if s.subject.fact == "torch.version"])
    if torch:
        record_build(result, Build(torch.version), torch.sentence.reading)
    for fact in dict.fromkeys(s.subject.fact for s in stated):
        of_it = [s for s in stated if s.subject.fact == fact]
        current = _current(of_it)
        if current:
            result.record(
                fact,
                current.version.removeprefix("20") if fact == "driver.windows" else current.version,
                current.sentence.reading,
            )
            if fact == "said.release" and _PRERELEASE.search(current.version):
                result.record("said.prerelease", True, current.sentence.reading)
        elif all(s.stance in ("works", "past") for s in of_it):
            candidates = tuple(dict.fromkeys(s.version for s in of_it))
            result.record(fact, Unknown("ambiguous", "state which version is in use", candidates), of_it[0].sentence.reading)
    _record_sides(result, stated)


def _current(stated: list[StatedVersion]) -> StatedVersion | None:
    """The version in use: the one that fails, else the first that is not said to work; `2.12.0` wins over `2.12`."""
    chosen = next((s for s in stated if s.stance == "broken"), None) or next((s for s in stated if s.stance == "plain"), None)
    fuller = [
        s
        for s in stated
        if chosen and s.stance in ("plain", "broken") and re.match(re.escape(chosen.version) + r"[.+]", s.version)
    ]
    return fuller[0] if fuller else chosen


def _record_sides(result: ProbeResult, stated: list[StatedVersion]) -> None:
    """said.works and said.broken by the subject's name, where one version works (or was used before) and another does not.

    Of a version that is said to work and to fail, what is said more often counts; it fails where both are.
    """
    for name in dict.fromkeys(s.subject.name for s in stated):
        of_it = [s for s in stated if s.subject.name == name]
        fails = Counter(s.version for s in of_it if s.stance == "broken")
        fine = Counter(s.version for s in of_it if s.stance in ("works", "past"))
        good = [s for s in of_it if s.stance in ("works", "past") and fine[s.version] > fails[s.version]]
        others = [s for s in of_it if all(s.version != g.version for g in good)]
        bad = [s for s in others if s.stance == "broken"] or [s for s in others if good and s.stance == "plain"]
        if not good and not any(_SINCE.search(s.sentence.text) for s in bad):
            continue
        for side, members in (("works", good), ("broken", bad)):
            versions = tuple(dict.fromkeys(s.version for s in members))
            if versions:
                result.record(f"said.{side}.{name}", versions, members[0].sentence.reading)


_NOUNS = {
    "kernel": "kernel",
    "driver": "driver",
    "adrenalin": "driver",
    "firmware": "firmware",
    "rocm": "rocm",
    "torch": "torch",
    "pytorch": "torch",
}
"""What is compared or updated, by the noun in a sentence; other nouns mean the program."""
_NOUN = r"(kernel|drivers?|adrenalin|(?:linux-)?firmware|rocm|(?:py)?torch|engine|runtime|release|version|build|image|app)"
_EARLIER = regex(
    rf"\b(?:previous|earlier|older|last|prior|old)\s+(?:\w+\s+){{0,2}}?{_NOUN}s?\b|\b{_NOUN}s?\s+(?:of\s+)?before\b", re.I
)
_UPDATED = regex(
    r"\b(?:(?:after|since|following)\b.{0,40}?\b(?:updat|upgrad)\w*|(?:i|we|just|recently|today|yesterday|having)\s+(?:\w+\s+)?(?:updated|upgraded)"
    r"|(?:update|upgrade)d?\s+(?:of|to)\b)(.{0,60})",
    re.I,
)


def _record_changes(result: ProbeResult, text: Sequence[Sentence], program: Found | None) -> None:
    """said.earlier: what an earlier one of, without its number, works; said.updated: what was updated when the trouble began."""
    earlier: dict[str, Sentence] = {}
    updated: dict[str, Sentence] = {}
    for sentence in text:
        if sentence.other:
            continue
        for found in _EARLIER.finditer(sentence.text):
            name = _name_of((found[1] or found[2]).lower(), program)
            if name and sentence.stance(*found.span()) == "works":
                earlier.setdefault(name, sentence)
        moved = _UPDATED.search(sentence.text)
        if moved:
            nouns = regex(rf"\b{_NOUN}s?\b", re.I).findall(moved[0])
            named = [n for n in (_name_of(noun.lower(), program) for noun in nouns) if n]
            for name in named or ([PROGRAM] if program and program.names.search(moved[0].lower()) else []):
                updated.setdefault(name, sentence)
    for fact, found_in in (("said.earlier", earlier), ("said.updated", updated)):
        if found_in:
            result.record(fact, tuple(found_in), next(iter(found_in.values())).reading)


def _name_of(noun: str, program: Found | None) -> str:
    """The subject that a noun means; `program` for one that is no part of the system, empty without a program."""
    noun = noun.removesuffix("s").removeprefix("linux-")
    return _NOUNS.get(noun, PROGRAM if program else "")


def _stated_versions(text: Iterable[Sentence], program: Subject | None) -> Iterator[StatedVersion]:
    last: Subject | None = program
    first: Subject | None = program
    for sentence in text:
        found = sorted(_named_versions(sentence, program), key=lambda item: item[0])
        moved = {m.start(1) for m in _FROM_TO.finditer(sentence.text)}
        for start, end, subject, version in found:
            if end - len(version) in moved:
                yield StatedVersion(subject, version, "past", sentence)
                continue
            side = sentence.stance(start, end)
            yield StatedVersion(_wheel_subject(subject, sentence, start, end), version, side, sentence)
            tag = _ROCM_TAG.search(version) if subject.fact == "torch.version" and side in ("works", "broken") else None
            if tag:
                yield StatedVersion(_WHEEL_SUBJECT, tag.group(1), side, sentence)
        first = first or (found[0][2] if found else None)
        carried = found[-1][2] if found else last or first
        if carried is not None:
            yield from _bare(sentence, carried, [(start, end) for start, end, *_ in found])
        if sentence.text.strip():
            last = found[-1][2] if found else None


def _wheel_subject(subject: Subject, sentence: Sentence, start: int, end: int) -> Subject:
    """The subject of `rocm6.2` in one word: the tag of a wheel in a sentence about wheels, ROCm itself elsewhere."""
    written = sentence.text[start:end]
    if subject.fact != "rocm.version" or not written.startswith("rocm") or " " in written or not _WHEEL.search(sentence.text):
        return subject
    return _WHEEL_SUBJECT


def _named_versions(sentence: Sentence, program: Subject | None) -> Iterator[tuple[int, int, Subject, str]]:
    """(start, end, subject, version) of each version next to its subject; the first match of a span keeps it."""
    text = sentence.text
    if not any(c.isdigit() for c in text) or _PULLED.match(text):
        return
    low = text.lower()
    taken: list[tuple[int, int]] = []
    for subject in (*SUBJECTS, program) if program else SUBJECTS:
        if subject is not program and not _may_hold(subject, low):
            continue
        for found in subject.pattern.finditer(text):
            if any(found.start(1) < e and s < found.end(1) for s, e in taken):
                continue
            taken.append(found.span(1))
            yield found.start(), found.end(1), subject, found.group(1).rstrip(".-")
    for found in _UNAME.finditer(text):
        if not any(found.start(1) < e and s < found.end(1) for s, e in taken):
            yield found.start(), found.end(1), _KERNEL_SUBJECT, found.group(1)


_MINE = regex(
    r"\b(?:i have|you have|i've got|i'm on|i am on|i use|i run|i'm (?:running|using)|currently(?: on)?|mine is|we (?:have|use"
    r"|run))\s+(?:\w+\s+)?v?$",
    re.I,
)
_SINCE = regex(r"\b(?:since|after (?:the |an? )?(?:updat|upgrad|install|mov|switch)\w*|no longer|stopped|regress\w*)\b", re.I)
_PULLED = regex(r"\s*(?:Downloading|Collecting|Requirement already|Using cached|Found existing|Attempting)\b")
_WHEEL = regex(r"\b(?:wheels?|whl|torch|index|nightly|pip|builds?|packages?|many(?:wheel|linux))\b", re.I)
_ROCM_TAG = regex(r"\+rocm(\d{1,2}\.\d{1,2}(?:\.\d{1,2})?(?:(?:a|b|rc)\d+)?)")
_WHEEL_SUBJECT = Subject("torch.rocm", "rocm", regex("rocm"))
_ROCM_SUBJECT = next(s for s in SUBJECTS if s.fact == "rocm.version")
_NIGHTLY = regex(r"(?:a|rc)20\d{6}$")
"""How only nightly builds of ROCm number their releases."""
_KERNEL_SUBJECT = next(s for s in SUBJECTS if s.fact == "kernel")
_WORDS = {
    "torch.version": ("torch",),
    "rocm.version": ("rocm", "rock", "hip sdk"),
    "python.version": ("py",),
    "kernel": ("kernel", "linux"),
    "driver.version": ("amdgpu",),
    "driver.windows": ("adrenalin", "driver"),
    "firmware.linux": ("linux-firmware",),
    "firmware.mes": ("mes",),
    "hip.version": ("hip",),
    "glibc": ("glibc",),
}


def _may_hold(subject: Subject, low: str) -> bool:
    return any(word in low for word in _WORDS[subject.fact])


_STILL = regex(r"\b(?:persists?|still|same (?:issue|problem|error)|no (?:change|difference|luck)|did(?:n't| not) help)\b", re.I)


def _moved(before: str, other: Subject) -> Subject:
    """The subject that moves from one version to another: the last one that the words before name."""
    nouns = [noun.lower().removesuffix("s").removeprefix("linux-") for noun in regex(rf"\b{_NOUN}s?\b", re.I).findall(before)]
    named = next((_NOUNS[noun] for noun in reversed(nouns) if noun in _NOUNS), "")
    return next((one for one in SUBJECTS if one.name == named and one.fact != "driver.version"), other)


def _bare(sentence: Sentence, subject: Subject, taken: list[tuple[int, int]]) -> Iterator[StatedVersion]:
    """Versions without a name (`works on ROCm 6.2, breaks on 6.3`) belong to the last subject. `from A to B`: A was before."""
    text = sentence.text
    for found in _FROM_TO.finditer(text):
        of_move = _moved(text[: found.start()], subject)
        for group in (1, 2):
            if not any(s <= found.start(group) < e for s, e in taken):
                taken.append(found.span(group))
                side: Stance = "maybe" if _STILL.search(text) else "past" if group == 1 else "plain"
                yield StatedVersion(of_move, found.group(group), side, sentence)
    for found in _BARE.finditer(text):
        if any(s <= found.start(1) < e for s, e in taken) or _UBUNTU.search(text[: found.start(1)]):
            continue
        kind = sentence.stance(*found.span(1))
        if kind in ("works", "broken", "past") or (
            kind == "plain" and _MINE.search(text[max(0, found.start(1) - 30) : found.start(1)])
        ):
            yield StatedVersion(_ROCM_SUBJECT if _NIGHTLY.search(found.group(1)) else subject, found.group(1), kind, sentence)


def record_packages(result: ProbeResult, text: Iterable[Sentence]) -> None:
    """pkg.<name> of `bitsandbytes 0.49.0` and `name==version` in a sentence."""
    for sentence in text:
        for found in _PACKAGE.finditer(sentence.text) if any(c.isdigit() for c in sentence.text) else ():
            side = sentence.stance(*found.span())
            if side in ("plain", "broken"):
                result.record(f"pkg.{canonical(found.group(1))}", found.group(2), sentence.reading)
