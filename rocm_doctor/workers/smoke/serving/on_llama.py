"""llama.cpp, through llama-cpp-python. Its logits are compared with the tiny model's in float64."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

from .. import hip
from ..compare import Wrong, judge, tolerance
from . import model
from .stages import NEW, PROMPT, STEPS, EngineContext

BACKENDS = {"hip": "hip", "cuda": "cuda", "vulkan": "vulkan"}


class LlamaContext(EngineContext):
    """llama.cpp."""

    package = "llama_cpp"
    engine: Any = None

    def load(self) -> Any:
        if self.lib is None:
            self.np = importlib.import_module("numpy")
            self.lib = importlib.import_module("llama_cpp")
        return self.lib

    def backends(self) -> list[str]:
        """The GPU backends of this build, by the names of its libraries."""
        names = [path.name for path in (Path(self.lib.__file__).parent / "lib").glob("*ggml-*")]
        return [backend for backend in BACKENDS if any(f"ggml-{backend}" in name for name in names)]

    def about(self) -> dict[str, Any]:
        built = self.backends()
        kind = "rocm" if "hip" in built else built[0] if built else "cpu"
        return {"llama-cpp": str(self.lib.__version__), "built_for": kind, "backends": built}

    def offloads(self) -> bool:
        """True if layers go to a GPU: the build can, and the CPU was not asked for."""
        return self.args.device != "cpu" and bool(self.lib.llama_supports_gpu_offload())

    def describe(self) -> dict[str, Any]:
        built = self.backends()
        kind = "cpu" if not self.offloads() else "hip" if "hip" in built else "cuda"
        system = self.lib.llama_print_system_info()
        return {"kind": kind, "count": 1, "threads": os.cpu_count(), "system": system.decode(), "masks": hip.masks()}

    def complete(self) -> tuple[list[int], dict[str, Any]]:
        if self.engine is None:
            path = Path(self.args.results).with_suffix(".gguf")
            model.write_gguf(self.np, path)
            layers = -1 if self.offloads() else 0
            self.engine = self.lib.Llama(
                str(path), n_ctx=model.CONTEXT, n_gpu_layers=layers, n_threads=2, logits_all=True, verbose=True
            )
        self.doing("evaluating the prompt")
        self.engine.reset()
        self.engine.eval(PROMPT)
        got = self.np.array(self.engine.scores[: len(PROMPT)], dtype=self.np.float64)
        want = model.logits(self.np, PROMPT)
        error = judge(self.np.isfinite, "logits of the tiny model", got, want, tolerance(2.0**-10, model.INNER, STEPS))
        found: list[int] = []
        for _ in range(NEW):
            scores = self.engine.scores[self.engine.n_tokens - 1]
            if not self.np.isfinite(scores).all():
                raise Wrong("nan", f"logits of token {len(PROMPT) + len(found)} are not finite")
            found.append(int(scores.argmax()))
            self.engine.eval([found[-1]])
        return found, {"worst_error": error}
