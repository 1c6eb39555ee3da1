"""An environment as it would be with the torch of a proposal, and what has to be written in its files for that.

Each place that asks for another torch, torchvision or torchaudio is changed: lines of lists, words of commands, constraints and overrides,
and the address of the index beside them. A list that is not for AMD by its name serves others as well: its ranges stay where they admit the proposal.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.changes import Change, Unwritable, is_command, words_of
from rocm_doctor.lint.declared import Environment, Index, Place, Requirement, Step, Target
from rocm_doctor.lint.environments.words import named
from rocm_doctor.lint.proposals import Proposal
from rocm_doctor.lint.rules.addresses import source_of
from rocm_doctor.lint.rules.findings import is_hashed
from rocm_doctor.lint.rules.indexes import FAMILY, admits, meant, pinned
from rocm_doctor.lint.rules.requires_torch import pinning
from rocm_doctor.lint.rules.torch_state import Change as State
from rocm_doctor.lint.rules.torch_state import of_image
from rocm_doctor.matrix import Matrix

TRITONS = ("pytorch-triton-rocm", "triton-rocm", "triton")
_OPTION = regex(
    r"(?P<option>--index-url|--extra-index-url|--default-index|--find-links|--index|-i|-f)(?P<mark>[\s=]+)(?P<quote>[\"']?)(?P<url>[^\s\"']+)(?P=quote)"
)


class Swap(NamedTuple):
    """The environment with another torch, and what makes it so."""

    environment: Environment
    changes: tuple[Change, ...]


def swapped(environment: Environment, target: Target, matrix: Matrix, found: Proposal, state: State) -> Swap | None:
    """The environment with the proposal's torch at each place that asks for another one; None where a place cannot be written."""
    decisive, _, last = state
    swap = _Swapper(environment, target, matrix, found)
    try:
        steps = tuple(swap.step(step, decides=step is decisive, by=last.place) for step in environment.steps)
    except Unwritable:
        return None
    changes = tuple(dict.fromkeys(swap.changes))
    return Swap(msgspec.structs.replace(environment, steps=steps), changes) if changes else None


def over_image(environment: Environment, found: Proposal) -> Environment:
    """The environment with the proposal installed over the torch that its image brings."""
    place = environment.image.place if environment.image else environment.place
    asked = tuple(_requirement(line, place) for line in found.lines)
    step = Step("pip", place, asked, indexes=(Index(found.index, "default", place),))
    return msgspec.structs.replace(environment, steps=(step, *environment.steps))


class _Swapper:
    """Steps with another torch; what is written for that is collected in `changes`."""

    def __init__(self, environment: Environment, target: Target, matrix: Matrix, found: Proposal) -> None:
        self.environment = environment
        self.target = target
        self.matrix = matrix
        self.found = found
        self.lines = found.by_name
        self.asked = {r.name for step in environment.steps for r in (*step.requirements, *step.constraints)}
        self.asked |= set(FAMILY) if of_image(environment.image) else set()
        self.changes: list[Change] = []

    def step(self, step: Step, *, decides: bool, by: Place) -> Step:
        """A step that asks for the proposal. `decides`: the torch that counts comes with it, by the line `by`."""
        family = [r for r in step.requirements if r.name in FAMILY and meant(r, self.target)]
        limits = [r for r in step.constraints if r.name in FAMILY and meant(r, self.target)]
        wrong = [r for r in family if not self._fits(r) or (decides and not self._is_shared(r, step))]
        wrong_limits = [r for r in limits if not self._fits(r)]
        if not (wrong or wrong_limits or decides):
            return step
        if step.tool in ("conda", "lock", "poetry", "pdm", "system") or any(is_hashed(r.place) for r in (*wrong, *wrong_limits)):
            raise Unwritable
        new = {r: self._written(r, step) for r in (*wrong, *wrong_limits)}
        # Where only a shared list or another package asks for torch, the command or the list that is for AMD names it.
        mine = any(not self._is_shared(r, step) for r in (*wrong, *wrong_limits))
        added = self._added(step, by, wrong) if decides and not mine else self._companions(step, family) if decides else []
        gone = {r: "the torch brings its own" for r in step.requirements if self._is_other_triton(r)}
        pins = pinning([r for r in step.requirements if meant(r, self.target)], self.matrix)
        gone |= {r: f"it requires torch=={torch}" for r, torch in pins if torch != self.found.version and r.name not in FAMILY}
        self.changes += [Change(r.place, words_of(r), "", why) for r, why in gone.items()]
        at = next((r.place for r in (*wrong, *wrong_limits) if not self._is_shared(r, step)), added[0].place if added else by)
        indexes = self._indexes(step, at) if mine or added else step.indexes
        kept = [new.get(r, r) for r in step.requirements if r not in gone]
        limited = tuple(new.get(r, r) for r in step.constraints)
        return msgspec.structs.replace(step, requirements=(*kept, *added), constraints=limited, indexes=indexes)

    def _fits(self, r: Requirement) -> bool:
        """True if a requirement admits what the proposal has for it."""
        line = self.lines.get(r.name)
        if r.url or line is None:
            return False
        version = line.rpartition("==")[2]
        return r.spec.strip(" =") == version if "+" in r.spec else admits(r.spec, version.partition("+")[0].removesuffix(".*"))

    def _is_shared(self, r: Requirement, step: Step) -> bool:
        """True for a line of a list that a command for AMD installs, and that others take as well: it is for no one in particular by its name, or
        installed over the torch of an image.
        """
        file = r.place.file
        if file in self.environment.shared and file != self.environment.place.file:
            return True
        apart = file != self.environment.place.file and (file != step.place.file or file.endswith(".toml"))
        return apart and file.endswith((".txt", ".in", ".toml")) and not any(named(part)[0] == "amd" for part in file.split("/"))

    def _written(self, r: Requirement, step: Step) -> Requirement:
        line = self.lines.get(r.name)
        if line is None:
            raise Unwritable
        bound = any(i.role == "bound" and r.name in i.only for i in step.indexes)
        if self._is_shared(r, step) or (bound and "+" not in r.spec and r.place.file.endswith(".toml")):
            line = line.partition("+")[0]  # the index that it comes from has one build of it
        if not _is_writable(r.place, self.environment):
            raise Unwritable
        self.changes.append(Change(r.place, words_of(r), line))
        return msgspec.structs.replace(_requirement(line, r.place), marker=r.marker)

    def _added(self, step: Step, by: Place, wrong: Sequence[Requirement]) -> list[Requirement]:
        """torch and what goes with it, as further words of a command or lines of a list that has them not."""
        place = step.place if is_command(step.place) else by if step.place.file == by.file and not wrong else None
        if place is None or place.file.endswith(".toml") or is_hashed(place) or not _is_writable(place, self.environment):
            raise Unwritable
        names = [line for name, line in self.lines.items() if name == "torch" or name in self.asked]
        self.changes += [Change(place, "", line) for line in names]
        return [_requirement(line, place) for line in names]

    def _companions(self, step: Step, family: Sequence[Requirement]) -> list[Requirement]:
        """torchvision and torchaudio that only a later step asks for: they come with torch, from its index."""
        there = {r.name for r in (*family, *step.constraints)}
        lacking = [line for name, line in self.lines.items() if name != "torch" and name in self.asked - there]
        place = next((r.place for r in family if not self._is_shared(r, step)), step.place)
        if not lacking or place.file.endswith(".toml"):
            return []
        self.changes += [Change(place, "", line) for line in lacking]
        return [_requirement(line, place) for line in lacking]

    def _is_other_triton(self, r: Requirement) -> bool:
        """True for a pinned Triton of another torch: each requires one of its own."""
        return r.name in TRITONS and bool(pinned(r.spec) or "+" in r.spec) and f"{r.name}{r.spec}" != self.found.triton

    def _indexes(self, step: Step, at: Place) -> tuple[Index, ...]:
        """The indexes of a step with that of the proposal; other packages of the step still come from elsewhere."""
        url = self.found.index
        if any(i.url.rstrip("/") == url.rstrip("/") and i.role != "find-links" for i in step.indexes):
            return step.indexes
        # Nothing but torch is on its index; a version with a local part is nowhere else.
        others = any(r.name not in (*FAMILY, *TRITONS) for r in step.requirements)
        public = any(source_of(i, self.target.platform).public for i in step.indexes)
        theirs = [i for i in step.indexes if _is_of_torch(i, self.target)]
        if not theirs:
            option = "--extra-index-url" if others or at.file != step.place.file or not is_command(at) else "--index-url"
            if at.file.endswith(".toml"):
                raise Unwritable
            if later := next((i for i in step.indexes if replaces(i, at)), None):
                if not source_of(later, self.target.platform).public:
                    raise Unwritable
                self.changes.append(self._address(later, "extra"))
                return tuple(Index(url, "extra", at) if i is later else i for i in step.indexes)
            self.changes.append(Change(at, "", f"{option} {url}"))
            return (*step.indexes, Index(url, "extra" if option.startswith("--extra") else "default", at))
        one = theirs[-1]
        role = "extra" if one.role == "find-links" or (one.role == "default" and others and not public) else one.role
        if one.role == "find-links" and not others:
            role = "default"
        if one.role == "default" and one is not [i for i in step.indexes if i.role == "default"][-1]:
            role = "extra"  # the last --index-url counts
        self.changes.append(self._address(one, role))
        same = [i for i in step.indexes if i.url == one.url]
        return tuple(
            msgspec.structs.replace(i, url=url, role=role if i.role == one.role else i.role) if i in same else i
            for i in step.indexes
        )

    def _address(self, index: Index, role: str) -> Change:
        """The words that name the index of the proposal in place of another one."""
        there = list(_OPTION.finditer(index.place.quote))
        named = next(
            (m for m in there if m["url"] == index.url), there[0] if len(there) == 1 and "$" in there[0]["url"] else None
        )
        if named is None and index.place.quote.count(index.url) != 1:
            raise Unwritable
        if named is None:
            return Change(index.place, index.url, self.found.index)
        option = named["option"] if role == index.role else "--index-url" if role == "default" else "--extra-index-url"
        return Change(index.place, named[0], f"{option}{named['mark']}{self.found.index}")


def _is_writable(place: Place, environment: Environment) -> bool:
    """True for a command, the line of a list, and a text of a pyproject.toml: in other files a requirement has other forms."""
    listed = place.file.endswith((".txt", ".in", ".toml")) or environment.sort == "requirements"
    return is_command(place) or listed


def replaces(index: Index, place: Place) -> bool:
    """True for an --index-url that stands below a line of its list: pip takes it in place of what is added above that line."""
    return index.role == "default" and index.place.file == place.file and index.place.line > place.line


def _is_of_torch(index: Index, target: Target) -> bool:
    """True for an index that is asked for torch: one of ROCm, CUDA or CPU builds."""
    source = source_of(index, target.platform)
    return (source.build in ("rocm", "cuda", "cpu") and not source.public) or ("$" in index.url and "pytorch" in index.url)


def _requirement(line: str, place: Place) -> Requirement:
    """A line of the proposal as a requirement at a place."""
    name, _, spec = line.partition("==")
    return Requirement(name.partition("[")[0], f"=={spec}", place, tuple(re.findall(r"\[(.+)\]", name)))
