"""What the compatibility matrix holds beside `rows.Row` and `rows.Diagnosis`: the catalog of what exists.

A statement of the catalog carries `sources`, `grade` and `checked` like a row; an empty field means "no source says", never
"no".
"""

from __future__ import annotations

import datetime
import re
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from rocm_doctor.matrix.rows import Layer
from rocm_doctor.model import Grade, Severity

GfxName = Annotated[str, Meta(pattern=r"^gfx\d{1,2}[0-9a-f]{2}$")]
DeviceId = Annotated[str, Meta(pattern=r"^[0-9a-f]{4}$")]
VariableName = Annotated[str, Meta(pattern=r"^[A-Z][A-Z0-9_]+(<node>)?$")]
OverrideVerdict = Literal["identity", "sibling", "faulty", "not-needed", "last-resort", "disputed", "harmful"]
SupportState = Literal[
    "supported", "deprecated", "dropped", "not-listed", "never-listed", "announced", "preview", "release-ready", "build-only",
    "runtime-only", "works-unofficially", "unstable", "broken", "harmful", "disputed",
]  # fmt: skip


class Sourced(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """An entry of the catalog that says who says so: citations, the kind of the best of them, and the day on which they were read."""

    sources: tuple[str, ...]
    grade: Grade
    checked: datetime.date


class Override(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One value of HSA_OVERRIDE_GFX_VERSION on one target, and what comes of it.

    identity: names the chip itself; sibling: runs the code of a close relative, used in the field; faulty: that, with reported
    faults; not-needed: the chip has its own kernels today; last-resort; disputed: sources disagree; harmful: reported to break.
    """

    value: str
    verdict: OverrideVerdict
    grade: Grade
    words: str
    sources: tuple[str, ...]


class Target(Sourced, frozen=True):
    """A gfx target.

    kfd: the kernel's decimal gfx_target_version, major * 10000 + minor * 100 + step (the step is hex in the name). mach: LLVM's number of
    the processor in a code object's ELF header; 0: not known. generic: the generic target whose code runs on it. names: marketing names,
    of which one may belong to several targets. processors: globs over the names of APUs. pci: device ids in hex. products: the name of
    the product, for ids that have only one. vram: sizes in GiB by card. fp16, bf16, fp8: what the hardware multiplies; empty: no source.
    """

    gfx: GfxName
    family: str
    kind: Literal["dGPU", "APU", "dGPU/APU"]
    codename: str
    names: tuple[str, ...]
    kfd: int
    wavefront: int
    generic: str = ""
    mach: int = 0
    pci: tuple[DeviceId, ...] = ()
    products: dict[str, str] = {}
    wavefront_modes: tuple[int, ...] = ()
    xnack: bool = False
    sramecc: bool = False
    memory: str = ""
    vram: dict[str, tuple[float, ...]] = {}
    processors: tuple[str, ...] = ()
    matrix_unit: Literal["", "none", "MFMA", "WMMA"] = ""
    fp16: str = ""
    bf16: str = ""
    fp8: str = ""
    overrides: tuple[Override, ...] = ()
    notes: str = ""

    def sizes(self, product: str = "") -> list[float]:
        """Memory sizes in GiB of a product, ascending; empty if they are not known. Without a product's name, those of all
        products of the target."""
        by_card = [sizes for card, sizes in self.vram.items() if _bare_name(card) == _bare_name(product)]
        if not by_card and not self.has_product(product):
            by_card = list(self.vram.values())
        return sorted({size for sizes in by_card for size in sizes})

    def has_product(self, name: str) -> bool:
        """True if `names` has this product, whatever words its name leaves out."""
        return _bare_name(name) in map(_bare_name, self.names)


def _bare_name(name: str) -> str:
    """The name without the words that a person may leave out: `AMD Radeon RX 7900 XTX` and `7900xtx` are one product."""
    return re.sub(r"pro|rx|ai|[\W_]", "", product_words(name))


def product_words(name: str) -> str:
    """The words of a GPU's name that tell products apart: `AMD Radeon RX 7900 XTX` and `Radeon RX 7900 XTX` are `rx 7900 xtx`."""
    words = re.sub(r"[^\w]", " ", name.lower())
    words = re.sub(r"\b(amd|radeon|instinct|graphics|tm|r|oam|hbm3e?|vf|nvidia|pcie|sxm\d?)\b", " ", words)
    return " ".join(words.split())


class Processor(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A processor that LLVM knows and that is not a `Target`; its fields mean the same as there."""

    name: str
    mach: int
    generic: str = ""
    xnack: bool = False
    sramecc: bool = False


class Extension(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A library with GPU code of its own beside torch. `lacks`: the diagnosis if it has none for the GPU; `several`: only runs on
    several GPUs need it; `pinned`: range of torch releases (`<2.12`) for each of which the library has a release that requires
    exactly it."""

    name: str
    lacks: str
    severity: Severity
    several: bool = False
    pinned: str = ""


class RocmRelease(Sourced, frozen=True):
    """One ROCm release. `stream`: production, preview (TheRock 7.9 to 7.13), therock (7.14 and later), nightly; `components`:
    versions."""

    version: str
    stream: Literal["production", "preview", "therock", "nightly", "unknown"]
    date: datetime.date | None = None
    hip: str = ""
    components: dict[str, str] = {}
    notes: str = ""


class TorchBuild(Sourced, frozen=True):
    """One torch wheel for ROCm.

    local: its full version where one is known, and then the key. index: its address or a name of indexes.yaml; empty: not known. pythons:
    `3.14`, or `3.14t` for the build without the GIL. gfx: targets compiled into it (for therock: its device packages); blas: those its
    rocBLAS has kernels for; empty: not known. evidence: how the wheel is known (listed, observed, build matrix, inferred);
    gfx_evidence: the same of its targets.
    """

    key: str
    torch: str
    rocm: str
    index: str
    family: Literal["bundled", "rpath-packages", "amd-listing", "therock"]
    evidence: str
    local: str = ""
    primary: bool = False
    pythons: tuple[str, ...] = ()
    platforms: tuple[str, ...] = ()
    torchvision: str = ""
    torchaudio: str = ""
    triton: str = ""
    released: datetime.date | None = None
    gfx: tuple[str, ...] = ()
    gfx_evidence: str = ""
    gfx_grade: Grade = "upstream"
    blas: tuple[str, ...] = ()
    blas_evidence: str = ""
    notes: str = ""


class DriverModule(Sourced, frozen=True):
    """The version that the amdgpu DKMS module prints, and the release it belongs to: ROCm's up to 6.4, then the driver's own
    (30.10), with the ROCm that it came out with."""

    module: str
    release: str
    notes: str = ""
    rocm: str = ""


class KernelPackage(Sourced, frozen=True):
    """The newest kernel that the package `name` of a distribution's release brings: `os` begins the name that the release gives itself.
    `upgrade`: the command that goes to the release `successor`. `derivatives`: other systems with these packages, in the same way."""

    name: str
    os: str
    release: str
    kernel: str
    successor: str = ""
    upgrade: str = ""
    derivatives: tuple[str, ...] = ()


class RocmPackage(Sourced, frozen=True):
    """Pip packages that a torch without a ROCm of its own pins, by a pattern of their names: `of` says whose version they have."""

    name: str
    of: Literal["rocm", "torch"]


class DriverRange(Sourced, frozen=True):
    """User space releases that AMD names for a kernel driver. `kind`: rule, listed, tested, windows, exception."""

    key: str
    kind: Literal["rule", "listed", "tested", "windows", "exception"]
    driver: str
    rocm: str
    scope: str
    words: str


class Support(Sourced, frozen=True):
    """What one source says about targets on a range of ROCm releases. `since`/`until` as the source names them; empty `until`:
    open."""

    key: str
    gfx: tuple[str, ...]
    since: str
    until: str
    os: Literal["linux", "windows", "wsl"]
    state: SupportState
    layer: Layer
    words: str
    scope: str = ""


class EnvVar(Sourced, frozen=True):
    """An environment variable. `exists` no: nothing reads it. `reader`: the program that does; `use`: what it is for; `effect`:
    what it does; `harm`: what it costs or breaks; `also`: other variables that the entry is about."""

    name: VariableName
    exists: Literal["yes", "no", "deprecated", "build-time", "old"]
    reader: str
    platform: str
    use: Literal["override", "selection", "allocator", "debug", "tuning", "workaround", "communication", "build", "none"]
    effect: str
    values: str = ""
    default: str = ""
    harm: str = ""
    also: tuple[str, ...] = ()

    @property
    def is_read(self) -> bool:
        """True if a program that runs reads it."""
        return self.exists in ("yes", "deprecated", "old")


class Soname(Sourced, frozen=True):
    """A library name that changed with ROCm's major releases, and the HIP majors that have it."""

    name: str
    hip: tuple[int, ...]


class Statement(Sourced, frozen=True):
    """A sourced statement about a component, an operating system or a library that no condition is needed for."""

    key: str
    subject: str
    words: str
    layer: Layer
    scope: str = ""
    gfx: tuple[str, ...] = ()
    version: str = ""
    rocm: str = ""
