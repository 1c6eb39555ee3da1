"""Which lists of GPUs the builds of a Dockerfile have: a variable may be given another one between two of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rocm_doctor.lint.declared import Setting
from rocm_doctor.lint.readers.compiled import compiles
from rocm_doctor.lint.readers.instructions import Instruction


def in_effect(variables: Sequence[Setting], stages: Iterable[Sequence[Instruction]]) -> tuple[Setting, ...]:
    """The last value of each variable, after each other list of GPUs that something is compiled with before."""
    last = {s.name: s for s in variables}
    changed = [s for s in variables if "gfx" in s.value and s.value != last[s.name].value]
    of_stages = list(stages) if changed else []
    used = {(s.name, s.value): s for s in changed if any(_compiled_with(s, stage) for stage in of_stages)}
    return (*used.values(), *last.values())


def _compiled_with(s: Setting, stage: Sequence[Instruction]) -> bool:
    """True if the command that a list is given to compiles, or one below the ENV or ARG that gives it, up to the next."""
    given = re.compile(rf"\b{re.escape(s.name)}[= ]")
    lasts = False
    for verb, words, place in stage:
        here = place.file == s.place.file and place.line <= s.place.line <= place.line + words.count("\n")
        if verb in ("ENV", "ARG") and (here or given.search(words)):
            lasts = here
        elif verb == "RUN" and (here or (lasts and not given.search(words))) and compiles(words):
            return True
    return False
