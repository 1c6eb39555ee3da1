"""What is advised where a list has no wheels for its Python: another Python or other releases, only where the rest of the list admits them."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_text import report

LIST = "requirements-rocm.txt"
OTHERS = "".join(f"{name}==1.0\n" for name in ("accelerate", "datasets", "peft", "psutil", "trl", "wandb", "tqdm", "rich"))
WHEELS = "--extra-index-url https://download.pytorch.org/whl/rocm"


def advice_on(folder: Path, text: str, gpu: str = "gfx1100", more: dict[str, str] | None = None) -> tuple[str, str]:
    """Title and advice of the one finding on wheels."""
    found = report(folder, {LIST: text, **(more or {})}, gpu).findings
    (one,) = [f for f in found if f.id == "version.python-unsupported" and "torch " not in f.title]
    return one.title, one.advice


@pytest.mark.parametrize(("text", "advice"), [
    ("numpy==1.24.2\n", "Use Python 3.11, for which there are wheels, or ask for numpy>=1.26.0."),
    # The rest of the list decides as well: this numpy is for Python 3.11 and later, and these wheels are for 3.10 and earlier.
    ("numpy==2.3.3\ngrpcio==1.46.3\n", "Ask for grpcio>=1.59.0."),
    ("faiss-cpu==1.5.3\nnumpy==2.3.3\n", "Ask for faiss-cpu>=1.8.0."),
    ("numpy==1.24.2\ncontourpy==1.1.0\n", "Use Python 3.11, for which there are wheels, or ask for numpy>=1.26.0."),
    ("numpy==1.24.2\n" + OTHERS, "Use Python 3.11, for which there are wheels."),
    ("faiss-cpu==1.5.3\nnumpy==2.3.3\n" + OTHERS, "No Python from 3.10 on has a wheel of faiss-cpu==1.5.3. numpy==2.3.3 needs a later one than 3.10. "
     f"{LIST} is a freeze, whose pins belong together: write down what the project imports, and lock that for one Python."),
    ("grpcio==1.46.3\nnumpy==1.24.2\ntorch==1.13.1+rocm5.2\n", "There are wheels for Python 3.10, but torch==1.13.1+rocm5.2 on line 3 of "
     f"{LIST} has no build with code for gfx1100 there. Ask for newer releases of all of them together."),
])  # fmt: skip
def test_what_is_offered_is_what_the_whole_list_admits(tmp_path: Path, text: str, advice: str) -> None:
    assert advice_on(tmp_path, text)[1] == advice


def test_twins_that_fail_alike_are_named_together(tmp_path: Path) -> None:
    title, _ = advice_on(tmp_path, "faiss==1.5.3\nfaiss-cpu==1.5.3\n")
    assert title == "no wheel for Python 3.12: faiss==1.5.3, faiss-cpu==1.5.3"


def test_a_python_that_the_project_leaves_out_is_not_offered(tmp_path: Path) -> None:
    project = '[project]\nname = "x"\nversion = "1"\nrequires-python = ">=3.12"\ndependencies = ["numpy==1.24.2"]\n'
    found = report(tmp_path, {"pyproject.toml": project}).findings
    assert [f.advice for f in found if "no wheel" in f.title] == ["Ask for numpy>=1.26.0."]
