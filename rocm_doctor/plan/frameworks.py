"""JAX or TensorFlow for a GPU: an environment or a container of its own beside torch's, from catalog/packages."""

from __future__ import annotations

import datetime
import shlex
from collections.abc import Iterator

import msgspec

from rocm_doctor.model import Grade, Report
from rocm_doctor.plan.catalog import Catalog, System, SystemStep
from rocm_doctor.plan.commands import Argv, Tool, verbs
from rocm_doctor.plan.machine import INBOX, Machine
from rocm_doctor.plan.search import first_stack
from rocm_doctor.plan.text import step_lines, wrap
from rocm_doctor.rules.driver_range import driver_release, outside
from rocm_doctor.rules.frameworks import FRAMEWORKS, amd_frameworks

NAMES = {framework.key: framework.name for framework in FRAMEWORKS}
_CONTAINER = (
    "docker run --rm -it --device=/dev/kfd --device=/dev/dri --group-add $(stat -c %g /dev/kfd) "
    "--group-add $(stat -c %g /dev/dri/renderD128) --ipc=host --security-opt seccomp=unconfined "
)
"""Starts a container of the image that follows, with the GPUs of the host."""


class InstallSet(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Packages that one command installs. `index`: where from; empty: the package index."""

    packages: tuple[str, ...]
    index: str = ""


class FrameworkRelease(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A release of a framework for a release of ROCm; catalog/packages/README.md describes the fields."""

    framework: str
    version: str
    rocm: str
    gfx: tuple[str, ...]
    words: str
    sources: tuple[str, ...]
    grade: Grade
    checked: datetime.date
    pythons: tuple[str, ...] = ()
    installs: tuple[InstallSet, ...] = ()
    image: str = ""
    needs: str = ""
    systems: tuple[System, ...] = ("linux",)

    @property
    def name(self) -> str:
        """How it is spoken of: `JAX 0.11.1 with ROCm 10.1.0`."""
        return f"{NAMES[self.framework]} {self.version} with ROCm {self.rocm}"


class FrameworkPlan(msgspec.Struct, frozen=True):
    """What to install of JAX or TensorFlow. `release` is None if none fits the machine; then `against` has (reason, source) pairs
    and `instead` pairs of what would run and the command that plans it. `report`: that of `check`; `here`: the examined
    environment has the framework for AMD GPUs."""

    framework: str
    machine: Machine
    release: FrameworkRelease | None
    against: tuple[tuple[str, str], ...] = ()
    instead: tuple[tuple[str, str], ...] = ()
    steps: tuple[SystemStep, ...] = ()
    report: Report | None = None
    here: bool = False

    @property
    def works(self) -> bool:
        """True if `check` calls the installed framework ready."""
        return self.here and self.report is not None and self.report.verdict == "ready"

    @property
    def undecided(self) -> bool:
        """True if `check` finds nothing against the installed framework and leaves something open."""
        return self.here and self.report is not None and self.report.verdict == "undetermined"

    @property
    def builds(self) -> bool:
        """True if `fix` has an environment to build: not what comes as an image."""
        return self.release is not None and not (self.works or self.undecided or self.release.image)

    @property
    def has_answer(self) -> bool:
        """True if a release is for this machine, or what is installed works or may work."""
        return self.release is not None or self.works or self.undecided

    @property
    def folder(self) -> str:
        """The new environment."""
        return f".venv-{self.framework}"

    @property
    def python(self) -> str:
        """The Python of the new environment: the machine's, else the first of the release."""
        return self.machine.python or next(iter(self.release.pythons if self.release else ()), "3.12")

    @property
    def headline(self) -> str:
        if self.works:
            return f"What you have works: {NAMES[self.framework]} for {self.machine.gfx}. Nothing to do."
        if self.release is None:
            return f"Nothing is known to work for {self.machine.words()} with {NAMES[self.framework]}."
        place = "a container" if self.release.image else "an environment"
        return f"{self.release.name} for {self.machine.words()} ({self.release.grade}), in {place} of its own"

    def packages(self) -> list[tuple[InstallSet, list[str]]]:
        """(installation, requirements) for each command of the release, with the target filled in."""
        groups = self.release.installs if self.release else ()
        return [(group, [name.replace("{gfx}", self.machine.gfx) for name in group.packages]) for group in groups]


def framework_plan(framework: str, machine: Machine, catalog: Catalog, report: Report | None = None) -> FrameworkPlan:
    """The first release that AMD or a source lists for this GPU, system, Python and driver."""
    releases = [release for release in catalog.matrix.section("frameworks", FrameworkRelease) if release.framework == framework]
    here = report is not None and framework in [present.key for present in amd_frameworks(report.snapshot)]
    reasons = [(release, _unfit(release, machine, catalog)) for release in releases]
    fit = next((release for release, why in reasons if not why), None)
    plan = FrameworkPlan(framework, machine, fit, report=report, here=here)
    if fit or plan.works:
        steps = catalog.system_steps(machine.system, machine.gfx, fit.rocm) if fit and not machine.probed else ()
        return msgspec.structs.replace(plan, steps=tuple(step for step in steps if step.framework in ("", framework)))
    against = tuple((f"{release.name}: {why}", release.sources[0]) for release, why in reasons)
    return msgspec.structs.replace(plan, against=against, instead=tuple(_instead(releases, machine, catalog)))


def _unfit(release: FrameworkRelease, machine: Machine, catalog: Catalog) -> str:
    """Why a release is not for a machine; empty where it is."""
    if machine.gfx not in release.gfx:
        return f"listed for {', '.join(release.gfx)}"
    if machine.system not in release.systems:
        return f"for {' and '.join(release.systems)}; no source says that it runs on {machine.system}"
    if machine.python and release.pythons and machine.python not in release.pythons:
        return f"for Python {', '.join(release.pythons)}"
    driver = driver_release(machine.driver, catalog.matrix) if machine.driver not in ("", INBOX) else ""
    if driver and outside(driver, release.rocm, catalog.matrix) == "older":
        return f"the driver {machine.driver} is too old for ROCm {release.rocm}"
    return ""


def _instead(releases: list[FrameworkRelease], machine: Machine, catalog: Catalog) -> Iterator[tuple[str, str]]:
    """(what would run, the command that plans it): the same framework on another Python or on Linux, else torch on this GPU. At
    most one pair."""
    pythons = dict.fromkeys((machine.python, *(python for release in releases for python in release.pythons)))
    for system, python in ((system, python) for system in dict.fromkeys((machine.system, "linux")) for python in pythons):
        driver = machine.driver if system == machine.system else ""
        other = msgspec.structs.replace(machine, system=system, python=python, driver=driver)
        if found := next((release for release in releases if not _unfit(release, other, catalog)), None):
            changes = ["on Linux"] * (system != machine.system) + [f"with Python {python}"] * (python != machine.python)
            at = f" --python {python}" if python else ""
            asked = f"rocm-doctor plan --gpu {machine.gfx} --os {system}{at} --with {found.framework}"
            yield f"{' '.join(changes)}: {found.name}", asked
            return
    if stack := first_stack(machine, catalog):
        again = "" if machine.probed else f" --gpu {machine.gfx} --os {machine.system} --python {machine.python}"
        words = f"PyTorch in place of {NAMES[releases[0].framework]}: {stack.name} ({stack.grade})"
        yield words, f"rocm-doctor plan{again} --with torch"


def installs(plan: FrameworkPlan, tool: Tool = "pip", python: str = "") -> list[Argv]:
    """The commands that install the release, for the interpreter of the new environment."""
    add, _ = verbs(tool, python)
    return [(*add, *names, *(("--index-url", group.index) if group.index else ())) for group, names in plan.packages()]


def script(plan: FrameworkPlan, tool: Tool = "pip") -> Iterator[str]:
    """All commands: the new environment, the installation and the checks; of an image its container."""
    if plan.release and plan.release.image:
        yield f"docker pull {plan.release.image}"
        yield _CONTAINER + plan.release.image
        return
    python = f"{plan.folder}/bin/python"
    yield f"python{plan.python} -m venv {plan.folder}"
    yield from map(shlex.join, installs(plan, tool, python))
    yield f"rocm-doctor check --python {python}"
    yield f"rocm-doctor smoke --framework {plan.framework} --python {python}"


def framework_text(plan: FrameworkPlan, tool: Tool = "pip") -> str:
    """The plan for the terminal."""
    release, summary = plan.release, plan.report.summary if plan.report else ""
    body: list[str] = []
    if plan.undecided:
        body += wrap(f"What you have may work: {summary}.", "", "  ")
        body += [f"  rocm-doctor smoke --framework {plan.framework} tests it on the GPU."]
        if release and release.version in map(plan.machine.installed_version, (plan.framework, f"{plan.framework}-rocm")):
            return "\n".join(body) + "\n"
        body += ["If it does not, this is known to work:"] if release else []
    body += wrap(plan.headline, "", "  ")
    body += wrap(f"check says: {summary}", "  ", "  ") if summary and not (plan.works or plan.undecided) else []
    if release and not plan.works:
        body += wrap(f"{release.words} ({release.grade}; {release.sources[0]})", "  because ", "          ")
        body += wrap(f"needs {release.needs}", "  note    ", "          ") if release.needs else []
        body += ["", *step_lines(plan.steps)] if plan.steps else []
        body += ["", *(f"  {line}" for line in script(plan, tool))]
    for why, cited in plan.against:
        body += wrap(f"{why} ({cited})", "  because ", "          ")
    body += ["", "What would run:"] if plan.instead else []
    for words, command in plan.instead:
        body += [*wrap(words, "  ", "      "), f"    {command}"]
    return "\n".join(body) + "\n"
