"""The report of `rocm-doctor bench` (schemas/bench.json). Units are part of a figure and never change for a name."""

from __future__ import annotations

from typing import Any, Literal, Union

import msgspec

from rocm_doctor.model import Finding

SCHEMA_VERSION = 1
Judgement = Literal["as expected", "slow", "cannot tell"]
ReferenceKind = Literal["peak", "link", "others", "host"]


class Conditions(msgspec.Struct, frozen=True, omit_defaults=True):
    """Sensors of the GPU while a figure was measured; a sensor that could not be read is left out."""

    clock_mhz: Union[float, None] = None
    """Shader clock, median of the readings under load."""
    clock_max_mhz: Union[float, None] = None
    """Highest shader clock that the driver offers."""
    power_watts: Union[float, None] = None
    """Board power, median of the readings under load."""
    temperature_c: Union[float, None] = None
    """Hottest reading, in degrees Celsius."""


class Reference(msgspec.Struct, frozen=True):
    """A value that a figure is compared with."""

    kind: ReferenceKind
    """peak: the chip's theoretical maximum; link: the PCIe link in use; others: the other GPUs of this machine; host: a copy from the host."""
    value: float
    """In the figure's unit."""
    ratio: float
    """The figure divided by this value."""
    words: str
    """The reference and its conditions, such as dual issue or the clock."""
    source: str
    """Citation."""
    significant: Union[bool, None] = None
    """For others: whether the figure is worse by more than the samples spread."""


class Figure(msgspec.Struct, frozen=True):
    """One measured figure of one GPU."""

    gpu: int
    """Index of the GPU in `gpus`."""
    name: str
    """Name of the figure, unique for a GPU: matmul-bf16, memory-triad, host-to-device-pinned."""
    value: float
    """The median of the samples."""
    unit: str
    """TFLOP/s or GB/s."""
    spread: float
    """Half of the range between the quartiles, as a part of the median."""
    samples: tuple[float, ...] = ()
    """Every sample after warm-up, in the figure's unit."""
    reference: Union[float, None] = None
    """Value of the reference that decided the verdict; null without one."""
    share: Union[float, None] = None
    """The figure as a part of `reference`."""
    references: tuple[Reference, ...] = ()
    """Every reference there is for the figure."""
    verdict: Judgement = "cannot tell"
    """as expected, slow, or cannot tell."""
    why: str = ""
    """Why this verdict, in words."""
    detail: dict[str, Any] = {}
    """What was measured: shape, dtype, library, kernel path, bytes."""
    conditions: Conditions = Conditions()
    """Sensors during the measurement."""


class Device(msgspec.Struct, frozen=True, omit_defaults=True):
    """One GPU that was measured, or the CPU."""

    index: int
    """Index as torch counts."""
    kind: Literal["hip", "cuda", "cpu"]
    """hip: a ROCm build of torch, cuda: a CUDA build, cpu: no GPU."""
    name: str
    """Name as torch prints it."""
    gfx: str = ""
    """gfx target, or sm_90 and the like."""
    product: str = ""
    """Product of the catalog of peaks; empty if the name fits none."""
    total_bytes: int = 0
    """Memory of the GPU in bytes."""
    pci: str = ""
    """PCI address."""
    link_speed: str = ""
    """PCIe transfer rate in use while data moved."""
    link_width: int = 0
    """PCIe lanes in use; 0 if not read."""
    link_max_speed: str = ""
    """PCIe transfer rate that the GPU and its slot can have."""
    link_max_width: int = 0
    """PCIe lanes that the GPU has; 0 if not read."""
    power_cap_watts: Union[float, None] = None
    """Power limit in force."""
    power_default_watts: Union[float, None] = None
    """Power limit that the board has by default."""
    profile: str = ""
    """Performance level of the driver (amdgpu's power_dpm_force_performance_level)."""
    facts: dict[str, Union[str, float, int, bool, tuple[str, ...]]] = {}
    """What was read beside the figures, by name (coords.py): speed.attention, speed.blas-gain, speed.clock-share."""


class NotMeasured(msgspec.Struct, frozen=True):
    """A stage that gave no figure."""

    gpu: int
    stage: str
    status: str
    """skipped, failed, died, timeout or not-run."""
    reason: str = ""


class BenchReport(msgspec.Struct, frozen=True):
    """Everything that one run of `rocm-doctor bench` measured and concluded."""

    tool_version: str
    matrix_version: str
    gpus: tuple[Device, ...]
    figures: tuple[Figure, ...]
    kind: Literal["bench"] = "bench"
    schema_version: Literal[1] = 1
    torch: str = ""
    """Version of torch."""
    not_measured: tuple[NotMeasured, ...] = ()
    causes: tuple[Finding, ...] = ()
    """What `check` finds in these figures, facts and the machine that explains a slow figure, or could be faster."""
    interrupted: bool = False
