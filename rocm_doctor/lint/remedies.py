"""What to type on a machine, turned into what to change in the repository: the line that declares it."""

from __future__ import annotations

import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Environment, Setting
from rocm_doctor.lint.rules.findings import required
from rocm_doctor.lint.suited import suited
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding, Snapshot

_INSTALL = regex(r"""pip install (?:--upgrade |-U )?["']?(([A-Za-z][\w.-]*)[^"'\s]*)["']?$""")
_REMOVE = regex(r"pip uninstall (?:-y )?([\w.-]+)$")


def in_files(one: Finding, environment: Environment, facts: Snapshot, matrix: Matrix) -> Finding:
    """The finding with the edits that its commands mean; a command without a line of the environment stays."""
    edits = {command: _edits(command.text, environment, one, facts, matrix) for command in one.commands}
    said = " ".join(dict.fromkeys(edit for more in edits.values() for edit in more))
    kept = tuple(command for command, more in edits.items() if not more)
    return msgspec.structs.replace(one, commands=kept, advice=f"{said} {one.advice}".strip()) if said else one


def _edits(command: str, environment: Environment, one: Finding, facts: Snapshot, matrix: Matrix) -> list[str]:
    verb, _, words = command.partition(" ")
    if verb in ("unset", "export"):
        return [edit for word in words.split() for s in environment.variables if (edit := _of_variable(verb, word, s))]
    needed = {r.name: r.place for step in environment.steps for r in step.requirements}
    if (found := _INSTALL.match(command)) and found[2] in needed:
        asked = suited(found[1], found[2], one.id, facts, matrix)
        return [
            required(asked, needed[found[2]])
            if asked
            else f"No release of {found[2]} is known to work with this torch on this GPU."
        ]
    if (found := _REMOVE.match(command)) and found[1] in needed:
        return [f"Take {found[1]} out of {needed[found[1]].words}."]
    return []


def _of_variable(verb: str, word: str, setting: Setting) -> str:
    name, _, value = word.partition("=")
    if setting.name != name:
        return ""
    if setting.argument:
        return f"L{setting.place.words[1:]} takes it from the build argument {setting.argument}: leave it out where this GPU is built for."
    if verb == "export":
        return f"Set {name} to {value} on {setting.place.words}."
    return setting.removal or f"Take {name} out of {setting.place.words}."
