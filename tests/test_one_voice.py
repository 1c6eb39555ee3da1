"""lint, plan, env, fix and check agree for every target on every system: what one proposes the others accept, and where nothing is
known to work, none proposes a build. A fifth of them by default, all with the slow tests.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest
from called import called
from machines import NODES, env, judge, open_nodes

from rocm_doctor.lint.judge import lint
from rocm_doctor.lint.model import LintTarget, Problem
from rocm_doctor.matrix import load
from rocm_doctor.matrix.hip import hip_of_rocm
from rocm_doctor.model import Artifact, Finding
from rocm_doctor.plan.answer import Plan, answer
from rocm_doctor.plan.catalog import System, load_catalog, order_packages
from rocm_doctor.plan.commands import install, package_requirements, torch_requirements
from rocm_doctor.plan.formats import render
from rocm_doctor.plan.machine import declare_machine
from rocm_doctor.plan.stack_judge import companions
from rocm_doctor.plan.variables import variable_lines

MATRIX = load()
PYTHON = "3.12"


@cache
def planned(gfx: str, system: System, train: str = "lora") -> Plan:
    return answer(
        declare_machine(gfx, PYTHON, MATRIX, system), load_catalog(MATRIX), order_packages((), train, load_catalog(MATRIX))
    )


SYSTEMS: tuple[System, ...] = ("linux", "windows", "wsl")
SPACE = [(gfx, system) for system in SYSTEMS for gfx in MATRIX.gfx]


def linted(root: Path, gfx: str, system: System, **files: str) -> list[Problem]:
    for name, text in files.items():
        (root / name.replace("_DOT_", ".")).write_text(text, encoding="utf-8")
    found = lint(root, [LintTarget("t", gfx, python=PYTHON, os=system)], MATRIX)
    return [p for p in found.problems if p.severity != "note"]


def proposed(problems: Iterable[Problem], findings: Iterable[Finding]) -> set[str]:
    """The torch builds that lint and check say to install."""
    text = "\n".join(
        [
            *(hint for p in problems for hint in p.hints),
            *(line for f in findings for line in (*(c.text for c in f.commands), f.advice)),
        ]
    )
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


@pytest.mark.slow
def test_most_targets_have_a_plan_on_linux_and_some_elsewhere() -> None:
    """Else the test below would say little."""
    count = Counter(system for gfx, system in SPACE if planned(gfx, system).best)
    assert count["linux"] >= len(MATRIX.gfx) / 2
    assert count["windows"] >= 10
    assert count["wsl"] >= 5
    assert all(count[system] < len(MATRIX.gfx) for system in SYSTEMS)


@pytest.mark.parametrize(
    ("gfx", "system"),
    [pytest.param(*one, marks=[pytest.mark.slow] * (zlib.crc32("-".join(one).encode()) % 5 > 0)) for one in SPACE],
)
def test_what_one_proposes_the_others_accept(gfx: str, system: System, tmp_path: Path) -> None:
    plan = planned(gfx, system)
    found = linted(tmp_path, gfx, system, requirements_DOT_txt="torch>=2.3\npeft\ntransformers\n")
    checked = judge(machine(gfx, system), with_torch("2.15.0+cu130", None, "13.0")).findings
    assert "version.torch-not-rocm" in {f.id for f in checked}
    builds = {s.candidate.build.local or s.candidate.build.torch for s in plan.stacks} if plan.best else set()
    assert proposed(found, checked) <= builds, (
        "lint and check propose for a plain torch, or a CUDA build, what plan would install"
    )
    if plan.best:
        lint_accepts(plan, tmp_path)
        check_accepts(plan)
        fix_installs(plan)
        env_prints(gfx, system)
    else:
        all_say_that_nothing_is_known(gfx, system)


def lint_accepts(plan: Plan, folder: Path) -> None:
    gfx, system = plan.machine.gfx, plan.machine.system
    found = linted(folder, gfx, system, requirements_DOT_txt=render("requirements", plan))
    # Such a file holds no variables: lint then asks for the very one that env prints.
    settings = [f"{v.name}={v.value}" for v in plan.variables]
    found = [f for f in found if not any(setting in f.title for setting in settings)]
    assert [f"{f.id} {f.row}: {f.title}" for f in found] == []


def check_accepts(plan: Plan) -> None:
    """The machine as probes would read it once the plan was followed: packages, version file, variables."""
    assert plan.best
    gfx, system, build = plan.machine.gfx, plan.machine.system, plan.best.candidate.build
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


def fix_installs(plan: Plan) -> None:
    assert plan.best
    words = {word for command in install(plan.best, plan.machine, "pip", "/venv/bin/python") for word in command}
    wanted = {*torch_requirements(plan.best.candidate, plan.machine), *package_requirements(plan.best)}
    assert wanted <= words


def env_prints(gfx: str, system: System) -> None:
    done = called("env", "--gpu", gfx, "--os", system, "--python", PYTHON)
    assert done.returncode == 0
    assert done.stdout.splitlines() == variable_lines(
        planned(gfx, system, "").variables, "powershell" if system == "windows" else "sh"
    )


def all_say_that_nothing_is_known(gfx: str, system: System) -> None:
    """plan and fix say why, and env prints no line that a shell would take."""
    asked = ("--gpu", gfx, "--os", system, "--python", PYTHON)
    plan, variables = called("plan", *asked), called("env", *asked)
    assert (plan.returncode, plan.stdout.startswith("Nothing is known to work for")) == (1, True)
    assert (variables.returncode, variables.stdout) == (1, "")
    assert "othing is known to work" in variables.stderr
