"""The frameworks that train: which of them a report is about, which are built for AMD GPUs, and for which targets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rocm_doctor.binaries.targets import covers
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Command, Fact, Finding, Snapshot
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


def frameworks_in_question(snapshot: Snapshot) -> list[Framework]:
    """The frameworks that a report is about: the one of --framework, else those that are installed or that the text names, else
    torch."""
    said = snapshot.get("said.frameworks")
    named = [one for one in FRAMEWORKS if isinstance(said.value, tuple) and one.key in said.value]
    if any(reading.artifact.startswith("declared/") for reading in said.readings):
        return named
    return [one for one in FRAMEWORKS if one in named or isinstance(one.version(snapshot).value, str)] or [TORCH]


def amd_frameworks(snapshot: Snapshot) -> list[Framework]:
    """The frameworks among them that are installed and built for AMD GPUs."""
    return [one for one in frameworks_in_question(snapshot) if one.build(snapshot) == "rocm"]


def framework_checks(commands: Iterable[Command], snapshot: Snapshot, matrix: Matrix) -> tuple[Command, ...]:
    """The commands as they are if the report is about torch; else with the program of its framework in place of each for torch."""
    found = frameworks_in_question(snapshot)
    if TORCH in found:
        return tuple(commands)
    program = matrix.classify([found[0].devices])[0]
    return tuple(dict.fromkeys(program if "torch" in one.packages else one for one in commands))


def drop_torch_commands(commands: Iterable[Command], snapshot: Snapshot) -> tuple[Command, ...]:
    """The commands; if the report is not about torch, without those for torch."""
    keeps = TORCH in frameworks_in_question(snapshot)
    return tuple(one for one in commands if keeps or "torch" not in one.packages)


_SERVERS = ("llama-cpp-python", "onnxruntime-rocm", "onnxruntime-migraphx")
"""Packages that compute on the GPU without a framework."""


def no_framework(snapshot: Snapshot, matrix: Matrix) -> Iterator[Finding]:
    """The finding for an environment on a machine with an AMD GPU, or declared for one, that has no framework with code for AMD GPUs.

    A torch of another build has a finding of its own (versions.py); of a framework whose build is not known nothing is said. A
    machine may serve models without a framework; what is declared is to train.
    """
    found, declared = frameworks_in_question(snapshot), snapshot.value("declared") is True
    if not (declared or snapshot.gpus or snapshot.value("dxg.exists") is True) or amd_frameworks(snapshot):
        return
    others = [(one, one.build(snapshot)) for one in found if one.build(snapshot)]
    if TORCH in found and snapshot.value("torch.version") is not None:
        return
    if not others and any(one.version(snapshot).value is not None for one in found):
        return
    if not declared and any(isinstance(snapshot.value(f"pkg.{name}"), str) for name in _SERVERS):
        return
    built = ", ".join(f"{one.words(snapshot)} is a {build.upper()} build" for one, build in others)
    bare = not any(isinstance(one.version(snapshot).value, str) for one in FRAMEWORKS)
    names = [one.name for one in (FRAMEWORKS if bare and found == [TORCH] else found)]
    place = snapshot.value("python.prefix")
    where = f" in {place}" if isinstance(place, str) else ""
    if snapshot.value("python.env") == "doctor":
        where = ": no environment is active, and the doctor's own has none"
    none = f"neither {', '.join(names[:-1])} nor {names[-1]} is installed" if names[1:] else f"{names[0]} is not installed"
    unbuilt = [*(["torch.version"] if not others else []), *(["declared"] if declared else [])]
    builds = (reading for one, _ in others for reading in fact_readings(one.version(snapshot), f"{one.key}.version")[:1])
    case = "version.no-framework/none"
    yield finding(matrix, case, (*builds, *readings(snapshot, *unbuilt)), words=built or none + where)
