"""A configuration with other values: the same file, with the fewest lines changed. Each change is read back before it is kept."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

import msgspec

from rocm_doctor.matrix import Matrix
from rocm_doctor.training import read_text
from rocm_doctor.training.literals import Leaf
from rocm_doctor.training.tables import Rule, Table, Tables, fields_of
from rocm_doctor.training.types import ConfigError, Run


class Edited(msgspec.Struct, frozen=True):
    """The new text, the change as a unified diff, and the fields for which the framework has no key (or not in this file)."""

    text: str
    diff: str
    left: tuple[str, ...]


def edit(before: str, run: Run, wanted: Mapping[str, Any], matrix: Matrix) -> Edited:
    """The text of the run's file, with these fields changed."""
    tables, text, name = Tables(matrix), before, PurePosixPath(run.file).name
    for field, value in wanted.items():
        tries = (new for add in (False, True) for new in _tries(text, run, field, value, tables, matrix, add))
        text = next((new for new in tries if _read_value(new, run, field, matrix) == value), text)
    left = tuple(field for field, value in wanted.items() if _read_value(text, run, field, matrix) != value)
    diff = difflib.unified_diff(before.splitlines(), text.splitlines(), name, name, lineterm="", n=1)
    return Edited(text, "\n".join(diff), left)


def _read_value(text: str, run: Run, field: str, matrix: Matrix) -> Any:
    """The field in a changed text; an empty tuple, which is not a value, where it cannot be read."""
    try:
        return read_text(text, run.file, matrix).value(field)
    except ConfigError:
        return ()


def _tries(text: str, run: Run, field: str, value: Any, tables: Tables, matrix: Matrix, add: bool) -> Iterator[str]:
    """Changed texts that may have the value: nothing changed, a key changed (`add`: or added), contrary keys of the file neutralised."""
    yield text
    for table in (tables.every[name] for name in reversed(run.tables)):
        keys = [key for key in reversed(list(table.keys)) if field in fields_of(table.keys[key])]
        rules = {key: rule for key in keys if isinstance(rule := table.keys[key], dict)}
        off = {key: k for key, rule in rules.items() for k, v in rule.items() if isinstance(v, dict) and not v}
        for key in keys:
            new = _spell(key, table.keys[key], field, value, tables)
            if new is None:
                continue
            yield _put(text, run, table, key, new, matrix, add)
            neutral = text
            for other in (other for other in off if other != key):
                neutral = _put(neutral, run, table, other, _native_value(off[other]), matrix, False)
            yield _put(neutral, run, table, key, new, matrix, add)


def _spell(key: str, rule: Rule, field: str, value: Any, tables: Tables) -> Any:
    """What the key must hold for the field to have the value; None: nothing does."""
    if isinstance(rule, str):
        if field == "optimizer":
            dotted = key.endswith("_component_")
            return next((name for name, one in tables.words.optimizers.items() if one == value and ("." in name) == dotted), None)
        return value
    return next(
        (_native_value(k) for k, v in rule.items() if isinstance(v, dict) and v.get(field, ()) == value and "note" not in v), None
    )


def _native_value(spelled: str) -> Any:
    return {"true": True, "false": False, "": None}.get(spelled, spelled)


def _put(text: str, run: Run, table: Table, key: str, value: Any, matrix: Matrix, add: bool) -> str:
    """The text with the key set, in place where it is there, else before the first key of the same kind."""
    try:
        leaves = read_text(text, run.file, matrix).leaves
    except ConfigError:
        return text
    prefix = f"{table.table}." if table.calls and PurePosixPath(run.file).suffix == ".py" else ""
    leaf = leaves.get(prefix + key)
    if leaf is not None and leaf.end > leaf.start:
        return text[: leaf.start] + _write_literal(value, run.file, text[leaf.start : leaf.end]) + text[leaf.end :]
    parent = (prefix + key).rpartition(".")[0]
    near = [one for name, one in leaves.items() if one.key_at >= 0 and name.rpartition(".")[0] == parent]
    return _insert(text, run.file, key.rpartition(".")[2], value, near[0]) if near and add else text


def _insert(text: str, name: str, key: str, value: Any, near: Leaf) -> str:
    """The text with a key before another one of the same mapping or call."""
    line = text.rfind("\n", 0, near.key_at) + 1
    indent = text[line : near.key_at]
    gap = ("\n" + indent) if not indent.strip() else " "
    script, spaced = PurePosixPath(name).suffix == ".py", " = " if text[near.key_at : near.start].endswith(" = ") else "="
    quoted = text[near.key_at] == '"'
    said = f"{key}{spaced}" if script else f'"{key}": ' if quoted else f"{key}: "
    comma = "," if script or quoted or gap == " " else ""
    return text[: near.key_at] + said + _write_literal(value, name, "") + comma + gap + text[near.key_at :]


def _write_literal(value: Any, name: str, old: str) -> str:
    """A value as Python or YAML writes it, `torch.bfloat16` where the old one was such."""
    if PurePosixPath(name).suffix == ".py":
        return f"torch.{value}" if old.startswith("torch.") else repr(value) if not isinstance(value, str) else f'"{value}"'
    if (
        isinstance(value, str)
        and value not in ("no", "yes", "on", "off")
        and not old.startswith(('"', "'"))
        and PurePosixPath(name).suffix != ".json"
    ):
        return value
    return msgspec.json.encode(value).decode() if value is not None else "null"
