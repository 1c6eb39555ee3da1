"""A random draw of statements of the matrix, to be read against their sources.

python scripts/draw.py --seed 20261122 [-n 80]     prints each statement

A statement is one row or one entry of the catalog; entries that state nothing (questions, models) are left out.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent / "compat_matrix"
UNSTATED = ("models", "training", "programs", "applications", "complaints", "slots", "questions", "sets")
"""Sections of the catalog that state nothing that a source could say."""
NAMES = ("key", "gfx", "name", "module", "version")
UNREAD = ("verified", "example", "not", "verify")
"""Fields of a row that state nothing that a source could say."""


def statements() -> list[tuple[str, str, dict[str, Any]]]:
    """File, name and fields of every statement, in the order of their names."""
    return sorted(_statements(), key=lambda one: one[:2])


def _statements() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path in [*(ROOT / "rows").rglob("*.yaml"), *(ROOT / "catalog").rglob("*.yaml")]:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
        sections = data if isinstance(data, dict) else {path.stem: data}
        for entry in chain.from_iterable(several for name, several in sections.items() if name not in UNSTATED):
            yield (
                path.relative_to(ROOT).as_posix(),
                str(next((entry[n] for n in NAMES if n in entry), next(iter(entry.values())))),
                entry,
            )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, required=True, help="chosen before anything is looked at")
    parser.add_argument("-n", type=int, default=80)
    options = parser.parse_args()
    drawn = random.Random(options.seed).sample(statements(), options.n)
    for number, (file, name, entry) in enumerate(sorted(drawn, key=lambda one: one[:2]), 1):
        said = {field: value for field, value in entry.items() if field not in UNREAD}
        print(f"#{number} [{file}] {name}\n{yaml.safe_dump(said, sort_keys=False, width=120, allow_unicode=True)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
