"""lint, plan, env, fix and check agree for every target: what one proposes the others accept."""

from __future__ import annotations

import datetime
import re
from functools import cache
from pathlib import Path

import pytest
from machines import NODES, env, judge, open_nodes

from rocm_doctor.lint import readers
from rocm_doctor.lint.declared import Target
from rocm_doctor.lint.judge import lint
from rocm_doctor.matrix import load
from rocm_doctor.matrix.hip import hip_of_rocm
from rocm_doctor.model import Artifact, Finding
from rocm_doctor.plan.answer import Plan, answer
from rocm_doctor.plan.catalog import known
from rocm_doctor.plan.commands import install, package_requirements, torch_requirements
from rocm_doctor.plan.formats import FORMATS
from rocm_doctor.plan.judging import companions
from rocm_doctor.plan.machine import declared
from rocm_doctor.plan.packages import wished

MATRIX = load()
PYTHON = "3.12"
FILES = {"requirements": "requirements_DOT_txt", "dockerfile": "Dockerfile"}
"""Formats of a plan that are files of a repository, and their names."""


@cache
def planned(gfx: str, train: str = "lora") -> Plan:
    return answer(declared(gfx, PYTHON, MATRIX), known(MATRIX), wished((), train))


SERVED = [gfx for gfx in MATRIX.gfx if planned(gfx).best]


def linted(root: Path, gfx: str, **files: str) -> list[Finding]:
    for name, text in files.items():
        (root / name.replace("_DOT_", ".")).write_text(text, encoding="utf-8")
    report = lint(
        readers.read(root), [Target("t", gfx, python=PYTHON)], MATRIX, name="repository x", today=datetime.date(2026, 11, 22)
    )
    return [f for f in report.findings if f.severity != "note"]


def node(gfx: str) -> list[Artifact]:
    chip = MATRIX.gfx[gfx]
    text = (
        f"simd_count 128\nsimd_per_cu {4 if chip.wavefront == 64 else 2}\nwave_front_size {chip.wavefront}\n"
        f"gfx_target_version {chip.kfd}\nvendor_id 4098\nlocation_id 256\ndomain 0\ncpu_cores_count 0\n"
    )
    return [Artifact(f"{NODES}/1/gpu_id", "bundle", "1001"), Artifact(f"{NODES}/1/properties", "bundle", text)]


def test_most_targets_have_a_plan() -> None:
    """Else the tests below would say little."""
    assert len(SERVED) >= len(MATRIX.gfx) / 2


@pytest.mark.parametrize("form", FILES)
@pytest.mark.parametrize("gfx", SERVED)
def test_lint_accepts_what_plan_proposes(gfx: str, form: str, tmp_path: Path) -> None:
    plan = planned(gfx)
    found = linted(tmp_path, gfx, **{FILES[form]: FORMATS[form](plan)})
    if form == "requirements":  # such a file holds no variables: lint then asks for the very one that env prints
        settings = [f"{v.name}={v.value}" for v in plan.variables]
        found = [f for f in found if not any(setting in f.title for setting in settings)]
    assert [f"{f.id} {f.row}: {f.title}" for f in found] == []


@pytest.mark.parametrize("gfx", SERVED)
def test_check_accepts_what_plan_and_env_propose(gfx: str) -> None:
    """The machine as probes would read it once the plan was followed: packages, version file, variables."""
    plan = planned(gfx)
    assert plan.best
    build = plan.best.candidate.build
    version = build.local or build.torch
    packages = {"torch": version, **companions(plan.best.candidate), **{n: one.version for n, one in plan.best.packages.items()}}
    if plan.best.candidate.index.extras:
        packages[f"amd-torch-device-{gfx}"] = version
    listing = "".join(f"{name}=={number}\n" for name, number in packages.items() if number)
    hip = hip_of_rocm(build.rocm, MATRIX.rocm) or "7.0.0"
    report = judge(
        node(gfx),
        open_nodes(),
        [
            Artifact("py/torch/version.py", "bundle", f"__version__ = '{version}'\ncuda = None\nhip = '{hip}.1'\n"),
            Artifact("py/packages", "bundle", listing),
        ],
        env(**{v.name: v.value for v in plan.variables if v.value is not None}),
    )
    assert [f"{f.id} {f.row}: {f.title}" for f in report.findings if f.severity != "note"] == []


@pytest.mark.parametrize("gfx", SERVED)
def test_plan_accepts_what_lint_proposes(gfx: str, tmp_path: Path) -> None:
    """The build that lint names for a plain torch is one that plan would install, with the packages of the repository."""
    found = linted(tmp_path, gfx, requirements_DOT_txt="torch>=2.3\npeft\ntransformers\n")
    text = "\n".join([command.text for f in found for command in f.commands] + [f.advice for f in found])
    builds = {s.candidate.build.local or s.candidate.build.torch for s in planned(gfx).stacks}
    named = set(re.findall(r"torch(?:\[[\w,-]+\])?==([\w.+]+)", text))
    assert {one.rstrip(".") for one in named} <= builds


@pytest.mark.parametrize("gfx", SERVED)
def test_fix_installs_what_plan_shows(gfx: str) -> None:
    plan = planned(gfx)
    assert plan.best
    words = {word for command in install(plan.best, plan.machine, "pip", "/venv/bin/python") for word in command}
    wanted = {*torch_requirements(plan.best.candidate, plan.machine), *package_requirements(plan.best, built=False)}
    assert wanted <= words
