"""Facts that follow from other facts by the software's own rules, so that rows test the effect and not the spelling."""

from __future__ import annotations

import re

import msgspec

from rocm_doctor.bounded.texts import whole
from rocm_doctor.facts.frameworks import framework_facts
from rocm_doctor.model import Fact, Gpu, Reading, Snapshot, Unknown

# PyTorch's order: c10/core/AllocatorConfig.h (2.9 and later), c10/cuda/CUDAAllocatorConfig.h (CUDA name before HIP name).
_ALLOCATOR = ("env.PYTORCH_ALLOC_CONF", "env.PYTORCH_CUDA_ALLOC_CONF", "env.PYTORCH_HIP_ALLOC_CONF")


def derive(snapshot: Snapshot) -> dict[str, Fact]:
    """torch.expandable_segments, torch.other_rocm, torch.release, rocm.loaded, kfd.openable or dxg.exists, and those of JAX and TensorFlow."""
    others = framework_facts(snapshot)
    whole = msgspec.structs.replace(snapshot, facts={**others, **snapshot.facts})
    return {
        **_expandable_segments(whole),
        **_other_rocm(whole),
        **_release(whole),
        **_loaded_rocm(whole),
        **_device_access(whole),
        **others,
    }


def _device_access(snapshot: Snapshot) -> dict[str, Fact]:
    """kfd.openable or dxg.exists, where not tested but proven: a GPU that the HSA runtime listed, a framework that sees one, or a
    device node that one of the user's groups may open."""
    name = "dxg.exists" if snapshot.get("wsl").value is True else "kfd.openable"
    if name in snapshot.facts or snapshot.get("platform").value in ("windows", "macos"):
        return {}
    proof = next(filter(None, (_runtime_proof(snapshot), _framework_proof(snapshot), _group_proof(snapshot, name))), ())
    return {name: Fact(True, proof)} if proof else {}


def _runtime_proof(snapshot: Snapshot) -> tuple[Reading, ...]:
    """The reading of a GPU agent in rocminfo's output, which opens the device before it lists one."""
    read = (r for gpu in snapshot.gpus for r in gpu.get("gfx").readings + gpu.get("gfx_reported").readings)
    return tuple(r for r in read if "rocminfo" in r.artifact)[:1]


def _framework_proof(snapshot: Snapshot) -> tuple[Reading, ...]:
    seen = snapshot.get("torch.available")
    if seen.value is True and snapshot.get("torch.build").value == "rocm":
        return seen.readings[:1]
    builds = {key: snapshot.get(f"{key}.device") for key in ("jax", "tensorflow") if snapshot.get(f"{key}.build").value == "rocm"}
    return next((fact.readings[:1] for fact in builds.values() if fact.value in ("rocm", "gpu")), ())


def _group_proof(snapshot: Snapshot, name: str) -> tuple[Reading, ...]:
    """The reading that the owner group of /dev/kfd is one of the user's."""
    owners = [snapshot.get(f"kfd.{key}") for key in ("group", "gid")]
    mine = [snapshot.get(f"user.{key}") for key in ("groups", "gids")]
    has = {group for fact in mine if isinstance(fact.value, tuple) for group in fact.value}
    owner = next((fact for fact in owners if fact.value in has), None)
    if name != "kfd.openable" or snapshot.get("kfd.exists").value is not True or owner is None:
        return ()
    return owner.readings[:1] + next(
        fact.readings[:1] for fact in mine if isinstance(fact.value, tuple) and owner.value in fact.value
    )


OWN_ROCM = ("bundled", "rpath-packages", "therock")
"""Families of wheels that contain the ROCm libraries they load."""
_LINES = {"bundled": "upstream", "rpath-packages": "upstream", "amd-listing": "amd", "therock": "amd"}


def _release(snapshot: Snapshot) -> dict[str, Fact]:
    """torch.release: torch's version with its release line; unknown for a source build or unknown family where the lines differ."""
    version, family = snapshot.get("torch.version"), snapshot.get("torch.family")
    if not isinstance(version.value, str) or snapshot.get("torch.build").value != "rocm":
        return {}
    line = _LINES.get(str(family.value))
    either = Unknown("ambiguous", tuple(f"{one}:{version.value}" for one in ("upstream", "amd")))
    value = f"{line}:{version.value}" if line else either
    return {"torch.release": Fact(value, version.readings[:1] + (family.readings[:1] if line else ()))}


def _loaded_rocm(snapshot: Snapshot) -> dict[str, Fact]:
    """rocm.loaded: the ROCm whose libraries torch loads; with an unknown wheel family torch's own number, not the system's."""
    own, systems, family = (snapshot.get(name) for name in ("torch.rocm", "rocm.version", "torch.family"))
    linked = family.known and family.value not in (None, *OWN_ROCM)
    first, second = (systems, own) if linked else (own, systems)
    chosen = next((f for f in (first, second) if isinstance(f.value, str)), None)
    return {"rocm.loaded": Fact(chosen.value, chosen.readings)} if chosen else {}


def _other_rocm(snapshot: Snapshot) -> dict[str, Fact]:
    """torch.other_rocm: True if torch was built with another ROCm (by the first two numbers) than the system's."""
    ours, systems = snapshot.get("torch.rocm"), snapshot.get("rocm.version")
    if not isinstance(ours.value, str) or not isinstance(systems.value, str):
        return {}
    differ = ours.value.split(".")[:2] != systems.value.split(".")[:2]
    return {"torch.other_rocm": Fact(differ, ours.readings[:1] + systems.readings[:1])}


def _expandable_segments(snapshot: Snapshot) -> dict[str, Fact]:
    """torch.expandable_segments, from the first allocator variable that is set: True, False or absent."""
    facts = [snapshot.get(name) for name in _ALLOCATOR]
    chosen = next((f for f in facts if isinstance(f.value, str)), None)
    if chosen is None:
        listed = snapshot.get("env.")
        return {"torch.expandable_segments": Fact(None, listed.readings)} if listed.value is True else {}
    found = re.search(r"expandable_segments\s*:\s*(True|False)", str(chosen.value))
    return {"torch.expandable_segments": Fact(found[1] == "True" if found else None, chosen.readings)}


ROCR = "ROCR_VISIBLE_DEVICES"
HIP = ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")


def visibility_variables(snapshot: Snapshot) -> list[str]:
    """The visibility variables in the order in which they apply: ROCR's, then the first of HIP's two."""
    given = [n for n in (ROCR, *HIP) if isinstance(snapshot.get(f"env.{n}").value, str)]
    return [n for n in given if n == ROCR] + [n for n in given if n in HIP][:1]


def mark_visible(snapshot: Snapshot) -> tuple[Gpu, ...]:
    """The GPUs with `visible`, where lists of plain indices decide it: ROCR chooses first, then HIP from what ROCR left.

    A declared target means all GPUs of its machine, so no index names it. Order: the kernel's nodes, which is ROCr's (ROCm/rocm-systems, HIP docs on device isolation).
    """
    if snapshot.get("declared").value is True:
        return snapshot.gpus
    left = list(range(len(snapshot.gpus)))
    readings: list[Reading] = []
    for name in visibility_variables(snapshot):
        fact = snapshot.get(f"env.{name}")
        chosen = visible_indices(str(fact.value))
        if chosen is None:
            return snapshot.gpus
        left = [left[i] for i in chosen if i < len(left)]
        readings += fact.readings
    if not readings:
        return snapshot.gpus
    return tuple(Gpu({**g.facts, "visible": Fact(n in left, tuple(readings))}) for n, g in enumerate(snapshot.gpus))


def visible_indices(value: str) -> list[int] | None:
    """The indices of a list up to the first invalid one (where HIP stops too); None for UUIDs, which cannot be judged."""
    out: list[int] = []
    for part in value.split(","):
        text = part.strip()
        if text.upper().startswith("GPU-"):
            return None
        index = whole(text)
        if index is None:
            break
        out.append(index)
    return out
