"""Build the model, its adapters and its optimizer from a job: the same code for the meta device and for a GPU.

A job is a dict; its fields are those of `rocm_doctor.fit.job.Job`.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn


def build_model(job: dict[str, Any], device: str) -> Any:
    """The model of the job on `device`, in training mode, with adapters and checkpointing as asked; weights are uninitialised."""
    model = base_model(job, device)
    if job["quant_bits"]:
        from .quant import quantise

        quantise(model, job)
    if job["method"] != "full":
        model = add_adapters(model, job)
    if job["checkpointing"]:
        checkpoint(model, job)
    return model.train()


def base_model(job: dict[str, Any], device: str) -> Any:
    """The model without adapters."""
    from transformers import AutoConfig, AutoModelForCausalLM

    fields = dict(job["config"])
    config = AutoConfig.for_model(fields.pop("model_type"), **fields)
    config.use_cache = False
    dtype = getattr(torch, job["dtype"])
    with no_init(), torch.device(device):
        model = from_config(AutoModelForCausalLM, config, dtype, job["implementation"])
    model.tie_weights()
    return model


def from_config(auto: Any, config: Any, dtype: Any, implementation: str) -> Any:
    """The model of a config. Attention is eager where the type of model refuses the other one (Gemma 2). Before transformers 4.56
    the dtype is `torch_dtype`."""
    try:
        return auto.from_config(config, dtype=dtype, attn_implementation=implementation)
    except TypeError:
        return auto.from_config(config, torch_dtype=dtype, attn_implementation=implementation)
    except ValueError:
        if implementation == "eager":
            raise
        return from_config(auto, config, dtype, "eager")


def no_init() -> Any:
    """transformers' switch against initialising weights; it moved in 5.0."""
    import importlib

    try:
        place = importlib.import_module("transformers.initialization")
    except ImportError:
        place = importlib.import_module("transformers.modeling_utils")
    return place.no_init_weights()


def checkpoint(model: Any, job: dict[str, Any]) -> None:
    """Checkpoint every layer. Frozen embeddings need `enable_input_require_grads`, or no gradient would reach the adapters."""
    enable = getattr(model, "activation_checkpointing_enable", None) or model.gradient_checkpointing_enable  # the older name
    if job["autocast"]:
        from .kernels import Autocast

        dtype = getattr(torch, job["autocast"])
        again = lambda: (_nothing(), Autocast(dtype))  # noqa: E731
        options = {"use_reentrant": False} if job["device"] != "meta" else {"use_reentrant": False, "context_fn": again}
        enable(options)
    else:
        enable()
    if job["method"] != "full":
        model.enable_input_require_grads()


def _nothing() -> Any:
    import contextlib

    return contextlib.nullcontext()


def add_adapters(model: Any, job: dict[str, Any]) -> Any:
    """LoRA by peft where it is installed, else by modules that make the same tensors (`Lora`)."""
    if job["quant_bits"] and job["device"] == "meta":
        return inject(model, job)  # peft refuses the stand-ins for bitsandbytes' layers
    try:
        from peft import LoraConfig, get_peft_model
    except ImportError:
        return inject(model, job)
    config = LoraConfig(
        r=job["rank"], lora_alpha=2 * job["rank"], lora_dropout=job["dropout"], target_modules=targets(job), task_type="CAUSAL_LM"
    )
    model = get_peft_model(model, config, autocast_adapter_dtype=False)
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.data = parameter.data.to(adapter_dtype(job))
    return model


def adapter_dtype(job: dict[str, Any]) -> Any:
    """The dtype of the adapters: float32 is what peft makes of 16 bits unless told otherwise."""
    return getattr(torch, job["adapter_dtype"])


def targets(job: dict[str, Any]) -> str | list[str]:
    """The linears that adapters are added to."""
    names = list(job["targets"])
    return "all-linear" if names == ["all-linear"] else names


def inject(model: Any, job: dict[str, Any]) -> Any:
    """Freeze the model and put `Lora` in place of its target layers. Raises ValueError where peft would adapt experts instead."""
    if getattr(model.config, "model_type", "") == "qwen3_moe" and set(job["targets"]) & {"gate_proj", "up_proj", "down_proj"}:
        raise ValueError("LoRA on the tensors of experts is simulated with peft, in 16 or 32 bits")
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    for module in list(model.modules()):
        for name, layer in list(module.named_children()):
            if _is_target(name, layer, job["targets"]):
                setattr(module, name, Lora(layer, job["rank"], job["dropout"], adapter_dtype(job)))
    return model


def _is_target(name: str, layer: Any, names: list[str]) -> bool:
    if not hasattr(layer, "in_features"):
        return False
    return name != "lm_head" if list(names) == ["all-linear"] else name in names


class Lora(nn.Module):
    """base(x) + B(A(dropout(x))) * 2 with adapters of their own dtype: tensor for tensor what peft's LoRA layer for a linear one makes."""

    def __init__(self, base: Any, rank: int, dropout: float, dtype: Any) -> None:
        super().__init__()
        self.base = base
        options = {"bias": False, "device": base.weight.device, "dtype": dtype}
        self.down = nn.Linear(base.in_features, rank, **options)
        self.up = nn.Linear(rank, base.out_features, **options)
        self.dropout = nn.Dropout(dropout) if dropout else nn.Identity()

    def forward(self, x: Any) -> Any:
        out = self.base(x)
        dtype = out.dtype
        x = x.to(self.down.weight.dtype)
        out = out + self.up(self.down(self.dropout(x))) * 2.0
        return out.to(dtype)


def build_optimizer(model: Any, job: dict[str, Any]) -> Any:
    """The optimizer that `job["optimizer"]` names, over the parameters that require a gradient. `adamw` and `sgd` always get
    `foreach=True`, which torch picks by itself only on a GPU. On the meta device the fused, 8-bit and paged ones, and any unknown
    name, become `Moments`. Elsewhere an unknown name raises KeyError, and the 8-bit and paged ones raise ImportError without
    bitsandbytes."""
    trained = [p for p in model.parameters() if p.requires_grad]
    name, meta = job["optimizer"], job["device"] == "meta"
    if name == "adamw":
        return torch.optim.AdamW(trained, lr=1e-4, foreach=True)
    if name == "sgd":
        return torch.optim.SGD(trained, lr=1e-4, foreach=True)
    if name == "adafactor":
        from transformers.optimization import Adafactor

        return Adafactor(trained, lr=1e-4, relative_step=False, scale_parameter=False)
    if name == "adamw_fused" and not meta:
        return torch.optim.AdamW(trained, lr=1e-4, fused=True)
    if meta:
        return Moments(trained, bits=8 if "8bit" in name else None, paged=name.startswith("paged"))
    import bitsandbytes

    return {
        "adamw_8bit": bitsandbytes.optim.AdamW8bit,
        "paged_adamw_8bit": bitsandbytes.optim.PagedAdamW8bit,
        "paged_adamw": bitsandbytes.optim.PagedAdamW,
    }[name](trained, lr=1e-4)


class Moments(torch.optim.Optimizer):
    """On the meta device, where only its states matter: AdamW with two states per parameter, updated in place.

    `bits` None: both in the parameter's dtype (torch's fused AdamW). `bits` 8: one byte each and one float32 scale per 256
    values, float32 below 4096 values (bitsandbytes/optim/optimizer.py). `paged`: in host memory that the driver pages in, so
    nothing is allocated.
    """

    def __init__(self, params: Any, bits: int | None, paged: bool) -> None:
        super().__init__(params, {"bits": bits, "paged": paged})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None and not self.state[parameter] and not group["paged"]:
                    self.state[parameter].update(_new_states(parameter, group["bits"]))


def _new_states(parameter: Any, bits: int | None) -> dict[str, Any]:
    if bits is None:
        return {"first": torch.zeros_like(parameter), "second": torch.zeros_like(parameter)}
    if parameter.numel() < 4096:
        return {name: torch.zeros_like(parameter, dtype=torch.float32) for name in ("first", "second")}
    blocks = -(-parameter.numel() // 256)
    states = {name: torch.zeros_like(parameter, dtype=torch.uint8) for name in ("first", "second")}
    states.update({name + "_scale": parameter.new_zeros(blocks, dtype=torch.float32) for name in ("first", "second")})
    return states
