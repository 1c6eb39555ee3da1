"""The GPUs that the documents of a repository say it is for: a list under a heading on hardware, or on a line that begins with what it lists."""

from __future__ import annotations

import itertools
import re

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Place, Setting
from rocm_doctor.lint.environments.words import cards
from rocm_doctor.lint.readers.files import Tree

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
    found = itertools.islice(tree.mentions(_GPU, (b"gfx",), only=_DOCUMENT), _MOST)
    for file, mentions in itertools.groupby(found, key=lambda one: one[0].file):
        text = (tree.text_if_there(file) or "").split("\n")
        listed: dict[str, set[bytes]] = {}
        for at, named in mentions:
            line = "".join(text[at.line - 1 : at.line])  # nothing of a binary file
            told |= dict.fromkeys(cards(line))
            heading = next((above for above in text[at.line - 1 :: -1] if _HEADING.match(above)), "")
            if _LABEL.match(line) or _LISTS.search(heading):
                listed.setdefault(heading, set()).add(named[0])
                if place is None and len(listed[heading]) > 1:
                    place = at
    return Setting("served", ";".join(told), place, gfx=tuple(told)) if place else None
