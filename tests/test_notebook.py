"""Notebooks: what Report, Plan and Fit show, and the magic in a real IPython shell."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from test_formats_browser import EVIL, hostile

import rocm_doctor
from rocm_doctor import Report, check, fit_for, plan_for
from rocm_doctor.reports.html import part, redact_page
from rocm_doctor.reports.html_style import STYLE

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
WRONG = FIXTURES / "mi50-wrong-override"


def shown(answer: Any) -> str:
    page: str = answer._repr_html_()
    assert page.startswith('<div class="rocm-doctor"><style>')
    assert page.endswith("</div>")
    return page


def test_a_report_shows_itself() -> None:
    page = shown(check(WRONG))
    assert "HSA_OVERRIDE_GFX_VERSION=10.3.0 makes gfx906" in page
    assert "<pre>unset HSA_OVERRIDE_GFX_VERSION</pre>" in page


def test_a_report_is_shown_redacted(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(
        "RX 7900 XTX\nFile /home/quokka/x.py\nRuntimeError: HIP error: invalid device function quokka@trainbox\n"
    )
    assert "quokka" not in shown(check(tmp_path / "log"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda: check(WRONG), "✗ HSA_OVERRIDE_GFX_VERSION=10.3.0 makes gfx906 load"),
        (lambda: plan_for("gfx1100", python="3.12"), "python3.12 -m venv .venv"),
        (lambda: fit_for("qwen2.5-7b", "gfx1100", vram=24 << 30, fast=True), "It fits"),
    ],
)
def test_the_text_that_a_notebook_keeps_is_that_of_the_terminal(answer: Any, words: str) -> None:
    pretty = pytest.importorskip("IPython.lib.pretty", reason="IPython is not installed")
    text = pretty.pretty(answer())
    assert words in text
    assert "quokka" not in text
    assert "Snapshot(" not in text


def test_a_hostile_report_stays_text() -> None:
    page = part(hostile())
    assert EVIL not in page
    assert set(re.findall(r"<(script|img|svg|iframe)", page)) == set()


def test_the_style_is_that_of_the_piece_alone() -> None:
    style = re.sub(r"(?s)^.*<style>(.*)</style>.*$", r"\1", part(check(WRONG)))
    assert style.startswith(".rocm-doctor.rocm-doctor.rocm-doctor {table, pre, code { color: inherit; }")
    assert not re.search(r":root|(?<!t)\bbody\b", style)
    assert style.count("{") == style.count("}") == STYLE.count("{") + 3


def test_a_plan_shows_itself() -> None:
    page = shown(plan_for("RX 7900 XTX", python="3.12", packages=["bitsandbytes"]))
    assert "python3.12 -m venv .venv" in page
    assert "bitsandbytes==" in page
    assert "Nothing is known to work" in shown(plan_for("gfx803", python="3.12"))


def test_a_prediction_of_the_persons_own_configuration(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "model = AutoModelForCausalLM.from_pretrained('Qwen/Qwen2.5-1.5B')\nTrainingArguments(per_device_train_batch_size=4, max_length=512)\n"
    )
    found = fit_for(config=tmp_path / "train.py", gpu="gfx1100", fast=True, batch=2)
    assert (found.run.job.method, found.run.job.batch, found.run.job.seq) == ("full", 2, 512)
    with pytest.raises(ValueError, match="no training configuration in this script"):
        fit_for("qwen2.5-7b", "gfx1100", config=Path(__file__))


def test_a_prediction_shows_itself() -> None:
    page = shown(fit_for("qwen2.5-7b", "RX 7900 XTX", method="qlora", fast=True))
    assert "It fits" in page
    assert "weights" in page
    assert "It does not fit" in shown(fit_for("llama-3.1-70b", "RX 7900 XTX", method="full", fast=True))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: plan_for("gfx9999"), "gpu='gfx9999': known are"),
        (lambda: plan_for("gfx1100", packages=["nonsense"]), "packages=nonsense: unknown"),
        (lambda: plan_for("gfx1100", train="much"), "train='much': expected one of full, lora, qlora"),
        (lambda: plan_for("gfx1100", system="macos"), "system='macos': expected one of linux, windows, wsl"),  # type: ignore[arg-type]
        (lambda: fit_for("qwen2.5-7b", "gfx1100", fast=True, seq=-1), "seq=-1: "),
        (lambda: fit_for("qwen2.5-7b", "gfx1100", fast=True, batch=0), "batch=0: "),
        (lambda: fit_for("qwen2.5-7b", "gfx1100", fast=True, method="foo"), "method='foo': expected one of full, lora, qlora"),
        (lambda: fit_for("no-such-model", "gfx1100", fast=True), "no-such-model"),
        (lambda: fit_for("qwen2.5-7b", "gfx1100", fast=True, colour="red"), "colour"),
    ],
)
def test_wrong_arguments_are_named(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()


@pytest.fixture
def shell() -> Any:
    testing = pytest.importorskip("IPython.testing.globalipapp", reason="IPython is not installed")
    shell = testing.get_ipython() or testing.start_ipython()
    shell.run_line_magic("load_ext", "rocm_doctor")
    return shell


@pytest.mark.slow
def test_the_magic_returns_a_report(shell: Any) -> None:
    report = shell.run_line_magic("rocm_doctor", f"check {WRONG}")
    assert isinstance(report, Report)
    assert report.verdict == "problems"
    as_html = shell.display_formatter.formatters["text/html"]
    as_html.enabled = True  # as in a notebook
    assert as_html(report).startswith('<div class="rocm-doctor">')
    assert shell.run_line_magic("rocm_doctor", "").kind == "machine"


@pytest.mark.slow
def test_the_magic_prints_any_other_command(shell: Any, capfd: pytest.CaptureFixture[str]) -> None:
    assert shell.run_line_magic("rocm_doctor", "explain arch.not-in-build; echo owned") is None
    assert "owned" not in "".join(capfd.readouterr()).splitlines()
    assert shell.run_line_magic("rocm_doctor", "explain arch.not-in-build") is None
    assert "was built without" in capfd.readouterr().out


@pytest.mark.slow
def test_a_cell_is_judged_as_a_pasted_log(shell: Any) -> None:
    report = shell.run_cell_magic("rocm_doctor", "", "RX 7900 XTX\nRuntimeError: HIP error: invalid device function\n")
    assert report.findings[0].id == "arch.not-in-build"
    pretty = pytest.importorskip("IPython.lib.pretty", reason="IPython is not installed")
    assert "Finding(" not in pretty.pretty(report.findings)


def test_a_plan_is_shown_redacted() -> None:
    assert "/home/quokka" not in redact_page(
        "<div><pre>/home/quokka/venv/bin/python -m pip</pre><a href='https://a.example'>x</a></div>"
    )


@pytest.mark.slow
def test_why_judges_the_last_exception(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "last_value", RuntimeError("HIP error: invalid device function"), raising=False)
    report = shell.run_line_magic("rocm_doctor", "why")
    assert any(reading.artifact == "log/traceback.log" for f in report.findings for reading in f.evidence)


def test_every_public_name_is_there() -> None:
    assert all(getattr(rocm_doctor, name) for name in rocm_doctor.__all__)
    with pytest.raises(AttributeError):
        _ = rocm_doctor.nonsense
