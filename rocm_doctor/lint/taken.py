"""Whether a list of requirements is certainly what is installed for AMD, or one that lies beside such a list, as a freeze does."""

from __future__ import annotations

from rocm_doctor.lint.declared import Environment, Repository
from rocm_doctor.lint.environments.words import named


def is_taken(file: str, repository: Repository) -> bool:
    """True if an image or a script for AMD installs a list, or if it is the only one that a reader with such a GPU can take."""
    if any(_installs(e, file) for e in repository.environments):
        return True
    by_name = any(named(part)[0] == "amd" for part in file.split("/"))
    lists = [e for e in repository.environments if e.sort == "requirements"]
    own = [e for e in lists if e.place.file == file]
    if not (any(e.purpose.kind == "amd" for e in own) if own else by_name):
        return False
    others = {e.place.file for e in lists if e.purpose.kind == "amd" or not by_name}
    return others | _installed(repository) <= {file}


def _installs(one: Environment, file: str) -> bool:
    """True if an image or a script for AMD installs a list as it is, in any case."""
    asked = any(r.place.file == file for step in one.steps for r in step.requirements)
    sure = one.purpose.kind == "amd" and one.purpose.direct and not one.unresolved and not one.unsure
    return asked and sure and one.sort in ("image", "script")


def _installed(repository: Repository) -> set[str]:
    """The lists that images and scripts install."""
    return {
        r.place.file
        for e in repository.environments
        if e.sort in ("image", "script")
        for step in e.steps
        for r in step.requirements
        if r.place.file.endswith((".txt", ".in")) and r.place.file != e.place.file
    }
