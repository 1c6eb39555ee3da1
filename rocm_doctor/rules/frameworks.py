"""The frameworks that train: which of them are installed, which are built for AMD GPUs, and for which targets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rocm_doctor.binaries.targets import covers
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Fact, Finding, Snapshot
from rocm_doctor.rules.build import compiled
from rocm_doctor.rules.findings import finding, quoted, readings
from rocm_doctor.rules.override import NAME


class Framework(NamedTuple):
    """A framework: its name, the beginning of its facts (`jax.build`), the packages that it comes as, and the library with its
    GPU code (`code.LIBRARY`)."""

    name: str
    key: str
    packages: tuple[str, ...]
    library: str

    def build(self, snapshot: Snapshot) -> str:
        """rocm, cuda or cpu; empty where it is not installed or not known."""
        value = snapshot.get(f"{self.key}.build").value
        return value if isinstance(value, str) else ""

    def version(self, snapshot: Snapshot) -> Fact:
        """Its version; absent where it is not installed."""
        facts = [snapshot.get(f"{self.key}.version"), *(snapshot.get(f"pkg.{name}") for name in self.packages)]
        return next((f for f in facts if isinstance(f.value, str)), next((f for f in facts if f.known), facts[0]))

    def words(self, snapshot: Snapshot) -> str:
        """Its name and version: `torch 2.9.1+rocm6.4`."""
        return f"{self.name} {self.version(snapshot).value}"

    def has_code(self, snapshot: Snapshot, matrix: Matrix, gfx: str) -> bool | None:
        """True if its GPU code loads on this target under the override in force; None where that is not known."""
        fact = compiled(snapshot, matrix)[0] if self.key == "torch" else snapshot.get(f"code.{self.library}")
        override = snapshot.get("env." + NAME).value
        if fact is None or not isinstance(fact.value, tuple):
            return None
        return covers(fact.value, gfx, override if isinstance(override, str) else None)


FRAMEWORKS = (
    Framework("torch", "torch", ("torch",), "torch"),
    Framework("JAX", "jax", ("jax",), "jax-rocm-pjrt"),
    Framework("TensorFlow", "tensorflow", ("tensorflow-rocm", "tensorflow", "tensorflow-cpu"), "tensorflow"),
)


def for_amd(snapshot: Snapshot) -> list[Framework]:
    """The installed frameworks that are built for AMD GPUs."""
    return [one for one in FRAMEWORKS if one.build(snapshot) == "rocm"]


_SERVERS = ("llama-cpp-python", "onnxruntime-rocm", "onnxruntime-migraphx")
"""Packages that compute on the GPU without a framework."""


def no_framework(snapshot: Snapshot, matrix: Matrix) -> Iterator[Finding]:
    """The finding for an environment on a machine with an AMD GPU, or declared for one, that has no framework with code for AMD GPUs.

    A torch of another build has a finding of its own (versions.py); of one whose build is not known nothing is said. A machine may
    serve models without a framework; what is declared is to train.
    """
    torch, declared = snapshot.get("torch.version"), snapshot.get("declared").value is True
    if not (declared or snapshot.gpus or snapshot.get("dxg.exists").value is True):
        return
    if for_amd(snapshot) or not torch.known or torch.value is not None:
        return
    if not declared and any(isinstance(snapshot.get(f"pkg.{name}").value, str) for name in _SERVERS):
        return
    others = [(one, one.build(snapshot)) for one in FRAMEWORKS if one.build(snapshot)]
    found = ", ".join(f"{one.words(snapshot)} is a {build.upper()} build" for one, build in others)
    names, place = [one.name for one in FRAMEWORKS], snapshot.get("python.prefix").value
    none = f"neither {', '.join(names[:-1])} nor {names[-1]} is installed" + (f" in {place}" if isinstance(place, str) else "")
    yield finding(
        matrix,
        "version.no-framework",
        title=found or none,
        evidence=(
            *(reading for one, _ in others for reading in quoted(one.version(snapshot), f"{one.key}.version")[:1]),
            *readings(snapshot, "torch.version", *(["declared"] if declared else [])),
        ),
    )
