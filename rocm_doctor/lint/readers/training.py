"""Training configurations: accelerate, DeepSpeed, axolotl, LLaMA-Factory, torchtune, kohya, ai-toolkit. Keys as settings with lines."""

from __future__ import annotations

import re

from rocm_doctor.bounded import Unreadable, jsons
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Environment, Place, ReadProblem, Setting
from rocm_doctor.lint.readers import conda, toml, yamls
from rocm_doctor.lint.readers.files import Tree, quoted
from rocm_doctor.lint.readers.kinds import is_config

MAX_SETTINGS = 400
# JSON with comments is common; only a file that is called like a DeepSpeed or training configuration has to be plain.
_NAMED = regex(r"ds|deepspeed|zero|quant|config|train")
# A conda environment, whatever its file is called.
_CONDA = regex(r"^channels:(?s:.*)^dependencies:\s*$", re.M)
_KEY = regex(r'"([^"\\\n]{1,80})"\s*:')


def environment(tree: Tree, path: str) -> Environment | None:
    """A YAML file that holds a word of a training configuration; None for any other."""
    text = tree.text(path, wanted=False)
    if text is not None and _CONDA.search(text):
        return conda.environment(tree, path)
    if text is None or not is_config(text):
        return None
    settings = [
        Setting(name, node.text(), yamls.place(tree, path, node.line))
        for document in yamls.load(tree, path)
        for name, node in list(yamls.scalars(document))[:MAX_SETTINGS]
    ]
    return Environment(path, settings[0].place, config=tuple(settings), sort="configuration") if settings else None


def deepspeed(tree: Tree, path: str) -> Environment | None:
    """A JSON file with DeepSpeed's or a quantisation's keys."""
    text = tree.text(path, wanted=False)
    if text is None or not is_config(text):
        return None
    try:
        data = jsons.loads(text)
    except Unreadable as exc:
        if _NAMED.search(path.rsplit("/", 1)[-1].lower()):
            tree.problems.append(ReadProblem(Place(path, max(1, exc.line)), f"not read: no JSON: {str(exc)[:100]}"))
        return None
    if not isinstance(data, dict):
        return None
    lines = _lines(text)
    settings: list[Setting] = []
    _flatten(data, "", path, lines, settings)
    return Environment(path, Place(path, 1), config=tuple(settings), sort="configuration") if settings else None


def from_toml(tree: Tree, path: str) -> Environment | None:
    """A TOML file in which a training configuration's words are (kohya, diffusion-pipe)."""
    text = tree.text(path, wanted=False)
    if text is None or not is_config(text):
        return None
    loaded = toml.load(tree, path)
    settings: list[Setting] = []
    if loaded is not None:
        lines: dict[str, tuple[int, str]] = {}
        for number, line in enumerate(text.splitlines(), 1):
            if found := re.match(r"\s*([\w-]+)\s*=", line):
                lines.setdefault(found[1], (number, quoted(line)))
        _flatten(loaded[0], "", path, lines, settings)
    return Environment(path, Place(path, 1), config=tuple(settings), sort="configuration") if settings else None


def _lines(text: str) -> dict[str, tuple[int, str]]:
    """The first line of each key; a reader does not tell apart keys that occur twice."""
    found: dict[str, tuple[int, str]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        for match in _KEY.finditer(line[:2000]):
            found.setdefault(match[1], (number, quoted(line)))
    return found


def _flatten(data: dict[str, object], prefix: str, path: str, lines: dict[str, tuple[int, str]], into: list[Setting]) -> None:
    for key, value in data.items():
        name = f"{prefix}.{key}" if prefix else key
        if isinstance(value, dict) and len(into) < MAX_SETTINGS and name.count(".") < 20:
            _flatten(value, name, path, lines, into)
        elif isinstance(value, (str, int, float)):
            text = str(value).lower() if isinstance(value, bool) else str(value)
            into.append(Setting(name, text, Place(path, *lines.get(key, (1, "")))))
