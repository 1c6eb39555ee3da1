"""Virtual and conda environments that commands make and enter."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Place, ReadProblem, Setting, Step
from rocm_doctor.lint.environments.branches import Arm
from rocm_doctor.lint.readers import shell

_MAKES_VENV = regex(r"(?:\S*python[\d.]*(?: -\w)* -m venv|(?:\S*/)?virtualenv|uv venv)(?: |$)")
# What creates an environment with a Python is conda, whatever variable names it.
_MAKES_CONDA = regex(r"(?:\S*(?:conda|mamba)\)?|\$\{?\w+\}?) create\b.* (?:-n|--name|-p|--prefix)[ =](\S+)")
_ENTERS_CONDA = regex(
    r"(?:(?:conda|mamba|micromamba|source) activate|(?:\S*/)?(?:conda|mamba|micromamba) run (?:--[\w-]+ )*(?:-n|--name|-p|--prefix)) (\S+)"
)
_MAKES_BY_FILE = regex(
    r"(?:\S*/)?(?:conda|mamba|micromamba) env create\b(?=.* (?:-f|--file)[ =](\S+))(?:.* (?:-n|--name)[ =](\S+))?"
)
_NAME = regex(r"^name:[ \t]*[\"']?([\w.-]+)", re.M)
# The Python that a new environment gets, as its command names it; a variable that is not known is kept, as one that names none.
_ITS_PYTHON = regex(
    r"(?:\S*/)?python(3\.\d{1,2})(?: -\w)* -m venv\b|.*(?:--python|-p)[ =](?:\S*/)?(?:python|cpython-?)?@?(3\.\d{1,2}|\$\S+)|.*\bpython={1,2}(3\.\d{1,2})"
)
_OF_TORCH = ("torch", "torchvision", "torchaudio")


# The environment that uv is told to install into, by its Python.
_GIVEN_PYTHON = regex(r"\s(?:-p|--python)[= ]([^\s\"']+/[^\s\"']+)/bin/python[\d.]*(?=\s|$)")


def left(argv: list[str], place: Place, context: shell.Context, found: shell.Script) -> list[str]:
    """The words that are left to be read: none of a command that only makes or enters an environment, what `conda run` runs, else all.

    A new environment does not see the torch that was there before it.
    """
    text = " ".join(argv)
    if (_MAKES_VENV.match(text) or _MAKES_CONDA.match(text)) and (its := _ITS_PYTHON.match(text)):
        found.pythons.append(Setting("python", its[1] or its[2] or its[3], place))
    if m := _MAKES_VENV.match(text):
        words = [w for w in argv[len(m[0].split()) :] if not w.startswith("-") and not re.fullmatch(r"(?:python)?[\d.]+", w)]
        if "--system-site-packages" not in argv:
            _note(_at(words[-1] if words else ".venv", context), context)
            entered(place, context, found)
        return []
    if m := _MAKES_CONDA.match(text):
        _note(_at(m[1], context) if "/" in m[1] else f"conda:{m[1]}", context)
        return argv
    if m := _MAKES_BY_FILE.match(text):
        listed = context.tree.text_if_there(context.path(m[1])) or ""
        if name := m[2] or ((its := _NAME.search(listed)) and its[1]):
            _note(f"conda:{name}", context)
            context.names[_OF_FILES] = "\0".join((context.names.get(_OF_FILES, ""), f"conda:{name}"))[: shell.MAX_VALUE]
        return argv
    if m := _ENTERS_CONDA.match(text):
        _enter(_at(m[1], context) if "/" in m[1] else f"conda:{m[1]}", place, context, found)
        # One word may hold blanks: a folder that a command gives.
        name = next((n for n, word in enumerate(argv) if word.split()[:1] == [m[1]]), len(argv))
        after = argv[name + 1 :] if argv[1] == "run" else []
        return list(itertools.dropwhile(lambda word: word.startswith("-"), after))
    if argv[0] in ("source", ".") and len(argv) > 1 and argv[1].endswith("/activate"):
        _enter_by_path(argv[1].rsplit("/", 2)[0], place, context, found)
        return []
    if argv[0].count("/") > 1 and re.search(r"/bin/(?:python|pip)[\d.]*$", argv[0]):
        _enter_by_path(argv[0].rsplit("/bin/", 1)[0], place, context, found)
    elif argv[0].count("/") > 1 and "/bin/" in argv[0]:
        _enter(_at(argv[0].rsplit("/bin/", 1)[0], context), place, context, found)
    elif re.match(r"uv (?:pip|sync|run|add)\b", text) and "--system" not in argv:
        its_python = _GIVEN_PYTHON.search(text)
        _enter(_at(its_python[1] if its_python else ".venv", context), place, context, found)
    if re.match(r"uv (?:sync|run)\b", text):
        context.names[_MADE] = "\0".join(filter(None, (context.names.get(_MADE, ""), _at(".venv", context))))[: shell.MAX_VALUE]
    own = context.names.get("UV_PROJECT_ENVIRONMENT", "")
    used = not own or f"{own.rstrip('/')}/bin" in context.names.get("PATH", "").split(":")
    if text.startswith("uv sync") and "--inexact" not in argv and used:
        project = context.path("pyproject.toml")  # its environment has what the lock has, and nothing else
        if project and context.tree.is_file(project):
            found.steps.append(Step("system", place, removed=_OF_TORCH))
    return argv


_MISSING = regex(r"""!\s*(?:-[def]\s+)?["']?([^\s"'\]]+)""")


def made_where_missing(argv: Sequence[str], arms: Sequence[Arm]) -> bool:
    """True if a command makes a folder unless it is there: an environment that is there was made by the same command."""
    missing = [_MISSING.search(arm.filled or arm.condition) for arm in arms]
    return bool(arms) and all(m is not None and any(_within(m[1], word) for word in argv[1:]) for m in missing)


def _within(name: str, folder: str) -> bool:
    """True if a name is that of a folder, from wherever it is named, or of what is in it."""
    return f"{name}/".startswith(f"{folder}/") or folder.endswith(f"/{name}")


_NEW, _MADE, _OF_FILES = "NEW ENVIRONMENTS", "ENVIRONMENTS", "ENVIRONMENTS OF FILES"


def _at(folder: str, context: shell.Context) -> str:
    """What an environment in a folder is kept as: by its name where it is among those of conda, else by its whole path."""
    folders, _, name = context.at(folder).rpartition("/")
    return f"conda:{name}" if folders.endswith("/envs") else f"{folders}/{name}"


def _note(folder: str, context: shell.Context) -> None:
    for names in (_NEW, _MADE):
        context.names[names] = "\0".join(filter(None, (context.names.get(names, ""), folder)))[: shell.MAX_VALUE]


def _enter(folder: str, place: Place, context: shell.Context, found: shell.Script) -> None:
    there = context.names.get(_NEW, "").split("\0")
    if folder in there:
        context.names[_NEW] = "\0".join(one for one in there if one != folder)
        found.steps.append(Step("system", place, removed=_OF_TORCH))
        if folder in context.names.get(_OF_FILES, "").split("\0"):  # what its file lists is in it
            found.used[:] = [file._replace(at=len(found.steps)) if file.tool == "conda" else file for file in found.used]


def ended(before: Mapping[str, str], steps: int, place: Place, context: shell.Context, found: shell.Script) -> None:
    """Leave the environments that a shell entered and installed nothing in: the next command of the file has a shell of its own. `before`: the
    names, and `steps` the number of steps, when it began.
    """
    if len(found.steps) == steps or any(s.removed != _OF_TORCH or s.tool != "system" for s in found.steps[steps:]):
        return
    new, made, then, now = (
        set(filter(None, names.get(key, "").split("\0"))) for names in (before, context.names) for key in (_NEW, _MADE)
    )
    del found.steps[steps:]
    for folder in sorted((new | now - made) - then):
        context.names[_NEW] = "\0".join(filter(None, (context.names.get(_NEW, ""), folder)))[: shell.MAX_VALUE]
    entered(place, context, found)


def _enter_by_path(folder: str, place: Place, context: shell.Context, found: shell.Script) -> None:
    """Enter an environment that a command names by its folder; what one that was made elsewhere holds is not known."""
    at = _at(folder, context)
    _enter(at, place, context, found)
    made = at in context.names.get(_MADE, "").split("\0")
    if not made and context.start.startswith(shell.ROOT) and _OF_ITS_OWN.search(context.at(folder)):
        problem = ReadProblem(place, f"what the environment {folder} holds, which is made elsewhere, is not known", "before")
        found.problems.extend([problem] if problem not in found.problems else [])


# Folders of environments, and not of a system's Python.
_OF_ITS_OWN = regex(r"env|\$")


def entered(place: Place, context: shell.Context, found: shell.Script) -> None:
    """Enter the new environment that PATH or VIRTUAL_ENV name."""
    paths = [one.removesuffix("/bin") for one in context.names.get("PATH", "").split(":") if one.endswith("/bin")]
    now = {_at(one, context) for one in (*paths, context.names.get("VIRTUAL_ENV", "")) if one}
    for folder in filter(None, context.names.get(_NEW, "").split("\0")):
        if folder in now:
            _enter(folder, place, context, found)
