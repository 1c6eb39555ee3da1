"""What is found at a command after which its script goes on where it fails: `pip install x || echo "not there"`."""

from __future__ import annotations

from rocm_doctor.lint.declared import Environment
from rocm_doctor.model import Finding

# What only ends the command, or lacks in what it installs.
_OF_THE_COMMAND = ("version.wheel-missing", "version.python-unsupported")


def may_fail(one: Finding, environment: Environment) -> bool:
    """True if the finding is about a command that may fail without ending the script, and that does not install torch."""
    if not (one.id.startswith("lib.") or one.id in _OF_THE_COMMAND) or not one.evidence:
        return False
    optional = (step for step in environment.steps if step.guarded and not any(r.name == "torch" for r in step.requirements))
    places = {p.at for step in optional for p in (step.place, *(r.place for r in step.requirements))}
    return one.evidence[0].at in places
