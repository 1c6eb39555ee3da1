"""Extras and dependency groups that a command asks for and its project does not define: uv and Poetry stop there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from packaging.utils import canonicalize_name

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Place, Step, Tool
from rocm_doctor.lint.environments.words import named
from rocm_doctor.lint.readers import projects, rewritten
from rocm_doctor.lint.readers.shell import Context
from rocm_doctor.lint.readers.toml import strings, table

_EXTRA, _GROUP = "extra", "group"
_OPTIONS: dict[Tool, dict[str, str]] = {
    "uv": {"--extra": _EXTRA, "--group": _GROUP, "--only-group": _GROUP},
    "poetry": {"--extras": _EXTRA, "-E": _EXTRA, "--with": _GROUP, "--only": _GROUP},
}
# Another project than the one of the folder, or more of them.
_ANOTHER = regex(r"--(?:package|all-packages|project|directory|script)\b|(?<!\S)-(?:C|P)\b")
_SYNCS = regex(r"(?:\S*/)?(uv|poetry) (?:sync|install)$")


def step(argv: Sequence[str], place: Place, context: Context) -> Step | None:
    """A command that its tool refuses, with what it lacks; None for any other command, and where the project's file is not known for sure."""
    tool = _SYNCS.match(" ".join(argv[:2]))
    path = context.path("pyproject.toml") if tool and not _ANOTHER.search(" ".join(argv)) else None
    if tool is None or not path or not context.tree.is_file(path) or rewritten.changed((path,), context):
        return None
    project = projects.read(context.tree, path)
    if project is None or table(project.data, "tool", "uv", "workspace") or _by_its_backend(project):
        return None
    name: Tool = "uv" if tool[1] == "uv" else "poetry"
    defined = {kind: {str(canonicalize_name(one)) for one in _defined(project, kind)} for kind in (_EXTRA, _GROUP)}
    for kind, asked in _asked(argv[2:], _OPTIONS[name]):
        if re.fullmatch(r"[\w.-]+", asked) and str(canonicalize_name(asked)) not in defined[kind]:
            return Step(name, place, lacks=f"the {kind} {asked}, which {path} does not define")
    return None


# Extras on which the GPU stack depends.
_OF_GPUS = frozenset(("gpu", "torch", "train", "training"))


def without(path: str, extras: Sequence[str], context: Context) -> str:
    """The extra for GPUs that a project is installed without, as it does not define it: pip only warns. Empty where its extras are not
    all known.
    """
    known = context.tree.is_file(path) and not rewritten.changed((path,), context)
    project = projects.read(context.tree, path) if known and extras else None
    if project is None or not table(project.data, "project") or _by_its_backend(project):
        return ""
    defined = {str(canonicalize_name(one)) for one in project.extras}
    asked = (one for one in extras if re.fullmatch(r"[\w.-]+", one) and (one in _OF_GPUS or named(one)[0] == "amd"))
    gone = next((one for one in asked if str(canonicalize_name(one)) not in defined), "")
    return f"the extra {gone}, which {path} does not define" if gone else ""


def _by_its_backend(project: projects.Project) -> bool:
    """True if the extras of a project are made when it is built."""
    return "optional-dependencies" in strings(table(project.data, "project").get("dynamic"))


def _asked(words: Sequence[str], options: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Kind and name of each extra and group that the words of a command name."""
    parts = [part for word in words for part in (word.split("=", 1) if word.startswith("--") else [word])]
    for option, value in pairwise(parts):
        if option in options:
            yield from ((options[option], name) for name in re.split(r"[,\s]+", value) if name)


def _defined(project: projects.Project, kind: str) -> Iterator[str]:
    """The names of a project's extras or groups, in the tables of the standards, of uv and of Poetry."""
    if kind == _EXTRA:
        yield from project.extras
        return
    poetry = table(project.data, "tool", "poetry")
    yield from table(project.data, "dependency-groups")
    yield from table(poetry, "group")
    yield "main"
    if "dev-dependencies" in poetry or strings(table(project.data, "tool", "uv").get("dev-dependencies")):
        yield "dev"
