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

from rocm_doctor.model import Reading
from rocm_doctor.probes.read.document import Document
from rocm_doctor.probes.read.keyed import Entries, KeyedValue
from rocm_doctor.probes.read.pairs import Keys, leaves, record_entries, roots
from rocm_doctor.probes.read.printed import bdf, count, gfx_target, leading_version, product_name
from rocm_doctor.probes.read.result import Artifacts, ProbeResult

_MACHINE: Keys = {
    "torch.version": ("torch.version", leading_version), "versions.torch": ("torch.version", leading_version),
    "rocm_version": ("rocm.version", leading_version), "linux_kernel_version": ("kernel", leading_version),
    "host_rocmver": ("rocm.version", leading_version), "host_kernel": ("kernel", leading_version),
}  # fmt: skip
_GPU: Keys = {
    **dict.fromkeys(("gpu_arch", "gpu_soc", "gfx_target_version"), ("gfx", gfx_target)),
    **dict.fromkeys(("gpu_model", "name", "DeviceName"), ("marketing_name", product_name)),
    **dict.fromkeys(("PCI", "DevicePath.pci"), ("pci_bdf", bdf)),
    "DeviceID": ("device_id", count), **dict.fromkeys(("cu_per_gpu", "numcu", "Total Compute Unit"), ("compute_units", count)),
    **dict.fromkeys(("wave_size", "wavesize"), ("wavefront_size", count)), "VRAM Size": ("vram_bytes", count),
    "GPU Type": ("is_apu", {"APU": True, "dGPU": False}.get),
}  # fmt: skip
_OF_GPU = ("gpu_arch", "gpu_soc", "gfx_target_version")
"""Keys of which each record of a GPU has one."""


def probe(artifacts: Artifacts) -> ProbeResult:
    """The versions, and the GPUs with their target, name, ids, compute units and memory in bytes."""
    result = ProbeResult()
    for document in artifacts.texts():
        records = [*_rows(document), *_objects(document)]
        described = [any(key in record for key in _OF_GPU) for record in records]
        listing = result.listing(complete=False) if any(described) else None
        for record, is_gpu in zip(records, described):
            record_entries(result, None, record, _MACHINE)
            if listing and is_gpu:
                record_entries(result, listing.gpu(), record, _GPU)
            elif names := record.get("torch.devices"):
                devices = result.listing()
                for name in names.value.split(", ")[:64]:
                    result.record("marketing_name", name, names.reading, devices.gpu())
    return result


def _rows(document: Document) -> Iterator[Entries]:
    """The first row of a `sysinfo.csv`."""
    for head in document.find_lines("workload_name,", ",gpu_arch,", ",gpu_soc,", most=1):
        for body in document.after(head, 1):
            names, cells = [*csv.reader([head.text.replace("\0", "").lower(), body.text.replace("\0", "")]), [], []][:2]
            yield {name.strip(): KeyedValue(cell.strip(), document.reading(body)) for name, cell in zip(names, cells)}


def _objects(document: Document) -> Iterator[Entries]:
    """Each JSON object of the text, alone or in a list."""
    for root in roots(document.text) if document.has("torch", "rocm", "gfx_target") else ():
        for one in root if isinstance(root, list) else [root]:
            if isinstance(one, dict):
                yield {
                    key: KeyedValue(value, Reading(document.name, key, f"{key}: {value[:80]}"))
                    for key, value in leaves(one)
                    if value
                }
