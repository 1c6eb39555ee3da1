"""Memory of serving a model: weights, key and value cache, activations, by the rules of vLLM, llama.cpp and transformers.

Rules are from vllm/engine/arg_utils.py (`get_batch_defaults`: tokens of a pass, limit of sequences), vllm/v1/core/kv_cache_utils.py
(blocks of 16 tokens), ggml/src/ggml-common.h (bits of a block), llama.cpp src/llama-quant.cpp (which tensors a K_M mix keeps finer),
src/llama-context.cpp (micro-batches of 512). docs/frameworks.md says against what they were checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from rocm_doctor.fit.allocator import GIB
from rocm_doctor.fit.estimate import Bound
from rocm_doctor.fit.job import BYTES, Dtype
from rocm_doctor.fit.shape import Shape, shape_of

Engine = Literal["vllm", "llama.cpp", "transformers"]
K_QUANTS = {"q4_k_m": (4.5, 6.5625), "q5_k_m": (5.5, 6.5625)}
"""Bits a weight of the K_M mixes: of most tensors, and of the output head and half of the value and down projections."""
BITS = {
    "f32": 32.0, "f16": 16.0, "bf16": 16.0, "fp8": 8.0, "int8": 8.0, "awq": 4.15625, "gptq": 4.15625, "nf4": 4.5,
    "q8_0": 8.5, "q6_k": 6.5625, "q5_0": 5.5, "q4_0": 4.5, **{name: bits for name, (bits, _) in K_QUANTS.items()},
}  # fmt: skip
"""Bits a weight, scales included: 4-bit AWQ and GPTQ keep 16 bits of scale and 4 of zero for each group of 128, nf4 32 bits for
64, GGUF's blocks of 32 a 16-bit scale each, K-quants super-blocks of 256."""
FORMATS: dict[Engine, tuple[str, ...]] = {
    "vllm": ("bf16", "f16", "fp8", "int8", "awq", "gptq", "nf4"),
    "llama.cpp": ("f16", "bf16", "f32", "q8_0", "q6_k", "q5_k_m", "q5_0", "q4_k_m", "q4_0"),
    "transformers": ("bf16", "f16", "f32", "int8", "nf4"),
}
CACHES: dict[Engine, tuple[str, ...]] = {
    "vllm": ("bf16", "f16", "fp8"), "llama.cpp": ("f16", "bf16", "f32", "q8_0", "q5_0", "q4_0"), "transformers": ("bf16", "f16", "f32"),
}  # fmt: skip
DTYPES: dict[str, Dtype] = {"f32": "float32", "f16": "float16", "bf16": "bfloat16"}


class Serving(msgspec.Struct, frozen=True):
    """What is served. `batch` sequences of `context` tokens each at once; `weights` and `cache` are formats of BITS; `total` is the
    GPU's memory in bytes, which decides vLLM's defaults (None: unknown).
    """

    engine: Engine
    config: Mapping[str, Any]
    batch: int = 1
    context: int = 4096
    weights: str = ""
    cache: str = ""
    total: int | None = None

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

    @property
    def share(self) -> float:
        """The part of the GPU's memory that the engine takes: vLLM's --gpu-memory-utilization."""
        return 0.9 if self.engine == "vllm" else 1.0


def checked(serving: Serving) -> Serving:
    """The same. Raises ValueError for a format that the engine does not have."""
    for wanted, known, what in ((serving.weights, FORMATS, "weights"), (serving.cache, CACHES, "cache")):
        if wanted and wanted not in known[serving.engine]:
            raise ValueError(f"{serving.engine} has no {what} in {wanted}: give one of {', '.join(known[serving.engine])}")
    return serving


def parts(serving: Serving) -> dict[str, int]:
    """Bytes on the GPU by what they hold. Raises shape.ShapeError for an architecture that the closed form does not cover."""
    shape = shape_of(serving.config)
    return {
        "weights": weights(shape, serving),
        "key and value cache": cached_tokens(serving) * cache_bytes(shape, serving),
        "activations": activations(shape, serving),
    }


def weights(shape: Shape, serving: Serving) -> int:
    """Bytes of the weights on the GPU. Quantised formats keep norms, and outside of llama.cpp the embedding and the output head,
    in 16 bits; llama.cpp leaves the embedding in system memory.
    """
    bits = BITS[serving.weight_format]
    linears, table = shape.layers * shape.linear_weights, shape.vocabulary * shape.hidden
    rest = shape.parameters - linears - shape.embedding_parameters
    if serving.engine == "llama.cpp":
        small = bits if serving.weight_format not in K_QUANTS else K_QUANTS[serving.weight_format][1]
        finer = _finer(shape) if serving.weight_format in K_QUANTS else 0
        head = max(small, 6.5625) if bits < 8 else small
        return int(((linears - finer) * bits + finer * small + table * head + rest * 32) / 8)
    dense = 16 if bits < 16 else bits
    return int((linears * bits + (shape.embedding_parameters + rest) * dense) / 8)


def _finer(shape: Shape) -> int:
    """Weights that a K_M mix keeps in six bits: value and down projections of the first and last eighth of the layers and of every
    third between.
    """
    few, total = shape.layers // 8, shape.layers
    layers = sum(1 for n in range(total) if n < few or n >= 7 * total // 8 or (n - few) % 3 == 2)
    return layers * sum(a * b for name, (a, b) in shape.linears.items() if name in ("v_proj", "down_proj"))


def cache_bytes(shape: Shape, serving: Serving) -> int:
    """Bytes that one token takes in the cache, all layers together."""
    return int(2 * shape.layers * shape.kv_width * BITS[serving.cache_format] / 8)


def cached_tokens(serving: Serving) -> int:
    """Tokens that the cache has room for: vLLM's blocks hold 16, llama.cpp rounds the whole up to 256."""
    if serving.engine == "llama.cpp":
        return -(-serving.batch * serving.context // 256) * 256
    length = -(-serving.context // 16) * 16 if serving.engine == "vllm" else serving.context
    return serving.batch * length


def activations(shape: Shape, serving: Serving) -> int:
    """Bytes beside weights and cache at the highest moment.

    transformers: the MLP of a prompt: gate, up and their product, and four values of the model's width. vLLM: the same of one chunk,
    or the sampler's ten float32 tensors of sequences x vocabulary, which its start-up profile runs at its limit of sequences.
    llama.cpp with flash attention: the logits of a micro-batch in float32 and two values of the model's width, three where the cache is
    quantised.
    """
    width = BYTES[DTYPES.get(serving.weight_format, "bfloat16")]
    chunk = serving.chunk
    mlp = chunk * width * ((3 if shape.gated else 2) * shape.inner + 4 * shape.hidden)
    if serving.engine == "transformers":
        return mlp
    if serving.engine == "vllm":
        return max(mlp, 10 * 4 * (1024 if serving.large else 256) * shape.vocabulary)
    return chunk * 4 * (shape.vocabulary + shape.hidden * (2 if BITS[serving.cache_format] >= 16 else 3))


MEASURED = (
    "twice the worst error on five generations on an NVIDIA H200, 3 % at least (docs/frameworks.md); no AMD GPU was measured"
)
CLOSED: dict[Engine, Bound] = {
    "transformers": Bound(0.03, 0.25, MEASURED),
    "llama.cpp": Bound(
        0.10, 0.10, "buffers that its CPU build reported for three models (docs/frameworks.md); no GPU was measured"
    ),
    "vllm": Bound(0.10, 0.10, "figures that vLLM printed and users published (docs/frameworks.md); it was not run"),
}
"""How far the sum may be off by arithmetic, and on what that rests."""
SIMULATED = Bound(0.03, 0.06, MEASURED)
"""The same for a simulated generation with transformers."""


def room_for_tokens(serving: Serving, room: int) -> int:
    """Tokens whose keys and values fit into `room` bytes beside weights and activations. transformers' activations grow with them."""
    shape = shape_of(serving.config)
    each, fixed = cache_bytes(shape, serving), activations(shape, serving)
    if serving.engine == "transformers":
        each, fixed = each + fixed // (serving.batch * serving.context), 0
    return max(0, (room - weights(shape, serving) - fixed) // each)
