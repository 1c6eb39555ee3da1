"""vLLM, in this process, on dummy weights of the tiny model's sizes. Written after vLLM's documentation; **it was not run by us**."""

from __future__ import annotations

import importlib
import json
import os
from pathlib import Path
from typing import Any

from .. import hip
from ..compare import Wrong
from . import model
from .stages import NEW, PROMPT, EngineContext

SHARE = 0.1
"""Of the GPU's memory, for weights, profile and cache."""


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
            (folder / "config.json").write_text(json.dumps(model.config()), encoding="utf-8")
            self.engine = self.lib.LLM(
                model=str(folder),
                load_format="dummy",
                skip_tokenizer_init=True,
                enforce_eager=True,
                dtype="float16",
                max_model_len=model.CONTEXT,
                max_num_seqs=1,
                gpu_memory_utilization=SHARE,
                seed=0,
            )
        self.doing("generating")
        choice = self.lib.SamplingParams(temperature=0.0, max_tokens=NEW, ignore_eos=True, detokenize=False)
        answers = self.engine.generate([{"prompt_token_ids": PROMPT}], choice, use_tqdm=False)
        return list(answers[0].outputs[0].token_ids), {}
