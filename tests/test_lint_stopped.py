"""Commands that certainly end: a package, an extra or a group that is nowhere. What they would have installed comes second."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_text import report, said, serious

INDEX = "--index-url https://download.pytorch.org/whl/rocm6.0"
NO_WHEEL, NO_CODE = "version.wheel-missing", "arch.not-in-build"


@pytest.mark.parametrize(("before", "after", "severity"), [
    ("", "", "error"), ("pip install -U pip wheel\n", "", "error"), ("pip install requests\n", "", "warning"),
    ("", " --extra-index-url https://pypi.org/simple", None),
])  # fmt: skip
def test_a_command_that_asks_only_pytorchs_index_for_other_packages(
    tmp_path: Path, before: str, after: str, severity: str | None
) -> None:
    text = f"set -e\npython3 -m venv v\nsource v/bin/activate\n{before}pip install flask torch {INDEX}{after}\n"
    found = said(report(tmp_path, {"setup_rocm.sh": text}, gpu="gfx1151"))
    assert {s for i, s, _ in found if i == NO_WHEEL} == ({severity} if severity else set())
    assert {s for i, s, _ in found if i == NO_CODE} == ({"warning"} if severity == "error" else {"error"} if severity else set())


@pytest.mark.parametrize(
    ("base", "severity"),
    [
        ("ubuntu:22.04", "error"),
        ("rocm/dev-ubuntu-22.04", "error"),
        ("rocm/pytorch", "warning"),
        ("ubuntu:22.04\nRUN apt-get install -y python3-flask", "warning"),
    ],
)
def test_such_a_command_of_an_image(tmp_path: Path, base: str, severity: str) -> None:
    files = {"Dockerfile.rocm": f"FROM {base}\nRUN pip install flask torch {INDEX}\n"}
    assert (NO_WHEEL, severity, f"Dockerfile.rocm:{2 + base.count(chr(10))}") in said(report(tmp_path, files))


def test_what_another_command_brings_is_judged_as_before(tmp_path: Path) -> None:
    text = f"pip install flask {INDEX}\npip install torch {INDEX}\n"
    found = said(report(tmp_path, {"setup_rocm.sh": text}, gpu="gfx1151"))
    assert set(found) == {(NO_CODE, "error", "setup_rocm.sh:2"), (NO_WHEEL, "error", "setup_rocm.sh:1")}


def test_the_torch_of_a_list_has_a_line_of_its_own(tmp_path: Path) -> None:
    found = said(report(tmp_path, {"requirements-rocm.txt": f"{INDEX}\ntorch==2.4.1\nflask\n"}, gpu="gfx1151"))
    assert {(i, s) for i, s, _ in found} == {(NO_CODE, "error"), (NO_WHEEL, "error")}


PROJECT = '[project]\nname = "x"\nversion = "1"\ndependencies = ["torch==2.9.1"]\n'
EXTRA = '[project.optional-dependencies]\nrocm = ["numpy"]\n'
GROUPS = '[dependency-groups]\nrocm = ["numpy"]\n'
POETRY = '[tool.poetry]\nname = "x"\n[tool.poetry.dependencies]\ntorch = "2.9.1"\n{}'


@pytest.mark.parametrize(("project", "command", "lacks"), [
    (PROJECT, "uv sync --extra rocm", "uv stops: it is asked for the extra rocm, which pyproject.toml does not define"),
    (PROJECT, "uv sync --frozen --group=rocm", "uv stops: it is asked for the group rocm, which pyproject.toml does not define"),
    (PROJECT + EXTRA, "uv sync --extra rocm", ""), (PROJECT + EXTRA, "uv sync --extra ROCM", ""), (PROJECT + GROUPS, "uv sync --group rocm", ""),
    (PROJECT, "uv sync --extra rocm || uv sync", ""), (PROJECT, "pip install uv==0.5.4 && uv sync --extra rocm", ""), (PROJECT, "uv sync --all-extras", ""), (PROJECT, "uv sync --extra $BACKEND", ""),
    (PROJECT, "uv sync --package y --extra rocm", ""), (PROJECT + '[tool.uv.workspace]\nmembers = ["y"]\n', "uv sync --extra rocm", ""),
    (POETRY.format(""), "poetry install -E rocm", "poetry stops: it is asked for the extra rocm, which pyproject.toml does not define"),
    (POETRY.format(""), "poetry install --with dev,rocm", "poetry stops: it is asked for the group dev, which pyproject.toml does not define"),
    (POETRY.format('[tool.poetry.extras]\nrocm = ["torch"]\n'), "poetry install --extras rocm", ""),
    (POETRY.format('[tool.poetry.group.rocm.dependencies]\nnumpy = "*"\n'), "poetry install --only main,rocm", ""),
])  # fmt: skip
def test_an_extra_or_a_group_that_the_project_does_not_define(tmp_path: Path, project: str, command: str, lacks: str) -> None:
    """uv and Poetry stop there; pip only warns of it."""
    image = f"FROM rocm/dev-ubuntu-24.04:6.4\nWORKDIR /app\nCOPY pyproject.toml .\nRUN {command}\n"
    errors = [
        f for f in report(tmp_path, {"pyproject.toml": project, "Dockerfile.rocm": image}).findings if f.severity == "error"
    ]
    assert [f.title for f in errors if f.id == NO_WHEEL] == ([lacks] if lacks else [])
    if lacks:
        assert [f.id for f in errors] == [NO_WHEEL]


@pytest.mark.parametrize(("name", "errors"), [("torch-hip", ["torch-hip is not on the package index"]), ("torch-gfx1", [])])
def test_a_list_that_means_another_torch_than_that_of_the_image(tmp_path: Path, name: str, errors: list[str]) -> None:
    """Neither the GPUs of the image's torch nor what goes with it says anything of the torch that the list means."""
    base = "rocm/pytorch:rocm5.4.2_ubuntu20.04_py3.8_pytorch_2.0.0_preview"
    files = {
        "Dockerfile.rocm": f"FROM {base}\nCOPY requirements_rocm.txt .\nRUN pip install -r requirements_rocm.txt\n",
        "requirements_rocm.txt": f"{name}==2.5.0\ntorchvision-hip==0.20.0\nnumpy==2.1.2\n".replace(
            "torchvision-hip", "torchvision-hip" if errors else "flask"
        ),
    }
    found = [f for f in report(tmp_path, files).findings if f.severity == "error"]
    assert [f.title for f in found] == errors
    assert all("torch from the index of a ROCm release" in f.advice for f in found)


@pytest.mark.parametrize(("project", "asked", "warned"), [
    (PROJECT, ".[rocm]", True), (PROJECT, "-e .[dev]", False), (PROJECT + EXTRA, ".[rocm]", False), (POETRY.format(""), ".[rocm]", False),
    (PROJECT + 'dynamic = ["optional-dependencies"]\n', ".[rocm]", False),
])  # fmt: skip
def test_pip_installs_a_project_without_an_extra_that_it_does_not_define(
    tmp_path: Path, project: str, asked: str, warned: bool
) -> None:
    image = f"FROM rocm/dev-ubuntu-22.04:6.4\nWORKDIR /app\nCOPY pyproject.toml .\nRUN pip install {asked}\n"
    found = [
        f
        for f in report(tmp_path, {"pyproject.toml": project, "Dockerfile.rocm": image}).findings
        if "without the extra" in f.title
    ]
    assert [(f.id, f.severity) for f in found] == ([(NO_WHEEL, "warning")] if warned else [])


@pytest.mark.parametrize(("target", "more", "severity"), [
    ("rocm", {}, "error"), ("Final", {}, ""), ("0", {}, ""), ("${STAGE}", {}, ""), ("rocm", {"compose.dev.yml": "services:\n  x:\n    build:\n      target: final\n"}, ""),
])  # fmt: skip
def test_a_service_that_is_built_as_a_stage_that_is_not_there(
    tmp_path: Path, target: str, more: dict[str, str], severity: str
) -> None:
    service = f"services:\n  x:\n    build:\n      context: .\n      target: {target}\n    devices: [/dev/kfd, /dev/dri]\n"
    files = {"compose.yml": service, "Dockerfile": "FROM rocm/dev-ubuntu-24.04:7.0 AS final\nRUN echo\n", **more}
    found = [f for f in report(tmp_path, files, gpu="gfx1100").findings if "has no stage" in f.title]
    assert [(f.id, f.severity) for f in found] == ([("repo.unreadable", severity)] if severity else [])


def test_what_an_index_lacks_in_code_is_not_an_error_where_it_has_no_such_torch(tmp_path: Path) -> None:
    text = "--extra-index-url https://download.pytorch.org/whl/rocm6.3\ntorch=={}+rocm6.3\n"
    for version, severities in (
        ("2.6.0", {"version.wheel-missing": "error", "arch.not-in-build": "warning"}),
        ("2.7.1", {"arch.not-in-build": "error"}),
    ):
        found = serious(report(tmp_path / version, {"requirements-rocm.txt": text.format(version)}, gpu="gfx1151"))
        assert {f.id: f.severity for f in found} == severities
