"""What a name or a condition says of the hardware that something is for: words of paths, jobs, extras and shell tests."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from rocm_doctor.bounded.patterns import fits, regex

Kind = Literal["amd", "nvidia", "intel", "apple", "other", "cpu", "windows", "neutral"]

# The first that fits.
_WORDS: tuple[tuple[Kind, str], ...] = (
    ("other", r"zluda|directml|dml|dcu|hygon\w*|dtk"),
    ("amd", r"rocm\d*(?:torch\d*)?|amd|amdgpu|hip|hipblas(?:lt)?|radeon|instinct|(?:mi\d{2,3}[xa]?)+|gfx\d\w*|navi\d*|rdna\d?|cdna\d?|strix(?:halo)?|gpuamd"),
    (
        "nvidia",
        r"cuda\d*|cu\d{2,3}(?:torch\d*)?|cu\d{2,3}\w*|nvidia|tensorrt|trt|trtllm|tensorrtllm|[hab][12]00|rtx\w*|gh200|gb200|dgx|jetson|l4t"
        r"|blackwell|hopper|ampere|nvcr|runpod|colab|kaggle|flashinfer|deepep|nvshmem",
    ),
    ("intel", r"intel|xpu|ipex|gaudi\d?|hpu|habana|openvino"),
    ("apple", r"mac|macos|osx|darwin|mps|metal|mlx|apple"),
    ("other", r"npu|ascend\w*|cann|tpu|xla|neuron\w*|inferentia|trainium|mlu|musa|cambricon|iluvatar|maca|ppc64le|s390x|aarch64"
              r"|arm|arm64|riscv|termux|android"),
    ("cpu", r"cpu|cpuonly|nogpu"),
)  # fmt: skip
_COMPILED = tuple((kind, regex(rf"(?:{words})")) for kind, words in _WORDS)
_SYSTEMS = frozenset(("linux", "ubuntu", "debian", "unix", "windows", "wsl", "wsl2"))
_SPLIT = regex(r"[^a-z0-9]+")
# Whole commands and variables of a shell test that name a vendor inside a longer word.
_IN_TESTS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("amd", regex(r"rocm|amd(?!64)|radeon|\bhip|/dev/kfd|gfx\d|navi|strix|instinct|\bmi\d{2,3}", re.I)),
    ("nvidia", regex(r"nvidia|cuda|nvcc|tensorrt|\bcu\d{2}", re.I)),
    ("apple", regex(r"darwin|mac_?os|\bmps\b|\bmac\b|arm64", re.I)),
    ("windows", regex(r"msys|cygwin|mingw|windows|win32", re.I)),
    ("intel", regex(r"\bxpu\b|ipex|intel|openvino|habana|gaudi|\bhpu\b", re.I)),
    ("other", regex(r"\bnpu\b|ascend|\btpu\b|neuron|aarch64|directml|zluda|hygon|\bdcu\b", re.I)),
    ("cpu", regex(r"\bcpu", re.I)),
)
# Hygon's accelerators have a stack of their own that is called ROCm as well.
_HYGON = regex(r"\bhygon|\bDCU\b|海光", re.I)
_OF_AMD = regex(r"\bAMD\b|radeon|instinct|gfx\d", re.I)
_NEGATED = regex(r"^\s*!|\[\s*!|!=|\s-z\s|\s-ne\s|\bnot\b|(?:^|\s)!\s")
_CLAUSES = regex(r"&&|\|\||\s-[ao]\s")
_GENERATIONS: tuple[tuple[re.Pattern[str], str], ...] = (
    (regex(r"navi\s?1"), "gfx101*"), (regex(r"navi\s?2"), "gfx103*"), (regex(r"navi\s?3"), "gfx110*"), (regex(r"navi\s?4"), "gfx120*"),
    (regex(r"rx\s?5\d00"), "gfx101*"), (regex(r"rx\s?6\d\d\d?"), "gfx103*"), (regex(r"rx\s?7\d00"), "gfx110*"), (regex(r"rx\s?9\d\d\d?"), "gfx120*"),
    (regex(r"renoir|cezanne|lucienne"), "gfx90c"), (regex(r"vega\s?10"), "gfx900"), (regex(r"vega\s?20|radeon vii|(?<![a-z0-9])mi[56]0(?![a-z0-9])"), "gfx906"),
    (regex(r"(?<![a-z0-9])mi1\d\d"), "gfx908"), (regex(r"(?<![a-z0-9])mi2\d[\dx]"), "gfx90a"), (regex(r"(?<![a-z0-9])mi3[02][\dx]"), "gfx942"),
    (regex(r"(?<![a-z0-9])mi35[\dx]"), "gfx950"), (regex(r"(?<![a-z0-9])v520(?!\d)"), "gfx1011"),
    (regex(r"phoenix"), "gfx1103"), (regex(r"strix[\s_-]?halo"), "gfx1151"), (regex(r"strix[\s_-]?point"), "gfx1150"), (regex(r"(?<!rog )(?<![a-z])strix(?![a-z]|[\s_-]?(?:halo|point))"), "gfx115*"),
    (regex(r"rdna\s?1"), "gfx101*"), (regex(r"rdna\s?2"), "gfx103*"), (regex(r"rdna\s?3(?!\.5)"), "gfx110*"), (regex(r"rdna\s?4"), "gfx120*"),
    (regex(r"5[67]00\s?xt"), "gfx101*"), (regex(r"6[6-9][05]0\s?xtx?"), "gfx103*"), (regex(r"7[789]00\s?xtx?"), "gfx110*"), (regex(r"steam\s?deck"), "gfx1033"),
    (regex(r"(?<![a-z])vega(?![a-z\s\d]|\s?[1278])"), "gfx90*"), (regex(r"rembrandt"), "gfx1035"),
    (regex(r"(?<!\d)6[68]0m\b"), "gfx1035"), (regex(r"(?<!\d)7[468]0m\b"), "gfx1103"), (regex(r"(?<!\d)8[89]0m\b|(?<![a-z])hx[\s-]?37[05]"), "gfx1150"),
    (regex(r"(?<!\d)8[46]0m\b"), "gfx1152"), (regex(r"(?<!\d)80[456]\ds\b|ryzen ai max|ai max\+"), "gfx1151"), (regex(r"(?<![a-z0-9])r9700"), "gfx1201"),
    (regex(r"(?<![a-z0-9])(?:polaris|ellesmere|baffin)(?![a-z])|rx\s?(?:4[678]0|5[5-9]0)(?!\d)"), "gfx803"),
    (regex(r"(?<![a-z0-9])w7[5-9]00"), "gfx110*"), (regex(r"(?<![a-z0-9])w6[3-9]00|(?<![a-z0-9])v620"), "gfx103*"),
)  # fmt: skip
# mi250mi300 names both.
_JOINED = regex(r"(?<=mi\d\d\d)(?=mi\d)|(?<=mi\d\d\d[xa])(?=mi\d)")
_GFX = regex(r"gfx\d{2,4}[a-f]?[x*]{0,2}", re.I)


def words_of(name: str) -> list[str]:
    """The words of a name: `requirements-cu121.txt` is requirements, cu121, txt."""
    return [word for word in _SPLIT.split(name.lower()) if word]


@lru_cache(maxsize=4096)
def named(name: str) -> tuple[Kind, str]:
    """The hardware that a name means, and the word that says it; `neutral` and nothing where none does, where AMD and
    NVIDIA are both in it, or where macOS is one of several systems.
    """
    found: dict[Kind, str] = {}
    for kind, pattern in _COMPILED:
        for word in words_of(name):
            if pattern.fullmatch(word):
                found.setdefault(kind, word)
    if {"amd", "nvidia"} <= found.keys() and "other" not in found:
        return "neutral", ""
    if found.keys() == {"apple"} and not _SYSTEMS.isdisjoint(words_of(name)):
        return "neutral", ""
    return next(iter(found.items()), ("neutral", ""))


_OF_INSTALLED = regex(r"\bimport torch\b|\bpip3? (?:show|list|freeze)\b")


@lru_cache(maxsize=4096)
def tested(condition: str) -> tuple[Kind, bool]:
    """The hardware that a shell test asks for, and whether it asks that it be there (False: that it be absent). What asks the torch that is
    installed asks for no hardware.
    """
    if _OF_INSTALLED.search(condition):
        return "neutral", True
    for kind, pattern in _IN_TESTS:
        clause = next((one for one in _CLAUSES.split(condition) if pattern.search(one)), None)
        if clause is not None:
            return kind, _NEGATED.search(clause) is None
    return "neutral", True


def is_for_hygon(text: str) -> bool:
    """True if a text speaks of Hygon's accelerators and of no GPU of AMD's."""
    return _HYGON.search(text) is not None and _OF_AMD.search(text) is None


@lru_cache(maxsize=4096)
def cards(condition: str) -> tuple[str, ...]:
    """The gfx targets that a test names, as patterns (`*"Navi 1"*` is gfx101*)."""
    found = [m.lower().replace("x*", "*").replace("xx", "*") for m in _GFX.findall(condition)]
    found = [re.sub(r"(?<=\d)x$", "*", one) for one in found]
    low = _JOINED.sub(" ", condition.lower())
    return tuple(dict.fromkeys([*found, *(glob for pattern, glob in _GENERATIONS if pattern.search(low))]))


def holds(only: tuple[str, ...], gfx: str) -> bool:
    """True if something that is restricted to these patterns (`!` denies one) is for a target; unknown targets are let through."""
    if not gfx or not only:
        return True
    wanted = [glob for glob in only if not glob.startswith("!")]
    denied = [glob[1:] for glob in only if glob.startswith("!")]
    return (not wanted or any(fits(gfx, g) for g in wanted)) and not any(fits(gfx, g) for g in denied)
