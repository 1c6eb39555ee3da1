"""The machine that a plan is for: probed, or declared by a few words."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.facts.derive import HIP, ROCR, derive
from rocm_doctor.facts.enrich import enrich
from rocm_doctor.matrix import Matrix, TorchBuild
from rocm_doctor.model import Fact, Gpu, Reading, Shell, Snapshot
from rocm_doctor.plan.catalog import System
from rocm_doctor.rules.build import python_series
from rocm_doctor.rules.findings import choosable_gpus
from rocm_doctor.rules.frameworks import amd_frameworks

DECLARED = Reading("declared", "", "given on the command line")
INBOX = "inbox"
"""The kernel's own amdgpu, which has no version."""

TORCH = ("torch", "torchvision", "torchaudio", "triton", "pytorch-triton-rocm", "triton-rocm")
"""What a new torch replaces."""
_OF_CUDA = regex(r"nvidia-.+-cu\d+")
"""Names of the packages that hold CUDA's own libraries."""
_OF_TORCH = ("torch.", "rocm.loaded", "code.torch", "code.rocblas", "smoke.", "env.", "pkg.rocm", "pkg.amd-torch")


class Machine(msgspec.Struct, frozen=True):
    """What decides between stacks. `driver` is the DKMS module's version; empty texts are not known.

    `base` are the facts beside the stack; `probed`: they were read here, and what they say of packages is installed; `intact`: `check`
    finds nothing that the same torch, installed anew, would mend.
    """

    gfx: str
    python: str
    system: System = "linux"
    driver: str = ""
    kernel: str = ""
    base: Snapshot = Snapshot()
    probed: bool = False
    intact: bool = True
    creates: bool = False
    """True: no environment of the user's was examined, and a plan creates one."""
    interpreter: str = ""
    """The examined one, where it was named; empty: that of the shell."""

    def fields(self) -> dict[str, Any]:
        """What can be declared of it, by name."""
        return {name: getattr(self, name) for name in ("gfx", "python", "system", "driver", "kernel")}

    def installed_version(self, name: str) -> str:
        """The version of a package that is installed; empty when it is not, or was not looked for."""
        return "" if self.creates else _text(self.base, f"pkg.{name}")

    @property
    def torch(self) -> str:
        """The installed torch as it names itself (2.9.1+rocm6.3); empty without one."""
        return _text(self.base, "torch.version") or self.installed_version("torch")

    def has_build(self, build: TorchBuild) -> bool:
        """True if the installed torch is of that build."""
        return self.probed and self.torch == build.local != ""

    @property
    def shell(self) -> Shell:
        """The shell that its commands are written for."""
        return "powershell" if self.system == "windows" else "sh"

    @property
    def targets(self) -> tuple[str, ...]:
        """The targets of all GPUs that a run would use, the planned one first."""
        others = (gpu.get("gfx").value for gpu in choosable_gpus(self.base))
        return tuple(dict.fromkeys((self.gfx, *(g for g in others if isinstance(g, str)))))

    def words(self) -> str:
        """The machine in a sentence: its targets, system and Python, and its driver and kernel where they are known."""
        parts = [" and ".join(self.targets), self.system, f"Python {self.python}" if self.python else "Python unknown"]
        return ", ".join(
            [*parts, *([f"driver {self.driver}"] if self.driver else []), *([f"kernel {self.kernel}"] if self.kernel else [])]
        )


def declare_machine(
    gfx: str, python: str, matrix: Matrix, system: System = "linux", driver: str = "", kernel: str = ""
) -> Machine:
    """A machine with one GPU of that target and no known problem. `driver`: `inbox` is the kernel's own, empty not known."""
    declared: dict[str, str | bool | None] = {"platform": "windows" if system == "windows" else "linux", "wsl": system == "wsl"}
    declared |= {n: value for n, value in (("python.version", python), ("kernel", kernel)) if value}
    if driver:
        declared["driver.windows" if system == "windows" else "driver.version"] = None if driver == INBOX else driver
    nodes = {"linux": ("kfd.exists", "kfd.openable"), "wsl": ("dxg.exists",), "windows": ()}[system]
    facts = {name: Fact(value, (DECLARED,)) for name, value in (declared | dict.fromkeys(nodes, True)).items()}
    snapshot = Snapshot(facts, (Gpu({"gfx": Fact(gfx, (DECLARED,))}),), gpus_listed=True)
    return Machine(gfx, python, system, driver, kernel, enrich(snapshot, matrix))


def system_from_snapshot(snapshot: Snapshot) -> System:
    """The system of a snapshot; Linux where it is not known."""
    return "windows" if _text(snapshot, "platform") == "windows" else "wsl" if snapshot.get("wsl").value is True else "linux"


def machine_from_snapshot(snapshot: Snapshot) -> Machine | None:
    """The machine of a snapshot, for the first GPU to train on; None when no target is known."""
    cards = [gpu for gpu in choosable_gpus(snapshot) if isinstance(gpu.get("gfx").value, str)]
    if not cards:
        return None
    return Machine(
        str(cards[0].get("gfx").value),
        python_series(snapshot),
        system_from_snapshot(snapshot),
        _text(snapshot, "driver.version"),
        _text(snapshot, "kernel"),
        snapshot,
        probed=True,
        creates=snapshot.get("python.env").value in ("doctor", "system") and not amd_frameworks(snapshot),
    )


def remove_packages(machine: Machine, names: Container[str]) -> Machine:
    """The machine without these installed packages."""
    kept = {name: fact for name, fact in machine.base.facts.items() if _package(name) not in names}
    return msgspec.structs.replace(machine, base=msgspec.structs.replace(machine.base, facts=kept))


def change_machine(machine: Machine, matrix: Matrix, **changes: str) -> Machine:
    """The machine with these fields (see Machine.fields) changed, made as declare_machine makes one: other facts and GPUs are
    dropped; packages beside torch and `probed` stay."""
    fields = machine.fields() | changes
    changed = declare_machine(matrix=matrix, **fields)
    kept = {n: f for n, f in machine.base.facts.items() if (name := _package(n)) and name not in TORCH}
    base = msgspec.structs.replace(changed.base, facts={**changed.base.facts, **kept})
    return msgspec.structs.replace(changed, base=base, probed=machine.probed)


def _package(fact: str) -> str:
    """The package that a fact is about; empty for other facts."""
    family, _, rest = fact.partition(".")
    return rest.removesuffix(".ids") if family in ("pkg", "code", "soname") else ""


def _text(snapshot: Snapshot, name: str) -> str:
    value = snapshot.get(name).value
    return value if isinstance(value, str) else ""


def cuda_packages(machine: Machine, matrix: Matrix) -> tuple[str, ...]:
    """The installed packages that are for CUDA, where torch is: those that the package index has for CUDA alone, and CUDA's own
    libraries."""
    if machine.base.get("torch.build").value != "cuda" or machine.creates:
        return ()
    alone = (p for p in matrix.plain("cuda_only") or () if p.get("wheels", "CUDA") == "CUDA" and not p.get("unless"))
    names = {p["name"] for p in alone}
    here = (name[4:] for name, fact in machine.base.facts.items() if name.startswith("pkg.") and isinstance(fact.value, str))
    return tuple(name for name in here if name in names or _OF_CUDA.fullmatch(name))


def install_stack(machine: Machine, facts: dict[str, Fact], replaced: Container[str] = ()) -> Snapshot:
    """The machine as it would be with another stack installed: what belongs to the old one is gone, other packages stay.

    `replaced`: names of packages that are installed anew, whose code and links are no longer those that were read.
    """
    kept = {name: fact for name, fact in machine.base.facts.items() if not _is_replaced(name, replaced)}
    if machine.base.get("rocm.source").value == "wheels":
        kept = {name: fact for name, fact in kept.items() if name not in ("rocm.version", "rocm.source")}
    base = msgspec.structs.replace(machine.base, facts={**kept, **facts})
    return msgspec.structs.replace(base, facts={**derive(base), **base.facts})


def _is_replaced(name: str, replaced: Container[str]) -> bool:
    if name.removeprefix("env.") in (ROCR, *HIP):
        return False  # the user's choice of GPUs, from which their `visible` was worked out
    package = _package(name)
    return name.startswith(_OF_TORCH) or (bool(package) and (package in TORCH or package in replaced))
