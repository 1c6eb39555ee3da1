"""The release of a library that an edit asks for: one that the rows find nothing against in the same environment."""

from __future__ import annotations

import msgspec

from rocm_doctor import versions
from rocm_doctor.facts.enrich import enrich
from rocm_doctor.lint.rules.indexes import admits
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Fact, Snapshot
from rocm_doctor.rules import RULES
from rocm_doctor.rules.engine import judge
from rocm_doctor.rules.logs import Logs


def suited(requirement: str, name: str, about: str, facts: Snapshot, matrix: Matrix) -> str:
    """What a row asks for, if nothing of the same diagnosis is found with its newest known release; else the newest release with which
    nothing is, and nothing where there is none.

    `facts`: those of the environment. `about`: the diagnosis. What the catalog has no releases of stays.
    """
    from rocm_doctor.plan.catalog import known

    package, spec = known(matrix).packages.get(name), requirement.removeprefix(name)
    if package is None or not package.releases:
        return requirement
    torch, python = (str(facts.get(key).value or "") for key in ("torch.version", "python.version"))
    for one in package.releases:
        takes = (not torch or admits(one.torch, torch)) and (not python or admits(one.python, python))
        if takes and not one.built and not _finds(name, one.version, about, facts, matrix):
            return requirement if versions.contains(spec, one.version) else f"{name}=={one.version}"
    return ""


def _finds(name: str, version: str, about: str, facts: Snapshot, matrix: Matrix) -> bool:
    key = f"pkg.{name}"
    there = msgspec.structs.replace(facts, facts={**facts.facts, key: Fact(version, facts.get(key).readings)})
    found, _ = judge(enrich(there, matrix), Logs(()), matrix, RULES)
    return any(one.id == about and one.severity != "note" for one in found)
