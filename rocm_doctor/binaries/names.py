"""The library of a file, and the files that can contain GPU code: by path, nothing is opened."""

from __future__ import annotations

import re

from rocm_doctor.bounded.patterns import regex

# ROCm's own libraries, bundled in torch/lib (family A), in _rocm_sdk_* packages, or in a ROCm folder.
_ROCM = regex(
    r"(?:lib)?(rocblas|hipblaslt|hipblas|hipsparselt|hipsparse|rocsparse|rocsolver|hipsolver|rocfft|hipfft|rocrand|hiprand|miopen"
    r"|rccl|hiptensor|magma|aotriton|migraphx\w{0,40}|rocalution|rpp|amdhip64|hiprtc|amd_comgr|hsa-runtime64)(?:_v\d{1,9})?[-_.\d]{0,40}"
    r"(?:\.so[.\d]*|\.dll)",
    re.IGNORECASE,
)

# Folders whose name is not the package's.
_TOP = {
    "flash_attn_2_cuda": "flash-attn",
    "flash_attn_3": "flash-attn",
    "aiter_meta": "aiter",
    "jax_plugins": "jax-rocm-pjrt",
    "causal_conv1d_cuda": "causal-conv1d",
    "selective_scan_cuda": "mamba-ssm",
}
# llama.cpp's GPU backend: in llama-cpp-python, in Ollama's folder, in a build of one's own.
_GGML = regex(r"(?:lib)?ggml-hip(?:\.so[.\d]*|\.dll)", re.IGNORECASE)
_CODE = regex(r"\.(?:so(?:\.\d+)*|pyd|dll|co|hsaco|kpack)", re.IGNORECASE)
_JAX = regex(r"jax_rocm\d*_(plugin|pjrt)")


def may_hold_code(name: str) -> bool:
    """True for the name of a library, code object or kpack archive (`libtensorflow_cc.so.2` too, `notes.so.txt` not)."""
    dot = name.find(".")
    return dot >= 0 and any(_CODE.fullmatch(name, at) for at in range(dot, len(name)) if name[at] == ".")


def library_name(path: str) -> str:
    """The library that a file's code belongs to: `torch`, `rocblas`, `bitsandbytes`, else the package folder's name."""
    *folders, name = path.split("/")
    if found := _ROCM.fullmatch(name):
        return found.group(1).lower()
    if _GGML.fullmatch(name):
        return "ggml-hip"
    top = folders[0] if folders else name.split(".")[0]
    if _JAX.fullmatch(top):
        return "jax-rocm-" + top.rsplit("_", 1)[1]
    return _TOP.get(top, top.strip("_").replace("_", "-").lower())
