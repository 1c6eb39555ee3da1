"""What a container does when it starts."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import UNKNOWN_LIST, Place, ReadProblem, Setting
from rocm_doctor.lint.readers import installers, script, shell, uses
from rocm_doctor.lint.readers.files import folder_of, joined
from rocm_doctor.lint.readers.instructions import Instruction, start_command


def started(chain: Sequence[Sequence[Instruction]], context: shell.Context, found: shell.Script) -> tuple[Setting, ...]:
    """Add what a container does when it starts, as what may run: its caller may give another command. `chain`: the instructions of the
    lowest stage, and of each above it. Returns the options that keep what it runs on the CPU.
    """
    entry, command, place = start_command(one for instructions in chain for one in instructions)
    words = " ".join(filter(None, (entry, command)))
    if place is None or not words:
        return ()
    _note_installers(words, place, context, found)
    text = " ".join(w for one in chain for verb, w, _ in one if verb in ("RUN", "COPY", "ADD"))
    at = shell.new()
    if (name := _script(words)) and not context.tree.is_file(context.path(name) or "/"):
        made = re.search(rf"(?:>|<<|tee)[^\n]*{re.escape(name.rsplit('/', 1)[-1])}", text)
        if not made and _RUNS.search(name):
            found.open_ends.append(ReadProblem(place, f"{name} {UNKNOWN_LIST}"))
        return ()
    script.read(words, place, context, at)
    if program := _program(words, text, context):
        found.doubts.append(ReadProblem(place, f"{program}, which it starts, is not in what is copied"))
    if module := _module(words, text, context):
        found.doubts.append(ReadProblem(place, f"{module}, which its program imports, is not in what is copied"))
    if folder := _venv_of_nobody(words, name, text, context):
        found.open_ends.append(ReadProblem(place, f"the environment {folder} {UNKNOWN_LIST}"))
    found.open_ends.extend((*at.problems, *at.open_ends))
    found.used.extend(
        file._replace(at=file.at + len(found.steps), sure=False)
        for file in at.used
        if file.path.endswith((".toml", ".py", ".yml", ".yaml"))
    )
    found.steps.extend(at.steps)
    found.unsure.extend((*at.unsure, *shell.places_of(at.steps)))
    doubtful = {(p.file, p.line) for p in at.unsure}
    return tuple(s for s in at.options if keeps_on_cpu(s) and (s.place.file, s.place.line) not in doubtful)


_RUNS = regex(r"install|setup|boot|start|launch|run|entry|init|webui", re.I)


def _script(words: str) -> str:
    """The shell script that a start command runs; empty where it runs something else."""
    argv = words.split()
    argv = argv[1:] if argv and argv[0].rsplit("/", 1)[-1] in ("bash", "sh") else argv
    return argv[0] if argv and argv[0].endswith((".sh", ".bash")) and "$" not in argv[0] else ""


_RUN_BY_PYTHON = regex(r"(?:^|[\s;&|/])python[\d.]*\s+(?:-[^mc\s]\s+)*([\w./-]+\.py)(?=\s|$)")
_BRINGS_FILES = regex(r"--from=|\bgit clone\b|://|\btar\s+-?\w*x|\bunzip\s+[-\w./]+\.zip")
_MODULE = regex(r"(?:^|[\s;&|/])python[\d.]*\s+(?:-[^mc\s]\s+)*-m\s+(\w+)(?=\s|$)")


def _module(words: str, text: str, context: shell.Context) -> str:
    """The module beside the program of a start command, in the repository, that the program imports and that is not copied with it."""
    run, package = _RUN_BY_PYTHON.search(words), _MODULE.search(words)
    names = [run[1]] if run else [f"{package[1]}/__init__.py", f"{package[1]}/__main__.py"] if package else []
    folder = posixpath.dirname(run[1]) if run else ""
    if _BRINGS_FILES.search(text):
        return ""
    for path in filter(None, map(context.path, names)):
        beside = folder_of(path) if run else folder_of(folder_of(path))
        imported = uses.imports(context.tree.text_if_there(path) or "")
        for module in (f"{name}{end}" for name in imported for end in (".py", "/__init__.py")):
            there = context.path(posixpath.join(folder, module))
            here = context.tree.is_file(joined(beside, module) or "")
            if here and module not in text and not (there and context.tree.is_file(there)):
                return module
    return ""


def _program(words: str, text: str, context: shell.Context) -> str:
    """The program in Python that a start command runs and that the folder copied to its place lacks; empty where there is none."""
    run = _RUN_BY_PYTHON.search(words)
    path = context.path(run[1]) if run else None
    if run is None or path is None or context.tree.is_file(path):
        return ""
    named = re.search(rf"(?<![\w-]){re.escape(run[1].rsplit('/', 1)[-1])}(?![\w-])", text)
    return "" if named or _BRINGS_FILES.search(text) else run[1]


_PYTHON = regex(r"(?:^|[\s;&|])(?:\./)?([\w.-][\w./-]*)/bin/python[\d.]*(?:\s|$)", re.M)


def _venv_of_nobody(words: str, name: str, text: str, context: shell.Context) -> str:
    """The virtual environment, by a relative path, whose Python a start command or its script runs, and that no command makes."""
    inside = (context.tree.text_if_there(context.path(name)) if name else None) or ""
    run = _PYTHON.search(words) or _PYTHON.search(inside)
    if run is None:
        return ""
    by_default = r"|\buv (?:sync|venv|run)\b|\bpoetry install\b|\bpdm " if run[1].endswith(".venv") else ""
    named = re.compile(rf"(?<!\w){re.escape(run[1].rsplit('/', 1)[-1])}\b(?!/bin/python){by_default}")
    return "" if named.search(text) or named.search(inside) else run[1]


def _note_installers(words: str, place: Place, context: shell.Context, found: shell.Script) -> None:
    """Note the scripts and programs of the repository in a start command that install packages themselves."""
    for word in shell.words(words):
        path = context.path(word) if word.endswith((".sh", ".bash", ".py")) and "$" not in word else None
        text = context.tree.text_if_there(path)
        if text is not None and installers.installs(text):
            found.problems.append(ReadProblem(place, f"{path} installs packages when it starts", "start"))


def keeps_on_cpu(one: Setting) -> bool:
    """True for an option that keeps a program of those that use a GPU on the CPU."""
    return (one.name, one.value.lower()) in (("use_cpu", "all"), ("use_cpu", "true"), ("device", "cpu"), ("cpu", "true"))
