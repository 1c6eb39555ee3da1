"""The code objects that a GPU can load: target ids, generic targets, feature modifiers, HSA_OVERRIDE_GFX_VERSION.

The rules are those of LLVM's "User Guide for AMDGPU Backend" (target ids, generic processors, e_flags) and, for the override, of
ROCr's libhsakmt. processors.py holds LLVM's tables. Results are three-valued: True, False, and None for unknown.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from rocm_doctor.binaries.processors import GENERIC, MACH, SELECTABLE
from rocm_doctor.bounded.patterns import regex

_TARGET = regex(r"(gfx(?:\d+(?:-\d+)?-generic|\d+x+|\d{1,3}[0-9a-f]{2}))((?::[a-z-]+[+-])*|(?:[+-][a-z-]+)*)")
_ENTRY = regex(r"[a-z0-9]+-amdgcn-amd-amdhsa-(?:unknown)?-?(gfx.+)")
_FAMILY = regex(r"gfx(\d+)(x+)")
_SPIRV = "amdgcnspirv"


class TargetId(NamedTuple):
    """A target id: processor (or generic target, or a family such as gfx110x) and the features it states."""

    processor: str
    features: tuple[tuple[str, bool], ...] = ()

    def __str__(self) -> str:
        return self.processor + "".join(f":{name}{'+' if on else '-'}" for name, on in self.features)


@lru_cache(4096)
def parse_target(text: str) -> TargetId | None:
    """`gfx90a:sramecc+:xnack-`, and the older spelling `gfx902+xnack`; None for anything else."""
    if text == _SPIRV:
        return TargetId(_SPIRV)
    found = _TARGET.fullmatch(text)
    if not found:
        return None
    processor, modifiers = found.groups()
    if modifiers.startswith(":"):
        pairs = [(m[:-1], m[-1] == "+") for m in modifiers[1:].split(":")]
    else:
        pairs = [(m[1:].replace("sram-ecc", "sramecc"), m[0] == "+") for m in re.findall(r"[+-][a-z]+(?:-ecc)?", modifiers)]
    return TargetId(processor, tuple(sorted(set(pairs))))


def entry_target(entry_id: str) -> str | None:
    """Target id in a bundle entry's id (`hipv4-amdgcn-amd-amdhsa--gfx1100`); None for host entries and other triples."""
    if entry_id.startswith("host-"):
        return None
    if entry_id.endswith("-" + _SPIRV):
        return _SPIRV
    found = _ENTRY.fullmatch(entry_id)
    target = parse_target(found.group(1)) if found else None
    return str(target) if target else None


def flags_target(e_flags: int, abi_version: int) -> str | None:
    """Target id from an AMDGPU ELF header; None for an unknown machine number. Up to ABI version 1 (code object V3) a feature is
    one bit; from 2 (V4) on it is two: absent, any, off, on."""
    processor = MACH.get(e_flags & 0xFF)
    if processor is None:
        return None
    if abi_version < 2:
        features = [(n, True) for n, bit in (("sramecc", 0x200), ("xnack", 0x100)) if e_flags & bit and abi_version == 1]
    else:
        states = (("sramecc", e_flags >> 10 & 3), ("xnack", e_flags >> 8 & 3))
        features = [(name, state == 3) for name, state in states if state > 1]
    return str(TargetId(processor, tuple(features)))


def override_target(value: str) -> str | None:
    """The processor that HSA_OVERRIDE_GFX_VERSION names: `10.3.0` is gfx1030, `9.0.10` is gfx90a. None if it is not x.y.z."""
    found = re.fullmatch(r"\s*(\d{1,2})\.(\d{1,3})\.(\d{1,3})\s*", value, re.ASCII)
    if not found:
        return None
    major, minor, step = (int(g) for g in found.groups())
    if major > 63 or minor > 15 or step > 15:
        return None
    return f"gfx{major}{minor:x}{step:x}"


def covers(code_objects: Iterable[str], device: str, override: str | None = None) -> bool | None:
    """True if the HIP loader takes any of these code objects for this GPU.

    `code_objects` and `device` are target ids; a feature that the device id does not state may be on or off. With
    `override` (the value of HSA_OVERRIDE_GFX_VERSION) the loader sees that processor instead; the chip stays the same.
    None: an unknown target, an unstated feature that decides, a family's folder, or SPIR-V, which the runtime has to compile.
    """
    return _covers(tuple(code_objects), device, override)


@lru_cache(4096)
def _covers(code_objects: tuple[str, ...], device: str, override: str | None) -> bool | None:
    card = _loader_target(device, override)
    if card is None:
        return None
    codes = [parse_target(text) for text in code_objects]
    answers = {_any(_fits(code, state) for code in codes) for state in _states(card)}
    return answers.pop() if len(answers) == 1 else None


def _loader_target(device: str, override: str | None) -> TargetId | None:
    card = parse_target(device)
    if card is None or not override:
        return card
    processor = override_target(override)
    return None if processor is None else TargetId(processor, card.features)


def _states(card: TargetId) -> list[TargetId]:
    """The GPU with every feature stated: one for each combination of the unstated ones."""
    stated = dict(card.features)
    free = [name for name, processors in SELECTABLE.items() if card.processor in processors and name not in stated]
    combinations = itertools.product((False, True), repeat=len(free))
    return [TargetId(card.processor, tuple({**stated, **dict(zip(free, c))}.items())) for c in combinations]


def _fits(code: TargetId | None, card: TargetId) -> bool | None:
    if code is None or code.processor == _SPIRV:
        return None
    if family := _FAMILY.fullmatch(code.processor):
        member = rf"gfx{family.group(1)}[0-9a-f]{{{len(family.group(2))}}}"
        return None if re.fullmatch(member, card.processor) else False
    same = _same_processor(code.processor, card.processor)
    state = dict(card.features)
    return same if not same or all(state.get(name) is on for name, on in code.features) else False


def _same_processor(code: str, card: str) -> bool | None:
    if code == card:
        return True
    if not code.endswith("-generic"):
        return False
    return card in GENERIC[code] if code in GENERIC else None


def _any(answers: Iterable[bool | None]) -> bool | None:
    seen = set(answers)
    return True if True in seen else None if None in seen else False
