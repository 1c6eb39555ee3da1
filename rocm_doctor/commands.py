"""Commands that a person pastes: what they do, where they run, how a value gets into one, and how a shell spells a variable.

A command is data (`model.Command`). The row says its text; what the text does not say (its effect, the system and the
distributions that have the program) is worked out from the catalog of programs, which `Program` describes.
"""

from __future__ import annotations

import datetime
import itertools
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, TypeVar

import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Command, Effect, Grade, Purpose, Shell

EFFECTS: tuple[Effect, ...] = ("reads", "environment", "system", "login", "reboot", "destructive")
"""From harmless to harmful: of several programs in one command the last effect of this list counts."""

FAMILIES = {
    "debian": ("debian", "ubuntu", "mint", "pop!_os"),
    "fedora": ("fedora", "red hat", "rhel", "rocky", "alma", "centos", "oracle linux"),
    "suse": ("suse", "sles"),
    "arch": ("arch linux", "manjaro", "endeavouros", "cachyos"),
}
"""Families of distributions, each with words of the names that `os` may hold, in small letters."""


class Program(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A program that a command may begin with: what brings it, and what it does.

    `forms` are words among its arguments that mean another effect (`install: environment`), `purposes` those that mean another purpose
    than `purpose`. `distributions`: families that have it.
    `runs`: words among its arguments behind which another program or code follows; an empty one: always.
    """

    name: str
    package: str
    sources: tuple[str, ...]
    grade: Grade
    checked: datetime.date
    effect: Effect = "reads"
    forms: dict[str, Effect] = {}
    purpose: Literal["", Purpose] = ""
    purposes: dict[str, Purpose] = {}
    system: Literal["", "linux", "windows"] = ""
    distributions: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()


# What a slot of a template accepts. Everything is quoted besides; the list keeps out what a shell would never mean.
_SLOTS = {
    "version": regex(r"[0-9][0-9A-Za-z.+_-]{0,63}"),
    "kernel": regex(r"linux-[a-z0-9.-]{1,60}"),
    "extras": regex(r"[A-Za-z0-9._,-]{1,200}"),
    "package": regex(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9])?"),
    "gfx": regex(r"gfx[0-9a-f]{3,5}"),
    "group": regex(r"[a-z_][a-z0-9_-]{0,31}(,[a-z_][a-z0-9_-]{0,31})?"),
    "gid": regex(r"[0-9]{1,10}"),
    "variable": regex(r"[A-Za-z_][A-Za-z0-9_]{0,127}"),
    "value": regex(r"[A-Za-z0-9_.,:/+=@%-]{1,200}"),
    "path": regex(r"/[A-Za-z0-9_./@%+=~ -]{1,300}"),
    "url": regex(r"https://[A-Za-z0-9.-]+(/[A-Za-z0-9._/+-]*)?"),
    "image": regex(r"[a-z0-9][a-z0-9._/-]{0,199}(:[A-Za-z0-9._-]{1,127})?(@sha256:[0-9a-f]{64})?"),
}
_SLOT = regex(r"\{([a-z]+)(?:_\w+)?\}")
_ASSIGNED = regex(r"[A-Za-z_]\w*=")
_ENDS = frozenset(";|&()")
_TO_REPLACE = regex(r"(?<![\w$])(?:MODEL|IMAGE|NODE|NAME|PID|FILE|gfxNNNN|train\.py)(?!\w)")


def fill(template: str, **values: object) -> tuple[str, ...]:
    """The one command that the template makes of these values, each quoted for a POSIX shell; none when a value is refused.

    A slot is named for what it accepts (`{version}`, `{version_torch}`, `{group}`, ...: the keys of _SLOTS). This is the only way for
    a value that was read somewhere into a command. Raises KeyError for a slot without a value or of an unknown kind.
    """
    slots = {found[0]: (_SLOTS[found[1]], str(values[found[0][1:-1]])) for found in _SLOT.finditer(template)}
    if not all(allowed.fullmatch(value) for allowed, value in slots.values()):
        return ()
    made = _SLOT.sub(lambda found: shlex.quote(slots[found[0]][1]), template)
    # A value that needs quotes, inside quotes of the template, would end them.
    meant = [_SLOT.sub(lambda found: slots[found[0]][1], word) for word in shlex.split(template)]
    return (made,) if shlex.split(made) == meant else ()


def slot_pattern(slot: str) -> str:
    """The pattern that a whole value must match for `fill` to accept it in this slot (`version_torch` as `version`); empty for a
    slot of unknown kind."""
    kind = slot.partition("_")[0]
    return _SLOTS[kind].pattern if kind in _SLOTS else ""


def words(text: str) -> list[list[str]]:
    """The simple commands of a POSIX shell text, each as its words without quotes. Raises ValueError where a quote stays open."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";|&()")
    lexer.whitespace_split, lexer.commenters = True, ""
    found: list[list[str]] = [[]]
    for word in lexer:
        if _ENDS.issuperset(word):
            found.append([])
        elif word != "$":
            found[-1].append(word)
    return [argv for argv in found if argv]


def split_program(argv: Sequence[str]) -> tuple[str, list[str]]:
    """(program, arguments) of a simple command, behind assignments and `sudo`; the program is without its folder, and empty if
    there is none."""
    left = list(argv)
    while left and (left[0] == "sudo" or _ASSIGNED.match(left[0])):
        left = left[1:]
    return (left[0].rpartition("/")[2] if left else "", left[1:])


_OF_LINUX = regex(r"(?:^|[\s'\"=])/(?:sys|proc|etc|opt|dev|lib|boot|var|usr)/")
"""A path that only a Unix system has."""


def classify(command: Command | str, programs: Mapping[str, Program]) -> Command:
    """The command with every field that its text decides; what it states itself stays."""
    known = Command(command) if isinstance(command, str) else command
    if known.shell != "sh":
        purpose = known.purpose or ("variable" if settings(known) else "")
        return msgspec.structs.replace(known, effect=known.effect or "environment", purpose=purpose)
    try:
        parts = [split_program(argv) for argv in words(known.text)]
    except ValueError:
        return known
    used = [(programs[name], arguments) for name, arguments in parts if name in programs]
    purposes = [(_longest_form(a, p.purposes, p.purpose), a) for p, a in used]
    purpose, arguments = next((one for one in purposes if one[0]), ("", ()))
    return msgspec.structs.replace(
        known,
        effect=known.effect or max((_longest_form(a, p.forms, p.effect) for p, a in used), key=EFFECTS.index, default="reads"),
        system=known.system or next((p.system for p, _ in used if p.system), "linux" if _OF_LINUX.search(known.text) else ""),
        distributions=known.distributions or next((p.distributions for p, _ in used if p.distributions), ()),
        placeholders=known.placeholders or placeholders(known.text),
        purpose=known.purpose or purpose,
        packages=known.packages or _packages(arguments),
    )


_Meaning = TypeVar("_Meaning", bound=str)


def _longest_form(arguments: Sequence[str], forms: Mapping[str, _Meaning], default: _Meaning) -> _Meaning:
    """What the longest of these forms means that the arguments hold; without one the default."""
    line = f" {' '.join(arguments)} "
    hits = [form for form in forms if f" {form} " in line]
    return forms[max(hits, key=len)] if hits else default


_REQUIREMENT = regex(r"([A-Za-z][\w.-]*)(?:\[[\w,.-]+\])?(?:[=<>!~].*)?")
_IMPORTS = regex(r"\bfrom (\w+)(?:\.\S*)? import|\bimport (\w+(?:, \w+)*)")


def _packages(arguments: Sequence[str]) -> tuple[str, ...]:
    """The Python packages that the arguments name: what code behind `-c` imports, or the requirements behind `install` and the like."""
    if "-c" in arguments:
        return tuple(name for m in _IMPORTS.finditer(" ".join(arguments)) for name in (m[1] or m[2]).split(", "))
    verb = next((n for n, word in enumerate(arguments) if word in ("install", "uninstall", "show")), len(arguments))
    found = (_REQUIREMENT.fullmatch(word) for before, word in itertools.pairwise(arguments[verb:]) if before != "-r")
    return tuple(m[1] for m in found if m)


def placeholders(text: str) -> tuple[str, ...]:
    """Words that the person has to replace: MODEL, IMAGE, gfxNNNN, train.py."""
    return tuple(dict.fromkeys(found[0] for found in _TO_REPLACE.finditer(text)))


def distribution_names(os_name: str) -> frozenset[str]:
    """The family of a distribution by the name that it gives itself, with the words of that name; empty where it is not known."""
    low = os_name.casefold()
    named = {family: [name for name in names if name in low] for family, names in FAMILIES.items()}
    return frozenset(next(({family, *names} for family, names in named.items() if names), ()))


def select_commands(commands: Iterable[Command], system: str, os_name: str) -> tuple[Command, ...]:
    """The commands that run on this system and distribution, in the spelling of its shell. What is not known excludes nothing."""
    distributions = distribution_names(os_name)
    return tuple(one for command in commands for one in _fit_to_system(command, system, distributions))


def _fit_to_system(command: Command, system: str, distributions: frozenset[str]) -> Iterator[Command]:
    if distributions and command.distributions and distributions.isdisjoint(command.distributions):
        return
    if system == "windows":
        if command.system != "linux":
            yield to_powershell(command) if command.shell == "sh" else command
    elif command.system != "windows" or not system:
        yield command


def to_powershell(command: Command) -> Command:
    """The same command for Windows: variables are set as PowerShell does; words are quoted so that cmd takes them, too."""
    name, *arguments = shlex.split(command.text)
    variable, sign, value = name.partition("=")
    if sign and variable.isidentifier() and arguments:
        program = to_powershell(msgspec.structs.replace(command, text=shlex.join(arguments)))
        return _power(command, f"{set_variable(variable, value, 'powershell')}; {program.text}")
    if name == "export":
        pairs = [word.partition("=") for word in arguments]
        return _power(command, "; ".join(set_variable(n, v, "powershell") for n, _, v in pairs))
    if name == "unset":
        return _power(command, "; ".join(set_variable(n, None, "powershell") for n in arguments))
    words = (name, *arguments)
    if "'" not in command.text or any(set(word) & set("\"'$`%") for word in words):
        return command
    return msgspec.structs.replace(command, text=" ".join(f'"{w}"' if shlex.quote(w) != w else w for w in words))


def _power(command: Command, text: str) -> Command:
    return msgspec.structs.replace(command, text=text, shell="powershell")


def settings(command: Command) -> dict[str, str | None]:
    """The environment variables that a command sets, with their values; None where it unsets one."""
    try:
        words = shlex.split(command.text)
    except ValueError:
        return {}
    if command.shell == "powershell":
        gone: dict[str, str | None] = dict.fromkeys(re.findall(r"Remove-Item Env:(\w+)", command.text))
        return gone | dict(re.findall(r"\$env:(\w+) = '([^']*)'", command.text))
    if words[:1] == ["unset"]:
        return dict.fromkeys(words[1:])
    assigned = itertools.takewhile(lambda word: _ASSIGNED.match(word), words[1:] if words[:1] == ["export"] else words)
    return {name: value for name, _, value in (word.partition("=") for word in assigned)}


def changed_variables(commands: Iterable[Command]) -> dict[str, str | None]:
    """The environment variables of the shell that commands set, with their values; None for one that they unset."""
    lasting = (command for command in commands if command.purpose == "variable")
    return {name: value for command in lasting for name, value in settings(command).items()}


def set_variable(name: str, value: str | None, shell: Shell) -> str:
    """The line that sets a variable in that shell; with None the one that unsets it."""
    if shell == "powershell":
        # PowerShell takes the curly quotes for quotes as well.
        quoted = re.sub("(['\u2018-\u201b])", r"\1\1", value or "")
        return f"Remove-Item Env:{name} -ErrorAction SilentlyContinue" if value is None else f"$env:{name} = '{quoted}'"
    return f"unset {name}" if value is None else f"export {name}={shlex.quote(value)}"


AFTERWARDS: dict[Effect, str] = {
    "login": "log out and in again afterwards",
    "reboot": "reboot afterwards",
    "destructive": "deletes files",
}
"""What a person has to know beside a command with this effect."""


_OURS = {"plan": "prints the commands and runs none", "fix": "builds a new environment; this one stays as it is"}


def remarks(command: Command) -> str:
    """What to know beside a command: the shell and distribution it is for, what to replace in it, what comes after it."""
    parts = [
        "PowerShell" if command.shell == "powershell" else "",
        f"on {', '.join(distribution.capitalize() for distribution in command.distributions)}" if command.distributions else "",
        f"replace {', '.join(command.placeholders)}" if command.placeholders else "",
        AFTERWARDS.get(command.effect or "reads", ""),
        _OURS.get(command.purpose, ""),
    ]
    return "; ".join(part for part in parts if part)
