"""lint, plan, env, fix and check agree for every target on every system: what one proposes the others accept, and where nothing is
known to work, none proposes a build.
"""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from machines import NODES, env, judge, open_nodes

from rocm_doctor.cli import cli
from rocm_doctor.lint import readers
from rocm_doctor.lint.declared import Target
from rocm_doctor.lint.judge import lint
from rocm_doctor.matrix import load
from rocm_doctor.matrix.hip import hip_of_rocm
from rocm_doctor.model import Artifact, Finding
from rocm_doctor.plan.answer import Plan, answer
from rocm_doctor.plan.catalog import System, known
from rocm_doctor.plan.commands import install, package_requirements, torch_requirements
from rocm_doctor.plan.formats import FORMATS
from rocm_doctor.plan.judging import companions
from rocm_doctor.plan.machine import declared
from rocm_doctor.plan.packages import wished
from rocm_doctor.plan.text import variables_text

MATRIX = load()
PYTHON = "3.12"
FILES = {"requirements": "requirements_DOT_txt", "dockerfile": "Dockerfile"}
"""Formats of a plan that are files of a repository, and their names."""


@cache
def planned(gfx: str, system: System, train: str = "lora") -> Plan:
    return answer(declared(gfx, PYTHON, MATRIX, system), known(MATRIX), wished((), train, known(MATRIX)))


SYSTEMS: tuple[System, ...] = ("linux", "windows", "wsl")
SPACE = [(gfx, system) for system in SYSTEMS for gfx in MATRIX.gfx]
SERVED = [one for one in SPACE if planned(*one).best]
UNSERVED = [one for one in SPACE if not planned(*one).best]
served = pytest.mark.parametrize(("gfx", "system"), SERVED)
unserved = pytest.mark.parametrize(("gfx", "system"), UNSERVED)


def linted(root: Path, gfx: str, system: System, **files: str) -> list[Finding]:
    for name, text in files.items():
        (root / name.replace("_DOT_", ".")).write_text(text, encoding="utf-8")
    report = lint(
        readers.read(root),
        [Target("t", gfx, python=PYTHON, os=system)],
        MATRIX,
        name="repository x",
        today=datetime.date(2026, 11, 22),
    )
    return [f for f in report.findings if f.severity != "note"]


def proposed(findings: Iterable[Finding]) -> set[str]:
    """The torch builds that findings say to install."""
    text = "\n".join(line for f in findings for line in (*(c.text for c in f.commands), f.advice))
    return {one.rstrip(".") for one in re.findall(r"torch(?:\[[\w,-]+\])?==([\w.+]+)", text)}


def machine(gfx: str, system: System) -> list[Artifact]:
    """A healthy machine as probes read it: what each system shows of the GPU, and access to it."""
    chip = MATRIX.gfx[gfx]
    if system == "windows":
        text = f"device# 0\nName: AMD Radeon\nwarpSize: {chip.wavefront}\ngcnArchName: {gfx}\n"
        return [
            Artifact("cmd/hipInfo", "bundle", text),
            Artifact("py/interpreter", "bundle", f"version: {PYTHON}.1\nplatform: win32\n"),
        ]
    if system == "wsl":
        agents = (
            f"ROCk module is loaded\nHSA Agents\n*******\nAgent 2\n*******\n  Name: {gfx}\n  Device Type: GPU\n*** Done ***\n"
        )
        return [
            Artifact("proc/sys/kernel/osrelease", "bundle", "6.6.87.2-microsoft-standard-WSL2\n"),
            Artifact("dev/dxg", "bundle", "exists: yes\n"),
            Artifact("cmd/rocminfo", "bundle", agents),
        ]
    text = (
        f"simd_count 128\nsimd_per_cu {4 if chip.wavefront == 64 else 2}\nwave_front_size {chip.wavefront}\n"
        f"gfx_target_version {chip.kfd}\nvendor_id 4098\nlocation_id 256\ndomain 0\ncpu_cores_count 0\n"
    )
    return [
        Artifact(f"{NODES}/1/gpu_id", "bundle", "1001"),
        Artifact(f"{NODES}/1/properties", "bundle", text),
        *open_nodes(),
    ]


def with_torch(version: str, hip: str | None, cuda: str | None = None) -> list[Artifact]:
    text = f"__version__ = '{version}'\ncuda = {cuda!r}\nhip = {hip!r}\n"
    return [Artifact("py/torch/version.py", "bundle", text)]


def ran(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments), catch_exceptions=False)


def test_most_targets_have_a_plan_on_linux_and_some_elsewhere() -> None:
    """Else the tests below would say little."""
    count = Counter(system for _, system in SERVED)
    assert count["linux"] >= len(MATRIX.gfx) / 2
    assert count["windows"] >= 10
    assert count["wsl"] >= 5
    assert {system for _, system in UNSERVED} == {*SYSTEMS}


@pytest.mark.parametrize("form", FILES)
@served
def test_lint_accepts_what_plan_proposes(gfx: str, system: System, form: str, tmp_path: Path) -> None:
    if form == "dockerfile" and system == "windows":
        pytest.skip("a Dockerfile is for Linux")
    plan = planned(gfx, system)
    found = linted(tmp_path, gfx, system, **{FILES[form]: FORMATS[form](plan)})
    if form == "requirements":  # such a file holds no variables: lint then asks for the very one that env prints
        settings = [f"{v.name}={v.value}" for v in plan.variables]
        found = [f for f in found if not any(setting in f.title for setting in settings)]
    assert [f"{f.id} {f.row}: {f.title}" for f in found] == []


@served
def test_check_accepts_what_plan_and_env_propose(gfx: str, system: System) -> None:
    """The machine as probes would read it once the plan was followed: packages, version file, variables."""
    plan = planned(gfx, system)
    assert plan.best
    build = plan.best.candidate.build
    version = build.local or build.torch
    packages = {"torch": version, **companions(plan.best.candidate), **{n: one.version for n, one in plan.best.packages.items()}}
    if plan.best.candidate.index.extras:
        packages[f"amd-torch-device-{gfx}"] = version
    listing = "".join(f"{name}=={number}\n" for name, number in packages.items() if number)
    hip = hip_of_rocm(build.rocm, MATRIX.rocm) or "7.0.0"
    report = judge(
        machine(gfx, system),
        with_torch(version, f"{hip}.1"),
        [Artifact("py/packages", "bundle", listing)],
        env(**{v.name: v.value for v in plan.variables if v.value is not None}),
    )
    assert [g.get("gfx").value for g in report.snapshot.gpus] == [gfx]
    assert [f"{f.id} {f.row}: {f.title}" for f in report.findings if f.severity != "note"] == []


@served
def test_plan_accepts_what_lint_and_check_propose(gfx: str, system: System, tmp_path: Path) -> None:
    """The build that they name for a plain torch, or instead of a CUDA build, is one that plan would install."""
    found = linted(tmp_path, gfx, system, requirements_DOT_txt="torch>=2.3\npeft\ntransformers\n")
    checked = judge(machine(gfx, system), with_torch("2.15.0+cu130", None, "13.0")).findings
    assert "version.torch-not-rocm" in {f.id for f in checked}
    builds = {s.candidate.build.local or s.candidate.build.torch for s in planned(gfx, system).stacks}
    assert proposed((*found, *checked)) <= builds


@served
def test_fix_installs_what_plan_shows(gfx: str, system: System) -> None:
    plan = planned(gfx, system)
    assert plan.best
    words = {word for command in install(plan.best, plan.machine, "pip", "/venv/bin/python") for word in command}
    wanted = {*torch_requirements(plan.best.candidate, plan.machine), *package_requirements(plan.best, built=False)}
    assert wanted <= words


@served
def test_env_prints_what_plan_sets(gfx: str, system: System) -> None:
    done = ran("env", "--gpu", gfx, "--os", system, "--python", PYTHON)
    assert done.exit_code == 0
    wanted = variables_text(planned(gfx, system, "").variables, "powershell" if system == "windows" else "bash")
    assert done.stdout == wanted


@unserved
def test_where_nothing_is_known_all_say_so(gfx: str, system: System, tmp_path: Path) -> None:
    """No build is named by lint and check, plan and fix say why, and env prints no line that a shell would take."""
    found = linted(tmp_path, gfx, system, requirements_DOT_txt="torch>=2.3\npeft\ntransformers\n")
    checked = judge(machine(gfx, system), with_torch("2.15.0+cu130", None, "13.0")).findings
    assert "version.torch-not-rocm" in {f.id for f in checked}
    assert proposed((*found, *checked)) == set()
    asked = ("--gpu", gfx, "--os", system, "--python", PYTHON)
    plan, variables = ran("plan", *asked), ran("env", *asked)
    assert (plan.exit_code, plan.stdout.startswith("Nothing is known to work for")) == (1, True)
    assert (variables.exit_code, variables.stdout) == (1, "")
    assert "othing is known to work" in variables.stderr
