"""Versions that a text states: in environment reports and banners of programs, in package managers' lines, in paths, and in sentences.

A statement that a program prints (`PyTorch version: 2.9.1`) decides. Of what a person writes, several versions of one thing leave open
which one is in use.

    ==> paste/text <==
    PyTorch version: 2.9.1+rocm6.4
    ROCM used to build PyTorch: 6.4.43484-123eb5128
    OS: Ubuntu 24.04.2 LTS (x86_64)
    Python version: 3.12.3 (main) (64-bit runtime)
    Is CUDA available: True
    [pip3] numpy==2.1.2

>>> print(probe(sample))
torch.version = 2.9.1+rocm6.4
torch.hip = 6.4.43484-123eb5128
os = Ubuntu 24.04.2 LTS
python.version = 3.12.3
torch.available = True
pkg.numpy = 2.1.2
platform = linux
torch.build = rocm
torch.rocm = 6.4
torch.family = bundled
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Unknown, Value
from rocm_doctor.probes.python.torch_build import Build, record_build
from rocm_doctor.probes.read.result import Artifacts, ProbeResult
from rocm_doctor.probes.read.scan import canonical, stated_value, texts
from rocm_doctor.probes.read.sentences import Sentence, sentences


class Subject(NamedTuple):
    """A fact, and how a text states it: words of which one is in every such line, and a pattern with the value as its group."""

    fact: str
    words: tuple[str, ...]
    pattern: re.Pattern[str]


def _subject(fact: str, words: str, pattern: str) -> Subject:
    return Subject(fact, tuple(words.split("|")), regex(pattern, re.I))


_V = r"v?(\d+\.\d+(?:\.\d+)*(?:[-.+]?[A-Za-z0-9][\w.+-]*)?|N/A\b|None\b)"
PRINTED = (
    _subject("torch.version", "torch", r"(?<![\w./+-])(?<!build )(?:Py)?Torch(?:[ _]version)?(?:\s*\([\w ]{2,14}\?\))?['\"]?\s{0,20}:\s{0,20}['\"]?" + _V),
    _subject("torch.version", "torch", r"(?:^|\s|/)(?:python-)?pytorch(?:-opt)?-rocm (\d+\.\d+\.\d+)-\d"),
    _subject("torch.hip", "rocm used", r"ROCM used to build PyTorch\s*:\s*" + _V),
    _subject("torch.hip", "hip", r"(?:ROCM? HIP version|ROCm Toolkit|torch\.version\.hip['\"]?|torch_hip['\"]|(?:^|[\s(])HIP)\s*(?::|=|->|,)\s*['\"]?" + _V),
    _subject("torch.cuda", "cuda", r"(?:CUDA used to build PyTorch|torch\.version\.cuda['\"]?)\s*(?::|=|->)\s*['\"]?" + _V),
    _subject("hip.version", "hip|rocm version", r"(?:HIP runtime version|(?<!ROCM )(?<!ROC )HIP[ _]version['\"]?|ROCM Version(?=: \d+\.\d+\.\d{3}))\s*:\s*['\"]?(\d+\.\d+\.\d+[\w-]*)"),
    _subject("torch.available", "available|gpu?", r"(?:Is CUDA available|cuda\.is_available\(\)|(?:CUDA|ROCM|GPU|HIP) available"
        r"|pytorch version \(GPU\?\):[^\n(]{0,60})\W{0,8}(True|False)\b"),
    _subject("rocm.version", "rocm", r"(?:^|[-*|\s\"])ROCm(?:[ _]version)?\"?:\s*[\"(]?(\d+(?:\.|, )\d+(?:\.\d{1,2})?)(?!\d|\.\d{3})"),
    _subject("rocm.version", "rocm-", r"(?:^|\s|/)rocm-(?:core|hip-(?:runtime|libraries|sdk))(?:/\S+|\d[\d.]*)?[\s-]{1,40}(\d+\.\d+\.\d+)[.-]\w"),
    _subject("rocm.version", "/opt/rocm-", r"(?<![\w.-])/opt/rocm-(\d{1,2}\.\d+(?:\.\d+)?)(?=[/\s:'\",)]|$)"),
    _subject("driver.version", "driver version|amdgpu version", r"(?:ROCM|amdgpu|AMD GPU|^)\s*(?:driver|amdgpu) version\s*:\s*(\d+\.\d+\.\d+)(?![\w-])"),
    _subject("driver.version", "amdgpu", r"(?:(?:^|\s)amdgpu(?:/|, )|\[drm\] amdgpu version: )(\d+\.\d+\.\d+)(?![^,]*, [^,]*, \w+: (?:added|built))"),
    _subject("driver.version", "amdgpu-dkms", r"(?:^|\s|/)amdgpu-dkms[\s-]+(?:\d:)?(\d+\.\d+\.\d+)[.-]\d"),
    _subject("driver.windows", "adrenalin", r"Adrenalin(?: Edition| Software| driver)?(?: version)?\s*:\s*(\d+\.[\d.]+)"),
    _subject("firmware.mes", "mes", r"\bMES feature version: \d+, firmware version: (0x[0-9a-f]+)"),
    _subject("kernel", "linux", r"(?:Linux version |^Linux \S+ |(?:Python p|\bP)latform:\s*Linux-)(\d+\.\d+\.\d[\w.+~-]*?)(?=-x86_64|-aarch64|\s|$)"),
    _subject("os", "os:", r"(?:^|\s)OS: ([A-Z][^\n\"]*?)\s{0,40}\((?:x86_64|aarch64|amd64|10\.[^)]*)\)"),
    _subject("os", "pretty_name", r"^PRETTY_NAME=\"?([^\"\n]+)"),
    _subject("glibc", "glibc", r"(?:Libc version|libc|Platform):\s*\S*?glibc-?(\d+\.\d+)"),
    _subject("cpu", "model name|name:", r"(?:^|\s)(?:Model n|CPU:?\s+N|N)ame:\s+((?:AMD|Intel)[^\n]*?\S)(?<!\.\.\.)(?=\s{2}|$)"),
    _subject("python.version", "python", r"(?:^|[-*|\s\"])Python(?:[ _]version)?\"?\s{0,20}:\s{0,20}\"?v?(\d+\.\d+(?:\.\d+)?)"),
    _subject("python.version", "python3", r"(?:/python|\\Python(?=3\d))(3\.?\d{1,2})(?:/(?:site|dist)-packages|\\)"),
    _subject("pkg.vllm", "vllm|llm engine", r"(?:vLLM (?:API server )?version:?|LLM engine \()\s*v?(\d+\.\d+[\w.+-]*)"),
    _subject("pkg.unsloth", "unsloth 20", r"Unsloth (20\d\d\.\d+\.\d+)"),
)  # fmt: skip
"""Statements of programs and package managers."""

_V3 = r"(\d{1,2}\.\d{1,2}(?:\.\d{1,2})?(?:(?:a|b|rc)\d+)?)(?!\d|\.\d{3})"
_KERNEL = r"([2-9]\.\d{1,2}(?:\.\d+)?(?:\.\d+)?(?:-[\w.+~-]+)?)"
_WINDOWS_DRIVER = r"((?:20)?2\d\.(?:1[0-2]|0?[1-9])(?:\.\d{1,2})?)(?![\w.]\d)"
"""A version of Windows' display driver, which is its year and month."""
WRITTEN = (
    _subject("torch.version", "torch", r"(?<![\w/.+])(?<!build )(?:py)?torch(?:\.__version__)?(?:\s+(?:version|nightly|build))?(?:\s*(?:==|=)\s*"
        r"|[\s-]+(?:is\s+|was\s+)?v?)([0-2]\.\d{1,2}(?:\.\d{1,2})?(?:(?:a|b|rc)\d+)?(?:\.(?:dev|post)\d+)?(?:\+[\w.]+)?)(?![\w])"),
    _subject("rocm.version", "rocm|rock|hip sdk", r"(?:(?<=torch/)|(?<![\w/.+-]))(?:the\s?rock|hip sdk|rocm)\b(?:[\s-]+\w+){0,4}?[\s:=-]{1,8}(?:is\s+)?v?" + _V3),
    _subject("rocm.version", "rocm", r"(?<![\w/.+])rocm-?" + _V3 + r"(?![\w])"),
    _subject("python.version", "py", r"(?<![\w./])py(?:thon)?[\s-]{0,2}(?:version\s?)?=?\s*v?(3\.\d{1,2}(?:\.\d{1,2})?)(?![\d])"),
    _subject("kernel", "kernel|linux", r"(?<![\w/.-])(?:kernels?(?:\s+version|\s+now)?|(?<!rocky )linux(?:-[a-z]+){0,3})(?:\s*[:=]\s*|[\s-]+(?:is\s+|linux\s+|release\s+)?)v?"
        + _KERNEL),
    _subject("kernel", "-", r"(?<![\w./+-])(\d\.\d{1,2}\.\d+(?:\.\d+)?-[\w.~+-]*?(?:generic|pve|lowlatency|oem|amd64|microsoft-standard[\w-]*|arch\d[\w-]*"
        r"|zen\d[\w-]*|cachyos[\w-]*|x86_64|azure|aws|default|manjaro|xanmod\d))(?![\w])"),
    _subject("driver.version", "amdgpu", r"(?<![\w/])(?:amdgpu-dkms|amdgpu(?: kernel)?(?: driver| module)?)\s+(?:version\s+)?v?"
        r"([3-6]\.\d{1,2}\.\d{1,2})(?![\d])"),
    _subject("driver.windows", "adrenalin|driver", r"\b(?:adrenalin|drivers?\b)(?:\s+(?:edition|software|driver|version|pro|is|amd|adrenalin)){0,6}[\s:=-]+v?" + _WINDOWS_DRIVER),
    _subject("driver.windows", "driver", r"(?<![\w.])" + _WINDOWS_DRIVER + r"(?=\s+(?:(?:amd|gpu|adrenalin|radeon|whql)\s+)*drivers?\b)"),
    _subject("firmware.mes", "mes", r"\bMES(?:\s+(?:firmware|fw))?(?:\s+version)?[\s:=]+(0x[0-9a-f]{2,8})\b"),
)  # fmt: skip
"""Statements of people."""

_PACKAGE = regex(
    r"(?<![\w./-])(transformers|peft|accelerate|bitsandbytes|torchvision|torchaudio|torchao|torchtune|triton|triton-rocm|pytorch-triton-rocm"
    r"|flash[-_]attn|flash[-_]attention|xformers|deepspeed|unsloth|unsloth_zoo|vllm|sglang|numpy|datasets|trl|aiter|diffusers|ray"
    r"|tokenizers|safetensors|huggingface[-_]hub|onnxruntime|axolotl|llama-factory|comfyui)(?:\.__version__)?(?:\s+version)?\s{0,20}(?:==|:|=|\s|\bv)\s{0,20}['\"]?v?"
    r"(\d+\.\d+(?:\.\d+)*(?:[-.+]?(?:a|b|rc|dev|post|git|rocm|cu)\w*(?:[.+]\w+)*)?)",
    re.I,
)
_LISTED = regex(r"\[(?:pip3?|conda)\] ([A-Za-z][\w.-]*)(?:==| \(|[ \t]+)(\d[\w.+!-]*)")
_OF_PIP = regex(r"\s*(?:Downloading|Collecting|Requirement already|Using cached|Found existing|Attempting)\b")
_OF_WHEEL = regex(r"\b(?:wheels?|whl|torch|index|nightly|pip|builds?|packages?|many(?:wheel|linux))\b", re.I)
"""A sentence in which `rocm6.2`, in one word, is the tag of a wheel."""
_LOADED = regex(r"\s*amdgpu\s+\d{5,}\s+-?\d+")


def probe(artifacts: Artifacts) -> ProbeResult:
    """Versions of torch, HIP, ROCm, Python, kernel, driver, firmware and packages; os, cpu, torch.available, and the index of torch."""
    result = ProbeResult()
    written: dict[str, dict[str, Sentence]] = {}
    for document in [*texts(artifacts), *map(artifacts.document, artifacts.like("sys/kernel/debug/dri/*firmware_info"))]:
        for sentence in sentences(document):
            _read_printed(result, sentence)
            record_index(result, sentence)
            for fact, version in find_versions(sentence, WRITTEN):
                written.setdefault(fact, {}).setdefault(version, sentence)
    record_written(result, {fact: versions for fact, versions in written.items() if fact not in result.facts})
    _record_builds(result)
    return result


def _read_printed(result: ProbeResult, sentence: Sentence) -> None:
    low = sentence.text.lower()
    for subject in PRINTED:
        found = subject.pattern.search(sentence.text) if any(word in low for word in subject.words) else None
        if found:
            result.record(subject.fact, _value(subject.fact, found[1]), sentence.reading)
            if subject.fact == "kernel":
                result.record("wsl", "microsoft" in found[1].lower(), sentence.reading)
    for found in _LISTED.finditer(sentence.text) if "[" in low else ():
        result.record(f"pkg.{canonical(found[1])}", found[2], sentence.reading)
    if "amdgpu" in low and _LOADED.match(sentence.text):
        result.record("driver.loaded", True, sentence.reading)


def _value(fact: str, text: str) -> Value:
    """The value in the form of its fact: `(6, 4)` is how ComfyUI prints a version, Python312 how Windows names a folder."""
    if fact == "torch.available":
        return text.lower() == "true"
    if fact == "python.version" and text[1:].isdigit():
        return f"3.{text[1:].lstrip('.')}"
    if fact in ("torch.hip", "torch.cuda") and stated_value(text) is None:
        return None
    return text.replace(", ", ".").rstrip(".,;:-+").removeprefix("20" if fact == "driver.windows" else "")


def find_versions(sentence: Sentence, subjects: Iterable[Subject]) -> Iterator[tuple[str, str]]:
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


def record_written(result: ProbeResult, written: dict[str, dict[str, Sentence]]) -> None:
    """The version of each fact. Of several versions one is in use: ambiguous."""
    for fact, versions in written.items():
        whole = [v for v in versions if not any(re.match(re.escape(v) + r"[.+-]", other) for other in versions)]
        several = Unknown("ambiguous", "state which version is in use", tuple(whole))
        result.record(fact, _value(fact, whole[0]) if len(whole) == 1 else several, versions[whole[0]].reading)


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


def _record_builds(result: ProbeResult) -> None:
    """platform, and the facts of torch's build, from what was stated."""
    version, hip, cuda, system = (result.facts.get(name) for name in ("torch.version", "torch.hip", "torch.cuda", "os"))
    if system and isinstance(system.value, str):
        low = system.value.lower()
        result.record("platform", "windows" if "windows" in low else "macos" if "macos" in low else "linux", system.readings[0])
    if main := version or hip:
        text, number, other = (fact.value if fact and isinstance(fact.value, str) else None for fact in (version, hip, cuda))
        record_build(result, Build(text or "", number, other, asked_hip=bool(hip and cuda)), main.readings[0])
