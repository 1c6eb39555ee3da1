"""A person's own training configuration, read literally: torchtune, axolotl, LLaMA-Factory, TRL and transformers files, and Python scripts.
Nothing is executed; what is not literal is named with its line.

`read` takes a path, `read_text` a text. catalog/training.yaml holds the keys of each framework and its defaults.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import msgspec

from rocm_doctor.bounded import Unreadable, files
from rocm_doctor.matrix import Matrix
from rocm_doctor.training import literals
from rocm_doctor.training.literals import Call, Leaf
from rocm_doctor.training.tables import FieldInterpreter, FrameworkTable, Tables
from rocm_doctor.training.types import ConfigError, Setting, TrainingRun, Unmodelled, UnreadKey

__all__ = ["OPTIONS", "ConfigError", "Setting", "TrainingRun", "Unmodelled", "UnreadKey", "read", "read_text"]

OPTIONS = {"model": "--model", "seq": "--seq", "batch": "--batch"}
"""Without these there is no prediction; the option is used."""
SCRIPT_NEEDS = "TrainingArguments, SFTConfig, FastLanguageModel.from_pretrained, ..."


def read(path: Path, matrix: Matrix) -> TrainingRun:
    """The run of a configuration or script. Raises ConfigError if the file cannot be read, or as `read_text` does."""
    try:
        return read_text(files.text(path, files.MIB), str(path), matrix)
    except OSError as exc:
        raise ConfigError(f"{path}: {exc.strerror}") from exc
    except Unreadable as exc:
        raise ConfigError(f"{path}: {exc}") from exc


def read_text(text: str, name: str, matrix: Matrix) -> TrainingRun:
    """The run of a text; a name that ends in .py says that it is a script. Raises ConfigError if it cannot be parsed, or is not
    of a framework that the catalog knows."""
    tables = Tables(matrix)
    try:
        if PurePosixPath(name).suffix == ".py":
            return _read_script(text, name, tables)
        leaves = literals.read_yaml(text)
    except Unreadable as exc:
        raise ConfigError(f"{name}{f':{exc.line}' if exc.line else ''}: {exc}") from exc
    table = tables.find_by_keys(leaves)
    if table is None:
        frameworks = ", ".join(dict.fromkeys(t.framework for t in tables.every.values() if t.marks))
        raise ConfigError(f"{name}: no training configuration that is known ({frameworks}); give the settings as options")
    reading = FieldInterpreter(tables.words)
    reading.apply(table, leaves)
    return _make_run(reading, table.framework, name)


def _read_script(text: str, name: str, tables: Tables) -> TrainingRun:
    """The run of a Python script. The tables are applied in their order in the catalog, whatever the order of the calls. Raises
    ConfigError if it has no call that the catalog knows, Unreadable if it is not Python."""
    calls = [(table, call) for call in literals.read_script(text) if (table := tables.find_by_call(call.name))]
    if not calls:
        raise ConfigError(f"{name}: no training configuration in this script ({SCRIPT_NEEDS}); give the settings as options")
    reading = FieldInterpreter(tables.words)
    reading.settings["method"] = Setting("full", "", 0)
    reading.settings["kbit_prepare"] = Setting(False, "", 0)
    used = [table for table in tables.every.values() if any(table is called for called, _ in calls)]
    for table in used:
        reading.apply(table, _merge_calls([call for called, call in calls if called is table], table))
    names = [table.framework for table in used]
    framework = next((preferred for preferred in ("Unsloth", "TRL") if preferred in names), names[0])
    return _make_run(reading, framework, name)


def _merge_calls(calls: list[Call], table: FrameworkTable) -> dict[str, Leaf]:
    """The arguments of all calls of one kind by their key. A key of the table with different values has None as its value, and
    `why` names the other's line."""
    leaves: dict[str, Leaf] = {}
    for leaf in (leaf for call in calls for leaf in call.leaves):
        before = leaves.get(leaf.key)
        if before is not None and before.value != leaf.value and leaf.key in table.keys:
            leaf = msgspec.structs.replace(leaf, value=None, why=f"another value on line {before.line}")
        leaves[leaf.key] = leaf
    if not leaves and calls:
        leaves["()"] = Leaf("()", None, calls[0].line)
    return leaves


def _make_run(reading: FieldInterpreter, framework: str, name: str) -> TrainingRun:
    settings = dict(reading.settings)
    if settings.get("method") and settings["method"].value != "qlora":
        settings.pop("quant_bits", None)
    unread = [entry for entry in reading.unread if not (entry.field in OPTIONS and entry.field in settings)]
    missing = [field for field in OPTIONS if field not in settings and all(entry.field != field for entry in unread)]
    unread += [UnreadKey(field, 0, f"the file does not say it; give {OPTIONS[field]}", field) for field in missing]
    unmodelled = tuple({entry.words: entry for entry in reversed(reading.unmodelled)}.values())[::-1]
    return TrainingRun(framework, name, settings, tuple(dict.fromkeys(unread)), unmodelled)
