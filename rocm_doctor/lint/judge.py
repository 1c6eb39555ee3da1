"""From a repository and its targets to what is wrong: each environment for AMD GPUs is judged for each target."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from rocm_doctor.lint import catalog, policy, readers
from rocm_doctor.lint.accept import fold
from rocm_doctor.lint.audience import Purpose, find_purpose, names_amd
from rocm_doctor.lint.decisive import decisive_unread
from rocm_doctor.lint.model import (
    ACCEPTED,
    FAILS,
    LISTS,
    OPEN,
    OTHER,
    PASSES,
    Audience,
    Environment,
    Fault,
    LintPolicy,
    LintTarget,
    Place,
    Problem,
    Unread,
)
from rocm_doctor.lint.rules import RULES
from rocm_doctor.lint.rules.build_targets import lists, serves
from rocm_doctor.lint.rules.case import LintCase
from rocm_doctor.lint.severity import severity
from rocm_doctor.lint.torch import Torch, outcome
from rocm_doctor.lint.tree import Tree
from rocm_doctor.matrix import Matrix
from rocm_doctor.rules.build import usable_builds


class LintRow(NamedTuple):
    """A row of the table. `claims`: the GPUs that the environment names itself; `cells`: FAILS, PASSES, ACCEPTED, OPEN or OTHER
    by GPU."""

    environment: Environment
    audience: Audience
    claims: tuple[str, ...]
    cells: dict[str, str]


class Result(NamedTuple):
    """What `lint` found: problems that were weighed and folded, the table, and what was not read."""

    tree: Tree
    policy: LintPolicy
    targets: tuple[LintTarget, ...]
    problems: tuple[Problem, ...]
    rows: tuple[LintRow, ...]
    unread: tuple[Unread, ...]
    others: int
    """Environments that are for other hardware, or tests and the like."""
    accepted_count: int = 0
    """Problems that the repository or the command line accepts."""
    decisive_unread: tuple[Unread, ...] = ()
    """What was not read and may change what an environment leads to, which is why it does not pass."""

    @property
    def verdict(self) -> str:
        """`fails`, `passes`, or `nothing was judged`: for some target, or because the time for reading ran out."""
        if any(p.severity == "error" for p in self.problems):
            return FAILS
        named = {t.gpu for t in self.targets} or {gpu for row in self.rows for gpu in row.cells}
        # Without an error, what fails was accepted.
        proven = {gpu for row in self.rows for gpu, cell in row.cells.items() if cell in (PASSES, ACCEPTED, FAILS)}
        return PASSES if named and named <= proven and not self.tree.is_late else "nothing was judged"


def lint(root: Path, targets: Sequence[LintTarget], matrix: Matrix, *, files: Sequence[str] = ()) -> Result:
    """Judge the repository at `root`. `targets`: none for what its files claim themselves; `files`: those that are judged alone, as for AMD."""
    declared = policy.read(Tree(root))
    tree = Tree(root, declared.exclude)
    return _Judging(tree, declared, tuple(targets), tuple(files), matrix, readers.read(tree, files or None)).result()


class _Judging:
    """The judging of some environments of one repository."""

    def __init__(
        self, tree: Tree, declared: LintPolicy, targets: tuple[LintTarget, ...], files: tuple[str, ...], matrix: Matrix,
        environments: Sequence[Environment],
    ) -> None:  # fmt: skip
        self.tree, self.policy, self.targets, self.files, self.matrix = tree, declared, targets, files, matrix
        self.environments = environments
        name = tree.root.name
        self.purposes = {
            id(environment): find_purpose(environment, declared, files, matrix, name) for environment in environments
        }
        ours = [environment for environment in environments if self._audience(environment) == "amd"]
        self.installers: dict[str, list[Environment]] = {}
        """The images and scripts for AMD that install a file, by that file."""
        for mine in ours:
            for file in dict.fromkeys(mine.files if mine.kind in ("image", "script") else ()):
                self.installers.setdefault(file, []).append(mine)
        has_amd = any(self._may_have_torch(one) for one in ours)
        if targets and (not has_amd or names_amd(name)):  # nothing in it is for AMD, or all of it
            self._promote_main(has_amd)
        self.runners = [e for e in environments if e.kind in _RUNNERS and self._audience(e) != "other"]
        self.replacing = catalog.replacing_torch(matrix)
        self.unknown_torch: list[Unread] = []
        self.decisive_unread: list[Unread] = []

    def _audience(self, environment: Environment) -> Audience:
        return self.purposes[id(environment)].audience

    def _promote_main(self, has_amd: bool) -> None:
        """Set the audience to `main` for environments whose purpose is plain: for requirements files and projects, and without
        `has_amd` for images in the root folder as well. With `has_amd`, those with a label are left as they are."""
        for environment in self.environments:
            is_list = environment.kind in LISTS and not (has_amd and environment.label)
            is_image = not has_amd and environment.kind == "image" and "/" not in environment.file
            if (is_list or is_image) and (who := self.purposes[id(environment)]).is_plain:
                self.purposes[id(environment)] = who._replace(audience="main")

    def _may_have_torch(self, environment: Environment) -> bool:
        """True if the environment brings a torch (also an unread one), or a step of it installs something that was not read."""
        target = self.targets[0] if self.targets else LintTarget("any", "")
        return outcome(environment, target, self.matrix) is not None or any(u.installs for u in environment.unread)

    def result(self) -> Result:
        """The problems and the table of all environments."""
        problems: list[Problem] = []
        rows: list[LintRow] = []
        others = 0
        for environment in self.environments:
            who = self.purposes[id(environment)]
            if who.audience == "other":
                others += 1
                continue
            cells: dict[str, str] = {}
            claims = self._claims(environment, who)
            count = len(problems)
            for target in self.targets or tuple(LintTarget(gpu, gpu) for gpu in claims) or (LintTarget("any", ""),):
                if self.tree.is_late:
                    break
                more, cell = self._judge(environment, target, who)
                problems += more
                if target.gpu:
                    cells[target.gpu] = cell
            is_judged = len(problems) > count or not {FAILS, PASSES}.isdisjoint(cells.values())
            if is_judged or who.audience == "amd":
                rows.append(LintRow(environment, who.audience, claims, cells))
        return Result(
            self.tree, self.policy, self.targets, tuple(fold([*self._policy_problems(), *problems])), tuple(rows), self._unread(), others,
            decisive_unread=tuple(dict.fromkeys(self.decisive_unread)),
        )  # fmt: skip

    def _unread(self) -> tuple[Unread, ...]:
        """What was not read of the environments that are judged and of the repository, sorted by file and line, at most one for
        each line."""
        read = (environment for environment in self.environments if self._audience(environment) != "other")
        every = [*self.unknown_torch, *self.tree.unread, *(u for file in read for u in file.unread)]
        by_place = {(u.place.file, u.place.line): u for u in reversed(every)}
        return tuple(by_place[key] for key in sorted(by_place))

    def _judge(self, environment: Environment, target: LintTarget, who: Purpose) -> tuple[list[Problem], str]:
        """(problems, cell): the problems of an environment for a target, and FAILS, PASSES, OPEN or OTHER for the table."""
        if target.gpu and who.gpus and target.gpu not in who.gpus:
            return [], OTHER
        torch = outcome(environment, target, self.matrix)
        if isinstance(torch, Torch) and torch.vendor != "rocm" and self._is_installed_elsewhere(environment, target):
            torch = None
        if isinstance(torch, Torch) and self._may_keep_torch(environment, who, torch, target):
            torch = torch._replace(is_literal=False)
        if isinstance(torch, Unread):
            self.unknown_torch.append(torch)
        case = LintCase(environment, target, torch, who.audience, who.gpus, self.matrix)
        rules = [rule for rule in RULES if target.gpu or not rule.needs_gpu]
        problems = [msgspec.structs.replace(p, severity=severity(p, who.audience)) for rule in rules for p in rule.find(case)]
        if any(p.severity == "error" for p in problems):
            return problems, FAILS
        doubts = (p.id == "version.torch-not-rocm" or (p.id.startswith("arch.") and p.severity == "warning") for p in problems)
        if any(doubts) or not serves(case):
            return problems, OPEN
        decisive = decisive_unread(environment, self.installers.get(environment.file, ()), self.runners, self.matrix)
        self.decisive_unread += decisive
        return problems, OPEN if decisive else PASSES

    def _claims(self, environment: Environment, who: Purpose) -> tuple[str, ...]:
        """The GPUs that an environment is for by its path or label; without one there, those of its build lists; else those of
        the index of its torch."""
        case = LintCase(
            environment,
            LintTarget("", ""),
            outcome(environment, LintTarget("", ""), self.matrix),
            who.audience,
            who.gpus,
            self.matrix,
        )
        gpus = set(who.gpus) or {gpu for _, targets in lists(case) for gpu in targets}
        if not gpus and isinstance(case.torch, Torch):
            gpus = {gpu for gpu in self.matrix.gfx if any(catalog.serves_family(family, gpu) for family in case.torch.gpus)}
        return tuple(gpu for gpu in self.matrix.gfx if gpu in gpus)

    def _may_keep_torch(self, environment: Environment, who: Purpose, torch: Torch, target: LintTarget) -> bool:
        """True if the installation may find a torch for ROCm and keep it. This is so for a list that is not for AMD alone and
        whose range admits a build for the GPU, and for one that gets torch by another package, unless that requires one exact
        torch."""
        request, is_amd = torch.requirement, who.audience == "amd"
        if environment.kind not in LISTS or request is None or request.name in self.replacing:
            return False
        if request.name != "torch":
            return not is_amd or environment.kind == "project"
        is_range = not request.url and not catalog.pinned_version(request.specifier)
        builds = usable_builds(target.gpu, self.matrix, target.python) if target.gpu else self.matrix.torch
        return is_range and not is_amd and any(catalog.admits(request.specifier, build.torch) for build in builds)

    def _is_installed_elsewhere(self, environment: Environment, target: LintTarget) -> bool:
        """True for a file that an image or a script for AMD installs: there it is judged, with what is installed before."""
        if environment.kind not in LISTS:
            return False
        outcomes = (outcome(other, target, self.matrix) for other in self.installers.get(environment.file, ()))
        return any(not isinstance(torch, Torch) or torch.vendor == "rocm" for torch in outcomes)

    def _policy_problems(self) -> Iterable[Problem]:
        target = self.targets[0] if self.targets else LintTarget("any", "")
        own = Environment("policy", Place("rocm-doctor.yaml", 1))
        names = {name for environment in self.environments for name in (environment.name, environment.file)}
        absent = [
            Fault(Place(word.partition(" [")[0], 1), "policy", f"the declared environment {word} is not there", "Nothing is judged for it.")
            for word in self.policy.environments
            if not self.files and "*" not in word and word not in names
        ]  # fmt: skip
        for fault in [*self.policy.faults, *absent]:
            places, key = (fault.place,), (fault.title,)
            yield Problem("repo.unreadable", fault.title, fault.cause, places, own, target, key=key, severity="error")


_RUNNERS = ("script", "image", "service")
