"""What to do about the torch of an environment for AMD, said once it was judged again as it would then be.

An advice that leaves the finding, or that meets the next one, is no advice: then it is said what torch has to be, where that is decided,
and what is in the way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

import msgspec

from rocm_doctor import versions
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.advice import ON_TORCH, for_torch, keeping, leaving, manager
from rocm_doctor.lint.changes import told
from rocm_doctor.lint.declared import Environment, Place, Requirement, Step, Target
from rocm_doctor.lint.facts import code_of
from rocm_doctor.lint.proposals import Proposal, proposal
from rocm_doctor.lint.rules.breaking import built_for_another, changes_of, left_out
from rocm_doctor.lint.rules.built_for import without_override
from rocm_doctor.lint.rules.findings import is_hashed
from rocm_doctor.lint.rules.indexes import FAMILY, admits, applies, pinned, wanted
from rocm_doctor.lint.rules.replacing import with_own_torch, with_torch_of_its_release
from rocm_doctor.lint.rules.torch_state import Change, last_state
from rocm_doctor.lint.swapped import TRITONS, over_image, swapped
from rocm_doctor.lint.wheels import said_of_wheels
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Finding

Judge = Callable[[Environment], list[Finding]]
_MOST = 6


def remedied(found: list[Finding], environment: Environment, target: Target, matrix: Matrix, judge: Judge) -> list[Finding]:
    """The findings with their advice on torch. `judge`: what is found in an environment for the same target."""
    state = last_state(environment, matrix, target)
    if state is None or not any(ON_TORCH in one.advice for one in found):
        return found
    text = _Remedy(environment, target, matrix, found, state, judge).text() + _for_all(environment)
    return [msgspec.structs.replace(one, advice=one.advice.replace(ON_TORCH, text).strip()) for one in found]


def _for_all(environment: Environment) -> str:
    """That a change of a Dockerfile is one for others as well, where what has it built gives its base by an argument."""
    image, file = environment.image, environment.place.file
    name = next((name for name in environment.given if image and re.search(rf"\${{?{name}\b", image.place.quote)), "")
    return f" Whoever builds {file} with another {name} gets the change as well: put it behind a build argument." if name else ""


class _Remedy:
    """The advice on one environment."""

    def __init__(
        self, environment: Environment, target: Target, matrix: Matrix, found: Sequence[Finding], state: Change, judge: Judge
    ) -> None:
        self.environment = environment
        self.target = target
        self.matrix = matrix
        self.state = state
        self.judge = lru_cache(4)(judge)
        self.now = {f.title for f in found if ON_TORCH in f.advice}
        self.said = {(f.id, f.title) for f in found if ON_TORCH not in f.advice}

    def text(self) -> str:
        """The first advice that holds, or the decision that is left to be made."""
        step, before, last = self.state
        plain = for_torch(self.environment, self.target, self.matrix, step, last)
        found = proposal(self.environment, self.target, self.matrix)
        if found is None or any(p.about == "argument" for p in self.environment.unresolved):
            beyond = None if found else proposal(self.environment, self.target, self.matrix, outside=True)
            changes = changes_of(self.environment, last.version, _versions(beyond), self.matrix) if beyond else ()
            return " ".join((plain, *changes))
        if before is not None and before.build == "rocm" and step is not None:
            kept, words = keeping(self.environment, step, before, last, self.target)
            if kept is not None and not self._left(kept):
                return words
        if (first := self._earlier()) and not self._left(first[0]):
            return first[1]
        lead = leaving(self.environment, self.target, found) or self._outgrown()
        left: list[str] = []
        for changed, words in self._ways(found, plain, lead):
            if changed is None:
                return words
            problems = [*self._in_the_way(found), *self._left(changed)]
            if not problems:
                return f"{words}{self._then(changed, found)}"
            left = left or problems
        return f"{lead}{self._decision(found, left)}"

    def _earlier(self) -> tuple[Environment, str] | None:
        """The environment with a later command for a ROCm torch, which finds one that is there, run before the one that brings another."""
        step, _, _ = self.state
        steps = self.environment.steps
        if step is None or step not in steps:
            return None
        at = steps.index(step)
        after = (s for s in steps[at + 1 :] if s.place != step.place and _is_rocm(s) and wanted(s, self.target))
        later = next(after, None)
        if later is None:
            return None
        others = [s for s in steps[at:] if s is not later]
        made = msgspec.structs.replace(self.environment, steps=(*steps[:at], later, *others))
        return (
            made,
            f"Run the command on {later.place.words} before the one on {step.place.words}: pip leaves a torch that is there.",
        )

    def _outgrown(self) -> str:
        """That a later range leaves out the ROCm torch that is there."""
        step, before, _ = self.state
        spec = ",".join(dict.fromkeys(r.spec for r in wanted(step, self.target) if r.spec)) if step else ""
        if before is None or before.build != "rocm" or not before.version or admits(spec, before.version):
            return ""
        return f"torch {before.version} of {before.place.words} does not satisfy {spec}. "

    def _ways(self, found: Proposal, plain: str, lead: str) -> list[tuple[Environment | None, str]]:
        """The advice that there is, the best first, each with the environment that it makes; None where that is not known."""
        step, _, last = self.state
        by = manager(self.environment, step)
        if step is None:
            return self._over_image(found, lead)
        if by in ("uv", "poetry", "pdm", "pipenv", "pixi", "conda") and (step.tool != "uv" or not _is_rocm(step)):
            return [(None, plain)]
        if is_hashed(last.place) or "requires one exact torch" in last.why:
            return [(None, plain)]
        ways: list[tuple[Environment | None, str]] = []
        if swap := swapped(self.environment, self.target, self.matrix, found, self.state):
            ways.append((swap.environment, f"{lead}{told(swap.changes)}{' Then lock again.' if by == 'uv' else ''}"))
        elif by in ("image", "script", "package"):
            first = msgspec.structs.replace(over_image(self.environment, found).steps[0], place=step.place)
            at = self.environment.steps.index(step)
            steps = (*self.environment.steps[:at], first, *self.environment.steps[at:])
            ways.append((msgspec.structs.replace(self.environment, steps=steps), f"{'' if found.leaves else lead}{plain}"))
        return [*ways, (None, plain)] if by == "uv" else ways

    def _over_image(self, found: Proposal, lead: str) -> list[tuple[Environment | None, str]]:
        """Another torch in the place of that of the image: its Dockerfile installs it, where it has one of its own."""
        image = self.environment.image
        if image is None or not image.place.quote.upper().startswith("FROM "):
            return []
        run = f"RUN pip install {found.arguments} --index-url {found.index}"
        words = f"{lead}Take an image whose torch has code for {self.target.gpu}, or add below {image.place.words}: {run}."
        return [(over_image(self.environment, found), words)]

    def _left(self, changed: Environment) -> list[str]:
        """What stops the environment as it would be: nothing of what is said of it now, apart from torch, counts."""
        after = last_state(changed, self.matrix, self.target)
        if after is None or after[2].build != "rocm":
            return [f"another torch stays: {after[2].why}" if after else "nothing brings torch"]
        code = code_of(after[2], self.matrix)
        if code is not None and isinstance(code.value, tuple) and not code.value:
            return [f"torch {after[2].local} has no known code"]
        new = [f for f in self.judge(changed) if f.severity != "note" and (f.id, f.title) not in self.said]
        stopping = (f for f in new if f.id.startswith("version.") or (f.id.startswith("arch.") and f.severity == "error"))
        return [f.title for f in new if ON_TORCH in f.advice] + [f.title for f in stopping]

    def _then(self, changed: Environment, proposed: Proposal) -> str:
        """What the proposed releases change, and what is found once torch is a ROCm build and stops nothing."""
        changes = " ".join(changes_of(self.environment, self.state[2].version, _versions(proposed), self.matrix))
        found = self.judge(changed)
        new = [f for f in found if f.severity != "note" and f.id.startswith("lib.") and (f.id, f.title) not in self.said]
        titles = list(dict.fromkeys(said_of_wheels(f, self.matrix).title for f in new))
        left = f"What is left then: {'; '.join(titles[:2])}." if titles else ""
        pins = " ".join(
            f"Write {r.name}{spec} on {r.place.words}: torch {proposed.version} requires that."
            for r, spec in left_out(self.environment, proposed.version, self.matrix)
        )
        return "".join(
            f" {words}" for words in (pins, self._with_rocm(proposed), changes, without_override(self.environment), left) if words
        )

    def _with_rocm(self, proposed: Proposal) -> str:
        """That what is pinned to the ROCm of the torch before goes with that of the machine."""
        asked = (r for step in self.environment.steps for r in step.requirements if r.name in _WITH_ROCM)
        old = [r for r in asked if (own := pinned(r.spec)) and versions.series(own) != versions.series(proposed.rocm)]
        return " ".join(
            f"{r.name}{r.spec} on {r.place.words} is of ROCm {versions.series(pinned(r.spec))}: take that of the ROCm that is installed."
            for r in old
        )

    def _in_the_way(self, found: Proposal) -> list[str]:
        """Packages that are built for another ROCm than the torch that is proposed, or that require a torch of their own."""
        rocm = found.rocm.replace(".", "")
        others = [
            (r, m[1].rstrip("."))
            for step in self.environment.steps
            for r in step.requirements
            if r.name not in (*FAMILY, *TRITONS)
            and applies(r.marker, self.target)
            and (m := _FOR_ROCM.search(f"{r.spec} {r.url}"))
        ]
        own = [
            f"{r.name} on {r.place.words} requires a torch of its own"
            for step in self.environment.steps
            for r in with_own_torch(step, self.target, self.matrix)
        ]
        own += [
            f"{r.name}{r.spec} on {r.place.words} requires the torch of its release"
            for step in self.environment.steps
            for r in with_torch_of_its_release(step, found.version, self.target, self.matrix)
            if r.name not in FAMILY
        ]
        own += [
            f"{r.name}{r.spec} on {r.place.words} is built against torch {torch}"
            for r, torch in built_for_another(self.environment, found.version, self.matrix)
        ]
        return own + [
            f"{r.name} on {r.place.words} is built for another ROCm (rocm{tag})"
            for r, tag in others
            if not _same(tag.replace(".", ""), rocm)
        ]

    def _decision(self, found: Proposal, left: Iterable[str]) -> str:
        """What torch has to be, where that is decided, and what is in the way."""
        torch = next(line for line in found.lines if line.startswith("torch"))
        places = list(dict.fromkeys(map(_by_variable, (r.place for r in _deciding(self.environment, self.target)))))
        named = f" What decides is {' and '.join(filter(None, (', '.join(places[:-1][:_MOST]), places[-1])))}." if places else ""
        left = list(dict.fromkeys(title for title in left if title not in self.now))[:2]
        way = f" In the way of that: {'; '.join(left)}." if left else ""
        return f"It needs a torch with code for {self.target.gpu}, such as {torch} of {found.index}.{named}{way} `rocm-doctor plan` prints the commands for a new environment."


def _versions(proposed: Proposal) -> dict[str, str]:
    """The public versions of what is proposed, by name."""
    return {m[1]: m[2] for line in proposed.lines if (m := re.match(r"([\w-]+)[^=]*==([\d.]+\d)", line))}


def _by_variable(place: Place) -> str:
    """A place, with the variable that has its words where it names one."""
    found = re.search(r"\$\{?(\w+)", place.quote)
    return f"{place.words} (by {found[1]})" if found else place.words


# Not the version behind the name of a package, as in onnxruntime_rocm-1.18.0.
_FOR_ROCM = regex(r"(?<![_-])rocm-?(?:rel-)?(\d[\d.]*)")
# Packages that have the version of the ROCm whose library they load.
_WITH_ROCM = frozenset(("amdsmi",))


def _same(one: str, other: str) -> bool:
    """True if two releases of ROCm without their dots are of one series."""
    return one.startswith(other[:2]) and one[:2] == other[:2]


def _is_rocm(step: Step) -> bool:
    """True if a step has an index of its own for torch, whose address can be changed."""
    return any("rocm" in index.url or "amd" in index.url for index in step.indexes)


def _deciding(environment: Environment, target: Target) -> list[Requirement]:
    """What asks for torch, and what limits it, in lists and commands."""
    asked = [
        r for step in environment.steps for r in (*wanted(step, target), *(c for c in step.constraints if c.name == "torch"))
    ]
    return [r for r in asked if not r.place.file.endswith(".lock")]
