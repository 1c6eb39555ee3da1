"""Environment variables that ROCm's libraries, PyTorch and the tools around them read.

Sources: ROCm/rocm-systems (ROCr, libhsakmt, HIP, RCCL), ROCm/rocm-libraries (rocBLAS, hipBLASLt, MIOpen), pytorch.
"""

from __future__ import annotations

PREFIXES = (
    "HSA_", "HIP_", "HIPBLAS", "ROCR_", "ROCM_", "ROC_", "ROCBLAS_", "PYTORCH_", "TORCH_", "MIOPEN_", "NCCL_", "RCCL_",
    "AMD_", "AMDGPU_", "GPU_",
    "TRITON_", "FLASH_ATTENTION_", "VLLM_", "AITER_", "SGLANG_", "BNB_", "RAY_", "UNSLOTH_", "CK_", "DISABLE_ADDMM_", "HSAKMT_",
)  # fmt: skip
NAMES = (
    "CUDA_VISIBLE_DEVICES", "CUDA_LAUNCH_BLOCKING", "CUBLAS_WORKSPACE_CONFIG", "LD_LIBRARY_PATH", "LD_PRELOAD", "OMP_NUM_THREADS",
    "TOKENIZERS_PARALLELISM", "CUDA_HOME", "VIRTUAL_ENV", "CONDA_PREFIX", "DRI_PRIME", "HCC_AMDGPU_TARGET", "PYTHONPATH",
    "ACCELERATE_USE_FSDP",
)  # fmt: skip
