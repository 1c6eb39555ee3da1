"""The features of a text, with how often each occurs.

A feature is a string. Its first letter tells its kind: `w` one to three words in a row, `c` a piece of a word, `t` a word of the first
line.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from rocm_doctor.bounded.patterns import regex

_TOKEN = regex(r"<name>|gfx[0-9a-f]+|[a-z]+(?:_[a-z]+)+|[a-z]+|(?<!\d)\d+(?:\.\d+)+|0x[0-9a-f]+|[^\W\d_]+")
_STOP = frozenset((
    "the", "a", "an", "is", "are", "was", "were", "be", "been", "to", "of", "in", "on", "and", "or", "it", "this",
    "that", "i", "my", "me", "we", "you", "with", "for", "at", "as", "by", "from",
))  # fmt: skip
PIECE = (4, 5)


def words(text: str) -> list[str]:
    """Tokens in lower case: words, identifiers, versions by their first two numbers, targets, `<name>` for people."""
    found = []
    for token in _TOKEN.findall(text.lower()):
        if token[0].isdigit():
            token = "#0x" if token.startswith("0x") else ".".join(token.split(".")[:2])
        found.append(token[:40])
    return found


def text_features(text: str) -> Counter[str]:
    """Words, pairs and triples of words, pieces of longer words, and words of the first line, with how often each occurs.

    >>> sorted(name for name in text_features("GPU gone") if name[0] in "tw")
    ['t:gone', 't:gpu', 'w:gone', 'w:gpu', 'w:gpu gone']
    """
    counts: Counter[str] = Counter()
    for number, line in enumerate(text.split("\n")):
        tokens = words(line)
        counts.update("w:" + t for t in tokens)
        content = [t for t in tokens if t not in _STOP]
        counts.update(f"w:{a} {b}" for a, b in pairwise(content))
        counts.update(f"w:{a} {b} {c}" for a, b, c in zip(tokens, tokens[1:], tokens[2:]))
        if number == 0:
            counts.update("t:" + t for t in tokens)
        for token in set(tokens):
            if len(token) > 3 and not token[0].isdigit():
                padded = f"^{token}$"
                counts.update({"c:" + padded[i : i + n] for n in PIECE for i in range(len(padded) - n + 1)})
    return counts
