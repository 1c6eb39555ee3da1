"""JAX or TensorFlow for a GPU: an environment or a container of its own beside torch's, from catalog/packages."""

from __future__ import annotations

import datetime
import shlex
from collections.abc import Iterator
from typing import Any

import msgspec

from rocm_doctor.model import Grade, Report
from rocm_doctor.plan.catalog import Catalog, Step
from rocm_doctor.plan.commands import Argv, Tool, verbs
from rocm_doctor.plan.files import Contents, container
from rocm_doctor.plan.machine import INBOX, Machine
from rocm_doctor.plan.stacks import best
from rocm_doctor.plan.text import wrap
from rocm_doctor.rules.driver_range import driver_release, outside
from rocm_doctor.rules.frameworks import FRAMEWORKS, amd_frameworks

NAMES = {one.key: one.name for one in FRAMEWORKS}


class Install(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
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
    installs: tuple[Install, ...] = ()
    image: str = ""
    needs: str = ""

    @property
    def name(self) -> str:
        """How it is spoken of: `JAX 0.11.1 with ROCm 10.1.0`."""
        return f"{NAMES[self.framework]} {self.version} with ROCm {self.rocm}"


class FrameworkPlan(msgspec.Struct, frozen=True):
    """The release for a machine; without one `against` has the reasons with their sources, and `instead` what would run, with the command that plans it. `works`: the
    examined environment has the framework and `check` calls it ready; `undecided`: it does, and `check` finds nothing and leaves something
    open. `summary`: what `check` says otherwise."""

    framework: str
    machine: Machine
    release: FrameworkRelease | None
    against: tuple[tuple[str, str], ...] = ()
    instead: tuple[tuple[str, str], ...] = ()
    works: bool = False
    undecided: bool = False
    summary: str = ""
    steps: tuple[Step, ...] = ()

    @property
    def builds(self) -> bool:
        """True if `fix` has an environment to build: not what comes as an image."""
        return self.release is not None and not (self.works or self.undecided or self.release.image)

    @property
    def has_answer(self) -> bool:
        """True if a release is for this machine, or what is installed works or may work."""
        return self.release is not None or self.works or self.undecided

    @property
    def is_installed(self) -> bool:
        """True if the release is the one that is installed."""
        names = (self.framework, f"{self.framework}-rocm")
        return self.release is not None and self.release.version in map(self.machine.installed, names)

    @property
    def folder(self) -> str:
        """The new environment."""
        return f".venv-{self.framework}"

    @property
    def headline(self) -> str:
        """The answer in one sentence."""
        if self.works:
            return f"What you have works: {NAMES[self.framework]} for {self.machine.gfx}. Nothing to do."
        if self.release is None:
            return f"Nothing is known to work for {self.machine.words()} with {NAMES[self.framework]}."
        place = "a container" if self.release.image else "an environment"
        return f"{self.release.name} for {self.machine.words()} ({self.release.grade}), in {place} of its own"


def framework_plan(framework: str, machine: Machine, known: Catalog, report: Report | None = None) -> FrameworkPlan:
    """The first release that AMD or a source lists for this GPU, system, Python and driver."""
    releases = [one for one in known.matrix.section("frameworks", FrameworkRelease) if one.framework == framework]
    here = report is not None and framework in [one.key for one in amd_frameworks(report.snapshot)]
    works, undecided = (here and report is not None and report.verdict == verdict for verdict in ("ready", "undetermined"))
    summary = report.summary if report and not works else ""
    reasons = [(one, _unfit(one, machine, known)) for one in releases]
    fit = next((one for one, why in reasons if not why), None)
    if fit or works:
        steps = known.system_steps(machine.system, machine.gfx, fit.rocm) if fit and not machine.probed else ()
        before = tuple(one for one in steps if one.framework in ("", framework))
        return FrameworkPlan(framework, machine, fit, works=works, undecided=undecided, summary=summary, steps=before)
    against = tuple((f"{one.name}: {why}", one.sources[0]) for one, why in reasons)
    return FrameworkPlan(
        framework, machine, None, against, tuple(_instead(releases, machine, known)), undecided=undecided, summary=summary
    )


def _unfit(one: FrameworkRelease, machine: Machine, known: Catalog) -> str:
    """Why a release is not for a machine; empty where it is."""
    if machine.gfx not in one.gfx:
        return f"listed for {', '.join(one.gfx)}"
    if machine.system == "windows" or (machine.system == "wsl" and one.image):
        return "for Linux alone"
    if machine.python and one.pythons and machine.python not in one.pythons:
        return f"for Python {', '.join(one.pythons)}"
    driver = driver_release(machine.driver, known.matrix) if machine.driver not in ("", INBOX) else ""
    if driver and outside(driver, one.rocm, known.matrix) == "older":
        return f"the driver {machine.driver} is too old for ROCm {one.rocm}"
    return ""


def _instead(releases: list[FrameworkRelease], machine: Machine, known: Catalog) -> Iterator[tuple[str, str]]:
    """What would run, and the command that plans it: the same framework on another Python or on Linux, else torch on this GPU."""
    asked = f"rocm-doctor plan --gpu {machine.gfx} --with {releases[0].framework}"
    for changes in ({"python": python} for one in releases for python in one.pythons):
        other = msgspec.structs.replace(machine, **changes)
        if found := next((one for one in releases if not _unfit(one, other, known)), None):
            yield f"with Python {other.python}: {found.name}", f"{asked} --python {other.python}"
            return
    linux = msgspec.structs.replace(machine, system="linux", python="", driver="")
    if machine.system != "linux" and (found := next((one for one in releases if not _unfit(one, linux, known)), None)):
        yield f"on Linux: {found.name}", f"{asked} --os linux"
    elif stack := best(machine, known):
        again = "" if machine.probed else f" --gpu {machine.gfx} --os {machine.system} --python {machine.python}"
        words = f"PyTorch in place of {NAMES[releases[0].framework]}: {stack.name} ({stack.grade})"
        yield words, f"rocm-doctor plan{again} --with torch"


def installs(plan: FrameworkPlan, tool: Tool = "pip", python: str = "") -> list[Argv]:
    """The commands that install the release, for the interpreter of the new environment."""
    add, _ = verbs(tool, python)
    groups = plan.release.installs if plan.release else ()
    return [(*add, *_packages(one, plan), *(("--index-url", one.index) if one.index else ())) for one in groups]


def _packages(one: Install, plan: FrameworkPlan) -> list[str]:
    return [name.replace("{gfx}", plan.machine.gfx) for name in one.packages]


def _lines(plan: FrameworkPlan, tool: Tool = "pip") -> list[str]:
    """All commands: the new environment, the installation and the checks; of an image its container."""
    assert plan.release is not None
    if plan.release.image:
        return [f"docker pull {plan.release.image}", container("linux", plan.release.image)]
    python = f"{plan.folder}/bin/python"
    return [
        f"python{_python(plan)} -m venv {plan.folder}",
        *(shlex.join(argv) for argv in installs(plan, tool, python)),
        f"rocm-doctor check --python {python}",
        f"rocm-doctor smoke --framework {plan.framework} --python {python}",
    ]


def _python(plan: FrameworkPlan) -> str:
    return plan.machine.python or next(iter(plan.release.pythons if plan.release else ()), "3.12")


def text(plan: FrameworkPlan, tool: Tool = "pip") -> str:
    """The plan for the terminal."""
    body = wrap(f"What you have may work: {plan.summary}.", "", "  ") if plan.undecided else []
    body += [f"  rocm-doctor smoke --framework {plan.framework} tests it on the GPU."] if plan.undecided else []
    if plan.undecided and plan.is_installed:
        return "\n".join(body) + "\n"
    body += ["If it does not, this is known to work:"] if plan.undecided and plan.release else []
    body += wrap(plan.headline, "", "  ")
    body += wrap(f"check says: {plan.summary}", "  ", "  ") if plan.summary and not plan.undecided else []
    release = plan.release
    if release and not plan.works:
        body += wrap(f"{release.words} ({release.grade}; {release.sources[0]})", "  because ", "          ")
        body += wrap(f"needs {release.needs}", "  note    ", "          ") if release.needs else []
        for step in plan.steps:
            body += wrap(f"{step.words} ({step.sources[0]})", "  first   ", "          ")
            body += [f"            {command}" for command in step.commands]
        body += ["", *(f"  {line}" for line in _lines(plan, tool))]
    for why, cited in plan.against:
        body += wrap(f"{why} ({cited})", "  because ", "          ")
    body += ["", "What would run:"] if plan.instead else []
    for words, command in plan.instead:
        body += [*wrap(words, "  ", "      "), f"    {command}"]
    return "\n".join(body) + "\n"


def contents(plan: FrameworkPlan) -> Contents:
    """What the files of the release hold."""
    release = plan.release
    assert release is not None
    bound, plain = (
        [name for one in release.installs if bool(one.index) == of for name in _packages(one, plan)] for of in (True, False)
    )
    unfit = dict.fromkeys(
        ("requirements", "uv", "conda"), f"{release.name} comes as the image {release.image}; take --format dockerfile"
    )
    unfit = unfit if release.image else {"dockerfile": f"{release.name} needs {release.needs}"} if release.needs else {}
    return Contents(
        heading=[
            plan.headline,
            f"{release.words} [{release.sources[0]}]",
            *([f"needs {release.needs}"] if release.needs else []),
        ],
        python=_python(plan),
        source=next((one.index for one in release.installs if one.index), ""),
        bound=bound,
        plain=plain,
        installs=installs(plan),
        script=_lines(plan),
        image=release.image,
        unfit=unfit,
    )


def as_document(plan: FrameworkPlan) -> dict[str, Any]:
    """The plan for programs."""
    return {
        **{name: getattr(plan, name) for name in ("framework", "release", "instead", "works", "undecided")},
        "machine": plan.machine.fields(),
        "commands": _lines(plan) if plan.release else [],
        "against": [{"why": why, "source": cited} for why, cited in plan.against],
    }
