"""Adds to rocm_doctor/redaction/field.txt the words of the matrix that it lacks: a word of ours that was taken for a name would spoil an answer.

    python scripts/vocabulary.py

`common.txt` is not made here: the commonest words of SCOWL's American English, and of messages in 17 languages, by how often they are used.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from rocm_doctor.redaction.vocabulary import INFLECTIONS, field_words, is_known, pieces, runs

ROOT = Path(__file__).resolve().parents[1]
_FIELD = ROOT / "rocm_doctor" / "redaction" / "field.txt"
_LEAST = 2
"""Files of the matrix that must hold a word: a name that one source has is not for the list."""


def main() -> None:
    held: dict[str, int] = {}
    for path in sorted((ROOT / "compat_matrix").rglob("*.yaml")):
        text = re.sub(r"https?://\S+", " ", path.read_text("utf-8"))
        found = {piece.casefold() for run in runs(text) if not is_known(run, joined=True) for piece in pieces(run)}
        for word in found:
            held[word] = held.get(word, 0) + 1
    new = {word for word, files in held.items() if files >= _LEAST and word.isalpha() and not is_known(word, joined=True)}
    words = new | field_words()
    kept = sorted(word for word in words if not any(word.endswith(end) and word[: -len(end)] in words for end in INFLECTIONS))
    _FIELD.write_text("\n".join(textwrap.wrap(" ".join(kept), 130, break_on_hyphens=False)) + "\n", "utf-8")
    print(f"{len(new)} new words: {' '.join(sorted(new))}")


if __name__ == "__main__":
    main()
