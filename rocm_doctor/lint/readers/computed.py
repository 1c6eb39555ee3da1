"""An override that a shell makes out of the name of the GPU, as in `${ARCH#gfx}`: the value that each target gets."""

from __future__ import annotations

import re
from collections.abc import Mapping

from rocm_doctor.binaries.targets import PROCESSORS
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import OVERRIDE, Place, Setting

MAX_PARTS, MAX_TEXT = 40, 500
"""Of all parts that one value is made of, and of each text. What a stranger's pattern is matched against:"""
MAX_MATCHED, MAX_PATTERN = 12, 60
_PARTS = regex(
    r"\$\((?P<command>(?:[^()]|\([^()]*\))*)\)|`(?P<quoted>[^`]*)`|\$\{(?P<name>\w+)(?P<change>[#%:/^,][^}]*)?\}|\$(?P<plain>\w+)"
)
# Programs that print the name of the GPU, those whose output is the name alone first.
_NAMES_ONLY = regex(r"\s*(?:\S*/)?(?:amdgpu-arch|offload-arch|rocm_agent_enumerator)\b")
_NAMES_IT = regex(r"\s*(?:sudo\s+)?(?:\S*/)?(?:rocminfo|rocm-smi|amd-smi)\b")
_GREP = regex(
    r"\s*grep\s+(?:-\w+\s+|-m\s*\d+\s+)*-\w*o\w*\s+(?:-\w+\s+|-m\s*\d+\s+)*(?P<quote>[\"']?)(?P<pattern>gfx\S*?)(?P=quote)\s*"
)
_FIELD = regex(r"\s*awk\s+'[^']*\{\s*print \$2\b[^']*\}'\s*")
_PASSES = regex(r"\s*(?:head|tail|sort|uniq|xargs|grep)\b[^|]*|\s*tr -d ['\"](?:\\n|\\r|[ \[\]:]+)+['\"]\s*|\s*")
_REPLACED = regex(
    r"\s*sed\s+(?P<options>(?:-\w+\s+)*)(?P<quote>['\"]?)s(?P<mark>[/|#,])(?P<old>.*?)(?P=mark)(?P<new>.*?)(?P=mark)g?(?P=quote)\s*"
)
_ASIDE = regex(r"\s*(?:\d?&?>+\s*&?(?:/dev/null|\d)|\|\|[^|]*)")


_TARGETS = sorted(PROCESSORS)


def settings(name: str, value: str, place: Place, names: Mapping[str, str], *, default: bool = False) -> list[Setting]:
    """A variable as it is set: once for each value that targets get where it is made out of the GPU's name, else as it is written."""
    found: dict[str, list[str]] = {}
    for gpu in _TARGETS if names and name == OVERRIDE and ("$" in value or "`" in value) else ():
        if of_gpu := _value(value, names, gpu, [MAX_PARTS]):
            found.setdefault(of_gpu, []).append(gpu)
    made = [Setting(name, of_gpu, place, default, gfx=tuple(gpus)) for of_gpu, gpus in found.items()]
    return made or [Setting(name, value, place, default)]


def _value(text: str, names: Mapping[str, str], gpu: str, left: list[int]) -> str | None:
    """A text with everything that depends on the GPU filled in; None where something else decides. `left`: how many parts may be looked at."""
    made, at = [], 0
    for part in _PARTS.finditer(text) if len(text) <= MAX_TEXT else ():
        made.append(text[at : part.start()])
        at = part.end()
        left[0] -= 1
        found = _part(part, names, gpu, left) if left[0] >= 0 else None
        if found is None:
            return None
        made.append(found)
    made.append(text[at:])
    whole = "".join(made).strip("\"'")
    return None if "$" in whole or "`" in whole else whole


def _part(part: re.Match[str], names: Mapping[str, str], gpu: str, left: list[int]) -> str | None:
    if (command := part["command"] or part["quoted"]) is not None:
        return _printed(command, names, gpu, left)
    known = names.get(part["name"] or part["plain"])
    value = None if known is None else _value(known, names, gpu, left)
    return value if value is None or not part["change"] else _changed(value, part["change"])


def _changed(value: str, change: str) -> str | None:
    """What a parameter expansion makes of a value: a prefix or suffix taken off, a part of it, or a replacement."""
    if cut := re.fullmatch(r":\s*(\d+)(?::\s*(-?\d+))?", change):
        start, length = int(cut[1]), cut[2]
        end = None if length is None else start + int(length) if int(length) >= 0 else int(length)
        return value[start:end]
    if taken := re.fullmatch(r"(##?|%%?)([\w.]+)", change):
        return value.removeprefix(taken[2]) if taken[1][0] == "#" else value.removesuffix(taken[2])
    if replaced := re.fullmatch(r"(//?)#?([\w.]+)/?([\w.]*)", change):
        return value.replace(replaced[2], replaced[3], -1 if replaced[1] == "//" else 1)
    return None


def _printed(command: str, names: Mapping[str, str], gpu: str, left: list[int]) -> str | None:
    """What a pipeline prints on a machine with one such GPU."""
    first, *filters = _segments(_ASIDE.sub("", command))
    echoed = re.fullmatch(r"\s*echo\s+(?:-n\s+)?[\"']?([^\"']*?)[\"']?\s*", first)
    value = _value(echoed[1], names, gpu, left) if echoed else gpu if _NAMES_ONLY.match(first) else None
    if value is None and not (_NAMES_IT.match(first) and filters):
        return None
    for one in filters:
        if found := _GREP.fullmatch(one):
            value = _searched(found["pattern"], value or gpu)
        elif value is None and (_FIELD.fullmatch(one) and "gfx" in command):
            value = gpu
        elif value is not None and (replaced := _REPLACED.fullmatch(one)):
            value = _substituted(value, replaced)
        elif not _PASSES.fullmatch(one):
            return None
        if value is None and found:
            return None
    return value


def _segments(command: str) -> list[str]:
    """The commands of a pipeline, cut at each `|` outside of quotes."""
    return ["".join(part).strip() for part in re.findall(r"((?:'[^']*'|\"[^\"]*\"|[^|'\"])+)", command)] or [""]


def _searched(pattern: str, value: str) -> str | None:
    if len(value) > MAX_MATCHED or len(pattern) > MAX_PATTERN:
        return None
    try:
        found = re.search(pattern.replace("\\+", "+"), value)
    except re.error:
        return None
    return found[0] if found else None


def _substituted(value: str, by: re.Match[str]) -> str | None:
    if len(value) > MAX_MATCHED or len(by["old"]) > MAX_PATTERN:
        return None
    old = by["old"] if re.search(r"-\w*[Er]", by["options"]) else re.sub(r"\\([(){}+?|])", r"\1", by["old"])
    try:
        return re.sub(old, re.sub(r"\\(\d)", r"\\g<\1>", by["new"]), value, count=1)
    except (re.error, IndexError):
        return None
