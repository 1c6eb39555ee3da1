"""The result of an audit: one holding for each file, or folder of kernel files, with GPU code."""

from __future__ import annotations

from typing import Literal

import msgspec

from rocm_doctor.model import Why

ARTIFACT = "code/audit.json"

Kind = Literal["fatbin", "split", "kpack", "code-object", "tensile"]
PlaceKind = Literal["environment", "folder", "wheel", "file"]


class Holding(msgspec.Struct, frozen=True, omit_defaults=True):
    """GPU code of one library in one place. `targets`: target ids, features included; `partial`: those that only some of the
    `bundles` have; `needed`: the ROCm libraries that it is linked to; `problem`: why the file could not be read completely
    (`targets` is then what was read until there)."""

    library: str
    path: str
    kind: Kind
    targets: tuple[str, ...] = ()
    partial: tuple[str, ...] = ()
    bundles: int = 0
    encodings: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()
    key: str = ""
    note: str = ""
    problem: str = ""
    why: Why = "unparsed"


class LibraryChoice(msgspec.Struct, frozen=True, omit_defaults=True):
    """The library file that bitsandbytes loads for the installed torch ("" if none fits), and the reason."""

    path: str
    because: str


class Audit(msgspec.Struct, frozen=True, omit_defaults=True):
    """The result for one place. `holdings`: one for each library; `versions`: those of packages by name; `torch_hip`:
    torch.version.hip from torch/version.py; `files`: the number of opened files."""

    place: str
    kind: PlaceKind
    holdings: tuple[Holding, ...] = ()
    torch_hip: str = ""
    versions: dict[str, str] = {}
    bitsandbytes: LibraryChoice | None = None
    files: int = 0
