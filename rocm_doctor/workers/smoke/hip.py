"""Everything in which HIP differs from CUDA for the smoke test, in one place.

torch.cuda is the programming interface on ROCm too, so the stages are the same. Only CUDA GPUs were at hand when this was
written: what is written here for HIP comes from the sources named and is **unproven on AMD hardware**.

| Subject | CUDA | HIP | Source for HIP |
|---|---|---|---|
| PCI address | pci_bus_id and its kin | the same | torch.cuda.get_device_properties |
| chip name | compute capability | gcnArchName, gfx name with feature flags | torch.cuda.get_device_properties |
| BLAS choices | cublas, cublaslt | the same names mean hipBLAS (rocBLAS), hipBLASLt | torch's preferred_blas_library |
| visibility variables | CUDA_VISIBLE_DEVICES | ROCR_VISIBLE_DEVICES, then HIP_ or CUDA_VISIBLE_DEVICES within it | ROCm/clr rocdevice.cpp: GPU_DEVICE_ORDINAL is OpenCL's |
| tf32-like products | Ampere and later | gfx94x and gfx95x only | torch.cuda.is_tf32_supported |
| a read past an allocation | often unnoticed | often "Memory access fault by GPU node", SIGABRT | ROCr runtime |
"""

from __future__ import annotations

import os
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
    """The device's PCI address ("0000:03:00.0"); None where this torch does not tell it."""
    properties = torch.cuda.get_device_properties(index)
    if not hasattr(properties, "pci_bus_id") or not hasattr(properties, "pci_device_id"):
        return None
    return f"{getattr(properties, 'pci_domain_id', 0):04x}:{properties.pci_bus_id:02x}:{properties.pci_device_id:02x}.0"


def visibility_variables() -> dict[str, str]:
    """The visibility variables that are set."""
    return {name: os.environ[name] for name in MASKS if name in os.environ}


def can_choose_blas(torch: Any) -> bool:
    """Whether this torch lets one choose its BLAS library."""
    return hasattr(torch.backends.cuda, "preferred_blas_library")
