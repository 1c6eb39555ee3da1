"""What lint advises is followed to the letter, and the repository is judged again: the finding is gone, and nothing new came."""

from __future__ import annotations

from pathlib import Path

import pytest
from follow_advice import followed, left
from lint_text import report, serious
from test_lint_mutations import FAULTS, LAYOUTS

from rocm_doctor.model import Finding

ROCM = "--extra-index-url https://download.pytorch.org/whl/rocm6.4\n"


def judged(folder: Path, gpu: str = "gfx1100", rocm: str = "") -> list[Finding]:
    return serious(report(folder, {}, gpu=gpu, rocm=rocm))


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f"{f[1]}-{f[4]}-{f[5]}")
def test_the_advice_on_a_planted_fault_mends_it(fault: tuple[str, str, str, str, str, int], tmp_path: Path) -> None:
    layout, file, there, planted, diagnosis, _ = fault
    files, gpu = LAYOUTS[layout]
    rocm = "6.3" if gpu == "gfx906" else ""
    found = serious(report(tmp_path, {**files, file: files[file].replace(there, planted, 1)}, gpu=gpu, rocm=rocm))
    one = next(f for f in found if f.id == diagnosis)
    assert left(tmp_path, one, found, lambda folder: judged(folder, gpu, rocm)) in ("gone", "not followed"), one.advice


@pytest.mark.parametrize("files", [
    {"requirements-amd.txt": "torch>=2.4\npeft\n" + ROCM, "requirements-rocm.txt": "torch>=2.4\naccelerate\n" + ROCM},
    {"a/requirements-rocm.txt": "torch>=2.4\ntorchaudio\n" + ROCM, "b/requirements-rocm.txt": "torch>=2.4\n" + ROCM},
])  # fmt: skip
def test_the_advice_names_each_line_that_has_the_fault(tmp_path: Path, files: dict[str, str]) -> None:
    found = serious(report(tmp_path, files))
    assert len(found) == 1
    assert all(f"line 1 of {file}" in found[0].advice or f"on line 1 of {file}" in found[0].advice for file in files)


def test_the_forms_of_advice_are_followed(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("export A=1\nB=2 C=3 python x.py\npip install 'numpy==1.0'\nD=4\n")
    advice = "Delete line 1 of run.sh. Take B out of line 2 of run.sh. Write numpy<2 on line 3 of run.sh. Set D to 5 on line 4 of run.sh."
    assert followed(tmp_path, advice) == 4
    assert (tmp_path / "run.sh").read_text() == "C=3 python x.py\npip install 'numpy<2'\nD=5\n"
