"""Settings of training configurations that the target's hardware cannot do."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_doctor.lint.model import Problem
from rocm_doctor.lint.rules.case import Case

_YES = frozenset(("true", "yes", "1", "on"))
_DTYPES = frozenset(("mixed_precision", "dtype", "torch_dtype", "compute_dtype", "bnb_4bit_compute_dtype", "precision"))
_BF16 = frozenset(("bf16", "bfloat16", "bf16-true", "bf16-mixed", "torch.bfloat16"))
_FP8 = frozenset(("fp8", "float8"))


def training(case: Case) -> Iterator[Problem]:
    """bf16 and fp8 where the hardware has no such arithmetic."""
    chip = case.matrix.gfx.get(case.target.gpu)
    if chip is None or case.environment.kind != "training":
        return
    for setting in case.environment.variables:
        key = setting.name.lower()
        last, value = key.rsplit(".", 1)[-1], setting.value.strip().lower()
        kind = _arithmetic(key, last, value)
        if kind and getattr(chip, kind) == "none":
            yield case.problem(
                "numeric.bf16-or-fp16", f"{setting.name}: {setting.value}: {case.target.gpu} has no {kind} arithmetic",
                "The operations are done in fp32, or fail." if kind == "fp8" else "Every operation is done in fp32: use fp16.",
                (setting.place,), sources=chip.sources, stops=False, key=(setting.place.file, str(setting.place.line), case.target.gpu),
            )  # fmt: skip


def _arithmetic(key: str, last: str, value: str) -> str:
    """bf16 or fp8 where a setting asks for it; empty otherwise."""
    switched = last == "enabled" and key.rsplit(".", 2)[-2:-1] in (["bf16"], ["bfloat16"])
    if ((last in ("bf16", "use_bf16") or switched) and value in _YES) or (last in _DTYPES and value in _BF16):
        return "bf16"
    return "fp8" if (last in ("fp8", "enable_fp8", "fp8_base") and value in _YES) or (last in _DTYPES and value in _FP8) else ""
