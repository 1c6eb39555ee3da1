"""rocm-bandwidth-test (up to 2.6): the matrix of one-way copies between host and GPUs. The diagonal, copies within a GPU, counts caches.

    ==> cmd/rocm-bandwidth-test <==
    RocmBandwidthTest Version: 2.6.0
    Device: 0,  AMD EPYC 7542 32-Core Processor
    Device: 1,  Radeon RX 7900 XTX,  GPU-XX,  83:0.0
    Unidirectional copy peak bandwidth GB/s
    D/D       0           1
    0         N/A         28.411
    1         29.013      649.528

>>> print(probe(sample))
speed.gpu = Radeon RX 7900 XTX
rate.host-to-device-pinned = 28.411
rate.device-to-host-pinned = 29.013
"""

from __future__ import annotations

from collections.abc import Iterator

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Artifact
from rocm_doctor.probes.read.printed import Line, lines, quote
from rocm_doctor.probes.read.result import Artifacts, ProbeResult

_DEVICE = regex(r"Device:\s*(\d+),\s+([^,]{2,80}?)\s*(?:,\s*(GPU-[\w-]*)\s*,.*)?$")
_ROW = regex(r"(\d+)((?:\s+(?:N/A|\d+\.\d+))+)\s*$")
_ONE_WAY = "unidirectional copy peak bandwidth"
_OTHERS = ("bidirectional", "inter-device", "data path", "copy latency")
_FEW = 0.001
"""GB/s below which a cell holds no measurement."""


def probe(artifacts: Artifacts) -> ProbeResult:
    """The slowest copies in each direction, and between two GPUs."""
    result = ProbeResult()
    for artifact in artifacts.like("cmd/*bandwidth*", "paste/text", "log/*"):
        if "Unidirectional copy peak bandwidth" in artifact.text:
            _matrix(result, artifact)
    return result


def _matrix(result: ProbeResult, artifact: Artifact) -> None:
    names: dict[int, str] = {}
    gpus: set[int] = set()
    cells: dict[str, list[tuple[float, Line]]] = {}
    reading = False
    for line in lines(artifact):
        text = line.text.strip()
        if found := _DEVICE.match(text):
            names[int(found[1])] = found[2]
            gpus |= {int(found[1])} if found[3] else set()
        elif _ONE_WAY in text.lower() or text.lower().startswith(_OTHERS):
            reading = text.lower().startswith(_ONE_WAY)
        elif reading and (found := _ROW.match(text)):
            for kind, value in _cells(int(found[1]), found[2].split(), gpus):
                cells.setdefault(kind, []).append((value, line))
    if cells and gpus:
        first = next(line for values in cells.values() for _, line in values)
        result.record("speed.gpu", names[min(gpus)], quote(artifact, first))
    for kind, values in cells.items():
        value, line = min(values, key=lambda one: one[0])
        result.record(f"rate.{kind}", value, quote(artifact, line))


def _cells(row: int, values: list[str], gpus: set[int]) -> Iterator[tuple[str, float]]:
    """(figure, GB/s) of each cell of a row that is a copy between two devices."""
    for column, text in enumerate(values):
        if text == "N/A" or float(text) < _FEW or row == column:
            continue
        if row in gpus and column in gpus:
            yield "peer-copy", float(text)
        elif row in gpus or column in gpus:
            yield ("device-to-host-pinned" if row in gpus else "host-to-device-pinned"), float(text)
