"""`check` and `require` from Python: what a training script sees when the machine is not fit."""

from __future__ import annotations

import doctest
import json
import multiprocessing
import os
import pickle
import pydoc
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

import rocm_doctor
from rocm_doctor import BundleError, Finding, NoAmdGpu, NotReady, Report, check, read_report, require

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
READY = str(FIXTURES / "rx7900xtx-ready")
WRONG = str(FIXTURES / "mi50-wrong-override")
ENV = {**os.environ, "PYTHONPATH": str(FIXTURES.parent)}


def test_a_machine_that_is_fit_gives_its_report() -> None:
    report = require(READY, target="gfx1100", fail_on="warning")
    assert report.verdict == "ready"
    assert report == check(READY)


def test_one_that_is_not_raises_with_the_report() -> None:
    with pytest.raises(NotReady, match=r"HSA_OVERRIDE_GFX_VERSION") as caught:
        require(WRONG)
    assert caught.value.report.verdict == "problems"
    assert "unset HSA_OVERRIDE_GFX_VERSION" in str(caught.value)


def test_the_wrong_gpu_raises_although_it_would_train() -> None:
    with pytest.raises(NotReady, match=r"gfx942 is required, and gfx1100 is what this machine has"):
        require(READY, target="gfx942")


def test_what_is_ignored_does_not_count() -> None:
    ids = [f.id for f in check(WRONG).findings]
    assert require(WRONG, ignore=ids).verdict != "problems"


def test_strict_wants_a_verdict(tmp_path: Path) -> None:
    paste = tmp_path / "issue.md"
    paste.write_text("it does not work\n")
    assert require(paste).verdict == "undetermined"
    with pytest.raises(NotReady):
        require(paste, strict=True)


def test_a_script_ends_at_the_top_and_torch_is_not_imported(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import sys\nfrom rocm_doctor import require\n"
        f"try:\n    require({WRONG!r})\nfinally:\n    print('torch' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60, check=False, env=ENV)
    assert done.returncode == 1
    assert done.stdout.strip() == "False"
    assert "rocm_doctor.api.NotReady: rocm-doctor: not ready to train" in done.stderr


def test_importing_the_package_imports_none_of_it() -> None:
    code = "import sys, rocm_doctor; print([m for m in sys.modules if m.startswith('rocm_doctor.') or m == 'msgspec'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True, env=ENV)
    assert done.stdout.strip() == "['rocm_doctor._version']"
    with pytest.raises(AttributeError):
        _ = rocm_doctor.nothing


def test_every_public_name_is_there_and_documented() -> None:
    for name in rocm_doctor.__all__:
        assert getattr(rocm_doctor, name)
    assert all(getattr(rocm_doctor, name).__doc__ for name in rocm_doctor.__all__ if name != "__version__")
    report = check(WRONG)
    assert isinstance(report, Report)
    assert all(isinstance(one, Finding) for one in report.findings)


def test_gpus_memory_and_packages_are_required() -> None:
    assert require(READY, gpus=1, min_vram="20GiB", packages=["torch>=2.0", "Torch"]).verdict == "ready"
    with pytest.raises(NotReady) as caught:
        require(READY, gpus=2, min_vram="40GiB", packages=["torch>=99", "no-such-package"])
    said = str(caught.value).splitlines()[1:]
    assert said[0] == "- 2 GPUs to train on required, 1 found"
    assert said[1].startswith("- GPU 0 (gfx1100): 40GiB of memory required, 24.0 GiB found")
    assert said[2].startswith("- torch>=99 required, 2.")
    assert said[3] == "- no-such-package required, not installed"


def test_bounds_are_met_exactly() -> None:
    size = check(READY).snapshot.gpus[0].get("vram_bytes").value
    assert isinstance(size, int)
    assert require(READY, min_vram=size)
    with pytest.raises(NotReady, match="of memory required"):
        require(READY, min_vram=size + 1)


def test_what_is_not_known_does_not_meet_a_requirement(tmp_path: Path) -> None:
    paste = tmp_path / "issue.md"
    paste.write_text("GPU: Radeon RX 7900 XTX\nit does not work\n")
    with pytest.raises(NotReady) as caught:
        require(paste, min_vram="8GiB", packages=["peft"])
    assert "8GiB of memory required, not known" in str(caught.value)
    assert "peft required, not known" in str(caught.value)


def test_a_machine_without_an_amd_gpu_is_an_exception_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "sys/bus/pci").mkdir(parents=True)
    (tmp_path / "sys/bus/pci/devices").write_text("devices: 6, AMD display or accelerator: 0\n")
    with pytest.raises(NoAmdGpu, match="no AMD GPU in this machine") as caught:
        require(tmp_path)
    assert isinstance(caught.value, NotReady)
    assert caught.value.report.snapshot.get("pci.gpus").value == 0
    with pytest.raises(NotReady) as other:
        require(WRONG)
    assert not isinstance(other.value, NoAmdGpu)


@pytest.mark.parametrize(("wrong", "said"), [
    ({"target": "gfx9999"}, "`gfx9999` is not one GPU of the catalog: known are gfx"), ({"gpus": 0}, "gpus=0: expected"),
    ({"gpus": True}, "gpus=True: expected"), ({"min_vram": "24 bananas"}, "min_vram='24 bananas': expected"),
    ({"min_vram": -1}, "min_vram=-1: expected"), ({"packages": "torch"}, r"packages='torch': expected a list"),
    ({"packages": ["torch>"]}, "'torch>' is not a requirement"), ({"packages": ["torch[x]"]}, "a name and a version range only"),
    ({"fail_on": "fatal"}, "fail_on='fatal': expected one of error, warning, note"),
    ({"ignore": ["arch.no-such"]}, "ignore='arch.no-such': unknown diagnosis or row"), ({"ignore": "arch"}, "ignore='arch': expected a list"),
    ({"python": "python3"}, "cannot be combined with paths"),
])  # fmt: skip
def test_wrong_arguments_are_refused_before_anything_is_read(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        require(WRONG, **wrong)  # type: ignore[arg-type]


def test_an_interpreter_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="python=/no/python: no Python found"):
        check(python="/no/python")


def test_a_path_that_is_not_there_is_a_bundle_error(tmp_path: Path) -> None:
    with pytest.raises((BundleError, OSError)):
        check(tmp_path / "nothing.zip")


def test_a_report_is_read_back(tmp_path: Path) -> None:
    from rocm_doctor.reports import RenderOptions, render

    report = check(WRONG)
    (tmp_path / "report.json").write_text(render("json", report, RenderOptions()), encoding="utf-8")
    assert read_report(tmp_path / "report.json") == report


LOG = "RX 7900 XTX\nFile /home/quokka/train.py\nRuntimeError: HIP error: invalid device function\n"


def test_a_text_in_memory_is_judged_as_its_file_would_be(tmp_path: Path) -> None:
    (tmp_path / "the text").write_text(LOG)
    assert [f.id for f in check(text=LOG).findings] == [f.id for f in check(tmp_path / "the text").findings] != []
    with pytest.raises(ValueError, match="gpu: cannot be combined with text"):
        check(text=LOG, gpu="gfx1100")


def test_a_report_renders_itself_redacted() -> None:
    report = check(text=LOG)
    assert "invalid device function" in str(report)
    assert json.loads(report.to_json())["verdict"] == "problems"
    assert report.render("markdown").startswith("##")
    for shown in (
        str(report),
        report.to_json(),
        report.render("markdown"),
        str(report.findings[0]),
        report.findings[0]._repr_markdown_(),
    ):
        assert "quokka" not in shown
    assert "quokka" in report.to_json(redact=False)
    with pytest.raises(ValueError, match=r"format='pdf': expected one of text, json"):
        report.render("pdf")


def _raises_not_ready(_: int) -> None:
    require(WRONG)


def test_not_ready_comes_out_of_a_worker_process_as_it_was_raised() -> None:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        raised = pool.submit(_raises_not_ready, 0).exception(timeout=120)
    assert isinstance(raised, NotReady)
    assert raised.report.verdict == "problems"
    assert "unset HSA_OVERRIDE_GFX_VERSION" in str(raised)
    assert isinstance(pickle.loads(pickle.dumps(NoAmdGpu(raised.report, "none"))), NoAmdGpu)


def test_a_target_may_be_a_product() -> None:
    assert require(READY, target="RX 7900 XTX").verdict == "ready"


def test_help_and_dir_show_the_public_names() -> None:
    assert set(rocm_doctor.__all__) <= set(dir(rocm_doctor))
    shown = pydoc.plain(pydoc.render_doc(rocm_doctor))
    assert all(f"{name}(" in shown for name in ("check", "require"))


def test_the_examples_of_the_reference_are_true(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FIXTURES.parent)
    found = doctest.testfile(str(FIXTURES.parent / "docs" / "python.md"), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert found.attempted > 15
    assert found.failed == 0
