"""What tools print of GPUs as keys and values: pairs from JSON and CSV, and the table that makes facts of them.

JSON in a pasted text need not be JSON: it has warnings before it, extra commas, `...` for omissions, or an early end.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, Union

from rocm_doctor.bounded import jsons
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Artifact, Fact, Reading, Value
from rocm_doctor.probes.read.keyed import KeyedValue
from rocm_doctor.probes.read.printed import lines
from rocm_doctor.probes.read.result import ProbeResult

Json = Union[dict[str, "Json"], list["Json"], str, int, float, bool, None]
Gpus = dict[int, dict[str, Fact]]
Keys = Mapping[str, tuple[str, Callable[[str], Value]]]
"""Fact and reader of each key."""

_DECORATION = regex(r"(?m)^(?:<!--|[ \t#>|])+")
_START = regex(r"(?m)^([\[{])\s*(?=[\]}\"\[{]|\Z)")
_LEFT_OUT = regex(r"(?m)^(?:\.{2,}|…),?[ \t]*$")
_EXTRA_COMMA = regex(r",(?=\s*[\]}])")
_CARD = regex(r"card(\d{1,4})|system")
_ATTEMPTS = 200
"""Values that are tried."""


class Pair(NamedTuple):
    """A key with its value, the number of its GPU (None: of the machine), and where it was read. In a section: `section.key`."""

    gpu: int | None
    key: str
    value: str
    reading: Reading


def record_pair(result: ProbeResult, gpus: Gpus, pair: Pair, keys: Keys) -> None:
    """The GPU of the pair among `gpus`, with the fact behind its key: with its section, else without."""
    if pair.gpu is not None:
        key = pair.key.lower()
        name = key if key in keys else key.rpartition(".")[2]
        record_entries(result, gpus.setdefault(pair.gpu, {}), {name: KeyedValue(pair.value, pair.reading)}, keys)


def record_entries(result: ProbeResult, gpu: dict[str, Fact] | None, entries: Mapping[str, KeyedValue], keys: Keys) -> None:
    """The facts of a GPU (None: of the machine) behind its keys, in the order of the table; none where the reader finds no value."""
    for key, (fact, read) in keys.items():
        if key in entries and (value := read(entries[key].value)) is not None:
            result.record(fact, value, entries[key].reading, gpu)


def roots(text: str) -> list[Json]:
    """The objects and lists that begin a line and are whole; of one that is not, those inside that are. Other text is skipped."""
    found: list[Json] = []
    text = _EXTRA_COMMA.sub("", _LEFT_OUT.sub("", _DECORATION.sub("", jsons.whole_letters(text))))
    decoder, place = jsons.decoder(), 0
    for _ in range(_ATTEMPTS):
        start = _START.search(text, place)
        if start is None:
            break
        try:
            value, place = decoder.raw_decode(text, start.start(1))
            found.append(value)
        except (ValueError, RecursionError):
            place = start.end(1)
    return found


def json_pairs(artifact: Artifact) -> Iterator[Pair]:
    """The keys of GPUs: rocm-smi's `{"card0": {...}}`, amd-smi's list (since 7.0 `{"gpu_data": [...]}`) of entries with a number under
    `gpu`. The keys of other objects are the machine's."""
    for root in roots(artifact.text):
        entries = root.get("gpu_data", [root]) if isinstance(root, dict) else root
        for entry in entries if isinstance(entries, list) else ():
            for gpu, place, keys in _owners(entry) if isinstance(entry, dict) else ():
                for key, value in leaves(keys):
                    yield Pair(gpu, key, value, Reading(artifact.name, place + key, f'"{key}": "{value}"'[:200]))


def _owners(entry: dict[str, Json]) -> Iterator[tuple[int | None, str, dict[str, Json]]]:
    """(GPU, beginning of the place, keys) for each part of an entry; the GPU is its number, or None for the machine."""
    number = entry.get("gpu")
    if isinstance(number, int) and not isinstance(number, bool) and 0 <= number < 4096:
        yield number, f"gpu {number}: ", entry
        return
    if {"vendor", "size"} <= entry.keys():
        yield 0, "", {"vram": entry}  # the memory of one GPU, picked out with jq
        return
    cards = {name: keys for name, keys in entry.items() if isinstance(keys, dict) and _CARD.fullmatch(name)}
    for name, keys in cards.items():
        yield None if name == "system" else int(name[4:]), f"{name}.", keys
    if not cards:
        yield None, "", entry


def leaves(entry: dict[str, Json]) -> Iterator[tuple[str, str]]:
    """(key, value) of the first two levels, as `key.inner` below a mapping; `{"value": 16304, "unit": "MB"}` is `16304 MB`."""
    for key, value in entry.items():
        if isinstance(value, dict) and "value" not in value:
            yield from ((f"{key}.{inner}", _words(leaf)) for inner, leaf in value.items())
        else:
            yield key, _words(value)


def _words(value: Json) -> str:
    if isinstance(value, dict):
        return f"{value.get('value', '')} {value.get('unit', '')}".strip()
    if isinstance(value, list):
        return ", ".join(one for one in value if isinstance(one, str))
    return "" if value is None or isinstance(value, bool) else str(value)


def csv_pairs(artifact: Artifact, first: str) -> Iterator[Pair]:
    """The cells of a table whose head begins with the column `first`; a row begins with the number of the GPU, alone or as `card0`."""
    head: list[str] = []
    for line in lines(artifact):
        text = line.text.strip(" #>\t").replace("\0", "")
        if text.startswith(first + ","):
            head = text.split(",")
        elif head and line.whole and (owner := re.match(r"(?:card)?(\d{1,4}|system),", text)):
            cells = next(csv.reader([text]), []) if '"' in text else text.split(",")
            for key, cell in zip(head, cells if len(cells) == len(head) else cells[:1]):
                yield Pair(int(owner[1]) if owner[1] != "system" else None, key, cell, line.reading)
