"""Choices of training configurations and packages that the target's hardware or the libraries for it cannot serve."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocm_doctor.lint.declared import Environment, Place, Setting, Target
from rocm_doctor.lint.rules.findings import found
from rocm_doctor.lint.rules.indexes import meant
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Confidence, Finding, Severity

# bitsandbytes: no wheel of any release holds these targets (wheels 0.49.0 to 0.50.2 opened, entries of .hip_fatbin).
_NO_BNB = frozenset(("gfx900", "gfx906"))
_BNB_SOURCE = "bitsandbytes wheels 0.49.0 to 0.50.2 on the package index: targets inside libbitsandbytes_rocm*.so"
# flash-attn: Composable Kernel builds up to 2.8.3 allow gfx90a, gfx942 and gfx950; the Triton backend serves MI200, MI300 and
# RDNA.
_CK = frozenset(("gfx90a", "gfx940", "gfx941", "gfx942", "gfx950"))
_FA_SOURCE = "Dao-AILab/flash-attention setup.py@v2.8.3 (allowed_archs) and README (AMD ROCm support)"
_TRITON_SWITCH = "FLASH_ATTENTION_TRITON_AMD_ENABLE"
_BF16_SOURCE = "LLVM AMDGPU backend: bf16 arithmetic begins with gfx90a and gfx11 (gfx908 has it in MFMA only)"
_COMPILE_SOURCE = "https://github.com/unslothai/unsloth/pull/7354"

# 8-bit optimizers of bitsandbytes as transformers names them; adamw_torch_8bit is torchao's.
_BNB_OPTIMIZER = re.compile(r"bnb|bitsandbytes|^(?!.*torch).*_8bit|(?:adamw?|lion|ademamix)8bit$")
_YES = frozenset(("true", "yes", "auto", "1", "on"))
_BF16_KEYS = frozenset(("bf16", "use_bf16", "bf16.enabled", "bfloat16.enabled"))
_DTYPE_KEYS = frozenset(("mixed_precision", "dtype", "torch_dtype", "compute_dtype", "bnb_4bit_compute_dtype", "precision"))
_FLASH_KEYS = frozenset(("flash_attention", "use_flash_attention_2", "use_flash_attn", "use_flash_attention"))
_FOUR_BIT = frozenset(("load_in_4bit", "load_in_8bit", "use_4bit"))


def config(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """bf16, flash-attention 2, quantisation and torch.compile that the target cannot do."""
    for setting in environment.config:
        key = ".".join(setting.name.lower().split(".")[-2:])
        last, value = key.rsplit(".", 1)[-1], setting.value.strip().lower()
        if _is_bf16(key, last, value):
            yield from _bf16(environment, setting, target, matrix)
        elif _is_flash(last, value):
            yield from _flash(environment, setting.place, target, matrix, f"{last}: {setting.value}")
        elif _is_quantised(last, value):
            yield from _quantised(environment, setting.place, target, matrix, f"{last}: {setting.value}")
        elif _is_fp8(last, value) and not _HAS_FP8.fullmatch(target.gpu):
            yield _fp8(environment, setting, target, matrix)
        elif last == "torch_compile" and value in _YES and target.gpu in ("gfx900", "gfx906"):
            yield _compile(environment, setting, target, matrix)


_HAS_FP8 = re.compile(r"gfx94\d|gfx95\d|gfx12\d\d|")
_FP8_SOURCE = "https://rocm.docs.amd.com/en/latest/reference/precision-support.html"


def _is_fp8(last: str, value: str) -> bool:
    named = last in ("fp8", "enable_fp8", "fp8_base", "fp8_linear") and value in _YES
    return named or (last in _DTYPE_KEYS and value in ("fp8", "float8"))


def _fp8(environment: Environment, setting: Setting, target: Target, matrix: Matrix) -> Finding:
    return found(
        matrix,
        "numeric.bf16-or-fp16",
        environment,
        target,
        [setting.place],
        severity="warning",
        row="",
        title=f"fp8 is asked for, and {target.gpu} has no fp8 matrix instructions",
        cause="fp8 arithmetic begins with gfx942 (CDNA 3) and gfx12 (RDNA 4).",
        advice="Use bf16 or fp16.",
        sources=(_FP8_SOURCE,),
    )


def _is_bf16(key: str, last: str, value: str) -> bool:
    return ((key in _BF16_KEYS or last in ("bf16", "use_bf16")) and value in _YES) or (
        last in _DTYPE_KEYS and value in ("bf16", "bfloat16", "bf16-true", "bf16-mixed", "torch.bfloat16")
    )


def _is_flash(last: str, value: str) -> bool:
    return (last in _FLASH_KEYS and value in _YES - {"auto"}) or (
        last in ("attn_implementation", "flash_attn") and value in ("flash_attention_2", "fa2")
    )


def _is_quantised(last: str, value: str) -> bool:
    return (
        (last in _FOUR_BIT and value in _YES)
        or (last == "adapter" and value == "qlora")
        or (last == "quantization_bit" and value in ("4", "8"))
        or (last in ("quantization_method", "quant_method") and value in ("bitsandbytes", "bnb"))
        or bool(last in ("optim", "optimizer", "optimizer_type", "_component_") and _BNB_OPTIMIZER.search(value))
    )


def _bf16(environment: Environment, setting: Setting, target: Target, matrix: Matrix) -> Iterator[Finding]:
    if not re.fullmatch(r"gfx10\d\d|gfx90[06]", target.gpu) or setting.value.strip().lower() == "auto":
        return
    yield found(
        matrix,
        "numeric.bf16-or-fp16",
        environment,
        target,
        [setting.place],
        severity="warning",
        title=f"bf16 is asked for, and {target.gpu} has no bf16 arithmetic",
        cause=f"{target.gpu} converts every bf16 operation to fp32; torch.cuda.is_bf16_supported() is True on every ROCm GPU.",
        advice="Use fp16 with loss scaling, or fp32.",
        sources=(_BF16_SOURCE,),
    )


def _flash(environment: Environment, place: Place, target: Target, matrix: Matrix, words: str) -> Iterator[Finding]:
    switched = any(s.name == _TRITON_SWITCH and s.value.upper() in ("TRUE", "1") for s in environment.variables)
    rdna = re.match(r"gfx1[012]", target.gpu) is not None
    if target.gpu in _CK or (switched and rdna):
        return
    severity: Severity = "note" if rdna else "error"
    why = (
        (
            "flash-attn's default build has kernels for gfx90a, gfx942 and gfx950; on RDNA only its Triton backend runs, which "
            f"{_TRITON_SWITCH}=TRUE switches on."
        )
        if rdna
        else f"flash-attn has no kernels for {target.gpu} in either of its ROCm backends."
    )
    yield found(
        matrix,
        "lib.flash-attn",
        environment,
        target,
        [place],
        severity=severity,
        title=f"flash-attention 2 ({words}) on {target.gpu}",
        cause=why,
        advice="Use attn_implementation: sdpa." + (f" Or export {_TRITON_SWITCH}=TRUE at build and run time." if rdna else ""),
        sources=(_FA_SOURCE,),
    )


def _quantised(environment: Environment, place: Place, target: Target, matrix: Matrix, words: str) -> Iterator[Finding]:
    if target.gpu in _NO_BNB:
        yield _no_bnb(environment, [place], target, matrix, f"{words} needs bitsandbytes, which has no kernels for {target.gpu}")


def _no_bnb(
    environment: Environment, places: list[Place], target: Target, matrix: Matrix, title: str, sure: Confidence = "high"
) -> Finding:
    return found(
        matrix,
        "lib.bitsandbytes",
        environment,
        target,
        places,
        confidence=sure,
        title=title,
        cause=f"No wheel of bitsandbytes holds code for {target.gpu}; its kernels end in `invalid device function`.",
        advice="Train LoRA in fp16 without quantisation and with torch's own optimizers, or build bitsandbytes with "
        f"BNB_ROCM_ARCH={target.gpu}.",
        sources=(_BNB_SOURCE,),
    )


def _compile(environment: Environment, setting: Setting, target: Target, matrix: Matrix) -> Finding:
    return found(
        matrix,
        "lib.triton",
        environment,
        target,
        [setting.place],
        severity="warning",
        title=f"torch_compile on {target.gpu}",
        cause=f"Triton, which torch.compile needs, does not serve {target.gpu} in practice.",
        advice="Leave torch_compile off.",
        sources=(_COMPILE_SOURCE,),
    )


def packages(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """Packages without any code for the target."""
    for step in environment.steps:
        for r in step.requirements:
            if not meant(r, target):
                continue
            if r.name == "bitsandbytes" and target.gpu in _NO_BNB:
                yield _no_bnb(
                    environment, [r.place], target, matrix, f"bitsandbytes is required, and no wheel of it holds {target.gpu}"
                )
            elif r.name == "flash-attn":
                yield from _flash(environment, r.place, target, matrix, "the flash-attn package")
