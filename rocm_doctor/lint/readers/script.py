"""What the commands of a shell text do: set variables, install packages, start containers, in their order."""

from __future__ import annotations

import re
from itertools import islice

from rocm_doctor.lint.declared import Place, Setting
from rocm_doctor.lint.readers import shell
from rocm_doctor.lint.readers.installs import container, install

_ASSIGN = re.compile(r"([A-Za-z_]\w*)=(.*)", re.S)
MAX_COMMANDS = 10_000
MAX_VALUE = 500
_PREFIXES = frozenset((
    "sudo", "-E", "exec", "time", "nice", "env", "then", "do", "else", "if", "RUN", "srun", "call", "@",
))  # fmt: skip


def read(text: str, place: Place, context: shell.Context, found: shell.Script) -> None:
    """Read a text's commands, in order, into `found`; `place` is that of its first line."""
    for at, command in islice(shell.commands(place.file, text, place.line), MAX_COMMANDS):
        _command(shell.words(shell.filled(command, context.names)), at, context, found)


def _command(argv: list[str], place: Place, context: shell.Context, found: shell.Script) -> None:
    argv = _without_prefixes(argv)
    while argv and (assigned := _ASSIGN.fullmatch(argv[0])):
        _set(assigned[1], assigned[2], place, context, found)
        argv = argv[1:]
    if not argv:
        return
    if argv[0] in ("export", "set", "setx", "declare", "typeset"):
        _exports(argv[1:], place, context, found)
    elif argv[0].lower().startswith("$env:"):
        name, _, value = " ".join(argv)[5:].partition("=")
        _set(name.strip(), value.strip(" \"'"), place, context, found)
    elif argv[0] in ("docker", "podman", "nerdctl") and "run" in argv[1:3]:
        found.containers.append(container(argv[argv.index("run") + 1 :], place))
    else:
        step = install(argv, place, context, found)
        found.steps.extend([step] if step else [])


def _without_prefixes(argv: list[str]) -> list[str]:
    while argv and argv[0] in _PREFIXES:
        argv = argv[1:]
    return argv


def _exports(argv: list[str], place: Place, context: shell.Context, found: shell.Script) -> None:
    if len(argv) == 2 and "=" not in argv[0]:
        argv = ["=".join(argv)]
    for word in argv:
        if assigned := _ASSIGN.fullmatch(word):
            _set(assigned[1], assigned[2], place, context, found)


def _set(name: str, value: str, place: Place, context: shell.Context, found: shell.Script) -> None:
    context.names[name] = shell.filled(value, context.names)[:MAX_VALUE]
    found.env.append(Setting(name, context.names[name], place))
