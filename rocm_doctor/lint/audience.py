"""Whom an environment is for, by what the repository declares, its path, its label and its own literal text; and the GPUs that it names.

GPU names come from the catalog, by the code that reads them in reports. The words for vendors are those of the table below.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from functools import cache
from typing import NamedTuple

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.facts.enrich import gpu_names
from rocm_doctor.lint.model import Audience, Environment, LintPolicy
from rocm_doctor.matrix import Matrix

_WORDS: dict[str, tuple[str, ...]] = {
    "amd": ("rocm", "amd", "hip", "radeon", "instinct", "amdgpu"),
    "other": (
        "cuda", "nvidia", "cudnn", "tensorrt", "trt", "nvcr", "jetson", "l4t", "tegra", "cpu", "arm64", "aarch64", "xpu", "intel", "ipex",
        "gaudi", "hpu", "openvino", "mps", "macos", "darwin", "apple", "mlx", "windows", "win", "win32", "tpu", "npu", "ascend", "cann",
        "musa", "mlu", "directml", "dml", "zluda", "vulkan", "neuron", "blackwell", "hopper",
    ),
    "aside": (
        "test", "tests", "testing", "thirdparty", "vendor", "vendored", "external", "extern", "submodules", "archive", "archived", "deprecated",
        "legacy", "old", "backup", "bak", "fixtures", "disabled", "unused",
    ),
}  # fmt: skip
_VENDOR = {word: vendor for vendor, words in _WORDS.items() for word in words}
_TOKEN = regex(r"[a-z]+\d*[a-z]*|\d+")
_NUMBERED = regex(r"(rocm|cuda|cu|hip|win)[\d.]*$")
_GFX = regex(r"gfx[0-9]{1,2}[0-9a-fx]{2,3}", re.I)
_AMD_TEXT = regex(r"(?:^|[^a-z])(?:rocm|hip|amdgpu)(?:[^a-z]|$)|\+rocm", re.I)
_NVIDIA_TEXT = regex(r"nvidia|(?:^|[^a-z])cuda|/cu\d{2,3}|\+cu\d", re.I)
_FAMILY = {"torch", "torchvision", "torchaudio"}
_AMD_VARIABLES = regex(r"HSA_OVERRIDE_GFX_VERSION|PYTORCH_ROCM_ARCH|ROCM_\w+|BNB_ROCM_ARCH|HIP_ARCHITECTURES|AMDGPU_TARGETS")


class Purpose(NamedTuple):
    """Whom an environment is for. `gpus`: those that its path or its label names; `by_text`: only its text says whom it is for."""

    audience: Audience
    gpus: frozenset[str]
    by_text: bool = False

    @property
    def is_plain(self) -> bool:
        """True where neither the declaration nor a path says whom the environment is for."""
        return self.audience == "neutral" or (self.audience == "other" and self.by_text)


def names_amd(name: str) -> bool:
    """True for the name of a folder that has words for AMD and for no other vendor."""
    return {v for token in _tokens(name.lower()) if (v := _VENDOR.get(token)) and v != "aside"} == {"amd"}


def find_purpose(environment: Environment, policy: LintPolicy, files: Sequence[str], matrix: Matrix, root: str) -> Purpose:
    """Whom an environment is for. `files`: those of the command line; `root`: the name of the repository's folder."""
    if any("/rocm/windows/" in index.url for step in environment.installs for index in step.indexes):
        return Purpose("other", frozenset())  # AMD's wheels for Windows
    named_gpus = find_gpus(f"{environment.file} {environment.label}", matrix)
    gpus = named_gpus or find_gpus(root, matrix)
    if any(
        word in (environment.name, environment.file) or fnmatchcase(environment.file, word)
        for word in (*policy.environments, *files)
    ):
        return Purpose("amd", gpus)
    by_path = _path_audience(environment, bool(named_gpus))
    return Purpose(by_path or _text_audience(environment), gpus, by_path is None)


def _path_audience(environment: Environment, names_gpu: bool) -> Audience | None:
    """The vendor by the label, else by the file's name and its folders from the nearest on; None where they name none."""
    folders = environment.file.lower().split("/")
    aside = any(_VENDOR.get(token) == "aside" for folder in folders for token in _tokens(folder))
    for words in (environment.label, *reversed(folders)):
        vendors = {v for token in _tokens(words.lower()) if (v := _VENDOR.get(token)) and v != "aside"}
        if vendors == {"amd"} and words in folders[:-1] and _text_vendors(environment) == (False, True):
            return "neutral"  # a file for NVIDIA in a folder for AMD
        if vendors == {"amd"} or (names_gpu and not vendors and words == folders[-1]):
            return "other" if aside else "amd"
        if vendors == {"other"}:
            return "other"
        if vendors:
            break  # both: a file for several
    return "other" if aside else None


def _text_audience(environment: Environment) -> Audience:
    amd, nvidia = _text_vendors(environment)
    return "amd" if amd and not nvidia else "other" if nvidia and not amd else "neutral"


def _tokens(words: str) -> list[str]:
    plain = words.replace("third_party", "thirdparty").replace("third-party", "thirdparty")
    tokens = _TOKEN.findall(plain)
    return [("cuda" if m[1] == "cu" else m[1]) if (m := _NUMBERED.match(token)) else token for token in tokens]


def _text_vendors(environment: Environment) -> tuple[bool, bool]:
    """(AMD, NVIDIA): True for each vendor whose images, indexes, pinned builds, devices or build lists are in the environment."""
    texts = [environment.image.name] if environment.image else []
    texts += [i.url for step in environment.installs for i in step.indexes if not i.packages or _FAMILY & set(i.packages)]
    texts += [f"{r.specifier} {r.url}" for r in environment.requirements if r.name.startswith("torch") or r.name == "jax"]
    amd = any(_AMD_TEXT.search(text) for text in texts) or any(_AMD_VARIABLES.match(v.name) for v in environment.variables)
    amd = amd or (environment.service is not None and any(d.value == "/dev/kfd" for d in environment.service.devices))
    nvidia = any(_NVIDIA_TEXT.search(text) for text in texts) or (
        environment.service is not None and environment.service.nvidia is not None
    )
    return amd, nvidia


def find_gpus(words: str, matrix: Matrix) -> frozenset[str]:
    """The targets that words name, as gfx numbers or as products of the catalog."""
    return matrix.once(_gpu_finder)(words)


def _gpu_finder(matrix: Matrix) -> Callable[[str], frozenset[str]]:
    """The search for GPUs in words; it keeps what it found, since every environment of a folder has the same words."""

    @cache
    def find(words: str) -> frozenset[str]:
        targets = {gfx.lower() for gfx in _GFX.findall(words)} & matrix.gfx.keys()
        if not targets:
            mentions = [m for m in gpu_names(matrix).find(_SIGNS.sub(" ", words)) if m.kind in ("name", "codename", "processor")]
            targets = {gfx for mention in mentions for gfx in mention.gfx}
        return frozenset(targets)

    return find


_SIGNS = regex(r"[-_./]+")
