"""What programs import and nothing in the repository installs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Set

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Place
from rocm_doctor.lint.environments.purpose import ASIDE
from rocm_doctor.lint.readers.files import Tree, folder_of

# Libraries of training that few others bring, by the name that is imported, with those that bring them.
_BROUGHT_BY: dict[str, Set[str]] = {
    "transformers": frozenset(("peft", "trl", "sentence-transformers", "setfit", "optimum", "bertopic", "flair", "compel", "auto-gptq", "autoawq", "gptqmodel")),
    "datasets": frozenset(("trl", "evaluate", "setfit", "optimum", "lm-eval")),
    "diffusers": frozenset(("controlnet-aux",)),
    "peft": frozenset(),
    "trl": frozenset(),
    "accelerate": frozenset(("peft", "trl", "optimum", "autoawq", "gptqmodel", "auto-gptq")),
    "deepspeed": frozenset(),
}  # fmt: skip
# Packages that bring a whole stack of training or serving with them.
_STACKS = frozenset((
    "axolotl", "coqui-tts", "f5-tts", "kokoro", "litgpt", "llamafactory", "lm-eval", "lmdeploy", "mteb", "nemo-toolkit", "outetts", "sglang", "torchtune",
    "tts", "unsloth", "unsloth-zoo", "vllm", "whisperx",
))  # fmt: skip
_IMPORT = re.compile(rb"(?m)^(?:import|from)[ \t]+(" + b"|".join(name.encode() for name in _BROUGHT_BY) + rb")\b")
_PROGRAM = regex(r"\.py$")


_OF_STACKS = regex(r"vllm|sglang|training|megatron|text-generation|unsloth|axolotl|comfy")


def unlisted(tree: Tree, asked: Set[str], images: Iterable[str]) -> tuple[str, Place] | None:
    """The first library that a program imports, outside of any condition, and that no list or command of the repository (`asked`, all names) asks
    for or brings; with its place. None where there is none, or where a package or one of the `images` brings a stack that is not read.
    """
    if not asked or asked & _STACKS or any(map(_OF_STACKS.search, images)):
        return None
    for place, m in tree.mentions(_IMPORT, tuple(name.encode() for name in _BROUGHT_BY), only=_PROGRAM):
        name = m[1].decode()
        folders = place.file.split("/")[:-1]
        if name in asked or asked & _BROUGHT_BY[name] or {f.lower() for f in folders} & ASIDE:
            continue
        own = (f"{there}/{name}".lstrip("/") for there in (folder_of(place.file), "", "src"))
        if not any(tree.exists(path) or tree.exists(f"{path}.py") for path in own):
            return name, place
    return None
