"""Where the programs of a repository keep torch on the CPU, and none of them, nor a setting, names another device."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocm_doctor.lint.declared import Place
from rocm_doctor.lint.readers.files import Tree

_FIXED = re.compile(
    rb"^[ \t]*(?:\w+\.)*device[ \t]*=[ \t]*(?:torch\.device\([ \t]*)?[\"']cpu[\"'][ \t]*\)?[ \t]*(?:#[^\n]*)?$", re.M
)
# What puts a program on a GPU by itself, or names one: a word of code, not of a comment.
_ANOTHER = re.compile(
    rb"(?im)^(?![ \t]*#)[^#\n]*?(?:cuda|gpu|rocm|\bhip\b|accelerat|device_map|deepspeed|lightning|\bTrainer\b|\bpipeline\(|vllm|ultralytics|tensorflow|\bjax\b"
    rb"|device[\"']?[ \t]*[:=][ \t]*[\"']?auto|--device)"
)
_HINTS = (b"cuda", b"gpu", b"rocm", b"hip", b"accelerat", b"device", b"deepspeed", b"lightning", b"trainer", b"pipeline(", b"vllm", b"ultralytics", b"tensorflow", b"jax")  # fmt: skip
_ASIDE = frozenset(("test", "tests", "testing", "doc", "docs", "example", "examples"))
_RUN = (".py", ".ipynb", ".yaml", ".yml", ".toml", ".json", ".ini", ".cfg", ".env")


def fixed(tree: Tree) -> Place | None:
    """The first line that fixes the device to the CPU, where no program or setting of the repository names a GPU."""
    first = next(_programs(tree, _FIXED, (b"cpu",)), None)
    others = (p for p, _ in tree.mentions(_ANOTHER, _HINTS) if p.file.endswith(_RUN) and not _is_aside(p.file))
    return first if first and next(others, None) is None else None


_COMPUTES = re.compile(
    rb"(?m)^(?![ \t]*#)[^#\n]*\b(?:nn\.(?:Module|Linear|Conv\w+|Embedding)|torch\.(?:optim|tensor|zeros|randn)\b)"
)
_ON_A_GPU = re.compile(
    rb"(?i)cuda|gpu|rocm|\bhip\b|accelerat|device|deepspeed|lightning|trainer|pipeline\(|vllm|ultralytics|tensorflow|\bjax\b|\.to\(|subprocess|os\.system|import_module"
)


def unused(tree: Tree) -> Place | None:
    """The first line of a program that computes with torch, where no program or setting of the repository says a word of a device."""
    first = next(_programs(tree, _COMPUTES, (b"torch",)), None)
    hints = (*_HINTS, b".to(", b"subprocess", b"os.system", b"import_module")
    others = (p for p, _ in tree.mentions(_ON_A_GPU, hints) if p.file.endswith(_RUN))
    return first if first and next(others, None) is None else None


def _programs(tree: Tree, words: re.Pattern[bytes], hints: tuple[bytes, ...]) -> Iterator[Place]:
    """Where programs of the repository, but for tests and examples, have one of these words."""
    return (p for p, _ in tree.mentions(words, hints) if p.file.endswith(".py") and not _is_aside(p.file))


def _is_aside(file: str) -> bool:
    return bool(_ASIDE & set(file.lower().split("/")[:-1]))
