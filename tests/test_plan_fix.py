"""`fix` with a real virtual environment and tiny wheels of our own: nothing here reaches a network or a GPU.

The wheels of the old torch lie in one folder and those of the new one in another, which is the only one that pip can see: what
was there before cannot be had again from anywhere.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from throwaway import borrow_pip, contents, wheel

from rocm_doctor.cli import cli
from rocm_doctor.plan.environment import EnvironmentProblem, environment, installed, writable
from rocm_doctor.plan.fix import apply, undo
from rocm_doctor.plan.journal import FOLDER, RECORD, Run

pytest.importorskip("pip", reason="the environments of these tests borrow the pip that runs here")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the layout of the environment is the one of Unix")


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("old")
    for name, version in (("torch", "2.5.0+cu124"), ("transformers", "4.40.0"), ("my-work", "0.1")):
        wheel(folder, name, version)
    return folder


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("new")
    wheel(folder, "torch", "2.9.1+rocm6.3", ("pytorch-triton-rocm==3.5.1",))
    for name, version in (("torchvision", "0.24.1+rocm6.3"), ("torchaudio", "2.9.1+rocm6.3"), ("pytorch-triton-rocm", "3.5.1")):
        wheel(folder, name, version)
    for name, version in (("transformers", "5.23.0"), ("peft", "0.21.2"), ("accelerate", "1.15.0")):
        wheel(folder, name, version)
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, old: Path) -> Path:
    """An environment with a CUDA torch and a module written by hand. Its pip is the one that runs here, linked."""
    folder = tmp_path_factory.mktemp("made") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    site = borrow_pip(folder)
    for path in old.glob("*.whl"):
        with zipfile.ZipFile(path) as archive:
            archive.extractall(site)
    (site / "by_hand.py").write_text("mine = True\n", encoding="utf-8")
    return folder


@pytest.fixture
def venv(tmp_path: Path, made: Path, new: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it to change, which sees only the new wheels."""
    return copied(made, tmp_path, new, monkeypatch)


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory, made: Path, new: Path) -> Path:
    """The environment after `fix --apply`."""
    with pytest.MonkeyPatch.context() as patch:
        folder = copied(made, tmp_path_factory.mktemp("changed"), new, patch)
        done = fix(folder, "--apply")
    assert done.exit_code == 0, done.output
    return folder


@pytest.fixture
def fixed(tmp_path: Path, changed: Path, new: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it."""
    return copied(changed, tmp_path, new, monkeypatch)


def copied(environment: Path, folder: Path, new: Path, patch: pytest.MonkeyPatch) -> Path:
    """A copy in `folder`, and pip kept to the new wheels."""
    for name, value in offline(new).items():
        patch.setenv(name, value)
    return Path(shutil.copytree(environment, folder / "venv", symlinks=True))


def offline(new: Path) -> dict[str, str]:
    return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(new), "PIP_NO_CACHE_DIR": "1"}


def fix(venv: Path, *more: str) -> Result:
    options = ["fix", "--python", str(venv), "--gpu", "gfx906", "--os", "linux", "--train", "lora", "--index", "rocm6.3"]
    return CliRunner().invoke(cli, [*options, *more], catch_exceptions=False)


def packages(venv: Path) -> set[str]:
    return {line for line in installed(environment(str(venv))) if not line.startswith("pip==")}


BEFORE = {"torch==2.5.0+cu124", "transformers==4.40.0", "my-work==0.1"}


def test_dry_run_changes_nothing(venv: Path) -> None:
    done = fix(venv)
    assert done.exit_code == 0
    assert "torch==2.9.1+rocm6.3" in done.output
    assert "nothing was run" in done.output
    assert "replaces torch 2.5.0+cu124 by 2.9.1+rocm6.3" in done.output
    assert not (venv / FOLDER).exists()
    assert packages(venv) == BEFORE
    downloads_come_first(done.output)


def downloads_come_first(shown: str) -> None:
    """Everything is downloaded before anything is removed."""
    lines = [line.split() for line in shown.splitlines() if " -m pip " in line]
    verbs = [line[3] for line in lines]
    assert verbs == ["download", "download", "uninstall", "install", "install"]
    indexes = [line[line.index("--index-url") + 1] if "--index-url" in line else "" for line in lines if line[3] == "download"]
    assert indexes == ["https://download.pytorch.org/whl/rocm6.3", ""], (
        "torch from its own index, its packages from the default one"
    )
    assert all("--no-index" in line for line in lines if line[3] == "install")


@pytest.mark.slow
def test_undo_needs_neither_an_index_nor_a_network(fixed: Path, made: Path) -> None:
    """The old build is in no index that pip can see; what was edited or installed by hand comes back as well."""
    venv = fixed
    after = packages(venv)
    assert {"torch==2.9.1+rocm6.3", "torchvision==0.24.1+rocm6.3", "transformers==5.23.0", "peft==0.21.2"} <= after
    record = json.loads((venv / RECORD).read_text(encoding="utf-8"))
    assert record["runs"][0]["state"] == "done"
    assert "torch==2.5.0+cu124" in record["runs"][0]["before"]
    assert [c["returncode"] for c in record["runs"][0]["commands"]] == [0, 0, 0, 0, 0]

    again = fix(venv, "--apply")
    assert again.exit_code == 0
    assert "nothing to do" in again.output, "a plan can be applied twice"

    done = fix(venv, "--undo", "--apply")
    assert done.exit_code == 0, done.output
    assert contents(venv) == contents(made)
    assert json.loads((venv / RECORD).read_text(encoding="utf-8"))["runs"][0]["state"] == "undone"
    assert fix(venv, "--undo", "--apply").exit_code == 2, "nothing is left to undo"


@pytest.mark.slow
def test_undo_is_shown_before_it_is_done(fixed: Path) -> None:
    shown = fix(fixed, "--undo")
    assert "torch==2.5.0+cu124" in shown.output
    assert "torch==2.9.1+rocm6.3" in packages(fixed)


@pytest.mark.slow
def test_undo_without_what_was_kept_removes_nothing(fixed: Path) -> None:
    after = packages(fixed)
    (fixed / FOLDER / "before-0").rename(fixed / "elsewhere")
    done = fix(fixed, "--undo", "--apply")
    assert done.exit_code == 2
    assert "is gone" in done.output
    assert packages(fixed) == after


@pytest.mark.slow
@pytest.mark.parametrize("broken", ["torch", "peft"])
def test_a_download_that_fails_leaves_the_environment_alone(
    venv: Path, new: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    """Offline, in short: one wheel cannot be had, of the first command or of the last."""
    part = tmp_path / "part"
    part.mkdir()
    for path in new.glob("*.whl"):
        if not path.name.startswith(broken + "-"):
            (part / path.name).symlink_to(path)
    monkeypatch.setenv("PIP_FIND_LINKS", str(part))
    before = contents(venv)
    done = fix(venv, "--apply")
    assert done.exit_code == 1
    assert "as it was before" in done.output
    assert contents(venv) == before


def test_a_failed_command_brings_back_what_was_there(venv: Path) -> None:
    place = writable(str(venv))
    before = contents(venv)
    said: list[str] = []
    pip = (place.executable, "-m", "pip")
    commands = [
        (*pip, "uninstall", "-y", "torch", "transformers"),
        (*pip, "install", "--no-build-isolation", "no-such-package==1"),
    ]
    ran = apply(place, commands, "stack", said.append)
    assert ran.state == "failed"
    assert [c.returncode == 0 for c in ran.commands] == [True, False]
    assert any("no-such-package" in line for line in said)
    assert contents(venv) == before
    with pytest.raises(EnvironmentProblem, match="no applied plan to undo"):
        undo(place, said.append)


@pytest.mark.slow
def test_a_second_fix_waits_for_no_one(venv: Path) -> None:
    """One lock for each environment."""
    import fcntl

    (venv / FOLDER).mkdir()
    with (venv / FOLDER / "lock").open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = fix(venv, "--apply")
    assert done.exit_code == 2
    assert "another rocm-doctor fix" in done.output
    assert packages(venv) == BEFORE


def test_a_system_python_is_refused() -> None:
    """An interpreter outside of any environment, without running anything that could change it."""
    base = Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    if not base.exists():
        pytest.skip("the base interpreter is elsewhere")
    with pytest.raises(EnvironmentProblem, match="not in a virtual environment"):
        writable(str(base))


def test_what_is_no_python_is_refused(tmp_path: Path) -> None:
    done = fix(tmp_path / "nowhere")
    assert done.exit_code == 2
    assert "no Python found" in done.output


def test_a_broken_record_is_not_overwritten(venv: Path) -> None:
    (venv / FOLDER).mkdir()
    (venv / RECORD).write_text("{", encoding="utf-8")
    done = fix(venv, "--apply")
    assert done.exit_code == 2
    assert RECORD in done.output
    assert (venv / RECORD).read_text(encoding="utf-8") == "{"


@pytest.mark.slow
def test_a_run_says_which_folders_it_keeps(changed: Path) -> None:
    [run] = json.loads((changed / RECORD).read_text(encoding="utf-8"))["runs"]
    assert any(tree.endswith("site-packages") for tree in run["kept"])
    assert "bin" in run["kept"]
    assert set(Run.__struct_fields__) >= set(run)
