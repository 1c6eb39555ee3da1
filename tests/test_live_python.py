"""The examined interpreter, found from files: virtual environments, conda, user folders, and shims that must be started."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from faketools import script, write

from rocm_doctor.model import Artifact
from rocm_doctor.sources.live.python import Interpreter, locate, python_files

ROOT = Path("/")
VERSION_PY = "__version__ = '2.9.1+rocm6.4'\nhip = '6.4.43484'\n"


def packages(*names: str, under: Path) -> None:
    for name in names:
        (under / f"{name}.dist-info").mkdir(parents=True, exist_ok=True)


def tripwire(path: Path) -> Path:
    """A python that tells on us when it is started."""
    return script(path.parent, path.name, f"#!/bin/sh\ntouch {path}.started\n")


def venv(folder: Path, config: str = "home = /usr/bin\nversion = 3.12.3\n") -> Path:
    python = tripwire(folder / "bin/python")
    write(folder, {"pyvenv.cfg": config})
    (folder / "lib/python3.12/site-packages").mkdir(parents=True)
    return python


def found(python: Path, **env: str) -> Interpreter:
    got = locate(str(python), ROOT, env)
    assert isinstance(got, Interpreter)
    return got


def listing(artifacts: list[Artifact], name: str) -> str:
    return next(a.text for a in artifacts if a.name == name)


@pytest.mark.parametrize("given", ["bin/python", "."])
def test_a_virtual_environment_is_not_started(tmp_path: Path, given: str) -> None:
    python = venv(tmp_path / "env")
    site = tmp_path / "env/lib/python3.12/site-packages"
    packages("torch-2.9.1+rocm6.4", "peft-0.21.2", under=site)
    got = python_files(str(tmp_path / "env" / given), ROOT, {})
    assert listing(got, "py/packages") == "peft==0.21.2\ntorch==2.9.1+rocm6.4\n"
    assert "version: 3.12.3\n" in listing(got, "py/interpreter")
    assert f"prefix: {tmp_path / 'env'}\nbase_prefix: /usr\n" in listing(got, "py/interpreter")
    assert not Path(f"{python}.started").exists()


def test_uv_writes_its_version_differently(tmp_path: Path) -> None:
    python = venv(tmp_path / "env", "home = /opt/python/bin\nversion_info = 3.12.7.final.0\nuv = 0.5.1\n")
    assert found(python).version == "3.12.7"


def test_system_packages_come_after_the_environments_own(tmp_path: Path) -> None:
    base = tmp_path / "base"
    packages("numpy-1.0", "only_there-3.0", under=base / "lib/python3.12/site-packages")
    python = venv(tmp_path / "env", f"home = {base}/bin\nversion = 3.12.3\ninclude-system-site-packages = true\n")
    packages("numpy-2.0", under=tmp_path / "env/lib/python3.12/site-packages")
    assert listing(python_files(str(python), ROOT, {}), "py/packages") == "numpy==2.0\nonly_there==3.0\n"


def test_conda_by_the_name_of_its_program(tmp_path: Path) -> None:
    real = tripwire(tmp_path / "conda/bin/python3.11")
    (tmp_path / "conda/bin/python").symlink_to("python3.11")
    (tmp_path / "conda/lib/python3.11/site-packages").mkdir(parents=True)
    got = found(tmp_path / "conda/bin/python")
    assert (got.version, got.prefix) == ("3.11", str(tmp_path / "conda"))
    assert not Path(f"{real}.started").exists()


def test_user_packages_come_first_without_an_environment(tmp_path: Path) -> None:
    tripwire(tmp_path / "usr/bin/python3.11")
    packages("torch-2.0", under=tmp_path / "usr/lib/python3.11/site-packages")
    packages("torch-2.9.1+rocm6.4", under=tmp_path / "home/.local/lib/python3.11/site-packages")
    python = str(tmp_path / "usr/bin/python3.11")
    assert listing(python_files(python, ROOT, {"HOME": str(tmp_path / "home")}), "py/packages") == "torch==2.9.1+rocm6.4\n"
    assert (
        listing(python_files(python, ROOT, {"HOME": str(tmp_path / "home"), "PYTHONNOUSERSITE": "1"}), "py/packages")
        == "torch==2.0\n"
    )


def test_a_shim_is_asked(tmp_path: Path) -> None:
    """pyenv's python is a shell script far from any library: only a start tells."""
    shim = script(tmp_path / "shims", "python", f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    got = found(shim)
    assert got.version == ".".join(map(str, sys.version_info[:3]))
    assert any(Path(folder).is_dir() for folder in got.folders)


@pytest.mark.parametrize(("text", "why"), [("#!/bin/sh\necho nonsense\n", "unparsed"), ("#!/bin/sh\nexit 9\n", "unparsed")])
def test_what_is_no_python_is_said(tmp_path: Path, text: str, why: str) -> None:
    (got,) = python_files(str(script(tmp_path / "x", "python", text)), ROOT, {})
    assert (got.name, got.missing) == ("py/interpreter", why)


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    (got,) = python_files(str(tmp_path / "nowhere"), ROOT, {})
    assert got.missing == "absent-source"
    assert "give the path of an interpreter" in got.note


def test_torch_by_its_files(tmp_path: Path) -> None:
    python = venv(tmp_path / "env")
    site = tmp_path / "env/lib/python3.12/site-packages"
    head = "Metadata-Version: 2.1\nName: torch\nRequires-Dist: rocm[libraries]==7.10.0\n"
    write(site, {
        "torch/version.py": VERSION_PY, "torch/_rocm_init.py": "x = 1\n",
        "torch-2.9.1+rocm6.4.dist-info/METADATA": head + "\nA long description\n",
    })  # fmt: skip
    got = python_files(str(python), ROOT, {})
    assert listing(got, "py/torch/version.py") == VERSION_PY
    assert listing(got, "py/torch-2.9.1+rocm6.4.dist-info/METADATA") == head
    assert listing(got, "py/torch/_rocm_init.py") == "x = 1\n"


def test_no_torch_is_an_answer(tmp_path: Path) -> None:
    got = python_files(str(venv(tmp_path / "env")), ROOT, {})
    absent = next(a for a in got if a.name == "py/torch/version.py")
    assert absent.missing == "absent-source"
    assert "no torch in" in absent.note


@pytest.mark.parametrize(
    ("record", "line"),
    [
        ("torch-2.10.0a0+rocm7.11.0a20260106.dist-info", "torch==2.10.0a0+rocm7.11.0a20260106"),
        ("pytorch_triton_rocm-3.5.1+gitbfeb0668.dist-info", "pytorch_triton_rocm==3.5.1+gitbfeb0668"),
        ("PyYAML-6.0-py3.11.egg-info", "PyYAML==6.0"),
        ("amd_torch_device_gfx110X_all-2.9.0.dist-info", "amd_torch_device_gfx110X_all==2.9.0"),
        ("ruamel.yaml-0.18.6.dist-info", "ruamel.yaml==0.18.6"),
    ],
)
def test_names_of_records(tmp_path: Path, record: str, line: str) -> None:
    python = venv(tmp_path / "env")
    (tmp_path / "env/lib/python3.12/site-packages" / record).mkdir()
    assert listing(python_files(str(python), ROOT, {}), "py/packages") == f"{line}\n"


def test_two_records_of_one_package_are_both_told(tmp_path: Path) -> None:
    """A broken upgrade leaves the old record behind; it is evidence."""
    python = venv(tmp_path / "env")
    packages("torch-2.8.0", "torch-2.9.1", under=tmp_path / "env/lib/python3.12/site-packages")
    assert listing(python_files(str(python), ROOT, {}), "py/packages") == "torch==2.8.0\ntorch==2.9.1\n"


def test_our_own_interpreter() -> None:
    got = python_files(None, ROOT, {})
    assert f"executable: {sys.executable}\n" in listing(got, "py/interpreter")
    assert "pytest==" in listing(got, "py/packages")
