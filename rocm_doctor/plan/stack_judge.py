"""A stack judged as if it were installed, by the engine of `check`, over the rows that this machine leaves open."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from rocm_doctor.commands import changed_variables
from rocm_doctor.coords import coord
from rocm_doctor.matrix import Matrix, TorchBuild
from rocm_doctor.matrix.hip import hip_of_rocm
from rocm_doctor.matrix.rows import Row
from rocm_doctor.model import NO_FAULT, Fact, Finding, Reading, Snapshot
from rocm_doctor.plan.candidates import Candidate
from rocm_doctor.plan.catalog import Catalog, CatalogPackage, Release
from rocm_doctor.plan.machine import Machine, install_stack
from rocm_doctor.rules import RULES
from rocm_doctor.rules.code import extensions_without_code
from rocm_doctor.rules.conditions import holds
from rocm_doctor.rules.engine import judge
from rocm_doctor.rules.logs import Logs
from rocm_doctor.versions import release, sort_key

_NO_LOGS = Logs(())
_OF_STACK = ("torch.", "rocm.loaded", "pkg.", "code.", "soname.", "env.")
"""Beginnings of the facts that a stack states."""
_PYTORCH = "https://download.pytorch.org/"
"""PyTorch's own index, whose torchvision has the local part of its torch; a pin without it finds that wheel as well."""
_DISTS = dict.fromkeys(("therock", "rpath-packages"), ("rocm", "rocm-sdk-core", "rocm-sdk-libraries"))


class StackJudge(msgspec.Struct, frozen=True):
    """A machine with the rows that can still apply to it. `machine_findings`: what is wrong with the machine whatever is installed;
    `package_rows`: for each package the rows that name it; `installed`: the installed packages with GPU code, of which that was read that goes
    with the torch of today."""

    machine: Machine
    known: Catalog
    matrix: Matrix
    package_rows: dict[str, Matrix]
    machine_findings: tuple[Finding, ...]
    installed: dict[str, Release]

    def judge(
        self, candidate: Candidate, chosen: Mapping[str, Release], env: Mapping[str, str], package: str = ""
    ) -> list[Finding]:
        """What `check` would say of this stack on this machine, without what it says of the machine alone.

        With `package`, only what it says of that package: rows that name it, and its code for the GPU.
        """
        matrix, rules = self.matrix, RULES
        if package:
            matrix, rules = self.package_rows[package], (extensions_without_code,) if chosen[package].code else ()
        findings, _ = judge(self.install(candidate, chosen, env), _NO_LOGS, matrix, rules)
        before = {finding.fingerprint for finding in self.machine_findings}
        return [f for f in findings if f.fingerprint not in before and not self._set_here(f, env)]

    def _set_here(self, finding: Finding, env: Mapping[str, str]) -> bool:
        """True if a command of the finding changes or unsets a variable that is set in this shell, and not by the stack: that cures it,
        whatever is installed."""
        read = self.machine.base.get
        return any(isinstance(read(f"env.{name}").value, str) and name not in env for name in changed_variables(finding.commands))

    def install(self, candidate: Candidate, chosen: Mapping[str, Release], env: Mapping[str, str]) -> Snapshot:
        """The machine with this stack installed and these variables set."""
        beside = {**self.installed, **chosen}
        return install_stack(self.machine, stack_facts(candidate, self.machine, beside, env, self.known), beside)

    def findings_after(self, candidate: Candidate, chosen: Mapping[str, Release], env: Mapping[str, str]) -> list[Finding]:
        """All that `check` would find in this shell with the stack installed and these variables set."""
        facts = self.machine.base.facts.items()
        shell = {name[4:]: fact.value for name, fact in facts if name.startswith("env.") and isinstance(fact.value, str)}
        return judge_snapshot(self.install(candidate, chosen, {**shell, **env}), self.known.matrix)


def judge_snapshot(snapshot: Snapshot, matrix: Matrix) -> list[Finding]:
    """What `check` finds in a snapshot, without a log."""
    return judge(snapshot, _NO_LOGS, matrix, RULES)[0]


def stack_judge(machine: Machine, catalog: Catalog) -> StackJudge:
    """The judge of a machine. Of a declared one only its kernel is judged, which has its own driver if none is declared."""
    # Decoded once for all copies of the matrix.
    _ = catalog.matrix.gfx, catalog.matrix.rocm, catalog.matrix.torch, catalog.matrix.driver_ranges, catalog.matrix.support
    matrix = catalog.matrix.replace_rows(tuple(row for row in catalog.matrix.rows if _can_apply(row, machine)))
    about = {name: matrix.replace_rows(tuple(r for r in matrix.rows if f"pkg.{name}" in r.when)) for name in catalog.packages}
    if machine.probed:
        before = judge_snapshot(install_stack(machine, {}), matrix)
    else:
        rows = tuple(row for row in catalog.matrix.rows if machine.kernel and row.diagnosis.startswith("version.kernel"))
        driver = {} if machine.driver else {"driver.version": Fact(None)}
        before, _ = judge(install_stack(machine, driver), _NO_LOGS, catalog.matrix.replace_rows(rows), ())
    present = {name: one for name, package in catalog.packages.items() if (one := installed_release(package, machine))}
    coded = {name: r for name, r in present.items() if r.code or r.code_windows}
    return StackJudge(machine, catalog, matrix, about, tuple(before), coded)


def installed_release(package: CatalogPackage, machine: Machine) -> Release | None:
    """The installed release of a package; None if it is not installed. A version that the catalog lacks takes the requirements
    and the code of the newest release before it. A version older than all has no code for AMD GPUs if the oldest has GPU code;
    else it is None."""
    mine = machine.installed_version(package.name)
    if not mine or not package.releases:
        return None
    older = next((r for r in package.releases if sort_key(r.version) <= sort_key(mine)), None)
    oldest = package.releases[-1]
    if older is None and oldest.code:
        older = msgspec.structs.replace(oldest, code=dict.fromkeys(oldest.code, ()), code_windows={}, exact=True)
    return msgspec.structs.replace(older, version=mine) if older else None


def _can_apply(row: Row, machine: Machine) -> bool:
    """True if a row states a fault and every condition either is about the stack or may hold on this machine."""
    if row.status in NO_FAULT and not row.harmless:
        return False
    return all(name.startswith(_OF_STACK) or _holds(name, condition, machine) for name, condition in row.when.items())


def _holds(name: str, condition: str, machine: Machine) -> bool:
    if name.startswith("log"):
        return condition.startswith("!")
    sources, fact = (machine.base.gpus, name[4:]) if name.startswith("gpu.") else ((machine.base,), name)
    coordinate = coord(name)
    return coordinate is None or any(holds(coordinate.kind, condition, source.get(fact)) for source in sources)


def stack_facts(
    candidate: Candidate, machine: Machine, chosen: Mapping[str, Release], env: Mapping[str, str], catalog: Catalog
) -> dict[str, Fact]:
    """The facts that probes would read with this stack installed and these variables set."""
    build = candidate.build
    code_of = {name: package_targets(r, name, candidate, machine, catalog) for name, r in chosen.items()}
    values: dict[str, str | bool | tuple[str, ...] | None] = {
        "torch.version": build.local or build.torch,
        "torch.build": "rocm",
        "torch.family": build.family,
        "env.": True,
        **({} if candidate.index.nightly else {"torch.rocm": build.rocm}),
        **({"torch.device_dists": machine.targets} if candidate.index.extras else {}),
        **{f"pkg.{name}": version for name, version in companions(candidate).items() if version},
        **{f"pkg.{name}": r.version for name, r in chosen.items()},
        **{f"code.{name}": targets for name, targets in code_of.items() if targets is not None},
        **{f"env.{name}": value for name, value in env.items()},
    }
    here = (Reading("plan", build.key, "as it would be installed"),)
    return {name: Fact(value, here) for name, value in values.items()}


def companions(candidate: Candidate) -> dict[str, str]:
    """torchvision, torchaudio, Triton and the ROCm packages that come with a build, at its versions; a version may be empty."""
    build = candidate.build
    triton, _, version = build.triton.partition("==")
    vision = local_version(build.torchvision, build)
    if vision and "+" not in vision and build.index.startswith(_PYTORCH):
        vision = f"{vision}+{build.local.partition('+')[2]}"
    versions = {"torchvision": vision, "torchaudio": local_version(build.torchaudio, build)}
    versions |= {triton: version} if version else {}
    exact = {} if candidate.index.nightly else dict.fromkeys(_DISTS.get(build.family, ()), build.rocm)
    return {**versions, **exact}


def local_version(version: str, build: TorchBuild) -> str:
    """A companion's version as the PyTorch index has it: with the same local part as torch."""
    if not version or "+" in version or not build.index.startswith("http") or build.family != "bundled":
        return version
    return f"{version}+{build.local.partition('+')[2]}"


def package_targets(one: Release, name: str, candidate: Candidate, machine: Machine, catalog: Catalog) -> tuple[str, ...] | None:
    """Targets of the GPU library that a package loads beside this torch; empty without one for it, None for a package without GPU
    code. A package with `nearest` loads the library of the same major below the runtime's minor, else the lowest above it."""
    tables = one.code_windows if machine.system == "windows" else one.code
    if not tables:
        return None
    hip = release(candidate.index.hip or hip_of_rocm(candidate.build.rocm, catalog.matrix.rocm)) or ()
    minors = sorted((release(minor) or (), targets) for minor, targets in tables.items())
    exact = next((targets for minor, targets in minors if minor == hip[:2]), None)
    if exact is not None:
        return exact
    same = [(minor, targets) for minor, targets in minors if minor[:1] == hip[:1]]
    below = [targets for minor, targets in same if minor <= hip]
    nearest = catalog.packages[name].nearest and not one.exact and same
    return (below[-1] if below else same[0][1]) if nearest else ()
