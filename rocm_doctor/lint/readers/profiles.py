"""What a script writes into the files that later shells start with, as in `echo 'export NAME=value' >> ~/.bashrc`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Setting
from rocm_doctor.lint.readers.bash import Command

_PROFILE = r"(?:\.(?:bashrc|zshrc|profile|bash_profile|zprofile)\b|/etc/(?:environment|profile))"
_WRITTEN = regex(rf">>?\s*[\"']?\S*{_PROFILE}|\btee\b.*{_PROFILE}")
# What a program reads when it runs: a list of GPUs for builds is none of it.
_SET = regex(r"(?:export\s+)?(HSA_\w+|\w+_VISIBLE_DEVICES)=[\"']?([\w.:;,/+-]+)[\"']?")


def set_later(command: Command) -> Iterator[Setting]:
    """The variables for programs that later shells have; whoever starts a program from another shell gives them other values."""
    if command.words[:1] in (["echo"], ["printf"]) and _WRITTEN.search(command.whole):
        for word in command.words[1:]:
            for line in re.split(r"\\n|\n", word):
                if found := _SET.fullmatch(line.strip()):
                    yield Setting(found[1], found[2], command.place, default=True)
