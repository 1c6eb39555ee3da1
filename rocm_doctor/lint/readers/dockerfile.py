"""Dockerfiles: each stage that nothing else is built on, with the stages below it and those that it copies an environment from."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import RUN_TIME, Environment, Place, Purpose, ReadProblem, Setting
from rocm_doctor.lint.environments.words import is_for_hygon, named
from rocm_doctor.lint.readers import build_lists, cloned, compiled, copied, expansion, installers, script, shell, starts, venvs
from rocm_doctor.lint.readers.files import Tree, folder_of, joined
from rocm_doctor.lint.readers.image_python import asked_of_apt, kept_by_system, named_python, starts_another
from rocm_doctor.lint.readers.instructions import UNKNOWN, Instruction, exec_form, instructions, start_command
from rocm_doctor.lint.readers.shell import Build, Used, places_of

_FROM = regex(r"(?:--\S+\s+)*(\S+)(?:\s+as\s+(\S+))?", re.I)
_ARGUMENT = regex(r"^[ \t]*ARG[ \t]+(\w+)", re.M | re.I)
_REFERS = regex(r"\$\{?(\w+)")
_PAIR = regex(r"(\w+)=(\"(?:[^\"\\]|\\.)*\"|'[^']*'|\S*)")
_SHELL = regex(r"(?<!\S)(?:\|\||&&|[12]?>/dev/null)(?!\S)")
"""What only a shell takes for more than a file's name."""
_COPY_FROM = regex(r"--from=(\S+)")
_MOUNT_FROM = regex(r"--mount=\S*from=([\w.-]+)")
_BIND = regex(r"--mount=type=bind,\S*")
# A folder in which Python packages lie: copying it from another stage copies what was installed there.
_PACKAGES = regex(r"venv|site-packages|dist-packages|conda|\.local|python|/usr/local/?(?:\s|$)|^/\s", re.I)
_PROJECT = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt")


class Stage(NamedTuple):
    """One stage: its name, what it is built from (the words as written and filled in), and its instructions."""

    name: str
    base: str
    place: Place
    instructions: list[Instruction]


def environments(
    tree: Tree, path: str, build: Build | None = None, text: str | None = None
) -> Iterator[tuple[Environment, list[Used]]]:
    """What building each final stage sets and installs, and the files of the repository that it installs from.

    `build`: how another file says that it is built; its target is the only final stage. `text`: what a document shows of one, in place of
    the whole file.
    """
    text = (tree.text(path) or "") if text is None else text
    given = dict(build.arguments) if build else {}
    stages, arguments = _stages(path, text, given)
    by_name = {str(n): stage for n, stage in enumerate(stages)} | {stage.name: stage for stage in stages if stage.name}
    folder = _context(tree, path, stages) if build is None else build.context
    leaves = [stage for stage in stages if not _is_below(stage, stages, by_name)]
    if build and build.target.lower() in by_name:
        leaves = [by_name[build.target.lower()]]
    for stage in leaves:
        name = path if len(leaves) == 1 else f"{path} stage {stage.name or stages.index(stage)}"
        open_ = frozenset(m[1] for m in _ARGUMENT.finditer(text)) - given.keys()
        plain = frozenset(argument for argument, value in given.items() if "$" not in value)
        rows = [row for chained in _chain(stage, by_name)[::-1] for row in chained]
        empty = arguments.keys() - {name for verb, words, _ in rows if verb == "ARG" for name, _ in _asked(words)}
        before = {_GIVEN + name: value for name, value in given.items()} | {
            _BEFORE + name: value for name, value in arguments.items()
        }
        names = {**dict.fromkeys(arguments, ""), **before, "WORKDIR": "/"}
        made, used = _built(
            tree,
            stage,
            name,
            by_name,
            shell.Context(tree, folder, names, {}, arguments=open_, given=plain | empty, declared=build is not None),
        )
        made = msgspec.structs.replace(made, doubts=(*made.doubts, *_taken(rows, empty)))
        if build is None and stage is not stages[-1] and not _is_named(stage, tree):
            # A build without a target makes the last stage and what that needs.
            own = (stage.place, *places_of(made.steps), *(s.place for s in made.variables))
            made = msgspec.structs.replace(made, unsure=(*made.unsure, *own))
        if is_for_hygon(text):
            made = msgspec.structs.replace(made, purpose=Purpose("other", "Hygon's DCU", made.place))
        yield made, used


def _is_named(stage: Stage, tree: Tree) -> bool:
    """True if a text of the repository has a stage built by its name."""
    named = rb"(?i)(?:--target[ =]+|\btarget:[ \t]*|\btarget[ \t]*=[ \t]*)[\"']?" + re.escape(stage.name.encode()) + rb"\b"
    return bool(stage.name) and tree.mention(re.compile(named), (b"target",)) is not None


def _taken(rows: Sequence[Instruction], empty: Collection[str]) -> Iterator[ReadProblem]:
    """The first instruction that takes an argument which is given before the first FROM alone, and so is empty in the stage."""
    empty = set(empty) - {name for verb, words, _ in rows if verb == "ENV" for name, _ in _PAIR.findall(words)}
    for verb, words, place in rows:
        named = next((m[1] for m in _TAKES.finditer(words) if m[1] in empty), "") if verb != "ENV" else ""
        if named:
            why = "it is given before the first FROM, and no ARG of the stage asks for it"
            yield ReadProblem(place, f"{named} is empty on {place.words}: {why}")
            return


def lacks_stage(tree: Tree, build: Build) -> bool:
    """True if a build asks for a stage that its Dockerfile does not have: the build ends there."""
    stages, _ = _stages(build.dockerfile, tree.text(build.dockerfile) or "", dict(build.arguments))
    names = {*map(str, range(len(stages))), *(stage.name for stage in stages)}
    return bool(build.target and stages) and "$" not in build.target and build.target.lower() not in names


def for_others(tree: Tree, build: Build) -> str:
    """A build argument whose default is for other hardware than AMD's, and that the build is not given; empty where there is none."""
    given = dict(build.arguments)
    for verb, words, _ in instructions(build.dockerfile, tree.text(build.dockerfile) or ""):
        name, _, default = words.partition("=")
        if verb == "ARG" and name.strip() not in given and named(default)[0] not in ("neutral", "amd"):
            return name.strip()
    return ""


def _is_below(stage: Stage, stages: list[Stage], by_name: dict[str, Stage]) -> bool:
    """True if another stage is built on this one or copies packages from it."""
    others = [other for other in stages if other is not stage]
    return any(by_name.get(other.base.lower()) is stage or stage in _copied(other, by_name) for other in others)


def _copied(stage: Stage, by_name: dict[str, Stage]) -> list[Stage]:
    """The stages that this one copies something from, or mounts while it is built."""
    mounted = (m for verb, words, _ in stage.instructions if verb == "RUN" for m in _MOUNT_FROM.findall(words))
    named = (m[1].lower() for verb, words, _ in stage.instructions if verb in ("COPY", "ADD") and (m := _COPY_FROM.search(words)))
    return [by_name[name] for name in (*named, *map(str.lower, mounted)) if name in by_name]


def _built(
    tree: Tree, stage: Stage, name: str, by_name: dict[str, Stage], context: shell.Context
) -> tuple[Environment, list[Used]]:
    found = shell.new()
    image = _run_stage(stage, by_name, context, found, ())
    place = image.place
    text = _text(stage, by_name)
    builds = compiled.compiles(
        ";".join(words for one in by_name.values() for verb, words, _ in one.instructions if verb == "RUN")
    )
    options = starts.started(_chain(stage, by_name)[::-1], context, found)
    unresolved = (
        (ReadProblem(place, f"the base image {image.value} is set by a build argument without a default"),)
        if "$" in image.value
        else ()
    )
    base = Setting("FROM", "" if "$" in image.value else image.value, place)
    made = Environment(
        name,
        place,
        image=base,
        steps=tuple(found.steps),
        variables=build_lists.in_effect(found.variables, [one.instructions for one in by_name.values()]),
        containers=tuple(found.containers),
        sort="image",
        labels=(stage.name,) if stage.name else (),
        unresolved=(*unresolved, *found.problems),
        unsure=tuple(found.unsure),
        python=named_python(
            expansion.filled(text, {name: value for name, value in context.names.items() if "PY" in name}), image, stage.place
        ),
        starts=_starts(stage, by_name, text, image),
        managed=kept_by_system(text, image, found.steps),
        config=options,
        apt=asked_of_apt([one for below in reversed(_chain(stage, by_name)) for one in below], context.names),
        open_ends=tuple(found.open_ends),
        doubts=tuple(dict.fromkeys(found.doubts)),
        compiles=not found.steps or builds,
        bare=not (found.steps or found.used or found.open_ends or builds),
    )
    return made, found.used


def _text(stage: Stage, by_name: dict[str, Stage]) -> str:
    """The commands and variables of a stage and of those below it."""
    return " ".join(words for one in _chain(stage, by_name) for verb, words, _ in one if verb in ("RUN", "ENV", "ARG"))


def _starts(stage: Stage, by_name: dict[str, Stage], text: str, image: Setting) -> Setting | None:
    """The Python that the image is started with, where pip installs for another one."""
    entry, command, place = start_command(one for below in _chain(stage, by_name)[::-1] for one in below)
    return starts_another(text, image, entry or command, place)


def _chain(stage: Stage, by_name: dict[str, Stage]) -> list[list[Instruction]]:
    """The instructions of a stage, and of each below it."""
    chain, below = [stage], by_name.get(stage.base.lower())
    while below is not None and below not in chain:
        chain.append(below)
        below = by_name.get(below.base.lower())
    return [one.instructions for one in chain]


def _run_stage(
    stage: Stage, by_name: dict[str, Stage], context: shell.Context, found: shell.Script, above: tuple[str, ...]
) -> Setting:
    """Run a stage after the one below it; what is at the bottom is returned as the image."""
    below = by_name.get(stage.base.lower())
    if below is not None and below is not stage and below.name not in above and len(above) < 50:
        image = _run_stage(below, by_name, context, found, (*above, stage.name))
    else:
        image = Setting("FROM", stage.base, stage.place)
    for verb, words, place in stage.instructions:
        if verb in ("COPY", "ADD") and (foreign := _SHELL.findall(words)):
            message = f"{verb} takes {' and '.join(dict.fromkeys(foreign))} for files"
            found.problems.append(ReadProblem(place, message, "copy"))
        source = by_name.get(m[1].lower()) if verb == "COPY" and (m := _COPY_FROM.search(words)) else None
        if source is not None and source is not stage and source.name not in above:
            _take_over(source, words, by_name, context, found, (*above, stage.name))
        elif source is None:
            _run(verb, words, place, context, found)
    return image


def _take_over(
    source: Stage, words: str, by_name: dict[str, Stage], context: shell.Context, found: shell.Script, above: tuple[str, ...]
) -> None:
    """What `COPY --from` brings of another stage: what was installed there where packages are copied, and what it was built for."""
    words = expansion.filled(words, context.names)
    names, copied = dict(context.names), dict(context.copied)
    steps, variables = len(found.steps), len(found.variables)
    _run_stage(source, by_name, context, found, above)
    found.variables[variables:] = [s for s in found.variables[variables:] if "gfx" in s.value]
    if not _PACKAGES.search(words.split(None, 1)[-1]):
        found.steps[steps:] = [step for step in found.steps[steps:] if cloned.is_build(step)]  # the wheel is what is copied
    for now, before in ((context.names, names), (context.copied, copied)):
        now.clear()
        now.update(before)


def _stages(path: str, text: str, given: dict[str, str]) -> tuple[list[Stage], dict[str, str]]:
    stages: list[Stage] = []
    arguments = dict(given)
    for verb, words, place in instructions(path, text):
        if verb == "FROM":
            if found := _FROM.match(words):
                stages.append(Stage((found[2] or "").lower(), expansion.filled(found[1], arguments), place, []))
        elif not stages and verb == "ARG":
            name, equals, value = words.partition("=")
            if equals:
                arguments.setdefault(name.strip(), expansion.filled(value.strip("\"' "), arguments))
        elif stages:
            stages[-1].instructions.append((verb, words, place))
    return stages, arguments


def _context(tree: Tree, path: str, stages: list[Stage]) -> str:
    """The folder that the build copies from: the Dockerfile's own, or the root where the names that it copies lie there."""
    folder = folder_of(path)
    if not folder:
        return ""
    named = [word for stage in stages for verb, words, _ in stage.instructions if verb in ("COPY", "ADD") and "--from" not in words
             for word in words.split()[:-1] if not word.startswith("--")]  # fmt: skip
    plain = [word for word in named if word.rstrip("/") not in (".", "") and "*" not in word and "$" not in word]
    at_root = sum(tree.exists(joined("", word) or "?") for word in plain)
    here = sum(tree.exists(joined(folder, word) or "?") for word in plain)
    if at_root != here:
        return "" if at_root > here else folder
    return folder if any(tree.exists(f"{folder}/{name}") for name in _PROJECT) else ""


def _run(verb: str, words: str, place: Place, context: shell.Context, found: shell.Script) -> None:
    if verb == "RUN":
        for mount in _BIND.findall(words):
            options = {name: value for name, _, value in (pair.partition("=") for pair in mount.split(","))}
            _copy(options.get("source") or options.get("src") or ".", options.get("target") or options.get("dst") or "", context)
        flags = re.match(r"^(?:\s*(?:\\\n)?\s*--(?!\s)\S+\s*(?:\\\n)?)+", words)
        skipped = flags[0] if flags else ""
        at = Place(place.file, place.line + skipped.count("\n"), place.quote)
        body = exec_form(words[len(skipped) :])
        names, steps, used, set_ = dict(context.names), len(found.steps), len(found.used), len(found.variables)
        script.read(body, at, context, found)
        context.names["WORKDIR"] = names["WORKDIR"]
        # A variable of one RUN is gone when the image runs; one that it writes to a shell profile stays.
        found.variables[set_:] = [s for s in found.variables[set_:] if s.default or s.name not in RUN_TIME]
        if "activate" in body and len(found.used) == used:
            venvs.ended(names, steps, place, context, found)
    elif verb in ("COPY", "ADD") and "--from" not in words:
        *sources, to = [w for w in words.split() if not w.startswith("--")] or [""]
        if any(source.endswith(("pip.conf", "uv.toml")) for source in sources):
            installers.note(place, found)
        for source in sources:
            _copy(expansion.filled(source, context.names), to, context)
        if verb == "COPY" and not _SHELL.search(words) and (gone := copied.missing(sources, place, context)):
            (found.open_ends if gone.about != "gone" else found.problems).append(gone)
    elif verb == "COPY" and "--from" in words and _PACKAGES.search(words.split(None, 1)[-1]):
        installers.note(place, found)  # packages of an image that is no stage here
    elif verb == UNKNOWN:
        found.problems.append(ReadProblem(place, f"{place.words} is no instruction of a Dockerfile"))
    elif verb == "WORKDIR":
        context.names["WORKDIR"] = posixpath.join(context.names["WORKDIR"], expansion.filled(words.strip(), context.names))
    elif verb == "ENV":
        _env(words, place, context, found)
    elif verb == "SHELL" and (argv := expansion.filled(exec_form(words), context.names).split()):
        venvs.left(argv, place, context, found)  # what is run from here on may be run in another environment
    elif verb == "ARG":
        for name, default in _asked(words):
            own = None if default is None else expansion.filled(default, context.names)
            by_caller, before = context.names.get(_GIVEN + name), context.names.get(_BEFORE + name)
            value = next((one for one in (by_caller, own, before) if one is not None), None)
            if value is None:
                context.names.pop(name, None)
                continue
            context.names[name] = context.names.get(name) or value
            if "gfx" in context.names[name]:
                given = name if name in context.arguments else ""
                found.variables.append(Setting(name, context.names[name], place, argument=given))


# Before the name of an argument that a build is given, and of one that stands before the first FROM: a stage sees either from its own ARG on
# (https://docs.docker.com/reference/dockerfile/#understand-how-arg-and-from-interact).
_GIVEN, _BEFORE = "GIVEN ", "ARG "
_TAKES = regex(r"\$\{?([A-Za-z_]\w*)(?:\}|\b)(?!:?-)")
_ARG = regex(r"(\w+)(?:=(\"(?:[^\"\\]|\\.)*\"|'[^']*'|\S*))?")


def _asked(words: str) -> Iterator[tuple[str, str | None]]:
    """The arguments of an ARG, each with its default; None for one without."""
    for name, default in _ARG.findall(words):
        yield name, default.strip("\"'") if f"{name}=" in words else None


def _copy(source: str, to: str, context: shell.Context) -> None:
    """Record what is copied into the image, by the path that it has there; a pattern copies each file that fits."""
    path = joined(context.folder, source)
    if path is None:
        return
    if "*" in path:
        at = posixpath.normpath(posixpath.join("/", context.names["WORKDIR"], expansion.filled(to, context.names)))
        context.copied.update((posixpath.join(at, one.rsplit("/", 1)[-1]), one) for one in context.tree.matching(path))
        return
    at = posixpath.normpath(posixpath.join("/", context.names["WORKDIR"], expansion.filled(to, context.names)))
    path = "" if path == "." else path
    if path and context.tree.is_file(path):
        context.copied[posixpath.join(at, path.rsplit("/", 1)[-1])] = path
        if not to.endswith(("/", ".")):
            context.copied[at] = path
    else:
        # A folder that is copied later overwrites what is there.
        under = [to for to in context.copied if to.startswith(at.rstrip("/") + "/")]
        for one in under:
            if context.tree.is_file(f"{path}/{one[len(at.rstrip('/')) + 1 :]}".lstrip("/")):
                del context.copied[one]
        context.copied[at] = path


def _env(words: str, place: Place, context: shell.Context, found: shell.Script) -> None:
    spaced = re.match(r"(\w+)\s+([^=].*)", words)
    for name, value in [(spaced[1], spaced[2])] if spaced else _PAIR.findall(words):
        filled = expansion.filled(value.strip("\"'"), context.names)
        context.names[name] = filled
        named = next((m[1] for m in _REFERS.finditer(value) if m[1] in context.arguments), "")
        found.variables.append(Setting(name, filled, place, argument=named))
        found.variables.extend(script.defined(filled, place))
    venvs.entered(place, context, found)
