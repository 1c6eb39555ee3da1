"""Drives `check --reader` against llama.cpp's own server, with a model of one random layer that is made here.

    pip install gguf
    python scripts/drive_llama.py /path/to/llama-server

It shows that the exchange works (the schema as a grammar, the limit of time, a context that is too short), and nothing of the quality of any
model: this one writes noise within the schema. Needs a build of llama.cpp; nothing is downloaded.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

WIDTH, HEADS, HIDDEN, CONTEXT = 64, 4, 128, 65536
TEXT = "training gives NaN on gfx1100\n"


def write_model(path: Path) -> None:
    """A llama of one layer with random weights and a vocabulary of bytes. What no JSON needs has no weight, and is never the likeliest."""
    import gguf
    import numpy

    random = numpy.random.default_rng(7)
    plain = [b"\xe2\x96\x81", *(bytes([n]) for n in range(33, 127))]
    tokens = [b"<unk>", b"<s>", b"</s>", *(f"<0x{n:02X}>".encode() for n in range(256)), *plain]
    kinds = [gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL, gguf.TokenType.CONTROL, *[gguf.TokenType.BYTE] * 256]
    kinds += [gguf.TokenType.NORMAL] * len(plain)
    made = gguf.GGUFWriter(path, "llama")
    made.add_context_length(CONTEXT)
    made.add_embedding_length(WIDTH)
    made.add_block_count(1)
    made.add_feed_forward_length(HIDDEN)
    made.add_head_count(HEADS)
    made.add_head_count_kv(HEADS)
    made.add_layer_norm_rms_eps(1e-5)
    made.add_rope_dimension_count(WIDTH // HEADS)
    made.add_vocab_size(len(tokens))
    made.add_tokenizer_model("llama")
    made.add_token_list(tokens)
    made.add_token_scores([0.0] * len(tokens))
    made.add_token_types(kinds)
    made.add_bos_token_id(1)
    made.add_eos_token_id(2)
    made.add_chat_template("{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant: ")
    shapes = {"token_embd": (len(tokens), WIDTH), "output": (len(tokens), WIDTH)}
    shapes |= {f"blk.0.attn_{name}": (WIDTH, WIDTH) for name in ("q", "k", "v", "output")}
    shapes |= {"blk.0.ffn_gate": (HIDDEN, WIDTH), "blk.0.ffn_up": (HIDDEN, WIDTH), "blk.0.ffn_down": (WIDTH, HIDDEN)}
    for name, shape in shapes.items():
        weights = random.standard_normal(shape, dtype=numpy.float32) * 0.3
        if name == "output":
            weights[:35] = weights[3 + 126 : 259] = 0
        made.add_tensor(f"{name}.weight", weights)
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        made.add_tensor(f"{name}.weight", numpy.ones(WIDTH, numpy.float32))
    made.write_header_to_file()
    made.write_kv_data_to_file()
    made.write_tensors_to_file()
    made.close()


def main() -> int:
    """Exit code 0 if the report had an opinion in one run and named the reason for none in the others."""
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder, "tiny.gguf")
        write_model(model)
        whole = opinion_line(model, CONTEXT, 120)
        short = opinion_line(model, 2048, 120)
        late = opinion_line(model, CONTEXT, 1)
    print(f"whole context: {whole}\nshort context: {short}\none second: {late}")
    return int(not (whole.startswith("Second") and "HTTP 400" in short and "within 1 s" in late))


def opinion_line(model: Path, context: int, seconds: float) -> str:
    """What `check` says of the opinion with a server of that context and that limit."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    argv = [sys.argv[1], "-m", str(model), "--port", str(port), "--host", "127.0.0.1", "-c", str(context), "-np", "1"]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            wait_for(f"http://127.0.0.1:{port}/health")
            asked = ["--reader", f"http://127.0.0.1:{port}/v1", "--reader-model", "tiny", "--reader-seconds", str(seconds)]
            check = [sys.executable, "-m", "rocm_doctor", "check", "-", "--format", "agent", *asked]
            done = subprocess.run(check, input=TEXT, capture_output=True, text=True, check=False)
        finally:
            server.terminate()
    return next(
        (line.removeprefix("opinion: ") for line in done.stdout.splitlines() if line.startswith("opinion: ")), done.stderr
    )


def wait_for(address: str) -> None:
    """Returns when the server answers. Raises TimeoutError after 60 s."""
    for _ in range(300):
        try:
            with urllib.request.urlopen(address, timeout=1):
                return
        except OSError:
            time.sleep(0.2)
    raise TimeoutError(address)


if __name__ == "__main__":
    sys.exit(main())
