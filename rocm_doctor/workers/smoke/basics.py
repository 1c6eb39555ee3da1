"""First stages: can torch be imported, and is the device it shows the one that the kernel has?"""

from __future__ import annotations

import importlib
import importlib.util
import time
from typing import Any

from . import hip
from .compare import Skip, Wrong
from .context import StageContext


def import_torch(context: StageContext) -> dict[str, Any]:
    """Import torch. Fails on a missing shared object, a mixed installation, a CPU that lacks instructions of the build."""
    if importlib.util.find_spec("torch") is None:
        raise Skip("not-installed", "torch is not installed in this interpreter")
    began = time.perf_counter()
    context.doing("reading torch's libraries from disk")
    torch = importlib.import_module("torch")
    seconds = time.perf_counter() - began
    context.load()
    version = torch.version
    about = {
        "torch": str(torch.__version__),
        "hip": getattr(version, "hip", None),
        "cuda": version.cuda,
        "import_seconds": round(seconds, 3),
    }
    return about


def device(context: StageContext) -> dict[str, Any]:
    """Start the runtime, read the properties, and compare the PCI address with the kernel's list.

    Fails with: not-available (with the runtime's own words), no-such-index, pci-mismatch (torch's device is none that the
    kernel lists). Tells when the index is an integrated GPU and a discrete one is there too.
    """
    torch = context.load()
    context.doing("first contact with the GPU")
    if not context.on_gpu:
        return {"kind": "cpu", "threads": torch.get_num_threads(), "why": cpu_reason(context)}
    if not torch.cuda.is_available():
        raise Wrong("not-available", runtime_words(torch), masks=hip.masks())
    count, index = torch.cuda.device_count(), context.device.index
    if index >= count:
        raise Wrong("no-such-index", f"GPU {index} was requested, but torch lists {count}", count=count, masks=hip.masks())
    context.take_device()
    about = properties(torch, index)
    about.update(count=count, index=index, masks=hip.masks())
    kernel = about["kernel_pci"]
    if kernel and about["pci"] and about["pci"] not in kernel:
        raise Wrong("pci-mismatch", f"torch's GPU {index} is at {about['pci']}; the kernel lists {', '.join(kernel)}", **about)
    about["discrete_beside"] = [n for n in range(count) if n != index and about["integrated"] and not is_integrated(torch, n)]
    return about


def cpu_reason(context: StageContext) -> str:
    """Why no GPU is used."""
    return "asked for" if context.args.device == "cpu" else "this torch was built without GPU support"


def runtime_words(torch: Any) -> str:
    """Why the runtime gives no GPU, in its own words."""
    try:
        torch.cuda.init()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "torch.cuda.is_available() is False"


def is_integrated(torch: Any, index: int) -> bool:
    """True for an integrated GPU."""
    return bool(getattr(torch.cuda.get_device_properties(index), "is_integrated", False))


def properties(torch: Any, index: int) -> dict[str, Any]:
    """Name, memory and address of a device."""
    values = torch.cuda.get_device_properties(index)
    free, total = torch.cuda.mem_get_info(index) if hasattr(torch.cuda, "mem_get_info") else (None, values.total_memory)
    return {
        "kind": "hip" if hip.is_hip(torch) else "cuda",
        "name": values.name,
        "architecture": hip.architecture(torch, index),
        "built_for": list(torch.cuda.get_arch_list()),
        "compute_units": values.multi_processor_count,
        "total_bytes": total,
        "free_bytes": free,
        "integrated": is_integrated(torch, index),
        "pci": hip.pci_address(torch, index),
        "kernel_pci": hip.kernel_addresses(torch),
    }


def need_gpus(context: StageContext, number: int) -> None:
    """Skip unless enough GPUs are visible."""
    count = context.torch.cuda.device_count() if context.on_gpu else 0
    if count < number:
        raise Skip("needs-gpus", f"needs {number} GPUs, {count} are visible")
