"""The frameworks that train: which of them a report is about, which are built for AMD GPUs, and for which targets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rocm_doctor.binaries.targets import covers
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Command, Fact, Finding, Purpose, Snapshot
from rocm_doctor.rules.build import compiled_targets
from rocm_doctor.rules.findings import fact_readings, finding, readings
from rocm_doctor.rules.override import NAME


class Framework(NamedTuple):
    """A framework: its name, the beginning of its facts (`jax.build`), the packages that it comes as, the library with its GPU
    code (`code.LIBRARY`), and the command that prints the devices that it sees."""

    name: str
    key: str
    packages: tuple[str, ...]
    library: str
    devices: str

    def build(self, snapshot: Snapshot) -> str:
        """rocm, cuda or cpu; empty where it is not installed or not known."""
        value = snapshot.value(f"{self.key}.build")
        return value if isinstance(value, str) else ""

    def version(self, snapshot: Snapshot) -> Fact:
        """Its version; absent where it is not installed."""
        facts = [snapshot.get(f"{self.key}.version"), *(snapshot.get(f"pkg.{name}") for name in self.packages)]
        return next((f for f in facts if isinstance(f.value, str)), next((f for f in facts if f.known), facts[0]))

    def words(self, snapshot: Snapshot) -> str:
        """Its name and version, where that is known: `torch 2.9.1+rocm6.4`."""
        version = self.version(snapshot).value
        return f"{self.name} {version}" if isinstance(version, str) else self.name

    def has_code(self, snapshot: Snapshot, matrix: Matrix, gfx: str) -> bool | None:
        """True if its GPU code loads on this target under the override in force, if it listed the GPU, or if a matmul ran; None if not known."""
        listed = self.build(snapshot) == "rocm" and snapshot.value(f"{self.key}.device") in ("rocm", "gpu")
        if listed or snapshot.value("smoke.matmul" if self.key == "torch" else f"smoke.{self.key}.matmul") == "passed":
            return True
        fact = compiled_targets(snapshot, matrix)[0] if self.key == "torch" else snapshot.get(f"code.{self.library}")
        override = snapshot.value("env." + NAME)
        if fact is None or not isinstance(fact.value, tuple):
            return None
        return covers(fact.value, gfx, override if isinstance(override, str) else None)


FRAMEWORKS = (
    Framework("torch", "torch", ("torch",), "torch", 'python -c "import torch; print(torch.cuda.is_available())"'),
    Framework("JAX", "jax", ("jax",), "jax-rocm-pjrt", 'python -c "import jax; print(jax.devices())"'),
    Framework(
        "TensorFlow",
        "tensorflow",
        ("tensorflow-rocm", "tensorflow", "tensorflow-cpu"),
        "tensorflow",
        "python -c \"import tensorflow as tf; print(tf.config.list_physical_devices('GPU'))\"",
    ),
)
TORCH = FRAMEWORKS[0]
PLAN = "rocm-doctor plan"
"""The command in a row or a cure that is completed with the right stack of this machine."""


def frameworks_in_question(snapshot: Snapshot) -> list[Framework]:
    """The frameworks that a report is about: the one of --framework, else those that are installed or that the text names, else
    torch."""
    stated = snapshot.get("said.frameworks")
    named = [framework for framework in FRAMEWORKS if isinstance(stated.value, tuple) and framework.key in stated.value]
    if any(reading.artifact.startswith("declared/") for reading in stated.readings):
        return named
    return [
        framework for framework in FRAMEWORKS if framework in named or isinstance(framework.version(snapshot).value, str)
    ] or [TORCH]


def amd_frameworks(snapshot: Snapshot) -> list[Framework]:
    """The frameworks among them that are installed and built for AMD GPUs."""
    return [framework for framework in frameworks_in_question(snapshot) if framework.build(snapshot) == "rocm"]


_OF_PYTHON: tuple[Purpose, ...] = ("install", "remove", "pin", "python")


def is_usable(command: Command, snapshot: Snapshot, python: bool) -> bool:
    """False for a command for torch where the report is not about torch, and for one of Python where it is not about a program in
    Python (`python` is False)."""
    return (python or command.purpose not in _OF_PYTHON) and (
        "torch" not in command.packages or TORCH in frameworks_in_question(snapshot)
    )


_SERVERS = ("llama-cpp-python", "onnxruntime-rocm", "onnxruntime-migraphx")
"""Packages that compute on the GPU without a framework."""


def no_framework(snapshot: Snapshot, matrix: Matrix) -> Iterator[Finding]:
    """The finding for an environment on a machine with an AMD GPU, or declared for one, that has no framework with code for AMD GPUs.

    A torch of another build has a finding of its own (versions.py); of a framework whose build is not known nothing is said. A
    machine may serve models without a framework; what is declared is to train.
    """
    frameworks, declared = frameworks_in_question(snapshot), snapshot.value("declared") is True
    if not (declared or snapshot.gpus or snapshot.value("dxg.exists") is True) or amd_frameworks(snapshot):
        return
    others = [(framework, framework.build(snapshot)) for framework in frameworks if framework.build(snapshot)]
    if TORCH in frameworks and snapshot.value("torch.version") is not None:
        return
    if not others and any(framework.version(snapshot).value is not None for framework in frameworks):
        return
    if not declared and any(isinstance(snapshot.value(f"pkg.{name}"), str) for name in _SERVERS):
        return
    built = ", ".join(f"{framework.words(snapshot)} is a {build.upper()} build" for framework, build in others)
    bare = not any(isinstance(framework.version(snapshot).value, str) for framework in FRAMEWORKS)
    names = [framework.name for framework in (FRAMEWORKS if bare and frameworks == [TORCH] else frameworks)]
    place = snapshot.value("python.prefix")
    where = f" in {place}" if isinstance(place, str) else ""
    if snapshot.value("python.env") == "doctor":
        where = ": no environment is active, and the doctor's own has none"
    none = f"neither {', '.join(names[:-1])} nor {names[-1]} is installed" if names[1:] else f"{names[0]} is not installed"
    unbuilt = [*(["torch.version"] if not others else []), *(["declared"] if declared else [])]
    builds = (
        reading
        for framework, _ in others
        for reading in fact_readings(framework.version(snapshot), f"{framework.key}.version")[:1]
    )
    case = "version.no-framework/none"
    yield finding(matrix, case, (*builds, *readings(snapshot, *unbuilt)), words=built or none + where)
