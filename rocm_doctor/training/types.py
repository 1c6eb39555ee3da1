"""What is known of a training run after its configuration was read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec


class ConfigError(ValueError):
    """The file cannot be used; the message names it, the line where there is one, and the remedy."""


class Setting(msgspec.Struct, frozen=True):
    """The value of a field, the key that said so in the framework's own words, and its line (0: the framework's default)."""

    value: Any
    key: str
    line: int


class UnreadKey(msgspec.Struct, frozen=True):
    """A key whose value decides something and was not understood. `field` is what it would have set; `line` 0: it is not in the file."""

    key: str
    line: int
    why: str
    field: str

    @property
    def words(self) -> str:
        """`not read: line 12, bf16 (a call)`."""
        place = f"line {self.line}, {self.key}" if self.line else self.key
        return f"not read: {place} ({self.why})"


class Unmodelled(msgspec.Struct, frozen=True):
    """Something that changes memory or speed and is not modelled, with the key and line that ask for it."""

    words: str
    key: str
    line: int


class TrainingRun(msgspec.Struct, frozen=True):
    """A training run as its file describes it. `settings` has fields of fit's Job, and model and attention (as the framework spells it)."""

    framework: str
    file: str
    settings: Mapping[str, Setting]
    unread: tuple[UnreadKey, ...] = ()
    unmodelled: tuple[Unmodelled, ...] = ()

    def value(self, field: str, default: Any = None) -> Any:
        setting = self.settings.get(field)
        return default if setting is None else setting.value

    def describe_change(self, wanted: Mapping[str, Any]) -> list[str]:
        """A line for each field that is to change: `line 12, micro_batch_size: 2`, its own name where the file has no key for it."""
        pairs = ((self.settings.get(field), field, value) for field, value in wanted.items())
        return [
            f"line {setting.line}, {setting.key}: {value}" if setting and setting.line else f"not in the file, {field}: {value}"
            for setting, field, value in pairs
        ]
