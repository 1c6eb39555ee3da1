"""Recipes of a Makefile or a justfile that are for AMD GPUs: one environment for each target, after those that it needs.

Reference: https://www.gnu.org/software/make/manual/make.html and https://just.systems/man/en/
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Environment, Place
from rocm_doctor.lint.environments.purpose import with_purpose
from rocm_doctor.lint.readers import built, rewritten, script, shell
from rocm_doctor.lint.readers.files import Tree, folder_of, joined
from rocm_doctor.lint.readers.image_python import one_of
from rocm_doctor.lint.readers.shell import Made

MAX_RECIPES = 400
MAX_VALUE = 4000
_ASSIGN = regex(r"(?:export\s+|override\s+)?([\w.-]+)\s*(\?=|::?=|\+=|=)\s*(.*)")
_RULE = regex(r"([A-Za-z_][\w./-]*(?:\s+[\w./-]+)*)\s*::?(?!=)\s*([^=#;]*)")
_CONDITION = regex(r"(ifeq|ifneq)\s*\(?\s*[\"']?(.*?)[\"']?\s*(?:,|[\"']\s+[\"'])\s*[\"']?(.*?)[\"']?\s*\)?$")
_JUST = regex(r"@?([A-Za-z_][\w-]*)((?:\s+[\w+*$]+(?:=\S+)?)*)\s*:(?!=)\s*(.*)")
_UNKNOWN = "${NOT_KNOWN}"


_ONE_SHELL = regex(r"^\.ONESHELL[ \t]*:", re.M)


class Recipe(NamedTuple):
    """The commands of one target with the lines that they begin on; `needs` are the targets that are made first."""

    line: int
    needs: list[str]
    commands: list[tuple[int, str]]


Recipes = dict[str, Recipe]


def environments(tree: Tree, path: str) -> Iterator[Made]:
    """The targets of a Makefile or justfile that are for AMD: their own commands, and the images that they build."""
    for one, found in _targets(tree, path):
        yield from built.images(tree, one, found.builds)
        if with_purpose(one, frozenset()).purpose.kind == "amd":
            yield one, found.used


def _targets(tree: Tree, path: str) -> Iterator[tuple[Environment, shell.Script]]:
    """Each target whose commands change something that is judged, with all that they do."""
    text = tree.text(path, wanted=False) or ""
    if not script.speaks(text):
        return
    recipes = _just(text) if path.lower().endswith("justfile") else _make(text, tree, folder_of(path))
    one_shell = _ONE_SHELL.search(text) is not None
    for name, recipe in recipes.items():
        rows = list(_in_order(recipes, name, set()))
        if one_shell and rows:
            rows = [(rows[0][0], "\n".join(command for _, command in rows))]
        if not script.speaks("\n".join(command for _, command in recipe.commands)):
            continue
        found, context = shell.new(), shell.checkout(tree, folder_of(path), {})
        for line, command in rows:
            script.read(command, Place(path, line), context, found)
            context = rewritten.in_a_new_shell(context)
        made = Environment(
            f"{path} target {name}", Place(path, recipe.line), steps=tuple(found.steps), variables=tuple(found.variables),
            containers=tuple(found.containers), sort="script", labels=(name,), unresolved=tuple(found.problems), unsure=tuple(found.unsure),
            python=one_of(found.pythons), open_ends=tuple(found.open_ends), doubts=tuple(dict.fromkeys(found.doubts)),
        )  # fmt: skip
        yield made, found


def _in_order(recipes: Recipes, name: str, done: set[str]) -> Iterator[tuple[int, str]]:
    """The commands of a target after those of the targets that it needs, each once."""
    if name in done or name not in recipes or len(done) > 50:
        return
    done.add(name)
    for need in recipes[name].needs:
        yield from _in_order(recipes, need, done)
    yield from recipes[name].commands


def _make(text: str, tree: Tree, folder: str) -> Recipes:
    """The rules of a Makefile by target, their variables filled in: those of a branch that is not decided are not known."""
    names: dict[str, str] = {}
    branches: list[bool | None] = []
    recipes: Recipes = {}
    now: list[Recipe] = []
    for number, row in _logical(text):
        line = row.strip()
        if row.startswith("\t"):
            command = re.sub(r"^[@+-]+\s*", "", _filled(line, names))
            for one in now if False not in branches else ():
                one.commands.append((number, command))
        elif re.match(r"if(?:n?eq|n?def)\b|else\b|endif\b", line):
            _branch(line, names, branches)
        elif False in branches or not line or line.startswith("#"):
            continue
        elif m := _INCLUDE.fullmatch(line):
            _include(m[1], names, tree, folder)
        elif m := _ASSIGN.match(line):
            _assign(m[1], m[2], m[3], names, known=None not in branches)
        elif (m := _RULE.match(line)) and len(recipes) < MAX_RECIPES:
            now = []
            for target in _filled(m[1], names).split():
                old = recipes.get(target, Recipe(number, [], []))
                recipes[target] = old
                old.needs.extend(_filled(m[2], names).replace("|", " ").split())
                now.append(old)
    return recipes


_INCLUDE = regex(r"(?:-|s)?include\s+(.+)")
_DEFAULTS = "?"
"""The name under which the variables are kept that have a default only (`?=`): who calls make may give another value."""
_NAMED = regex(r"\$[({]([\w.-]+)[)}]")
_UNSET = ""
"""The name under which the value of a variable is kept that nothing sets: empty, unless a file that is not there may set it."""


def _include(files: str, names: dict[str, str], tree: Tree, folder: str) -> None:
    """Take the variables that the named files set."""
    for name in _filled(files, names).split():
        text = tree.text_if_there(joined(folder, name)) if "$" not in name else None
        if text is None:
            names[_UNSET] = _UNKNOWN
        branches: list[bool | None] = []
        for _, row in _logical(text or ""):
            line = row.strip()
            if re.match(r"if(?:n?eq|n?def)\b|else\b|endif\b", line):
                _branch(line, names, branches)
            elif False not in branches and not row.startswith("\t") and (m := _ASSIGN.match(line)):
                _assign(m[1], m[2], m[3], names, known=None not in branches)


def _logical(text: str) -> Iterator[tuple[int, str]]:
    """Lines with those that continue them; in a recipe the line breaks stay, so that a command keeps its lines."""
    start, parts = 0, [""][:0]
    for number, row in enumerate(text.splitlines(), 1):
        start = start or number
        parts.append(row)
        if row.endswith("\\"):
            continue
        recipe = parts[0].startswith("\t")
        yield start, "\n".join(parts) if recipe else " ".join(part.removesuffix("\\").strip() for part in parts)
        start, parts = 0, []


def _branch(line: str, names: dict[str, str], branches: list[bool | None]) -> None:
    """Keep whether the branches around a line hold; None for a condition that only a machine decides."""
    word, _, rest = line.partition(" ")
    if line.startswith("endif"):
        del branches[-1:]
    elif line.startswith("else"):
        before = branches.pop() if branches else None
        further = rest.strip()
        branches.append(None if before is None else not before)
        if before is False and further.startswith("if"):
            branches[-1:] = [_holds(further, names)]
    elif word.startswith("if"):
        branches.append(_holds(line, names))


def _holds(line: str, names: dict[str, str]) -> bool | None:
    if m := re.match(r"if(n?)def\s+(\S+)", line):
        return bool(names.get(m[2])) is not bool(m[1])
    found = _CONDITION.match(line)
    if found is None or any(name in names.get(_DEFAULTS, "").split() for name in _NAMED.findall(line)):
        return None
    left, right = _filled(found[2], names), _filled(found[3], names)
    return None if "$" in left + right else (left.strip() == right.strip()) is (found[1] == "ifeq")


def _assign(name: str, how: str, value: str, names: dict[str, str], *, known: bool) -> None:
    if how == "?=" and name in names:
        return
    if how == "?=":
        names[_DEFAULTS] = f"{names.get(_DEFAULTS, '')} {name}"
    given = _filled(re.sub(r"\s+#.*", "", value), names)
    names[name] = "${" + name + "}" if not known else f"{names.get(name, '')} {given}".strip() if how == "+=" else given


def _filled(text: str, names: dict[str, str]) -> str:
    """`$(NAME)` by its value: a variable that nothing sets is empty; a function of make gives what is not known."""
    parts: list[str] = []
    at = 0
    while (dollar := text.find("$", at)) >= 0 and len(parts) < MAX_VALUE:
        parts.append(text[at:dollar])
        after = text[dollar + 1 : dollar + 2]
        if after not in ("(", "{"):
            parts.append("$" if after == "$" else _UNKNOWN)
            at = dollar + 2
            continue
        end = _closing(text, dollar + 1)
        inner = text[dollar + 2 : end]
        plain = re.fullmatch(r"[\w.-]+", inner)
        parts.append(names.get(inner, names.get(_UNSET, "")) if plain else _UNKNOWN)
        at = end + 1
    return ("".join(parts) + text[at:])[:MAX_VALUE]


def _closing(text: str, start: int) -> int:
    """Where the bracket at `start` is closed; the end of the text where it is not."""
    depth, pair = 0, {"(": ")", "{": "}"}[text[start]]
    for at in range(start, len(text)):
        depth += (text[at] == text[start]) - (text[at] == pair)
        if depth == 0:
            return at
    return len(text)


def _just(text: str) -> Recipes:
    """The recipes of a justfile; a recipe with a shebang is one script."""
    names: dict[str, str] = {}
    recipes: Recipes = {}
    now: Recipe | None = None
    for number, row in enumerate(text.splitlines(), 1):
        line = row.strip()
        if row[:1] in (" ", "\t") and now is not None:
            command = re.sub(r"\{\{\s*(.*?)\s*\}\}", lambda m: names.get(m[1], _UNKNOWN), line)
            if now.commands and (now.commands[0][1].startswith("#!") or now.commands[-1][1].endswith("\\")):
                now.commands[-1] = now.commands[-1][0], f"{now.commands[-1][1]}\n{command}"
            else:
                now.commands.append((number, re.sub(r"^[@-]+", "", command)))
        elif m := re.match(r"(?:export\s+)?([\w-]+)\s*:=\s*[\"']([^\"']*)[\"']\s*$", line):
            names[m[1]] = m[2]
        elif (m := _JUST.match(line)) and not line.startswith("#") and len(recipes) < MAX_RECIPES:
            now = recipes[m[1]] = Recipe(number, m[3].split(), [])
    return recipes
