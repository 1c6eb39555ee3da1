"""The instructions of a Dockerfile, and what its image starts.

Not dockerfile-parse: it knows no heredocs and writes a file of its own; the instructions that matter here are eight.
Reference: https://docs.docker.com/reference/dockerfile/
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Place
from rocm_doctor.lint.readers import shell
from rocm_doctor.lint.readers.files import quoted

Instruction = tuple[str, str, Place]
"""Its verb, in capitals, its words, and where it is."""
_INSTRUCTION = regex(r"\s*(FROM|ARG|ENV|RUN|COPY|ADD|SHELL|WORKDIR|CMD|ENTRYPOINT)\s+(.*)", re.I | re.S)
# A line that looks like a shell command where an instruction is expected.
_COMMAND = regex(r"[ \t]*[a-z][\w./-]*[ \t]+[\w./\"'$-]")
_OTHERS = regex(r"\s*(?:MAINTAINER|LABEL|EXPOSE|VOLUME|USER|STOPSIGNAL|HEALTHCHECK|ONBUILD)\s", re.I)
UNKNOWN = "?"
"""In place of a verb: Docker refuses the file for such a line."""
_HEREDOC = regex(r"<<-?\s*[\"']?(\w+)[\"']?")
_OF_SHELL = regex(r"(?:--\S+\s*)*(?:(?:/bin/)?(?:ba)?sh(?: -\w+)*)?")


def instructions(path: str, text: str) -> Iterator[Instruction]:
    """Each instruction; the words of RUN keep their line breaks, so that a command keeps its line.

    Docker drops comment lines inside a continued instruction: they become lines that only continue.
    """
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        found = _INSTRUCTION.match(lines[at][: shell.MAX_LINE])
        start, at = at, at + 1
        if not found:
            if _COMMAND.match(lines[start]) and not _OTHERS.match(lines[start]):
                yield UNKNOWN, lines[start], Place(path, start + 1, quoted(lines[start]))
            continue
        parts = [found[2]]
        while at < len(lines) and parts[-1].rstrip().endswith("\\"):
            line = lines[at]
            parts.append("\\" if line.lstrip().startswith("#") or not line.strip() else line)
            at += 1
        verb = found[1].upper()
        heredoc = _HEREDOC.search(parts[0]) if verb == "RUN" and len(parts) == 1 else None
        if heredoc:
            command = parts[0][: heredoc.start()].strip()
            parts = ["" if _OF_SHELL.fullmatch(command) else parts[0]]
            while at < len(lines) and lines[at].strip() != heredoc[1]:
                parts.append(lines[at])
                at += 1
            if parts[0]:
                parts.append(heredoc[1])  # what another program reads, or what becomes a file
            at += 1
        if verb == "ENV" and "=" in parts[0]:
            # Each variable of a continued ENV is at its own line.
            for number, part in enumerate(parts, start + 1):
                yield verb, part.rstrip().removesuffix("\\").strip(), Place(path, number, quoted(lines[number - 1]))
            continue
        words = "\n".join(parts) if verb == "RUN" else " ".join(p.rstrip().removesuffix("\\").strip() for p in parts)
        yield verb, words, Place(path, start + 1, quoted(lines[start]))


def exec_form(body: str) -> str:
    """`["pip", "install", "x"]` as a command line."""
    if body.lstrip().startswith("["):
        return " ".join(re.findall(r'"((?:[^"\\]|\\.)*)"', body))
    return body


def start_command(found: Iterable[Instruction]) -> tuple[str, str, Place | None]:
    """The entry point and the command of the last stage, as command lines, and where they are said: the last of each counts."""
    last: dict[str, tuple[str, Place]] = {}
    for verb, words, place in found:
        if verb == "FROM":
            last.clear()
        elif verb in ("CMD", "ENTRYPOINT"):
            last[verb] = _line(words), place
    (entry, at), (command, beside) = last.get("ENTRYPOINT", ("", None)), last.get("CMD", ("", None))
    return entry, command, at if entry else beside


def _line(text: str) -> str:
    try:
        words = json.loads(text)
    except ValueError:
        return text
    return shlex.join(map(str, words)) if isinstance(words, list) else text
