"""`rocm-doctor audit` as a person types it."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from forge_binaries import gpu_bundle, library
from test_binaries_audit import torch_env

from rocm_doctor.cli.audit import command


def run(*words: object) -> Result:
    return CliRunner().invoke(command, [str(w) for w in words])


def test_table_of_a_folder(tmp_path: Path) -> None:
    result = run(torch_env(tmp_path))
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert max(map(len, lines)) <= 100
    torch = next(line for line in lines if line.startswith("torch "))
    assert torch.split()[1:] == ["libtorch_hip.so", "(gfx906)", "gfx1100"]
    assert any("bitsandbytes loads bitsandbytes/libbitsandbytes_rocm64.so" in line for line in lines)


def test_gpu_marks_the_holes_and_sets_the_exit_code(tmp_path: Path) -> None:
    result = run(torch_env(tmp_path), "--gpu", "gfx906")
    assert result.exit_code == 1
    assert "rocblas       torch/lib/rocblas/library" in result.output
    assert result.output.splitlines()[-1] == "gfx906: no code in bitsandbytes, flash-attn, other, rocblas"


def test_gpu_that_everything_serves(tmp_path: Path) -> None:
    (tmp_path / "one.so").write_bytes(library(gpu_bundle("gfx1100", "gfx10-3-generic")))
    assert run(tmp_path, "--gpu", "gfx1100").exit_code == 0
    served = run(tmp_path / "one.so", "--gpu", "gfx1036", "--format", "json")
    assert served.exit_code == 0
    assert json.loads(served.output)["gpus"] == {"gfx1036": {"one.so": True}}


def test_override_is_judged(tmp_path: Path) -> None:
    (tmp_path / "one.so").write_bytes(library(gpu_bundle("gfx1030")))
    assert run(tmp_path, "--gpu", "gfx1032").exit_code == 1
    result = run(tmp_path, "--gpu", "gfx1032", "--override", "10.3.0")
    assert result.exit_code == 0
    assert "under HSA_OVERRIDE_GFX_VERSION=10.3.0" in result.output


def test_damage_is_undetermined_under_strict(tmp_path: Path) -> None:
    (tmp_path / "one.so").write_bytes(library(gpu_bundle("gfx1030"))[:-100])
    result = run(tmp_path, "--gpu", "gfx1100")
    assert result.exit_code == 0
    assert "not read completely: one.so" in result.output
    assert run(tmp_path, "--gpu", "gfx1100", "--strict").exit_code == 3


def test_json_to_a_file(tmp_path: Path) -> None:
    site = torch_env(tmp_path / "site")
    result = run(site, "--format", "json", "-o", tmp_path / "audit.json", "--gpu", "gfx906")
    assert (result.exit_code, result.output) == (1, "")
    body = json.loads((tmp_path / "audit.json").read_text(encoding="utf-8"))
    assert "torch/lib/rocblas/library" in body["missing"]["gfx906"]
    assert body["audit"]["bitsandbytes"]["path"] == "bitsandbytes/libbitsandbytes_rocm64.so"


def test_a_wheel(tmp_path: Path) -> None:
    wheel = tmp_path / "bitsandbytes-0.50.2-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bitsandbytes/libbitsandbytes_rocm64.so", library(gpu_bundle("gfx1100")))
        archive.writestr("bitsandbytes/libbitsandbytes_rocm72.so", library(gpu_bundle("gfx1100", "gfx1201")))
    assert run(wheel, "--gpu", "gfx1201").exit_code == 1


def test_environment_of_another_python(tmp_path: Path) -> None:
    (tmp_path / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.11.7\n", encoding="utf-8")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").write_text("", encoding="utf-8")
    torch_env(tmp_path / "lib/python3.11/site-packages")
    result = run(tmp_path, "--gpu", "gfx1100", "--format", "json")
    body = json.loads(result.output)
    assert body["audit"]["kind"] == "environment"
    assert body["gpus"]["gfx1100"]["torch/lib/libtorch_hip.so"] is True


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["no-such-place"], "no-such-place"),
        ([".", "--gpu", "Radeon"], "gfx1100"),
        ([".", "--override", "gfx1030"], "10.3.0"),
        (["--python", "no-such-python"], "no-such-python"),
    ],
)
def test_faults_name_the_remedy(words: list[str], said: str) -> None:
    result = run(*words)
    assert result.exit_code == 2
    assert said in result.output


def test_a_file_without_gpu_code(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("gfx906", encoding="utf-8")
    result = run(tmp_path / "notes.txt")
    assert (result.exit_code, result.output.splitlines()) == (0, [f"no GPU code in 1 files of {tmp_path / 'notes.txt'}"])
