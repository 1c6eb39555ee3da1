"""Words that hyphens join: terms of the field, part numbers and figures of speech are no names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.redaction.around import tail
from rocm_doctor.redaction.known import compounds, field_words, words
from rocm_doctor.redaction.products import PART
from rocm_doctor.redaction.sentences import is_english
from rocm_doctor.redaction.vocabulary import FIELD, MOST, known_to

_HYPHEN = regex(r"-(?<=[A-Za-z0-9]-)(?=[A-Za-z0-9])")
_TO_LETTERS, _FROM_HYPHEN = regex(r"(?s:.*[^A-Za-z0-9])?"), regex(r"(?:-[A-Za-z0-9]{1,60})+")
_LONGEST = 61
_GOES_ON = regex(r"[\w-]")


def unknown_compounds(text: str) -> Iterator[tuple[int, int, str]]:
    """Words that hyphens join and no list knows. What was matched is never matched again: a text of hyphens takes linear time."""
    done = 0
    for hyphen in _HYPHEN.finditer(text):
        right = _FROM_HYPHEN.match(text, hyphen.start()) if hyphen.start() >= done else None
        if right is None:
            continue
        done = right.end()
        left = tail(text[max(0, hyphen.start() - _LONGEST) : hyphen.start()], _TO_LETTERS)
        start = hyphen.start() - len(left)
        apart = 0 < len(left) < _LONGEST and not (text[start - 1 : start].isalnum() or text[start - 1 : start] in ("_", ".", "-"))
        if (
            apart
            and not _GOES_ON.match(text, done)
            and not (is_known_compound(text[start:done]) or _is_figure(text, start, done))
        ):
            yield start, done, "compound"


_PREFIXES = frozenset((
    "non", "pre", "re", "un", "multi", "inter", "semi", "self", "sub", "co", "ex", "post", "mid", "anti", "over", "all", "no", "one", "two", "three", "four", "five", "six",
    "eight", "single", "dual", "half", "full", "low", "high", "long", "short", "well", "per", "out", "off", "on", "in", "up", "down", "so", "to", "first", "second", "third",
    "last", "next", "mini", "micro", "cross", "quasi", "auto", "real", "then", "now", "never", "ever", "much", "more", "most", "less", "least", "same", "user", "left", "right",
    "top", "bottom", "open", "closed", "time", "day", "week", "month", "year", "de", "new", "old", "large", "small", "big", "fine", "hard", "soft", "deep",
))  # fmt: skip
"""First words of compounds that a sentence makes."""
_SUFFIXES = frozenset((
    "like", "ish", "style", "based", "wise", "level", "only", "free", "side", "time", "up", "off", "in", "out", "aware", "ready", "friendly", "specific", "related", "less",
    "by", "to", "down", "on", "over", "way", "long", "safe", "bit", "byte", "core", "thread", "slot", "pin", "gen", "node", "gpu", "card", "channel", "fold", "class", "order",
    "end", "type", "size", "file", "line", "mode", "phase", "step", "stage", "part", "page", "point", "scale", "speed", "power", "memory", "version", "value", "parameter",
    "dependent", "independent", "compatible", "capable", "enabled", "disabled", "heavy", "bound", "critical", "intensive", "wide", "old", "new", "date", "fi", "d", "dim",
    "image", "images", "prediction", "forward", "backward", "attention", "instance", "instances", "workspace", "offload", "loss", "cache", "path", "model", "models", "config",
    "cli", "api", "libs", "libraries", "utils", "tools", "docs", "examples", "plugin", "plugins", "template", "templates", "kernel", "kernels", "backend", "driver", "drivers",
    "runtime", "sdk", "installer", "nightly", "dist", "wheel", "wheels", "wrapper", "extension", "patch", "tests", "checks", "errors", "args", "detach", "attach", "bind",
    "training", "tuning", "precision", "rank", "device", "head", "batch", "token", "layer", "day", "hour", "minute", "year", "month", "week",
))  # fmt: skip
"""Last words of such compounds."""
_MACHINES = frozenset((
    "node", "gpu", "worker", "host", "server", "master", "rack", "blade", "login", "compute", "cluster", "runner", "box", "rig", "pc", "ws", "srv", "vm", "nas", "head", "desktop",
    "laptop", "workstation", "station", "gw", "gateway", "cn", "db", "web", "app", "storage", "backup", "dev", "prod", "staging", "test", "lab", "edge", "cp", "ctl", "control",
    "builder", "build", "train", "trainer", "ml", "ai", "hpc", "dgx", "epyc", "mi", "amd", "site", "dc", "pod", "kube", "k8s",
))  # fmt: skip
_SOFTWARE = frozenset((
    "accelerate", "amd", "amdgpu", "apt", "attn", "axolotl", "bitsandbytes", "ck", "comfy", "comfyui", "conda", "cuda", "deepspeed", "diffusers", "docker", "flash", "gcc",
    "gpu", "hip", "hsa", "intel", "jax", "kernel", "lib", "linux", "llama", "llvm", "lora", "nightly", "nvidia", "ollama", "peft", "pip", "py", "python", "pytorch", "qlora",
    "rocm", "sd", "sglang", "systemd", "torch", "torchtune", "transformers", "triton", "trl", "ubuntu", "unsloth", "vllm", "webui", "xformers",
))  # fmt: skip
"""Words for software: of a compound of these alone, and after one of the first names, nothing is a name."""
_PROJECTS = _SOFTWARE - {"amd", "amdgpu", "docker", "gpu", "intel", "kernel", "lib", "linux", "nvidia", "py", "ubuntu"} | {
    "aiter", "clang", "composable", "diffusion", "directml", "gguf", "ggml", "hipblas", "hipblaslt", "hipify", "miopen", "moe", "onnxruntime", "rccl", "rocblas", "rocprof",
    "tensorflow", "vfio", "zluda",
}  # fmt: skip
"""Software that no machine is called by alone: with common words of the field, it is no name (`pytorch-build`)."""
_STEPS = frozenset(("ai", "app", "build", "dev", "gpu", "amd", "test", "web"))
"""Words for machines that are steps of work, too."""
_MAKERS = frozenset((
    "amd", "amdgpu", "apt", "cuda", "docker", "gcc", "hip", "hsa", "intel", "kernel", "lib", "linux", "llvm", "nvidia", "pip", "py", "python", "pytorch", "rocm", "torch", "systemd",
))  # fmt: skip
"""First words of what is software, unless a machine follows: `rocm-users`, not `rocm-runner`."""
_MODEL = regex(r"\d+(?:\.\d+)?[bmkx]|v?\d+|[a-z]\d|\d+x\d+b|q\d|it|instruct|chat|base|gguf|awq|gptq|fp\d+|bf16|int\d", re.I)


_PLACE_IN_LIST = regex(r"^\d{1,2}-(?=[a-z])")
_LINKS = frozenset(("a", "and", "as", "for", "from", "in", "into", "of", "on", "or", "the", "to", "with", "without", "is", "not"))
"""Words of headings that became addresses."""


_PLATFORM = regex(r"gfx\w*|rocm\d*|cuda\d*|windows|linux|win|amd64|x64|x86|arm64|rdna\d?|cdna\d?")
_BUILD = regex(r"(?=[0-9a-f]*\d)(?=\d*[a-f])[0-9a-f]{6,8}")


def _is_of_projects(parts: list[str]) -> bool:
    """Software with common words of reports: `pytorch-build`."""
    return bool(_PROJECTS & set(parts)) and all(p in words() or p in _PROJECTS or _MODEL.fullmatch(p) for p in parts)


def _is_artifact(parts: list[str]) -> bool:
    """What is downloaded for a platform, of words that the field knows (`sd-master-9c51d87-bin-win-rocm5`), or a folder of a build (`comgr-874f1c`)."""
    if len(parts) == 2:
        return parts[0] in field_words() and (parts[1].startswith("gfx") or _BUILD.fullmatch(parts[1]) is not None)
    return any(map(_PLATFORM.fullmatch, parts)) and all(known_to(p) == FIELD for p in parts)


@lru_cache(MOST)
def is_known_compound(compound: str) -> bool:
    """Whether words joined by hyphens are a term of the field, a part number or a figure of speech: `self-hosted`, not `granite-nas`."""
    low = _PLACE_IN_LIST.sub("", compound.casefold())
    if "-" not in low or low in compounds() or low in field_words() or PART.fullmatch(compound):
        return True
    parts = low.split("-")
    if len(parts) > 2 and _LINKS & set(parts[1:-1]):
        return True
    named = [p for p in parts if p.isalpha() and len(p) > 1]
    numbers = [p for p in parts if p.isdigit()]
    if len(parts) > 2 and any(len(n) > 4 for n in numbers):
        return False  # numbers of products and of cases
    if not named or (len(named) == 1 and len(parts[0]) == 1):
        return True  # dates, versions, parts of standards
    if any(len(n) > 1 and n[0] == "0" for n in numbers):
        return False
    if len(named) == 1 and len(numbers) == len(parts) - 1:
        return named[0] not in _MACHINES or len(numbers[-1]) < 2
    if (parts[0] in _MAKERS and not _MACHINES & set(parts[1:])) or set(named) <= _SOFTWARE:
        return True
    spoken = all(p.isalpha() or p.startswith("gfx") for p in parts) and not compound.isupper()
    if not (_MACHINES - _STEPS) & set(parts) and (_is_of_projects(parts) or _is_artifact(parts)):
        return True
    if spoken and (
        parts[0] in _PREFIXES or parts[-1] in _SUFFIXES or parts[-1].endswith(("ed", "ing", "ly", "able", "ible", "er", "ness"))
    ):
        return True
    return sum(_MODEL.fullmatch(p) is not None for p in parts[1:]) > 1 or any(re.fullmatch(r"\d+(?:\.\d+)?b", p) for p in parts)


_NAMED = regex(
    r"(?:\b(?:on|from|by|via|at|to|into|host|node|server|machine|cluster|workstation|box|user|called|named|project|customer|client|run|team|group|account|branch|bucket|namespace"
    r"|ssh|login|named?|code|experiment|dataset|container|pod|job|queue|partition|repo|env|is)|[:=@/\\])[\"'`]? ?\Z",
    re.I,
)
"""What comes before a name: behind it no two words are a figure of speech."""


def _is_figure(text: str, start: int, end: int) -> bool:
    """Whether two common words are joined as a sentence joins them: `busy-waits`, not `on busy-bee`."""
    parts = text[start:end].split("-")
    if len(parts) != 2 or not all(part.islower() and part.isalpha() and len(part) > 2 for part in parts):
        return False
    around = text[start - 1 : start], text[end : end + 1]
    if (
        (around[0] and around[0] not in " \n(")
        or (around[1] and around[1] not in " \n.,;:!?)")
        or (around[1] in (".", ",", ":") and text[end + 1 : end + 2].isalnum())
    ):
        return False
    if not is_english(text[text.rfind("\n", max(0, start - 300), start) + 1 : end + 100].partition("\n")[0]):
        return False
    common = any(part in words() or part.removesuffix("s") in words() for part in parts)
    return (
        common
        and all(known_to(part) == FIELD for part in parts)
        and not _MACHINES & set(parts)
        and not _NAMED.search(text, max(0, start - 16), start)
    )
