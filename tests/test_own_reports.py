"""rocm-doctor's own reports are read as reports: in files, pastes and folders, and never as somebody's complaint."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from rocm_doctor.matrix import load
from rocm_doctor.model import Report
from rocm_doctor.pipeline import judge, read_paths
from rocm_doctor.reports import RenderOptions, render
from rocm_doctor.sources.paste import cut

MATRIX = load()
FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
NAMES = ("rx7900xtx-ready", "mi50-wrong-override", "two-rx7900xt-rccl-hang")
READABLE = ("json", "sarif", "markdown")
SUFFIX = {"sarif": "sarif", "markdown": "md", "json": "json"}


@pytest.fixture(scope="module", params=NAMES)
def report(request: pytest.FixtureRequest) -> Report:
    return judge(read_paths([FIXTURES / request.param]), MATRIX, source=request.param, kind="capture")


def same(one: Report, other: Report) -> bool:
    return (one.verdict, one.summary, one.findings, one.snapshot) == (
        other.verdict,
        other.summary,
        other.findings,
        other.snapshot,
    )


@pytest.mark.parametrize("format_", READABLE)
def test_a_file(report: Report, format_: str, tmp_path: Path) -> None:
    path = tmp_path / f"own.{SUFFIX[format_]}"
    path.write_text(render(format_, report, RenderOptions()), encoding="utf-8")
    assert same(judge(read_paths([path]), MATRIX), report)


@pytest.mark.parametrize("format_", READABLE)
def test_a_paste_with_words_around_it(report: Report, format_: str) -> None:
    """The words are a text of their own, whose lines keep their numbers; the report's facts and findings stay."""
    text = f"Here is what the doctor says.\n\n{render(format_, report, RenderOptions())}\nAny idea?\n"
    again = judge(cut(text, "issue"), MATRIX)
    assert again.verdict == report.verdict
    assert {f.fingerprint for f in again.findings} == {f.fingerprint for f in report.findings}
    whole = next(a for a in cut(text, "issue") if a.name == "paste/text")
    assert whole.text.split("\n").index("Any idea?") == text.split("\n").index("Any idea?")


@pytest.mark.parametrize("format_", READABLE)
def test_a_folder(report: Report, format_: str, tmp_path: Path) -> None:
    (tmp_path / f"own.{SUFFIX[format_]}").write_text(render(format_, report, RenderOptions()), encoding="utf-8")
    (tmp_path / "note.txt").write_text("from the lab\n", encoding="utf-8")
    again = judge(read_paths([tmp_path]), MATRIX)
    assert {f.fingerprint for f in again.findings} == {f.fingerprint for f in report.findings}


@pytest.mark.parametrize("format_", ["text", *READABLE])
def test_a_healthy_report_holds_no_complaint(format_: str) -> None:
    healthy = judge(read_paths([FIXTURES / "strix-halo-ready"]), MATRIX)
    again = judge(cut(render(format_, healthy, RenderOptions()), "own"), MATRIX)
    assert [f for f in again.findings if f.severity != "note"] == []


@pytest.mark.parametrize("format_", ["markdown"])
def test_a_page_without_its_data_is_no_complaint_either(format_: str) -> None:
    """Pages of earlier versions, and pages whose data was too long."""
    sick = judge(read_paths([FIXTURES / "mi50-wrong-override"]), MATRIX)
    page = "\n".join(line for line in render(format_, sick, RenderOptions()).split("\n") if "rocm-doctor report:" not in line)
    again = judge(cut(page, "own"), MATRIX)
    assert again.findings == ()
    assert "without its data" in again.snapshot.errors[0].quote


def test_several_reports_in_one_text(tmp_path: Path) -> None:
    one = judge(read_paths([FIXTURES / "rx7900xtx-ready"]), MATRIX)
    text = render("json", one, RenderOptions()) * 3
    assert [a.name for a in cut(text, "all.json")] == ["report/1", "report/2", "report/3"]


def test_an_audit_is_read_as_one() -> None:
    audit = {
        "audit": {"place": "/x", "kind": "environment", "holdings": [], "versions": {"bitsandbytes": "0.49.0"}},
        "override": None,
        "gpus": {},
        "missing": {},
    }
    report = judge(cut("$ rocm-doctor audit --format json\n" + msgspec.json.encode(audit).decode(), "x"), MATRIX)
    assert report.snapshot.get("code.bitsandbytes").value is None
    assert report.snapshot.get("code.bitsandbytes").known


@pytest.mark.parametrize(
    "text", ['{"schema_version": 2, "verdict": 1, "findings": 3, "snapshot": []}', '{"tool_version"', '{"machines": [1]}']
)
def test_what_only_looks_like_a_report_breaks_nothing(text: str) -> None:
    assert judge(cut(f"words\n{text}\n", "x"), MATRIX).verdict == "undetermined"


def test_what_the_terminal_showed_of_the_machine_is_read(report: Report) -> None:
    """Beside a person's words: the GPUs, the stack and the lines that the doctor quotes, and none of its judgements."""
    shown = render("text", report, RenderOptions())
    assert judge(cut(shown, "issue"), MATRIX).findings == ()
    for text in (f"$ rocm-doctor check\n{shown}$ \n", f"What does this mean?\n```\n{shown}```\nThanks\n"):
        again = judge(cut(text, "issue"), MATRIX)
        assert [gpu.get("gfx").value for gpu in again.snapshot.gpus] == [gpu.get("gfx").value for gpu in report.snapshot.gpus]
        assert again.snapshot.get("kernel").value == report.snapshot.get("kernel").value
        assert [f.id for f in again.findings if f.severity == "error"] == [f.id for f in report.findings if f.severity == "error"]
        assert "without its data" in again.snapshot.errors[0].quote


@pytest.mark.parametrize(
    "text",
    [
        "rocm-doctor 0.1.0, matrix 2026.11.22: x\n",
        "rocm-doctor 0.1.0, matrix 2026.11.22: x\n  GPU 0-99999  9 × A (gfx1100)\n\n✓ ready\n",
        "rocm-doctor 0.1.0, matrix 2026.11.22: x\n· note [x]\n· note\n\n! most likely: a\n" * 3,
    ],
)
def test_a_torn_terminal_report_breaks_nothing(text: str) -> None:
    assert judge(cut(text, "x"), MATRIX).verdict
