"""vLLM, in this process. The log-probabilities of its likeliest tokens are compared with the tiny model's in float64."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

from .. import hip
from ..compare import Wrong, judge, tolerance
from . import model
from .stages import NEW, PROMPT, STEPS, EngineContext

SHARE = 0.1
"""Of the GPU's memory, for weights, profile and cache."""
LIKELIEST = 20
"""Tokens of each step whose log-probability is asked for: as many as vLLM gives by default."""


class VllmContext(EngineContext):
    """vLLM."""

    package = "vllm"
    engine: Any = None

    def load(self) -> Any:
        if self.lib is None:
            # One process: the runner ends it, and its children, when a stage takes too long.
            os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
            os.environ["HF_HUB_OFFLINE"] = "1"
            os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
            self.np = importlib.import_module("numpy")
            self.lib = importlib.import_module("vllm")
        return self.lib

    def about(self) -> dict[str, Any]:
        torch = importlib.import_module("torch")
        built = "rocm" if hip.is_hip(torch) else "cuda" if torch.version.cuda else "cpu"
        return {"vllm": str(self.lib.__version__), "torch": str(torch.__version__), "built_for": built}

    def describe(self) -> dict[str, Any]:
        platform = importlib.import_module("vllm.platforms").current_platform
        kind = str(getattr(platform, "device_type", "") or "")
        if not kind:
            raise Wrong(
                "not-available", "vLLM found no platform: it sees neither a GPU nor a CPU build of itself", masks=hip.masks()
            )
        if kind == "cpu":
            return {"kind": "cpu", "count": 1, "why": "this vLLM was built for the CPU"}
        rocm = getattr(platform, "is_rocm", lambda: False)()
        return {"kind": "hip" if rocm else "cuda", "name": str(platform.get_device_name()), "count": 1, "masks": hip.masks()}

    def complete(self) -> tuple[list[int], dict[str, Any]]:
        if self.engine is None:
            folder = Path(self.args.results).with_suffix("")
            folder.mkdir(exist_ok=True)
            model.write_safetensors(self.np, folder)
            self.engine = self.lib.LLM(
                model=str(folder),
                load_format="safetensors",
                skip_tokenizer_init=True,
                enforce_eager=True,
                dtype="float16",
                max_model_len=model.CONTEXT,
                max_num_seqs=1,
                gpu_memory_utilization=SHARE,
                seed=0,
            )
        self.doing("generating")
        choice = self.lib.SamplingParams(temperature=0.0, max_tokens=NEW, ignore_eos=True, detokenize=False, logprobs=LIKELIEST)
        answer = self.engine.generate([{"prompt_token_ids": PROMPT}], choice, use_tqdm=False)[0].outputs[0]
        found = list(answer.token_ids)
        if not all(0 <= token < model.WORDS for token in found):
            return found, {}
        return found, {"worst_error": self._compared(found, answer.logprobs)}

    def _compared(self, found: list[int], steps: Any) -> float:
        """The error of all log-probabilities that vLLM gave, each step after the tokens that it chose itself."""
        right = model.logits(self.np, [*PROMPT, *found[:-1]])[len(PROMPT) - 1 :]
        right = right - self.np.log(self.np.exp(right).sum(axis=-1, keepdims=True))
        given = [(n, token, entry.logprob) for n, step in enumerate(steps) for token, entry in step.items()]
        got = self.np.array([value for _, _, value in given])
        want = self.np.array([right[n, token] for n, token, _ in given])
        allowed = tolerance(2.0**-10, model.INNER, STEPS)
        return judge(self.np.isfinite, "log-probabilities of the tiny model", got, want, allowed)
