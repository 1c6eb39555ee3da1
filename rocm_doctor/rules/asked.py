"""The answer to a question that reports no failure: whether AMD supports a GPU with a release of ROCm."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Snapshot
from rocm_doctor.rules.findings import training_gpus
from rocm_doctor.rules.support import NO, covers
from rocm_doctor.versions import sort_key

_NAMES = {"linux": "Linux", "windows": "Windows", "wsl": "WSL"}


def support_answer(snapshot: Snapshot, matrix: Matrix) -> str:
    """What AMD's tables say of each GPU that the text asks about, a sentence for each system; empty if it asks nothing."""
    asked = snapshot.get("said.asks_support").value
    if not isinstance(asked, str):
        return ""
    known = "wsl" if snapshot.get("wsl").value is True else snapshot.get("platform").value
    targets = dict.fromkeys(g for _, gpu in training_gpus(snapshot) if isinstance(g := gpu.get("gfx").value, str))
    systems = [known] if isinstance(known, str) and known in _NAMES else ["linux", "windows"]
    said = [words for gfx in targets for system in systems for words in _target_lines(gfx, system, asked, matrix)]
    return "; ".join([*said, *(f"`rocm-doctor plan --gpu {gfx}` names what runs on it" for gfx in targets)])


def _target_lines(gfx: str, system: str, rocm: str, matrix: Matrix) -> Iterator[str]:
    about = [s for s in matrix.support if gfx in s.gfx and s.os == system]
    listed = [s for s in about if s.state == "supported" and s.grade == "official"]
    where = f"on {_NAMES[system]}"
    if not listed:
        absent = any(s.state in NO and (rocm == "any" or covers(s, rocm)) for s in about)
        yield f"AMD does not list {gfx} {where}" if absent else f"no table of AMD's that was read lists {gfx} {where}"
        return
    first, last = min((s.since for s in listed), key=sort_key), max((s.until or s.since for s in listed), key=sort_key)
    if rocm != "any" and any(covers(s, rocm) for s in listed):
        yield f"AMD lists {gfx} for ROCm {rocm} {where}"
    elif rocm != "any" and (sort_key(rocm) < sort_key(first) or any(covers(s, rocm) and s.state in NO for s in about)):
        yield f"AMD does not list {gfx} for ROCm {rocm} {where}, but for ROCm {first} to {last}"
    else:
        unread = f"no table of ROCm {rocm} was read; " if rocm != "any" else ""
        yield f"{unread}AMD lists {gfx} {where} for ROCm {first} to {last}"
