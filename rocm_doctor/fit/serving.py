"""Memory of serving a model: weights, key and value cache, activations, by the rules of vLLM, llama.cpp and transformers.

Rules are from vllm/engine/arg_utils.py (`get_batch_defaults`: tokens of a pass, limit of sequences), vllm/v1/core/kv_cache_utils.py
(blocks of 16 tokens), ggml/src/ggml-common.h (bits of a block), llama.cpp src/llama-quant.cpp (which tensors a K_M mix keeps finer),
src/llama-context.cpp (micro-batches of 512). Layers with a sliding window: fit/windows.py. docs/fit.md says against what they were checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, Literal

import msgspec

from rocm_doctor.fit import windows
from rocm_doctor.fit.allocator import GIB
from rocm_doctor.fit.estimate import Bound
from rocm_doctor.fit.job import BYTES, Dtype
from rocm_doctor.fit.shape import Shape, served_shape

Engine = Literal["vllm", "llama.cpp", "transformers"]
K_QUANTS = {"q4_k_m": (4.5, 6.5625), "q5_k_m": (5.5, 6.5625)}
"""Bits a weight of the K_M mixes: of most tensors, and of the output head and half of the value and down projections."""
BITS = {
    "f32": 32.0, "f16": 16.0, "bf16": 16.0, "fp8": 8.0, "int8": 8.0, "awq": 4.15625, "gptq": 4.15625, "nf4": 4.5,
    "mxfp4": 4.25, "q8_0": 8.5, "q6_k": 6.5625, "q5_0": 5.5, "q4_0": 4.5, **{name: bits for name, (bits, _) in K_QUANTS.items()},
}  # fmt: skip
"""Bits a weight, scales included: 4-bit AWQ and GPTQ keep 16 bits of scale and 4 of zero for each group of 128, nf4 32 bits for
64, mxfp4 8 for 32, GGUF's blocks of 32 a 16-bit scale each, K-quants super-blocks of 256."""
FORMATS: dict[Engine, tuple[str, ...]] = {
    "vllm": ("bf16", "f16", "fp8", "int8", "awq", "gptq", "nf4", "mxfp4"),
    "llama.cpp": ("f16", "bf16", "f32", "q8_0", "q6_k", "q5_k_m", "q5_0", "q4_k_m", "q4_0", "mxfp4"),
    "transformers": ("bf16", "f16", "f32", "int8", "nf4"),
}
CACHES: dict[Engine, tuple[str, ...]] = {
    "vllm": ("bf16", "f16", "fp8"), "llama.cpp": ("f16", "bf16", "f32", "q8_0", "q5_0", "q4_0"), "transformers": ("bf16", "f16", "f32"),
}  # fmt: skip
DTYPES: dict[str, Dtype] = {"f32": "float32", "f16": "float16", "bf16": "bfloat16"}


class Serving(msgspec.Struct, frozen=True):
    """What is served. `batch` sequences of `context` tokens each at once; `weights` and `cache` are formats of BITS; `total` is the
    GPU's memory in bytes, which decides vLLM's defaults (None: unknown). `gpus`: how many divide the model (vLLM's tensor
    parallelism); all sizes are those of one of them. `share`: the part of a GPU's memory that the engine takes.
    """

    engine: Engine
    config: Mapping[str, Any]
    batch: int = 1
    context: int = 4096
    weights: str = ""
    cache: str = ""
    total: int | None = None
    gpus: int = 1
    share: float = 1.0

    @property
    def weight_format(self) -> str:
        """The format of the weights: as given, else the engine's first."""
        return self.weights or FORMATS[self.engine][0]

    @property
    def cache_format(self) -> str:
        """The format of keys and values: as given, else that of 16-bit weights."""
        return self.cache or (self.weight_format if self.weight_format in CACHES[self.engine] else CACHES[self.engine][0])

    @property
    def large(self) -> bool:
        """True for a GPU with vLLM's larger defaults."""
        return self.total is not None and self.total >= 70 * GIB

    @property
    def chunk(self) -> int:
        """Tokens that one pass takes at most."""
        tokens = self.batch * self.context
        return {"transformers": tokens, "llama.cpp": min(tokens, 512), "vllm": 8192 if self.large else 2048}[self.engine]


def validate(serving: Serving) -> Serving:
    """The same. Raises ValueError for a format that the engine does not have, or GPUs that cannot divide the model."""
    for wanted, known, what in ((serving.weights, FORMATS, "weights"), (serving.cache, CACHES, "cache")):
        if wanted and wanted not in known[serving.engine]:
            raise ValueError(f"{serving.engine} has no {what} in {wanted}: give one of {', '.join(known[serving.engine])}")
    if serving.weights == "mxfp4" and not served_shape(serving.config).experts:
        raise ValueError("mxfp4 is a format of experts, and this model has none")
    if serving.gpus > 1:
        _divides(serving)
    return serving


def _divides(serving: Serving) -> None:
    if serving.engine != "vllm":
        raise ValueError(
            f"--gpus with --serve divides the model as vLLM's tensor parallelism does; {serving.engine} was asked for"
        )
    shape = served_shape(serving.config)
    heads, few, many = shape.heads, *sorted((shape.kv_heads, serving.gpus))
    if heads % serving.gpus or many % few or shape.inner % serving.gpus:
        raise ValueError(
            f"{serving.gpus} GPUs cannot divide this model: vLLM asks for a divisor of its {heads} heads and of the MLP's {shape.inner} columns, "
            f"and for a divisor or a multiple of its {shape.kv_heads} key heads"
        )


def parts(serving: Serving) -> dict[str, int]:
    """Bytes on the GPU by what they hold. Raises shape.ShapeError for an architecture that the closed form does not cover."""
    shape = served_shape(serving.config)
    return {
        "weights": weights(shape, serving),
        "key and value cache": cache(shape, serving),
        "activations": activations(shape, serving),
    }


def weights(shape: Shape, serving: Serving) -> int:
    """Bytes of the weights on the GPU. Quantised formats keep norms, and outside of llama.cpp the embedding and the output head,
    in 16 bits; llama.cpp leaves the embedding in system memory. mxfp4 is of experts: the rest stays in 16 bits, in llama.cpp's files
    in q8_0. Several GPUs divide projections, embedding and head; norms and routers are on each.
    """
    bits, table = BITS[serving.weight_format], shape.vocabulary * shape.hidden
    experts = shape.layers * shape.expert_weights if serving.weight_format == "mxfp4" else 0
    linears = shape.layers * shape.linear_weights - experts
    rest = shape.parameters - linears - experts - shape.embedding_parameters
    if serving.engine == "llama.cpp":
        most, small = (8.5, 8.5) if experts else K_QUANTS.get(serving.weight_format, (bits, bits))
        finer = _finer(shape) if serving.weight_format in K_QUANTS else 0
        head = max(small, 6.5625) if bits < 8 else small
        return int((experts * bits + (linears - finer) * most + finer * small + table * head + rest * 32) / 8)
    dense = 16 if bits < 16 else bits
    plain = (linears + _copied_bytes(shape, serving)) * (dense if experts else bits)
    divided = experts * bits + plain + shape.embedding_parameters * dense
    return int((divided / serving.gpus + rest * dense) / 8)


def _copied_bytes(shape: Shape, serving: Serving) -> int:
    """Weights that more GPUs than key heads add: vLLM copies the key and value projections."""
    copies = max(1, serving.gpus // shape.kv_heads)
    return (copies - 1) * 2 * shape.layers * shape.hidden * shape.kv_width


def _finer(shape: Shape) -> int:
    """Weights that a K_M mix keeps in six bits: value and down projections of the first and last eighth of the layers and of every
    third between.
    """
    few, total = shape.layers // 8, shape.layers
    layers = sum(1 for n in range(total) if n < few or n >= 7 * total // 8 or (n - few) % 3 == 2)
    value, down = (prod(shape.linears.get(name, (0, 0))) for name in ("v_proj", "down_proj"))
    return layers * (value + down * (shape.experts.count if shape.experts else 1))


def cache(shape: Shape, serving: Serving) -> int:
    """Bytes of the keys and values of all sequences, on one GPU."""
    heads = max(1, shape.kv_heads // serving.gpus)
    return int(_token_layers(shape, serving) * 2 * heads * shape.head_dim * BITS[serving.cache_format] / 8)


def _token_layers(shape: Shape, serving: Serving) -> int:
    """Tokens that the cache keeps, those of every layer counted."""
    if serving.engine == "transformers":
        return shape.layers * cached_tokens(serving)
    few, window = windows.window_layers(serving.config, serving.engine)
    if serving.engine == "vllm":
        return windows.vllm_tokens(shape.layers, few, window, serving.batch, serving.context, serving.chunk)
    return windows.llama_cpp_tokens(shape.layers, few, window, serving.batch, serving.context)


def cached_tokens(serving: Serving) -> int:
    """Tokens that the cache has room for: vLLM's blocks hold 16, llama.cpp rounds the whole up to 256."""
    if serving.engine == "llama.cpp":
        return -(-serving.batch * serving.context // 256) * 256
    length = -(-serving.context // 16) * 16 if serving.engine == "vllm" else serving.context
    return serving.batch * length


def activations(shape: Shape, serving: Serving) -> int:
    """Bytes beside weights and cache at the highest moment.

    With experts, a token takes as many MLPs as it chooses. transformers: the MLP of a prompt: gate, up and their product, and four values of the model's width. vLLM: the same of one chunk,
    or the sampler's ten float32 tensors of sequences x vocabulary, which its start-up profile runs at its limit of sequences.
    llama.cpp with flash attention: the logits of a micro-batch in float32 and two values of the model's width, three where the cache is
    quantised.
    """
    width = BYTES[DTYPES.get(serving.weight_format, "bfloat16")]
    chunk = serving.chunk
    wide = (3 if shape.gated else 2) * (
        shape.inner if not shape.experts else shape.experts.chosen * shape.inner + shape.experts.shared
    )
    mlp = chunk * width * (wide // serving.gpus + 4 * shape.hidden)
    if serving.engine == "transformers":
        return mlp
    if serving.engine == "vllm":
        return max(mlp, 10 * 4 * (1024 if serving.large else 256) * shape.vocabulary)
    return chunk * 4 * (shape.vocabulary + shape.hidden * (2 if BITS[serving.cache_format] >= 16 else 3))


MEASURED = "twice the worst error on five generations on an NVIDIA H200, 3 % at least (docs/fit.md); no AMD GPU was measured"
CLOSED: dict[Engine, Bound] = {
    "transformers": Bound(0.03, 0.25, MEASURED),
    "llama.cpp": Bound(0.10, 0.10, "buffers that its CPU build reported for three models (docs/fit.md); no GPU was measured"),
    "vllm": Bound(
        0.10, 0.10, "figures that vLLM printed and users published, and its CPU build (docs/fit.md); no GPU was measured"
    ),
}
"""How far the sum may be off by arithmetic, and on what that rests."""
SIMULATED = Bound(0.03, 0.06, MEASURED)
"""The same for a simulated generation with transformers."""


def room_for_tokens(serving: Serving, room: int) -> int:
    """Tokens whose keys and values fit into `room` bytes beside weights and activations, in sequences of the same length.
    transformers' activations grow with them.
    """
    shape = served_shape(serving.config)
    each, fixed = cache(shape, serving), activations(shape, serving)
    if serving.engine == "transformers":
        each, fixed = each + fixed, 0
    return max(0, (room - weights(shape, serving) - fixed) * cached_tokens(serving) // each)
