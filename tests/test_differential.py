"""The differential: what it weighs, what it may not say, and many reports at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rocm_doctor import pipeline
from rocm_doctor.differential import model
from rocm_doctor.differential.complaint import complaint, text_of
from rocm_doctor.differential.features import text_features
from rocm_doctor.differential.judge import HYPOTHESES
from rocm_doctor.differential.relations import relations
from rocm_doctor.matrix import load
from rocm_doctor.model import GUESS, Report
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


def test_a_complaint_gets_probabilities_with_what_carried_them() -> None:
    found = judged(SEGFAULT).differential
    assert found[0].id.startswith("arch.")
    assert [one.probability for one in found] == sorted((one.probability for one in found), reverse=True)
    assert 0 < sum(one.probability for one in found) <= 1.001
    assert any("gfx1031" in words for words in found[0].because)


def test_the_findings_follow_the_differential() -> None:
    report = judged(SEGFAULT)
    shares = {one.id: one.probability for one in report.differential}
    serious = [f for f in report.findings if f.severity != "note" and not f.follows_from]
    assert [shares.get(f.id, 0) for f in serious] == sorted((shares.get(f.id, 0) for f in serious), reverse=True)


def test_less_likely_hypotheses_are_alternatives_that_a_person_is_not_shown_in_full() -> None:
    report = judged(VAGUE)
    hypotheses = [f for f in report.findings if f.origin == GUESS]
    assert 1 < len(hypotheses) <= HYPOTHESES
    assert [f.alternative for f in hypotheses] == [f is not report.findings[0] for f in hypotheses]
    text = render("text", report, RenderOptions())
    assert text.count("  cause  ") == 1, "one answer"
    assert text.count("Also possible: ") == len([f for f in hypotheses if f.alternative])
    assert "%" not in text, "probabilities are for JSON"
    assert "more)" not in report.summary


def test_a_question_of_use_is_told_that_nothing_points_at_the_gpu() -> None:
    report = judged(QUESTION)
    assert report.differential[0].id == model.NONE
    assert not [f for f in report.findings if f.origin == "differential"]


@pytest.mark.parametrize(
    "words", ["invalid device function", "memory access fault by gpu node", "rocblas tensile cannot read", "nan loss bf16"]
)
def test_words_alone_never_make_an_error(words: str) -> None:
    """A hostile report repeats what speaks for a diagnosis: a hypothesis is all that it gets."""
    report = judged("please help with my training run on this machine\n" + "\n".join([words] * 400))
    assert not [f for f in report.findings if f.origin == "differential" and (f.severity == "error" or f.confidence != "low")]


def test_repetition_counts_by_its_logarithm() -> None:
    assert LOADED is not None
    once = model.vector(LOADED, text_features("segmentation fault"), ()).values
    often = model.vector(LOADED, text_features("segmentation fault\n" * 1000), ()).values
    assert once.keys() <= often.keys()
    assert max(often.values()) <= model.load().weights.kinds["w"]  # type: ignore[union-attr]


def test_two_words_of_a_sentence_are_weighed_in_any_order_and_words_of_the_first_line_apart() -> None:
    found = text_features("It broke after the kernel was updated. GPU gone\nkernel old")
    assert text_features("The kernel was updated, it broke")["p:broke kernel"] == found["p:broke kernel"] == 1
    assert "p:gpu kernel" not in found
    assert found["t:kernel"] == 1
    assert "t:old" not in found


def features_of(text: str) -> set[str]:
    return set(relations(pipeline.read_facts(cut(text, "x"), MATRIX), MATRIX, text))


def test_the_targets_that_a_line_names_are_held_against_the_gpu() -> None:
    lacks = features_of('My RX 6750 XT (gfx1031).\nmsg="amdgpu is not supported" supported_types="[gfx1030 gfx1100]"')
    assert "f:a list of targets lacks the gpu" in lacks
    assert "f:a list of targets holds the gpu" in features_of("My RX 6750 XT (gfx1031).\nbuilt for gfx1030;gfx1031")
    assert "f:a line with one target lacks the gpu" in features_of("GPU: gfx1031\ncmake -DAMDGPU_TARGETS=gfx1100")
    assert not [name for name in features_of("supported: gfx1030, gfx1100") if "target" in name and "the gpu" in name]


def test_two_nightlies_are_told_from_one() -> None:
    two = features_of("works with torch 2.10.0a0+rocm7.10.0a20251115\nfails with torch 2.10.0a0+rocm7.10.0a20251116")
    assert "f:two nightlies" in two
    assert "f:two nightlies" not in features_of("torch 2.10.0a0+rocm7.10.0a20251115, again 2.10.0a0+rocm7.10.0a20251115")


def test_releases_of_a_component_are_compared_across_sentences() -> None:
    apart = features_of("Crashes since the kernel update to 6.17.2. The kernel before, 6.14.8, has no such error.")
    assert "f:several releases of kernel" in apart
    assert "f:two releases of kernel" not in apart
    assert "f:two releases of kernel" in features_of("The kernel went from 6.14.8 to 6.17.2 and it crashes.")
    assert not [name for name in features_of("Kernel 6.14.8. It was kernel 6.14.8 before, too.") if "releases of kernel" in name]


def test_what_carried_an_answer_is_in_the_report() -> None:
    """The weights hold no words of texts: names come from the report itself."""
    assert LOADED is not None
    vector = model.vector(LOADED, text_features(SEGFAULT), {"f:gfx=gfx1031"})
    assert vector.values.keys() == vector.names.keys()
    assert set(vector.names.values()) <= {*text_features(SEGFAULT), "f:gfx=gfx1031"}
    assert model.strongest(LOADED, vector, "arch.override-needed")


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
    weighed = text_of(complaint(cut(log, "x")))
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
    lines = complaint(cut(text, "x"))
    assert sum(len(line.text) for line in lines) < 12_000
    assert any("HIP error" in line.text for line in lines)
    assert {line.text: line.number for line in lines}["it dies after some steps"] == 1


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
