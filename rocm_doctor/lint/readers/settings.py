"""Files of variables (`.env`): one `NAME=value` a line."""

from __future__ import annotations

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.model import Environment, Place, Reason, Unread, Variable
from rocm_doctor.lint.tree import Tree

_LINE = regex(r"(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*)$")


def read(tree: Tree, path: str) -> list[Environment]:
    """The variables of a file; an empty value is one to be filled in, and sets nothing."""
    variables: list[Variable] = []
    unread: list[Unread] = []
    for number, raw in enumerate((tree.text(path) or "").split("\n"), 1):
        found = _LINE.match(raw.strip())
        value = found[2].strip().strip("\"'") if found else ""
        place = Place(path, number, raw.strip()[:200])
        if found and "$" in value:
            unread.append(Unread(place, Reason.VARIABLE))
        elif found and value:
            variables.append(Variable(found[1], value, place))
    if not variables:
        return []
    return [Environment("settings", Place(path, 1), variables=tuple(variables), unread=tuple(unread), files=(path,))]
