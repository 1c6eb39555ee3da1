"""What a shell leaves behind for the next one, and which of its conditions ask for hardware."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_text import report, repository, said, serious

ROCM = "https://download.pytorch.org/whl/rocm6.4"
IMAGE = "rocm/pytorch:rocm6.4.3_ubuntu24.04_py3.12_pytorch_release_2.6.0"
NOT_ROCM = "version.torch-not-rocm"


@pytest.mark.parametrize("asks", [
    "python3 -c \"import torch; exit(0 if hasattr(torch.version, 'hip') else 1)\" 2>/dev/null", "pip list | grep -q 'torch.*rocm'", "pip3 show torch-rocm",
])  # fmt: skip
def test_what_asks_the_installed_torch_asks_for_no_hardware(tmp_path: Path, asks: str) -> None:
    script = f"python3 -m venv .venv\nsource .venv/bin/activate\nif {asks}; then\n  echo there\nelse\n  pip install torch --index-url {ROCM}\nfi\npip install torch peft\n"
    assert said(report(tmp_path, {"install_amd.sh": script})) == []


@pytest.mark.parametrize(("asks", "ids"), [("rocminfo | grep -q gfx", [NOT_ROCM]), ("[ -e /dev/kfd ]", [NOT_ROCM])])
def test_a_condition_on_the_hardware_still_decides(tmp_path: Path, asks: str, ids: list[str]) -> None:
    script = f"if {asks}; then\n  echo there\nelse\n  pip install torch --index-url {ROCM}\nfi\npip install torch peft\n"
    assert [f.id for f in serious(report(tmp_path, {"install_amd.sh": script}))] == ids


ENTERS = "python3 -m venv /venv/y && . /venv/y/bin/activate"


@pytest.mark.parametrize(("first", "gone"), [
    (f"RUN {ENTERS}\n", False),
    (f"RUN {ENTERS} && pip install numpy\n", True),
    (f"RUN {ENTERS}\nENV PATH=/venv/y/bin:$PATH\n", True),
    (f"ENV PATH=/venv/y/bin:$PATH\nRUN {ENTERS}\n", True),
    ("RUN python3 -m venv /venv/y\nRUN . /venv/y/bin/activate && pip install numpy\n", True),
    ("RUN python3 -m venv /venv/y\nRUN . /venv/y/bin/activate\nENV PATH=/venv/y/bin:$PATH\n", True),
])  # fmt: skip
def test_an_environment_that_a_run_enters_ends_with_it(tmp_path: Path, first: str, gone: bool) -> None:
    image = f"FROM {IMAGE}\n{first}RUN pip install peft\n"
    steps = next(e for e in repository(tmp_path, {"Dockerfile.rocm": image}).environments).steps
    assert [s.removed for s in steps if s.removed] == [("torch", "torchvision", "torchaudio")] * gone


COMPOSE = "services:\n  lab:\n    build:\n      context: .\n      args:\n        SOURCE_IMAGE: {image}\n    devices: [/dev/kfd, /dev/dri]\n"


def test_what_another_file_gives_an_argument_is_no_doubt_on_a_service_that_gives_it(tmp_path: Path) -> None:
    dockerfile = "ARG SOURCE_IMAGE=ubuntu:22.04\nFROM $SOURCE_IMAGE\nCOPY . .\nRUN pip install 'torch>=2.9'\n"
    files = {"Dockerfile": dockerfile, "compose.amd.yml": COMPOSE.format(image=IMAGE),
             "compose.arm.yml": COMPOSE.format(image="arm64v8/ubuntu:22.04").replace("    devices: [/dev/kfd, /dev/dri]\n", "")}  # fmt: skip
    found = report(tmp_path / "a", files)
    assert (NOT_ROCM, "error", "Dockerfile:4") in said(found)
    assert "Whoever builds Dockerfile with another SOURCE_IMAGE gets the change as well" in serious(found)[0].advice
    alone = {"Dockerfile": dockerfile.replace("ubuntu:22.04", IMAGE), "x.yml": "SOURCE_IMAGE: arm64v8/ubuntu:22.04\n"}
    assert (NOT_ROCM, "error", "Dockerfile:4") not in said(report(tmp_path / "b", alone))


@pytest.mark.parametrize(("before", "runs"), [
    ("exit 0", False), ("  exit", False), ("exit 1 # use the image", False), ("(exit 1)", True), ("test -e x || exit 1", True), ("test -e x && exit 0", True),
    ("if [ -z $X ]; then\nexit 1\nfi", True), ("stop() {\nexit 1\n}", True), ("case $1 in\nx)\nexit 1 ;;\nesac", True), ("trap 'exit 1' INT", True),
])  # fmt: skip
def test_nothing_behind_an_exit_is_run(tmp_path: Path, before: str, runs: bool) -> None:
    script = f"{before}\npip install torch==2.9.1 --index-url https://download.pytorch.org/whl/rocm6.4\n"
    made = repository(tmp_path, {"setup_rocm.sh": script}).environments
    assert bool([r for e in made for step in e.steps for r in step.requirements]) is runs


@pytest.mark.parametrize(("table", "severity"), [
    ('[tool.uv.pip]\ntorch-backend = "rocm6.4"\n', "warning"), ('[tool.uv]\nextra-index-url = ["https://example.com/simple"]\n', "warning"), ("[tool.uv]\npackage = true\n", "error"), ("", "error"),
])  # fmt: skip
def test_uv_finds_the_table_of_the_project(tmp_path: Path, table: str, severity: str) -> None:
    files = {"pyproject.toml": f'[project]\nname = "x"\nversion = "1"\n{table}', "setup_rocm.sh": "uv pip install torch==2.9.1\n"}
    (one,) = (f for f in report(tmp_path, files).findings if f.id == "version.torch-not-rocm" and f.severity != "note")
    assert one.severity == severity
