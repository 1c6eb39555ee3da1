"""The gate where docs/ci.md tells people to run it: the action, the hook, GitLab's job, a Dockerfile's RUN in a root of its own."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from called import called
from environments import environment
from test_lint_ci import gitlab_job, included

ROOT = Path(__file__).resolve().parents[1]
ACTION = ROOT / ".github" / "actions" / "rocm-doctor"
HEALTHY, CUDA = {"torch": "2.9.1+rocm6.4"}, {"torch": "2.9.1"}
TARGETS = "targets:\n  card: {gpu: gfx1100}\n  accelerator: {gpu: MI300X}\n"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / "docs" / "ci.md").read_text("utf-8"), re.S)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository that declares two targets, with the command on PATH as an installed package would give it."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "rocm-doctor"
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m rocm_doctor "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "rocm-doctor.yaml").write_text(TARGETS)
    return tmp_path / "repo"


def run(command: list[str], project: Path, **env: str) -> subprocess.CompletedProcess[str]:
    whole = {**os.environ, "PATH": f"{project.parent / 'bin'}:{os.environ['PATH']}", **env}
    return subprocess.run(command, capture_output=True, text=True, cwd=project, env=whole, timeout=120, check=False)


@pytest.mark.parametrize(
    ("packages", "gpu", "code", "verdict"),
    [
        (CUDA, "gfx1100", 1, "problems"),
        (HEALTHY, "gfx1100\ngfx906", 1, "problems"),
        (HEALTHY, "", 0, "ready"),
    ],
)
def test_the_action_judges_an_environment(project: Path, packages: dict[str, str], gpu: str, code: int, verdict: str) -> None:
    environment(project / ".venv", packages)
    base = project.parent
    env = {"RUNNER_TEMP": str(base), "GITHUB_STEP_SUMMARY": str(base / "s.md"), "GITHUB_OUTPUT": str(base / "out"),
           "ENVIRONMENT": ".venv", "GPU": gpu}  # fmt: skip
    done = run(["bash", str(ACTION / "judge.sh")], project, **env)
    assert done.returncode == code, done.stdout + done.stderr
    assert (base / "out").read_text() == f"verdict={verdict}\n"
    assert "has code for" in (base / "s.md").read_text() or "is a CUDA build" in (base / "s.md").read_text()
    assert ("::error title=" in done.stdout) is bool(code)
    assert ("gfx942" in done.stdout) is (not gpu)


@pytest.mark.parametrize(("packages", "code"), [(HEALTHY, 0), (CUDA, 1)])
def test_the_hook_judges_the_projects_environment_for_its_targets(
    project: Path, packages: dict[str, str], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks: list[dict[str, Any]] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    hook = next(one for one in hooks if one["id"] == "rocm-doctor-check")
    environment(project / ".venv", packages)
    monkeypatch.chdir(project)
    program, *words = hook["entry"].split()
    done = called(*words, *hook["args"])
    assert program == "rocm-doctor"
    assert done.returncode == code, done.stdout + done.stderr
    assert done.stdout.count("\n✓" if code == 0 else "\n✗ for gfx") == 2
    assert (hook["pass_filenames"], hook["always_run"]) == (False, True)


def test_the_gitlab_job_writes_its_report(project: Path) -> None:
    job = gitlab_job(**next(one for one in included() if one))["rocm-doctor"]
    environment(project / ".venv", CUDA)
    done = run(["bash", "-c", job["script"][-1].replace("/tmp/rocm-doctor/bin/", "")], project)
    assert done.returncode == 1, done.stderr
    assert (project / job["artifacts"]["reports"]["junit"]).read_text().count("<testsuite ") == 2


def test_the_workflow_names_inputs_of_the_action() -> None:
    inputs = yaml.safe_load((ACTION / "action.yml").read_text("utf-8"))["inputs"]
    jobs = [job for block in blocks("yaml") if "jobs:" in block for job in yaml.safe_load(block)["jobs"].values()]
    given = [
        key for job in jobs for step in job["steps"] if "rocm-doctor@" in step.get("uses", "") for key in step.get("with", {})
    ]
    assert "environment" in given
    assert set(given) <= set(inputs)


def enters_roots() -> bool:
    """True if this user may have a file system root of its own here."""
    return (
        sys.platform == "linux" and subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode == 0
    )


@pytest.mark.skipif(not enters_roots(), reason="the kernel gives this user no namespaces")
@pytest.mark.parametrize(
    ("packages", "variables", "words"),
    [
        (HEALTHY, {}, "✓ this environment has code for gfx1100: torch 2.9.1+rocm6.4"),
        (
            HEALTHY,
            {"HSA_OVERRIDE_GFX_VERSION": "10.3.0"},
            "✗ for gfx1100: HSA_OVERRIDE_GFX_VERSION=10.3.0 makes gfx1100 load gfx1030 code",
        ),
    ],
)
def test_the_run_of_a_dockerfile_judges_the_image_with_its_variables(
    tmp_path: Path, packages: dict[str, str], variables: dict[str, str], words: str
) -> None:
    """A root that has this system's programs and libraries, the doctor, and an environment of its own."""
    image = tmp_path / "image"
    environment(image / "opt" / "venv", packages)
    (image / "etc").mkdir()
    (image / "etc" / "os-release").write_text('PRETTY_NAME="An Image 1.0"\n')
    [command] = re.findall(r"/tmp/doctor/bin/rocm-doctor (check .*?) &&", "".join(blocks("dockerfile")))
    shown = dict.fromkeys(
        [
            "/usr",
            "/lib",
            "/lib64",
            "/bin",
            "/dev",
            "/proc",
            str(ROOT),
            sys.prefix,
            sys.base_prefix,
            *filter(os.path.isdir, sys.path),
        ]
    )
    places = [path for path in shown if Path(path).is_dir()]
    binds = "".join(f"mkdir -p '{image}{path}' && mount --rbind '{path}' '{image}{path}'\n" for path in places)
    settings = " ".join(f"{key}={value}" for key, value in variables.items())
    inside = f"cd / && env -i PATH=/usr/bin:/bin PYTHONPATH={ROOT} {settings} {sys.executable} -m rocm_doctor {command} -v"
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-ec", f"{binds} exec chroot '{image}' /bin/sh -c '{inside}'"],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == ("✗" in words), done.stdout + done.stderr
    assert words in " ".join(done.stdout.split())
    assert "os: An Image 1.0" in done.stdout
