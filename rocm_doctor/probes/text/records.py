"""Machines that programs print as records of keys: JSON headers of benchmarks, amdgpu_top's dump, rocprofiler-compute's `sysinfo.csv`.

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
from collections.abc import Iterator
from typing import Any

from rocm_doctor.bounded import jsons
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Fact, Reading
from rocm_doctor.probes.python.torch_build import Build, record_build
from rocm_doctor.probes.read.document import Document
from rocm_doctor.probes.read.printed import stated_value
from rocm_doctor.probes.read.result import Artifacts, ProbeResult
from rocm_doctor.probes.read.scan import texts

Record = dict[str, Any]
"""Values by key; the keys of nested objects are joined by dots."""
_TEXT: dict[str, tuple[str, ...]] = {
    "torch.version": ("torch.version", "torch_version", "pytorch_version", "torch", "pytorch", "versions.torch"),
    "torch.hip": ("torch.hip", "torch_hip", "torch_version_hip", "hip", "hip_version"),
    "python.version": ("python", "python_version", "python.version"),
    "rocm.version": ("rocm.version", "rocm_version", "rocm", "host_rocmver", "ROCm Version"),
    "driver.version": ("rocm.driver", "driver_version", "amdgpu_version", "driver.version", "amd_gpu_kernel_version"),
    "kernel": ("kernel", "kernel_version", "system.kernel", "linux_kernel_version", "host_kernel"),
}
_GPU: dict[str, tuple[type, tuple[str, ...]]] = {
    "gfx": (str, ("gpu_arch", "gpu_soc", "gfx_target_version")),
    "marketing_name": (str, ("gpu_model", "name", "DeviceName")),
    "pci_bdf": (str, ("PCI", "DevicePath.pci")),
    "device_id": (int, ("DeviceID",)),
    "compute_units": (int, ("cu_per_gpu", "numcu", "Total Compute Unit")),
    "wavefront_size": (int, ("wave_size", "wavesize")),
    "vram_bytes": (int, ("VRAM Size",)),
}
_NAMES = ("torch.devices", "devices", "gpus", "gpu_names", "gpu_name", "gpu", "device_name", "device")
_START = regex(r"\[\s*\{\s*\"|\{\s*\"")
_MOST = 12
"""JSON values that are tried."""


def probe(artifacts: Artifacts) -> ProbeResult:
    """The versions, and the GPUs with their target, name, ids, compute units and memory in bytes."""
    result = ProbeResult()
    for document in texts(artifacts):
        for records, reading in (*_rows(document), *_objects(document)):
            if any(
                key in record
                for record in records
                for key in ("torch", "torch_version", "pytorch_version", "rocm", *_GPU["gfx"][1])
            ):
                for record in records:
                    _record_versions(result, record, reading)
                _record_gpus(result, records, reading)
    return result


def _rows(document: Document) -> Iterator[tuple[list[Record], Reading]]:
    """The first row of a `sysinfo.csv`."""
    for head in document.find_lines("workload_name,", ",gpu_arch,", ",gpu_soc,", most=1):
        for body in document.after(head, 1):
            names, cells = [*csv.reader([head.text.replace("\0", "").lower(), body.text.replace("\0", "")]), [], []][:2]
            row = {name.strip(): int(cell) if cell.isdigit() and len(cell) < 9 else cell for name, cell in zip(names, cells)}
            yield [row], document.reading(body)


def _objects(document: Document) -> Iterator[tuple[list[Record], Reading]]:
    """Each JSON object of the text alone, and a list's objects together; what does not parse is skipped."""
    text, place = jsons.whole_letters(document.text) if document.has("torch", "rocm", "gfx_target") else "", 0
    for _ in range(_MOST):
        if not (start := _START.search(text, place)):
            return
        place = start.start()
        try:
            value, place = jsons.decoder().raw_decode(text, place)
        except (ValueError, RecursionError):
            place += 1
            continue
        records = [_flatten(one) for one in (value if isinstance(value, list) else [value]) if isinstance(one, dict)]
        yield records, Reading(document.name, f"line {document.line_number(start.start())}")


def _flatten(value: dict[str, Any], depth: int = 3) -> Record:
    flat = dict(value)
    for key, inner in value.items() if depth else ():
        if isinstance(inner, dict):
            flat.update({f"{key}.{name}": one for name, one in _flatten(inner, depth - 1).items()})
    return flat


def _record_versions(result: ProbeResult, record: Record, reading: Reading) -> None:
    for fact, keys in _TEXT.items():
        key = next((key for key in keys if isinstance(record.get(key), str) and record[key][:1].isdigit()), None)
        if key and (fact != "driver.version" or record[key].count(".") == 2):
            result.record(fact, record[key].split()[0], Reading(reading.artifact, reading.place, f"{key}: {record[key][:80]}"))
            if fact == "torch.version":
                record_build(result, Build(record[key].split()[0]), reading)


def _record_gpus(result: ProbeResult, records: list[Record], reading: Reading) -> None:
    """One GPU for each record with a target; else one for each name in a list of names."""
    described = [record for record in records if any(key in record for key in _GPU["gfx"][1])]
    names: list[Any] = next((record[key] for record in records for key in _NAMES if isinstance(record.get(key), list)), [])
    if described:
        listing = result.listing(complete=False)
        for record in described[:64]:
            _describe(result, listing.gpu(), record, reading)
    elif names and all(isinstance(name, str) and ("AMD" in name or "Radeon" in name) for name in names):
        listing = result.listing(complete=True)
        for name in names[:64]:
            result.record("marketing_name", name, Reading(reading.artifact, reading.place, name), listing.gpu())


def _describe(result: ProbeResult, gpu: dict[str, Fact], record: Record, reading: Reading) -> None:
    for fact, (kind, keys) in _GPU.items():
        key = next((key for key in keys if isinstance(record.get(key), kind)), None)
        if key and (kind is int or stated_value(record[key])):
            result.record(fact, record[key], Reading(reading.artifact, reading.place, f"{key}: {str(record[key])[:80]}"), gpu)
    if record.get("GPU Type") in ("APU", "dGPU"):
        result.record("is_apu", record["GPU Type"] == "APU", reading, gpu)
