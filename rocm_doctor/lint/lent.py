"""What a variable does to the torch of another script or image of the repository: a start script has none, a service that of its image."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from rocm_doctor.binaries.targets import covers
from rocm_doctor.facts.enrich import enrich
from rocm_doctor.lint.declared import OVERRIDE, Environment, Repository, Setting, Target
from rocm_doctor.lint.facts import code_of, snapshot_of
from rocm_doctor.lint.rules.torch_state import last_state
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Fact, Finding, Snapshot
from rocm_doctor.rules.override import LACKS, override

OVERRIDES = ("arch.override-in-use", "arch.override-pointless")


def code(environments: Sequence[Environment], target: Target, matrix: Matrix) -> Fact | None:
    """The GPUs that the ROCm torches of a repository have code for, all together; None if that is not known of each, or no override is set."""
    if not any(s.name == OVERRIDE for one in environments for s in one.variables):
        return None
    states = [last_state(one, matrix, target) for one in environments if one.purpose.kind == "amd" and one.sort != "text"]
    found = [code_of(state[2], matrix) for state in states if state and state[2].build == "rocm"]
    if not found or None in found:
        return None
    known = [one for one in found if one is not None]
    held = sorted({gpu for one in known if isinstance(one.value, tuple) for gpu in one.value})
    return Fact(tuple(held), tuple(dict.fromkeys(r for one in known for r in one.readings)))


def on_torch_of_others(
    found: Sequence[Finding], environment: Environment, facts: Snapshot, code: Fact | None, matrix: Matrix
) -> list[Finding]:
    """The findings; where a script or service sets an override that no torch of the repository has code for, a warning on that."""
    sets = any(s.name == OVERRIDE for s in environment.variables)
    own = environment.built or environment.image or environment.steps or any(one.image for one in environment.containers)
    if code is None or not sets or own or environment.purpose.kind != "amd" or environment.sort not in ("script", "service"):
        return list(found)
    known = msgspec.structs.replace(facts, facts=facts.facts | {"torch.device_dists": code})
    absent = [f for f in override(known, matrix) if f.id == "arch.override-wrong"]
    if not absent or any(f.id == "arch.override-wrong" for f in found):
        return list(found)
    return [f for f in found if f.id not in OVERRIDES] + [msgspec.structs.replace(f, severity="warning") for f in absent]


def on_torch_of_image(
    found: Sequence[Finding], environment: Environment, facts: Snapshot, target: Target, matrix: Matrix
) -> list[Finding]:
    """The findings, with the override of a service judged against the ROCm and torch of the image that it builds."""
    image = environment.built
    if image is None or not any(s.name == OVERRIDE for s in environment.variables):
        return list(found)
    there = snapshot_of(image, target, matrix)
    own = {name: fact for name, fact in facts.facts.items() if name.startswith("env.")}
    judged = override(enrich(msgspec.structs.replace(there, facts=there.facts | own), matrix), matrix)
    sure = [msgspec.structs.replace(f, severity="warning") if image.unread and LACKS in f.title else f for f in judged]
    return [f for f in found if f.id not in (*OVERRIDES, "arch.override-wrong")] + sure


def hidden_by(one: Finding, environment: Environment, target: Target, repository: Repository, matrix: Matrix) -> Setting | None:
    """The override with which every service runs an image that lacks code for the GPU: the GPU is taken for one that the torch has code for.

    Whatever the chip makes of that code, the override decides, and the missing code is what it hides.
    """
    if one.id not in ("arch.not-in-build", "arch.dropped-by-rocm") or environment.sort != "image":
        return None
    state = last_state(environment, matrix, target)
    code = code_of(state[2], matrix) if state else None
    runs = [e for e in repository.environments if e.sort == "service" and _is_built_as(e, environment)]
    sets = [next((s for s in reversed(e.variables) if s.name == OVERRIDE and not s.default), None) for e in runs]
    gpus = code.value if code and isinstance(code.value, tuple) else ()
    if not sets or not all(s and covers(gpus, target.gpu, s.value) for s in sets):
        return None
    return sets[0]


def _is_built_as(service: Environment, image: Environment) -> bool:
    """True if a service runs what an image's environment was read from."""
    return image.name.startswith(f"{service.name} by ") or bool(service.built and service.built.place.file == image.place.file)
