"""`tune` measures the run that `fit` predicts: every field of a job changes the operators of a step."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from rocm_doctor.fit.job import Job

pytestmark = [
    pytest.mark.torch("transformers"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]  # peft calls an older name of transformers

TINY = {
    "model_type": "llama", "vocab_size": 64, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2,
}  # fmt: skip
BASE = Job(TINY, targets=("q_proj", "v_proj"), rank=4, batch=2, seq=16, optimizer="adamw", checkpointing=False)
OTHER: dict[str, Any] = {
    "config": {**TINY, "hidden_size": 64}, "method": "full", "rank": 8, "targets": ("all-linear",), "dropout": 0.5, "adapter_dtype": "bfloat16",
    "dtype": "float32", "autocast": "float16", "batch": 3, "seq": 24, "grad_accum": 2, "checkpointing": True, "implementation": "eager",
    "optimizer": "sgd", "fused_loss": True, "quant_bits": 4,
}  # fmt: skip
WITH_BITS = {"double_quant": True, "kbit_prepare": False}
"""Fields that mean something beside `quant_bits` only: bitsandbytes' layers need a GPU, and are refused here."""


def operators(job: Job) -> list[tuple[str, str]]:
    """The operators of a measured step with the shapes and types of what they return, on the CPU."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_flatten

    from rocm_doctor.workers.fit import build
    from rocm_doctor.workers.fit.loss import batch_loss
    from rocm_doctor.workers.tune.main import fill

    seen: list[tuple[str, str]] = []

    class Seen(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            out = func(*args, **(kwargs or {}))
            seen.append(
                (str(func), str([(tuple(t.shape), t.dtype) for t in tree_flatten(out)[0] if isinstance(t, torch.Tensor)]))
            )
            return out

    fields = {
        **msgspec.json.decode(msgspec.json.encode({n: getattr(job, n) for n in job.__struct_fields__ if n != "kernels"})),
        "device": "cpu",
    }
    model = build.build_model(fields, "cpu")
    fill(model)
    optimizer = build.build_optimizer(model, fields)
    with Seen():
        for _ in range(fields["grad_accum"]):
            ids = torch.randint(0, 64, (fields["batch"], fields["seq"]))
            batch_loss(model, ids, fields).backward()
        optimizer.step()
    return seen


def test_every_field_of_a_job_is_here() -> None:
    assert set(Job.__struct_fields__) == {*OTHER, *WITH_BITS, "kernels"}  # torch chooses its kernels


@pytest.mark.parametrize("field", OTHER)
def test_a_field_changes_what_is_measured(field: str) -> None:
    pytest.importorskip("peft")
    changed = msgspec.structs.replace(BASE, **{field: OTHER[field]})
    if field == "quant_bits":
        with pytest.raises((ImportError, RuntimeError, AssertionError)):
            operators(changed)
    else:
        assert operators(changed) != operators(BASE)


def test_weights_to_quantise_are_drawn_once_for_each_shape() -> None:
    """8 billion numbers drawn on the CPU were why QLoRA of an 8B model was not measured within 200 s."""
    import torch

    from rocm_doctor.workers.fit.quant import random_weight

    first = random_weight((8, 4), torch.bfloat16)
    assert random_weight((8, 4), torch.bfloat16) is first
    assert first.std() > 0
