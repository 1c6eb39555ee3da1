"""Free text cut into artifacts: a bug report, a log, any mix of tools' output. Linear in the length of the text.

Line numbers are kept: a cutting begins with as many empty lines as stood before it, so `line 120` of `paste/2-rocminfo` is line
120 of the text that the user handed over.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate, islice
from typing import NamedTuple

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Artifact
from rocm_doctor.probes.read.words import WordSet
from rocm_doctor.sources.paste.clean import clean, decode
from rocm_doctor.sources.paste.marks import ANYWHERE_TABLE, STARTS_INDEX
from rocm_doctor.sources.paste.own import extract

__all__ = ["cut", "decode"]

MOST = 40
"""Most parts of one text: each repeats the empty lines before it, and real texts have fewer than forty."""
_LONGEST = 20_000
"""Lines of one cutting, and lines that give tools' output away, at most: rocminfo prints some 7,000 for 64 partitions."""
_BACKWARD = 40
"""Lines before the first telling one that may go with it."""
_TESTED = 300
"""Characters of a line that a pattern sees."""
_DECORATION = " \t#>|*"
_FENCE = ("```", "~~~")
_PROMPT = regex(
    r"(?:\([\w.-]{1,40}\) )?"
    r"(?:\[?[\w.<>-]{1,60}@[^$#%\n]{1,120}[$#%]|[\w./~:-]{0,80}[$%]|PS [A-Z]:[^>\n]{0,120}>) ?\S"
    r"|\+ [a-z./]"
)


class _Block(NamedTuple):
    kind: str
    first: int
    end: int


def cut(text: str, name: str) -> list[Artifact]:
    """The whole text cleaned (`paste/text`), then each tool's output found in it (`paste/1-rocminfo`, ...) in the text's order,
    then documents of ours. `name` is where the text came from, kept in each artifact's note."""
    text, ours = extract(text)
    own = [_own_document(kind, data, n, name) for n, (kind, data) in enumerate(ours, 1)]
    if own and not text.strip():
        return own
    text = clean(text)
    lines = text.split("\n")
    fences = _fences(text, lines)
    whole = "\n".join(lines)
    hits, single = _hits(lines, whole).values()
    blocks = _blocks(lines, hits, fences, {n for n, kind in single.items() if kind == "dmesg"})
    found = [Artifact("paste/text", "paste", whole, note=name)]
    for kind, body in [*_bodies(lines, blocks), *_gather_lines(lines, single)]:
        found.append(Artifact(f"paste/{len(found)}-{kind}", "paste", body, note=name))
    return found + own


def _own_document(kind: str, data: str, number: int, name: str) -> Artifact:
    """A document of ours: a report, an audit of GPU code, or a benchmark."""
    if kind == "unreadable":
        note = f"{name}: a report of rocm-doctor without its data; hand over the one in JSON (`--format json`)"
        return Artifact(f"report/{number}", "paste", missing="unparsed", note=note)
    place = {"audit": "code/audit.json", "bench": f"bench/{number}.json"}.get(kind, f"report/{number}")
    return Artifact(place, "paste", data, note=name)


def _fences(text: str, lines: list[str]) -> set[int]:
    """The indices of the lines that have a mark of a code block. Each such line is replaced in `lines`: what is beside the mark
    stays if it has a blank or a colon or begins with `gfx`; else, as for a language's name, the line becomes empty. `text` is the
    whole of `lines`."""
    found = set()
    for mark in (m for m in _FENCE if m in text):
        for n in [n for n, line in enumerate(lines) if mark in line]:
            found.add(n)
            rest = lines[n].replace(mark, " ").strip(" `~")
            lines[n] = rest if " " in rest or ":" in rest or rest.startswith("gfx") else ""
    return found


def _hits(lines: list[str], text: str) -> dict[str, dict[int, str]]:
    """Line number (from 0) and kind of every line that a mark fits, for tools' blocks and for single lines."""
    found: dict[str, dict[int, str]] = {"block": {}, "single": {}}
    for n, line in enumerate(lines):
        bare = line.lstrip(_DECORATION)
        marks = STARTS_INDEX.get(bare[:3])
        if marks:
            bare = bare[:_TESTED].rstrip()
            for where, mark in marks:
                if bare.startswith(mark.words) and (mark.fits is None or mark.fits.match(bare)):
                    found[where].setdefault(n, mark.kind)
    words = WordSet(text)
    anywhere = [(where, mark) for where, mark in ANYWHERE_TABLE if words.may_hold(mark.words.lower())]
    data = text.encode(errors="replace")  # one byte a letter: searching does not get slower by the first emoji
    ends = list(accumulate(len(row) + 1 for row in data.split(b"\n")))
    for where, mark in anywhere:
        for n in islice(_places(data, ends, mark.words.encode()), _LONGEST if where == "block" else None):
            if n not in found[where] and (mark.fits is None or mark.fits.match(lines[n][:_TESTED])):
                found[where][n] = mark.kind
    return found


def _places(data: bytes, ends: list[int], words: bytes) -> Iterator[int]:
    """The indices of the lines that hold these words, in order."""
    place = data.find(words)
    while place >= 0:
        n = bisect_right(ends, place)
        yield n
        place = data.find(words, ends[n])


def _blocks(lines: list[str], hits: dict[int, str], fences: set[int], foreign: set[int]) -> list[_Block]:
    """Runs of lines of one kind. A fence, a prompt, another tool's line or two empty lines after the last mark end a run."""
    blocks: list[_Block] = []
    for n in sorted(hits)[:_LONGEST]:
        last = blocks[-1] if blocks else None
        if last and hits[n] == last.kind and (n < last.end or not _is_separated(lines, last.end, n, fences)):
            blocks[-1] = last._replace(end=max(last.end, n + 1))
        else:
            blocks.append(_Block(hits[n], _first_line(lines, n, last.end if last else 0, fences), n + 1))
    ends = [b.first for b in blocks[1:]] + [len(lines)]
    stops = (min(stop, b.first + _LONGEST) for b, stop in zip(blocks, ends))
    return [b._replace(end=_last_line(lines, min(b.end, stop), stop, fences, foreign)) for b, stop in zip(blocks[:MOST], stops)]


def _first_line(lines: list[str], first: int, floor: int, fences: set[int]) -> int:
    """Where the lines before the first telling one may begin: behind an empty line or a fence, or at the prompt before them."""
    for n in range(first - 1, max(floor, first - _BACKWARD) - 1, -1):
        if not lines[n].strip() or n in fences:
            return n + 1
        if _is_prompt(lines[n]):
            return n
    return max(floor, first - _BACKWARD, 0)


def _is_separated(lines: list[str], start: int, end: int, fences: set[int]) -> bool:
    """True if a fence or a prompt is between (or at) these lines: a new output begins."""
    return any(n in fences or _is_prompt(lines[n]) for n in range(start, end + 1))


def _is_prompt(line: str) -> bool:
    return any(sign in line[:_TESTED] for sign in "$#%>+") and _PROMPT.match(line[:_TESTED]) is not None


def _last_line(lines: list[str], start: int, stop: int, fences: set[int], foreign: set[int]) -> int:
    blank = 0
    for n in range(start, stop):
        blank = 0 if lines[n].strip() else blank + 1
        if blank == 2 or n in fences or n in foreign or _is_prompt(lines[n]):
            return n
    return stop


def _bodies(lines: list[str], blocks: Iterable[_Block]) -> Iterator[tuple[str, str]]:
    for kind, first, end in blocks:
        yield kind, "\n" * first + "\n".join(lines[first:end]) + ("\n" if end < len(lines) else "")


def _gather_lines(lines: list[str], hits: dict[int, str]) -> Iterator[tuple[str, str]]:
    """(kind, text) for each kind of single lines, each line at its own number. Kernel messages keep the lines that continue
    them."""
    for kind in dict.fromkeys(hits.values()):
        kept = {n for n, k in hits.items() if k == kind}
        kept |= _continuation(lines, kept)
        body = [line if n in kept else "" for n, line in enumerate(lines[: max(kept) + 1])]
        yield kind, "\n".join(body) + ("\n" if max(kept) + 1 < len(lines) else "")


def _continuation(lines: list[str], kept: set[int]) -> set[int]:
    """The lines after these up to the next empty one, twelve at most."""
    more: set[int] = set()
    for n in kept:
        for m in range(n + 1, min(n + 13, len(lines))):
            if m in kept or not lines[m].strip():
                break
            more.add(m)
    return more
