"""JAX or TensorFlow for a GPU: an environment or a container of its own beside torch's, from catalog/packages, in every format."""

from __future__ import annotations

import datetime
import shlex
from collections.abc import Callable, Iterator

import msgspec

from rocm_doctor.model import Grade, Report
from rocm_doctor.plan.catalog import Catalog, Step
from rocm_doctor.plan.commands import Argv, Tool, verbs
from rocm_doctor.plan.formats import DEVICES, UnknownFormat
from rocm_doctor.plan.machine import INBOX, Machine
from rocm_doctor.plan.stacks import best
from rocm_doctor.plan.text import wrap
from rocm_doctor.reports.html import document, escape
from rocm_doctor.rules.driver_range import driver_release, outside
from rocm_doctor.rules.frameworks import FRAMEWORKS, amd_frameworks

_RUN = f"docker run --rm -it {DEVICES['linux']} --ipc=host --security-opt seccomp=unconfined"
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
    """The release for a machine; without one `against` has the reasons with their sources, and `instead` what would run. `works`: the
    examined environment has the framework and `check` calls it ready; `undecided`: it does, and `check` finds nothing and leaves something
    open. `summary`: what `check` says otherwise."""

    framework: str
    machine: Machine
    release: FrameworkRelease | None
    against: tuple[tuple[str, str], ...] = ()
    instead: tuple[str, ...] = ()
    works: bool = False
    undecided: bool = False
    summary: str = ""
    steps: tuple[Step, ...] = ()

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
        before = tuple(known.steps_for(machine.system, machine.gfx, fit.rocm)) if fit and not machine.probed else ()
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


def _instead(releases: list[FrameworkRelease], machine: Machine, known: Catalog) -> Iterator[str]:
    """What would run: the same framework on another Python or on Linux, else torch on this GPU."""
    for changes in ({"python": python} for one in releases for python in one.pythons):
        other = msgspec.structs.replace(machine, **changes)
        if found := next((one for one in releases if not _unfit(one, other, known)), None):
            yield f"with Python {other.python}: {found.name}"
            return
    linux = msgspec.structs.replace(machine, system="linux", python="", driver="")
    if machine.system != "linux" and (found := next((one for one in releases if not _unfit(one, linux, known)), None)):
        yield f"on Linux: {found.name}"
    elif stack := best(machine, known):
        yield f"PyTorch in place of {NAMES[releases[0].framework]}: {stack.name} ({stack.grade})"


def installs(plan: FrameworkPlan, tool: Tool = "pip", python: str = "") -> list[Argv]:
    """The commands that install the release, for the interpreter of the new environment."""
    add, _ = verbs(tool, python)
    groups = plan.release.installs if plan.release else ()
    return [(*add, *_packages(one, plan), *(("--index-url", one.index) if one.index else ())) for one in groups]


def _packages(one: Install, plan: FrameworkPlan) -> list[str]:
    return [name.replace("{gfx}", plan.machine.gfx) for name in one.packages]


def _requirements(plan: FrameworkPlan) -> Iterator[str]:
    groups = plan.release.installs if plan.release else ()
    yield from dict.fromkeys(f"--extra-index-url {one.index}" for one in groups if one.index)
    yield from (name for one in groups for name in _packages(one, plan))


def _lines(plan: FrameworkPlan, tool: Tool = "pip") -> list[str]:
    """All commands: the new environment, the installation and the checks; of an image its container."""
    assert plan.release is not None
    if plan.release.image:
        return [f"docker pull {plan.release.image}", f"{_RUN} {plan.release.image}"]
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
    body += ["", "What would run:", *(line for one in plan.instead for line in wrap(one, "  ", "      "))] if plan.instead else []
    return "\n".join(body) + "\n"


def _heading(plan: FrameworkPlan, *, file: bool = False) -> list[str]:
    """Lines of comment. Raises UnknownFormat for the `file` of packages of a release that comes as an image."""
    release = plan.release
    assert release is not None
    if file and release.image:
        raise UnknownFormat(f"{release.name} comes as the image {release.image}; take --format dockerfile or shell")
    needs = [f"# needs {release.needs}"] if release.needs else []
    return [f"# {plan.headline}", f"# {release.words} [{release.sources[0]}]", *needs]


def requirements(plan: FrameworkPlan) -> str:
    """requirements.txt."""
    return "\n".join([*_heading(plan, file=True), *_requirements(plan), ""])


def uv(plan: FrameworkPlan) -> str:
    """pyproject.toml for uv, with ROCm from its own index."""
    head = [
        *_heading(plan, file=True),
        "[project]",
        'name = "training"',
        'version = "0"',
        f'requires-python = "=={_python(plan)}.*"',
    ]
    lines = list(_requirements(plan))
    named = [line if not line.startswith("http") else f"tensorflow-rocm @ {line}" for line in lines if line[0] != "-"]
    indexes = [line.rpartition(" ")[2] for line in lines if line[0] == "-"]
    extra = [line for url in indexes for line in ("", "[[tool.uv.index]]", 'name = "rocm"', f'url = "{url}"')]
    return "\n".join([*head, "dependencies = [", *(f'    "{name}",' for name in named), "]", *extra, ""])


def conda(plan: FrameworkPlan) -> str:
    """environment.yml: Python from conda, the rest from pip."""
    head = ["name: training", "dependencies:", f"  - python={_python(plan)}", "  - pip", "  - pip:"]
    return "\n".join([*_heading(plan, file=True), *head, *(f'      - "{line}"' for line in _requirements(plan)), ""])


def dockerfile(plan: FrameworkPlan) -> str:
    """A Dockerfile on AMD's image, or on a plain Python image where the packages bring their ROCm."""
    heading, release = _heading(plan), plan.release
    assert release is not None
    if release.needs:
        raise UnknownFormat(f"{release.name} needs {release.needs}")
    base = release.image or f"python:{_python(plan)}-slim"
    return "\n".join([*heading, f"# {_RUN} IMAGE", f"FROM {base}", *(f"RUN {shlex.join(argv)}" for argv in installs(plan)), ""])


def shell(plan: FrameworkPlan) -> str:
    """The commands as a script for sh."""
    return "\n".join([*_heading(plan), *_lines(plan), ""])


def as_json(plan: FrameworkPlan) -> str:
    """The plan for programs."""
    names = ("framework", "release", "instead", "works", "undecided")
    body = {"schema_version": 1, **{name: getattr(plan, name) for name in names}}
    body["machine"] = plan.machine.fields()
    body["commands"] = _lines(plan) if plan.release else []
    body["against"] = [{"why": why, "source": cited} for why, cited in plan.against]
    return msgspec.json.format(msgspec.json.encode(body), indent=2).decode() + "\n"


def page(plan: FrameworkPlan) -> str:
    """The plan as a page."""
    return document(f"rocm-doctor plan: {plan.headline}", f"<h1>{escape(plan.headline)}</h1><pre>{escape(text(plan))}</pre>")


FORMATS: dict[str, Callable[[FrameworkPlan], str]] = {
    "text": text, "json": as_json, "html": page, "requirements": requirements, "uv": uv, "conda": conda, "dockerfile": dockerfile, "shell": shell,
}  # fmt: skip
