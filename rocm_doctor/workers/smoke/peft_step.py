"""LoRA the way people train it: a small Llama of transformers, adapters of peft. Built from a configuration, nothing is
downloaded.
"""

from __future__ import annotations

import copy
import importlib
import importlib.util
import os
import tempfile
from typing import Any

from .compare import Skip, Wrong, tolerance
from .on_torch import TorchContext

LAYERS, WIDTH, WORDS, LENGTH, STEPS, RATE = 2, 64, 256, 33, 5, 1e-2
LOGIT_STEPS = 32 * LAYERS
"""Roundings in fp32 on the way to a logit: a Llama layer has two norms (4 each), rotary position (4), attention (7, see
attention.py), the gated MLP (4) and two sums; twice that, since angles of the rotary position are themselves computed in fp32.
"""


def peft(context: TorchContext) -> dict[str, Any]:
    """Logits against float64, training with and without gradient checkpointing, save and reload. Reasons: see the functions."""
    library, peft_library = package("transformers"), package("peft")
    with context.full_precision():
        base = small_llama(context, library)
        words = context.torch.randint(0, WORDS, (4, LENGTH), generator=context.generator)
        worst = same_logits(context, base, words)
        ends = {}
        for checkpointing in (False, True):
            name = "with checkpointing" if checkpointing else "plain"
            model, losses = fine_tune(context, base, peft_library, words, checkpointing, name)
            ends[name] = [losses[0], losses[-1]]
        reload(context, model, base, peft_library, words)
    return {"transformers": library.__version__, "peft": peft_library.__version__, "logit_error": worst, "losses": ends}


def package(name: str) -> Any:
    """The imported package. Raises Skip if it is not installed, and Wrong (import-NAME, with the words of the error) if it cannot
    be imported."""
    os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
    if importlib.util.find_spec(name) is None:
        raise Skip("not-installed", f"{name} is not installed")
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise Wrong("import-" + name, f"import {name}: {type(error).__name__}: {error}") from error


def part(library: Any, name: str) -> Any:
    """A class of the library. It is loaded on access, so a broken installation shows here: raises Wrong with the reason
    import-LIBRARY."""
    try:
        return getattr(library, name)
    except Exception as error:
        raise Wrong("import-" + library.__name__, f"{library.__name__}.{name}: {type(error).__name__}: {error}") from error


def small_llama(context: TorchContext, library: Any) -> Any:
    """A Llama model with small layers and random weights."""
    context.report("building a small Llama from its configuration")
    shape = {
        "hidden_size": WIDTH,
        "intermediate_size": 2 * WIDTH,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
    }
    configuration = part(library, "LlamaConfig")(vocab_size=WORDS, max_position_embeddings=2 * LENGTH, use_cache=False, **shape)
    context.torch.manual_seed(20)
    return part(library, "LlamaForCausalLM")(configuration)


def same_logits(context: TorchContext, base: Any, words: Any) -> float:
    """Compare the logits with those of the CPU."""
    torch = context.torch
    context.report("logits of the small Llama")
    with torch.no_grad():
        want = copy.deepcopy(base).double()(input_ids=words).logits
        got = copy.deepcopy(base).to(context.device)(input_ids=context.put(words)).logits
    return context.check(
        "logits of the small Llama", got, want, tolerance(torch.finfo(torch.float32).eps, 2 * WIDTH, LOGIT_STEPS)
    )


def fine_tune(context: TorchContext, base: Any, library: Any, words: Any, checkpointing: bool, name: str) -> Any:
    """A few AdamW steps of LoRA on a copy of `base`; returns the model and its losses. Raises Wrong: no-progress, nan, zeros (an
    adapter without gradient), base-changed."""
    torch = context.torch
    context.report(f"{STEPS} training steps through peft, {name}")
    torch.manual_seed(21)
    adapters = part(library, "LoraConfig")(
        r=8, lora_alpha=16, target_modules=["q_proj", "k_proj", "v_proj", "o_proj"], task_type="CAUSAL_LM"
    )
    model = part(library, "get_peft_model")(copy.deepcopy(base), adapters).to(context.device)
    if checkpointing:
        model.enable_input_require_grads()
        (getattr(model, "activation_checkpointing_enable", None) or model.gradient_checkpointing_enable)()  # the older name
    model.train()
    losses = steps(context, model, context.put(words))
    check_training(torch, model, base, losses, name)
    return model, losses


def steps(context: TorchContext, model: Any, words: Any) -> list[float]:
    """Losses of a few training steps. Raises Wrong as check_gradients does."""
    trained = [tensor for tensor in model.parameters() if tensor.requires_grad]
    optimizer = context.torch.optim.AdamW(trained, lr=RATE)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = model(input_ids=words, labels=words).loss
        loss.backward()
        check_gradients(context.torch, trained)
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses


def check_gradients(torch: Any, trained: list[Any]) -> None:
    """Raises Wrong: nan if a gradient is not finite, zeros if all are zero. (Those of the first factor are at the first step: the
    second is zero.)"""
    gradients = [tensor.grad for tensor in trained if tensor.grad is not None]
    if not all(bool(torch.isfinite(gradient).all()) for gradient in gradients):
        raise Wrong("nan", "a gradient of the adapters is not finite")
    if not any(bool(gradient.any()) for gradient in gradients):
        raise Wrong("zeros", "the gradients of all adapters are zero")


def check_training(torch: Any, model: Any, base: Any, losses: list[float], name: str) -> None:
    """Raises Wrong: zeros (an adapter without gradient at the last step), no-progress, base-changed."""
    for key, tensor in model.named_parameters():
        if tensor.requires_grad and (tensor.grad is None or not bool(tensor.grad.any())):
            raise Wrong("zeros", f"{name}: no gradient in {key} at the last step")
    if not losses[-1] < losses[0]:
        raise Wrong("no-progress", f"{name}: the loss went from {losses[0]:.4g} to {losses[-1]:.4g}")
    before = base.state_dict()
    for key, tensor in model.get_base_model().state_dict().items():
        plain = before.get(key.replace(".base_layer", ""))
        if "lora_" not in key and plain is not None and not torch.equal(tensor.to("cpu"), plain):
            raise Wrong("base-changed", f"{name}: the frozen weight {key} changed")


def reload(context: TorchContext, model: Any, base: Any, library: Any, words: Any) -> None:
    """Save the adapter, and load it onto a fresh copy of the base: the logits are equal up to the order of sums. Reason:
    reload-mismatch."""
    torch = context.torch
    context.report("saving and reloading the adapter")
    model.eval()
    here = context.put(words)
    with tempfile.TemporaryDirectory(prefix="rocm-doctor-") as folder, torch.no_grad():
        model.save_pretrained(folder)
        again = part(library, "PeftModel").from_pretrained(copy.deepcopy(base), folder).to(context.device).eval()
        got, want = again(input_ids=here).logits, model(input_ids=here).logits
    try:
        context.check("logits after reload", got, want, tolerance(torch.finfo(torch.float32).eps, 2 * WIDTH, LOGIT_STEPS))
    except Wrong as wrong:
        raise Wrong("reload-" + wrong.reason, str(wrong), **wrong.details) from None
