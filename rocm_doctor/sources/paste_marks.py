"""Telltale words: which line of a pasted text belongs to which tool's output.

A mark is found by substring search over the whole text, so its words may stand anywhere in a line (tools' output gets joined, indented,
commented out); where the words alone could stand in prose, a pattern tests the line. Seen in captures of ROCm 1.6 to 7.13.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Mark(NamedTuple):
    """Words that give a tool's output away. `fits`: what the line must also look like."""

    kind: str
    words: str
    fits: re.Pattern[str] | None = None


def _all(kind: str, *words: str) -> tuple[Mark, ...]:
    return tuple(Mark(kind, w) for w in words)


def _fits(kind: str, pattern: str, *words: str) -> tuple[Mark, ...]:
    return tuple(Mark(kind, w, re.compile(pattern)) for w in words)


# A command as it stands behind a prompt, behind an assignment, or alone on its line: never in the middle of a sentence.
_CALL = r"^(?:[^\n]{{0,160}}?(?:[$#%>+:;&|]|\w=\S{{1,40}})\s*)?(?:sudo\s+|srun\s+|time\s+)?(?:[\w./~:\\-]{{0,80}}[/\\])?{0}(?:\.exe)?(?:\s+(?:--?\w|version|list|static|monitor|metric|[|>&;])|\s*$)"


def _command(kind: str, name: str) -> tuple[Mark, ...]:
    return _fits(kind, _CALL.format(re.escape(name)), name)


MARKS: tuple[Mark, ...] = (
    *_all(
        "collect_env", "PyTorch version:", "Is debug build:", "CUDA used to build PyTorch", "ROCM used to build PyTorch", "HIP runtime version:",
        "MIOpen runtime version:", "GPU models and configuration:", "Is CUDA available:", "Versions of relevant libraries", "[pip3] ", "[conda] ",
        "Collecting environment information", "CUDA runtime version:", "Is XNNPACK available", "Nvidia driver version:", "Libc version:",
    ),
    *_all(
        "rocminfo", "ROCk module", "HSA System Attributes", "HSA Agents", "Unable to open /dev/kfd", "hsa api call failure at", "hsa_init Failed",
        "WSL environment detected", "Runtime Ext Version:", "*** Done ***", "Marketing Name:", "Shader Arrs. per Eng.", "the default DRM access group",
        "Queue Max Size:", "Wavefront Size:", "Alloc Granule:", "BDFID:", "Chip ID:",
    ),
    *_fits("rocminfo", r"(?<!\w)Name:\s+(?:amdgcn-amd-amdhsa--)?gfx[0-9]", "Name:"),
    *_fits("rocminfo", r"Call returned (?:HSA_STATUS|\d)", "Call returned "),
    *_fits("rocminfo", r"^\W{0,12}Agent \d+\W{0,40}$", "Agent "),
    *_fits("rocminfo", r"is member of \w+ group|video group membership|render group membership", "member of ", "group membership"),
    *_all("rocm-smi", "ROCm System Management Interface", "End of ROCm SMI Log", "Driver not initialized (amdgpu not found", "Concise Info", "cardsystem,"),
    *_fits("rocm-smi", r"GPU\[\d+\]\s*:", "GPU["),
    *_fits("rocm-smi", r"\"card\d+\":\s*\{", '"card'),
    *_fits("rocm-smi", r"^\W{0,8}device,\w|^\W{0,8}card\d+,", "device,", "card"),
    *_fits("rocm-smi", r"^\W{0,8}\d+\s+(?:\d+\s+0x[0-9a-f]{4},\s|\[\S.{0,20} : 0x|[0-9.]+c\s)", "Mhz", "0x"),
    *_all("amd-smi", "AMDSMI Tool:", "| AMD-SMI ", "AMD System Management Interface |", "MARKET_NAME:", "TARGET_GRAPHICS_VERSION:", '"gpu_data"', '"market_name"'),
    *_fits("amd-smi", r"^\W{0,8}[GC]PU: \d+\s*$", "PU: "),
    *_fits("amd-smi", r"^\W{0,8}\"gpu\":\s*\d", '"gpu"'),
    *_fits("amd-smi", r"^\W{0,8}gpu,\w", "gpu,"),
    *_fits("amd-smi", r"^\W{0,8}GPU\s+(?:XCP|POWER|GPU_T)", "GPU "),
    *_fits("amd-smi", r"^\W{0,8}[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.\d .{0,40}\|", "|"),
    *_all("clinfo", "Number of platforms", "Platform Name", "Number of devices", "CL_DEVICE_TYPE_", "Device Board Name (AMD)", "Board name:"),
    *_fits("hipconfig", r"^\W{0,8}(?:HIP version\s*:\s*\d|==\s?hipconfig|==\s?hip-clang|HIP_(?:COMPILER|RUNTIME)\s*:)", "HIP version", "hipconfig", "hip-clang", "HIP_"),
    *_all("hipinfo", "device#  ", "multiProcessorCount:", "gcnArchName:", "totalGlobalMem:", "memInfo.total:"),
    *_fits("agents", r"^\W{0,8}gfx(?:000|[1-9]\w{2,3})(?::\S+)?\s*$", "gfx"),
    *_fits("pip", r"^\W{0,8}Package\s+Version\b|^\W{0,8}Package:? +\| +Version", "Package"),
    *_fits("pip", r"^\s{0,8}[A-Za-z0-9][\w.-]{0,60}(?:\[[\w,]{1,40}\])?==\d\S*\s*$", "=="),
    *_fits("pip", r"^\s{0,8}[\w-]*(?:torch|triton|rocm|transformers|accelerate|bitsandbytes|peft|numpy)[\w-]*\s+\d+\.\d\S*(?:\s|$)",
           "torch", "triton", "rocm", "transformers", "accelerate", "bitsandbytes", "peft", "numpy"),
    *_fits("kfd", r"^\s{0,8}(?:simd_count|gfx_target_version|cpu_cores_count|lds_size_in_kb|simd_per_cu) \d", "simd_", "gfx_target_version", "cpu_cores_count", "lds_size"),
    *_fits("sysinfo", r"^\W{0,8}workload_name,\w", "workload_name,"),
    *_command("rocminfo", "rocminfo"),
    *_command("rocm-smi", "rocm-smi"),
    *_command("amd-smi", "amd-smi"),
    *_command("clinfo", "clinfo"),
    *_command("hipconfig", "hipconfig"),
    *_fits("hipinfo", _CALL.format("hip[Ii]nfo"), "hipinfo", "hipInfo"),
    *_command("agents", "rocm_agent_enumerator"),
)  # fmt: skip

# Kinds whose lines stand for themselves: all of them go into one artifact, wherever they stand.
LINE_MARKS: tuple[Mark, ...] = (
    *_fits("dmesg", r"^\s{0,8}\[\s*\d{1,8}\.\d{2,6}\]|\bkernel: ", "amdgpu", "[drm", "kfd", "iommu", "Linux version", "Out of memory", "kernel: "),
    *_fits("dmesg", r"^\s{0,8}(?:amdgpu [0-9a-f]{4}:|\[drm[\]:]|kfd kfd: |amdgpu: )|\*ERROR\* ", "amdgpu", "[drm", "kfd kfd: ", "*ERROR*"),
    *_fits(
        "env",
        r"^\W{0,8}(?:export |declare -x |set )?(?:HSA|HIP|ROCR|ROCM|CUDA|GPU|AMD|AMDGPU|HCC|PYTORCH|TORCH|MIOPEN|TRITON|NCCL|RCCL|VLLM|BNB|LD|PYTHON|HF|FLASH)_[A-Z0-9_]+=",
        "HSA_", "HIP_", "ROCR_", "ROCM_", "CUDA_", "GPU_", "AMD_", "AMDGPU_", "HCC_", "PYTORCH_", "TORCH_", "MIOPEN_", "TRITON_", "NCCL_", "RCCL_", "VLLM_",
        "BNB_", "LD_", "PYTHON_", "HF_", "FLASH_",
    ),
    *_fits("versions", r"^\W{0,8}amdgpu/\d[\w.-]*, |^\W{0,8}Package: \S*(?:rocm|hip|amdgpu|hsa)|feature version: \d+, firmware version: ", "amdgpu/", "Package: ", "feature version: "),
)  # fmt: skip
