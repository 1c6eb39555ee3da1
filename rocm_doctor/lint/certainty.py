"""What makes a finding an error: it certainly stops the target, in an environment that is certainly meant for it.

Everything else that is found is a warning: a build for other GPUs is a choice, a library that the GPU lacks can be done without,
a job runs on its own runner, a list without an index is installed with one that its caller names. A target that the repository
declares is one that all of it is meant for.
"""

from __future__ import annotations

import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import LIMITS, Environment, Target
from rocm_doctor.lint.environments.words import cards, holds
from rocm_doctor.model import Finding, Reading

NOT_ROCM = "version.torch-not-rocm"
# Training goes on without what a library or a number format cannot do.
_DO_WITHOUT = ("lib.", "numeric.")


def capped(one: Finding, environment: Environment, target: Target) -> Finding:
    """The finding; a warning where the environment, or what leads to it, leaves a doubt."""
    if one.severity != "error" or is_certain(one, environment, target):
        return one
    return msgspec.structs.replace(one, severity="warning")


def is_certain(one: Finding, environment: Environment, target: Target) -> bool:
    """True if an environment that is meant for the target certainly has what is found, and it certainly stops the target."""
    purpose = environment.purpose
    if target.place is None and (purpose.kind != "amd" or not purpose.direct or one.id.startswith(_DO_WITHOUT)):
        return False
    if environment.sort == "job" and target.place is None and not _names(environment, target):
        return False
    if one.id == "version.companion-mismatch" and any(r.quote.count(".whl") for r in one.evidence):
        return False  # which torch such wheels require is not in the catalog
    return is_settled(one, environment) and not index_by_caller(one, environment)


def is_settled(one: Finding, environment: Environment) -> bool:
    """True if the files decide that what is found is so: all was read, and it is in no branch that may not run."""
    first = one.evidence[0] if one.evidence else Reading("", "")
    if any(not (p.message.endswith(LIMITS) and _TORCH.search(first.quote)) for p in environment.unresolved):
        return False
    return (first.artifact, first.place) not in {(p.file, f"line {p.line}") for p in environment.unsure}


# A list that names torch itself asks for it, whatever a constraint would allow.
_TORCH = regex(r"^[^\w]*torch\b")


def _names(environment: Environment, target: Target) -> bool:
    """True if a job's name, runner or matrix names the target's GPU."""
    only = cards(" ".join(environment.labels))
    return bool(only) and holds(only, target.gpu)


def index_by_caller(one: Finding, environment: Environment) -> bool:
    """True if a list or an extra for AMD names torch and no index: the command that installs it may name one."""
    if one.id not in (NOT_ROCM, "version.wheel-missing") or environment.purpose.kind != "amd":
        return False
    listed = environment.sort in ("requirements", "project") and not any(step.indexes for step in environment.steps)
    pinned = one.id == NOT_ROCM and any("+" in r.quote for r in one.evidence)
    return listed and not pinned and not any("://" in r.quote for r in one.evidence)
