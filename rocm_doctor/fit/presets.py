"""From what a user names (a preset, a hub id, a config.json, a local folder) to the fields of a config.json. Nothing is
downloaded."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rocm_doctor.bounded import Unreadable, files, jsons
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.matrix import Matrix

_TUNED = regex(
    r"-(instruct|chat|base|it|hf|[0-9]+t|2[0-9]{3}|[0-9]+k|intermediate-step.*|bnb-4bit|unsloth|gptq|awq)(?=-|$)", re.I
)
_VERSION = regex(r"-v[0-9.]+$")


class ModelError(ValueError):
    """Unknown model; the message lists what can be given."""


def load_model_config(name: str, matrix: Matrix) -> tuple[dict[str, Any], str]:
    """The fields of a model's config.json, and words on where they come from. `name` is a folder, a .json file, a preset, or a
    model in the local Hub cache, tried in this order. Nothing is downloaded. Raises ModelError if it is none of them, or if its
    file cannot be read or has no `model_type`."""
    path, is_folder = Path(name), os.path.isdir(name)  # noqa: PTH112 Path.is_dir() raises for a name that is too long
    if is_folder or path.suffix == ".json":
        return _read_file(path / "config.json" if is_folder else path)
    presets: Mapping[str, Any] = matrix.plain("models") or {}
    key = preset_key(name, presets)
    if key:
        return dict(presets[key]["config"]), f"preset {key}"
    cached = hub_copy(name)
    if cached:
        return _read_file(cached)
    raise ModelError(
        f"{name}: no preset, file or folder of that name; give the model's config.json, or one of: {', '.join(presets)}"
    )


def preset_key(name: str, presets: Mapping[str, Any]) -> str | None:
    """`meta-llama/Llama-3.2-1B-Instruct` and `llama-3.2-1b` both mean Llama-3.2-1B; a version counts where presets differ by
    it."""
    keys = {_bare_name(also): key for key, entry in presets.items() for also in (key, *entry.get("names", ()))}
    wanted = _bare_name(name)
    return keys.get(wanted) or keys.get(_VERSION.sub("", wanted))


def _bare_name(name: str) -> str:
    """The hub id without its owner and without what says only how it was tuned or packed."""
    tail, previous = name.rsplit("/", 1)[-1].lower().removeprefix("meta-"), ""
    while previous != tail:
        previous, tail = tail, _TUNED.sub("", tail)
    return tail


def hub_copy(name: str) -> Path | None:
    """config.json of a model that Hugging Face's cache already holds."""
    home = os.environ.get("HF_HUB_CACHE") or Path(os.environ.get("HF_HOME", Path.home() / ".cache" / "huggingface")) / "hub"
    snapshots = Path(home, f"models--{name.replace('/', '--')}", "snapshots")
    copies = sorted(snapshots.glob("*/config.json")) if os.path.isdir(snapshots) else []  # noqa: PTH112 as above
    return copies[-1] if copies else None


def _read_file(path: Path) -> tuple[dict[str, Any], str]:
    try:
        fields = jsons.loads(files.text(path, files.MIB))
    except OSError as exc:
        raise ModelError(f"{path}: {exc.strerror}; give a config.json or a folder that holds one") from exc
    except Unreadable as exc:
        raise ModelError(f"{path}: no JSON ({exc})") from exc
    if not isinstance(fields, dict) or "model_type" not in fields.get("text_config", fields):
        raise ModelError(f"{path}: no model_type in it; is this the config.json of a transformers model?")
    return dict(fields.get("text_config") or fields), str(path)
