"""Texts of `key value` and `key: value` lines, as sysfs and our own records of device nodes write them."""

from __future__ import annotations

from typing import NamedTuple

from rocm_doctor.model import Artifact, Reading


class KeyedValue(NamedTuple):
    """The value behind a key, and where it was read."""

    value: str
    reading: Reading

    @property
    def number(self) -> int | None:
        """The value as a number, decimal or 0x; None if it is not a number."""
        return parse_number(self.value)


Entries = dict[str, KeyedValue]


def read_keys(artifact: Artifact | None, separator: str | None = None) -> Entries:
    """Entries by key, of each line that has a key and a value; the first of equal keys counts. `separator` None: white space."""
    found: Entries = {}
    if artifact is not None and not artifact.missing:
        for place, line in enumerate(artifact.text.splitlines(), 1):
            add_entry(found, line, Reading(artifact.name, f"line {place}", line.strip()[:200]), separator)
    return found


def add_entry(found: Entries, line: str, reading: Reading, separator: str | None = None) -> None:
    """Add the entry of a line that has a value and a new key."""
    key, *rest = line.strip().split(separator, 1) or [""]
    if rest and key.strip() and rest[0].strip():
        found.setdefault(key.strip(), KeyedValue(rest[0].strip(), reading))


def first_value(artifact: Artifact | None) -> KeyedValue | None:
    """The entry of a file that holds one value; None if it is missing or empty."""
    if artifact is None or artifact.missing or not artifact.text.strip():
        return None
    value = artifact.text.strip().splitlines()[0].strip()
    return KeyedValue(value, Reading(artifact.name, "", value[:200]))


def parse_number(text: str) -> int | None:
    """A whole number of at most 20 digits, decimal or with 0x; None for anything else."""
    text = text.strip().lower()
    if text[:1] == "-" and text[1:].isascii() and text[1:].isdigit():
        return int(text[:21])
    try:
        return int(text[:20], 16 if text.startswith("0x") else 10) if text.isascii() and len(text) <= 20 else None
    except ValueError:
        return None


def absence(artifact: Artifact | None) -> Reading | None:
    """The reading for something that was probed and is absent; None if it is present or was not probed."""
    if artifact is None or artifact.missing != "absent-source":
        return None
    return Reading(artifact.name, "", artifact.note or "not there")
