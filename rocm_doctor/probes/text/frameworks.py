"""Which frameworks a text speaks of, and the devices that JAX and TensorFlow print.

    ==> paste/text <==
    $ python -c "import jax; print(jax.devices())"
    [RocmDevice(id=0), RocmDevice(id=1)]

>>> print(probe(sample))
said.frameworks = jax
jax.device = rocm
"""

from __future__ import annotations

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.probes.read.document import Document
from rocm_doctor.probes.read.keyed import read_keys
from rocm_doctor.probes.read.result import Artifacts, ProbeResult

_NAMES = ("torch", "jax", "tensorflow")
_NAMED = {name: regex(rf"(?<![a-z])(?:py)?{name}", 0) for name in _NAMES}
_JAX = regex(r"\[(?:(Rocm|Cuda|Cpu)Device\(id=|(rocm|cuda|cpu):\d)", 0)
_LISTED = "list_physical_devices('gpu')"
_NEAR = 12
"""Lines after the command in which TensorFlow prints its devices, behind its warnings."""


def probe(artifacts: Artifacts) -> ProbeResult:
    """said.frameworks, jax.device, tensorflow.device; with `declared/framework` the one that is asked for alone."""
    result = ProbeResult()
    for source in artifacts.like("declared/framework"):
        for entry in read_keys(source, ":").values():
            result.record("said.frameworks", (entry.value,), entry.reading)
    if result.facts:
        return result
    for document in artifacts.texts():
        lines = {
            name: line
            for name in _NAMES
            for line in document.find_lines(name, most=200)
            if _NAMED[name].search(line.text.lower())
        }
        if lines:
            result.record("said.frameworks", tuple(lines), document.reading(next(iter(lines.values()))))
        _record_devices(result, document)
    return result


def _record_devices(result: ProbeResult, document: Document) -> None:
    for line in document.find_lines("device(id=", "rocm:", "cpu:", "cuda:", most=20):
        if found := _JAX.search(line.text):
            result.record("jax.device", (found[1] or found[2]).lower(), document.reading(line))
    for line in document.find_lines(_LISTED, "num gpus available", most=20):
        for answer in (line, *document.after(line, _NEAR)):
            said = answer.text.strip()
            if said == "[]" or said.lower().replace(" ", "").endswith("available:0"):
                result.record("tensorflow.device", "cpu", document.reading(answer))
                break
            if "/physical_device:GPU" in said:
                result.record("tensorflow.device", "gpu", document.reading(answer))
                break
