"""Facts and relations of a snapshot as features: what a machine shows, and how its parts fit together.

A word says `rocm 6.1`; a relation says that this ROCm is older than the first one that has code for the card.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Gpu, Snapshot

Version = tuple[int, ...]
_PLAIN = (
    "platform", "wsl", "container", "virtual_machine", "secure_boot", "iommu", "nomodeset", "numa_balancing", "dxg.exists",
    "user.missing_group", "user.root", "kfd.exists", "kfd.openable", "kfd.error", "driver.loaded", "driver.builtin",
    "driver.blacklisted", "rocm.source", "hsa.status", "torch.build", "torch.family", "torch.available", "torch.other_rocm",
    "torch.expandable_segments", "python.env",
)  # fmt: skip
_LISTS = ("driver.events", "driver.others")
_COMPONENTS = {
    "kernel": r"kernel|linux \d|\b[56]\.\d+\.\d+",
    "firmware": r"firmware|bios|vbios",
    "driver": r"driver|dkms|amdgpu|adrenalin|mesa",
    "rocm": r"rocm|hip\b|therock",
    "torch": r"torch|pytorch|wheel",
    "application": r"comfy|webui|vllm|ollama|llama|unsloth|axolotl|forge|sd\.?next|invoke|app\b",
    "system": r"system|ubuntu|fedora|arch|debian|distro|reboot|restart|windows|apt|pacman|dnf",
    "library": r"bitsandbytes|flash|triton|xformers|deepspeed|torchao|aiter|transformers|peft|accelerate",
}
_COMPONENT = {name: regex(pattern, re.I) for name, pattern in _COMPONENTS.items()}
_SENTENCE = regex(r"[.!?;]\s|\n")
_VERSION = regex(r"(?<![\w.])v?(\d{1,4}\.\d+(?:\.\d+)*)")
_SPOKEN = 160
"""Characters of a sentence that a person wrote, mostly."""
_TARGET = regex(r"\bgfx[0-9a-f]{3,4}\b")
_NIGHTLY = regex(r"(?:a|rc|dev|sdk)(20[23]\d[01]\d[0-3]\d)(?!\d)")
_FRAME = regex(r"(?:site|dist)-packages[/\\]+(\w+)")
_LIBRARY = regex(r"\b(?:lib)?(rocblas|hipblaslt|hipblas|miopen|rccl|nccl|hsa-runtime64|amdhip64|hiprtc|rocsolver|rocsparse|hipsparselt"
                      r"|rocfft|aotriton|torch_hip|bitsandbytes|roctx64|rocm_smi64|drm_amdgpu|stdc\+\+|amd_comgr|ck_tile|composable_kernel)", re.I)  # fmt: skip


class Reach(NamedTuple):
    """The first and the last ROCm whose torch wheels have code for a target."""

    first: Version
    last: Version


def reach(matrix: Matrix) -> dict[str, Reach]:
    """By gfx target, from the catalog of torch builds."""
    found: dict[str, list[Version]] = {}
    for build in matrix.torch:
        version = numbers(build.rocm)
        for gfx in build.gfx if version else ():
            found.setdefault(gfx, []).append(version[:2])
    return {gfx: Reach(min(some), max(some)) for gfx, some in found.items()}


def numbers(version: object) -> Version:
    """The leading numbers of a version; empty where it has none."""
    found = re.match(r"\d+(?:\.\d+)*", version) if isinstance(version, str) else None
    return tuple(int(n[:6]) for n in found[0].split(".")) if found else ()


def relations(snapshot: Snapshot, matrix: Matrix, complaint: str) -> Iterator[str]:
    """Each feature once or more; the caller counts none twice."""
    yield from _plain(snapshot)
    yield from _gpus(snapshot, matrix)
    yield from _versions(snapshot, matrix)
    yield from _environment(snapshot)
    if isinstance(snapshot.get("said.nvidia").value, str):
        yield "f:nvidia gpu stated"
    yield from _targets(snapshot, complaint)
    yield from _line_features(complaint)


def _plain(snapshot: Snapshot) -> Iterator[str]:
    for name in _PLAIN:
        fact = snapshot.facts.get(name)
        if fact is not None and fact.known:
            yield f"f:{name}={str(fact.value).lower()[:40]}"
    for name in _LISTS:
        value = snapshot.get(name).value
        yield from (f"f:{name}={one}" for one in (value if isinstance(value, tuple) else ())[:20])
    system = snapshot.get("os").value
    if isinstance(system, str) and system:
        yield f"f:os={system.split()[0].lower()}"
    for name in snapshot.facts:
        if name.startswith("pkg."):
            yield f"f:{name}"


def _gpus(snapshot: Snapshot, matrix: Matrix) -> Iterator[str]:
    families = sorted({str(g.get("family").value) for g in snapshot.gpus if isinstance(g.get("family").value, str)})
    yield from (f"f:family={family}" for family in families)
    if len(families) > 1:
        yield "f:mixed families"
    apus = [g for g in snapshot.gpus if g.get("is_apu").value is True]
    cards = [g for g in snapshot.gpus if g.get("is_apu").value is False]
    for gpu in snapshot.gpus[:16]:
        gfx = gpu.get("gfx").value
        if isinstance(gfx, str):
            yield f"f:gfx={gfx}"
            kind = matrix.gfx[gfx].family[:4] if gfx in matrix.gfx else ""
            yield f"f:kind={kind}"
    if apus and cards:
        yield "f:integrated beside card"
    elif apus:
        yield "f:integrated alone"
    if len(cards) > 1:
        yield "f:several cards"
        yield f"f:cards>{min(len(cards), 8) // 4 * 4}"
    if not snapshot.gpus:
        yield "f:no gpu stated"
    if snapshot.gpus_listed and not snapshot.gpus:
        yield "f:no gpu listed"
    reported = {str(g.get("gfx_reported").value) for g in snapshot.gpus if isinstance(g.get("gfx_reported").value, str)}
    if reported:
        yield "f:another target reported"


def _versions(snapshot: Snapshot, matrix: Matrix) -> Iterator[str]:
    known = matrix.once(reach)
    rocm, torchs = numbers(snapshot.get("rocm.version").value), numbers(snapshot.get("torch.rocm").value)
    torch, python = numbers(snapshot.get("torch.version").value), numbers(snapshot.get("python.version").value)
    kernel = numbers(snapshot.get("kernel").value)
    for name, version in (("rocm", rocm), ("torch.rocm", torchs), ("torch", torch), ("python", python), ("kernel", kernel)):
        if version:
            yield f"f:{name}={'.'.join(map(str, version[:2]))}"
            yield f"f:{name}={version[0]}"
        else:
            yield f"f:{name} not stated"
    if rocm and torchs and rocm[:2] != torchs[:2]:
        yield "f:torch for a " + ("newer" if torchs[:2] > rocm[:2] else "older") + " rocm than installed"
        if rocm[0] != torchs[0]:
            yield "f:torch for another rocm major"
    full = snapshot.get("torch.version").value
    if isinstance(full, str) and any(mark in full for mark in ("dev", "a0", "rc")):
        yield "f:torch nightly"
    for gpu in snapshot.gpus[:16]:
        yield from _gpu_relations(gpu, rocm, torchs, known, snapshot)
    index = snapshot.get("said.torch_index").value
    if isinstance(index, str):
        yield f"f:index={re.sub(r'[0-9.]+.*', '', index)}"
        yield from (f"f:index {how}" for how in _ends(numbers(re.sub(r"^[a-z]+", "", index)), snapshot, known))
    if python and (python >= (3, 14) or python < (3, 9)):
        yield "f:python at the edge"


def _gpu_relations(gpu: Gpu, rocm: Version, torchs: Version, known: Mapping[str, Reach], snapshot: Snapshot) -> Iterator[str]:
    gfx = str(gpu.get("gfx").value)
    span = known.get(gfx)
    if span is None:
        if gfx.startswith("gfx"):
            yield "f:no wheel has code for the gpu"
    else:
        for name, version in (("rocm", rocm), ("torch.rocm", torchs)):
            if version:
                yield f"f:{name} {'before the gpu' if version[:2] < span.first else 'after the gpu' if version[:2] > span.last else 'fits the gpu'}"
    for name in ("torch.arch_list", "code.torch", "torch.device_dists"):
        value = snapshot.get(name).value
        if isinstance(value, tuple) and gfx.startswith("gfx"):
            yield f"f:{name} {'holds' if gfx in value else 'lacks'} the gpu"


def _ends(index: Version, snapshot: Snapshot, known: Mapping[str, Reach]) -> Iterator[str]:
    for gpu in snapshot.gpus[:16]:
        span = known.get(str(gpu.get("gfx").value))
        if span and index:
            yield "ends before the gpu" if index[:2] < span.first else "fits the gpu"


def _environment(snapshot: Snapshot) -> Iterator[str]:
    override = "env.HSA_OVERRIDE_GFX_VERSION"
    for name, fact in snapshot.facts.items():
        if name.startswith("env.") and len(name) > 4:
            yield f"f:{name} {'not set' if fact.value is None else 'set'}"
    value = snapshot.get(override).value
    if isinstance(value, str):
        major = value.split(".")[0]
        for gpu in snapshot.gpus[:16]:
            gfx = str(gpu.get("gfx").value).removeprefix("gfx")
            if gfx.isalnum():
                own = gfx[:-2]
                yield f"f:override {'of the same generation' if own == major else 'of another generation'}"
                yield f"f:override {'names the gpu' if value.replace('.', '') == gfx else 'names another gpu'}"
    elif any(g.get("gfx").known for g in snapshot.gpus):
        yield "f:no override stated"


def _targets(snapshot: Snapshot, text: str) -> Iterator[str]:
    """Whether the targets that a line names (of a build, of a list of what is supported) are those of the GPU."""
    own = {str(g.get("gfx").value) for g in snapshot.gpus if isinstance(g.get("gfx").value, str)}
    for line in text.lower().split("\n") if own else ():
        named = set(_TARGET.findall(line))
        if named:
            which = "a list of targets" if len(named) > 1 else "a line with one target"
            yield f"f:{which} {'holds' if named & own else 'lacks'} the gpu"


def _line_features(text: str) -> Iterator[str]:
    """What the failing lines name: packages of traceback frames, libraries, and how much was said at all."""
    frames = _FRAME.findall(text)
    yield from (f"f:frame {name.lower()}" for name in set(frames[-6:]))
    if frames:
        yield f"f:last frame {frames[-1].lower()}"
        yield "f:traceback"
    yield from (f"f:library {name.lower()}" for name in set(_LIBRARY.findall(text)))
    if len(set(_NIGHTLY.findall(text))) > 1:
        yield "f:two nightlies"
    size = len(text)
    yield f"f:{'short' if size < 200 else 'middling' if size < 1200 else 'long'} text"
    yield from _comparisons(text)


def _comparisons(text: str) -> Iterator[str]:
    """The components that one sentence names beside two versions ("the kernel went from 6.14 to 6.17"), and those that short sentences
    name with several ("the update to 6.17. The kernel before, 6.14, is fine")."""
    together: set[str] = set()
    apart: dict[str, set[str]] = {}
    for sentence in _SENTENCE.split(text):
        versions = set(_VERSION.findall(sentence))
        named = [name for name, pattern in _COMPONENT.items() if pattern.search(sentence)] if versions else []
        if len(versions) > 1:
            together.update(named)
        for name in named if len(sentence) < _SPOKEN else ():
            apart.setdefault(name, set()).update(versions)
    yield from (f"f:two releases of {name}" for name in together)
    yield from (f"f:several releases of {name}" for name, versions in apart.items() if len(versions) > 1)


_SETTLED_BY = {
    "family": "gpu.family", "gfx": "gpu.gfx", "kind": "gpu.gfx", "integrated beside card": "gpu.is_apu", "integrated alone": "gpu.is_apu",
    "rocm": "rocm.version", "torch": "torch.version", "python": "python.version", "another target reported": "gpu.gfx",
}  # fmt: skip


def fact_of(feature: str) -> str:
    """The fact that decides whether a feature is there (`env.NAME`, `torch.build`); empty for what no command can settle."""
    name, equals, _ = feature.removeprefix("f:").partition("=")
    if name in _SETTLED_BY:
        return _SETTLED_BY[name]
    name = name.removesuffix(" set").removesuffix(" not set")
    known = equals or name.startswith(("env.", "pkg."))
    return name if known and not name.startswith(("said.", "index")) and " " not in name else ""
