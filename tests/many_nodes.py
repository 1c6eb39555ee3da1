"""Reports and figures of a fleet of nodes with eight GPUs each, with planted deviations."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import msgspec

GPUS = 8
GIB = 1 << 30


def _fact(name: str, value: Any, artifact: str = "") -> dict[str, Any]:
    artifact = artifact or f"sys/class/kfd/kfd/topology/nodes/1/{name}"
    return {"value": value, "readings": [{"artifact": artifact, "place": "line 12", "quote": f"{name} {value}"}]}


PACKAGES = {
    "accelerate": "1.10.1", "aiohttp": "3.12.15", "bitsandbytes": "0.47.0", "datasets": "4.0.0", "deepspeed": "0.17.5",
    "flash-attn": "2.8.3", "numpy": "2.2.6", "peft": "0.17.1", "safetensors": "0.6.2", "tokenizers": "0.22.0",
    "transformers": "4.56.1", "trl": "0.22.2", "triton": "3.4.0", "vllm": "0.10.2",
}  # fmt: skip
MACHINE: dict[str, Any] = {
    "platform": "linux", "os": "Ubuntu 24.04.2 LTS", "kernel": "6.8.0-64-generic", "cpu": "AMD EPYC 9654 96-Core Processor",
    "glibc": "2.39", "wsl": False, "container": None, "virtual_machine": None, "secure_boot": False, "iommu": "pt",
    "numa_balancing": False, "shm_bytes": 757 * GIB, "memlock_bytes": -1, "kfd.exists": True, "kfd.openable": True,
    "kfd.nodes": 8, "render.openable": True, "driver.loaded": True, "driver.version": "6.14.14",
    "firmware.mes": "0x00000074", "rocm.version": "7.0.2", "rocm.loaded": "7.0.2", "rocm.source": "opt",
    "runtime.version": "1.18", "python.version": "3.12.3", "python.env": "venv",
    "python.prefix": "/opt/train", "torch.version": "2.9.1+rocm7.0", "torch.build": "rocm", "torch.hip": "7.0.51831",
    "torch.family": "bundled", "user.groups": ("render", "video"), "env.": True, "pkg.": True, "env.HSA_NO_SCRATCH_RECLAIM": "1",
    "env.NCCL_MIN_NCHANNELS": "112", "env.PYTORCH_TUNABLEOP_ENABLED": None,
}  # fmt: skip
GPU: dict[str, Any] = {
    "gfx": "gfx942", "family": "CDNA3", "codename": "Aqua Vanjaram", "marketing_name": "AMD Instinct MI300X",
    "product": "Instinct MI300X", "partition": "SPX", "device_id": 0x74A1, "subsystem_id": 0x74A1, "compute_units": 304,
    "wavefront_size": 64, "vram_bytes": 192 * GIB, "is_apu": False, "driver": "amdgpu", "vbios": "113-M3000100-103",
    "link_width": 16, "link_speed": "32.0 GT/s PCIe", "link_max_width": 16, "link_max_speed": "32.0 GT/s PCIe",
    "power_cap_watts": 750, "power_default_watts": 750, "visible": True,
}  # fmt: skip


def _machine() -> dict[str, Any]:
    versions = {**PACKAGES, **{f"library-{n}": f"1.{n}.0" for n in range(110)}}
    facts = {name: _fact(name, value) for name, value in MACHINE.items()}
    return facts | {f"pkg.{name}": _fact(f"pkg.{name}", version, "py/packages") for name, version in versions.items()}


def planted(number: int, count: int) -> dict[str, Any]:
    """The deviations of node `number` of `count`: facts of the machine, facts `gpu.NAME` of GPU 3, and `gpus`."""
    found: dict[str, Any] = {}
    for name, value, first, many in _PLANTED:
        nodes = range(first, first + many) if many else range(0, count, 2)
        if number in nodes:
            found[name] = value
    return found


_PLANTED: tuple[tuple[str, Any, int, int], ...] = (
    ("firmware.mes", "0x00000070", 100, 30),
    ("gpu.power_cap_watts", 550, 140, 1),
    ("gpu.link_width", 4, 150, 7),
    ("kernel", "6.8.0-60-generic", 160, 12),
    ("driver.version", "6.12.12", 180, 3),
    ("env.HSA_OVERRIDE_GFX_VERSION", "9.4.2", 190, 5),
    ("pkg.flash-attn", None, 200, 40),
    ("gpu.partition", "CPX", 250, 2),
    ("numa_balancing", True, 260, 20),
    ("ram_bytes", 755 * GIB, 290, 4),
    ("gpus", 7, 300, 6),
    ("pkg.transformers", "4.55.4", 0, 0),
)
"""Fact, value, first node, number of nodes (0: every second node)."""
SICK = range(100, 125)
"""Nodes with a finding: most of those with the other firmware."""
SLOW_GPU = (400, 5)
SLOW_NODE = 410


def report(number: int, count: int, machine: dict[str, Any]) -> dict[str, Any]:
    """The report of one node, as `check --format json --no-redact` prints it."""
    random.seed(number)
    more = planted(number, count)
    facts = {
        **machine,
        "host.hostname": _fact("host.hostname", f"mi300x-{number + 1:05}"),
        "host.id": _fact("host.id", f"{random.getrandbits(40):x}"),
        "cmdline": _fact("cmdline", f"BOOT_IMAGE=/vmlinuz root=UUID={random.getrandbits(60):x} ro iommu=pt pci=realloc=off"),
        "ram_bytes": _fact("ram_bytes", 1511 * GIB + random.randrange(1 << 26)),
    }
    for name, value in more.items():
        if value is None:
            del facts[name]
        elif not name.startswith("gpu"):
            facts[name] = _fact(name, value)
    gpus = [{"facts": _gpu(index, more if index == 3 else {})} for index in range(more.get("gpus", GPUS))]
    sick = number in SICK
    return {
        "schema_version": 2, "tool_version": "0.1.0", "matrix_version": "2026.11.22", "verdict": "problems" if sick else "ready",
        "summary": "ready to train on 8 × gfx942 with torch 2.9.1+rocm7.0",
        "findings": [_FINDING] if sick else [],
        "undecided": [{"id": f"lib.{n}", "row": f"lib.row-{n}", "title": "undecided", "missing": ["log"]} for n in range(20)],
        "snapshot": {"facts": facts, "gpus": gpus, "gpus_listed": True, "errors": []},
        "kind": "machine", "host": f"mi300x-{number + 1:05}",
    }  # fmt: skip


_FINDING = {
    "id": "driver.firmware", "row": "driver.firmware-mes", "title": "MES firmware hangs under load", "severity": "error",
    "confidence": "high", "cause": "The scheduler firmware of this release hangs.", "subject": "GPU 0 (gfx942)",
    "evidence": [{"artifact": "kernel/log", "place": "line 812", "quote": "amdgpu: MES failed to respond to msg=MISC"}],
}  # fmt: skip


def _gpu(index: int, more: dict[str, Any]) -> dict[str, Any]:
    own = {
        "uuid": f"GPU-{random.getrandbits(60):x}", "pci_bdf": f"0000:{index * 16 + 5:02x}:00.0", "node": index + 2,
        "render_node": f"renderD{128 + index * 8}", "numa_node": index // 4, "vram_used_bytes": random.randrange(1 << 30),
        "links": tuple(f"xgmi:{n + 2}" for n in range(GPUS) if n != index),
    }  # fmt: skip
    changed = {name[4:]: value for name, value in more.items() if name.startswith("gpu.")}
    return {name: _fact(name, value) for name, value in {**GPU, **own, **changed}.items()}


def figures(number: int) -> dict[str, Any]:
    """The bench report of one node, in one figure."""
    random.seed(-number - 1)
    values = [random.gauss(620, 6) for _ in range(GPUS)]
    if number == SLOW_GPU[0]:
        values[SLOW_GPU[1]] = 480
    if number == SLOW_NODE:
        values = [value * 0.8 for value in values]
    return {
        "tool_version": "0.1.0", "matrix_version": "2026.11.22", "kind": "bench", "schema_version": 1, "host": f"mi300x-{number + 1:05}",
        "gpus": [{"index": n, "kind": "hip", "name": "AMD Instinct MI300X", "gfx": "gfx942"} for n in range(GPUS)],
        "figures": [
            {"gpu": n, "name": "matmul-bf16", "value": value, "unit": "TFLOP/s", "spread": 0.01} for n, value in enumerate(values)
        ],
    }  # fmt: skip


def lines(count: int) -> Iterator[bytes]:
    """The lines that `fleet run` would print for so many nodes: a report and figures of each."""
    machine = _machine()
    for number in range(count):
        yield msgspec.json.encode(report(number, count, machine)) + b"\n"
        yield msgspec.json.encode(figures(number)) + b"\n"
