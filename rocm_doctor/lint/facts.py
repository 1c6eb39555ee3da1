"""The machine that an environment makes of a target, as facts with the files and lines that declare them."""

from __future__ import annotations

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.facts.enrich import enrich
from rocm_doctor.lint import catalog
from rocm_doctor.lint.model import Environment, LintTarget
from rocm_doctor.lint.torch import Torch
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Fact, Gpu, Snapshot, Unknown

_NUMBER = regex(r"\d+\.\d+(?:\.\d+)?")


def make_snapshot(environment: Environment | None, torch: object, target: LintTarget, matrix: Matrix) -> Snapshot:
    """The facts that the literal text of an environment gives; what it does not say is unknown. Without one: the target alone."""
    reading = target.reading()
    target_facts = {"rocm.version": target.rocm, "driver.version": target.driver, "python.version": target.python}
    facts = {name: Fact(value, (reading,)) for name, value in target_facts.items() if value}
    platform = "linux" if target.os == "wsl" else target.os
    facts |= {"platform": Fact(platform, (reading,)), "wsl": Fact(target.os == "wsl", (reading,))}
    if environment is None:
        facts["declared"] = Fact(True, (reading,))
    else:
        if environment.image:
            image = catalog.image_facts(environment.image.name, matrix)
            at = (environment.image.place.reading(),)
            facts |= {f"{n}.version": Fact(v, at) for n, v in (("rocm", image.rocm), ("python", image.python)) if v}
        stated_rocm = next((v for v in environment.variables if v.name == "ROCM_VERSION" and _NUMBER.fullmatch(v.value)), None)
        if stated_rocm and "rocm.version" not in facts:
            facts["rocm.version"] = Fact(stated_rocm.value, (stated_rocm.place.reading(),))
        for r in environment.requirements:
            if r.name != "torch" and catalog.applies(r.marker, target):
                version = "" if "+" in r.specifier or r.url else catalog.pinned_version(r.specifier)
                facts[f"pkg.{r.name}"] = Fact(version or Unknown("not-declared"), (r.place.reading(),))
        facts |= {f"env.{v.name}": Fact(v.value, (v.place.reading(),)) for v in environment.variables if v.name.isupper()}
        if torch is None or (isinstance(torch, Torch) and torch.vendor != "rocm"):
            # What it is to be on an AMD GPU: a rule of its own says that this torch is not a build for ROCm.
            facts["torch.build"] = Fact("rocm", (reading,))
    if isinstance(torch, Torch):
        facts |= _torch_facts(torch)
    return enrich(Snapshot(facts, (Gpu({"gfx": Fact(target.gpu, (reading,))}),), True), matrix)


def _torch_facts(torch: Torch) -> dict[str, Fact]:
    """The torch that the environment ends up with, where it is a build for ROCm."""
    if torch.vendor != "rocm":
        return {}
    at = (torch.place.reading(),)
    facts = {"torch.build": Fact("rocm", at)}
    if torch.local:
        facts["torch.version"] = Fact(torch.local, at)
    if torch.rocm:
        facts["torch.rocm"] = Fact(torch.rocm, at)
    if torch.local and torch.gpus and all(g.startswith("gfx") and g[-1] not in "xX" and len(g) > 5 for g in torch.gpus):
        facts["torch.device_dists"] = Fact(torch.gpus, at)
    return facts
