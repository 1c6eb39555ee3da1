"""Scripts that the shell grammar cannot parse, and commands in folders that the repository does not have."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from lint_text import report, said

from rocm_doctor.lint.readers import bash

ROCM = "https://download.pytorch.org/whl/rocm7.1"
LIST = {"requirements.txt": "torch>=2.6\n"}
NOT_ROCM = ("version.torch-not-rocm", "error", "requirements.txt:1")
# The grammar knows no `?:` inside of a default, and takes the lines behind it for a part of the value.
ODD = 'JOBS="${JOBS:-$(( N > 1 ? (N > 4 ? 4 : N) : 2 ))}"\n'


def words(text: str) -> list[str]:
    return [" ".join(one.words) for one in bash.commands("x.sh", text, 1, {})]


@pytest.mark.parametrize("around", ["{}", "if true; then\n{}fi\n", "setup() {{\n{}}}\nsetup\n"])
def test_the_lines_behind_what_could_not_be_parsed_are_read(around: str) -> None:
    text = around.format(f'{ODD}say "a $(( 1 + 1 ))"\nif x; then\n  pip install \\\n    torch --index-url {ROCM}\nfi\nsay "b"\n')
    assert {f"pip install torch --index-url {ROCM}", "say b"} <= {*words(text)}


@pytest.mark.parametrize(("odd", "errors"), [("if [ -z $A\n", []), ("", [NOT_ROCM])])
def test_nothing_is_certain_behind_what_could_not_be_parsed(tmp_path: Path, odd: str, errors: list[tuple[str, str, str]]) -> None:
    script = f"#!/bin/bash\n{odd}pip install -r requirements.txt\n"
    found = [one for one in said(report(tmp_path, LIST | {"install_rocm.sh": script})) if one[1] == "error"]
    assert found == errors


@pytest.mark.timed
def test_a_text_full_of_errors_takes_no_time() -> None:
    start = time.process_time()
    assert len(words(ODD * 5000)) >= 5000
    assert time.process_time() - start < 5


HERE = '$(cd "$(dirname "$0")" && pwd)'


@pytest.mark.parametrize(("goes", "errors"), [
    (f'ROOT="{HERE}"\ngit clone https://github.com/x/kernels "$ROOT/kernels"\npushd "$ROOT/kernels"', []),
    (f'cd "{HERE}/kernels"', []), ('cd "$(dirname "$0")/kernels"', []), ('cd "${BASH_SOURCE%/*}/kernels"', []),
    (f'cd "{HERE}"', ["setup.py:2"]), ('cd "$(dirname "$0")"', ["setup.py:2"]), (f'cd "{HERE}/part"', ["part/setup.py:2"]),
])  # fmt: skip
def test_a_project_in_the_folder_that_a_script_went_to(tmp_path: Path, goes: str, errors: list[str]) -> None:
    setup = 'from setuptools import setup\nsetup(name="x", install_requires=["torch>=2.6"])\n'
    files = {"install_rocm.sh": f"{goes}\npip install .\n", "setup.py": setup, "part/setup.py": setup}
    found = report(tmp_path, files)
    assert [place for i, _, place in said(found) if i == "version.torch-not-rocm"] == errors


@pytest.mark.parametrize("up", [
    '$(dirname "$0")/..', '$(cd "$(dirname "${BASH_SOURCE[0]}")/.." >/dev/null 2>&1 && pwd)', '$(dirname "$(dirname "$(realpath "$0")")")',
])  # fmt: skip
def test_the_folder_above_that_of_a_script(tmp_path: Path, up: str) -> None:
    files = {"requirements.txt": "torch>=2.6\n", "scripts/requirements.txt": "numpy\n"}
    files["scripts/install_rocm.sh"] = f'cd "{up}"\npip install -r requirements.txt\n'
    assert NOT_ROCM in said(report(tmp_path, files))


@pytest.mark.parametrize(("first", "severity"), [
    ("source .venv/bin/activate", "warning"), ('ROOT="$(pwd)"\nsource "$ROOT/venv/bin/activate"', "warning"), ("python -m venv v\nsource v/bin/activate", "error"),
    ("python -m venv venv\nsource venv/bin/activate\ndeactivate\nsource venv/bin/activate", "error"), ("alias pip=.venv/bin/pip", "error"),
])  # fmt: skip
def test_an_environment_that_is_made_elsewhere(tmp_path: Path, first: str, severity: str) -> None:
    found = report(tmp_path, LIST | {"install_rocm.sh": f"{first}\npip install -r requirements.txt\n"}).findings
    assert [f.severity for f in found if f.id == NOT_ROCM[0] and "install_rocm.sh" in f.subject] == [severity]


def test_the_python_of_an_environment_that_is_made_elsewhere(tmp_path: Path) -> None:
    script = 'VENV="$(pwd)/.venv"\n"${VENV}/bin/python" -m pip install -r requirements.txt\n'
    found = report(tmp_path, LIST | {"install_rocm.sh": script}).findings
    assert [f.severity for f in found if f.id == NOT_ROCM[0] and "install_rocm.sh" in f.subject] == ["warning"]


def test_the_line_of_a_short_name_among_others_that_hold_it(tmp_path: Path) -> None:
    text = '[project]\nname = "x"\nversion = "1"\nkeywords = ["pytorch"]\ndependencies = [\n  "torchmetrics",\n  "torch",\n]\n'
    files = {"pyproject.toml": text, "install_rocm.sh": "pip install .\n"}
    found = next(f for f in report(tmp_path, files).findings if f.id == NOT_ROCM[0])
    assert found.evidence[0].place == "line 7"


@pytest.mark.parametrize(("image", "severities"), [
    ("ubuntu-rocm:22.04", []), ("x.org/ml/ubuntu-amd:1", []), ("ubuntu:22.04", ["error"]), ("rocm/dev-ubuntu-22.04:6.2", ["error"]), ("python:3.12-slim", ["error"]),
])  # fmt: skip
def test_what_an_image_of_others_for_rocm_holds(tmp_path: Path, image: str, severities: list[str]) -> None:
    files = {
        "Dockerfile.rocm": f'FROM {image}\nRUN pip install \'torch>=2\'\nCMD ["python", "train.py"]\n',
        "train.py": "import torch\n",
    }
    found = report(tmp_path, files).findings
    assert [f.severity for f in found if f.id == NOT_ROCM[0]] == severities
