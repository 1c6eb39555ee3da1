"""What to change where the wrong torch comes in: in the syntax of what manages the environment, with torch's companions.

Where no whole change is known (a lock of Poetry, PDM or Pipenv), the reason is given and no command.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from rocm_doctor.lint.declared import Environment, Step, Target
from rocm_doctor.lint.rules.findings import is_hashed
from rocm_doctor.lint.rules.indexes import Torch, admits, wanted
from rocm_doctor.lint.rules.requires_torch import pinning
from rocm_doctor.matrix import Matrix

if TYPE_CHECKING:
    from rocm_doctor.lint.proposals import Proposal

Manager = Literal["requirements", "uv", "poetry", "pdm", "pipenv", "pixi", "conda", "image", "script", "package"]
_SYSTEMS = {"linux": "Linux", "windows": "Windows"}
_LOCKING = {"poetry": "Poetry", "pdm": "PDM", "pipenv": "Pipenv"}


def manager(environment: Environment, step: Step | None) -> Manager:
    """What decides which torch is installed: the tool whose file names it, or the image or script that installs it."""
    file = (step.place if step else environment.place).file.rsplit("/", 1)[-1].lower()
    named: dict[str, Manager] = {
        "poetry.lock": "poetry",
        "pdm.lock": "pdm",
        "uv.lock": "uv",
        "pixi.toml": "pixi",
        "pipfile": "pipenv",
    }
    if file in named:
        return named[file]
    if step and (step.tool == "poetry" or step.tool == "pdm"):
        return "poetry" if step.tool == "poetry" else "pdm"
    if environment.sort == "conda" or (step and step.tool == "conda"):
        return "conda"
    if file == "pyproject.toml" and step and step.tool == "uv":
        return "uv"
    if environment.sort in ("image", "service"):
        return "image"
    if environment.sort in ("script", "job"):
        return "script"
    listed = environment.sort == "requirements" and file.endswith((".txt", ".in"))
    return "requirements" if listed else "package"


def for_torch(
    environment: Environment,
    target: Target,
    matrix: Matrix,
    step: Step | None = None,
    last: Torch | None = None,
    before: Torch | None = None,
) -> str:
    """How to get a ROCm torch in an environment that ends up with another one, `last`, put there by `step` in place of `before`."""
    if argument := next((p.message.split()[0] for p in environment.unresolved if p.about == "argument"), ""):
        return f"Give the build argument {argument} its value for ROCm in the build of the service."
    from rocm_doctor.lint.proposals import proposal

    by = manager(environment, step)
    found = proposal(environment, target, matrix, in_file=by not in ("package", "script"))
    python = environment.python.value if environment.python and environment.python.value[:1].isdigit() else target.python
    for_python = f" for Python {'.'.join(python.split('.')[:2])}" if python else ""
    if found is None:
        return f"No ROCm build of torch{for_python} in the range that is asked for serves {target.gpu}; `rocm-doctor plan` says what would."
    kept = before if before is not None and before.build == "rocm" else None
    amd = environment.purpose.kind == "amd"
    said = _for_amd(by, environment, step, found, last, kept, target) if amd else _beside(by, environment, step, found, target)
    said += _without_pins(environment, step, last, found) if amd and kept is None else ""
    pinned_by = pinning([r for one in environment.steps for r in one.requirements], matrix) if kept is None else []
    said += "".join(
        f" Take {r.name} out of {r.place.words}: it requires torch=={torch}." for r, torch in pinned_by if torch != found.version
    )
    return (
        f"No ROCm build of torch {found.leaves}{for_python} serves {target.gpu}; {found.version} is the nearest, which the pin leaves out. {said}"
        if found.leaves
        else said
    )


def _beside(by: Manager, environment: Environment, step: Step | None, found: Proposal, target: Target) -> str:
    """What to add to a project that has nothing for AMD GPUs; what it has for others stays."""
    install = f"{_installer(step)} {found.arguments} --index-url {found.index}"
    if by == "uv":
        return _uv(environment, found)
    if by in _LOCKING:
        return _locked(by, found)
    if by == "pixi":
        return f'Add a feature for ROCm without conda\'s torch: in its pypi-options extra-index-urls = ["{found.index}"], in its pypi-dependencies {_listed(found)}.'
    if by == "conda":
        return f"Add an environment file for ROCm without conda's torch; to its pip section belong --extra-index-url {found.index} and {_listed(found)}."
    if by == "image":
        return f"Add a Dockerfile for ROCm that starts from a rocm/pytorch image, or that installs torch first: RUN {install}."
    if by == "requirements":
        return f"Add a list for ROCm that is installed before this one: --index-url {found.index}, {_listed(found)}."
    if by == "script" and environment.os not in ("", target.platform):
        return f"{environment.place.file} is for {_SYSTEMS.get(environment.os, environment.os)}. Add a script for {_SYSTEMS.get(target.platform, target.platform)} with: {install}."
    if by == "script":
        return f"Add a branch for AMD GPUs{_before(environment, step)}: {install}."
    alone = any(step.builds for step in environment.steps)
    return f"Say in the documentation to install torch first: {install}{', and then the project with --no-build-isolation' if alone else ''}."


def _for_amd(
    by: Manager,
    environment: Environment,
    step: Step | None,
    found: Proposal,
    last: Torch | None,
    kept: Torch | None,
    target: Target,
) -> str:
    """What to change in an environment for AMD. `kept`: the ROCm torch that it had before."""
    asked = _listed(found)
    install = f"{_installer(step)} {found.arguments} --index-url {found.index}"
    if kept is not None and step is not None and last is not None:
        return _not_replaced(step, last, kept, install, target)
    if by == "uv":
        return _bound(environment, found)
    if by in _LOCKING:
        return _locked(by, found)
    if by == "conda" and last is not None and not any(r.url.startswith("conda:") for r in (wanted(step, target) if step else ())):
        return f"Write in the pip section, on {last.place.words}: --extra-index-url {found.index}, {asked}."
    if by in ("conda", "pixi"):
        where = "pip section" if by == "conda" else "pypi-dependencies"
        return f"Take torch out of the conda packages; to the {where} belong --extra-index-url {found.index} and {asked}."
    if by == "requirements" and last is not None:
        return _in_list(last, any(r.place == last.place for r in (wanted(step, target) if step else ())), found)
    if by == "package":
        return f"Say in the documentation to install torch first: {install}."
    if last is not None and last.build in ("rocm", "none"):
        return f"Install another torch on {last.place.words}: {install}."
    if step is not None and (step.upgrade or step.anew or step.apart) and wanted(step, target):
        # It replaces a torch that was installed before. The rest of a command comes from its own index, torch by its pin.
        if step.apart or step.anew or any(r.name != "torch" for r in step.requirements):
            return (
                f"Ask for another torch in the command on {step.place.words}: {found.arguments} --extra-index-url {found.index}."
            )
        return f"Install torch on {step.place.words} from a ROCm index alone: {install}."
    return f"Install torch from a ROCm index{_before(environment, step)}: {install}."


def _in_list(last: Torch, named: bool, found: Proposal) -> str:
    """What to write in a list. `named`: its line asks for torch itself; the line of a package that requires one stays."""
    lines = f"--extra-index-url {found.index}, {_listed(found)}"
    if is_hashed(last.place):
        return f"Write in what {last.place.file} is compiled from: {lines}. Then compile it again with its hashes: beside them pip takes no line without."
    if named or " requires " not in last.why:
        return f"Write on {last.place.words}: {lines}."
    if "requires one exact torch" in last.why:  # beside another one pip finds no solution
        return (
            f"Take {last.why.split()[0]} out of {last.place.words}, and add there: {lines}. Install the package with --no-deps afterwards,"
            " and what else it requires from a list without torch."
        )
    return f"Add above {last.place.words}: {lines}."


_TRITONS = ("pytorch-triton-rocm", "triton-rocm", "triton")


def _without_pins(environment: Environment, step: Step | None, last: Torch | None, found: Proposal) -> str:
    """What is pinned beside torch and belongs to the torch that was there: each torch has companions, and requires a Triton, of its own."""
    triton = [r for r in (step.requirements if step else ()) if r.name in _TRITONS and r.spec.startswith("==")]
    left = [(r, "the torch brings its own") for r in triton if f"{r.name}{r.spec}" != found.triton]
    fits = {line.partition("=")[0].partition("[")[0]: line.rpartition("==")[2] for line in found.lines if "==" in line}
    for r in (r for one in environment.steps for r in one.requirements):
        named = r.name in ("torchvision", "torchaudio") and r.name in fits and not (last and r.place == last.place)
        if (
            named
            and not admits(r.spec, fits[r.name].partition("+")[0].removesuffix(".*"))
            and not r.place.file.endswith((".lock", ".toml"))
        ):
            left.append((r, f"{r.spec.lstrip('=')} belongs to another torch"))
    return "".join(f" Take {r.name} out of {r.place.words}: {why}." for r, why in dict.fromkeys(left))


def _not_replaced(step: Step, last: Torch, kept: Torch, install: str, target: Target) -> str:
    """How the ROCm torch of an earlier step stays: one that the later range admits, or out of what is installed later."""
    spec = ",".join(dict.fromkeys(r.spec for r in wanted(step, target) if r.spec))
    if kept.version and spec and not admits(spec, kept.version) and not re.search(r"\+(?:cu|cpu)", spec):
        where = (
            "an image with one that does, or install one first"
            if kept.why.startswith("the base image")
            else "one there that does"
        )
        return f"torch {kept.version} of {kept.place.words} does not satisfy {spec}. Take {where}: {install}."
    if not wanted(step, target):
        if "requires one exact torch (==" in last.why:  # with a constraint pip finds no solution
            return (
                f"Keep the torch of {kept.place.words}: install {last.why.split()[0]} with --no-deps on a line of its own, and what else it requires"
                " from a list without torch."
            )
        return f"Keep the torch of {kept.place.words}: install {last.place.words} with a constraints file (-c) that pins torch to it."
    return f"Keep the torch of {kept.place.words}: leave torch out of {last.place.words}, or pin it with a constraints file (-c)."


def _installer(step: Step | None) -> str:
    """The command that installs into the environment of a step: one that uv made has no pip."""
    if step is None or step.tool != "uv" or not re.search(r"\buv\b.*\bpip\b", step.place.quote):
        return "pip install"
    return f"uv pip install{' --system' if '--system' in step.place.quote else ''}"


def _before(environment: Environment, step: Step | None) -> str:
    if step is None:
        return ""
    return f" before {step.place.words if step.place.file == environment.place.file else step.place.file + ' is installed'}"


def _listed(found: Proposal) -> str:
    return ", ".join(found.lines)


def _public(line: str) -> str:
    """A requirement without its local part: the index that it is bound to holds no other build."""
    return line.partition("+")[0]


def _extra(found: Proposal) -> list[str]:
    """What an extra of uv has to name: an explicit index is asked only for what is named, and torch's triton is on it alone."""
    return [
        *map(_public, found.lines),
        *([found.triton] if not re.match(r"triton\b(?!-)", found.triton) and found.triton else []),
    ]


def _sources(found: Proposal, extra: str, marker: str = "") -> str:
    """The tables of uv that bind torch, its companions and its triton to the index."""
    name = f"pytorch-rocm{found.rocm.replace('.', '')}"
    only = (f', extra = "{extra}"' if extra else "") + (f', marker = "{marker}"' if marker else "")
    bound = ", ".join(f'{re.split(r"[^A-Za-z0-9-]", line)[0]} = [{{ index = "{name}"{only} }}]' for line in _extra(found))
    return f'[[tool.uv.index]] name = "{name}", url = "{found.index}", explicit = true; [tool.uv.sources] {bound}'


def _uv(environment: Environment, found: Proposal) -> str:
    """An extra for ROCm. It conflicts with one for the others: without that, uv gives its torch to everyone."""
    if found.triton == "" or "device" in found.lines[0]:
        return f"Add an extra for ROCm whose torch comes from {found.index}: {_listed(found)}. What that torch depends on is on this index as well."
    needs = ", ".join(f'"{line}"' for line in _extra(found))
    return (
        f"Add an extra for ROCm: [project.optional-dependencies] rocm = [{needs}]; {_sources(found, 'rocm')}. Name it in [tool.uv]"
        ' conflicts with each extra that has another torch: conflicts = [[{ extra = "cuda" }, { extra = "rocm" }]]. A torch that is a dependency'
        " of everyone belongs into such an extra. Then lock again."
    )


def _bound(environment: Environment, found: Proposal) -> str:
    """The tables of uv that bind the torch of an extra for AMD, or of a project that is for AMD as a whole."""
    if environment.sort != "project":
        return f"Install an extra or a group of the project that takes torch from a ROCm index, such as {found.index} ({_listed(found)})."
    extra = environment.labels[0] if environment.labels else ""
    needs = ", ".join(_extra(found))
    # uv refuses a source without a marker beside those that have one.
    marked = any("platform" in i.marker for step in environment.steps for i in step.indexes if not i.only or "torch" in i.only)
    sources = _sources(found, extra, "sys_platform == 'linux'" if marked else "")
    return f"Bind torch to a ROCm index: name {needs} among the dependencies{f' of the extra {extra}' if extra else ''}; {sources}. Then lock again."


def _locked(by: Manager, found: Proposal) -> str:
    return f"{_LOCKING[by]} gives everyone the torch of its one lock. An environment for ROCm needs torch from {found.index}: {_listed(found)}."
