"""JAX and TensorFlow take the road that torch takes; the answers were written before the first run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from called import called
from environments import environment
from test_gate_wheels import install

FOLDER = Path(__file__).parent / "frameworks"
TEXTS = yaml.safe_load((FOLDER / "texts.yaml").read_text())
ENVIRONMENTS = yaml.safe_load((FOLDER / "environments.yaml").read_text())
WHEELS = pytest.mark.slow


def judged(answer: dict[str, Any], *arguments: str) -> None:
    """`check` with these arguments gives the answer."""
    report = json.loads(called("check", *arguments, "--format", "json").stdout)
    page = called("check", *arguments, "-v").stdout
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
