"""From literal values to fields, by the tables of catalog/training.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Annotated, Any

import msgspec

from rocm_doctor.matrix import Matrix
from rocm_doctor.training.literals import Leaf
from rocm_doctor.training.types import Setting, Unmodelled, UnreadKey

Whole = Annotated[int, msgspec.Meta(ge=1)]
Name = Annotated[str, msgspec.Meta(min_length=1)]
TYPES: dict[str, Any] = {
    **dict.fromkeys(("batch", "seq", "grad_accum", "rank"), Whole),
    **dict.fromkeys(("checkpointing", "fused_loss", "double_quant", "kbit_prepare"), bool),
    "dropout": Annotated[float, msgspec.Meta(ge=0, lt=1)],
}  # fmt: skip
"""The types of fields that are no names."""
HEADS = frozenset(("embed_tokens", "lm_head"))
EMPTY: tuple[Any, ...] = (None, False, "", "none", "None", [], {}, 0)
Rule = str | Mapping[str, Any]


class FrameworkTable(msgspec.Struct, frozen=True):
    """One entry of the catalog; catalog/training.yaml says what its fields mean."""

    table: str
    framework: str = ""
    marks: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    keys: Mapping[str, Any] = {}
    defaults: Mapping[str, Any] = {}
    notes: Mapping[str, str] = {}
    fields: Mapping[str, Any] = {}


class FrameworkNames(msgspec.Struct, frozen=True):
    """How frameworks name optimizers, types of numbers and layers, and torchtune's builders of models."""

    optimizers: Mapping[str, str]
    dtypes: Mapping[str, str]
    layers: Mapping[str, str]
    builders: Mapping[str, str]


class Tables:
    """All tables, with what they include."""

    def __init__(self, matrix: Matrix) -> None:
        entries = matrix.plain("training") or []
        self.words = msgspec.convert(next(e for e in entries if e["table"] == "words"), FrameworkNames)
        self.raw = {e["table"]: msgspec.convert(e, FrameworkTable) for e in entries if e["table"] != "words"}

    @cached_property
    def every(self) -> dict[str, FrameworkTable]:
        """The tables by name, each with the keys of those that it includes."""
        return {name: self._include(table) for name, table in self.raw.items()}

    def _include(self, table: FrameworkTable) -> FrameworkTable:
        parts = [*(self._include(self.raw[name]) for name in table.include), table]
        # A key that is there again keeps the place of its last mention: later keys win.
        order = [key for part in parts for key in part.keys]
        keys = {key: next(p.keys[key] for p in reversed(parts) if key in p.keys) for key in _keep_last(order)}
        merged = {name: {k: v for p in parts for k, v in getattr(p, name).items()} for name in ("defaults", "notes", "fields")}
        return msgspec.structs.replace(table, keys=keys, **merged)

    def find_by_keys(self, keys: Mapping[str, Leaf]) -> FrameworkTable | None:
        """The table of a file with these keys."""
        return next((t for t in self.every.values() if any(mark in keys for mark in t.marks)), None)

    def find_by_call(self, name: str) -> FrameworkTable | None:
        """The table of a call: `transformers.TrainingArguments`, `AutoModelForCausalLM.from_pretrained`."""
        parts = name.split(".")
        ends = (".".join(parts[-count:]) for count in (2, 1))
        return next((t for end in ends for t in self.every.values() if any(fnmatchcase(end, p) for p in t.calls)), None)


def _keep_last(keys: list[str]) -> list[str]:
    """Each key once, at its last place."""
    return list(reversed(dict.fromkeys(reversed(keys))))


class FieldInterpreter:
    """Fields as the tables set them, one after the other."""

    def __init__(self, words: FrameworkNames) -> None:
        self.words = words
        self.settings: dict[str, Setting] = {}
        self.unread: list[UnreadKey] = []
        self.unmodelled: list[Unmodelled] = []

    def apply(self, table: FrameworkTable, leaves: Mapping[str, Leaf]) -> None:
        """Set what the table makes of these values and of the framework's defaults."""
        place = Leaf(table.table, None, min((leaf.line for leaf in leaves.values()), default=0) if table.calls else 0)
        self._set_effect(table.fields, place)
        for key, rule in table.keys.items():
            leaf = leaves.get(key)
            if leaf is None or (leaf.value is None and not leaf.why):
                default = table.defaults.get(key)
                leaf = None if default is None else Leaf(key, default, 0)
            if leaf is not None and leaf.why:
                self.unread.append(UnreadKey(leaf.key, leaf.line, leaf.why, _first_field(rule)))
            elif leaf is not None:
                self._set_key(leaf, rule)
        for key, words in table.notes.items():
            leaf = leaves.get(key)
            if leaf is not None and (leaf.why or leaf.value not in EMPTY):
                self.unmodelled.append(Unmodelled(words, key, leaf.line))

    def _set_key(self, leaf: Leaf, rule: Rule) -> None:
        if isinstance(rule, str):
            self._set_field(leaf, rule)
            return
        effect = rule.get(spelling(leaf.value), rule.get("*"))
        if effect is None:
            self.unread.append(UnreadKey(leaf.key, leaf.line, f"`{leaf.value}` is not known here", _first_field(rule)))
        elif isinstance(effect, str):
            self._set_field(leaf, effect)
        else:
            self._set_effect(effect, leaf)

    def _set_field(self, leaf: Leaf, field: str) -> None:
        if self._is_decided(field, leaf):
            return
        if field == "builder":
            self._set_builder(leaf)
            return
        try:
            self.settings[field] = Setting(self._convert(field, leaf), leaf.key, leaf.line)
        except ValueError as exc:
            self.unread.append(UnreadKey(leaf.key, leaf.line, str(exc), field))

    def _is_decided(self, field: str, leaf: Leaf) -> bool:
        """True if the file says what the field is, and the leaf is only a default."""
        return not leaf.line and field in self.settings and self.settings[field].line > 0

    def _convert(self, field: str, leaf: Leaf) -> Any:
        """The value as fit has it. Raises ValueError if fit does not model it, or it is of another type."""
        if field == "targets":
            return self._read_targets(leaf)
        names = {"optimizer": self.words.optimizers, "dtype": self.words.dtypes}.get(field)
        if names is not None:
            if str(leaf.value) not in names:
                raise ValueError(f"`{leaf.value}` is not modelled")
            return names[str(leaf.value)]
        try:
            return msgspec.convert(leaf.value, TYPES.get(field, Name))
        except msgspec.ValidationError as exc:
            raise ValueError(f"`{leaf.value}`: {exc}") from None

    def _read_targets(self, leaf: Leaf) -> tuple[str, ...]:
        value = leaf.value
        names = value.split(",") if isinstance(value, str) else value
        if not isinstance(names, list) or not names or not all(isinstance(name, str) and name.strip() for name in names):
            raise ValueError(f"`{value}` is not a list of layer names")
        if any(set(name) & set("*^$()|\\.[") for name in names):
            raise ValueError("a pattern of layer names")
        layers = dict.fromkeys(self.words.layers.get(name.strip(), name.strip()) for name in names)
        if layers.keys() & HEADS:
            self.unmodelled.append(
                Unmodelled("embeddings or an output head that are trained beside the adapters", leaf.key, leaf.line)
            )
        return tuple(name for name in layers if name not in HEADS)

    def _set_builder(self, leaf: Leaf) -> None:
        """torchtune's builder: `torchtune.models.llama3_2.qlora_llama3_2_1b` is model and method."""
        name = str(leaf.value).rsplit(".", 1)[-1]
        prefix, _, rest = name.partition("_")
        method, size = (prefix, rest) if prefix in ("lora", "qlora") else ("full", name)
        self._set_effect({"method": method, **({"quant_bits": 4} if method == "qlora" else {})}, leaf)
        if size in self.words.builders:
            self.settings["model"] = Setting(self.words.builders[size], leaf.key, leaf.line)
        else:
            self.unread.append(UnreadKey(leaf.key, leaf.line, f"the model of `{name}` is not in the catalog", "model"))

    def _set_effect(self, effect: Mapping[str, Any], leaf: Leaf) -> None:
        for field, value in effect.items():
            if field == "note":
                self.unmodelled.append(Unmodelled(value, leaf.key, leaf.line))
                continue
            name, before = field.removesuffix("+"), self.settings.get(field.removesuffix("+"))
            if self._is_decided(name, leaf):
                continue
            if field.endswith("+"):
                value = (*(before.value if before else ()), *value)
            elif isinstance(value, dict):
                decisive = self.settings.get(value.get("of", name))
                value = value.get(spelling(decisive.value if decisive else None))
                if value is None:
                    continue
            elif isinstance(value, list):
                value = tuple(value)
            self.settings[name] = Setting(value, leaf.key, leaf.line)


def spelling(value: Any) -> str:
    """A value as the tables spell it: `true`, an empty text for null."""
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _first_field(rule: Rule) -> str:
    """The name of the field that a rule sets first."""
    if isinstance(rule, str):
        return "model" if rule == "builder" else rule
    effects = [
        [effect] if isinstance(effect, str) else [f.removesuffix("+") for f in effect if f != "note"] for effect in rule.values()
    ]
    return next((field for effect in effects for field in effect), "")
