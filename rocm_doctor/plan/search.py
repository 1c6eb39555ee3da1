"""Stacks that work on a machine for a wish, best first: builds of torch with releases of packages that go with them and with one another.

Each is judged as if it were installed (stack_judge.py); what does not work is kept with its reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from itertools import islice

import msgspec

from rocm_doctor.commands import changed_variables
from rocm_doctor.model import Finding, Grade
from rocm_doctor.plan.candidates import Candidate, Rejected, candidates
from rocm_doctor.plan.catalog import Catalog, CatalogPackage, Release
from rocm_doctor.plan.machine import TORCH, Machine, remove_packages
from rocm_doctor.plan.stack_judge import StackJudge, companions, installed_release, stack_judge
from rocm_doctor.versions import contains, sort_key

_TRIES = 64
"""Sets of releases that are judged before the search gives up."""


class Stack(msgspec.Struct, frozen=True):
    """A torch build with the releases of other packages by name, the variables to set, and the findings that `check` would have
    of it (`notes`)."""

    candidate: Candidate
    packages: dict[str, Release]
    env: dict[str, str]
    notes: tuple[Finding, ...] = ()

    @property
    def grade(self) -> Grade:
        return self.candidate.grade

    @property
    def name(self) -> str:
        """How a stack is spoken of: `torch 2.9.1+rocm6.3`, with the override where it needs one."""
        build = self.candidate.build
        extra = f" with HSA_OVERRIDE_GFX_VERSION={self.candidate.override.value}" if self.candidate.override else ""
        return f"torch {build.local or build.torch + ' nightly'}{extra}"


class Blocked(msgspec.Struct, frozen=True):
    """An installed package that rules out every stack. `finding`: what `check` would say of it beside the plan's torch; `removed`: no
    release of it works."""

    name: str
    version: str
    finding: Finding
    removed: bool


class Resolver:
    """Candidates of one machine, judged for one wish when they are asked for."""

    def __init__(self, machine: Machine, known: Catalog, wish: Sequence[str] = (), upgrade: bool = False, only: str = "") -> None:
        """`only`: the one build of torch to look at, as it names itself."""
        self.machine, self.known, self.wish, self.upgrade, self.only = machine, known, tuple(wish), upgrade, only
        self.stack_judge: StackJudge = stack_judge(machine, known)
        builds, self.rejected = candidates(machine, known)
        self.candidates = [candidate for candidate in builds if only in ("", candidate.build.local)]
        self._alone: dict[tuple[object, ...], list[Finding]] = {}

    def for_wish(self, wish: Sequence[str]) -> Resolver:
        """A resolver with the same machine and candidates for another wish; it shares what was judged of torch alone."""
        other = copy(self)
        other.wish, other.rejected = tuple(wish), list(self.rejected)
        return other

    def remove(self, names: Sequence[str], wish: Sequence[str] = ()) -> Resolver:
        """A resolver for the machine without these installed packages, and with these added to the wish."""
        return Resolver(remove_packages(self.machine, names), self.known, (*self.wish, *wish), self.upgrade, self.only)

    def stacks(self) -> Iterator[Stack]:
        """Stacks that work, best first; after them those that work once a variable is set. A candidate that does not work is
        added to `rejected` when it is reached."""
        curable: list[tuple[Candidate, dict[str, str], Finding]] = []
        for candidate in self.candidates:
            result = self._judge(candidate, candidate.env)
            if isinstance(result, Stack):
                yield result
            elif result.finding and (settings := self._settings(result.finding)):
                curable.append((candidate, settings, result.finding))
            else:
                self.rejected.append(result)
        for candidate, settings, cured in curable:
            result = self._judge(candidate, {**candidate.env, **settings})
            if isinstance(result, Stack):
                yield msgspec.structs.replace(result, notes=(cured, *result.notes))
            else:
                self.rejected.append(result)

    def _settings(self, finding: Finding) -> dict[str, str]:
        """The variables that the commands of a finding set, with their values; empty if the catalog knows no reader of one of
        them."""
        readers = self.known.matrix.env
        settings = {name: value for name, value in changed_variables(finding.commands).items() if value is not None}
        return settings if all(name in readers and readers[name].is_read for name in settings) else {}

    def _judge(self, candidate: Candidate, env: dict[str, str]) -> Stack | Rejected:
        key = (candidate.build.key, tuple(sorted(env.items())))
        if key not in self._alone:
            self._alone[key] = self.stack_judge.judge(candidate, {}, env)
        if serious := _serious(self._alone[key]):
            return _reject(candidate, serious)
        result = self._add_packages(candidate, env, self._alone[key])
        return (
            result
            if isinstance(result, Rejected)
            else Stack(candidate, result[0], self._variables(env, result[0]), tuple(result[1]))
        )

    def _variables(self, env: dict[str, str], chosen: dict[str, Release]) -> dict[str, str]:
        """`env` with the variables that the chosen releases need on this GPU, where it is not among those that they serve by
        default."""
        return env | {n: v for r in chosen.values() if self.machine.gfx not in r.native for n, v in r.env.items()}

    def _add_packages(
        self, candidate: Candidate, env: dict[str, str], alone: list[Finding]
    ) -> tuple[dict[str, Release], list[Finding]] | Rejected:
        """The newest releases of the wish that fit together beside a build, and what `check` would note of them (`alone` where there are
        none).

        A release is judged alone first, when it is reached, so that the search is among releases that work on this GPU beside this torch.
        """
        packages, beside = self.known.packages, companions(candidate)
        wish = [name for name in self.wish if not packages[name].companion]
        if missing := next((name for name in self.wish if name not in wish and not beside.get(name)), ""):
            return Rejected(candidate.build, f"no {missing} of this build is known", candidate.build.sources[0])
        wish += [
            p.name for p in packages.values() if p.always and contains(p.always, candidate.build.torch) and p.name not in wish
        ]
        releases = {name: self._releases(packages[name]) for name in wish}
        tried: dict[tuple[str, str], Rejected | None] = {}

        def usable(name: str) -> Iterator[Release]:
            for release in releases[name]:
                if (name, release.version) not in tried:
                    tried[name, release.version] = self._reject_release(name, release, candidate, env)
                if tried[name, release.version] is None:
                    yield release

        def sets(names: Sequence[str], chosen: dict[str, Release]) -> Iterator[dict[str, Release]]:
            if not names:
                yield chosen
                return
            for release in usable(names[0]):
                if not _excludes(names[0], release, chosen):
                    yield from sets(names[1:], {**chosen, names[0]: release})

        for name in wish:
            if next(usable(name), None) is None:
                against = [why for (of, _), why in tried.items() if of == name and why]
                # A finding about the GPU is more specific than a range of versions.
                none = Rejected(candidate.build, f"no release of {name} is known")
                return next((why for why in reversed(against) if why.finding), next(iter(against), none))
        why = Rejected(candidate.build, "no set of releases of these packages is compatible")
        for chosen in islice(sets(wish, {}), _TRIES):
            found = self.stack_judge.judge(candidate, chosen, self._variables(env, chosen)) if chosen else alone
            serious = _serious(found)
            if not serious:
                return chosen, found
            why = _reject(candidate, serious)
        return why

    def _releases(self, package: CatalogPackage) -> list[Release]:
        """The releases of a package, newest first. The installed one comes before them; to upgrade, only if it is newer than all
        of the catalog."""
        here = installed_release(package, self.machine)
        if here and self.upgrade and sort_key(here.version) <= sort_key(package.releases[0].version):
            here = None
        return [*((here,) if here else ()), *(release for release in package.releases if release != here)]

    def _reject_release(self, name: str, release: Release, candidate: Candidate, env: dict[str, str]) -> Rejected | None:
        """The reason against a release beside a torch: its system, Python, torch, or what `check` would find of it."""
        machine, why = self.machine, ""
        if machine.system not in release.systems:
            why = f"has nothing for {machine.system}"
        elif machine.python and contains(release.python, machine.python) is False:
            why = f"wants Python {release.python}"
        elif contains(release.torch, candidate.build.torch) is not True:
            why = f"wants torch {release.torch}"
        if why:
            return Rejected(candidate.build, f"{name} {release.version} {why}", self.known.packages[name].sources[0])
        alone = {name: release}
        serious = _serious(self.stack_judge.judge(candidate, alone, self._variables(env, alone), package=name))
        return _reject(candidate, serious, f"{name} {release.version}: ") if serious else None


def _serious(findings: list[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.severity != "note"]


def _reject(candidate: Candidate, serious: list[Finding], who: str = "") -> Rejected:
    return Rejected(candidate.build, who + serious[0].title, next(iter(serious[0].sources), ""), serious[0], tuple(serious[1:]))


def _excludes(name: str, one: Release, chosen: dict[str, Release]) -> bool:
    """True if a range between two packages does not hold, in either direction."""
    return any(
        (other in one.needs and contains(one.needs[other], release.version) is False)
        or (name in release.needs and contains(release.needs[name], one.version) is False)
        for other, release in chosen.items()
    )


def first_stack(machine: Machine, catalog: Catalog, wish: Sequence[str] = ()) -> Stack | None:
    """The first stack that works; the rest is not judged."""
    return next(Resolver(machine, catalog, wish).stacks(), None)


def free_stacks(resolver: Resolver) -> tuple[Resolver, list[Stack], tuple[Blocked, ...]]:
    """(resolver, stacks, blocked): `blocked` are the installed packages that are replaced or removed for these stacks. If no
    stack works beside what is installed, another release of one package is tried, then its removal, then the removal of all that
    are blamed. No stacks if nothing helps."""
    stacks = list(resolver.stacks())
    if stacks or not resolver.machine.probed:
        return resolver, stacks, ()
    blamed: dict[str, Finding] = {}
    for finding in (f for r in resolver.rejected if r.finding for f in (r.finding, *r.more)):
        for name in _packages_named(finding, resolver):
            blamed.setdefault(name, finding)
    replaced = [((name,), (name,)) for name in blamed if name in resolver.known.packages]
    for names, wish in (*replaced, *(((name,), ()) for name in blamed), (tuple(blamed), ())):
        other = resolver.remove(names, wish)
        if found := list(other.stacks()):
            installed = resolver.machine.installed_version
            return other, found, tuple(Blocked(name, installed(name), blamed[name], not wish) for name in names)
    return resolver, [], ()


def _packages_named(finding: Finding, resolver: Resolver) -> list[str]:
    """The installed packages beside torch that a finding names: in its row's conditions, as its subject, or as its diagnosis."""
    row = resolver.known.matrix.row(finding.row) if finding.row else None
    names = [name.partition(".")[2] for name in row.when if name.startswith(("pkg.", "code."))] if row else []
    names += [finding.id.removeprefix("lib.")] if finding.id.startswith("lib.") else []
    names += [finding.subject.partition(" ")[0]] if finding.subject_kind == "package" else []
    return [name for name in names if name not in (*TORCH, *resolver.wish) and resolver.machine.installed_version(name)]
