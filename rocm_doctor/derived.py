"""Facts that follow from other facts by a rule of the software itself: a row asks for the effect and not for the spelling."""

from __future__ import annotations

import re

from rocm_doctor.model import Fact, Snapshot

# PyTorch's order: c10/core/AllocatorConfig.h (2.9 and later), c10/cuda/CUDAAllocatorConfig.h (CUDA name before HIP name).
_ALLOCATOR = ("env.PYTORCH_ALLOC_CONF", "env.PYTORCH_CUDA_ALLOC_CONF", "env.PYTORCH_HIP_ALLOC_CONF")


def derived(snapshot: Snapshot) -> dict[str, Fact]:
    """`torch.expandable_segments`: what the first of the three allocator variables that is set says (True, False, absent)."""
    facts = [snapshot.get(name) for name in _ALLOCATOR]
    chosen = next((f for f in facts if isinstance(f.value, str)), None)
    if chosen is None:
        listed = snapshot.get("env.")
        return {"torch.expandable_segments": Fact(None, listed.readings)} if listed.value is True else {}
    found = re.search(r"expandable_segments\s*:\s*(True|False)", str(chosen.value))
    return {"torch.expandable_segments": Fact(found[1] == "True" if found else None, chosen.readings)}
