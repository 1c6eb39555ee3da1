"""Stacks that work on a machine for a wish, best first, and why the others do not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy

import msgspec

from rocm_doctor.model import Finding, Grade
from rocm_doctor.plan.candidates import Candidate, Rejected, candidates
from rocm_doctor.plan.catalog import Catalog, Release
from rocm_doctor.plan.machine import Machine
from rocm_doctor.plan.packages import Unsatisfied, choose, package_variables
from rocm_doctor.plan.stack_judge import StackJudge, exported_variables, stack_judge

READ = ("yes", "deprecated", "old")
"""`exists` of a variable that something reads."""


class Stack(msgspec.Struct, frozen=True):
    """A torch build with what goes beside it: packages at their releases, variables, and what `check` would note of it."""

    candidate: Candidate
    packages: dict[str, Release]
    env: dict[str, str]
    notes: tuple[Finding, ...] = ()

    @property
    def grade(self) -> Grade:
        """The grade of the stack's evidence."""
        return self.candidate.grade

    @property
    def name(self) -> str:
        """How a stack is spoken of: `torch 2.9.1+rocm6.3`, with the override where it needs one."""
        build = self.candidate.build
        extra = f" with HSA_OVERRIDE_GFX_VERSION={self.candidate.override.value}" if self.candidate.override else ""
        return f"torch {build.local or build.torch + ' nightly'}{extra}"


class Resolver:
    """Candidates of one machine, judged for one wish when they are asked for."""

    def __init__(self, machine: Machine, known: Catalog, wish: Sequence[str] = (), upgrade: bool = False, only: str = "") -> None:
        """`only`: the one build of torch to look at, as it names itself."""
        self.wish, self.only = tuple(wish), only
        self.stack_judge: StackJudge = stack_judge(machine, known, upgrade)
        found, self.rejected = candidates(machine, known)
        self.candidates = [one for one in found if only in ("", one.build.local)]
        self._alone: dict[tuple[object, ...], list[Finding]] = {}

    def for_wish(self, wish: Sequence[str]) -> Resolver:
        """The same machine and candidates for another wish; what was judged of torch alone is shared."""
        other = copy(self)
        other.wish, other.rejected = tuple(wish), list(self.rejected)
        return other

    def for_machine(self, machine: Machine, wish: Sequence[str]) -> Resolver:
        """The same question for another machine and wish."""
        return Resolver(machine, self.stack_judge.known, wish, self.stack_judge.upgrade, self.only)

    def for_every_build(self) -> Resolver:
        """The same question for every build of torch."""
        return Resolver(self.stack_judge.machine, self.stack_judge.known, self.wish, self.stack_judge.upgrade)

    def stacks(self) -> Iterator[Stack]:
        """Those that work, best first, and behind them those that a variable makes work. A candidate that does not work goes to
        `rejected` when it is reached."""
        curable: list[tuple[Candidate, dict[str, str], Finding]] = []
        for one in self.candidates:
            result = self._judge(one, one.env)
            if isinstance(result, Stack):
                yield result
            elif result.finding and (settings := self._settings(result.finding)):
                curable.append((one, settings, result.finding))
            else:
                self.rejected.append(result)
        for one, settings, cured in curable:
            result = self._judge(one, {**one.env, **settings})
            if isinstance(result, Stack):
                yield msgspec.structs.replace(result, notes=(cured, *result.notes))
            else:
                self.rejected.append(result)

    def _settings(self, finding: Finding) -> dict[str, str]:
        """The variables that cure a finding, where the catalog knows what reads each of them."""
        found = dict(exported_variables(finding))
        readers = self.stack_judge.known.matrix.env
        return found if all(name in readers and readers[name].exists in READ for name in found) else {}

    def _judge(self, one: Candidate, settings: dict[str, str]) -> Stack | Rejected:
        env = dict(settings)
        key = (one.build.key, tuple(sorted(env.items())))
        if key not in self._alone:
            self._alone[key] = self.stack_judge.judge(one, {}, env)
        serious = [f for f in self._alone[key] if f.severity != "note"]
        if serious:
            return Rejected(one.build, serious[0].title, next(iter(serious[0].sources), ""), serious[0], tuple(serious[1:]))
        try:
            packages, notes = choose(self.stack_judge, one, self.wish, env, self._alone[key])
        except Unsatisfied as exc:
            return Rejected(one.build, exc.why, exc.source, exc.finding)
        return Stack(one, packages, {**env, **package_variables(packages, self.stack_judge)}, tuple(notes))


def best(machine: Machine, known: Catalog, wish: Sequence[str] = ()) -> Stack | None:
    """The first stack that works; the rest is not judged."""
    return next(Resolver(machine, known, wish).stacks(), None)
