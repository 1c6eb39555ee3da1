"""torchvision and torchaudio of another release than torch, or from an index that torch does not come from."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint import catalog
from rocm_doctor.lint.model import Problem
from rocm_doctor.lint.rules.case import Case
from rocm_doctor.lint.torch import Torch
from rocm_doctor.matrix import Matrix

_SOURCE = "https://pytorch.org/get-started/previous-versions"


def companions(case: Case) -> Iterator[Problem]:
    """`version.companion-mismatch` for a pinned companion that was not released with the pinned torch: pip refuses both together."""
    torch, one = case.torch, case.environment
    if not isinstance(torch, Torch) or torch.requirement is None or torch.step is None or not case.is_amd or one.kind == "lock":
        return
    version = catalog.pinned_version(torch.requirement.specifier)
    for r in torch.step.requirements if version else ():
        has = catalog.pinned_version(r.specifier)
        right = right_version(r.name, version, case.matrix) if r.name in ("torchvision", "torchaudio") else ""
        if not (right and _RELEASE.fullmatch(has)) or has == right or r.url or not catalog.applies(r.marker, case.target):
            continue
        if r.name == "torchaudio" and version >= "2.11":
            continue  # it no longer asks for one torch
        yield case.problem(
            "version.companion-mismatch", f"{r.name} {has} belongs to another torch than {version}",
            f"{r.name} {right} was released with torch {version}; each release asks for exactly one torch, so pip finds no solution.",
            (r.place, torch.place), sources=(_SOURCE,), is_literal=torch.is_literal,
        )  # fmt: skip


_RELEASE = regex(r"\d+(?:\.\d+)+")


def right_version(name: str, torch: str, matrix: Matrix) -> str:
    """The release of a companion that the catalog names for a torch; empty where it names none."""
    builds = (b for b in matrix.torch if b.torch == torch)
    return next((v.split("+")[0] for b in builds if (v := getattr(b, name))), "")
