"""Import the engine, see its device, and ask one completion of the tiny model."""

from __future__ import annotations

import importlib.util
import time
from typing import Any

from ..compare import Skip, Wrong
from ..context import Context
from . import model

STEPS = 64
"""Roundings to float16 on the way to a logit: operands of the seven products of each of two layers and of the output head, keys,
values and probabilities, each twice at most; cached keys and values are float16."""
PROMPT = [1, 300, 301, 302, 303, 304, 305, 306]
NEW = 8


class EngineContext(Context):
    """An engine that serves models."""

    package = ""
    np: Any = None
    lib: Any = None

    def about(self) -> dict[str, Any]:
        """Version, and what the engine was built for."""
        raise NotImplementedError

    def describe(self) -> dict[str, Any]:
        """The device that the engine will use."""
        raise NotImplementedError

    def complete(self) -> tuple[list[int], dict[str, Any]]:
        """The tokens that follow PROMPT, the likeliest each time, and details. Raises Wrong for wrong logits."""
        raise NotImplementedError


def import_engine(context: EngineContext) -> dict[str, Any]:
    """Import the engine: its libraries must load."""
    if importlib.util.find_spec(context.package) is None:
        raise Skip("not-installed", f"{context.package} is not installed in this interpreter")
    began = time.perf_counter()
    context.doing(f"reading {context.package}'s libraries from disk")
    context.load()
    return dict(context.about(), import_seconds=round(time.perf_counter() - began, 3))


def device(context: EngineContext) -> dict[str, Any]:
    """The device, as the engine names it."""
    context.load()
    return context.describe()


def completion(context: EngineContext) -> dict[str, Any]:
    """Start on the tiny model and generate twice; the tokens must be of the vocabulary and the same both times."""
    context.doing("starting the engine on a tiny made-up model")
    first, details = context.complete()
    again, _ = context.complete()
    if len(first) != NEW:
        raise Wrong("shape", f"{len(first)} tokens came back instead of {NEW}")
    strange = [token for token in first if not 0 <= token < model.WORDS]
    if strange:
        raise Wrong("mismatch", f"token {strange[0]} is not in the vocabulary of {model.WORDS}")
    if first != again:
        raise Wrong("mismatch", f"the same prompt gave {first} and then {again}")
    return dict(details, tokens=first)
