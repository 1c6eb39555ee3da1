"""Tokens that the layers of a served model keep in the cache, where some of them see a sliding window only.

vLLM: a layer with a window keeps the window and one pass of new tokens, and one block more (vllm/v1/kv_cache_interface.py,
SlidingWindowSpec); layers of both kinds share blocks in groups of one size, padded (vllm/v1/core/kv_cache_utils.py). llama.cpp: the
window of each sequence and one micro-batch, rounded up to 256 cells (src/llama-kv-cache-iswa.cpp), for the architectures that it
gives a window to; it gives none to Mistral, Mixtral and Phi. transformers slices the cache after the prompt and the slice is a view:
the memory of the whole prompt stays until the next token.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

BLOCK, CELLS, MICRO = 16, 256, 512
EVERY = {"gemma2": 2, "gpt_oss": 2, "gemma3_text": 6}
"""One layer in so many sees all tokens, by type: the defaults of transformers."""
ALL = ("mistral", "mixtral", "phi3")


def window_layers(config: Mapping[str, Any], engine: str) -> tuple[int, int]:
    """How many layers see a window only, and its tokens: (0, 0) if all see everything."""
    kind, layers, window = config.get("model_type", ""), int(config["num_hidden_layers"]), config.get("sliding_window")
    if not window or engine == "transformers" or (engine == "llama.cpp" and kind not in EVERY):
        return 0, 0
    types = config.get("layer_types")
    if isinstance(types, list):
        few = types.count("sliding_attention")
    elif kind in EVERY:
        few = layers - layers // int(config.get("sliding_window_pattern") or EVERY[kind])
    else:
        few = layers if kind in ALL else 0
    return (few, int(window)) if few else (0, 0)


def vllm_tokens(layers: int, few: int, window: int, batch: int, context: int, chunk: int) -> int:
    """Tokens of all layers together: full ones, and `few` with a window, in groups of one size."""
    full, size = layers - few, layers
    if few and full:
        least, most = sorted((few, full))
        size = most if most < 1.25 * least else least
    whole = -(-context // BLOCK)
    short = -(-min(window - 1 + chunk, context) // BLOCK) + 1
    return batch * BLOCK * size * (-(-full // size) * whole + -(-few // size) * short)


def llama_cpp_tokens(layers: int, few: int, window: int, batch: int, context: int) -> int:
    """Tokens of all layers together, of one cache that all sequences share (--kv-unified)."""
    cells = _pad(batch * context)
    return (layers - few) * cells + few * _pad(min(cells, window * batch + MICRO))


def _pad(cells: int) -> int:
    return -(-cells // CELLS) * CELLS
