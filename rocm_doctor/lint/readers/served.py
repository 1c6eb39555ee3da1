"""The GPUs that the documents of a repository say it is for: a list under a heading on hardware, or on a line that begins with what it lists."""

from __future__ import annotations

import itertools
import re

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Place, Setting
from rocm_doctor.lint.environments.words import cards
from rocm_doctor.lint.readers.files import Tree, quoted

_GPU = re.compile(rb"\bgfx(?:9|10|11|12)[0-9a-f]{1,2}\b")
_DOCUMENT = regex(r"\.(?:md|rst)$", re.I)
_HEADING = regex(r"#{1,6}[ \t]+\S|\*\*[^*]+\*\*:?\s*$|--8<--")
_LISTS = regex(r"\b(?:support(?:ed|s)?|hardware|requirements?|prerequisites?|compatib\w+|target(?:s| gpus?)?)\b", re.I)
_LABEL = regex(r"[\s*|-]*(?:AMD )?(?:supported )?GPUs?\**\s*[:|]", re.I)
_MOST = 2_000


def served(tree: Tree) -> Setting | None:
    """All GPUs that the documents name, where one of them lists several of those that it is for, with the place of that list; None where none does."""
    place: Place | None = None
    told: dict[str, None] = {}
    lines = dict.fromkeys((at.file, at.line) for at, _ in itertools.islice(tree.mentions(_GPU, (b"gfx",), only=_DOCUMENT), _MOST))
    for file, numbers in itertools.groupby(lines, key=lambda line: line[0]):
        text = (tree.text(file, wanted=False) or "").splitlines()
        listed: dict[int, dict[str, None]] = {}
        for _, number in numbers:
            line = text[number - 1] if number <= len(text) else ""
            gpus = dict.fromkeys(cards(line))
            told |= gpus
            heading = next((n for n in range(number - 1, 0, -1) if _HEADING.match(text[n - 1])), 0)
            if _LABEL.match(line) or (heading and _LISTS.search(text[heading - 1])):
                listed.setdefault(heading, {}).update(gpus)
                if place is None and len(listed[heading]) > 1:
                    place = Place(file, number, quoted(line))
    return Setting("served", ";".join(told), place, gfx=tuple(told)) if place else None
