"""The machine that a environment of a repository makes of a target: facts with the files and lines that declare them."""

from __future__ import annotations

from collections.abc import Sequence

from rocm_doctor.facts.enrich import enrich
from rocm_doctor.lint.declared import Environment, Requirement, Target
from rocm_doctor.lint.rules.built_for import targets_of_index
from rocm_doctor.lint.rules.companions import own_or_asked
from rocm_doctor.lint.rules.findings import field_reading, target_reading
from rocm_doctor.lint.rules.indexes import Torch, is_rebuild, meant, pinned, said
from rocm_doctor.lint.rules.newest import newest_version
from rocm_doctor.lint.rules.torch_state import image_facts, last_state, system_rocm
from rocm_doctor.lint.wheels import WITH_CODE
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Fact, Gpu, Reading, Snapshot, Unknown
from rocm_doctor.probes.read.result import merged
from rocm_doctor.rules.build import build_of


def snapshot_of(environment: Environment, target: Target, matrix: Matrix) -> Snapshot:
    """The machine that an environment makes of a target, as facts with their files and lines; what is not declared is unknown."""
    reading = tuple(target_reading(target))
    given = {"platform": ("os", target.os), "rocm.version": ("rocm", target.rocm), "driver.version": ("driver", target.driver),
             "python.version": ("python", target.python)}  # fmt: skip
    facts = {key: Fact(value, (field_reading(target, name, value),)) for key, (name, value) in given.items() if value}
    facts["platform"] = Fact(target.platform, facts["platform"].readings)
    facts["wsl"] = Fact(target.os == "wsl", facts["platform"].readings)
    if environment.image:
        brought = image_facts(environment.image.value)
        at = (environment.image.place.reading(),)
        facts |= {f"{n}.version": Fact(brought[n], at) for n in ("rocm", "python") if n in brought}
    if (system := system_rocm(environment)) and not target.rocm:
        facts["rocm.version"] = Fact(system.value, (system.place.reading(),))
    for step in environment.steps:
        facts |= {
            f"pkg.{r.name}": _version_of(r, own_or_asked(environment, target), matrix)
            for r in step.requirements
            if r.name != "torch" and meant(r, target)
        }
    facts |= {f"env.{s.name}": Fact(s.value, (s.place.reading(),)) for s in environment.variables if "$" not in s.value}
    state = last_state(environment, matrix, target)
    facts |= _torch_facts(state[2], matrix) if state else {}
    return Snapshot(facts, (Gpu({"gfx": Fact(target.gpu, reading)}),) if target.gpu else (), bool(target.gpu))


def _version_of(r: Requirement, python: str, matrix: Matrix) -> Fact:
    version = "" if is_rebuild(r) else pinned(r.spec) or (newest_version(r, python, matrix) if r.name in WITH_CODE else "")
    if r.name in ("torchvision", "torchaudio"):
        # Without a local version a file does not say which build it takes: that is judged by its index.
        version = f"{version}+{r.spec.partition('+')[2]}" if version and "+" in r.spec else ""
    return Fact(version or Unknown("not-declared", f"pin {r.name}"), (r.place.reading(),))


def _torch_facts(torch: Torch, matrix: Matrix) -> dict[str, Fact]:
    """The torch that the environment ends up with, where it is decided."""
    if torch.build not in ("rocm", "cuda", "cpu") or (torch.build == "cpu" and torch.explicit):
        return {}
    reading = Reading(*torch.place.at, torch.place.quote or f"torch as {said(torch.build)}: {torch.why}")
    facts = {"torch.build": Fact(torch.build, (reading,))}
    if torch.version:
        facts["torch.version"] = Fact(torch.local, (reading,))
    if torch.build == "rocm" and torch.rocm:
        facts["torch.rocm"] = Fact(torch.rocm, (reading,))
    if torch.origin and (held := targets_of_index(torch.origin.url, matrix)):
        facts["torch.device_dists"] = Fact(held, (torch.origin.place.reading(),))
    build = build_of(matrix, torch.local)
    if build:
        facts["torch.family"] = Fact(build.family, (reading,))
    return facts


def code_of(torch: Torch, matrix: Matrix) -> Fact | None:
    """The GPUs that a torch has code for, by its index or the catalog; None if neither says."""
    if torch.origin and (held := targets_of_index(torch.origin.url, matrix)):
        return Fact(held, (torch.origin.place.reading(),))
    build = build_of(matrix, torch.local)
    return Fact(build.gfx, (torch.place.reading(),)) if build and build.gfx else None


def joined(snapshots: Sequence[Snapshot], targets: Sequence[Target], matrix: Matrix) -> Snapshot:
    """All environments in one snapshot, for reports: the first value of each fact, with the others as disputed."""
    facts: dict[str, Fact] = {}
    for one in snapshots:
        for key, fact in one.facts.items():
            facts[key] = merged(facts.get(key), fact)
    gpus = tuple(Gpu({"gfx": Fact(t.gpu, tuple(target_reading(t)))}) for t in targets if t.gpu)
    return enrich(Snapshot(facts, gpus, bool(gpus)), matrix)
