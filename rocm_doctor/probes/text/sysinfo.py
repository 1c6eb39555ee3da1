"""rocprofiler-compute's (formerly Omniperf's) `sysinfo.csv`: one machine a row, with column names of two generations.

    ==> paste/text <==
    workload_name,gpu_model,gpu_arch,cu_per_gpu,wave_size,rocm_version,linux_kernel_version
    mixbench,MI210,gfx90a,104,64,6.2.4,5.15.0-119-generic

>>> print(probe(sample))
rocm.version = 6.2.4
kernel = 5.15.0-119-generic
gpu 0 gfx = gfx90a
gpu 0 marketing_name = MI210
gpu 0 compute_units = 104
gpu 0 wavefront_size = 64
"""

from __future__ import annotations

import csv
import re

from rocm_doctor.model import Reading
from rocm_doctor.probes.read.document import Document
from rocm_doctor.probes.read.result import Artifacts, ProbeResult
from rocm_doctor.probes.read.scan import documents, stated_value

_MACHINE = (
    ("rocm.version", ("rocm_version", "host_rocmver")),
    ("kernel", ("linux_kernel_version", "host_kernel")),
    ("os", ("linux_distro", "host_distro")),
    ("cpu", ("cpu_model", "host_cpu")),
    ("driver.version", ("amd_gpu_kernel_version",)),
)
_GPU = (
    ("gfx", ("gpu_arch", "gpu_soc")),
    ("marketing_name", ("gpu_model", "name")),
    ("compute_units", ("cu_per_gpu", "numcu")),
    ("wavefront_size", ("wave_size", "wavesize")),
    ("vbios", ("vbios",)),
)
_NUMBERS = ("compute_units", "wavefront_size")
_LANDMARKS = ("workload_name,", ",gpu_arch,", ",gpu_soc,", ",host_rocmver,")


def probe(artifacts: Artifacts) -> ProbeResult:
    """ROCm, kernel, distribution and the GPU's target, compute units and wavefront size."""
    result = ProbeResult()
    for document in documents(artifacts, "sysinfo", "*sysinfo.csv"):
        for head in document.find_lines(*_LANDMARKS, most=3):
            body = next(document.after(head, 1), None)
            if body is not None:
                _record_row(result, document, head.text, body.text, document.reading(body))
                break
    return result


def _record_row(result: ProbeResult, document: Document, head: str, body: str, where: Reading) -> None:
    try:
        names, cells = list(csv.reader([head, body]))
    except (csv.Error, ValueError):
        result.fail(document.name, "a sysinfo.csv that is not CSV", where.place)
        return
    table = {name.strip().lower(): value for name, value in zip(names, cells) if stated_value(value)}
    for fact, columns in _MACHINE:
        found = next(((c, table[c]) for c in columns if c in table), None)
        if found and (fact != "driver.version" or re.fullmatch(r"\d+\.\d+\.\d+", found[1])):
            result.record(fact, found[1].strip(), Reading(document.name, where.place, f"{found[0]}: {found[1]}"))
    if not any(c in table for c in ("gpu_arch", "gpu_soc")):
        return
    gpu = result.listing(complete=False).gpu()
    for fact, columns in _GPU:
        found = next(((c, table[c].strip()) for c in columns if c in table), None)
        if found and (fact not in _NUMBERS or re.fullmatch(r"\d{1,5}", found[1])):
            value = int(found[1]) if fact in _NUMBERS else found[1]
            result.record(fact, value, Reading(document.name, where.place, f"{found[0]}: {found[1]}"), gpu)
