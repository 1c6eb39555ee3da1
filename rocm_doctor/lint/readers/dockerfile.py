"""Dockerfiles: the last stage with the stages that it is built on, its variables, its installs, its base image.

Not dockerfile-parse: it knows no heredocs and writes a file of its own; the instructions that matter here are seven.
Reference: https://docs.docker.com/reference/dockerfile/
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from rocm_doctor.lint.declared import Place, Setting, Unit
from rocm_doctor.lint.readers import script, shell
from rocm_doctor.lint.readers.files import Tree, folder_of, joined, quoted

_INSTRUCTION = re.compile(r"\s*(FROM|ARG|ENV|RUN|COPY|ADD|SHELL|WORKDIR)\s+(.*)", re.I | re.S)
_FROM = re.compile(r"(?:--\S+\s+)*(\S+)(?:\s+as\s+(\S+))?", re.I)
_HEREDOC = re.compile(r"<<-?\s*[\"']?(\w+)[\"']?")
_PAIR = re.compile(r"(\w+)=(\"(?:[^\"\\]|\\.)*\"|'[^']*'|\S*)")


class Stage(NamedTuple):
    """One stage: its name, what it is built from, and its instructions as (verb, text, place)."""

    name: str
    base: str
    place: Place
    instructions: list[tuple[str, str, Place]]


def unit(tree: Tree, path: str) -> tuple[Unit | None, list[tuple[str, str]]]:
    """What building the file's last stage sets and installs, and the files of the repository that it installs from."""
    text = tree.text(path)
    stages, arguments = _stages(path, text or "")
    if not stages:
        return None, []
    chain, image = _chain(stages)
    context = shell.Context(tree, folder_of(path), dict(arguments), {})
    found = shell.new()
    for stage in chain:
        for verb, words, place in stage.instructions:
            _run(verb, words, place, context, found)
    made = Unit(
        path, image.place, image=image, steps=tuple(found.steps), env=tuple(_last(found.env)), containers=tuple(found.containers)
    )
    return made, found.used


def _last(env: list[Setting]) -> list[Setting]:
    """The settings that hold at the end: of each name the last."""
    return list({s.name: s for s in env}.values())


def _stages(path: str, text: str) -> tuple[list[Stage], dict[str, str]]:
    stages: list[Stage] = []
    arguments: dict[str, str] = {}
    for verb, words, place in instructions(path, text):
        if verb == "FROM":
            found = _FROM.match(shell.filled(words, arguments))
            if found:
                stages.append(Stage((found[2] or "").lower(), found[1], place, []))
        elif not stages and verb == "ARG":
            name, _, value = words.partition("=")
            arguments[name.strip()] = value.strip("\"' ")
        elif stages:
            stages[-1].instructions.append((verb, words, place))
    return stages, arguments


def _chain(stages: list[Stage]) -> tuple[list[Stage], Setting]:
    """The last stage and those that it is built on, first ones first, and the image at the bottom."""
    by_name = {stage.name: stage for stage in stages if stage.name} | {str(n): stage for n, stage in enumerate(stages)}
    chain = [stages[-1]]
    while (below := by_name.get(chain[0].base.lower())) is not None and below not in chain:
        chain.insert(0, below)
    return chain, Setting("FROM", chain[0].base, chain[0].place)


def _run(verb: str, words: str, place: Place, context: shell.Context, found: shell.Script) -> None:
    if verb == "RUN":
        body = re.sub(r"^(?:--\S+\s+)+", "", words)
        script.read(_exec_form(body), place, context, found)
    elif verb in ("COPY", "ADD"):
        named = [w for w in words.split() if not w.startswith("--")]
        if (
            len(named) == 2
            and named[1].startswith("/")
            and "--from" not in words
            and (source := joined(context.folder, named[0]))
        ):
            context.copied[named[1].rstrip("/")] = "" if source == "." else source
    elif verb == "ENV":
        pairs = _PAIR.findall(words) or [tuple(words.split(None, 1))] if " " in words or "=" in words else []
        for pair in pairs:
            if len(pair) == 2:
                value = shell.filled(pair[1].strip("\"'"), context.names)
                context.names[pair[0]] = value
                found.env.append(Setting(pair[0], value, place))
    elif verb == "ARG":
        name, _, value = words.partition("=")
        context.names.setdefault(name.strip(), shell.filled(value.strip("\"' "), context.names)) if value else None


def _exec_form(body: str) -> str:
    """`["pip", "install", "x"]` as a command line."""
    if body.lstrip().startswith("["):
        return " ".join(re.findall(r'"((?:[^"\\]|\\.)*)"', body))
    return body


def instructions(path: str, text: str) -> Iterator[tuple[str, str, Place]]:
    """Verb, words and place of each instruction; the words of RUN keep their line breaks, so that a command keeps its line."""
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        found = _INSTRUCTION.match(lines[at][: shell.MAX_LINE])
        start, at = at, at + 1
        if not found:
            continue
        parts = [found[2]]
        while at < len(lines) and (parts[-1].rstrip().endswith("\\") or (len(parts) > 1 and parts[-1].lstrip().startswith("#"))):
            parts.append(lines[at])
            at += 1
        heredoc = _HEREDOC.search(parts[0]) if found[1].upper() == "RUN" else None
        if heredoc:
            parts = [""]
            while at < len(lines) and lines[at].strip() != heredoc[1]:
                parts.append(lines[at])
                at += 1
            at += 1
        verb = found[1].upper()
        words = "\n".join(parts) if verb == "RUN" else " ".join(p.rstrip().removesuffix("\\").strip() for p in parts)
        yield verb, words, Place(path, start + 1, quoted(lines[start]))
