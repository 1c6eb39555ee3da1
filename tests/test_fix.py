"""`fix` with real virtual environments and tiny wheels of our own: nothing here reaches a network or a GPU.

The examined environment has a CUDA torch, packages of the user, and a module written by hand; the wheels of the plan lie in a
folder, the only place where the installer may look.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import venv as venv_module
import zipfile
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result
from throwaway import contents, wheel

from rocm_doctor.cli import cli, fix
from rocm_doctor.cli.plan import PlanRequest
from rocm_doctor.plan.answer import Plan
from rocm_doctor.plan.environment import InstalledPackage, PythonEnvironment, read_environment
from rocm_doctor.plan.fix import UNFINISHED
from rocm_doctor.plan.variables import PlanVariable

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the layout of the environment is the one of Unix")
OPTIONS = ("--gpu", "gfx906", "--os", "linux", "--train", "lora", "--rocm", "6.3")


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the installer finds: the plan's packages, and those of the user but one."""
    folder = tmp_path_factory.mktemp("wheels")
    wheel(folder, "torch", "2.9.1+rocm6.3", ("pytorch-triton-rocm==3.5.1",), modules=2000)
    for name, version in (("torchvision", "0.24.1+rocm6.3"), ("torchaudio", "2.9.1+rocm6.3"), ("pytorch-triton-rocm", "3.5.1")):
        wheel(folder, name, version)
    for name, version in (("peft", "0.21.2"), ("accelerate", "1.15.0"), ("transformers", "4.40.0"), ("my-work", "0.1")):
        wheel(folder, name, version)
    return folder


@pytest.fixture
def venv(tmp_path: Path, wheels: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment with a CUDA torch."""
    folder = tmp_path / "home" / ".venv"
    venv_module.create(folder, with_pip=False)
    [site] = folder.glob("lib/python*/site-packages")
    old = tmp_path / "old"
    old.mkdir()
    wheel(old, "torch", "2.5.0+cu124", ("nvidia-nccl==2", "triton==3.1"))
    for name, version in (("nvidia-nccl", "2"), ("triton", "3.1"), ("transformers", "4.40.0"), ("my-work", "0.1"), ("gone", "1")):
        wheel(old, name, version)
    for path in old.glob("*.whl"):
        with zipfile.ZipFile(path) as archive:
            archive.extractall(site)
    (site / "by_hand.py").write_text("mine = True\n", encoding="utf-8")
    for name, value in offline(wheels).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(fix, "tool_here", lambda: "pip")
    return folder


def offline(wheels: Path) -> dict[str, str]:
    return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "PIP_NO_CACHE_DIR": "1"}


def run(venv: Path, *more: str) -> Result:
    return CliRunner().invoke(cli, ["fix", "--python", str(venv), *OPTIONS, *more], catch_exceptions=False)


def test_without_apply_the_commands_are_printed_and_nothing_is_made(venv: Path) -> None:
    before = contents(venv)
    done = run(venv)
    assert done.exit_code == 0
    assert "Nothing was run; --apply builds the new environment." in done.output
    lines = [line.strip() for line in done.output.splitlines()]
    new = venv.parent / Plan.folder
    verbs = [line.split()[1:5] for line in lines if line.startswith("$ ")]
    assert [words[:3] for words in verbs] == [
        [f"{venv}/bin/python", "-m", "venv"], *[[f"{new}/bin/python", "-m", "pip"]] * 3
    ]  # fmt: skip
    assert {"my-work==0.1", "gone==1"} <= set(lines), "the user's packages go along"
    assert not {"nvidia-nccl==2", "triton==3.1"} & set(lines), "what the CUDA torch brought does not"
    assert not new.exists()
    assert contents(venv) == before


@pytest.mark.slow
def test_the_new_environment_has_the_plan_and_the_users_packages_and_the_old_one_is_as_it_was(venv: Path) -> None:
    before = contents(venv)
    done = run(venv, "--apply")
    new = venv.parent / Plan.folder
    have = read_environment(str(new / "bin/python")).versions()
    assert have["torch"] == "2.9.1+rocm6.3", done.output
    assert (have["transformers"], have["peft"], have["my-work"]) == ("4.40.0", "0.21.2", "0.1")
    assert "not carried over, as it could not be installed: gone==1" in done.output
    assert f"source {new}/bin/activate" in done.output
    assert not (new / UNFINISHED).exists()
    assert contents(venv) == before
    again = run(venv, "--apply")
    assert again.exit_code == 2
    assert "is there already" in again.output, "nothing is built over an environment that is whole"
    replaced = subprocess.run(
        [new / "bin" / "python", "-m", "pip", "install", "torch==2.5.0"], capture_output=True, text=True, check=False
    )
    assert replaced.returncode != 0, "the pin of the environment keeps its torch"
    assert "constraint" in replaced.stderr + replaced.stdout


@pytest.mark.slow
def test_the_variables_of_the_plan_are_in_the_new_environment_and_set_when_it_is_checked(
    venv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = (PlanVariable("MIOPEN_FIND_MODE", "2", "a reason"), PlanVariable("HSA_XNACK", None, "another"))
    plan = PlanRequest.torch_plan
    monkeypatch.setattr(PlanRequest, "torch_plan", lambda self: msgspec.structs.replace(plan(self), variables=found))
    monkeypatch.setenv("MIOPEN_FIND_MODE", "1")
    monkeypatch.setenv("HSA_XNACK", "1")
    file = venv.parent / Plan.folder / "rocm-variables.sh"
    printed = run(venv).output
    assert f"--apply writes them into {file}" in printed
    assert {"  export MIOPEN_FIND_MODE=2", "  unset HSA_XNACK"} <= set(printed.splitlines())
    assert f"$ . {file}" in run(venv, "--apply").output
    assert (os.environ["MIOPEN_FIND_MODE"], os.environ.get("HSA_XNACK")) == ("2", None), "check runs with them"
    told = subprocess.run(
        ["sh", "-c", f'. {file}; echo "$MIOPEN_FIND_MODE${{HSA_XNACK-none}}"'],
        env={"HSA_XNACK": "1"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert told.stdout == "2none\n"


def test_uv_builds_the_same_environment(venv: Path, wheels: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uv = pytest.importorskip("uv", reason="uv is not installed")
    before = contents(venv)
    monkeypatch.setenv("PATH", os.pathsep.join((str(Path(uv.find_uv_bin()).parent), os.environ["PATH"])))
    for name, value in {"UV_OFFLINE": "1", "UV_FIND_LINKS": str(wheels), "UV_NO_CACHE": "1", "UV_NO_CONFIG": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(fix, "tool_here", lambda: "uv")
    done = run(venv, "--apply")
    have = read_environment(str(venv.parent / Plan.folder / "bin/python")).versions()
    assert (have["torch"], have["peft"], have["my-work"]) == ("2.9.1+rocm6.3", "0.21.2", "0.1"), done.output
    assert "not carried over, as it could not be installed: gone==1" in done.output
    assert contents(venv) == before


@pytest.mark.slow
def test_a_wheel_that_is_missing_leaves_nothing_behind(venv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents(venv)
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "empty"))
    done = run(venv, "--apply")
    assert done.exit_code == 2
    assert "as it was" in done.output
    assert "No matching distribution" in done.output
    assert contents(venv) == before
    assert not (venv.parent / Plan.folder).exists()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_killed_in_the_middle_the_old_environment_is_as_it_was(venv: Path, wheels: Path, number: signal.Signals) -> None:
    """A doctor that can still act removes what it began; after SIGKILL the next one does, and ends well."""
    before = contents(venv)
    new = venv.parent / Plan.folder
    code = "from rocm_doctor.cli import fix, program; fix.tool_here = lambda: 'pip'; program()"
    command = [sys.executable, "-c", code, "fix", "--python", str(venv), *OPTIONS, "--apply"]
    child = subprocess.Popen(command, env={**os.environ, **offline(wheels)}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while not next(new.glob("lib/python*/site-packages/torch/part1*.py"), None) and time.monotonic() < until:
        time.sleep(0.01)
    child.send_signal(number)
    assert child.wait(timeout=30) != 0
    assert contents(venv) == before
    assert new.exists() == (number == signal.SIGKILL)
    if new.exists():
        assert (new / UNFINISHED).exists()
        time.sleep(0.5)
        assert run(venv, "--apply").exit_code == 0
        assert read_environment(str(new / "bin/python")).versions()["torch"] == "2.9.1+rocm6.3"


def test_what_is_no_python_is_refused(tmp_path: Path) -> None:
    done = run(tmp_path / "nowhere")
    assert done.exit_code == 2
    assert "no Python found" in done.output


def test_where_nothing_is_to_be_installed_nothing_is_done(venv: Path) -> None:
    """The plan's own environment: `fix` leaves it alone, also with --apply."""
    [site] = venv.glob("lib/python*/site-packages")
    for name in ("torch", "triton", "nvidia_nccl"):
        [old] = site.glob(f"{name}-*.dist-info")
        old.rename(site / f"was-{name}")
    for name, version in (("torch", "2.9.1+rocm6.3"), ("peft", "0.21.2"), ("accelerate", "1.15.0")):
        (site / f"{name}-{version}.dist-info").mkdir()
        (site / f"{name}-{version}.dist-info" / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )
    done = run(venv, "--apply")
    assert done.exit_code == 0
    assert "Nothing to install" in done.output
    assert not (venv.parent / Plan.folder).exists()


def test_what_torch_alone_brought_is_left_behind_and_what_others_need_is_not() -> None:
    packages = (
        InstalledPackage("torch", "2.5.0", "", ("sympy", "numpy", "nvidia_nccl")),
        InstalledPackage("nvidia-nccl", "2"), InstalledPackage("sympy", "1"), InstalledPackage("numpy", "2"),
        InstalledPackage("My.Work", "1", "-e /home/me/work", ("numpy", "Torch")), InstalledPackage("pip", "25"), InstalledPackage("peft", "0.1"),
    )  # fmt: skip
    place = PythonEnvironment("/v", "/usr", "/v/bin/python", "3.12", packages)
    assert [one.requirement() for one in place.packages_to_carry(["peft"])] == ["numpy==2", "-e /home/me/work"]
