"""Training configurations of axolotl, LLaMA-Factory, torchtune, TRL and DeepSpeed: the settings that decide what a GPU has to do."""

from __future__ import annotations

from rocm_doctor.bounded import Unreadable, jsons
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.model import Environment, Place, Reason, Unread, Variable
from rocm_doctor.lint.readers.compose import Node, load
from rocm_doctor.lint.tree import Tree

MAX_SETTINGS = 400
_MARKS = regex(
    r"\b(?:base_model|micro_batch_size|finetuning_type|model_name_or_path|per_device_train_batch_size|lora_(?:r|alpha|rank)"
    r"|bf16|fp16|zero_optimization|_component_|load_in_[48]bit|mixed_precision)\b"
)


def is_training(text: str) -> bool:
    """True for a text with keys that only a training configuration has."""
    return _MARKS.search(text) is not None


def read(tree: Tree, path: str) -> list[Environment]:
    """The settings of a configuration, by their dotted names."""
    text = tree.text(path) or ""
    try:
        root = load(text) if not path.endswith(".json") else _of_json(text)
    except Unreadable as exc:
        return [
            Environment("training", Place(path, 1), unread=(Unread(Place(path, max(1, exc.line)), Reason.SYNTAX),), files=(path,))
        ]
    lines = text.split("\n")
    settings: list[Variable] = []
    pending = [("", root)] if root else []
    while pending and len(settings) < MAX_SETTINGS:
        name, node = pending.pop()
        if isinstance(node.value, str) and name:
            settings.append(Variable(name, node.text, Place(path, node.line, lines[node.line - 1].strip()[:200])))
        pending += [(f"{name}.{key}" if name else key, child) for key, child in reversed(node.items())]
    return [Environment("training", Place(path, 1), variables=tuple(settings), files=(path,))] if settings else []


def _of_json(text: str) -> Node:
    """The values of a JSON text; each at the first line that holds its key."""
    data = jsons.loads(text)
    lines: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        for key in _KEY.findall(line):
            lines.setdefault(key, number)

    def node(value: object, line: int, depth: int = 0) -> Node:
        if isinstance(value, dict) and depth < 20:
            return Node({str(k): node(v, lines.get(str(k), line), depth + 1) for k, v in value.items()}, line)
        return Node(
            str(value).lower() if isinstance(value, bool) else str(value) if not isinstance(value, (dict, list)) else None, line
        )

    return node(data, 1)


_KEY = regex(r'"([^"\\]{1,80})"\s*:')
