"""Folders of the repository that a service mounts over what its image starts."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Place, ReadProblem
from rocm_doctor.lint.readers.files import Tree, folder_of, joined
from rocm_doctor.lint.readers.instructions import instructions, start_command

_PROGRAM = regex(r"(?:^|\s)(?:python[\d.]*|bash|sh)\s+(?:-u\s+)?([\w./-]+\.(?:py|sh))(?=\s|$)")


def hidden(tree: Tree, compose: str, place: Place, volumes: Iterable[str], dockerfile: str, command: str) -> ReadProblem | None:
    """The program that a service starts and that a folder mounted over it lacks; None where there is none. A path of a volume is one from the folder
    of the compose file.
    """
    found = list(instructions(dockerfile, tree.text_if_there(dockerfile) or ""))
    entry, own, _ = start_command(found)
    run = _PROGRAM.search(" ".join(filter(None, (entry, command or own))))
    if run is None:
        return None
    work = "/"
    for verb, words, _ in found:
        work = "/" if verb == "FROM" else posixpath.join(work, words.strip()) if verb == "WORKDIR" else work
    program = posixpath.normpath(posixpath.join(work, run[1]))
    for source, _, rest in (one.partition(":") for one in volumes):
        over = posixpath.normpath(rest.partition(":")[0] or ".")
        folder = joined(folder_of(compose), source) if source.startswith(".") else None
        if folder is None or over == "/" or "$" in work + rest or not program.startswith(over + "/"):
            continue
        folder = "" if folder == "." else folder
        inside = posixpath.join(folder, program[len(over) + 1 :])
        if tree.matching(f"{folder}/*".lstrip("/")) and not tree.exists(inside):
            return ReadProblem(place, f"{source}, mounted over {over}, has no {program[len(over) + 1 :]}")
    return None
