"""JAX and TensorFlow take the road that torch takes; the answers were written before the first run."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from called import called
from environments import environment
from test_gate_wheels import install

from rocm_doctor.bounded import yamls

FOLDER = Path(__file__).parent / "frameworks"
TEXTS = yamls.values((FOLDER / "texts.yaml").read_text("utf-8"))
ENVIRONMENTS = yamls.values((FOLDER / "environments.yaml").read_text("utf-8"))
WHEELS = pytest.mark.slow


def judged(answer: dict[str, Any], *arguments: str) -> None:
    """`check` with these arguments gives the answer."""
    report, end = json.JSONDecoder().raw_decode(
        done := called("check", *arguments, "-v", "--format", "json", "--format", "text").stdout
    )
    page = done[end:]
    serious = next((f for f in report["findings"] if f["severity"] != "note"), {"id": "", "row": ""})
    assert report["verdict"] == answer["verdict"], report["summary"]
    assert answer.get("first", "") in (serious["id"], serious["row"]), page
    words = " ".join(page.split())
    assert [w for w in answer.get("says", ()) if w not in words] == [], page
    assert [w for w in answer.get("never", ()) if w in words] == [], page
    commands = [c["run"] for f in report["findings"] for c in (*f["commands"], *f["verify"])]
    commands += [q["command"]["run"] for q in report["questions"]]
    assert answer.get("torch") or [c for c in commands if "torch" in c] == []


@pytest.mark.parametrize("name", TEXTS)
def test_a_text(name: str, tmp_path: Path) -> None:
    file = tmp_path / "paste.txt"
    file.write_text(TEXTS[name]["text"])
    judged(TEXTS[name], str(file))


@pytest.mark.parametrize("name", [pytest.param(n, marks=WHEELS if e.get("real") else ()) for n, e in ENVIRONMENTS.items()])
def test_an_environment(name: str, tmp_path: Path) -> None:
    one = ENVIRONMENTS[name]
    if one.get("real"):
        venv = install(tmp_path / "venv", *(f"{package}=={version}" for package, version in one["packages"].items()))
    else:
        venv = environment(tmp_path / "venv", one["packages"], one.get("code"))
    rocm = ("--rocm", str(one["rocm"])) if "rocm" in one else ()
    judged(one, "--gpu", one["gpu"], "--python", str(venv), *rocm)


PLANS = [
    ("--gpu gfx1100 --python 3.12 --with jax", 0, ["jax-rocm10-plugin==0.11.1", ".venv-jax"], ["torch=="]),
    ("--gpu MI300X --python 3.11 --with jax", 0, ["jax-rocm7-plugin==0.10.2"], ["torch=="]),
    ("--gpu gfx1100 --python 3.11 --with jax", 0, ["jax-rocm7-plugin==0.10.2", "(field)"], ["torch=="]),
    ("--gpu MI50 --python 3.12 --with jax", 1, ["listed for gfx90a", "What would run"], ["pip install"]),
    ("--gpu gfx1100 --python 3.10 --with jax", 1, ["with Python 3.12"], ["pip install"]),
    ("--gpu gfx1100 --os windows --python 3.12 --with jax", 1, ["on Linux"], ["pip install"]),
    ("--gpu gfx1100 --os wsl --python 3.12 --with jax", 1, ["on Linux"], ["pip install"]),
    ("--gpu gfx1100 --os wsl --python 3.12 --with tensorflow", 0, ["tensorflow_rocm-2.20"], ["torch=="]),
    ("--gpu MI300X --python 3.13 --with tensorflow", 0, ["docker pull rocm/tensorflow:"], ["torch=="]),
    ("--gpu gfx1100 --python 3.12 --with tensorflow", 0, ["tensorflow_rocm-2.20"], ["torch=="]),
    ("--gpu gfx1100 --python 3.12 --with torch,jax", 0, [".venv/bin/python", ".venv-jax", "torch=="], []),
]


@pytest.mark.parametrize(("arguments", "code", "says", "never"), PLANS)
def test_a_plan(arguments: str, code: int, says: list[str], never: list[str]) -> None:
    done = called("plan", *arguments.split())
    assert (done.returncode, [w for w in says if w not in done.stdout], [w for w in never if w in done.stdout]) == (code, [], [])


def test_the_json_has_jax_and_no_torch() -> None:
    done = called("plan", "--gpu", "gfx942", "--python", "3.12", "--with", "jax", "--format", "json")
    assert done.returncode == 0
    assert "jax-rocm10-plugin==0.11.1" in done.stdout
    assert "torch" not in done.stdout


@pytest.mark.parametrize("wish", ["jax", "torch,jax"])
@pytest.mark.parametrize("form", ["requirements", "uv"])
def test_files_are_for_torch(form: str, wish: str) -> None:
    assert called("plan", "--gpu", "gfx942", "--python", "3.12", "--with", wish, "--format", form).returncode == 2


def test_fix_builds_beside_the_examined_environment(tmp_path: Path) -> None:
    venv = environment(tmp_path / "venv", {"torch": "2.9.1+rocm6.4"})
    done = called("fix", "--gpu", "gfx942", "--python", str(venv), "--with", "jax")
    assert str(Path(sys.prefix).with_name(".venv-jax")) in done.stdout or ".venv-jax" in done.stdout
    assert "torch" not in done.stdout.replace(str(tmp_path), "")


@pytest.mark.slow
@pytest.mark.parametrize(("gpu", "python"), [("gfx1100", "3.12"), ("gfx1201", "3.14"), ("gfx942", "3.11")])
def test_the_index_has_what_the_plan_installs(gpu: str, python: str) -> None:
    plan = json.loads(called("plan", "--gpu", gpu, "--python", python, "--with", "jax", "--format", "json").stdout)
    wanted = [p for group in plan["release"]["installs"] if not group.get("index") for p in group["packages"]]
    compile_ = [
        shutil.which("uv") or "",
        "pip",
        "compile",
        "-",
        "--python-version",
        python,
        "--python-platform",
        "x86_64-manylinux_2_28",
    ]
    if not compile_[0]:
        pytest.skip("uv is not installed")
    try:
        done = subprocess.run(
            [*compile_, "--only-binary=:all:"], input="\n".join(wanted), capture_output=True, text=True, timeout=300, check=False
        )
    except subprocess.TimeoutExpired:
        pytest.skip("the package index did not answer within 300 s")
    assert done.returncode == 0, done.stderr


def test_the_gate_is_about_the_framework_that_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sound environment for torch is no answer where the repository trains with JAX, and torch is not missed there."""
    venv = environment(tmp_path / "venv", {"torch": "2.9.1+rocm6.4"}, {"torch/lib/libtorch_hip.so": ["gfx942", "gfx1100"]})
    (tmp_path / "rocm-doctor.yaml").write_text("targets:\n  mine: {gpu: gfx1100}\n")
    monkeypatch.chdir(tmp_path)
    asked = ("check", "--gpu", "declared", "--python", str(venv))
    assert called(*asked).returncode == 0
    done = called(*asked, "--framework", "jax")
    assert (done.returncode, "JAX is not installed" in done.stdout, "--with jax" in done.stdout) == (1, True, True)
    (tmp_path / "train.py").write_text("import jax.numpy as jnp\n")
    assert "train.py imports jax" in " ".join(called("lint", ".", "--gpu", "gfx1100").stdout.split())


def test_a_cpu_build_beside_one_for_amd_is_said_in_the_verdict(tmp_path: Path) -> None:
    venv = environment(
        tmp_path / "venv",
        {"torch": "2.9.1+rocm6.4", "jax": "0.10.2", "jaxlib": "0.10.2"},
        {"torch/lib/libtorch_hip.so": ["gfx1100"]},
    )
    done = called("check", "--gpu", "gfx1100", "--python", str(venv), "--quiet")
    assert (done.returncode, "torch 2.9.1+rocm6.4 (JAX 0.10.2 is a CPU build)" in done.stdout) == (0, True)
