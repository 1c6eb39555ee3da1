"""What has to fit the torch that was chosen: torchvision, torchaudio, and the Python."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rocm_doctor import versions
from rocm_doctor.lint.advice import on_torch
from rocm_doctor.lint.declared import REQUIRES_PYTHON, Environment, Requirement, Step, Target
from rocm_doctor.lint.rules.addresses import of_pytorch
from rocm_doctor.lint.rules.findings import found, required
from rocm_doctor.lint.rules.indexes import Torch, admits, meant, of_local, pinned, said, sources
from rocm_doctor.lint.rules.torch_state import image_facts, last_state, of_image
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding
from rocm_doctor.rules.build import build_of

# readelf and an import beside torch 2.13.0+cpu, 2026-11-23: the wheel asks for no torch, and the import ends in OSError.
_OF_AUDIO = " That of torchaudio 2.11.0, the newest, needs libtorch_cuda.so, without which `import torchaudio` ends."


def companions(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """torchvision or torchaudio of another torch release, or from an index that torch does not come from."""
    other = {r: right for r, right, _ in mismatched(environment, target, matrix)}
    for step, r, torch, fits in _beside_torch(environment, target, matrix):
        yield from _companion(environment, target, matrix, step, r, torch, other.get(r, ""), fits)


def _beside_torch(environment: Environment, target: Target, matrix: Matrix) -> Iterator[tuple[Step, Requirement, Torch, str]]:
    """Each torchvision and torchaudio that is left beside a ROCm torch after all steps, with the version of it that the catalog names."""
    state = last_state(environment, matrix, target)
    if state is None or state[2].build != "rocm":
        return
    torch = state[2]
    build = build_of(matrix, torch.local) or next((b for b in matrix.torch if b.torch == torch.version), None)
    brought = ("torchvision", "torchaudio") if environment.image and of_image(environment.image) else ()
    there = dict.fromkeys(brought, "")  # the pinned versions; empty where it is not known
    asked = [r for step in environment.steps for r in step.requirements if meant(r, target)]
    pinned_here = {r.name for r in asked if "+rocm" in r.spec and r.place.file.endswith(".toml")}
    left: list[tuple[Step, Requirement, Torch, str]] = []
    for step in environment.steps:
        left = [one for one in left if one[1].name not in step.removed]
        there = {name: version for name, version in there.items() if name not in step.removed}
        for r in step.requirements:
            if r.name in ("torchvision", "torchaudio") and meant(r, target):
                right = getattr(build, r.name).split("+")[0] if build else ""
                version = there.get(r.name, "") or right
                held = not pinned(r.spec) or not version or admits(r.spec, version)
                if r.name in there and held and not step.upgrade and "+" not in r.spec:
                    continue
                there[r.name] = pinned(r.spec).split("+")[0]
                if r.name in pinned_here and "+" not in r.spec:
                    continue
                left = [
                    one for one in left if one[1].name != r.name or one[0] is step
                ]  # pip puts it in the place of an earlier one
                if not (r.url.endswith(".whl") and "://" in r.url):
                    left.append((step, r, torch, right))
    yield from left


def _companion(
    environment: Environment, target: Target, matrix: Matrix, step: Step, r: Requirement, torch: Torch, right: str, fits: str
) -> Iterator[Finding]:
    """`right`: the version that belongs to torch, where the required one does not; `fits`: the one that does in any case."""
    if right:
        yield found(
            matrix,
            "version.companion-mismatch",
            environment,
            target,
            [r.place, torch.place],
            row="",
            title=f"{r.name} {pinned(r.spec)} does not belong to torch {torch.version}; {right} does",
            advice=f"{required(f'{r.name}=={right}', r.place)} Take it from the index of torch{_index(torch)}.",
        )
        return
    origin = of_local(r.spec, r.url)
    asked, first = sources(step, r.name, target)
    build = origin[0] if origin else asked[0].build if first or len(asked) == 1 else "unknown"
    if build in ("cuda", "cpu"):
        yield found(
            matrix,
            "version.companion-mismatch",
            environment,
            target,
            [r.place, torch.place],
            title=f"{r.name} comes as {said(build)}, torch as a ROCm build",
            cause=f"{r.name} is not bound to the index of torch: its compiled operators do not load beside a ROCm torch.{_OF_AUDIO if r.name == 'torchaudio' and not r.spec else ''}",
            advice=_bound(step, r, torch, fits),
        )


def _bound(step: Step, r: Requirement, torch: Torch, fits: str) -> str:
    """How a companion comes from the index of torch."""
    if step.tool in ("uv", "poetry", "pdm", "lock") and step.place.file.endswith((".toml", ".lock")):
        return f"Bind {r.name} to the ROCm index as well."
    named = f"{r.name}=={fits}" if fits else r.name
    return f"Install {named} together with torch, from its index{_index(torch)}: torch is on {torch.place.words}."


def mismatched(environment: Environment, target: Target, matrix: Matrix) -> Iterator[tuple[Requirement, str, Torch]]:
    """The pinned torchvision and torchaudio of another release than torch: each with the version that belongs to it."""
    for _, r, torch, right in _beside_torch(environment, target, matrix):
        version = pinned(r.spec)
        same = versions.series(version) == versions.series(right) if version and right else True
        # AMD's own listings pair other patch releases than PyTorch's index does: only the series has to agree.
        if version and right and torch.version and version != right and not (same and not of_pytorch(torch.origin)):
            yield r, right, torch


def _index(torch: Torch) -> str:
    return f", {torch.origin.url}" if torch.origin else ""


def triton(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """uv and an explicit ROCm index: torch's own triton package is on that index only, and uv asks it for named packages only.

    Source: https://docs.astral.sh/uv/guides/integration/pytorch/ (the ROCm example names the triton package as well).
    """
    state = last_state(environment, matrix, target)
    if state is None or state[2].build != "rocm":
        return
    last, build = state[2], build_of(matrix, state[2].local)
    for step in environment.steps:
        torch = next((i for i in step.indexes if i.role == "bound" and "torch" in i.only), None)
        if step.tool != "uv" or torch is None or torch.url.startswith("torch-backend:"):
            continue  # a backend of uv takes the triton package from its index as well
        open_too = any(i.url == torch.url and i.role != "bound" for i in step.indexes)
        package = re.split(r"[=<>~ ]", build.triton)[0] if build else ""
        bound = any(package in i.only for i in step.indexes) and any(r.name == package for r in step.requirements)
        if package and package != "triton" and not open_too and not bound:
            yield found(
                matrix,
                "version.wheel-missing",
                environment,
                target,
                [last.place, torch.place],
                title=f"uv cannot find {package}, which torch {last.local} requires",
                confidence="medium",
                cause=f"The index is explicit: uv asks it only for packages that are named, and {package} is on no other index.",
                advice=f"Name {package} in dependencies and bind it in [tool.uv.sources] like torch, or drop `explicit`.",
                sources=("https://docs.astral.sh/uv/guides/integration/pytorch/",),
            )


_NUMPY_2 = ("https://github.com/pytorch/pytorch/issues/132179", "https://github.com/pytorch/pytorch/issues/107302")


def numpy(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """A range of numpy that takes its newest release, beside a torch that was built with NumPy 1. A pinned one is a row of the catalog."""
    state = last_state(environment, matrix, target)
    python = own_or_asked(environment, target)
    if state is None or state[2].build != "rocm" or not python or not versions.contains(">=3.9", python):
        return
    torch = state[2]
    if not torch.version or not versions.contains("<2.3", torch.version):
        return
    asked = [(step, r) for step in environment.steps for r in step.requirements if meant(r, target)]
    last = next((one for one in reversed(asked) if one[1].name == "numpy"), None)
    if last is None:
        yield from _brought(environment, target, matrix, asked, torch)
        return
    if pinned(last[1].spec) or not admits(last[1].spec, "2.0.2") or not admits(last[1].spec, "99"):
        return
    step, r = last
    kept = not step.upgrade and environment.image is not None
    if kept or any(map(_is_of_its_time, (*step.requirements, *step.constraints))):
        return  # the image has one, or a release of that time bounds it
    yield found(
        matrix,
        "version.package-mismatch",
        environment,
        target,
        [r.place, torch.place],
        row="",
        severity="warning",
        confidence="medium",
        title=f"numpy{r.spec} takes NumPy 2, and torch {torch.version} was built with NumPy 1",
        cause=_NOT_AVAILABLE,
        advice=required("numpy<2", r.place),
        commands=(),
        sources=_NUMPY_2,
    )


_NOT_AVAILABLE = 'torch before 2.3 cannot exchange arrays with NumPy 2 ("Numpy is not available").'


def _is_of_its_time(r: Requirement) -> bool:
    """True for a bounded release of a library, which may bound numpy."""
    return re.search(r"<|==|~=", r.spec) is not None and r.name not in ("torch", "torchvision", "torchaudio")


def _brought(
    environment: Environment, target: Target, matrix: Matrix, asked: Sequence[tuple[Step, Requirement]], torch: Torch
) -> Iterator[Finding]:
    """numpy that torchvision requires without a bound, where no list names it: pip takes the newest of the package index."""
    every = [r for step in environment.steps for r in (*step.requirements, *step.constraints)]
    unread = any(step.opaque or step.tool in ("conda", "lock") for step in environment.steps) or environment.unresolved
    brought = next(((step, r) for step, r in asked if r.name == "torchvision" and not step.no_deps), None)
    if brought is None or unread or any(map(_is_of_its_time, every)) or of_image(environment.image):
        return
    step, r = brought
    if any(source.public for source in sources(step, "numpy", target)[0]):
        yield found(
            matrix,
            "version.package-mismatch",
            environment,
            target,
            [r.place],
            row="",
            severity="warning",
            confidence="medium",
            title=f"torchvision takes NumPy 2, and torch {torch.version} was built with NumPy 1",
            cause=_NOT_AVAILABLE,
            advice=f"Add numpy<2 to {r.place.words}.",
            commands=(),
            sources=_NUMPY_2,
        )


def outside(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """The target's Python outside of what the project allows: pip refuses to install it."""
    allowed = environment.python
    if allowed is None or allowed.name != REQUIRES_PYTHON or environment.sort != "project" or not target.python:
        return
    if not admits(allowed.value, target.python):
        yield found(
            matrix,
            "version.python-unsupported",
            environment,
            target,
            [allowed.place],
            severity="warning",
            row="",
            title=f"the project requires Python {allowed.value}, the target has {target.python}",
            cause="An installer refuses a project whose requires-python leaves the interpreter out.",
            advice=f"Use a Python in {allowed.value}, or widen requires-python.",
            sources=("https://packaging.python.org/en/latest/specifications/core-metadata/#requires-python",),
        )


def pythons(environment: Environment, target: Target, matrix: Matrix) -> Iterator[Finding]:
    """The Python of the environment (or of the target) for which the chosen torch build has no wheel."""
    state = last_state(environment, matrix, target)
    python = _own_python(environment)
    given = (python or target.python).split(".")[:2]
    if state is None or state[0] is None or len(given) != 2:
        return
    build = build_of(matrix, state[2].local)
    # Of a listing of which single files were seen, the other Pythons are not known.
    if build and build.pythons and build.evidence != "observed" and f"cp{''.join(given)}" not in build.pythons:
        places = [state[2].place, *([environment.python.place] if environment.python and python else [])]
        yield found(
            matrix,
            "version.python-unsupported",
            environment,
            target,
            places,
            title=f"torch {build.local} has no wheel for Python {'.'.join(given)}",
            cause=f"Its wheels are for {', '.join(build.pythons)}.",
            advice=f"Make the environment with {_interpreters(build.pythons)}, or take another torch. {on_torch(environment, target, matrix, state[0], state[2])}",
            sources=build.sources,
        )


def _interpreters(tags: Sequence[str]) -> str:
    """CPython's tags (`cp310`) as a choice of Pythons."""
    named = [f"{tag[2]}.{tag[3:]}" for tag in tags if re.fullmatch(r"cp3\d+", tag)]
    return f"Python {' or '.join(filter(None, (', '.join(named[:-1]), named[-1])))}" if named else "another Python"


def _own_python(environment: Environment) -> str:
    """The Python that an environment declares, or that its image is named for; empty where neither does."""
    if environment.python and environment.python.value[:1].isdigit():
        return environment.python.value
    return image_facts(environment.image.value).get("python", "") if environment.image else ""


def own_or_asked(environment: Environment, target: Target) -> str:
    """The Python of an environment: its own, else that of the target. An image has one of its own, known or not."""
    own = _own_python(environment)
    return own if own or environment.image else target.python
