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
torch.available = yes
pkg.numpy = 2.1.2
platform = linux
torch.build = rocm
torch.rocm = 6.4
torch.family = bundled
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Unknown, Value
from rocm_doctor.probes.python.torch_build import Build, record_build
from rocm_doctor.probes.read.printed import canonical
from rocm_doctor.probes.read.result import Artifacts, ProbeResult
from rocm_doctor.probes.read.sentences import Sentence, sentences

_VERSION = r"\d+\.\d+(?:\.\d+)*(?:[-.+]?[A-Za-z0-9][\w.+-]*)?"
NAMES = {
    "torch.version": "(?<!build )(?:py)?torch(?:[ _]version)?(?: \\([\\w ]{2,14}\\?\\))?",
    "torch.hip": "rocm used to build pytorch|rocm? hip version|rocm toolkit|torch[._]version[._]hip|torch[._]hip|hip",
    "torch.cuda": "cuda used to build pytorch|torch\\.version\\.cuda",
    "hip.version": "hip runtime version|hip[ _]version",
    "rocm.version": "rocm(?:[ _]version)?",
    "driver.version": "(?:rocm |amdgpu |amd gpu )?driver version|amdgpu version",
    "driver.windows": "adrenalin(?: edition| software| driver)?(?: version)?",
    "python.version": "python(?:[ _]version)?",
}
"""How programs name what they print the version of: `PyTorch version: 2.9.1`, `"torch_version": "2.9.1"`, `torch.version.hip -> None`."""
_PRINTED = regex(
    rf"(?<![\w./+-])({'|'.join(NAMES.values())})['\"]?\s{{0,20}}(?::|=|->|→)\s{{0,20}}['\"]?v?({_VERSION}|\(\d+, \d+|N/A\b|None\b)",
    re.I,
)


class Form(NamedTuple):
    """A fact with the pattern of its value, as group 1, in lines of one form; a word of each such line, and a line of that form."""

    fact: str
    word: str
    pattern: re.Pattern[str]
    example: str


FORMS = tuple(Form(fact, word, regex(pattern, re.I), example) for fact, word, pattern, example in (
    ("torch.version", "pytorch", r"(?:^|\s|/)python-pytorch(?:-opt)?-rocm (\d+\.\d+\.\d+)-\d", "python-pytorch-opt-rocm 2.7.0-3"),
    ("torch.available", "gpu?", r"pytorch version \(GPU\?\):[^\n(]{0,60}\((True|False)\)", "PyTorch version (GPU?): 2.5.1+rocm6.2 (True)"),
    ("torch.available", "available", r"(?:is_available\(\)|(?:CUDA|ROCM|GPU|HIP) available)\W{0,8}(True|False)\b", "Is CUDA available: False"),
    ("rocm.version", "rocm-", r"(?:^|\s|/)rocm-(?:core|hip-(?:runtime|libraries|sdk))(?:/\S+|\d[\d.]*)?[\s-]{1,40}(\d+\.\d+\.\d+)[.-]\w", "rocm-core 5.0.1-1"),
    ("rocm.version", "/opt/rocm-", r"(?<![\w.-])/opt/rocm-(\d{1,2}\.\d+(?:\.\d+)?)(?=[/\s:'\",)]|$)", "cannot open /opt/rocm-6.0.2/lib/librocblas.so"),
    ("driver.version", "amdgpu", r"(?:(?:^|\s)amdgpu(?:/|, )|\[drm\] amdgpu version: )(\d+\.\d+\.\d+)(?![^,]*, [^,]*, \w+: (?:added|built))",
        "amdgpu/6.14.14-2204008.24.04, 6.14.0-29-generic, x86_64: installed"),
    ("driver.version", "amdgpu-dkms", r"(?:^|\s|/)amdgpu-dkms[\s-]+(?:\d:)?(\d+\.\d+\.\d+)[.-]\d", "amdgpu-dkms-6.16.6-2255209.el9"),
    ("firmware.mes", "mes", r"\bMES feature version: \d+, firmware version: (0x[0-9a-f]+)", "MES feature version: 1, firmware version: 0x00000083"),
    ("kernel", "linux", r"(?:Linux version |^Linux \S+ |(?:Python p|\bP)latform:\s*Linux-)(\d+\.\d+\.\d[\w.+~-]*?)(?=-x86_64|-aarch64|\s|$)",
        "Platform: Linux-6.14.0-27-generic-x86_64-with-glibc2.39"),
    ("glibc", "glibc", r"(?:Libc version|libc|Platform):\s*\S*?glibc-?(\d+\.\d+)", "Libc version: glibc-2.39"),
    ("os", "os:", r"(?:^|\s)OS: ([A-Z][^\n\"]*?)\s{0,40}\((?:x86_64|aarch64|amd64|10\.[^)]*)\)", "OS: Ubuntu 24.04.1 LTS (x86_64)"),
    ("os", "pretty_name", r"^PRETTY_NAME=\"?([^\"\n]+)", 'PRETTY_NAME="Ubuntu 24.04.3 LTS"'),
    ("cpu", "name:", r"(?:^|\s)(?:Model n|CPU:?\s+N|N)ame:\s+((?:AMD|Intel)[^\n]*?\S)(?<!\.\.\.)(?=\s{2}|$)", "Model name:      AMD EPYC 7351P 16-Core Processor"),
    ("python.version", "python3", r"(?:/python|\\Python(?=3\d))(3\.?\d{1,2})(?:/(?:site|dist)-packages|\\)", "/opt/venv/lib/python3.12/site-packages/apex"),
    ("pkg.vllm", "llm", r"(?:vLLM (?:API server )?version:?|LLM engine \()\s*v?(\d+\.\d+[\w.+-]*)", "vLLM API server version 0.7.2"),
))  # fmt: skip
"""Lines of programs and package managers that are not a name, a colon and a version."""

WRITTEN = {
    "torch.version": (
        "(?:py)?torch(?:\\.__version__)?",
        r"[0-2]\.\d{1,2}(?:\.\d{1,2})?(?:(?:a|b|rc)\d+)?(?:\.(?:dev|post)\d+)?(?:\+[\w.]+)?",
    ),
    "rocm.version": ("the\\s?rock|hip sdk|rocm(?:-(?!smi)[a-z]+){0,3}", r"\d{1,2}\.\d{1,2}(?:\.\d{1,2})?(?:(?:a|b|rc)\d+)?"),
    "python.version": ("py(?:thon)?", r"3\.\d{1,2}(?:\.\d{1,2})?"),
    "kernel": ("kernels?|linux(?:-[a-z]+){0,3}(?=[\\s:=-])", r"[2-7]\.\d{1,2}(?:\.\d+){0,2}(?:-[\w.+~-]+)?"),
    "driver.version": ("amdgpu(?:-dkms)?(?!/)", r"[4-6]\.\d{1,2}\.\d{1,2}"),
    "driver.windows": ("adrenalin|drivers?", r"(?:20)?2\d\.(?:1[0-2]|0?[1-9])(?:\.\d{1,2})?"),
    "firmware.mes": ("mes", r"0x[0-9a-f]{2,8}"),
}
"""How people name what they write the version of, and the form of the version; a Windows driver's is its year and month."""
_PACKAGES = (
    r"transformers|peft|accelerate|bitsandbytes|torchvision|torchaudio|torchao|torchtune|triton|triton-rocm|pytorch-triton-rocm"
    r"|flash[-_]attn|flash[-_]attention|xformers|deepspeed|unsloth|unsloth_zoo|vllm|sglang|numpy|datasets|trl|aiter|diffusers|ray"
    r"|tokenizers|safetensors|huggingface[-_]hub|onnxruntime|axolotl|llama-factory|comfyui"
)


def name_before(version: str, names: str) -> re.Pattern[str]:
    """The pattern of a name (group 1) and, behind blanks, signs and words such as `version` or `is`, a version (group 2)."""
    words = "version|release|nightly|build|is|was|now|edition|software|driver|module|kernel|linux|amd|pro|firmware|fw|v"
    between = rf"(?:\s{{1,30}}(?!\s)|[:=\"'`(\[@/_-]|\.__version__|\b(?:{words})\b)"
    return regex(rf"(?<![\w.])({names}){between}{{0,12}}v?({version})(?![\w]|\.\d)", re.I)


_WRITTEN = {fact: name_before(version, f"(?<![/+-])(?:{names})") for fact, (names, version) in WRITTEN.items()}
_PACKAGE = name_before(
    r"\d+\.\d+(?:\.\d+)*(?:[-.+]?(?:a|b|rc|dev|post|git|rocm|cu)\w*(?:[.+]\w+)*)?", f"(?<![/-])(?:{_PACKAGES})"
)
_KERNEL = regex(
    r"(?<![\w./+-])(\d\.\d{1,2}\.\d+(?:\.\d+)?-[\w.~+-]*?(?:generic|pve|lowlatency|oem|amd64|microsoft-standard[\w-]*|arch\d[\w-]*"
    r"|zen\d[\w-]*|cachyos[\w-]*|x86_64|azure|aws|default|manjaro|xanmod\d))(?![\w])",
    re.I,
)
"""A kernel's release without its name: `on 6.11.0-19-generic`."""
_LISTED = regex(r"\[(?:pip3?|conda)\] ([A-Za-z][\w.-]*)(?:==| \(|[ \t]+)(\d[\w.+!-]*)")
_OF_PIP = regex(r"\s*(?:Downloading|Collecting|Requirement already|Using cached|Found existing|Attempting)\b")
_OF_WHEEL = regex(r"\b(?:wheels?|whl|torch|index|nightly|pip|builds?|packages?|many(?:wheel|linux))\b", re.I)
"""A sentence in which `rocm6.2`, in one word, is the tag of a wheel."""
_LOADED = regex(r"\s*amdgpu\s+\d{5,}\s+-?\d+")


def probe(artifacts: Artifacts) -> ProbeResult:
    """Versions of torch, HIP, ROCm, Python, kernel, driver, firmware and packages; os, cpu, torch.available, and the index of torch."""
    result = ProbeResult()
    written: dict[str, dict[str, Sentence]] = {}
    for document in [*artifacts.texts(), *map(artifacts.document, artifacts.like("sys/kernel/debug/dri/*firmware_info"))]:
        for sentence in sentences(document):
            _read_printed(result, sentence)
            record_index(result, sentence)
            for fact, version in _find_written(sentence):
                written.setdefault(fact, {}).setdefault(version, sentence)
    for fact, versions in written.items():
        if fact not in result.facts:
            record_written(result, fact, versions)
    _record_builds(result)
    return result


def _read_printed(result: ProbeResult, sentence: Sentence) -> None:
    text, low = sentence.text, sentence.text.lower()
    stated = [(_printed_fact(found[1]), found[2]) for found in _PRINTED.finditer(text)]
    stated += [(form.fact, found[1]) for form in FORMS if form.word in low and (found := form.pattern.search(text))]
    stated += [(f"pkg.{canonical(found[1])}", found[2]) for found in _LISTED.finditer(text)] if "[" in low else []
    for fact, words in stated:
        if fact == "rocm.version" and re.match(r"\d+\.\d+\.\d{3}", words):
            fact = "hip.version"
        if shaped := re.match(_SHAPES.get(fact, ".*"), words):
            result.record(fact, _value(fact, shaped[0]), sentence.reading)
            if fact == "kernel":
                result.record("wsl", "microsoft" in words.lower(), sentence.reading)
    if "amdgpu" in low and _LOADED.match(text):
        result.record("driver.loaded", True, sentence.reading)


def _printed_fact(name: str) -> str:
    return next(fact for fact, names in NAMES.items() if re.fullmatch(names, name, re.I))


_SHAPES = {
    "torch.version": r"\d.*|N/A", "torch.hip": r"\d.*|N/A|None", "torch.cuda": r"\d.*|N/A|None", "driver.version": r"\d{1,2}\.\d+\.\d+(?![\w-])",
    "rocm.version": r"\d{1,2}(?:\.\d{1,2}){1,2}(?!\d)|\(\d+, \d+", "python.version": r"\d+\.\d+(?:\.\d+)?|3\d+$", "hip.version": r"\d.*",
}  # fmt: skip
"""The part of a printed value that is the fact's; none means another thing: `Driver version: 550.54.15` is NVIDIA's."""


def _value(fact: str, text: str) -> Value:
    """The value in the form of its fact: `(6, 4)` is how ComfyUI prints a version, Python312 how Windows names a folder."""
    if fact == "torch.available":
        return text.lower() == "true"
    if fact == "python.version" and text[1:].isdigit():
        return f"3.{text[1:].lstrip('.')}"
    if text in ("N/A", "None"):
        return None
    return text.strip("(").replace(", ", ".").rstrip(".,;:-+").removeprefix("20" if fact == "driver.windows" else "")


def _find_written(sentence: Sentence) -> Iterator[tuple[str, str]]:
    """(fact, version) of each version next to its name."""
    text = sentence.text
    if not any(c.isdigit() for c in text) or _OF_PIP.match(text):
        return
    for fact, pattern in _WRITTEN.items():
        for found in pattern.finditer(text):
            tag = fact == "rocm.version" and re.match(r"rocm\d", found[0]) and _OF_WHEEL.search(text)
            yield "torch.rocm" if tag else fact, found[2].rstrip(".-")
    yield from (("kernel", found[1]) for found in _KERNEL.finditer(text))
    yield from ((f"pkg.{canonical(found[1])}", found[2]) for found in _PACKAGE.finditer(text))


def record_written(result: ProbeResult, fact: str, versions: dict[str, Sentence]) -> None:
    """The version of a fact, with the sentence of each. Of several versions one is in use: ambiguous."""
    whole = [v for v in versions if not any(re.match(re.escape(v) + r"[.+-]", other) for other in versions)]
    several = Unknown("ambiguous", tuple(whole))
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
