"""What speaks for or against a diagnosis, by name: words of the complaint, facts and relations of the snapshot, what rows found.

A feature is a string. Its first letter tells its kind: `w` words, `c` pieces of words, `t` words of the first line, `p` two words of
one sentence in any order, `f` a fact or a relation, `r` a finding.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Finding

_TOKEN = regex(r"<name>|gfx[0-9a-f]+|[a-z]+(?:_[a-z]+)+|[a-z]+|(?<!\d)\d+(?:\.\d+)+|0x[0-9a-f]+|[^\W\d_]+")
_STOP = frozenset((
    "the", "a", "an", "is", "are", "was", "were", "be", "been", "to", "of", "in", "on", "and", "or", "it", "this",
    "that", "i", "my", "me", "we", "you", "with", "for", "at", "as", "by", "from",
))  # fmt: skip
PIECE = (4, 5)
_NEAR = 5
"""Words of a sentence that are paired with one before them; what carries no meaning (_STOP) is not counted."""
_LONGEST = 40
"""Words of a sentence that are paired, at most: longer ones are listings."""
_SENTENCE = regex(r"(?<=[.!?;])\s+")


def words(text: str) -> list[str]:
    """Tokens in lower case: words, identifiers, versions by their first two numbers, targets, `<name>` for people."""
    found = []
    for token in _TOKEN.findall(text.lower()):
        if token[0].isdigit():
            token = "#0x" if token.startswith("0x") else ".".join(token.split(".")[:2])
        found.append(token[:40])
    return found


def text_features(text: str) -> Counter[str]:
    """Words, pairs and triples of words, pieces of longer words, words of the first line, and pairs of words of one sentence, with how
    often each occurs.

    >>> sorted(name for name in of_text("kernel updated, GPU gone") if name[0] in "tp")[:3]
    ['p:gone gpu', 'p:gone kernel', 'p:gone updated']
    """
    counts: Counter[str] = Counter()
    for number, line in enumerate(text.split("\n")):
        sentences = [words(sentence) for sentence in _SENTENCE.split(line)]
        tokens = [token for sentence in sentences for token in sentence]
        counts.update("w:" + t for t in tokens)
        content = [t for t in tokens if t not in _STOP]
        counts.update(f"w:{a} {b}" for a, b in pairwise(content))
        counts.update(f"w:{a} {b} {c}" for a, b, c in zip(tokens, tokens[1:], tokens[2:]))
        counts.update(name for sentence in sentences for name in _pairs(sentence))
        if number == 0:
            counts.update("t:" + t for t in tokens)
        for token in set(tokens):
            if len(token) > 3 and not token[0].isdigit():
                padded = f"^{token}$"
                counts.update({"c:" + padded[i : i + n] for n in PIECE for i in range(len(padded) - n + 1)})
    return counts


def _pairs(sentence: list[str]) -> Iterator[str]:
    content = [t for t in sentence[:_LONGEST] if t not in _STOP]
    for place, one in enumerate(content):
        for other in content[place + 1 : place + 1 + _NEAR]:
            if one != other:
                yield f"p:{one} {other}" if one < other else f"p:{other} {one}"


def finding_features(findings: Iterable[Finding]) -> Iterator[str]:
    """What rows and rules found: each diagnosis with its confidence, the first of them, or that they found nothing."""
    serious = [f for f in findings if f.severity != "note"]
    for one in serious:
        yield f"r:{one.id}"
        yield f"r:{one.id} {one.confidence}"
    roots = [f for f in serious if not f.follows_from]
    if roots:
        yield f"r:first {roots[0].id}"
        yield f"r:first {roots[0].id} {roots[0].confidence}"
    yield from (f"r:note {f.id}" for f in findings if f.severity == "note")
    if not serious:
        yield "r:nothing"


def in_words(feature: str) -> str:
    """The feature for people: the words in quotes, a fact as a phrase; empty for a piece of a word, which says nothing alone."""
    kind, name = feature[0], feature[2:]
    if kind in "wt":
        return f'"{name}"'
    if kind == "p":
        return '"{}" near "{}"'.format(*name.split(" "))
    if kind == "c":
        return ""
    key, equals, value = name.partition("=")
    return f"{key} is {value}" if equals else name
