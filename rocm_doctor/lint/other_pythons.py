"""Another Python than the target's, which a repository names for an environment that has none of its own."""

from __future__ import annotations

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import REQUIRES_PYTHON, Environment, Repository, Setting, Target
from rocm_doctor.lint.rules.indexes import admits

_PYTHON_VERSION = regex(r"(?:PYTHON|PY)_?VER(?:SION)?")


def has_another_python(environment: Environment, target: Target, repository: Repository) -> bool:
    """True if an environment names no Python, and others of the repository name one that is not the target's."""
    if environment.python is not None or target.place is not None:
        return False
    if any(_is_left_out(s, environment, target) for s in repository.pythons if s.name == REQUIRES_PYTHON):
        return True
    named = [e.python.value for e in repository.environments if e.python]
    named += [s.value for e in repository.environments for s in e.variables if _PYTHON_VERSION.fullmatch(s.name)]
    at_root = [s for s in repository.pythons if "/" not in s.place.file or s.place.file == environment.place.file]
    named += [s.value for s in at_root]
    series = {m[0] for value in named if (m := _SERIES.match(value))}
    return bool(series - {".".join(target.python.split(".")[:2])})


def _is_left_out(allowed: Setting, environment: Environment, target: Target) -> bool:
    """True if the project that an environment's file lies in does not allow the target's Python."""
    folder = allowed.place.file.rpartition("/")[0]
    inside = not folder or environment.place.file.startswith(f"{folder}/")
    return (
        inside
        and bool(target.python)
        and not any(admits(allowed.value, f"{target.python}{patch}") for patch in ("", ".0", ".99"))
    )


_SERIES = regex(r"3\.\d+")
