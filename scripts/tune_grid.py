"""A plain grid of training configurations, to compare `rocm-doctor tune` with: transformers and peft, nothing of the doctor.

    python scripts/tune_grid.py grid MODEL METHOD SEQUENCES SEQ SECONDS        one line of JSON for each configuration
    python scripts/tune_grid.py hold MODEL METHOD SECONDS CONFIGURATION...     runs of so many seconds, in turn

MODEL is the JSON of a config.json. A configuration is JSON: batch, accum, ckpt, dtype, autocast, adapter, fused, attn, optimizer.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import json
import sys
import time
from collections.abc import Iterator
from typing import Any

NUMERICS = {
    "lora": [
        ("bfloat16", None, "float32"),
        ("bfloat16", None, "bfloat16"),
        ("bfloat16", "bfloat16", "float32"),
        ("float32", "bfloat16", "float32"),
    ],
    "full": [("bfloat16", None, "float32"), ("float32", "bfloat16", "float32")],
}


def grid(method: str, sequences: int) -> Iterator[dict[str, Any]]:
    """All configurations, the largest micro-batches first."""
    batches = [n for n in (16, 8, 4, 2) if n <= sequences and sequences % n == 0]
    for batch, ckpt, fused, numerics in itertools.product(batches, (False, True), (False, True), NUMERICS[method]):
        dtype, autocast, adapter = numerics
        yield {
            "batch": batch, "accum": sequences // batch, "ckpt": ckpt, "fused": fused, "dtype": dtype, "autocast": autocast,
            "adapter": adapter, "attn": "sdpa", "optimizer": "adamw_fused",
        }  # fmt: skip


def build(config: dict[str, Any], method: str, one: dict[str, Any]) -> tuple[Any, Any]:
    """The model with random weights on the GPU, and its optimizer."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoConfig, AutoModelForCausalLM
    from transformers.initialization import no_init_weights

    torch.manual_seed(0)
    fields = dict(config)
    made = AutoConfig.for_model(fields.pop("model_type"), **fields)
    made.use_cache = False
    with no_init_weights(), torch.device("cuda"):
        model = AutoModelForCausalLM.from_config(made, dtype=getattr(torch, one["dtype"]), attn_implementation=one["attn"])
    model.tie_weights()
    if method == "lora":
        lora = LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM")
        model = get_peft_model(model, lora, autocast_adapter_dtype=one["adapter"] == "float32")
    if one["ckpt"]:
        model.gradient_checkpointing_enable()
        if method == "lora":
            model.enable_input_require_grads()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0.0, 0.02)
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-4, fused=one["optimizer"] == "adamw_fused", foreach=one["optimizer"] == "adamw")
    return model.train(), optimizer


def loss(model: Any, ids: Any, one: dict[str, Any]) -> Any:
    """The loss, or with `fused` the head and the loss of eight parts of the tokens, each recomputed in the backward pass."""
    import torch
    from torch.utils.checkpoint import checkpoint

    cast = torch.autocast("cuda", dtype=getattr(torch, one["autocast"])) if one["autocast"] else contextlib.nullcontext()
    with cast:
        if not one["fused"]:
            return model(input_ids=ids, labels=ids).loss
        core = model.get_base_model() if hasattr(model, "get_base_model") else model
        hidden, labels = core.model(input_ids=ids)[0].flatten(0, 1), ids.flatten()

        def part(states: Any, wanted: Any) -> Any:
            return torch.nn.functional.cross_entropy(core.lm_head(states).float(), wanted, reduction="sum")

        parts = zip(hidden.chunk(8), labels.chunk(8))
        return sum(checkpoint(part, *pair, use_reentrant=False) for pair in parts) / len(labels)


def step(model: Any, optimizer: Any, vocabulary: int, seq: int, one: dict[str, Any], most: int) -> float:
    """Seconds of an optimizer step; the last of `most` micro-batches stands for the rest."""
    import torch

    began, last = time.perf_counter(), 0.0
    ran = min(most, one["accum"])
    for _ in range(ran):
        start = time.perf_counter()
        ids = torch.randint(0, vocabulary, (one["batch"], seq), device="cuda")
        loss(model, ids, one).backward()
        if ran < one["accum"]:
            torch.cuda.synchronize()
            last = time.perf_counter() - start
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    torch.cuda.synchronize()
    return float(time.perf_counter() - began + last * (one["accum"] - ran))


def measured(config: dict[str, Any], method: str, seq: int, one: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Tokens a second and peaks in GiB; one step after a warm one, or whole steps for so many seconds."""
    import torch

    torch.cuda.reset_peak_memory_stats()
    model = optimizer = None
    try:
        model, optimizer = build(config, method, one)
        step(model, optimizer, config["vocab_size"], seq, one, 1)
        until = time.perf_counter() + seconds
        times: list[float] = []
        while not times or time.perf_counter() < until:
            times.append(step(model, optimizer, config["vocab_size"], seq, one, one["accum"] if seconds else 2))
        tokens = one["batch"] * one["accum"] * seq
        speed = tokens * len(times) / sum(times) if seconds else tokens / min(times)
        return {
            **one,
            "tokens_s": round(speed),
            "allocated": torch.cuda.max_memory_allocated() / 2**30,
            "reserved": torch.cuda.max_memory_reserved() / 2**30,
        }
    except torch.OutOfMemoryError:
        return {**one, "tokens_s": 0}
    finally:
        del model, optimizer
        gc.collect()
        torch.cuda.empty_cache()


def main(argv: list[str]) -> None:
    """Entry point."""
    what, model, method = argv[:3]
    config = json.loads(model)
    if what == "hold":
        for text in argv[4:] * 2:
            one = json.loads(text)
            print(json.dumps({"held": measured(config, method, one["seq"], one, float(argv[3]) / 2)}), flush=True)
        return
    sequences, seq, until = int(argv[3]), int(argv[4]), time.monotonic() + float(argv[5])
    measured(config, method, seq, next(grid(method, sequences)), 0)
    for one in grid(method, sequences):
        if time.monotonic() > until:
            print(json.dumps({"left out": one}), flush=True)
            continue
        print(json.dumps(measured(config, method, seq, one, 0)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
