"""What a config.json says about sizes, in one vocabulary for all decoder-only model types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from rocm_doctor.fit.job import SEVEN

QK_NORM = ("qwen3", "qwen3_moe", "gemma3_text")
FUSED = {"phi3": ("qkv_proj", "o_proj", "gate_up_proj", "down_proj")}
GEMMA = ("gemma2", "gemma3_text")
"""Four norms a layer instead of two, each of which multiplies by 1 + weight in float32."""
WINDOWED = ("mistral", "phi3", "gemma3_text")
"""Types that apply `sliding_window`. A longer sequence then needs a mask, and with a mask neither flash nor grouped heads are
used."""


class ShapeError(ValueError):
    """The config lacks a size, or describes a model that the closed form does not cover."""


EXPERTS = ("mixtral", "qwen2_moe", "qwen3_moe")
"""Types with experts in every layer."""
KNOWN = ("llama", "mistral", "qwen2", "qwen3", "phi3", "gemma2", "gemma3_text", *EXPERTS)
"""Types whose layers the closed form counts. Another one may keep other tensors: the simulation runs its own code."""
MLP = ("gate_proj", "up_proj", "down_proj")


class Experts(msgspec.Struct, frozen=True):
    """The experts of each layer: how many, how many of them a token takes, and the width of the one that all tokens take (0: none)."""

    count: int
    chosen: int
    shared: int = 0


class ModelShape(msgspec.Struct, frozen=True):
    """Sizes of a decoder-only transformer. `linears` maps each projection of one layer to (inputs, outputs). With `experts`,
    `inner` and the MLP's entries in `linears` are of one expert. `biases` is the number of parameters of one layer that are
    neither in `linears` nor norms. `norms` is the number of norms of one layer, each of `hidden` weights. `window` is the sliding
    window of attention in tokens; 0 for none."""

    layers: int
    hidden: int
    inner: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    tied: bool
    linears: dict[str, tuple[int, int]]
    biases: int
    norms: int
    qk_norm: bool
    softcap: bool
    gemma_norm: bool
    fused_qkv: bool
    window: int
    experts: Experts | None = None

    @property
    def query_width(self) -> int:
        return self.heads * self.head_dim

    @property
    def kv_width(self) -> int:
        """Width of all key heads, equal to that of the values."""
        return self.kv_heads * self.head_dim

    @property
    def projections(self) -> dict[str, tuple[int, int]]:
        """(inputs, outputs) by name of the linears of one layer that are modules of their own in transformers. Dense: all. With
        experts: attention's and the shared expert's; the other experts are two tensors, which LoRA and bitsandbytes leave
        alone."""
        if not self.experts:
            return self.linears
        own = {name: size for name, size in self.linears.items() if name not in MLP}
        sizes = ((self.hidden, self.experts.shared), (self.hidden, self.experts.shared), (self.experts.shared, self.hidden))
        return {**own, **dict(zip(MLP, sizes))} if self.experts.shared else own

    @property
    def inner_of_all(self) -> int:
        """Width of the MLP that every token takes; 0 where there are experts and none is shared."""
        return self.experts.shared if self.experts else self.inner

    @property
    def linear_weights(self) -> int:
        """Weights of all projections of one layer, of every expert."""
        return sum(a * b for name, (a, b) in self.linears.items() if name not in MLP or not self.experts) + self.expert_weights

    @property
    def expert_weights(self) -> int:
        """Weights of all experts of one layer, the shared one included; 0 for a dense model."""
        expert = sum(a * b for name, (a, b) in self.linears.items() if name in MLP)
        return expert * self.experts.count + expert // self.inner * self.experts.shared if self.experts else 0

    @property
    def layer_parameters(self) -> int:
        return self.linear_weights + self.biases + self.norms * self.hidden + (2 * self.head_dim if self.qk_norm else 0)

    @property
    def embedding_parameters(self) -> int:
        """Parameters of the token embedding, and of the output head unless it is tied."""
        return self.vocabulary * self.hidden * (1 if self.tied else 2)

    @property
    def parameters(self) -> int:
        return self.layers * self.layer_parameters + self.embedding_parameters + self.hidden

    def adapted_linears(self, targets: tuple[str, ...]) -> dict[str, tuple[int, int]]:
        """(inputs, outputs) by name of the linears that LoRA adapts; `all-linear` is all of `projections`."""
        return self.projections if targets == ("all-linear",) else {n: s for n, s in self.projections.items() if n in targets}


def read_shape(config: Mapping[str, Any]) -> ModelShape:
    """Sizes of a model that is trained. Raises ShapeError when one is missing or the architecture is another."""
    kind = config.get("model_type", "")
    if kind not in KNOWN:
        raise ShapeError(f"{kind}: the closed form knows {', '.join(KNOWN)}; install torch and transformers to simulate")
    experts = _experts(config, kind) if kind in EXPERTS else None
    hidden, heads = _size(config, "hidden_size"), _size(config, "num_attention_heads")
    kv_heads = config.get("num_key_value_heads") or heads
    inner = _size(config, "moe_intermediate_size" if experts and kind.startswith("qwen") else "intermediate_size")
    dim = config.get("head_dim") or hidden // heads
    linears = _linears(kind, hidden, inner, heads * dim, kv_heads * dim)
    return ModelShape(
        layers=_size(config, "num_hidden_layers"), hidden=hidden, inner=inner, heads=heads, kv_heads=kv_heads, head_dim=dim,
        vocabulary=_size(config, "vocab_size"), tied=_has_tied_weights(config, kind), linears=linears,
        biases=_biases(kind, hidden, heads, kv_heads, dim, experts), norms=4 if kind in GEMMA else 2, qk_norm=kind in QK_NORM,
        softcap=kind == "gemma2", gemma_norm=kind in GEMMA, fused_qkv=kind in FUSED,
        window=int(config.get("sliding_window") or 0) if kind in WINDOWED else 0, experts=experts,
    )  # fmt: skip


def _experts(config: Mapping[str, Any], kind: str) -> Experts:
    """The experts. Raises ShapeError where not every layer has them."""
    if config.get("mlp_only_layers") or config.get("decoder_sparse_step", 1) != 1:
        raise ShapeError(f"{kind}: layers with and without experts in one model are not covered")
    shared = _size(config, "shared_expert_intermediate_size") if kind == "qwen2_moe" else 0
    count = _size(config, "num_local_experts" if kind == "mixtral" else "num_experts")
    return Experts(count, _size(config, "num_experts_per_tok"), shared)


def _biases(kind: str, hidden: int, heads: int, kv_heads: int, dim: int, experts: Experts | None) -> int:
    """Parameters of a layer beside linears and norms: biases, the router of experts, the gate of a shared one."""
    attention = (heads + 2 * kv_heads) * dim if kind in ("qwen2", "qwen2_moe") else 0
    return attention + (experts.count * hidden + (hidden if experts.shared else 0) if experts else 0)


def _has_tied_weights(config: Mapping[str, Any], kind: str) -> bool:
    """True if the output head shares the weights of the embedding. If the config does not say: True for Gemma only, the default
    of its type."""
    return bool(config.get("tie_word_embeddings", kind.startswith("gemma")))


def _size(config: Mapping[str, Any], key: str) -> int:
    value = config.get(key)
    if not isinstance(value, int) or value <= 0:
        raise ShapeError(f"config.json has no usable {key}")
    return value


def _linears(kind: str, hidden: int, inner: int, query: int, kv: int) -> dict[str, tuple[int, int]]:
    if kind in FUSED:
        sizes = [(hidden, query + 2 * kv), (query, hidden), (hidden, 2 * inner), (inner, hidden)]
        return dict(zip(FUSED[kind], sizes))
    sizes = [(hidden, query), (hidden, kv), (hidden, kv), (query, hidden), (hidden, inner), (hidden, inner), (inner, hidden)]
    return dict(zip(SEVEN, sizes))
