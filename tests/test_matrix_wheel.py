"""The matrix as a distribution of its own: really built wheels, a new one beside an old tool and the reverse."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import click
import pytest

from rocm_doctor.matrix import load, store
from rocm_doctor.matrix.installed import SCHEMAS, label

ROOT = Path(__file__).parents[1]
NEW, OLD = "2027.1.5", "2026.1.1"
ROW = """
- key: later-row
  diagnosis: lib.aiter
  title: a row that only the newer matrix has
  when: {pkg.amd-aiter: set}
  status: degraded
  grade: upstream
  layer: package
  cause: "No cause: it exists for a test."
  advice: Do nothing.
  sources: [https://github.com/ROCm/aiter/issues/1552]
  checked: 2026-11-29
"""


def built(project: Path, out: Path) -> Path:
    """The wheel of a project, built in this environment."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)],
        cwd=project, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    return next(out.glob("*.whl"))


@pytest.fixture(scope="module")
def tool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(ROOT, tmp_path_factory.mktemp("tool"))


def matrix_wheel(folder: Path, version: str) -> Path:
    data = folder / "compat_matrix"
    shutil.copytree(ROOT / "compat_matrix", data, ignore=shutil.ignore_patterns("reports", "measured"))
    (data / "VERSION").write_text(f"{version}\nrows {SCHEMAS[0]}\n")
    with (data / "rows/libraries/aiter.yaml").open("a") as rows:
        rows.write(ROW)
    return built(data, folder / "dist")


@pytest.fixture(scope="module")
def later(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return matrix_wheel(tmp_path_factory.mktemp("later"), NEW)


def site(folder: Path, *wheels: Path) -> Path:
    """A folder of packages with these wheels, as an installer unpacks them."""
    packages = folder / "site-packages"
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(packages)
    return packages


def with_tool(packages: Path) -> Path:
    """The folder with the package of this checkout in it, as a wheel has it."""
    load()  # which compiles the matrix
    shutil.copytree(ROOT / "rocm_doctor", packages / "rocm_doctor")
    return packages


def doctor(packages: Path, *words: str, cwd: Path | None = None) -> tuple[int, str, str]:
    ended = subprocess.run(
        [sys.executable, "-m", "rocm_doctor", *words],
        env={**os.environ, "PYTHONPATH": str(packages)}, cwd=cwd or packages.parent, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    return ended.returncode, ended.stdout, ended.stderr


def rewritten(packages: Path, data: dict[str, object], schema: int = SCHEMAS[0]) -> None:
    """Other data in the installed matrix, with a checksum that is right."""
    text = json.dumps({**data, "schema": schema}).encode()
    (packages / "rocm_doctor_matrix/matrix.json").write_bytes(text)
    (packages / "rocm_doctor_matrix/VERSION").write_text(label(NEW, schema, text))


def test_the_wheel_holds_data_alone(later: Path) -> None:
    assert later.name.startswith(f"rocm_doctor_matrix-{NEW}-")
    with zipfile.ZipFile(later) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        version, rows, digest = archive.read("rocm_doctor_matrix/VERSION").decode().split("\n")[:3]
        data = archive.read("rocm_doctor_matrix/matrix.json")
    assert names == {"rocm_doctor_matrix/__init__.py", "rocm_doctor_matrix/VERSION", "rocm_doctor_matrix/matrix.json"}
    assert (version, rows, digest) == (NEW, f"rows {SCHEMAS[0]}", f"sha256 {hashlib.sha256(data).hexdigest()}")


def test_a_newer_matrix_beside_an_older_tool_is_used(later: Path, tmp_path: Path) -> None:
    packages = with_tool(site(tmp_path, later))
    code, out, err = doctor(packages, "--version")
    assert (code, err) == (0, "")
    assert f"matrix {NEW}" in out
    assert f"from rocm-doctor-matrix in {packages / 'rocm_doctor_matrix'}" in out
    assert "a row that only the newer matrix has" in doctor(packages, "explain", "later-row")[1]


@pytest.mark.slow
def test_an_older_matrix_beside_a_newer_tool_is_not_used(tool: Path, tmp_path: Path) -> None:
    packages = site(tmp_path, tool, matrix_wheel(tmp_path, OLD))
    code, out, err = doctor(packages, "--version")
    assert (code, err) == (0, "")
    assert OLD not in out
    assert "the copy inside the tool" in out


@pytest.mark.slow
def test_a_tool_of_the_oldest_schema_reads_data_with_fields_and_sections_that_came_later(
    tool: Path, later: Path, tmp_path: Path
) -> None:
    packages = site(tmp_path, tool, later)
    data = json.loads((packages / "rocm_doctor_matrix/matrix.json").read_bytes())
    for part in (
        *data["rows"],
        *data["gfx"],
        *data["torch"],
        *data["support"],
        *data["packages"],
        *data["indexes"],
        *data["steps"],
    ):
        part["came_later"] = {"since": 2027}
    data["section_of_later"] = [{"name": "new"}]
    rewritten(packages, data)
    assert f"matrix {NEW}" in doctor(packages, "--version")[1]
    code, out, err = doctor(packages, "plan", "--gpu", "gfx1100", "--format", "json")
    assert (code, err) == (0, "")
    assert json.loads(out)
    assert doctor(packages, "explain", "gfx1100", "-v")[0] == 0


@pytest.mark.parametrize("harm", ["schema", "damaged", "foreign", "gone", "link"])
def test_what_cannot_be_used_is_refused_in_one_line_and_the_copy_is_used(harm: str, later: Path, tmp_path: Path) -> None:
    packages = site(tmp_path, later)
    beside = packages / "rocm_doctor_matrix"
    if harm == "schema":
        rewritten(packages, json.loads((beside / "matrix.json").read_bytes()), SCHEMAS[-1] + 1)
    elif harm == "damaged":
        (beside / "matrix.json").write_bytes((beside / "matrix.json").read_bytes()[:-7])
    elif harm == "foreign":
        (beside / "VERSION").write_text("1.0\n")
    elif harm == "gone":
        (beside / "matrix.json").unlink()
    else:
        (beside / "matrix.json").unlink()
        (beside / "matrix.json").symlink_to("/dev/zero")
    matrix = store._load_compiled(beside)
    assert (matrix.place, matrix.version) == ("", load().version)
    assert "\n" not in matrix.refused
    wanted = {"schema": "update rocm-doctor", "damaged": "is damaged", "foreign": "is not the matrix of rocm-doctor"}
    assert wanted.get(harm, "cannot be read") in matrix.refused


def test_a_folder_of_that_name_where_the_user_stands_is_no_matrix(later: Path, tmp_path: Path) -> None:
    packages = with_tool(tmp_path / "tool")
    here = site(tmp_path / "here", later).rename(tmp_path / "my-training")
    assert "the copy inside the tool" in doctor(packages, "--version", cwd=here)[1]


@pytest.mark.slow
def test_the_update_is_one_command(tool: Path, later: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env/bin/python"
    packages = next((tmp_path / "env/lib").glob("python*/site-packages"))
    (packages / "others.pth").write_text(f"{Path(click.__file__).parents[1]}\n")
    offline = {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(later.parent), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    offline.pop("PYTHONPATH", None)

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [python, *words], env=offline, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=True
        )

    run("-m", "pip", "install", "--no-deps", str(tool))
    assert f"matrix {NEW}" not in run("-m", "rocm_doctor", "--version").stdout
    run("-m", "pip", "install", "--upgrade", "rocm-doctor-matrix")
    assert f"matrix {NEW}" in run("-m", "rocm_doctor", "--version").stdout
