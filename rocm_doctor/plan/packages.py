"""The packages of a wish, at releases that go with torch, with this Python, with the GPU and with one another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from rocm_doctor.model import Finding
from rocm_doctor.plan.candidates import Candidate
from rocm_doctor.plan.catalog import Catalog, Package, Release
from rocm_doctor.plan.stack_judge import StackJudge, companions, installed_release
from rocm_doctor.versions import contains, sort_key

_TRIES = 64
"""Sets of releases that are judged before the search gives up."""


class Unsatisfied(Exception):
    """No set of releases fits: the reason, its sources, and the finding if there is one."""

    def __init__(self, why: str, source: str = "", finding: Finding | None = None) -> None:
        super().__init__(why)
        self.why, self.source, self.finding = why, source, finding


def order_packages(packages: Sequence[str], train: str, known: Catalog) -> tuple[str, ...]:
    """The packages of `--with` and `--train`, once each, those first that others depend on."""
    order = ["transformers", "peft", "accelerate", "trl"]
    asked = dict.fromkeys((*(p.name for p in known.packages.values() if train in p.train), *packages))
    names = dict.fromkeys(one for name in asked for one in (*_best_release(name, known), name))
    return tuple(sorted(names, key=lambda n: order.index(n) if n in order else len(order)))


def _best_release(name: str, known: Catalog) -> tuple[str, ...]:
    return known.packages[name].takes if name in known.packages else ()


def choose(
    stack_judge: StackJudge, candidate: Candidate, wish: Sequence[str], env: dict[str, str], without: list[Finding]
) -> tuple[dict[str, Release], list[Finding]]:
    """The newest releases that fit together, and what `check` would note of them (`without` if there are none). Raises Unsatisfied.

    Each package is judged alone first, so that the search is among releases that work on this GPU beside this torch.
    """
    packages = stack_judge.known.packages
    beside = companions(candidate)
    for name in wish:
        if packages[name].companion and not beside.get(name):
            raise Unsatisfied(f"no {name} of this build is known", candidate.build.sources[0])
    wish = [name for name in wish if not packages[name].companion]
    also = [p.name for p in packages.values() if p.always and contains(p.always, candidate.build.torch) and p.name not in wish]
    viable = {name: _Viable(packages[name], candidate, stack_judge, env) for name in (*wish, *also)}
    for alone in viable.values():
        if next(alone.releases(), None) is None:
            raise alone.why or Unsatisfied(f"no release of {alone.package.name} is known")
    why = Unsatisfied("no set of releases of these packages is compatible")
    for chosen in islice(_compatible_sets(tuple(viable.items()), {}), _TRIES):
        found = stack_judge.judge(candidate, chosen, {**env, **package_variables(chosen, stack_judge)}) if chosen else without
        serious = [f for f in found if f.severity != "note"]
        if not serious:
            return chosen, found
        why = _finding_to_unsatisfied("", serious[0])
    raise why


def package_variables(chosen: dict[str, Release], stack_judge: StackJudge) -> dict[str, str]:
    """Variables that packages need on a GPU that their default does not serve."""
    gfx = stack_judge.machine.gfx
    return {name: value for one in chosen.values() if gfx not in one.native for name, value in one.env.items()}


def _finding_to_unsatisfied(who: str, finding: Finding) -> Unsatisfied:
    return Unsatisfied(who + finding.title, next(iter(finding.sources), ""), finding)


class _Viable:
    """The releases of one package that work beside a torch on a GPU, the installed one first, then newest first, each judged when it
    is reached.

    `why`: the reasons against the others.
    """

    def __init__(self, package: Package, candidate: Candidate, stack_judge: StackJudge, env: dict[str, str]) -> None:
        self.package, self.candidate, self.stack_judge, self.env = package, candidate, stack_judge, env
        self.known: list[Release] = []
        self.rest = _releases(package, stack_judge)
        self.why: Unsatisfied | None = None

    def releases(self) -> Iterator[Release]:
        yield from self.known
        for one in self.rest:
            if self._works(one):
                self.known.append(one)
                yield one

    def _works(self, one: Release) -> bool:
        name = self.package.name
        outright = next(_exclusions(one, self.candidate, self.stack_judge), "")
        if outright:
            self.why = self.why or Unsatisfied(f"{name} {one.version} {outright}", self.package.sources[0])
            return False
        alone = {name: one}
        found = self.stack_judge.judge(
            self.candidate, alone, {**self.env, **package_variables(alone, self.stack_judge)}, about=name
        )
        serious = [f for f in found if f.severity != "note"]
        if serious:
            # A finding about the GPU is more specific than a range of versions.
            self.why = _finding_to_unsatisfied(f"{name} {one.version}: ", serious[0])
        return not serious


def _releases(package: Package, stack_judge: StackJudge) -> Iterator[Release]:
    """The installed release before the others; to upgrade, only if it is newer than all that the catalog knows."""
    here = installed_release(package, stack_judge.machine)
    if here and stack_judge.upgrade and sort_key(here.version) <= sort_key(package.releases[0].version):
        here = None
    yield from (here,) if here else ()
    yield from (one for one in package.releases if one != here)


def _compatible_sets(viable: tuple[tuple[str, _Viable], ...], chosen: dict[str, Release]) -> Iterator[dict[str, Release]]:
    """Every set of releases whose declared ranges hold, newest first."""
    if not viable:
        yield chosen
        return
    (name, releases), *rest = viable
    for one in releases.releases():
        if not _is_refused(name, one, chosen):
            yield from _compatible_sets(tuple(rest), {**chosen, name: one})


def _exclusions(one: Release, candidate: Candidate, stack_judge: StackJudge) -> Iterator[str]:
    """What the release itself excludes: system, Python, torch."""
    machine = stack_judge.machine
    if machine.system not in one.systems:
        yield f"has nothing for {machine.system}"
    if machine.python and contains(one.python, machine.python) is False:
        yield f"wants Python {one.python}"
    if contains(one.torch, candidate.build.torch) is not True:
        yield f"wants torch {one.torch}"


def _is_refused(name: str, one: Release, chosen: dict[str, Release]) -> bool:
    """Whether a range between two packages does not hold, in either direction."""
    return any(
        (other in one.needs and contains(one.needs[other], release.version) is False)
        or (name in release.needs and contains(release.needs[name], one.version) is False)
        for other, release in chosen.items()
    )


def unknown_names(packages: Sequence[str], known: Catalog) -> list[str]:
    """Requested packages that the catalog does not know."""
    return [name for name in packages if name not in known.packages]
