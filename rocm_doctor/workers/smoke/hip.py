"""Everything in which HIP differs from CUDA for the smoke test, in one place.

torch.cuda is the programming interface on ROCm too, so the stages are the same. Only CUDA GPUs were at hand when this was
written: what is written here for HIP comes from the sources named and is **unproven on AMD hardware**.

| Subject | CUDA | HIP | Source for HIP |
|---|---|---|---|
| PCI address by call | cudaDeviceGetPCIBusId | hipDeviceGetPCIBusId | HIP runtime API reference |
| chip name | compute capability | gcnArchName, gfx name with feature flags | torch.cuda.get_device_properties |
| BLAS choices | cublas, cublaslt | the same names mean hipBLAS (rocBLAS), hipBLASLt | torch's preferred_blas_library |
| visibility variables | CUDA_VISIBLE_DEVICES | ROCR_VISIBLE_DEVICES, then HIP_ or CUDA_VISIBLE_DEVICES within it | ROCm/clr rocdevice.cpp: GPU_DEVICE_ORDINAL is OpenCL's |
| tf32-like products | Ampere and later | gfx94x and gfx95x only | torch.cuda.is_tf32_supported |
| a read past an allocation | often unnoticed | often "Memory access fault by GPU node", SIGABRT | ROCr runtime |
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

MASKS = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")


def is_hip(torch: Any) -> bool:
    """True for a ROCm build of torch."""
    return bool(getattr(torch.version, "hip", None))


def architecture(torch: Any, index: int) -> str:
    """The gfx target or compute capability of a device."""
    properties = torch.cuda.get_device_properties(index)
    name = getattr(properties, "gcnArchName", "") if is_hip(torch) else ""
    return name or f"sm_{properties.major}{properties.minor}"


def pci_address(torch: Any, index: int) -> str | None:
    """The device's PCI address as the runtime gives it ("0000:03:00.0"): from torch, else from the runtime library itself."""
    properties = torch.cuda.get_device_properties(index)
    if hasattr(properties, "pci_bus_id") and hasattr(properties, "pci_device_id"):
        domain = getattr(properties, "pci_domain_id", 0)
        return f"{domain:04x}:{properties.pci_bus_id:02x}:{properties.pci_device_id:02x}.0"
    library, call = ("libamdhip64", "hipDeviceGetPCIBusId") if is_hip(torch) else ("libcudart", "cudaDeviceGetPCIBusId")
    path = library_path(library)
    if path is None:
        return None
    text = ctypes.create_string_buffer(32)
    status = getattr(ctypes.CDLL(path), call)(text, ctypes.c_int(32), ctypes.c_int(index))
    return text.value.decode().lower() if status == 0 and text.value else None


def library_path(stem: str) -> str | None:
    """Path of a shared library of this process whose file name begins with `stem`."""
    try:
        lines = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines()
        paths = {line.split(None, 5)[5].strip() for line in lines if stem in line}
    except (OSError, IndexError):
        return None
    return min((path for path in paths if Path(path).name.startswith(stem)), default=None)


def read(folder: Path, name: str) -> str:
    """The text of a file; empty if it cannot be read."""
    try:
        return (folder / name).read_text(encoding="utf-8", errors="replace").strip().lower()
    except OSError:
        return ""


def visibility_variables() -> dict[str, str]:
    """The visibility variables that are set."""
    return {name: os.environ[name] for name in MASKS if name in os.environ}


def can_choose_blas(torch: Any) -> bool:
    """Whether this torch lets one choose its BLAS library."""
    return hasattr(torch.backends.cuda, "preferred_blas_library")
