"""What a script writes into the files that later shells or programs start with, as in `echo 'export NAME=value' >> ~/.bashrc`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Place, Setting
from rocm_doctor.lint.readers import computed
from rocm_doctor.lint.readers.bash import Command
from rocm_doctor.lint.readers.expansion import filled
from rocm_doctor.lint.readers.files import quoted

# Profiles of shells, variables of sessions, systemd's units, those of Cargo's [env], and files of variables that are sourced.
_PROFILE = (
    r"(?:\.(?:bashrc|zshrc|profile|bash_profile|zprofile)\b|/etc/(?:environment|profile)|/environment\.d/|systemd/\S+\.(?:service|conf)\b"
    r"|\.cargo/config(?:\.toml)?\b|(?:^|[\s\"'/])\.env(?:rc)?(?:\.(?!example|template|sample|dist)\w+)?(?=[\s\"']|$))"
)
_WRITTEN = regex(rf">>?\s*[\"']?\S*{_PROFILE}|\btee\b.*{_PROFILE}", re.M)
# What a program reads when it runs: a list of GPUs for builds is none of it.
_SET = regex(
    r"(?:export\s+|Environment=[\"']?)?(?P<name>HSA_\w+|\w+_VISIBLE_DEVICES)(?:=|\s+=\s+)(?P<value>[\"']?[\w.:;,/+${}#%()-]+[\"']?)[\"']?"
)
MAX_LINES = 500
"""Of a text that is written."""
_QUOTED = regex(r"<<-?\s*(?:[\"']|\\)")


def set_later(command: Command, names: Mapping[str, str]) -> Iterator[Setting]:
    """The variables for programs that later shells have; whoever starts a program from another shell gives them other values."""
    if not _WRITTEN.search(command.whole):
        return
    for line, place, expands in _lines(command):
        if found := _SET.fullmatch(line):
            value = found["value"].strip("\"'")
            known = names if expands else {}
            yield from computed.settings(found["name"], filled(value, dict(known)), place, known, default=True)


def _lines(command: Command) -> Iterator[tuple[str, Place, bool]]:
    """The lines that a command writes, with their places, and whether the shell replaces variables in them."""
    if command.words[:1] in (["echo"], ["printf"]):
        yield from ((line.strip(), command.place, True) for word in command.words[1:] for line in re.split(r"\\n|\n", word))
    elif command.handed and command.words[:1] in (["cat"], ["tee"], ["sudo"]):
        head = command.whole.find("\n", command.whole.find("<<"))
        first = command.place.line + 1 + command.whole.count("\n", 0, head)
        for number, line in enumerate(command.handed.split("\n")[:MAX_LINES], first):
            yield line.strip(), Place(command.place.file, number, quoted(line.strip())), _QUOTED.search(command.whole) is None
