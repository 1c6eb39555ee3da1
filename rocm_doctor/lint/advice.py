"""What to change where the wrong torch comes in: in the syntax of what manages the environment, with torch's companions.

Where no whole change is known (a lock of Poetry, PDM or Pipenv), the reason is given and no command.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

import msgspec

from rocm_doctor import versions
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Environment, Requirement, Step, Target
from rocm_doctor.lint.environments.words import named
from rocm_doctor.lint.rules.findings import is_hashed
from rocm_doctor.lint.rules.indexes import Torch, admits, tagged, wanted
from rocm_doctor.lint.rules.other_python import PYTHONS, is_whole_freeze
from rocm_doctor.lint.rules.requires_torch import pinning
from rocm_doctor.lint.swapped import TRITONS
from rocm_doctor.matrix import Matrix

if TYPE_CHECKING:
    from rocm_doctor.lint.proposals import Proposal

Manager = Literal["requirements", "uv", "poetry", "pdm", "pipenv", "pixi", "conda", "image", "script", "package"]
_SYSTEMS = {"linux": "Linux", "windows": "Windows"}
_LOCKING = {"poetry": "Poetry", "pdm": "PDM", "pipenv": "Pipenv"}


def manager(environment: Environment, step: Step | None) -> Manager:
    """What decides which torch is installed: the tool whose file names it, or the image or script that installs it."""
    file = (step.place if step else environment.place).file.rsplit("/", 1)[-1].lower()
    locks: dict[str, Manager] = {
        "poetry.lock": "poetry",
        "pdm.lock": "pdm",
        "uv.lock": "uv",
        "pixi.toml": "pixi",
        "pipfile": "pipenv",
    }
    if file in locks:
        return locks[file]
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


ON_TORCH = "\0torch\0"
"""Where a rule's advice goes on with what to do about torch: that is checked once all of the environment was judged."""


def on_torch(environment: Environment, target: Target, matrix: Matrix, step: Step | None, last: Torch) -> str:
    """What a rule says of another torch: advice, or the place for it in an environment for AMD."""
    return ON_TORCH if environment.purpose.kind == "amd" else for_torch(environment, target, matrix, step, last)


def for_torch(
    environment: Environment,
    target: Target,
    matrix: Matrix,
    step: Step | None = None,
    last: Torch | None = None,
) -> str:
    """How to get a ROCm torch in an environment that ends up with another one, `last`, put there by `step`; not checked."""
    if argument := next((p.message.split()[0] for p in environment.unresolved if p.about == "argument"), ""):
        return f"Give the build argument {argument} its value for ROCm in the build of the service."
    from rocm_doctor.lint.proposals import proposal

    by = manager(environment, step)
    found = proposal(environment, target, matrix)
    if found is None:
        return f"No ROCm build of torch{_python_of(environment, target)} in the range that is asked for is known to serve {target.gpu}; {_later(environment, target, matrix)}."
    lead = leaving(environment, target, found)
    amd = environment.purpose.kind == "amd"
    said = _for_amd(by, environment, step, found, last, target) if amd else _beside(by, environment, step, found, target)
    pinned_by = pinning([r for one in environment.steps for r in one.requirements], matrix)
    said += "".join(
        f" Take {r.name} out of {r.place.words}: it requires torch=={torch}." for r, torch in pinned_by if torch != found.version
    )
    return lead + said


def _later(environment: Environment, target: Target, matrix: Matrix) -> str:
    """The first later Python that has a torch for the GPU in the range that is asked for, or who knows one."""
    from rocm_doctor.lint.proposals import proposal

    own = _python_of(environment, target).rpartition(" ")[2]
    for python in reversed(PYTHONS) if own else ():
        if versions.contains(f">{own}", python) and (found := proposal(environment, target, matrix, python=python)):
            bound = [r.place.words for step in environment.steps for r in step.requirements if _is_bound(r, own, python, target)]
            beside = (
                f"; the wheels on {', '.join(bound)} are for Python {own} alone, and have to go or to be others" if bound else ""
            )
            return f"Python {python} has one, {found.lines[0]} of {found.index}{beside}"
    if beyond := proposal(environment, target, matrix, outside=True):
        return f"outside of that range {beyond.lines[0]} of {beyond.index} does"
    return "`rocm-doctor plan` says what would"


def _is_bound(r: Requirement, own: str, other: str, target: Target) -> bool:
    """True for a wheel by its address that is for one Python and not for another."""
    had, has = (tagged(r.url, msgspec.structs.replace(target, python=python)) for python in (own, other))
    return bool(r.url) and had and not has


def leaving(environment: Environment, target: Target, found: Proposal) -> str:
    """That the proposal leaves the pinned version, where no build of that serves the GPU."""
    if not found.leaves:
        return ""
    pin = f"torch {found.leaves}{_python_of(environment, target)}"
    return f"No ROCm build of {pin} is known to serve {target.gpu}; {found.version} is the nearest, which the pin leaves out. "


def _python_of(environment: Environment, target: Target) -> str:
    python = environment.python.value if environment.python and environment.python.value[:1].isdigit() else target.python
    return f" for Python {'.'.join(python.split('.')[:2])}" if python else ""


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
    by: Manager, environment: Environment, step: Step | None, found: Proposal, last: Torch | None, target: Target
) -> str:
    """What to change in an environment for AMD where no line of it can be written over."""
    asked = _listed(found)
    if by == "uv":
        return _bound(environment, step, found)
    if by in _LOCKING:
        return _locked(by, found)
    if by == "conda" and last is not None and not any(r.url.startswith("conda:") for r in (wanted(step, target) if step else ())):
        return f"Write in the pip section, on {last.place.words}: --extra-index-url {found.index}, {asked}."
    if by in ("conda", "pixi"):
        where = "pip section" if by == "conda" else "pypi-dependencies"
        return f"Take torch out of the conda packages; to the {where} belong --extra-index-url {found.index} and {asked}."
    if by == "requirements" and last is not None:
        return _in_list(last, found, is_whole_freeze(last.place.file, environment))
    install = f"{_installer(step)} {found.arguments} --index-url {found.index}"
    if by == "package":
        return f"Say in the documentation to install torch first: {install}."
    return f"Install torch from a ROCm index{_before(environment, step)}: {install}."


def _in_list(last: Torch, found: Proposal, whole: bool) -> str:
    """What to write in a list that a tool has written, or whose line is that of a package that requires one torch."""
    lines = f"--extra-index-url {found.index}, {_listed(found)}"
    if is_hashed(last.place):
        return f"What {last.place.file} is compiled from has to ask for {_listed(found)} of {found.index}. Then compile it again with its hashes: beside them pip takes no line without."
    if whole:
        return f"It needs {_listed(found)} of {found.index}. Its pins belong together: make the list again with these."
    if "requires one exact torch" in last.why:  # beside another one pip finds no solution
        return (
            f"Take {last.why.split()[0]} out of {last.place.words}, and add there: {lines}. Install the package with --no-deps afterwards,"
            " and what else it requires from a list without torch, torchvision and torchaudio."
        )
    return f"Add above {last.place.words}: {lines}."


def keeping(environment: Environment, step: Step, kept: Torch, last: Torch, target: Target) -> tuple[Environment | None, str]:
    """How the ROCm torch of an earlier step stays, with the environment that this makes: torch out of what is installed later, or held by a
    constraint. None where the later range leaves it out, or where that environment is not known.
    """
    there = f"Keep the torch of {kept.place.words}"
    asked = wanted(step, target)
    spec = ",".join(dict.fromkeys(r.spec for r in asked if r.spec))
    if asked and not (kept.version and spec and not admits(spec, kept.version)):
        left = tuple(r for r in step.requirements if r not in asked)
        words = f"{there}: leave torch out of {last.place.words}, or pin it with a constraints file (-c)."
        return _with(environment, step, msgspec.structs.replace(step, requirements=left)), words
    if not asked and "requires one exact torch (==" in last.why:  # with a constraint pip finds no solution
        words = f"{there}: install {last.why.split()[0]} with --no-deps on a line of its own, and what else it requires from a list without torch, torchvision and torchaudio."
        left = tuple(r for r in step.requirements if r.place != last.place)
        return _with(environment, step, msgspec.structs.replace(step, requirements=left)), words
    if not asked and kept.version:
        held = (*step.constraints, Requirement("torch", f"=={kept.version}", step.place))
        words = f"{there}: install {last.place.words} with a constraints file (-c) that pins torch to it."
        return _with(environment, step, msgspec.structs.replace(step, constraints=held)), words
    return None, ""


def _with(environment: Environment, old: Step, new: Step) -> Environment:
    return msgspec.structs.replace(environment, steps=tuple(new if step is old else step for step in environment.steps))


def _installer(step: Step | None) -> str:
    """The command that installs into the environment of a step: one that uv made has no pip."""
    if step is None or step.tool != "uv" or not re.search(r"\buv\b.*\bpip\b", step.place.quote):
        return "pip install"
    return f"uv pip install{' --system' if '--system' in step.place.quote else ''}"


def _before(environment: Environment, step: Step | None) -> str:
    if step is None:
        return ""
    if step.place.file != environment.place.file:
        return f" before {step.place.file} is installed"
    # A command may be in the middle of a RUN.
    return f"{', in a RUN of its own,' if environment.sort == 'image' else ''} before the command on {step.place.words}"


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


def _sources(found: Proposal, extra: str, marker: str = "", kind: str = "extra") -> str:
    """The tables of uv that bind torch, its companions and its triton to the index, for an extra or a group."""
    name = f"pytorch-rocm{found.rocm.replace('.', '')}"
    only = (f', {kind} = "{extra}"' if extra else "") + (f', marker = "{marker}"' if marker else "")
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


def _bound(environment: Environment, step: Step | None, found: Proposal) -> str:
    """The tables of uv that bind the torch of an extra for AMD, or of a project that is for AMD as a whole. A lock is made again of them."""
    own = environment.labels[0] if environment.sort == "project" and environment.labels else ""
    kind, extra = ("group" if environment.name.endswith(f" group {own}") else "extra", own) if own else _asked(environment)
    # uv refuses a source without a marker beside those that have one, and looks for a triton without one on the package index for other systems.
    marked = any("platform" in i.marker for step in environment.steps for i in step.indexes if not i.only or "torch" in i.only)
    linux = "sys_platform == 'linux'"
    needs = ", ".join(f'"{one}; {linux}"' if marked and one == found.triton else one for one in _extra(found))
    sources = _sources(found, extra, linux if marked else "", kind)
    kept = f" The entries that these sources have for another {kind} stay." if extra else ""
    among = f"the dependencies{f' of the {kind} {extra}' if extra else ''}"
    other = _other_triton(environment, found)
    return f"Bind torch to a ROCm index{_project_of(step)}: name {needs} among {among}; {sources}.{kept}{other} Then lock again."


def _other_triton(environment: Environment, found: Proposal) -> str:
    """That the Triton of another torch goes, where it has another name: both write the same folder."""
    own = re.split(r"[=\[]", found.triton)[0]
    asked = {r.name for step in environment.steps for r in step.requirements}
    other = next((name for name in TRITONS if name in asked and "rocm" in name and own and name != own), "")
    return (
        f" Take {other} out of the dependencies and the sources if it is named there: this torch brings {own}." if other else ""
    )


_PART = regex(r"\buv (?:sync|run)\b.* --(extra|group)[ =]([\w.-]+)")


def _asked(environment: Environment) -> tuple[str, str]:
    """The extra or the group for AMD that a command of uv names, with which of both it is; its name is empty where it names none."""
    found = (m for step in environment.steps if (m := _PART.search(step.place.quote)))
    return next(((m[1], m[2]) for m in found if named(m[2])[0] == "amd"), ("extra", ""))


def _project_of(step: Step | None) -> str:
    """The project file that a lock is made of."""
    folder, _, file = step.place.file.rpartition("/") if step else ("", "", "")
    return f" in {folder + '/' if folder else ''}pyproject.toml" if file.endswith(".lock") else ""


def _locked(by: Manager, found: Proposal) -> str:
    return f"{_LOCKING[by]} gives everyone the torch of its one lock. An environment for ROCm needs torch from {found.index}: {_listed(found)}."
