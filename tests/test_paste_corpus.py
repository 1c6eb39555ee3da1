"""Real captures (where the corpus stands beside the project): what is read of them, whole, cut short and mutilated."""

from __future__ import annotations

import importlib.util
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from called import called
from hypothesis import given
from hypothesis import strategies as st
from tool_texts import EVERY, NAMES, SINGLE, plain

from rocm_doctor.facts import merge as snapshot
from rocm_doctor.probes.read.result import Artifacts, ProbeResult
from rocm_doctor.probes.tools import amd_smi, hipinfo, rocm_smi, rocminfo
from rocm_doctor.sources.paste import cut, decode

SHARED = Path(__file__).parents[2] / "shared"
CAPTURES = SHARED / "corpus" / "captures"
KINDS = ("rocminfo", "rocm-smi", "amd-smi", "hipinfo")
PROBES: tuple[ModuleType, ...] = (rocminfo, amd_smi, rocm_smi, hipinfo)
FILES = [p for kind in KINDS for p in sorted((CAPTURES / kind).glob("*.txt"))]
SEEDS = [text.encode() for text in EVERY.values()] + [p.read_bytes() for p in FILES if p.stat().st_size < 20_000]

corpus = pytest.mark.skipif(not FILES, reason="the corpus of captures does not stand beside the project")


def notes_of(text: str) -> list[ProbeResult]:
    found = Artifacts(cut(text, "capture"), lambda: NAMES)
    return [module.probe(found) for module in PROBES]


def values_of(text: str) -> dict[str, Any]:
    """The facts as `rocm-doctor probe --values` lays them out, as far as the comparison needs."""
    whole = snapshot.build(notes_of(text))
    facts = plain(whole.facts)
    out: dict[str, Any] = {"gpus": [plain(gpu.facts) for gpu in whole.gpus], "env": {}}
    for key, value in facts.items():
        family, _, name = key.partition(".")
        out.setdefault(family, {})[name] = value
    return out


def judge() -> Callable[[dict[str, Any], dict[str, Any]], list[tuple[str, str, object, object]]]:
    spec = importlib.util.spec_from_file_location("score_captures", SHARED / "tools" / "score_captures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.judge  # type: ignore[no-any-return]


@corpus
def test_values_of_real_captures() -> None:
    verdict, tally, wrong = judge(), Counter[str](), []
    for path in FILES:
        expected = json.loads(path.with_name(path.stem + ".expected.json").read_text(encoding="utf-8"))
        for field, result, want, got in verdict(expected, values_of(decode(path.read_bytes()))):
            tally[result] += 1
            if result == "wrong":
                wrong.append((path.stem, field, want, got))
    assert wrong == []
    assert tally["right"] / sum(tally.values()) >= 0.99, tally


def said(text: str) -> set[tuple[str, str]]:
    """Every value that any probe states, of the machine or of a GPU."""
    out = set()
    for notes in notes_of(text):
        for facts in (notes.facts, *(gpu for listing in notes.listings for gpu in listing.gpus)):
            out |= {(key, repr(value)) for key, value in plain(facts).items()}
    return out


def places(text: str, count: int) -> Iterator[int]:
    """Places to cut at, the same in every run: anywhere, and inside the last digits of numbers."""
    dice = random.Random(len(text))
    digits = [n for n in range(1, len(text)) if text[n - 1].isdigit() and text[n].isdigit()]
    yield from (dice.randrange(len(text)) for _ in range(count))
    yield from (dice.choice(digits) for _ in range(count) if digits)


@pytest.mark.parametrize("text", SINGLE)
def test_a_text_cut_anywhere_says_nothing_new(text: str) -> None:
    whole = said(text)
    for place in places(text, 25):
        assert said(text[:place]) <= whole, text[max(0, place - 80) : place]


@corpus
def test_a_capture_cut_anywhere_says_nothing_new() -> None:
    for path in FILES:
        text = decode(path.read_bytes())
        if len(text) < 15_000:
            whole = said(text if text.endswith("\n") else text + "\n")
            for place in places(text, 1):
                assert said(text[:place]) <= whole, (path.stem, text[max(0, place - 80) : place])


def mutilate(data: bytes, dice: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    for _ in range(dice.randrange(1, 6)):
        n = dice.randrange(len(lines)) if lines else 0
        match dice.randrange(6):
            case 0:
                lines = lines[:n] + lines[n + 1 :]
            case 1:
                lines = lines[:n] + lines[n : n + 1] * dice.randrange(2, 5) + lines[n:]
            case 2:
                lines = lines[: n + 1]
            case 3:
                lines = lines[:n] + dice.choice(SEEDS).splitlines(keepends=True)[:30] + lines[n:]
            case 4:
                lines[n : n + 2] = [b" ".join(line.rstrip(b"\n") for line in lines[n : n + 2])]
            case _:
                whole = bytearray(b"".join(lines))
                for _ in range(dice.randrange(1, 9)):
                    if whole:
                        whole[dice.randrange(len(whole))] = dice.randrange(256)
                lines = bytes(whole).splitlines(keepends=True)
    return b"".join(lines)


@given(st.integers(0, len(SEEDS) - 1), st.integers(0, 2**32))
def test_mutilated_output_is_read_or_not_but_never_raises(which: int, seed: int) -> None:
    dice = random.Random(seed)
    for notes in notes_of(decode(mutilate(SEEDS[which], dice))):
        for listing in notes.listings:
            for gpu in listing.gpus:
                assert all(reading.place for fact in gpu.values() for reading in fact.readings)


FRAGMENTS = [
    *sorted({line for text in EVERY.values() for line in text.splitlines()}),
    '{"card0": {',
    '"gpu": ',
    "GPU: ",
    "GPU[",
    "0 ",
    "\n\n",
    "[",
    "}",
]


@given(st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=20)), max_size=30), st.sampled_from(["\n", " ", "  "]))
def test_any_text_is_read_or_not_but_never_raises(parts: list[str], glue: str) -> None:
    notes_of(glue.join(parts))


def test_a_version_that_is_not_known_is_written_as_words() -> None:
    text = "pip3 install --pre torch torchvision --index-url https://download.pytorch.org/whl/nightly/rocm7.0\nERROR: hash mismatch\n"
    shown = called("check", "-", stdin=text).stdout
    assert "version not known, built for ROCm 7.0" in shown
