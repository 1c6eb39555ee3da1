"""What a figure of a product could be at most: theoretical peaks and the PCIe link."""

from __future__ import annotations

import re
from typing import NamedTuple

from rocm_doctor.figures.types import Device
from rocm_doctor.matrix import Matrix
from rocm_doctor.matrix.speed import ProductPeaks
from rocm_doctor.matrix.types import product_words


class Limit(NamedTuple):
    """A value that a figure is compared with. `words`: under which conditions it holds."""

    value: float
    words: str
    source: str


def find_product(name: str, matrix: Matrix) -> ProductPeaks | None:
    """The product that a GPU's name means: the longest name of the catalog that it holds word for word."""
    wanted = product_words(name)
    products = {product_words(peak.product): peak for peak in matrix.peaks}
    if wanted in products:
        return products[wanted]
    contained = [words for words in products if re.search(rf"(?<!\S){re.escape(words)}(?!\S)", wanted)]
    return products[max(contained, key=len)] if contained else None


def peak(figure: str, product: ProductPeaks, matrix: Matrix) -> Limit | None:
    """The theoretical peak for a figure; None for a figure that has none, or without a source."""
    if figure.startswith("memory-"):
        return _limit(product.memory_gb_s, "memory bandwidth", product)
    if figure.endswith("-pinned"):
        speed, _, lanes = product.pcie.partition(" x")
        return _limit(pcie_gb_s(_GENERATIONS.get(speed, 0.0), int(lanes or 0)), f"PCIe {product.pcie}, one direction", product)
    dtype = compared_dtype(figure)
    return compute_peak(dtype, product, matrix) if dtype else None


def compared_dtype(figure: str) -> str:
    """The type whose peak a figure is compared with: `bf16` for `matmul-bf16-training` and for attention; empty for none."""
    product = re.match(r"matmul-(fp32|tf32|fp16|bf16|fp8|int8)(?:-|$)", figure)
    return product[1] if product else "bf16" if figure.startswith("attention-") else ""


def compute_peak(dtype: str, product: ProductPeaks, matrix: Matrix) -> Limit | None:
    """The peak of matrix products of a type in TFLOP/s (TOP/s for int8), without sparsity; every other statement is in its words."""
    others = _other_peaks(dtype, product)
    if product.peaks:
        return _limit(product.peaks.get(dtype, 0.0), f"{dtype} peak, dense{others}", product)
    family = matrix.gfx[product.gfx].family if product.gfx in matrix.gfx else ""
    rate = matrix.rates.get(f"{family}-{dtype}")
    if rate is None:
        return None
    value = rate.ops * product.compute_units * product.clock_mhz / 1e6
    how = f"{dtype} peak, dense, at {product.clock_mhz:g} MHz boost" + (f"; {rate.condition}" if rate.condition else "")
    return Limit(round(value, 2), how + others, rate.sources[0]) if value else None


def _other_peaks(dtype: str, product: ProductPeaks) -> str:
    """What other sources state for the same peak."""
    return "".join(
        f"; {statement.value:g} by {statement.source.partition(' ')[0]}: {statement.words}"
        for statement in product.stated
        if statement.figure == dtype
    )


def _limit(value: float, words: str, product: ProductPeaks) -> Limit | None:
    return Limit(round(value, 2), words, product.sources[0]) if value else None


_GENERATIONS = {"1.0": 2.5, "2.0": 5.0, "3.0": 8.0, "4.0": 16.0, "5.0": 32.0, "6.0": 64.0}


def pcie_gb_s(transfers: float, lanes: int) -> float:
    """GB/s of a PCIe link in one direction: GT/s times lanes, less the line code (8b/10b up to 5 GT/s, 128b/130b from 8 on)."""
    code = 0.8 if transfers <= 5.0 else 128 / 130 if transfers <= 32.0 else 242 / 256
    return transfers * lanes * code / 8


def link(device: Device) -> Limit | None:
    """The PCIe link in use."""
    return _link_limit("the link in use", device.link_speed, device.link_width)


def slot(device: Device) -> Limit | None:
    """The PCIe link that the GPU and its slot can have."""
    return _link_limit("the link that GPU and slot can have", device.link_max_speed, device.link_max_width)


def _link_limit(words: str, speed: str, lanes: int) -> Limit | None:
    value = pcie_gb_s(_transfers(speed), lanes)
    return Limit(round(value, 2), f"{words}: {speed} x{lanes}", "sysfs") if value else None


def _transfers(speed: str) -> float:
    number = re.match(r"([\d.]+)\s*GT/s", speed)
    return float(number[1]) if number else 0.0
