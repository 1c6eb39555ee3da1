"""From a repository and its targets to what is wrong: each environment for AMD GPUs is judged for each target."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import msgspec

from rocm_doctor.bounded.patterns import fits, regex
from rocm_doctor.facts.derive import HIP, ROCR
from rocm_doctor.lint import catalog, policy, readers
from rocm_doctor.lint.audience import For, audience
from rocm_doctor.lint.edits import prove
from rocm_doctor.lint.model import Audience, Environment, Fault, Place, Policy, Problem, Reason, Target, Unread
from rocm_doctor.lint.rules import RULES
from rocm_doctor.lint.rules.build_targets import has_target, lists
from rocm_doctor.lint.rules.case import Case
from rocm_doctor.lint.severity import severity
from rocm_doctor.lint.torch import Torch, outcome
from rocm_doctor.lint.tree import Tree
from rocm_doctor.matrix import Matrix
from rocm_doctor.rules.build import build_of
from rocm_doctor.versions import sort_key

FAILS, PASSES, ACCEPTED, OTHER, OPEN = "fails", "passes", "accepted", "-", "?"
"""What a cell of the table says: `-`: the environment is for other GPUs; `?`: nothing in it was judged."""
_LISTS = ("requirements", "project", "conda")


class Row(NamedTuple):
    """A row of the table: an environment, the GPUs that it names itself, and what was found for each target."""

    environment: Environment
    audience: Audience
    claims: tuple[str, ...]
    cells: dict[str, str]


class Result(NamedTuple):
    """What `lint` found: problems that were weighed and folded, the table, and what was not read."""

    tree: Tree
    policy: Policy
    targets: tuple[Target, ...]
    problems: tuple[Problem, ...]
    rows: tuple[Row, ...]
    unread: tuple[Unread, ...]
    left: int
    """Environments that are for other hardware, or tests and the like."""
    accepted: int = 0
    """Problems that the repository or the command line accepts."""
    decisive: tuple[Unread, ...] = ()
    """What was not read and may change what an environment leads to, which is why it does not pass."""

    @property
    def verdict(self) -> str:
        """`fails`, `passes`, or `nothing was judged`: for some target, or because the time for reading ran out."""
        if any(p.severity == "error" for p in self.problems):
            return FAILS
        named = {t.gpu for t in self.targets} or {gpu for row in self.rows for gpu in row.cells}
        # Without an error, what fails was accepted.
        proven = {gpu for row in self.rows for gpu, cell in row.cells.items() if cell in (PASSES, ACCEPTED, FAILS)}
        return PASSES if named and named <= proven and not self.tree.late else "nothing was judged"


def lint(root: Path, targets: Sequence[Target], matrix: Matrix, *, named: Sequence[str] = (), remedies: bool = True) -> Result:
    """Judge the repository at `root`. `targets`: none for what its files claim themselves; `named`: files that are judged alone, as for AMD."""
    declared = policy.read(Tree(root))
    tree = Tree(root, declared.exclude)
    environments = readers.read(tree, named or None)
    judging = _Judging(tree, declared, tuple(targets), tuple(named), matrix)
    found = judging.judge(environments)
    if remedies:
        found = found._replace(
            problems=tuple(prove(found.problems, tree, environments, judging.problems, judging.ours(environments)))
        )
    return found


class _Judging:
    def __init__(self, tree: Tree, declared: Policy, targets: tuple[Target, ...], named: tuple[str, ...], matrix: Matrix) -> None:
        self.tree, self.policy, self.targets, self.named, self.matrix = tree, declared, targets, named, matrix
        self.open: list[Unread] = []
        self.decisive: list[Unread] = []
        self.installers: dict[str, list[Environment]] = {}

    @cached_property
    def documented(self) -> Place | None:
        """The line of a document that has its reader install torch for ROCm."""
        return documented_index(self.tree)

    def problems(self, environments: Sequence[Environment]) -> tuple[Problem, ...]:
        """The problems of some environments: an edit is proven with it."""
        return self.judge(environments).problems

    def ours(self, environments: Sequence[Environment]) -> frozenset[str]:
        """The files of which every environment is for AMD GPUs."""
        meant = [(e.file, audience(e, self.policy, self.named, self.matrix, self.tree.root.name).audience) for e in environments]
        return frozenset(f for f, _ in meant) - {file for file, who in meant if who not in ("declared", "amd")}

    def judge(self, environments: Sequence[Environment]) -> Result:
        """The problems and the table of all environments."""
        root = self.tree.root.name
        meant = {id(one): audience(one, self.policy, self.named, self.matrix, root) for one in environments}
        main = self._main(environments, meant)
        self.installers = _installers(environments, meant)
        problems: list[Problem] = []
        rows: list[Row] = []
        left = 0
        for one in environments:
            who = meant[id(one)]
            installs = one.file in main and one.kind in _LISTS
            kind: Audience = "main" if (installs or one.kind == "training") and is_plain(who) else who.audience
            if kind in ("other", "aside"):
                left += 1
                continue
            cells: dict[str, str] = {}
            claims = self._claims(one, who)
            for target in self.targets or tuple(Target(gpu, gpu) for gpu in claims) or (Target("any", ""),):
                if self.tree.late:
                    break
                found, cell = self._one(one, target, kind, who, environments, meant)
                problems += found
                if target.gpu:
                    cells[target.gpu] = cell
            judged = {FAILS, PASSES} & set(cells.values()) or (problems and problems[-1].environment is one)
            if (kind in ("declared", "amd") and one.kind != "training") or judged:
                rows.append(Row(one, kind, claims, cells))
        weighed = self._weighed(problems, rows)
        unread = [
            *self.open,
            *self.tree.unread,
            *(u for one in environments if meant[id(one)].audience in ("declared", "amd", "neutral") for u in one.unread),
        ]
        by_place = {(u.place.file, u.place.line): u for u in reversed(unread)}
        ordered = tuple(by_place[key] for key in sorted(by_place))
        return Result(
            self.tree,
            self.policy,
            self.targets,
            tuple(fold([*self._of_policy(environments), *weighed])),
            tuple(rows),
            ordered,
            left,
            decisive=tuple(dict.fromkeys(self.decisive)),
        )

    def _one(
        self,
        one: Environment,
        target: Target,
        kind: Audience,
        who: For,
        environments: Sequence[Environment],
        meant: dict[int, For],
    ) -> tuple[list[Problem], str]:
        if target.gpu and who.gpus and target.gpu not in who.gpus:
            return [], OTHER
        torch = outcome(one, target, self.matrix)
        if isinstance(torch, Torch) and torch.vendor != "rocm" and self._installed_elsewhere(one, target, meant):
            torch = None
        documented = one.kind in _LISTS and (self.documented is not None or comments_on_torch(self.tree, one.file))
        if isinstance(torch, Unread):
            self.open.append(torch)
        case = Case(one, target, torch, kind, who.gpus, self.matrix, documented)
        found = [
            msgspec.structs.replace(p, severity=severity(p, kind))
            for rule in RULES
            if target.gpu or rule.__name__ not in _NEEDS_GPU
            for p in rule(case)
        ]
        if any(p.severity == "error" for p in found):
            return found, FAILS
        doubt = any((p.id.startswith("arch.") and p.severity == "warning") or p.id == "version.torch-not-rocm" for p in found)
        if doubt or one.kind == "job" or not serves(case):
            return found, OPEN
        decisive = self._decisive(one, environments, meant)
        self.decisive += decisive
        return found, OPEN if decisive else PASSES

    def _decisive(self, one: Environment, environments: Sequence[Environment], meant: dict[int, For]) -> list[Unread]:
        """The lines that were not read and that may change which code runs: of the environment and of what installs its file, those that
        install torch or set a variable that decides it; for a list of packages, overrides in any script or container that may run it."""
        ours = [u for other in (one, *self.installers.get(one.file, ())) for u in other.unread]
        runs = ("script", "image", "service", "settings") if one.kind in (*_LISTS, "lock") else ()
        theirs = [
            u
            for e in environments
            if e.kind in runs and meant[id(e)].audience in ("declared", "amd", "neutral")
            for u in e.unread
        ]
        overrides, all_ = self.matrix.once(_overrides), self.matrix.once(_choices)
        return [
            # What a command sets for a program that is not read was read.
            *(u for u in ours if (u.reason is not Reason.SCRIPT and all_.search(u.place.quote)) or _TORCH.search(u.place.quote)),
            *(u for u in theirs if overrides.search(u.place.quote)),
        ]

    def _claims(self, one: Environment, who: For) -> tuple[str, ...]:
        """The GPUs that an environment says it is for: by its path, else by its build lists and the index of its torch."""
        case = Case(one, Target("", ""), outcome(one, Target("", ""), self.matrix), who.audience, who.gpus, self.matrix)
        found = set(who.gpus) or {gpu for _, targets in lists(case) for gpu in targets}
        if not found and isinstance(case.torch, Torch):
            found = {gpu for gpu in self.matrix.gfx if any(catalog.serves_family(family, gpu) for family in case.torch.gpus)}
        return tuple(gpu for gpu in self.matrix.gfx if gpu in found)

    def _main(self, environments: Sequence[Environment], meant: dict[int, For]) -> frozenset[str]:
        """The files that install torch in a repository without an environment for AMD and without a document that names a ROCm index: those
        in its root folder, or the only one there is."""
        if not self.targets or any(meant[id(e)].audience in ("declared", "amd") for e in environments if e.kind != "training"):
            return frozenset()
        target = self.targets[0] if self.targets else Target("any", "")
        files = set()
        for one in environments:
            if one.kind in _LISTS and is_plain(meant[id(one)]):
                torch = outcome(one, target, self.matrix)
                if isinstance(torch, Torch) and torch.vendor in ("cuda", "cpu") and torch.asked and torch.asked.name == "torch":
                    files.add(torch.place.file)
        main = {file for file in files if "/" not in file} or (files if len(files) == 1 else set())
        return frozenset(main) if main and not self.documented else frozenset()

    def _installed_elsewhere(self, one: Environment, target: Target, meant: dict[int, For]) -> bool:
        """True for a file that an image, a script or a job for AMD installs: there it is judged, with what is installed before."""
        if one.kind not in ("requirements", "project") or meant[id(one)].audience == "declared":
            return False
        outcomes = (outcome(other, target, self.matrix) for other in self.installers.get(one.file, ()))
        return any(not isinstance(there, Torch) or there.vendor == "rocm" for there in outcomes)

    def _weighed(self, problems: Sequence[Problem], rows: Sequence[Row]) -> Iterator[Problem]:
        """What a build list leaves out is a choice where another environment of the repository serves the GPU, unless its file claims it."""
        served = {gpu for row in rows for gpu, cell in row.cells.items() if cell == PASSES}
        claims = {id(row.environment): row.claims for row in rows}
        for one in problems:
            gpu = one.target.gpu
            choice = one.id == "arch.not-in-build" and gpu in served and gpu not in claims.get(id(one.environment), ())
            yield msgspec.structs.replace(one, severity="warning") if choice and one.severity == "error" else one

    def _of_policy(self, environments: Sequence[Environment]) -> Iterable[Problem]:
        """What is wrong in the declaration itself."""
        target = self.targets[0] if self.targets else Target("any", "")
        own = Environment("settings", Place("rocm-doctor.yaml", 1))
        known = {name for one in environments for name in (one.name, one.file)}
        missing = [word for word in self.policy.environments if "*" not in word and word not in known]
        faults = [*self.policy.faults, *(Fault(Place(word.partition(" [")[0], 1), "policy", f"the declared environment {word} is not there", "Nothing is judged for it.") for word in missing if not self.named)]  # fmt: skip
        for fault in faults:
            yield Problem(
                "repo.unreadable", fault.title, fault.cause, (fault.place,), own, target, key=(fault.title,), severity="error"
            )


_NEEDS_GPU = frozenset(("machine_rules", "build_lists", "index_for_others", "libraries", "training", "image_too_old"))


_TORCH = regex(r"\b(?:install|add)\b.*(?<![\w./-])(?:py)?torch(?![\w.-])")


def _overrides(matrix: Matrix) -> re.Pattern[str]:
    """The names of the variables that override which GPU code is for, by catalog/env.yaml."""
    return _assignment(v.name for v in matrix.env.values() if v.use == "override")


def _choices(matrix: Matrix) -> re.Pattern[str]:
    """The names of the variables that decide which code is built or runs, and on which GPU, by catalog/env.yaml."""
    return _assignment(v.name for v in matrix.env.values() if v.use in ("override", "build") or v.name in (ROCR, *HIP))


def _assignment(names: Iterable[str]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(re.escape(name) for name in names if name.isidentifier())})\b")


def _installers(environments: Sequence[Environment], meant: dict[int, For]) -> dict[str, list[Environment]]:
    """The images, scripts and jobs for AMD that install a file, by that file."""
    found: dict[str, list[Environment]] = {}
    for one in environments:
        if one.kind in ("image", "script", "job") and meant[id(one)].audience in ("declared", "amd"):
            for file in dict.fromkeys(one.files):
                found.setdefault(file, []).append(one)
    return found


def is_plain(who: For) -> bool:
    """True where neither the declaration nor a path says whom an environment is for."""
    return who.audience == "neutral" or (who.audience == "other" and who.by_text)


def serves(case: Case) -> bool:
    """True if the literal text of an environment leads to code for the target's GPU."""
    gpu, torch = case.target.gpu, case.torch
    built = [has_target(targets, case) for _, targets in lists(case)]
    if isinstance(torch, Torch):
        if torch.vendor != "rocm" or (torch.gpus and not any(catalog.serves_family(family, gpu) for family in torch.gpus)):
            return False
        build = build_of(case.matrix, torch.local)
        if build and build.gfx:
            return catalog.includes(build.gfx, gpu)
        if torch.gpus or (torch.rocm and _supported(gpu, torch.rocm, case.matrix)):
            return True
    return case.environment.builds and any(built)


def _supported(gpu: str, rocm: str, matrix: Matrix) -> bool:
    """True if AMD lists the GPU for this ROCm release on Linux, or for one before and one after it."""
    listed = [s for s in matrix.support if gpu in s.gfx and s.os == "linux" and s.state == "supported"]
    key = sort_key(rocm)
    since = any(sort_key(s.since) <= key for s in listed)
    return since and any(not s.until or key <= sort_key(s.until) for s in listed)


def documented_index(tree: Tree) -> Place | None:
    """The first line of a document that names a ROCm index of torch: its reader installs torch first."""
    for path in tree.paths:
        if path.count("/") > 4 or not path.lower().endswith((".md", ".rst")) or tree.late:
            continue
        for number, line in enumerate((tree.text(path) or "").split("\n"), 1):
            if "/whl/" in line and "rocm" in line and "torch" in line:
                return Place(path, number, line.strip()[:200])
    return None


def comments_on_torch(tree: Tree, path: str) -> bool:
    """True if a comment of a requirements file speaks of torch."""
    return any("torch" in line.partition("#")[2].lower() for line in (tree.text(path) or "").split("\n"))


def accept(found: Result, today: datetime.date, ignore: Sequence[str] = (), select: Sequence[str] = ()) -> Result:
    """The result without what is ignored, by the policy or by ids, rows and paths of the command line; an ignore whose day has come, or that
    fits nothing, is a note."""
    kept, used = [], set()
    for one in found.problems:
        words = (one.id, one.row, f"{one.id}:{one.row}")
        fitting = [
            i for i in found.policy.ignores if i.id in words and (not i.file or any(fits(p.file, i.file) for p in one.places))
        ]
        used.update(fitting)
        given = any(word in words or any(fits(p.file, word) for p in one.places) for word in ignore)
        asked = not select or any(word in words or any(fits(p.file, word) for p in one.places) for word in select)
        if asked and not given and not any(today < i.until for i in fitting):
            kept.append(one)
    own = Environment("settings", Place("rocm-doctor.yaml", 1))
    target = found.targets[0] if found.targets else Target("any")
    for i in found.policy.ignores:
        if i not in used or today >= i.until:
            title = f"the ignore of {i.id} ended on {i.until}" if today >= i.until else f"the ignore of {i.id} fits no finding"
            kept.append(Problem("repo.stale-ignore", title, f"Its reason was: {i.reason}.", (i.place,), own, target))
    failing = {(p.environment.name, gpu) for p in kept if p.severity == "error" for gpu in p.gpus}
    rows = tuple(
        row._replace(
            cells={
                gpu: ACCEPTED if cell == FAILS and (row.environment.name, gpu) not in failing else cell
                for gpu, cell in row.cells.items()
            }
        )
        for row in found.rows
    )
    dropped = [p for p in found.problems if p not in kept]
    return found._replace(problems=tuple(kept), accepted=len(dropped), rows=rows if dropped else found.rows)


_ORDER = ("error", "warning", "note")


def fold(problems: Iterable[Problem]) -> list[Problem]:
    """One problem for each cause and severity: the gravest of it, with the places of all; ordered by severity, file and line."""
    groups: dict[tuple[object, ...], list[Problem]] = {}
    for one in problems:
        groups.setdefault(one.cause_key, []).append(one)
    kept = []
    for group in groups.values():
        first = min(group, key=lambda p: _ORDER.index(p.severity))
        places = tuple(dict.fromkeys(place for p in (first, *group) for place in p.places))
        kept.append(
            msgspec.structs.replace(first, places=places, gpus=tuple(dict.fromkeys(p.target.gpu for p in group if p.target.gpu)))
        )
    return sorted(kept, key=lambda p: (_ORDER.index(p.severity), p.places[0].file, p.places[0].line, p.id, p.gpus))
