"""`python -m torch.utils.collect_env` of all eras and the longer forms of vLLM and SGLang; also on one line, cut, or after warnings.

Keys and their order: pytorch/pytorch torch/utils/collect_env.py (1.7 to 2.15), vllm-project/vllm collect_env.py.

    ==> paste/text <==
    PyTorch version: 2.9.1+rocm6.4
    Is debug build: False
    CUDA used to build PyTorch: N/A
    ROCM used to build PyTorch: 6.4.43484-123eb5128
    OS: Ubuntu 24.04.2 LTS (x86_64)
    Python version: 3.12.3 (main) (64-bit runtime)
    Is CUDA available: True
    GPU models and configuration: AMD Radeon RX 7900 XTX (gfx1100)

>>> print(probe(sample))
torch.version = 2.9.1+rocm6.4
torch.hip = 6.4.43484-123eb5128
torch.cuda = absent
torch.build = rocm
torch.rocm = 6.4
torch.family = bundled
torch.available = True
python.version = 3.12.3
os = Ubuntu 24.04.2 LTS
platform = linux
gpu 0 marketing_name = AMD Radeon RX 7900 XTX
gpu 0 gfx = gfx1100
"""

from __future__ import annotations

import re
from collections.abc import Callable

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Fact, Reading
from rocm_doctor.probes.python.torch_build import Build, record_build
from rocm_doctor.probes.read.document import Document
from rocm_doctor.probes.read.result import Artifacts, ProbeResult
from rocm_doctor.probes.read.scan import canonical, documents, leading_version, stated_value, texts

KEYS = (
    "PyTorch version", "Is debug build", "CUDA used to build PyTorch", "ROCM used to build PyTorch",
    "XPU used to build PyTorch", "OS", "GCC version",
    "Clang version", "CMake version", "Libc version", "Python version", "Python platform", "Is CUDA available",
    "CUDA runtime version",
    "CUDA_MODULE_LOADING set to", "GPU models and configuration", "Nvidia driver version", "cuDNN version", "Is XPU available",
    "HIP runtime version", "MIOpen runtime version", "Is XNNPACK available", "Caching allocator config", "CPU",
    "Model name", "Architecture",
    "Versions of relevant libraries", "ROCM Version", "Neuron SDK Version", "vLLM Version", "vLLM Build Flags",
    "GPU Topology", "Hypervisor vendor",
    "Name", "CPU op-mode(s)", "Byte Order", "Address sizes", "Vendor ID", "CPU(s)",
)  # fmt: skip
_KEY = regex(r"(?:(?<=\s)|(?<=^)|(?<=[)>|]))(" + "|".join(re.escape(k) for k in KEYS) + r")[ \t]*:(?!\S)[ \t]*", re.M)
_LANDMARKS = (
    "pytorch version",
    "used to build pytorch",
    "gpu models and configuration",
    "hip runtime version",
    "is cuda available",
    "python platform",
)
_BEFORE, _AFTER = 300, 40_000
_KERNEL = regex(r"Linux-(\S+?)-(?:x86_64|aarch64|ppc64le|amd64)\b")
_UNNAMED = regex(r"Device ([0-9a-f]{4})")
"""What old drivers print for a card that their list of names lacks: its PCI device id."""
_GPU = regex(r"(?:GPU \d+: )?(.*?)\s*(?:\((gfx[0-9a-f]{3,5})(?::[\w+:-]*)?\)|NoGCNArchNameOnOldPyTorch)?$")
_PIP = regex(r"\[pip3?\] ([A-Za-z][\w.-]*)(?:==| \()([\w.+!-]+)")
_CONDA = regex(r"\[conda\] ([A-Za-z][\w.-]*)[ \t]+(\d[\w.+!-]*)[ \t]")

Say = Callable[[str], None]


def probe(artifacts: Artifacts) -> ProbeResult:
    """torch, hip, python, kernel, os, the one GPU it names, and the packages it lists."""
    result = ProbeResult()
    for document in documents(artifacts, "collect_env", "cmd/*collect_env*"):
        _read_page(result, document)
    if not {"os", "torch.version"} <= result.facts.keys():
        for document in texts(artifacts):
            _read_page(result, document)
    return result


def _read_page(result: ProbeResult, document: Document) -> None:
    block = _block(document)
    if block is not None:
        _read(result, document, *block)


def _block(document: Document) -> tuple[int, int] | None:
    """The report's part of the text: around its landmarks, of which two must occur."""
    places = [p for p in (document.low.find(mark) for mark in _LANDMARKS) if p >= 0]
    if len(places) < 2:
        return None
    return max(0, min(places) - _BEFORE), min(len(document.text), max(places) + _AFTER)


def _read(result: ProbeResult, document: Document, start: int, end: int) -> None:
    values: dict[str, tuple[str, Reading]] = {}
    hits = list(_KEY.finditer(document.text, start, end))
    for n, hit in enumerate(hits):
        stop = min(
            (p for p in (document.text.find("\n", hit.end(), end), hits[n + 1].start() if n + 1 < len(hits) else -1) if p >= 0),
            default=end,
        )
        value = document.text[hit.end() : stop].strip()
        place = document.line(hit.start())._replace(number=document.line_number(hit.start()))
        if stop == end == len(document.text) and value.endswith(("...", "…")):
            continue
        values.setdefault(hit.group(1), (value, document.reading(place, f"{hit.group(1)}: {value}")))
    _record_torch(result, values)
    _record_machine(result, values)
    _record_gpu(result, values)
    _record_packages(result, document, start, end)


Values = dict[str, tuple[str, Reading]]


def _stated(values: Values, key: str) -> tuple[str | None, Reading]:
    value, reading = values.get(key, ("", Reading("")))
    return stated_value(value), reading


def _record_torch(result: ProbeResult, values: Values) -> None:
    version, reading = _stated(values, "PyTorch version")
    hip, hip_reading = _stated(values, "ROCM used to build PyTorch")
    cuda, cuda_reading = _stated(values, "CUDA used to build PyTorch")
    if version:
        result.record("torch.version", version.split()[0], reading)
    if "ROCM used to build PyTorch" in values:
        result.record("torch.hip", hip and hip.split()[0], hip_reading)
    if "CUDA used to build PyTorch" in values:
        result.record("torch.cuda", cuda and cuda.split()[0], cuda_reading)
    if version or hip:
        both = "ROCM used to build PyTorch" in values and "CUDA used to build PyTorch" in values
        record_build(result, Build((version or "").split(" ")[0], hip, cuda, asked_hip=both), reading if version else hip_reading)
    runtime, reading = _stated(values, "HIP runtime version" if "HIP runtime version" in values else "ROCM Version")
    if runtime:
        result.record("hip.version", runtime.split()[0], reading)
    available, reading = values.get("Is CUDA available", ("", Reading("")))
    if available.split(" ")[0] in ("True", "False"):
        result.record("torch.available", available.startswith("True"), reading)
    vllm, reading = _stated(values, "vLLM Version")
    if vllm:
        result.record("pkg.vllm", vllm.split()[0], reading)


def _record_machine(result: ProbeResult, values: Values) -> None:
    python, reading = _stated(values, "Python version")
    if python and leading_version(python):
        result.record("python.version", leading_version(python), reading)
    os_name, reading = _stated(values, "OS")
    if os_name:
        result.record("os", re.sub(r"\s*\((?:x86_64|aarch64|ppc64le|amd64)\)$", "", os_name), reading)
        result.record(
            "platform", "windows" if "windows" in os_name.lower() else "macos" if "macos" in os_name.lower() else "linux", reading
        )
    platform, reading = _stated(values, "Python platform")
    kernel = _KERNEL.search(platform or "")
    if kernel:
        result.record("kernel", kernel.group(1), reading)
        result.record("wsl", "microsoft" in kernel.group(1).lower(), reading)
    libc, reading = _stated(values, "Libc version")
    if libc and libc.startswith("glibc-"):
        result.record("glibc", libc.removeprefix("glibc-"), reading)
    cpu, reading = _stated(values, "Model name" if "Model name" in values else "Name")
    if cpu and not cpu.endswith("..."):
        result.record("cpu", cpu, reading)


def _record_gpu(result: ProbeResult, values: Values) -> None:
    """The only GPU that it names, the first. Since torch 2.2 the name ends in the gfx target."""
    value, reading = _stated(values, "GPU models and configuration")
    found = _GPU.fullmatch(value[:200]) if value else None
    if found is None or not found.group(1) or "NVIDIA" in found.group(1).upper():
        return
    if result.listings:
        return
    gpu: dict[str, Fact] = result.listing(complete=False).gpu()
    result.record("marketing_name", found.group(1), reading, gpu)
    if unnamed := _UNNAMED.fullmatch(found.group(1)):
        result.record("device_id", int(unnamed.group(1), 16), reading, gpu)
    if found.group(2):
        result.record("gfx", found.group(2), reading, gpu)


def _record_packages(result: ProbeResult, document: Document, start: int, end: int) -> None:
    for pattern in (_PIP, _CONDA):
        for found in pattern.finditer(document.text, start, end):
            line = document.line(found.start())._replace(number=document.line_number(found.start()))
            result.record(f"pkg.{canonical(found.group(1))}", found.group(2), document.reading(line, found.group(0)))
