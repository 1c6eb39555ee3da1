"""Conda environments: `environment.yml`, and the packages of `conda install`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rocm_doctor.bounded import yamls
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.model import Environment, Index, Install, Place, Requirement, Step, Unread
from rocm_doctor.lint.readers import requirements
from rocm_doctor.lint.tree import Tree

_SPEC = regex(r"(?:([\w.-]+)::)?([A-Za-z0-9_.-]+)\s*([<>=!~].*)?$")
_DEPENDENCIES, _CHANNELS = regex(r"^dependencies:\s*$", re.M), regex(r"^channels:", re.M)
_VALUED = frozenset(("-n", "--name", "-p", "--prefix", "-f", "--file"))


def is_environment(text: str) -> bool:
    """True for a text with the keys of a conda environment."""
    return _DEPENDENCIES.search(text) is not None and _CHANNELS.search(text) is not None


def read(tree: Tree, path: str) -> list[Environment]:
    """The environment of a conda file: its packages, and those that it hands to pip. Raises Unreadable."""
    data = yamls.values(tree.text(path) or "")
    if not isinstance(data, dict) or not isinstance(data.get("dependencies"), list):
        return []
    lines = (tree.text(path) or "").split("\n")

    def place(word: str) -> Place:
        number = next((n for n, line in enumerate(lines, 1) if word in line), 1)
        return tree.place(path, number)

    channels = tuple(Index(str(c), "extra", place(str(c))) for c in data.get("channels") or () if isinstance(c, str))
    asked = [r for word in data["dependencies"] if isinstance(word, str) and (r := package(word, place(word)))]
    steps: list[Step] = [Install("conda", asked[0].place, tuple(asked), channels)] if asked else []
    for part in data["dependencies"]:
        for_pip = part.get("pip") if isinstance(part, dict) else None
        if isinstance(for_pip, list):
            listed = requirements.RequirementsFile(tree, path)
            for word in map(str, for_pip):
                listed.take(word, place(word))
            steps += listed.steps()
    if not steps:
        return []
    unread = tuple(step for step in steps if isinstance(step, Unread))
    elsewhere = requirements.ELSEWHERE.search("\n".join(lines)) is not None
    return [Environment("conda", Place(path, 1), steps=tuple(steps), unread=unread, files=(path,), has_torch_elsewhere=elsewhere)]


def package(word: str, place: Place) -> Requirement | None:
    """A package of conda; `pytorch` is called torch, as everywhere else. The address is `conda:CHANNEL/BUILD`."""
    found = _SPEC.match(word.strip())
    if not found:
        return None
    version, _, build = (found[3] or "").lstrip("=").partition("=")
    name = "torch" if found[2].lower() in ("pytorch", "pytorch-gpu") else found[2].lower().replace("_", "-")
    specifier = f"=={version}" if version and version[0].isdigit() and "," not in version else ""
    return Requirement(name, specifier, place, url=f"conda:{found[1] or ''}/{build}")


def parse_command(words: Sequence[str], place: Place) -> Install | None:
    """The installation of `conda install WORDS`."""
    asked: list[Requirement] = []
    channels: list[Index] = []
    waiting = ""
    for word in words:
        if waiting:
            channels += [Index(word, "extra", place)] if waiting in ("-c", "--channel") else []
            waiting = ""
        elif word in _VALUED or word in ("-c", "--channel"):
            waiting = word
        elif not word.startswith("-") and (found := package(word, place)):
            asked.append(found)
    return Install("conda", place, tuple(asked), tuple(channels)) if asked else None
