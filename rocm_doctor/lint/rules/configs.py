"""Choices of training configurations and packages that the target's hardware or the libraries for it cannot serve."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Environment, Place, Setting, Target
from rocm_doctor.lint.environments.words import cards, holds
from rocm_doctor.lint.rules.findings import found
from rocm_doctor.lint.rules.indexes import is_rebuild, meant
from rocm_doctor.lint.rules.libraries import source_takes
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Confidence, Finding, Severity

if TYPE_CHECKING:
    from rocm_doctor.plan.catalog import Package

_TRITON_SWITCH = "FLASH_ATTENTION_TRITON_AMD_ENABLE"

# 8-bit optimizers of bitsandbytes as transformers names them; adamw_torch_8bit is torchao's.
_BNB_OPTIMIZER = regex(r"bnb|bitsandbytes|^(?!.*torch).*_8bit|(?:adamw?|lion|ademamix)8bit$")
_NO_COMPILE = "feature-compile-gfx906"
_YES = frozenset(("true", "yes", "auto", "1", "on"))
_BF16_KEYS = frozenset(("bf16", "use_bf16", "bf16.enabled", "bfloat16.enabled"))
_DTYPE_KEYS = frozenset(("mixed_precision", "dtype", "torch_dtype", "compute_dtype", "bnb_4bit_compute_dtype", "precision"))
_FLASH_KEYS = frozenset(("flash_attention", "use_flash_attention_2", "use_flash_attn", "use_flash_attention"))
_FOUR_BIT = frozenset(("load_in_4bit", "load_in_8bit", "use_4bit", "use_8bit_adam"))


def config(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """bf16, flash-attention 2, quantisation and torch.compile that the target cannot do; nothing of a file that names other GPUs."""
    named = cards(" ".join(s.value for s in environment.config))
    for setting in environment.config if holds(named, target.gpu) else ():
        key = ".".join(setting.name.lower().split(".")[-2:])
        last, value = key.rsplit(".", 1)[-1], setting.value.strip().lower()
        if _is_bf16(key, last, value):
            yield from _bf16(environment, setting, target, matrix)
        elif _is_flash(last, value):
            yield from _flash(environment, setting.place, target, matrix, f"{last}: {setting.value}")
        elif _is_quantised(last, value):
            yield from _quantised(environment, setting.place, target, matrix, f"{last}: {setting.value}")
        elif _is_fp8(last, value) and _arithmetic(target, matrix, "fp8") == "none":
            yield _fp8(environment, setting, target, matrix)
        elif last == "torch_compile" and value in _YES and target.gpu in matrix.fact(_NO_COMPILE).gfx:
            yield _compile(environment, setting, target, matrix)


def _arithmetic(target: Target, matrix: Matrix, kind: str) -> str:
    """What the hardware of the target does in `bf16` or `fp8`: none, matrix, ...; empty where no source says."""
    chip = matrix.gfx.get(target.gpu)
    return str(getattr(chip, kind)) if chip else ""


def _have(matrix: Matrix, kind: str) -> str:
    """The targets that multiply in that type."""
    return ", ".join(t.gfx for t in matrix.gfx.values() if getattr(t, kind) not in ("", "none"))


def _is_fp8(last: str, value: str) -> bool:
    named = last in ("fp8", "enable_fp8", "fp8_base", "fp8_linear") and value in _YES
    return named or (last in _DTYPE_KEYS and value in ("fp8", "float8"))


def _fp8(environment: Environment, setting: Setting, target: Target, matrix: Matrix) -> Finding:
    return _warned(
        environment,
        setting,
        target,
        matrix,
        "numeric.bf16-or-fp16",
        row="",
        title=f"fp8 is asked for, and {target.gpu} has no fp8 matrix instructions",
        cause=f"fp8 arithmetic is in {_have(matrix, 'fp8')}.",
        advice="Use bf16 or fp16.",
        sources=matrix.gfx[target.gpu].sources,
    )


def _warned(environment: Environment, setting: Setting, target: Target, matrix: Matrix, diagnosis: str, **words: Any) -> Finding:
    """A warning on one setting of a training configuration."""
    return found(matrix, diagnosis, environment, target, [setting.place], severity="warning", **words)


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
    if _arithmetic(target, matrix, "bf16") != "none" or setting.value.strip().lower() == "auto":
        return
    yield _warned(
        environment,
        setting,
        target,
        matrix,
        "numeric.bf16-or-fp16",
        title=f"bf16 is asked for, and {target.gpu} has no bf16 arithmetic",
        cause=f"{target.gpu} converts every bf16 operation to fp32; torch.cuda.is_bf16_supported() is True on every ROCm GPU.",
        advice="Use fp16 with loss scaling, or fp32.",
        sources=matrix.gfx[target.gpu].sources,
    )


def _flash(
    environment: Environment, place: Place, target: Target, matrix: Matrix, words: str, takes: tuple[str, ...] = ()
) -> Iterator[Finding]:
    """flash-attention 2 where no back end is built for the target. `takes`: the GPUs that its build takes, where it is built from source."""
    switched = any(s.name == _TRITON_SWITCH and s.value.upper() in ("TRUE", "1") for s in environment.variables)
    chip = matrix.gfx.get(target.gpu)
    rdna = chip is not None and chip.family.startswith("RDNA")
    package = _packages(matrix)["flash-attn"]
    native = takes or package.releases[0].native
    if target.gpu in native or (switched and rdna):
        return
    built = environment.purpose.kind == "amd" and environment.sort != "text"
    severity: Severity = "error" if not rdna else "warning" if built else "note"
    why = (
        (
            f"flash-attn's default build has kernels for {', '.join(native)}; on RDNA only its Triton backend runs, which "
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
        sources=package.sources,
    )


def _quantised(environment: Environment, place: Place, target: Target, matrix: Matrix, words: str) -> Iterator[Finding]:
    if _no_wheel(target, matrix):
        yield _no_bnb(environment, [place], target, matrix, f"{words} needs bitsandbytes, which has no kernels for {target.gpu}")


def _no_wheel(target: Target, matrix: Matrix) -> bool:
    """No wheel of bitsandbytes, of any release in the catalog, holds code for the target."""
    releases = _packages(matrix)["bitsandbytes"].releases
    held = {gfx for one in releases for table in (one.code, one.code_windows) for targets in table.values() for gfx in targets}
    return target.gpu in matrix.gfx and target.gpu not in held


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
        sources=_packages(matrix)["bitsandbytes"].sources,
    )


def _compile(environment: Environment, setting: Setting, target: Target, matrix: Matrix) -> Finding:
    return _warned(
        environment,
        setting,
        target,
        matrix,
        "lib.triton",
        title=f"torch_compile on {target.gpu}",
        cause=f"Triton, which torch.compile needs, does not serve {target.gpu} in practice.",
        advice="Leave torch_compile off.",
        sources=matrix.fact(_NO_COMPILE).sources,
    )


def packages(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """Packages without any code for the target."""
    for step in environment.steps:
        for r in step.requirements:
            if not meant(r, target) or is_rebuild(r):
                continue
            if r.name == "bitsandbytes" and _no_wheel(target, matrix):
                yield _no_bnb(
                    environment, [r.place], target, matrix, f"bitsandbytes is required, and no wheel of it holds {target.gpu}"
                )
            elif r.name == "flash-attn":
                yield from _flash(environment, r.place, target, matrix, "the flash-attn package", source_takes(r, matrix))


def _packages(matrix: Matrix) -> dict[str, Package]:
    """The packages of the catalog of `plan`, which few configurations need."""
    from rocm_doctor.plan.catalog import known

    return known(matrix).packages
