"""What catalog/speed.yaml holds: what GPUs can reach by their data sheets, and what others measured."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from rocm_doctor.matrix.types import Sourced

PcieLink = Annotated[str, Meta(pattern=r"^([1-7]\.0 x(1|2|4|8|16))?$")]
Dtype = Annotated[str, Meta(pattern=r"^(fp32|tf32|fp16|bf16|fp8|int8)$")]


class Rate(Sourced, frozen=True):
    """Operations of one compute unit in one clock, for a family and a type, without sparsity. `condition`: what a kernel must use."""

    family: str
    dtype: Dtype
    ops: float
    condition: str = ""

    @property
    def key(self) -> str:
        """Its name: family and type."""
        return f"{self.family}-{self.dtype}"


class StatedPeak(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What another source states for a peak of a product, and why it may differ."""

    figure: Dtype
    value: float
    words: str
    source: str


class ProductPeaks(Sourced, frozen=True):
    """The theoretical peaks of a product: from its compute units and clock with the rates of its family, or as stated (`peaks`).

    0 or empty: no source. `devices`: GPUs that torch lists for one product; the figures are those of one.
    """

    product: str
    gfx: str
    compute_units: int = 0
    clock_mhz: float = 0
    memory_gb_s: float = 0
    pcie: PcieLink = ""
    devices: int = 1
    peaks: dict[Dtype, float] = {}
    stated: tuple[StatedPeak, ...] = ()


class FieldFigure(Sourced, frozen=True):
    """One measurement by others. `figure` is a name of `bench`; `words`: shape, versions, library."""

    key: str
    product: str
    figure: str
    value: float
    unit: str
    words: str = ""
