"""The one sentence at the end: ready, problems, or undetermined, and what has been proven.

`ready` requires that everything training needs was read and nothing contradicts it: a GPU with a known target, a ROCm build of
torch known to hold its code, an accessible device, and no crashed probe. For a declared target it is about the environment alone:
a framework that is known to hold its code.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rocm_doctor.facts.speed import summary
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding, Gpu, Snapshot, Verdict
from rocm_doctor.rules.build import compiled_targets
from rocm_doctor.rules.checks import unjudged_parts
from rocm_doctor.rules.findings import loaded_target, training_gpus
from rocm_doctor.rules.frameworks import TORCH, amd_frameworks, frameworks_in_question
from rocm_doctor.smoke.summary import describe, lacks_machine


class Missing(NamedTuple):
    """Something that training needs and that was not read: in words, and the name of its fact (may be empty)."""

    words: str
    fact: str = ""


def verdict(
    snapshot: Snapshot, findings: Sequence[Finding], matrix: Matrix, *, pasted: bool = False
) -> tuple[Verdict, str, tuple[str, ...]]:
    """(verdict, sentence, the smoke stages that passed). `pasted`: judged from a pasted text."""
    proven = stages(snapshot, "passed")
    serious = [f for f in findings if f.severity != "note"]
    roots = [f for f in serious if f.leads] or serious
    if roots:
        more = f" (the first of {len(roots)} problems)" if len(roots) > 1 else ""
        guess = "" if roots[0].confidence != "low" else "most likely: "
        target = f"for {_declared_words(snapshot)}: " if snapshot.value("declared") is True else ""
        return "problems", f"{target}{guess}{roots[0].title}{more}", proven
    lacking = list(missing_facts(snapshot, matrix))
    if lacking:
        unknown = "" if lacks_machine(snapshot) else f"; not known: {'; '.join(one.words for one in lacking)}"
        return "undetermined", no_problem_words(snapshot, findings, pasted) + unknown + unjudged_words(snapshot), proven
    if snapshot.value("declared") is True:
        return (
            "ready",
            f"this environment has code for {_declared_words(snapshot)}: {_framework_words(snapshot)}{unjudged_words(snapshot)}",
            proven,
        )
    return "ready", f"ready to train on {_machine(_cards(snapshot))} with {_framework_words(snapshot)}", proven


def _framework_words(snapshot: Snapshot) -> str:
    """The installed frameworks for AMD GPUs with their versions, and in brackets those that are CPU or CUDA builds; empty without
    one for AMD GPUs."""
    words = ", ".join(framework.words(snapshot) for framework in amd_frameworks(snapshot))
    others = [
        f"{framework.words(snapshot)} is a {framework.build(snapshot).upper()} build"
        for framework in frameworks_in_question(snapshot)
        if framework.build(snapshot) in ("cpu", "cuda")
    ]
    return f"{words} ({', '.join(others)})" if words and others else words


def no_problem_words(snapshot: Snapshot, notes: Sequence[Finding], pasted: bool) -> str:
    """The sentence for a machine on which too little was read and nothing but notes was found: what its smoke test or its figures
    showed, else that no problem was found."""
    tested = describe(snapshot)
    if tested:
        return tested
    figures = summary(snapshot, next((note.title for note in notes if note.id.startswith("speed.")), ""))
    if figures:
        return figures
    return "no known failure recognised in this text" if pasted else "no problem found in what was read"


def stages(snapshot: Snapshot, value: str) -> tuple[str, ...]:
    """Smoke stages with that result: what ran, as opposed to what was read. Those of JAX are `jax.matmul`."""
    names = [name.removeprefix("smoke.") for name, f in snapshot.facts.items() if name.startswith("smoke.") and f.value == value]
    by_framework = [name.removeprefix("torch.") for name in names if "." in name]
    return tuple(by_framework or names)


def missing_facts(snapshot: Snapshot, matrix: Matrix) -> Iterator[Missing]:
    """What training needs and was not read, most important first."""
    yield from (
        Missing(f"{e.artifact} ({e.quote})") for e in snapshot.errors if e.origin == "probe" or e.artifact.startswith("smoke/")
    )
    if snapshot.value("declared") is True:
        yield from _environment(snapshot, matrix)
        return
    cards = _cards(snapshot)
    if not cards or not all(isinstance(g.value("gfx"), str) for g in cards):
        yield Missing("which GPU", "gpu.gfx")
    yield from _frameworks(snapshot, cards, matrix)
    yield from _access(snapshot)


def _environment(snapshot: Snapshot, matrix: Matrix) -> Iterator[Missing]:
    """What is not known of the environment that a declared target needs."""
    gfx = _declared_words(snapshot)
    if not amd_frameworks(snapshot):
        yield Missing("whether a framework here is built for AMD GPUs", f"{frameworks_in_question(snapshot)[0].key}.build")
    for framework in amd_frameworks(snapshot):
        if framework.has_code(snapshot, matrix, gfx) is not True:
            yield Missing(f"whether {framework.words(snapshot)} has code for {gfx}", f"code.{framework.library}")


def _declared_words(snapshot: Snapshot) -> str:
    return str(snapshot.gpus[0].value("gfx"))


def unjudged_words(snapshot: Snapshot) -> str:
    """The words that end a verdict on a text: which parts nobody could judge. Empty where all were."""
    parts = unjudged_parts(snapshot)
    return f"; not judged without the machine: {', '.join(parts)}" if parts else ""


def _frameworks(snapshot: Snapshot, cards: Sequence[Gpu], matrix: Matrix) -> Iterator[Missing]:
    """What is not known of the frameworks that the report is about: of one for AMD GPUs its code for each GPU, of torch also its
    version and build."""
    frameworks, built = frameworks_in_question(snapshot), amd_frameworks(snapshot)
    if built and TORCH not in built:
        lacking = (
            framework for framework in built if not all(framework.has_code(snapshot, matrix, loaded_target(g)) for g in cards)
        )
        yield from (
            Missing(f"whether {framework.words(snapshot)} has code for the GPU", f"smoke.{framework.key}.matmul")
            for framework in lacking
        )
    elif TORCH not in frameworks:
        yield Missing("which " + frameworks[0].name, f"{frameworks[0].key}.build")
    elif snapshot.value("torch.version") is None:
        place = snapshot.value("python.prefix")
        where = f"in {place}" if isinstance(place, str) else "in the examined environment"
        yield Missing(f"torch: not installed {where}")
    elif not snapshot.get("torch.version").known or snapshot.value("torch.build") != "rocm":
        yield Missing("which torch", "torch.version")
    elif not cards and compiled_targets(snapshot, matrix)[0] is None:
        yield Missing("for which GPUs this torch was built", "torch.arch_list")
    elif not all(TORCH.has_code(snapshot, matrix, loaded_target(g)) for g in cards):
        yield Missing("whether this torch has code for the GPU", "torch.arch_list")


def _access(snapshot: Snapshot) -> Iterator[Missing]:
    """The device node that was not proven accessible: /dev/kfd (opens) on Linux, /dev/dxg (exists) under WSL; nothing on Windows
    and macOS."""
    if snapshot.value("platform") in ("windows", "macos"):
        return
    name, node = ("dxg.exists", "/dev/dxg") if snapshot.value("wsl") is True else ("kfd.openable", "/dev/kfd")
    if snapshot.value(name) is not True:
        yield Missing(f"access to {node}", name)


def _cards(snapshot: Snapshot) -> list[Gpu]:
    """The GPUs to train on whose driver is amdgpu or unknown."""
    return [g for _, g in training_gpus(snapshot) if not g.get("driver").known or g.value("driver") == "amdgpu"]


def _machine(cards: Sequence[Gpu]) -> str:
    names = [_gpu_words(g) for g in cards]
    unique = list(dict.fromkeys(names))
    return f"{len(names)} × {unique[0]}" if len(names) > 1 and len(unique) == 1 else ", ".join(unique)


def _gpu_words(gpu: Gpu) -> str:
    name, gfx = gpu.value("marketing_name"), gpu.value("gfx")
    return f"{name} ({gfx})" if isinstance(name, str) and name else str(gfx)
