"""Training configurations of axolotl, LLaMA-Factory, torchtune, TRL and DeepSpeed: the settings that decide what a GPU has to do."""

from __future__ import annotations

from itertools import islice

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.model import Environment, Place, Variable
from rocm_doctor.lint.tree import Tree
from rocm_doctor.training.literals import Leaf, read_yaml

MAX_SETTINGS = 400
_MARKS = regex(
    r"\b(?:base_model|micro_batch_size|finetuning_type|model_name_or_path|per_device_train_batch_size|lora_(?:r|alpha|rank)"
    r"|bf16|fp16|zero_optimization|_component_|load_in_[48]bit|mixed_precision)\b"
)


def is_training(text: str) -> bool:
    """True for a text with keys that only a training configuration has."""
    return _MARKS.search(text) is not None


def read(tree: Tree, path: str) -> list[Environment]:
    """One environment with the settings of the configuration as variables, by their dotted names; none without settings. Raises Unreadable."""
    leaves = read_yaml(tree.text(path) or "").values()
    settings = tuple(islice((_setting(leaf, tree, path) for leaf in leaves if _is_literal(leaf)), MAX_SETTINGS))
    return [Environment("training", Place(path, 1), variables=settings, files=(path,))] if settings else []


def _is_literal(leaf: Leaf) -> bool:
    return not leaf.why and isinstance(leaf.value, (str, bool, int, float))


def _setting(leaf: Leaf, tree: Tree, path: str) -> Variable:
    value = str(leaf.value).lower() if isinstance(leaf.value, bool) else str(leaf.value)
    return Variable(leaf.key, value, tree.place(path, leaf.line))
