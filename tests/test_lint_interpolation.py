"""Values of a compose file that a default, or the `.env` beside it, gives; and the remedy for an override that several places set."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_text import report

OVERRIDE = "HSA_OVERRIDE_GFX_VERSION"
IMAGE = "rocm/pytorch:rocm7.1.1_ubuntu24.04_py3.12_pytorch_release_2.9.1"
SERVICE = "  {}:\n    {}\n    devices: [/dev/kfd, /dev/dri]\n    ipc: host\n    environment:\n      {}\n"
GIVEN = f"{OVERRIDE}=${{{OVERRIDE}:-11.5.1}}"


def composed(said: str, start: str = f"image: {IMAGE}") -> str:
    return "services:\n" + SERVICE.format("w", start, said)


def wrong(root: Path, files: dict[str, str]) -> list[str]:
    """The advice of each finding on an override for other GPUs."""
    return [f.advice for f in report(root, files).findings if f.id == "arch.override-wrong" and f.severity != "note"]


@pytest.mark.parametrize(("said", "beside", "found"), [
    (f"- {GIVEN}", "", 1), (f"{OVERRIDE}: ${{{OVERRIDE}-11.5.1}}", "", 1), (f"- {OVERRIDE}=${{GFX:-11.0.0}}", "", 0),
    (f"- {OVERRIDE}=${{GFX}}", "GFX=11.5.1\n", 1), (f"- {OVERRIDE}=$GFX", "export GFX='10.3.0' # RX 6800\n", 1), (f"- {OVERRIDE}", f"{OVERRIDE}=11.5.1\n", 1),
    (f"- {OVERRIDE}=${{GFX:-11.5.1}}", "GFX=11.0.0\n", 0), (f"- {OVERRIDE}=${{GFX}}", "", 0), (f"- {OVERRIDE}=${{GFX:-}}", "", 1), (f"{OVERRIDE}: ${{GFX-}}", "", 1), (f"- {OVERRIDE}=", "", 1), (f"- {OVERRIDE}=${{GFX:-}}", "GFX=11.0.0\n", 0),
    (f"- {OVERRIDE}=$$GFX", "GFX=11.5.1\n", 0), (f"- {OVERRIDE}", "", 0),
    (f"{OVERRIDE}:", "", 0), (f"{OVERRIDE}: ~", "", 0), (f'{OVERRIDE}: ""', "", 1), (f"{OVERRIDE}:", f"{OVERRIDE}=11.5.1\n", 1),
])  # fmt: skip
def test_what_a_reference_becomes(tmp_path: Path, said: str, beside: str, found: int) -> None:
    files = {"docker/compose.yaml": composed(said), ".env": "GFX=9.0.0\n"} | ({"docker/.env": beside} if beside else {})
    at = [a for a in wrong(tmp_path, files) if "compose.yaml" in a]
    assert len(at) == found


@pytest.mark.parametrize(("more", "severity"), [
    ({}, "error"), ({"app.py": f'if not os.environ.get("{OVERRIDE}"):\n    os.environ["{OVERRIDE}"] = "10.3.0"\n'}, "warning"), ({"docs/gpu.md": f"RX 7600: `{OVERRIDE}=11.0.0`\n"}, "warning"), ({"docs/gpu.md": f"RX 6800: `{OVERRIDE}=10.3.0`\n"}, "error"),
])  # fmt: skip
def test_who_gives_no_override_gets_an_empty_default(tmp_path: Path, more: dict[str, str], severity: str) -> None:
    """An override that others may need is no reason to hide the GPU from those that need none; where one suits the target, it may be given."""
    service = composed(f"{OVERRIDE}: ${{{OVERRIDE}:-}}").replace("    ipc", "    command: python train.py\n    ipc")
    files = {"compose.yaml": service, "train.py": "import torch\n"} | more
    (one,) = [f for f in report(tmp_path, files).findings if f.id == "arch.override-wrong"]
    assert one.severity == severity
    assert "Delete lines 7 and 8 of compose.yaml." in one.advice


def test_the_remedy_names_every_service_that_sets_the_override_and_leaves_none(tmp_path: Path) -> None:
    image = f"FROM {IMAGE}\nENV {OVERRIDE}=${{{OVERRIDE}:-11.5.1}}\nCMD python train.py\n"
    build = "build: {context: ., dockerfile: Dockerfile.rocm}"
    services = "services:\n" + "".join(SERVICE.format(f"s{n}", build, f"- {GIVEN}") for n in range(8))
    advice = " ".join(wrong(tmp_path / "a", {"Dockerfile.rocm": image, "compose.yaml": services}))
    lines = [n for n, line in enumerate(services.splitlines(), 1) if OVERRIDE in line]
    assert len(lines) == 8
    assert "Dockerfile.rocm" in advice
    assert all(str(n) in advice for n in lines)
    left = {"Dockerfile.rocm": image.replace(f"ENV {OVERRIDE}=${{{OVERRIDE}:-11.5.1}}\n", ""), "compose.yaml": services}
    assert wrong(tmp_path / "b", left)


BUILT = "build: {args: {BASE: rocm/pytorch:latest}}"


@pytest.mark.parametrize(("files", "severity"), [
    ({}, "warning"), ({"Dockerfile": "ARG BASE\nFROM $BASE\nCMD python train.py\n"}, "error"),
    ({"compose.yaml": "services:\n  other:\n    image: nginx\n"}, "warning"),
    ({"compose.yaml": "services:\n  w:\n    build: {context: app}\n", "app/Dockerfile": "ARG BASE\nFROM $BASE\nCMD python train.py\n"}, "error"),
])  # fmt: skip
def test_a_service_that_nothing_there_builds(tmp_path: Path, files: dict[str, str], severity: str) -> None:
    """An overlay for a service that the file below it does not have, or no longer: nobody can start it."""
    overlay = composed(f"- {OVERRIDE}=10.3.0", BUILT)
    found = [
        f.severity
        for f in report(tmp_path, {"compose.rocm.yml": overlay, "train.py": "import torch\n"} | files).findings
        if f.id == "arch.override-wrong"
    ]
    assert found == [severity]


def test_what_a_service_is_given_when_it_runs_builds_nothing(tmp_path: Path) -> None:
    """Its image was built without the list; the same list in the Dockerfile counts."""
    said = [
        f.severity
        for f in report(tmp_path, {"compose.yaml": composed("- PYTORCH_ROCM_ARCH=gfx1030")}).findings
        if f.id == "arch.not-in-build"
    ]
    assert said == ["note"]


@pytest.mark.parametrize(("value", "found"), [("", 0), ("10.3.0", 1)])
def test_an_empty_line_of_a_file_of_settings_gives_no_value(tmp_path: Path, value: str, found: int) -> None:
    files = {
        ".env.example": f"HIP_VISIBLE_DEVICES=0\n{OVERRIDE}={value}\n",
        "compose.yaml": composed(f"- {OVERRIDE}=${{{OVERRIDE}:-11.0.0}}"),
    }
    assert len(wrong(tmp_path, files)) == found


def test_a_program_that_sets_the_override_is_named(tmp_path: Path) -> None:
    """Whoever follows the advice on the service alone still has the override of the program."""
    files = {
        "compose.yaml": composed(f"- {OVERRIDE}=9.0.0"),
        "app.py": f'import os\nos.environ["{OVERRIDE}"] = "10.3.0"\n',
        "test.py": f'run("{OVERRIDE}=10.3.0")\n',
    }
    (advice,) = wrong(tmp_path, files)
    assert "It is set on line 2 of app.py as well." in advice


FROM_FILE = "services:\n  a:\n    image: rocm/pytorch:rocm6.4.3_ubuntu24.04_py3.12_pytorch_release_2.6.0\n    devices: [/dev/kfd, /dev/dri]\n    env_file: {}\n{}"


@pytest.mark.parametrize(("named", "own", "expected"), [
    ("gpu.vars", "", True), ("[base.vars, gpu.vars]", "", True), ("[{path: gpu.vars, required: false}]", "", True), ("[gpu.vars, base.vars]", "", False),
    ("gone.vars", "", False), ("gpu.vars", "    environment: [HSA_OVERRIDE_GFX_VERSION=11.0.0]\n", False),
])  # fmt: skip
def test_variables_of_a_service_from_a_file(tmp_path: Path, named: str, own: str, expected: bool) -> None:
    files = {"gpu.vars": "# the GPU\nHSA_OVERRIDE_GFX_VERSION=10.3.0\n", "base.vars": "HSA_OVERRIDE_GFX_VERSION=11.0.0\n"}
    found = report(tmp_path, {"compose.yaml": FROM_FILE.format(named, own), **files})
    at = [f"{f.evidence[0].artifact}:{f.evidence[0].place}" for f in found.findings if f.id == "arch.override-wrong"]
    assert at == (["gpu.vars:line 2"] if expected else [])
