"""JSON in a pasted text: headers of benchmarks (torch, rocm, python, device names under various keys), amdgpu_top's dump."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rocm_doctor.bounded import jsons
from rocm_doctor.model import Reading
from rocm_doctor.probes.read.document import Document
from rocm_doctor.probes.read.result import ProbeResult

_TRIES = 12
_LONGEST = 4_000_000
_FACTS = {
    "torch.version": ("torch.version", "torch_version", "pytorch_version", "torch", "pytorch", "versions.torch"),
    "torch.hip": ("torch.hip", "torch_hip", "torch_version_hip", "hip", "hip_version"),
    "python.version": ("python", "python_version", "python.version"),
    "rocm.version": ("rocm.version", "rocm_version", "rocm"),
    "driver.version": ("rocm.driver", "driver_version", "amdgpu_version", "driver.version"),
    "kernel": ("kernel", "kernel_version", "system.kernel"),
}
_AVAILABLE = ("torch.available", "torch.cuda_available", "torch.is_available", "cuda_available", "is_cuda_available")
_DEVICES = ("torch.devices", "devices", "gpus", "gpu_names", "gpu_name", "gpu", "device_name", "device")


_OF_AMDGPU_TOP = (
    ("gfx", "gfx_target_version", str),
    ("marketing_name", "DeviceName", str),
    ("pci_bdf", "PCI", str),
    ("device_id", "DeviceID", int),
    ("compute_units", "Total Compute Unit", int),
    ("vram_bytes", "VRAM Size", int),
    ("gtt_bytes", "GTT Size", int),
)


def record_json(result: ProbeResult, document: Document) -> None:
    """Facts from the JSON values in the text (amd-smi and rocm-smi have their own probes)."""
    for place, value in _values(document.text):
        reading = Reading(document.name, f"line {document.line_number(place)}")
        if isinstance(value, list) and any(isinstance(v, dict) and "gfx_target_version" in v for v in value):
            _record_amdgpu_top(result, [v for v in value if isinstance(v, dict)], reading)
        elif isinstance(value, dict) and "gfx_target_version" in value:
            _record_amdgpu_top(result, [value], reading)
        elif isinstance(value, dict) and _mentions_torch(value):
            _record_header(result, value, reading)


def _values(text: str) -> Iterator[tuple[int, Any]]:
    """(offset, value) of the first JSON objects and lists of objects; what does not parse is skipped."""
    text = jsons.whole_letters(text)
    decoder = jsons.decoder()
    place, tries = 0, 0
    while tries < _TRIES:
        starts = [
            p
            for p in (text.find('{"', place), text.find("[\n  {", place), text.find('[{"', place), text.find("{\n", place))
            if p >= 0
        ]
        if not starts:
            return
        place = min(starts)
        tries += 1
        try:
            value, length = decoder.raw_decode(text[place : place + _LONGEST])
        except (ValueError, RecursionError):
            place += 1
            continue
        yield place, value
        place += length


def _mentions_torch(value: dict[str, Any]) -> bool:
    return any(key in value for key in ("torch", "torch_version", "pytorch", "pytorch_version", "rocm", "rocm_version"))


def _look_up(value: Any, path: str) -> Any:
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _record_header(result: ProbeResult, value: dict[str, Any], reading: Reading) -> None:
    for fact, paths in _FACTS.items():
        for path in paths:
            found = _look_up(value, path)
            if isinstance(found, str) and found[:1].isdigit():
                result.record(fact, found.split()[0], Reading(reading.artifact, reading.place, f"{path}: {found}"))
                break
    for path in _AVAILABLE:
        if isinstance(_look_up(value, path), bool):
            words = f"{path}: {str(_look_up(value, path)).lower()}"
            result.record("torch.available", _look_up(value, path), Reading(reading.artifact, reading.place, words))
            break
    for path in _DEVICES:
        found = _look_up(value, path)
        names = [found] if isinstance(found, str) else found if isinstance(found, list) else []
        if names and all(isinstance(n, str) and ("AMD" in n or "Radeon" in n) for n in names):
            listing = result.listing(complete=path.endswith("s"))
            for name in names[:64]:
                result.record("marketing_name", name, Reading(reading.artifact, reading.place, f"{path}: {name}"), listing.gpu())
            return


def _record_amdgpu_top(result: ProbeResult, devices: list[dict[str, Any]], reading: Reading) -> None:
    """The GPUs of `amdgpu_top --dump --json`: sizes in bytes, ids as numbers (Umio-Yasuno/amdgpu_top)."""
    listing = result.listing(complete=True)
    for device in devices:
        gpu = listing.gpu()
        for key, value in _fields(device):
            result.record(
                key, value, Reading(reading.artifact, reading.place, f"{key} of {device.get('DeviceName', 'a device')}"), gpu
            )
        version = device.get("ROCm Version")
        if isinstance(version, str):
            result.record("rocm.version", version, Reading(reading.artifact, reading.place, f"ROCm Version: {version}"))


def _fields(device: dict[str, Any]) -> Iterator[tuple[str, bool | int | str]]:
    for key, name, kind in _OF_AMDGPU_TOP:
        value = device.get(name)
        if isinstance(value, kind) and not isinstance(value, bool):
            yield key, value
    mib = _look_up(device, "VRAM.Total VRAM.value")
    if "VRAM Size" not in device and isinstance(mib, int):
        yield "vram_bytes", mib * 1024**2
    if device.get("GPU Type") in ("APU", "dGPU"):
        yield "is_apu", device["GPU Type"] == "APU"
    render = _look_up(device, "DevicePath.render")
    if isinstance(render, str):
        yield "render_node", render
