"""What the catalog adds to a snapshot: a GPU's target from its PCI id, the family and wavefront of a target.

Separate from the probes, which record only what was read. An override shows here: if a tool prints another target than the PCI
id has, the chip wins and the printed target is kept as `gfx_reported`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from rocm_doctor.facts.derive import derive, mark_visible
from rocm_doctor.facts.speed import add_speed
from rocm_doctor.matrix import Matrix
from rocm_doctor.matrix.hip import rocm_of_hip
from rocm_doctor.matrix.types import Target
from rocm_doctor.model import NOT_ASKED, Fact, Gpu, Reading, Snapshot, Unknown, Value

if TYPE_CHECKING:
    from rocm_doctor.probes.text.gpu_names import GpuNames
    from rocm_doctor.probes.text.prose import Programs


def enrich(snapshot: Snapshot, matrix: Matrix) -> Snapshot:
    """The snapshot with the catalog's facts about its GPUs."""
    gpus = tuple(Gpu(_add_percentages(_enrich_gpu(gpu.facts, matrix))) for gpu in mark_visible(snapshot))
    whole = msgspec.structs.replace(
        snapshot, facts={**_torch_rocm(snapshot, matrix), **snapshot.facts, **_inbox_driver(snapshot)}
    )
    whole = msgspec.structs.replace(whole, gpus=gpus, facts={**derive(whole), **whole.facts})
    return add_speed(whole)


def _inbox_driver(snapshot: Snapshot) -> dict[str, Fact]:
    """No driver version with the kernel's own amdgpu: the tools that print one print the kernel's release."""
    printed = snapshot.get("driver.version")
    own = isinstance(printed.value, str) and printed.value == snapshot.get("kernel").value
    return {"driver.version": Fact(None, printed.readings)} if own else {}


def _torch_rocm(snapshot: Snapshot, matrix: Matrix) -> dict[str, Fact]:
    """torch.rocm, where only torch's HIP number was read."""
    hip = snapshot.get("torch.hip")
    if "torch.rocm" in snapshot.facts or not isinstance(hip.value, str):
        return {}
    rocm = rocm_of_hip(hip.value, matrix.rocm)
    return {"torch.rocm": Fact(rocm, hip.readings)} if rocm else {}


def _enrich_gpu(facts: dict[str, Fact], matrix: Matrix) -> dict[str, Fact]:
    out = dict(facts)
    by_id = _targets_of_id(facts.get("device_id"), matrix)
    stated = facts.get("gfx")
    if stated is None or not isinstance(stated.value, str):
        out["gfx"] = _target_of_names(facts, by_id, matrix) or stated or Fact(Unknown("not-asked"))
    elif by_id and stated.value not in by_id and not _is_from_kernel(stated):
        out["gfx_reported"] = stated
        out["gfx"] = _choose_target(by_id, facts["device_id"])
    if "gfx_reported" in out and out["gfx_reported"].value == out["gfx"].value:
        del out["gfx_reported"]
    target = matrix.gfx.get(str(out["gfx"].value))
    if target is None:
        return out
    known = {name: fact for name, fact in out.items() if fact.known and fact.value is not None}
    return {**out, **_facts_of_target(target, out["gfx"].readings), **known, **_product(target, facts)}


_PARTS = {
    "link_percent": ("link_width", "link_max_width"),
    "power_cap_percent": ("power_cap_watts", "power_default_watts"),
    "vram_used_percent": ("vram_used_bytes", "vram_bytes"),
}
"""Facts of a card that are a part of a whole, each with the two facts that it follows from (rows/health.yaml judges them)."""


def _add_percentages(facts: dict[str, Fact]) -> dict[str, Fact]:
    """The facts of a GPU with the parts of _PARTS in percent, where both facts are known; none for an integrated GPU."""
    found = {}
    for name, (part, whole) in _PARTS.items():
        one, all_ = facts.get(part, NOT_ASKED), facts.get(whole, NOT_ASKED)
        if isinstance(one.value, int) and isinstance(all_.value, int) and 0 < one.value <= all_.value:
            found[name] = Fact(round(100 * one.value / all_.value), (*one.readings[:1], *all_.readings[:1]))
    return facts if facts.get("is_apu", NOT_ASKED).value is True else {**found, **facts}


def _product(target: Target, facts: dict[str, Fact]) -> dict[str, Fact]:
    """The product's name, if the device id has only one: the kernel and pci.ids name the chip."""
    number = facts.get("device_id")
    name = target.products.get(f"{number.value:04x}") if number and isinstance(number.value, int) else None
    return {"product": Fact(name, number.readings)} if name and number else {}


def _is_from_kernel(fact: Fact) -> bool:
    return any(r.artifact.startswith("sys/class/kfd") for r in fact.readings)


def _facts_of_target(target: Target, readings: tuple[Reading, ...]) -> dict[str, Fact]:
    """Facts that all GPUs of a target share; a kind that is both (dGPU/APU) is left open."""
    shared: dict[str, Value] = {"family": target.family, "codename": target.codename, "wavefront_size": target.wavefront}
    facts = {name: Fact(value, readings) for name, value in shared.items()}
    if target.kind in ("APU", "dGPU"):
        facts["is_apu"] = Fact(target.kind == "APU", readings)
    return facts


def _targets_of_id(fact: Fact | None, matrix: Matrix) -> tuple[str, ...]:
    number = f"{fact.value:04x}" if fact and isinstance(fact.value, int) else ""
    return tuple(target.gfx for target in matrix.gfx.values() if number in target.pci)


def _target_of_names(facts: dict[str, Fact], by_id: tuple[str, ...], matrix: Matrix) -> Fact | None:
    """A target from the PCI id, else from the marketing name; ambiguous if several fit."""
    if by_id:
        return _choose_target(by_id, facts["device_id"])
    name = facts.get("marketing_name")
    found = gpu_names(matrix).targets_by_name(name.value) if name and isinstance(name.value, str) else ()
    return _choose_target(found, name) if found and name else None


def _choose_target(targets: tuple[str, ...], source: Fact) -> Fact:
    if len(targets) == 1:
        return Fact(targets[0], source.readings)
    return Fact(Unknown("ambiguous", targets), source.readings)


def find_target(text: str, matrix: Matrix, place: str = "") -> str:
    """The target that a user names: as gfx target (features behind a colon are ignored) or by a product name.

    Raises ValueError for none or several; its message holds `place`, where the name was read.
    """
    gfx = text.strip().lower().partition(":")[0]
    targets = (gfx,) if gfx in matrix.gfx else gpu_names(matrix).targets_by_name(text)
    if len(targets) == 1:
        return targets[0]
    help_ = f"it may be {' or '.join(targets)}" if targets else f"known are {', '.join(matrix.gfx)}"
    raise ValueError(f"`{text}`{place} is not one GPU of the catalog: {help_}")


def gpu_names(matrix: Matrix) -> GpuNames:
    """The names and PCI ids of the catalog in the form that the prose probe takes; built once for a matrix."""
    from rocm_doctor.probes.text.gpu_names import GpuNames

    return matrix.once(GpuNames)


def programs(matrix: Matrix) -> Programs:
    """The programs of the catalog in the form that the prose probe takes; built once for a matrix."""
    from rocm_doctor.probes.text.prose import Programs

    return matrix.once(Programs)
