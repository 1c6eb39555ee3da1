"""The whole answer to "what should I install?": stacks, variables, reasons, and what would change it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

import msgspec

from rocm_doctor.commands import changed_variables, select_commands
from rocm_doctor.matrix import TorchBuild
from rocm_doctor.model import Finding, Report
from rocm_doctor.plan.candidates import Rejected
from rocm_doctor.plan.catalog import Catalog, SystemStep
from rocm_doctor.plan.changes import Change, nearest_changes
from rocm_doctor.plan.commands import install
from rocm_doctor.plan.evidence import spans
from rocm_doctor.plan.machine import INBOX, Machine, cuda_packages
from rocm_doctor.plan.search import Blocked, Resolver, Stack, free_stacks
from rocm_doctor.plan.stack_judge import StackJudge, judge_snapshot
from rocm_doctor.plan.steps import steps
from rocm_doctor.plan.variables import PlanVariable, finding_variables, variables
from rocm_doctor.rules.driver_range import driver_release
from rocm_doctor.versions import release


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What to install on a machine for a wish, judged with the catalog `known`."""

    machine: Machine
    known: Catalog
    wish: tuple[str, ...]
    report: Report | None
    """What `check` says of the machine, if that was read."""
    stacks: tuple[Stack, ...]
    """Best first."""
    rejected: tuple[Rejected, ...]
    blocked: tuple[Blocked, ...]
    """Installed packages that the plan replaces or removes."""
    works: bool
    """True if `check` calls the machine ready, with all that was wished for."""
    variables: tuple[PlanVariable, ...] = ()
    """For the first stack; without one for what is installed."""
    by_hand: tuple[Finding, ...] = ()
    """Findings of `check` that no package and no variable resolves."""
    nearest: tuple[Change, ...] = ()
    """What would change it that there is no stack."""

    @property
    def best(self) -> Stack | None:
        """The first stack; None if nothing is known to work."""
        return self.stacks[0] if self.stacks else None

    folder: ClassVar[str] = ".venv-rocm"
    """The new environment of `fix`."""

    @property
    def builds(self) -> bool:
        """True if `fix` has an environment to build."""
        return self.best is not None and not self.done

    @property
    def has_answer(self) -> bool:
        """True if a stack is known to work, or what is installed works."""
        return self.best is not None or self.works

    @property
    def done(self) -> bool:
        """True if there is nothing to install."""
        return self.works or self.keeps

    @property
    def keeps(self) -> bool:
        """True if nothing is to be installed for the first stack."""
        return self.machine.probed and self.best is not None and not self.blocked and not install(self.best, self.machine)

    @property
    def cuda(self) -> tuple[str, ...]:
        """Names of the installed packages for CUDA that the best stack does not have; none if torch is not for CUDA."""
        chosen = self.best.packages if self.best else ()
        return tuple(name for name in cuda_packages(self.machine, self.known.matrix) if name not in chosen)

    @property
    def steps(self) -> tuple[SystemStep, ...]:
        """What a machine that was not read needs before Python."""
        if self.best is None or self.machine.probed:
            return ()
        return tuple(steps(self.best.candidate.build, self.machine, self.known))

    @property
    def remarks(self) -> tuple[str, ...]:
        """Sentences: which wished packages come from elsewhere, and that a driver or the Python could not be checked."""
        machine, packages = self.machine, (self.known.packages[name] for name in self.wish)
        lines = [f"{package.name}: {package.elsewhere} ({package.sources[0]})" for package in packages if package.elsewhere]
        named = machine.driver not in ("", INBOX) and machine.system == "linux"
        if named and not driver_release(machine.driver, self.known.matrix):
            lines.append(f"whether driver {machine.driver} fits this ROCm is not known: it is not in the catalog")
        if not machine.python:
            lines.append("the Python version is unknown; it was not checked against the wheels")
        return tuple(lines)

    @property
    def drop(self) -> tuple[str, ...]:
        """Names of the installed packages to remove: those beside which no stack works, and those for CUDA."""
        return tuple(dict.fromkeys((*(package.name for package in self.blocked if package.removed), *self.cuda)))

    @property
    def fresh(self) -> Machine:
        """The machine as if nothing were installed on it."""
        return msgspec.structs.replace(self.machine, probed=False)

    def alternatives(self, count: int = 3) -> tuple[Stack, ...]:
        """Stacks beside the best, one for each ROCm and index: those that someone ran on this target, then the next by rank."""
        first = {(s.candidate.build.rocm, s.candidate.index.url): s for s in reversed(self.stacks)}
        others = (s for s in first.values() if s is not self.best)
        return tuple(sorted(others, key=lambda s: (not s.candidate.known_good, self.stacks.index(s)))[:count])


def answer(
    machine: Machine,
    catalog: Catalog,
    wish: Sequence[str] = (),
    rocm: str = "",
    report: Report | None = None,
    upgrade: bool = False,
) -> Plan:
    """The plan for a machine and a wish. What is installed stays where it works, except to `upgrade`.

    `rocm`: only stacks of this release or series, or `nightly`. `report`: the report of `check`; None for a declared machine.
    """
    wanted = [name for name in wish if not catalog.packages[name].elsewhere]
    resolver, stacks, blocked = _resolve(machine, catalog, wanted, upgrade)
    stacks = [s for s in stacks if not rocm or spans(rocm, rocm, s.candidate.build.rocm)]
    here = next((s for s in stacks if machine.has_build(s.candidate.build)), None)
    if here and not (upgrade and _age(stacks[0].candidate.build) > _age(here.candidate.build)):
        stacks = [here, *(s for s in stacks if s is not here)]
    ready = report is not None and report.verdict == "ready" and all(map(machine.installed_version, wanted))
    plan = Plan(
        machine=machine,
        known=catalog,
        wish=tuple(wish),
        report=report,
        stacks=tuple(stacks),
        rejected=tuple(resolver.rejected),
        blocked=blocked,
        works=ready and not upgrade,
    )
    if stacks:
        return _complete(plan, stacks[0], resolver.stack_judge)
    settings = finding_variables(report.findings if report else (), machine, catalog.matrix)
    return msgspec.structs.replace(plan, variables=settings, nearest=() if ready else tuple(nearest_changes(resolver)))


def _complete(plan: Plan, best: Stack, stack_judge: StackJudge) -> Plan:
    """Returns the plan with the variables that its first stack needs, and with the findings that it leaves (`by_hand`)."""
    machine, catalog, report = plan.machine, plan.known, plan.report
    findings, after = list(stack_judge.machine_findings), []
    cured: set[str] = set()
    if machine.probed:
        now = _fingerprints(judge_snapshot(machine.base, catalog.matrix))
        if machine.has_build(best.candidate.build):
            intact = now <= _fingerprints(stack_judge.findings_after(best.candidate, {}, {}))
            machine = msgspec.structs.replace(machine, intact=intact)
        findings = after = stack_judge.findings_after(best.candidate, best.packages, best.env)
        cured = now - _fingerprints(findings)
    left = (f for f in (report.findings if report else findings) if f.severity != "note" and f.leads)
    return msgspec.structs.replace(
        plan,
        machine=machine,
        variables=variables(best, machine, catalog, after),
        by_hand=tuple(_fit(f, machine) for f in left if f.fingerprint not in cured and not changed_variables(f.commands)),
    )


def _age(build: TorchBuild) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """A key by which a later release of torch, then of its ROCm, comes after an earlier one."""
    return release(build.torch) or (), release(build.rocm) or ()


def _resolve(
    machine: Machine, catalog: Catalog, wanted: Sequence[str], upgrade: bool
) -> tuple[Resolver, list[Stack], tuple[Blocked, ...]]:
    """(resolver, stacks, blocked) of free_stacks. The installed torch stays if it works once other packages are replaced or
    removed."""
    if machine.probed and machine.torch and not upgrade:
        kept, stacks, blocked = free_stacks(Resolver(machine, catalog, wanted, only=machine.torch))
        if stacks and not stacks[0].candidate.override:
            wide = Resolver(kept.machine, catalog, kept.wish)
            return wide, list(wide.stacks()), blocked
    return free_stacks(Resolver(machine, catalog, wanted, upgrade))


def _fingerprints(findings: Iterable[Finding]) -> set[str]:
    return {finding.fingerprint for finding in findings if finding.severity != "note"}


def _fit(finding: Finding, machine: Machine) -> Finding:
    """The finding with those of its commands that run on the machine's system, without our own, which print this plan or build it."""
    commands = select_commands(finding.commands, machine.system, str(machine.base.get("os").value or ""))
    return msgspec.structs.replace(finding, commands=tuple(c for c in commands if c.purpose not in ("plan", "fix")))
