"""The differential: what it weighs, what it may not say, and many reports at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rocm_doctor import pipeline
from rocm_doctor.differential import model
from rocm_doctor.differential.complaint import complaint
from rocm_doctor.differential.model import text_features
from rocm_doctor.matrix import load
from rocm_doctor.model import Report
from rocm_doctor.reports import RenderOptions, render
from rocm_doctor.sources.paste import cut

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))
import corpus

MATRIX = load()
LOADED = model.load()
SEGFAULT = """My RX 6700 XT (gfx1031) crashes with a segmentation fault as soon as the first training step of my LoRA starts.
Ubuntu 24.04, torch 2.9.1+rocm6.4, no override set. rocminfo lists the card and is_available is True."""
VAGUE = "ComfyUI does not use my Radeon RX 6600, it runs on the CPU only. Linux Mint."
QUESTION = """Feature request: it would be nice if the trainer could log the learning rate to tensorboard as well.
Everything works fine on my RX 7900 XTX, just a suggestion for the documentation."""


def judged(text: str) -> Report:
    return pipeline.judge(cut(text, "report.md"), MATRIX, source="report.md", kind="capture")


def test_the_weights_know_the_diagnoses_of_the_matrix() -> None:
    assert LOADED is not None
    assert set(LOADED.weights.classes) <= {*MATRIX.diagnoses, model.NONE}
    assert model.WEIGHTS.stat().st_size <= 1 << 20


def test_no_report_for_testing_is_in_the_weights() -> None:
    assert LOADED is not None
    testing = {e.id for e in corpus.load() if e.testing}
    assert testing
    assert not testing & {case.id for case in LOADED.weights.cases}


def test_the_corpus_is_well_formed() -> None:
    assert list(corpus.faults(corpus.load(), corpus.labels())) == []


def test_words_alone_are_no_finding_and_name_no_command() -> None:
    report = judged(VAGUE)
    assert not [f for f in report.findings if f.severity != "note"]
    assert report.verdict == "undetermined"
    assert 0 < sum(one.probability for one in report.differential) <= 1.001
    assert [one.probability for one in report.differential] == sorted(
        (one.probability for one in report.differential), reverse=True
    )
    text = render("text", report, RenderOptions())
    assert all(f"read like this: {one.title}" in " ".join(text.split()) for one in report.guesses)
    assert "%" not in text, "probabilities are for JSON"


def test_a_guess_is_left_out_beside_a_finding() -> None:
    report = judged(SEGFAULT + "\nRuntimeError: HIP error: invalid device function")
    assert [f for f in report.findings if f.severity != "note"]
    assert report.differential
    assert report.guesses == ()


def test_a_question_of_use_is_told_that_nothing_points_at_the_gpu() -> None:
    report = judged(QUESTION)
    assert report.differential[0].id == model.NONE
    assert report.guesses == ()


def test_repetition_counts_by_its_logarithm() -> None:
    assert LOADED is not None
    once = model.vector(LOADED, text_features("segmentation fault"))
    often = model.vector(LOADED, text_features("segmentation fault\n" * 1000))
    assert once.keys() <= often.keys()
    assert max(often.values()) <= LOADED.weights.kinds["w"]


def test_tool_output_alone_is_not_a_complaint() -> None:
    rocminfo = "ROCk module is loaded\n=====================\nHSA Agents\n==========\n*******\nAgent 1\n*******\n  Name: gfx1100\n  Device Type: GPU\n"
    assert judged(rocminfo).differential == ()


def test_a_program_that_ends_with_an_error_is_a_complaint_where_no_row_knows_the_error() -> None:
    assert judged("RX 7900 XTX, torch 2.10.0+git\n\nSegmentation fault (core dumped)").differential
    assert not judged("RX 7900 XTX, torch 2.10.0+git\n\n12 steps").differential


def test_lines_of_tools_count_only_where_they_fail() -> None:
    log = "training stops after an hour on my card\n" + "\n".join(
        f"[ 10{n}.0] amdgpu 0000:03:00.0: {words}"
        for n, words in enumerate(["amdgpu: SMU is initialized", "amdgpu: ring gfx timeout"])
    )
    weighed = complaint(cut(log, "x"))
    assert "training stops" in weighed
    assert "ring gfx timeout" in weighed


def test_a_long_text_is_cut_to_its_ends_and_its_failing_lines() -> None:
    text = "\n".join(
        [
            "it dies after some steps",
            *(f"step {n} loss 1.{n}" for n in range(3000)),
            "RuntimeError: HIP error",
            *["step ok"] * 3000,
        ]
    )
    weighed = complaint(cut(text, "x"))
    assert len(weighed) < 12_000
    assert "HIP error" in weighed
    assert weighed.startswith("it dies after some steps\n")


def test_a_machine_without_a_text_loads_no_weights() -> None:
    code = "import sys; from rocm_doctor.cli import main; sys.argv = ['rocm-doctor', 'check', '--no-smoke', '-q']\ntry: main()\nexcept SystemExit: pass\nassert 'rocm_doctor.differential' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_a_report_is_added_with_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "REPORTS", tmp_path)
    monkeypatch.setattr(corpus, "ROOT", tmp_path)
    monkeypatch.setattr(corpus, "labels", lambda: {"access.permission", "none"})
    monkeypatch.setattr(corpus, "load", lambda folder=tmp_path: [])
    (tmp_path / "real").mkdir()
    report = tmp_path / "report.md"
    report.write_text("rocminfo says permission denied\n")
    words = [
        "--thread",
        "https://github.com/o/r/issues/7",
        "--confirmed-by",
        "reporter",
        "--cause",
        "No group.",
        "--fix",
        "Add it.",
    ]
    for label, code in (("access.nothing", 1), ("access.permission", 0)):
        monkeypatch.setattr(sys, "argv", ["corpus.py", "add", str(report), "--label", label, *words])
        assert corpus.main() == code
    (entry,) = corpus.read(tmp_path / "real.jsonl")
    assert (entry.id, entry.label, entry.text) == ("r-7", "access.permission", "rocminfo says permission denied\n")
