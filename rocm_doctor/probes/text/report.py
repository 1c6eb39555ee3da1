"""Startup banners and environment reports of common programs: `name: version` in all its spellings.

Read here: ComfyUI, transformers env, accelerate env, bitsandbytes diagnostics, vLLM, SGLang check_env, unsloth, RCCL. The GPUs that such lines name are read by report_gpus.py, JSON by report_json.py.

    ==> paste/text <==
    - `transformers` version: 4.57.1
    - Platform: Linux-6.8.0-60-generic-x86_64-with-glibc2.39
    - Python version: 3.12.3
    - PyTorch version (accelerator?): 2.9.1+rocm6.4 (CUDA)
    - GPU type: AMD Radeon RX 7900 XTX

>>> print(probe(sample))
python.version = 3.12.3
kernel = 6.8.0-60-generic
wsl = False
glibc = 2.39
pkg.transformers = 4.57.1
torch.version = 2.9.1+rocm6.4
torch.build = rocm
torch.rocm = 6.4
torch.family = bundled
gpu 0 marketing_name = AMD Radeon RX 7900 XTX
"""

from __future__ import annotations

import re
from functools import partial

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.probes.python.torch_build import Build, record_build
from rocm_doctor.probes.read.document import Document, Line
from rocm_doctor.probes.read.result import Artifacts, ProbeResult
from rocm_doctor.probes.read.scan import canonical, documents, line_pattern, record_rows
from rocm_doctor.probes.text.report_gpus import record_gpus
from rocm_doctor.probes.text.report_json import record_json

_V = r"v?(\d+\.\d+(?:\.\d+)*(?:[-.+]?[A-Za-z0-9][\w.+-]*)?)"
_PACKAGES = (
    "torchvision", "torchaudio", "torchao", "torchtune", "torchsde", "triton", "pytorch-triton-rocm", "triton-rocm",
    "transformers", "peft", "accelerate",
    "bitsandbytes", "numpy", "diffusers", "xformers", "deepspeed", "unsloth", "unsloth_zoo", "vllm", "flash_attn",
    "flash-attn", "sglang", "aiter",
    "trl", "datasets", "tokenizers", "safetensors", "huggingface_hub", "huggingface-hub", "axolotl", "ultralytics",
    "onnxruntime", "sentence-transformers",
)  # fmt: skip
_TORCH = ("torch", "pytorch")
_NAME = "|".join(re.escape(p) for p in sorted(_PACKAGES + _TORCH, key=len, reverse=True))
_PAIR = regex(
    rf"(?<![\w./+-])(?<!build )`?({_NAME})`?(?:\s+version)?(?:\s*\(\w{{2,14}}\?\))?"
    r"(?:\.__version__)?['\"]?(?:\s{0,20}:|\s=)\s{0,20}['\"]?" + _V,
    re.I,
)

_says = partial(line_pattern, flags=re.I)
SAYS = (
    _says("python", r"(?:^|[-*|\s])Python(?: version)?\s{0,20}:\s{0,20}" + _V, "python.version"),
    _says("hip version", r"ROCM? HIP version\s*:\s*" + _V, "torch.hip"),
    _says("rocm toolkit", r"ROCm Toolkit:\s*" + _V, "torch.hip"),
    _says("torch.version.hip", r"torch\.version\.hip['\"]?\s*(?::|=|->|,)\s*['\"]?" + _V, "torch.hip"),
    _says("hip:", r"(?:^|[\s(])HIP:\s*" + _V, "torch.hip"),
    _says("hip =", r"torch[^\n]{0,80}\bhip\s?=\s?['\"]?" + _V, "torch.hip"),
    _says("torch.version.cuda", r"torch\.version\.cuda['\"]?\s*(?::|=|->)\s*['\"]?" + _V, "torch.cuda"),
    _says("rocm version", r"ROCm version\s*:\s*(\d+\.\d+(?:\.\d{1,2})?)(?!\d|\.\d{3})", "rocm.version"),
    _says("rocm:", r"(?:^|[-*|\s])ROCm:\s*(\d+\.\d+(?:\.\d{1,2})?)(?!\d|\.\d{3})", "rocm.version"),
    _says("rocm_home", r"ROCM_HOME\s*[:=]\s*\S{0,80}/rocm-(\d+\.\d+(?:\.\d{1,2})?)", "rocm.version"),
    _says("driver version", r"(?:ROCM|amdgpu|AMD GPU|^\s*)\s*driver version\s*:\s*(\d+\.\d+\.\d+)(?![\w-])", "driver.version"),
    _says("amdgpu version", r"amdgpu version\s*:\s*(\d+\.\d+\.\d+)(?![\w-])", "driver.version"),
    _says("platform", r"(?:^|[-*\s])Platform:\s*Linux-(\S+?)-(?:x86_64|aarch64)\b", "kernel"),
    _says("glibc", r"(?:^|[-*\s])(?:libc|Platform):\s*\S*?glibc-?(\d+\.\d+)", "glibc"),
    _says("api server version", r"vLLM API server version " + _V, "pkg.vllm"),
    _says("llm engine (v", r"LLM engine \(" + _V, "pkg.vllm"),
    _says("unsloth 20", r"Unsloth (20\d\d\.\d+\.\d+)", "pkg.unsloth"),
    _says("adrenalin", r"Adrenalin(?: Edition| Software| driver)?(?: version)?\s*:\s*" + _V, "driver.windows"),
)
_AVAILABLE = regex(
    r"(?:cuda\.is_available\(\)|(?:CUDA|ROCM|GPU|HIP) available|pytorch version \(GPU\?\):[^\n(]{0,60})\W{0,8}(True|False)\b",
    re.I,
)


def probe(artifacts: Artifacts) -> ProbeResult:
    """Versions of torch, HIP, ROCm, Python, the driver and packages, and the GPUs that programs report to use."""
    result = ProbeResult()
    for document in documents(artifacts, "report"):
        record_rows(result, document, SAYS, _trim_version)
        for line in document.find_lines(*_TORCH, *(p.lower() for p in _PACKAGES)):
            _record_pairs(result, document, line)
        _record_available(result, document)
        record_gpus(result, document)
        record_json(result, document)
    _record_torch(result)
    return result


def _record_pairs(result: ProbeResult, document: Document, line: Line) -> None:
    for found in _PAIR.finditer(line.text):
        name = canonical(found.group(1))
        result.record("torch.version" if name in _TORCH else f"pkg.{name}", _trim_version(found.group(2)), document.reading(line))


def _trim_version(version: str) -> str:
    return version.rstrip(".,;:-+")


def _record_available(result: ProbeResult, document: Document) -> None:
    for line in document.find_lines("available", "(gpu?)", most=40):
        found = _AVAILABLE.search(line.text)
        if found:
            result.record("torch.available", found.group(1).lower() == "true", document.reading(line))


def _record_torch(result: ProbeResult) -> None:
    """Facts of the build, from the version and the HIP number."""
    version, hip = result.facts.get("torch.version"), result.facts.get("torch.hip")
    main = version or hip
    if main is None or not main.readings:
        return
    text = version.value if version is not None and isinstance(version.value, str) else ""
    number = hip.value if hip is not None and isinstance(hip.value, str) else None
    cuda = result.facts.get("torch.cuda")
    known_cuda = cuda.value if cuda is not None and isinstance(cuda.value, str) else None
    record_build(result, Build(text, number, known_cuda), main.readings[0])
