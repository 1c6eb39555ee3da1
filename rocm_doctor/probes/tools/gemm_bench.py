"""rocblas-bench and hipblaslt-bench: TFLOP/s of one matrix product. The type is that of the table or of the command line.

    ==> cmd/hipblaslt-bench <==
    Device ID 0 : AMD Instinct MI300X gfx942:sramecc+:xnack-
    [0]:transA,transB,m,n,k,a_type,b_type,hipblaslt-Gflops,hipblaslt-GB/s,us
    N,N,4096,4864,32896,bf16_r,bf16_r,709258,317.15,1848.09

>>> print(probe(sample))
speed.gpu = AMD Instinct MI300X
rate.matmul-bf16 = 709.258
"""

from __future__ import annotations

import re

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Artifact
from rocm_doctor.probes.read.printed import Line, lines, quote
from rocm_doctor.probes.read.result import Artifacts, ProbeResult

_TABLE = regex(r"(?:\[\d+\]:)?(transA\w*,.*(?:rocblas|hipblaslt)-Gflops.*)$", re.I)
_DEVICE = regex(r"Device ID \d+ : (.{2,60}?)\s+gfx[0-9a-f]{3,4}\b")
_TYPE = regex(r"--a_type\s+(\w+)|(?:--precision|-r)\s+(\w+)")
_TYPES = {
    "f32_r": "fp32", "s": "fp32", "f16_r": "fp16", "h": "fp16", "bf16_r": "bf16", "f8_r": "fp8", "f8_fnuz_r": "fp8", "i8_r": "int8",
}  # fmt: skip
SMALLEST = 1024
"""Side of a product below which its speed measures launches, not the GPU."""


def probe(artifacts: Artifacts) -> ProbeResult:
    """The best large product of each type."""
    result = ProbeResult()
    for artifact in artifacts.like("cmd/*-bench*", "paste/text", "log/*"):
        if "-gflops" in artifact.text.lower():
            _tables(result, artifact)
    return result


def _tables(result: ProbeResult, artifact: Artifact) -> None:
    """Every table: a line of column names, and the line of values below it."""
    columns: list[str] = []
    asked = ""
    best: dict[str, tuple[float, Line]] = {}
    for line in lines(artifact):
        if found := _DEVICE.search(line.text):
            result.record("speed.gpu", found[1], quote(artifact, line))
        if found := _TYPE.search(line.text):
            asked = found[1] or found[2]
        if found := _TABLE.search(line.text.strip()):
            columns = [name.strip().lower() for name in found[1].split(",")]
        elif columns and line.text.count(",") >= len(columns) - 2:
            values = [one.strip() for one in line.text.strip().split(",")]
            kind, rate = _product(dict(zip(columns, values)), asked)
            if kind and rate > best.get(kind, (0.0,))[0]:
                best[kind] = (rate, line)
            columns = []
    for kind, (rate, line) in best.items():
        result.record(f"rate.matmul-{kind}", rate, quote(artifact, line))


def _product(row: dict[str, str], asked: str) -> tuple[str, float]:
    """The type and TFLOP/s of a row; an empty type for a small product or an unknown type."""
    kind = _TYPES.get(row.get("a_type", asked), "")
    sides = [row.get(name, "") for name in "mnk"]
    rate = next((value for name, value in row.items() if name.endswith("-gflops")), "")
    large = all(side.isdigit() and len(side) < 9 and int(side) >= SMALLEST for side in sides)
    if not large or not re.fullmatch(r"\d{1,9}(?:\.\d{1,9})?(?:e[+-]?\d{1,2})?", rate, re.I):
        return "", 0.0
    return kind, round(float(rate) / 1000, 3)
