"""A tiny Llama with random weights: its sizes, its weights, a GGUF file of it, and its logits in float64.

The GGUF layout (version 3: header, metadata, tensor infos, data aligned to 32 bytes) and the metadata of the architecture `llama` are
from ggml's docs/gguf.md; llama.cpp rotates neighbouring pairs of a head in this architecture (LLAMA_ROPE_TYPE_NORM).
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

LAYERS, HIDDEN, INNER, HEADS, KV_HEADS, WORDS, CONTEXT = 2, 256, 512, 4, 2, 512, 128
WIDTH = HIDDEN // HEADS
EPS, BASE = 1e-5, 10000.0
U32, F32, STRING, ARRAY, I32 = 4, 6, 8, 9, 5
FLOAT32, FLOAT16 = 0, 1
LAYER = {
    "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}  # fmt: skip
TOP = {"token_embd": "model.embed_tokens", "output": "lm_head", "output_norm": "model.norm"}
"""GGUF's names -> transformers', of a layer's tensors and of the others."""


def weights(np: Any) -> dict[str, Any]:
    """Weights by their names in a GGUF file: matrices in float16, [outputs, inputs], and norms in float32, all of them values of
    float16."""
    rng = np.random.default_rng(7)
    shapes = {"token_embd": (WORDS, HIDDEN), "output": (WORDS, HIDDEN), "output_norm": (HIDDEN,)}
    for n in range(LAYERS):
        shapes.update(
            {
                f"blk.{n}.attn_norm": (HIDDEN,),
                f"blk.{n}.attn_q": (HIDDEN, HIDDEN),
                f"blk.{n}.attn_k": (KV_HEADS * WIDTH, HIDDEN),
                f"blk.{n}.attn_v": (KV_HEADS * WIDTH, HIDDEN),
                f"blk.{n}.attn_output": (HIDDEN, HIDDEN),
                f"blk.{n}.ffn_norm": (HIDDEN,),
                f"blk.{n}.ffn_gate": (INNER, HIDDEN),
                f"blk.{n}.ffn_up": (INNER, HIDDEN),
                f"blk.{n}.ffn_down": (HIDDEN, INNER),
            }
        )
    made = {}
    for name, shape in shapes.items():
        drawn = rng.standard_normal(shape, dtype=np.float32)
        rounded = (1 + drawn / 8 if len(shape) == 1 else drawn / shape[1] ** 0.5).astype(np.float16)
        made[name + ".weight"] = rounded.astype(np.float32) if len(shape) == 1 else rounded
    return made


def write_gguf(np: Any, path: Path) -> None:
    """The model as a GGUF file."""
    fields = [
        ("general.architecture", STRING, "llama"),
        ("llama.context_length", U32, CONTEXT),
        ("llama.embedding_length", U32, HIDDEN),
        ("llama.block_count", U32, LAYERS),
        ("llama.feed_forward_length", U32, INNER),
        ("llama.rope.dimension_count", U32, WIDTH),
        ("llama.rope.freq_base", F32, BASE),
        ("llama.attention.head_count", U32, HEADS),
        ("llama.attention.head_count_kv", U32, KV_HEADS),
        ("llama.attention.layer_norm_rms_epsilon", F32, EPS),
        ("general.file_type", U32, 1),
        ("tokenizer.ggml.model", STRING, "llama"),
        ("tokenizer.ggml.tokens", ARRAY, (STRING, tokens())),
        ("tokenizer.ggml.scores", ARRAY, (F32, [0.0] * WORDS)),
        ("tokenizer.ggml.token_type", ARRAY, (I32, [2, 3, 3] + [6] * 256 + [1] * (WORDS - 259))),
        ("tokenizer.ggml.bos_token_id", U32, 1),
        ("tokenizer.ggml.eos_token_id", U32, 2),
        ("tokenizer.ggml.unknown_token_id", U32, 0),
    ]
    tensors, infos, data = weights(np), b"", b""
    for name, tensor in tensors.items():
        kind = FLOAT16 if tensor.dtype == np.float16 else FLOAT32
        infos += pack_value(STRING, name) + struct.pack("<I", tensor.ndim)
        infos += b"".join(struct.pack("<Q", size) for size in reversed(tensor.shape)) + struct.pack("<IQ", kind, len(data))
        data += pad(tensor.tobytes())
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(fields))
    head += b"".join(pack_value(STRING, key) + struct.pack("<I", kind) + pack_value(kind, value) for key, kind, value in fields)
    path.write_bytes(pad(head + infos) + data)


def transformers_weights(np: Any) -> dict[str, Any]:
    """The same weights by their names in transformers, which rotates halves of a head: rows of q and k are in another order."""
    named = {}
    for name, tensor in weights(np).items():
        parts = name.removesuffix(".weight").split(".")
        if parts[-1] in ("attn_q", "attn_k"):
            tensor = tensor.reshape(-1, WIDTH // 2, 2, HIDDEN).swapaxes(1, 2).reshape(-1, HIDDEN)
        place = f"model.layers.{parts[1]}.{LAYER[parts[2]]}" if parts[0] == "blk" else TOP[parts[0]]
        named[place + ".weight"] = tensor
    return named


def write_safetensors(np: Any, folder: Path) -> None:
    """The model as transformers and vLLM read it: config.json and model.safetensors."""
    (folder / "config.json").write_text(json.dumps(config()), encoding="utf-8")
    head: dict[str, Any] = {}
    data = b""
    for name, tensor in transformers_weights(np).items():
        kind = "F16" if tensor.dtype == np.float16 else "F32"
        head[name] = {"dtype": kind, "shape": tensor.shape, "data_offsets": [len(data), len(data) + tensor.nbytes]}
        data += tensor.tobytes()
    text = json.dumps(head).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)


def tokens() -> list[str]:
    """The vocabulary: three control tokens, the bytes, and numbered words."""
    return ["<unk>", "<s>", "</s>", *(f"<0x{n:02X}>" for n in range(256)), *(f"t{n}" for n in range(WORDS - 259))]


def pack_value(kind: int, value: Any) -> bytes:
    """A value of the metadata as bytes."""
    if kind == STRING:
        return struct.pack("<Q", len(value.encode())) + bytes(value.encode())
    if kind == ARRAY:
        inner, items = value
        return struct.pack("<IQ", inner, len(items)) + b"".join(pack_value(inner, item) for item in items)
    return struct.pack({U32: "<I", F32: "<f", I32: "<i"}[kind], value)


def pad(text: bytes) -> bytes:
    """The bytes up to the next multiple of 32."""
    return text + b"\0" * (-len(text) % 32)


def logits(np: Any, ids: list[int]) -> Any:
    """Logits after each token of the prompt, in float64."""
    w = {name: tensor.astype(np.float64) for name, tensor in weights(np).items()}
    x = w["token_embd.weight"][ids]
    later = np.triu(np.ones((len(ids), len(ids)), dtype=bool), 1)
    for n in range(LAYERS):
        part = {name.split(".")[2]: w[name] for name in w if name.startswith(f"blk.{n}.")}
        h = norm(np, x, part["attn_norm"])
        q, k, v = (heads(np, h @ part[name].T) for name in ("attn_q", "attn_k", "attn_v"))
        q, k = rotate(np, q), rotate(np, k)
        k, v = (np.repeat(one, HEADS // KV_HEADS, axis=0) for one in (k, v))
        scores = np.where(later, -np.inf, q @ k.swapaxes(1, 2) / WIDTH**0.5)
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = (scores / scores.sum(axis=-1, keepdims=True)) @ v
        x = x + mixed.swapaxes(0, 1).reshape(len(ids), HIDDEN) @ part["attn_output"].T
        h = norm(np, x, part["ffn_norm"])
        gate = h @ part["ffn_gate"].T
        x = x + (gate / (1 + np.exp(-gate)) * (h @ part["ffn_up"].T)) @ part["ffn_down"].T
    return norm(np, x, w["output_norm.weight"]) @ w["output.weight"].T


def norm(np: Any, x: Any, scale: Any) -> Any:
    """RMS normalisation."""
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + EPS) * scale


def heads(np: Any, x: Any) -> Any:
    """[token, head x width] as [head, token, width]."""
    return x.reshape(len(x), -1, WIDTH).swapaxes(0, 1)


def rotate(np: Any, x: Any) -> Any:
    """Rotary position embedding of neighbouring pairs."""
    angle = np.arange(x.shape[1])[:, None] * BASE ** (-np.arange(0, WIDTH, 2) / WIDTH)
    even, odd = x[..., 0::2], x[..., 1::2]
    out = np.empty_like(x)
    out[..., 0::2] = even * np.cos(angle) - odd * np.sin(angle)
    out[..., 1::2] = even * np.sin(angle) + odd * np.cos(angle)
    return out


def config() -> dict[str, Any]:
    """The same sizes as the fields of a Hugging Face config.json."""
    return {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": HIDDEN, "intermediate_size": INNER,
        "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS, "vocab_size": WORDS,
        "max_position_embeddings": CONTEXT, "rms_norm_eps": EPS, "rope_theta": BASE, "torch_dtype": "float16",
        "tie_word_embeddings": False, "bos_token_id": 1, "eos_token_id": 2,
    }  # fmt: skip
