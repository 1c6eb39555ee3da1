"""Which GPUs of AMD a shell test finds in what `lspci` prints: `lspci | grep VGA` lists no Instinct, whose devices have another class."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from rocm_doctor.bounded.patterns import regex

_AMD = "Advanced Micro Devices, Inc. [AMD/ATI]"
# One line for each class, as `lspci` and `lspci -nn` print it, with the targets whose devices are all of that class.
# Sources: https://github.com/apache/cloudstack/issues/11701 (MI300), https://github.com/apache/cloudstack/issues/12957 (MI200),
# https://github.com/akash-network/provider-configs/issues/40 (MI50), https://github.com/clbr/radeontop/issues/177 (Strix Point)
_LINES: tuple[tuple[tuple[str, ...], str], ...] = (
    (("gfx101*", "gfx103*", "gfx110*", "gfx120*"), f"03:00.0 VGA compatible controller [0300]: {_AMD} Navi [Radeon RX] [1002:0]"),
    (("gfx908", "gfx90a"), f"03:00.0 Display controller [0380]: {_AMD} [Instinct MI] [1002:0]"),
    (("gfx942", "gfx950"), f"03:00.0 Processing accelerators [1200]: {_AMD} [Instinct MI] [1002:0]"),
)
# Of these some devices have the first class and some the second: Radeon VII and MI50, and the APUs with RDNA 3.5.
_EITHER = ("gfx900", "gfx906", "gfx115*")
_OTHERS = (
    "01:00.0 VGA compatible controller [0300]: NVIDIA Corporation [GeForce RTX] [10de:0]",
    "01:00.0 3D controller [0302]: NVIDIA Corporation [Tesla] [10de:0]",
    "00:02.0 VGA compatible controller [0300]: Intel Corporation [UHD Graphics] [8086:0]",
)
# What keeps a command from failing, and what drops its output, decide nothing.
_ASIDE = regex(r"\|\|\s*(?:true|:|echo[^)`]*)|\d?&?>+\s*&?(?:/dev/null|\d)")
_FILTERS = regex(
    r"\bgrep(?P<options>(?:\s+-[\w-]+)*)\s+(?P<word>\"[^\"$]*\"|'[^']*'|[^\s\"'$|)]+)"
    r"|(?:==?|!=)\s*(?P<glob>\*[\"']?[^*\s\"'$]+[\"']?\*)|=~\s*[\"']?(?P<match>[^\s\"'$\]]+)"
)
# A variable that the caller may set asks for nothing of the machine; what the list lacks stays false beside it.
_UNSET = regex(r"&&\s*\[{1,2}\s+-z\s[^\]]*\]{1,2}")
_ABSENT = regex(r"^\s*!\s|^\s*\[{1,2}\s*!\s|\s!=\s|\s-z\s")


MAX_PATTERN, MAX_STARS = 200, 3
"""Of a pattern that is matched against a line: a stranger wrote it."""


class Listed(NamedTuple):
    """The targets, as patterns, that a test of lspci's output misses, and those that it may miss; `absent`: the test holds where nothing is found."""

    missed: tuple[str, ...]
    unsure: tuple[str, ...]
    absent: bool


@lru_cache(maxsize=4096)
def listed(test: str) -> Listed | None:
    """What a test of lspci's output, with its variables filled in, finds of AMD's GPUs; None for any other test, one that is not only made of
    filters for their lines, or one that other vendors' GPUs pass as well.
    """
    plain = _UNSET.sub("", _ASIDE.sub("", test))
    _, program, after = plain.partition("lspci")
    if not program or re.search(r"&&|\|\||\s-[ao]\s|\blspci\b", after) or re.search(r"(?:^|\s)-\w*d", after.partition("|")[0]):
        return None
    filters = [one for m in _FILTERS.finditer(after) if (one := _pattern(m))]
    if not filters or after.count("grep") + after.count("*") // 2 + after.count("=~") > len(filters) + after.count(".*"):
        return None
    if any(_passes(line, filters) for line in _OTHERS):
        return None
    passes = [_passes(line, filters) for _, line in _LINES]
    missed = tuple(one for (gpus, _), passed in zip(_LINES, passes) for one in gpus if not passed)
    unsure = _EITHER if passes[0] is not passes[1] else ()
    return Listed(missed, unsure, _ABSENT.search(plain) is not None) if any(passes) else None


def _passes(line: str, filters: list[tuple[re.Pattern[str], bool]]) -> bool:
    return all((pattern.search(line) is not None) is wanted for pattern, wanted in filters)


def _pattern(filter_: re.Match[str]) -> tuple[re.Pattern[str], bool] | None:
    """What a filter looks for, and whether a line has to have it; None for what is not plain words and alternatives of them."""
    options = filter_["options"] or ""
    short = "".join(re.findall(r"(?<!\S)-(\w+)", options))
    word = (filter_["word"] or filter_["glob"] or filter_["match"]).replace('"', "").replace("'", "").strip("*")
    if filter_["word"] and not ("E" in short or "P" in short):
        word = word.replace("|", "\0").replace("\\\0", "|").replace("\0", "\\|")
    if len(word) > MAX_PATTERN or word.count("*") > MAX_STARS:
        return None
    if not re.fullmatch(r"(?:[\w ,./:-]|\\\||\||\.\*|\(|\)|\\[\[\]])+", word) or "A" in short or "B" in short or "c" in short:
        return None
    try:
        return re.compile(word, re.I if "i" in short else 0), "v" not in short
    except re.error:
        return None
