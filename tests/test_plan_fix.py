"""`fix` with a real virtual environment and tiny wheels of our own: nothing here reaches a network or a GPU."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rocm_doctor.cli import cli
from rocm_doctor.plan.fix import RECORD, EnvironmentProblem, apply, environment, installed, undo, undoing, writable

pip = pytest.importorskip("pip", reason="the environments of these tests borrow the pip that runs here")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the layout of the environment is the one of Unix")


def wheel(folder: Path, name: str, version: str, requires: tuple[str, ...] = ()) -> None:
    """A wheel with one empty module, as small as pip takes it."""
    dist = f"{name.replace('-', '_')}-{version}"
    needs = "".join(f"Requires-Dist: {r}\n" for r in requires)
    files = {
        f"{name.replace('-', '_')}.py": f"version = {version!r}\n",
        f"{dist}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
        f"{dist}.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},,\n" for path in files) + f"{dist}.dist-info/RECORD,,\n"
    with zipfile.ZipFile(folder / f"{dist}-py3-none-any.whl", "w") as archive:
        for path, text in {**files, f"{dist}.dist-info/RECORD": record}.items():
            archive.writestr(path, text)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheels")
    wheel(folder, "torch", "2.5.0+cu124")
    wheel(folder, "torch", "2.9.1+rocm6.3", ("pytorch-triton-rocm==3.5.1",))
    for name, version in (("torchvision", "0.24.1+rocm6.3"), ("torchaudio", "2.9.1+rocm6.3"), ("pytorch-triton-rocm", "3.5.1")):
        wheel(folder, name, version)
    for name, version in (("transformers", "5.23.0"), ("transformers", "4.40.0"), ("peft", "0.21.2"), ("accelerate", "1.15.0")):
        wheel(folder, name, version)
    return folder


@pytest.fixture
def venv(tmp_path: Path, wheels: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment of its own with a CUDA torch. Its pip is the one that runs here, linked, and sees only our wheels."""
    folder = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    site = next(folder.glob("lib/python*/site-packages"))
    for place in Path(str(pip.__file__)).parents[1].glob("pip*"):
        if place.name == "pip" or place.suffix == ".dist-info":
            (site / place.name).symlink_to(place)
    for name in ("torch-2.5.0+cu124", "transformers-4.40.0"):
        with zipfile.ZipFile(wheels / f"{name}-py3-none-any.whl") as archive:
            archive.extractall(site)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    return folder


def fix(venv: Path, *more: str) -> Result:
    options = ["fix", "--python", str(venv), "--gpu", "gfx906", "--os", "linux", "--train", "lora", "--index", "rocm6.3"]
    return CliRunner().invoke(cli, [*options, *more], catch_exceptions=False)


def packages(venv: Path) -> set[str]:
    return {line for line in installed(environment(str(venv))) if not line.startswith("pip==")}


BEFORE = {"torch==2.5.0+cu124", "transformers==4.40.0"}


def test_dry_run_changes_nothing(venv: Path) -> None:
    done = fix(venv)
    assert done.exit_code == 0
    assert "torch==2.9.1+rocm6.3" in done.output
    assert "nothing was run" in done.output
    assert "replaces torch 2.5.0+cu124 by 2.9.1+rocm6.3" in done.output
    assert not (venv / RECORD).exists()
    assert packages(venv) == BEFORE


def test_apply_installs_records_and_undo_brings_back(venv: Path) -> None:
    before = packages(venv)
    done = fix(venv, "--apply")
    assert done.exit_code == 0, done.output
    after = packages(venv)
    assert {"torch==2.9.1+rocm6.3", "torchvision==0.24.1+rocm6.3", "transformers==5.23.0", "peft==0.21.2"} <= after
    record = json.loads((venv / RECORD).read_text(encoding="utf-8"))
    assert record["runs"][0]["state"] == "done"
    assert "torch==2.5.0+cu124" in record["runs"][0]["before"]
    assert [c["returncode"] for c in record["runs"][0]["commands"]] == [0, 0, 0]

    again = fix(venv, "--apply")
    assert again.exit_code == 0, "a plan can be applied twice"
    assert packages(venv) == after

    for _ in range(2):
        assert fix(venv, "--undo", "--apply").exit_code == 0
    assert packages(venv) == before
    assert [r["state"] for r in json.loads((venv / RECORD).read_text(encoding="utf-8"))["runs"]] == ["undone", "undone"]
    assert fix(venv, "--undo", "--apply").exit_code == 2, "nothing is left to undo"


def test_undo_is_shown_before_it_is_done(venv: Path) -> None:
    assert fix(venv, "--apply").exit_code == 0
    shown = fix(venv, "--undo")
    assert "torch==2.5.0+cu124" in shown.output
    assert "torch==2.9.1+rocm6.3" in packages(venv)


def test_a_failed_command_stops_and_can_be_undone(venv: Path, wheels: Path) -> None:
    place = writable(str(venv))
    before = packages(venv)
    said: list[str] = []
    pip = (place.executable, "-m", "pip", "install")
    commands = [(*pip, "peft==0.21.2"), (*pip, "no-such-package==1"), (*pip, "accelerate==1.15.0")]
    ran = apply(place, commands, "stack", "", said.append)
    assert ran.state == "failed"
    assert [c.returncode == 0 for c in ran.commands] == [True, False]
    assert any("no-such-package" in line for line in said)
    assert undo(place, said.append).state == "undone"
    assert packages(venv) == before


def test_a_system_python_is_refused() -> None:
    """An interpreter outside of any environment, without running anything that could change it."""
    base = Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    if not base.exists():
        pytest.skip("the base interpreter is elsewhere")
    with pytest.raises(EnvironmentProblem, match="no virtual environment"):
        writable(str(base))


def test_what_is_no_python_is_refused(tmp_path: Path) -> None:
    done = fix(tmp_path / "nowhere")
    assert done.exit_code == 2
    assert "no Python that answers" in done.output


def test_a_broken_record_is_not_overwritten(venv: Path) -> None:
    (venv / RECORD).write_text("{", encoding="utf-8")
    done = fix(venv, "--apply")
    assert done.exit_code == 2
    assert RECORD in done.output
    assert (venv / RECORD).read_text(encoding="utf-8") == "{"


def test_undoing_removes_what_came_and_pins_what_was(venv: Path) -> None:
    from rocm_doctor.plan.fix import Run

    place = environment(str(venv))
    last = Run("2026-01-01", "stack", "done", ("torch==2.5.0+cu124", "Foo_Bar==1"), index="https://example.org/simple")
    remove, back = undoing(place, last, ("torch==2.9.1+rocm6.3", "foo-bar==1", "peft==0.21.2"))
    assert remove[-1] == "peft"
    assert {"torch==2.5.0+cu124", "--no-deps"} <= set(back)
