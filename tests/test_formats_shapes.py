"""Every format against the shape that its readers expect, with findings that want to break it.

SARIF is held against pydantic-sarif, whose types are generated from OASIS' sarif-schema-2.1.0.json. The official files themselves
(sarif-schema-2.1.0.json; junit-10.xsd of jenkinsci/xunit-plugin; JUnit.xsd of windyroad/JUnit-Schema) are used where the
folder ROCM_DOCTOR_SCHEMAS names holds them.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from rocm_doctor.cli import cli
from rocm_doctor.lint import judge
from rocm_doctor.model import Command, Fact, Finding, Gpu, Reading, Report, Snapshot, SubjectKind, Undecided
from rocm_doctor.reports import FORMATS, RenderOptions, render
from rocm_doctor.reports.neutral import clean

ROOT = Path(__file__).resolve().parents[1]
SCHEMAS = Path(os.environ.get("ROCM_DOCTOR_SCHEMAS", "/nonexistent"))
EVIL = (
    "</script><script>alert(1)</script>\"'><img src=x onerror=alert(2)>\r\n::error::x ]]> "
    "\x00\x1b[31m `` ``` @team | [a](javascript:x) %0A"
)
TEXT = (
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=40)
    | st.just(EVIL)
    | st.sampled_from(["", "a, b: c", "x%y", "&amp;"])
)
READINGS = st.builds(Reading, TEXT, st.sampled_from(["", "line 3", "line 12", "key"]), TEXT)
FINDINGS = st.builds(
    Finding,
    id=st.sampled_from(["arch.not-in-build", "access.container"]),
    title=TEXT,
    severity=st.sampled_from(["error", "warning", "note"]),
    confidence=st.sampled_from(["high", "medium", "low"]),
    cause=TEXT,
    row=st.sampled_from(["", "row-a"]),
    subject=TEXT,
    evidence=st.lists(READINGS, max_size=3).map(tuple),
    advice=TEXT,
    commands=st.lists(st.builds(Command, TEXT), max_size=2).map(tuple),
    sources=st.lists(TEXT | st.just("https://example.org/a?b=c#d"), max_size=2).map(tuple),
    fingerprint=st.sampled_from(["", "0123456789abcdef"]),
)
REPORTS = st.builds(
    Report,
    schema_version=st.just(2),
    tool_version=st.just("0.1.0"),
    matrix_version=st.just("2026.11.21"),
    verdict=st.sampled_from(["ready", "problems", "undetermined"]),
    summary=TEXT,
    findings=st.lists(FINDINGS, max_size=4).map(tuple),
    undecided=st.lists(st.builds(Undecided, st.just("a.b"), TEXT, TEXT, st.lists(TEXT, max_size=2).map(tuple)), max_size=2).map(
        tuple
    ),
    snapshot=st.builds(
        Snapshot,
        st.dictionaries(
            st.sampled_from(["torch.version", "env.X"]), st.builds(Fact, TEXT, st.lists(READINGS, max_size=2).map(tuple))
        ),
        st.just((Gpu({"gfx": Fact("gfx906", (Reading("a", "line 1", EVIL),))}),)),
        st.just(True),
        st.lists(READINGS, max_size=1).map(tuple),
    ),
    source=st.sampled_from(["this machine", "repository x for gfx906", EVIL]),
)


def shown(report: Report, name: str) -> str:
    return render(name, report, RenderOptions())


@given(REPORTS)
def test_sarif_has_the_types_of_the_schema(report: Report) -> None:
    model = pytest.importorskip("pydantic_sarif.model", reason="pydantic-sarif is not installed")
    data = json.loads(shown(report, "sarif"))
    model.StaticAnalysisResultsFormatSarifVersion210JsonSchema.model_validate(data)
    run = data["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    assert all(rules[r["ruleIndex"]]["id"] == r["ruleId"] for r in run["results"])
    assert len(run["results"]) == len(report.findings)


@pytest.mark.skipif(not (SCHEMAS / "sarif-schema-2.1.0.json").is_file(), reason="ROCM_DOCTOR_SCHEMAS holds no SARIF schema")
@given(REPORTS)
def test_sarif_against_the_official_schema(report: Report) -> None:
    import jsonschema

    schema = json.loads((SCHEMAS / "sarif-schema-2.1.0.json").read_text("utf-8"))
    jsonschema.Draft4Validator(schema).validate(json.loads(shown(report, "sarif")))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["junit-10.xsd", "JUnit.xsd"])
@given(report=REPORTS)
def test_junit_against_the_common_schemas(name: str, report: Report) -> None:
    etree = pytest.importorskip("lxml.etree", reason="lxml is not installed")
    if not (SCHEMAS / name).is_file():
        pytest.skip(f"ROCM_DOCTOR_SCHEMAS holds no {name}")
    etree.XMLSchema(etree.parse(str(SCHEMAS / name))).assertValid(etree.fromstring(shown(report, "junit").encode()))


@given(REPORTS)
def test_junit_counts_what_it_holds(report: Report) -> None:
    suites = ElementTree.fromstring(shown(report, "junit").encode())
    suite = suites.find("testsuite")
    assert suites.tag == "testsuites"
    assert suite is not None
    assert next(iter(suite)).tag == "properties"
    assert [child.tag for child in suite][-2:] == ["system-out", "system-err"]
    cases = suite.findall("testcase")
    assert int(suite.attrib["tests"]) == len(cases) >= 1
    assert (
        int(suite.attrib["failures"])
        == len(suite.findall("testcase/failure"))
        == sum(f.severity != "note" for f in report.findings)
    )
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.attrib["timestamp"])
    assert all({"name", "classname", "time"} <= case.attrib.keys() for case in cases)


@given(REPORTS)
def test_a_github_annotation_is_one_line_and_cannot_start_another_command(report: Report) -> None:
    lines = shown(report, "github").split("\n")
    assert lines[-1] == ""
    commands = [line for line in lines if line.startswith("::")]
    assert len(commands) == len(report.findings)
    assert len(lines) == len(report.findings) + 2
    for line in commands:
        found = re.fullmatch(r"::(error|warning|notice) ((?:\w+=[^,:]*,?)+)::(.*)", line)
        assert found, line
        assert "\r" not in line


def test_a_github_annotation_opens_the_line_of_a_repository() -> None:
    finding = Finding("a.b", "t", "error", "high", "c", evidence=(Reading("dir/a,b.txt", "line 7", "q"),))
    report = Report(1, "0", "m", "problems", "s", (finding,), (), Snapshot(), "repository x for gfx906", kind="repository")
    assert shown(report, "github").startswith("::error file=dir/a%2Cb.txt,line=7,title=rocm-doctor%3A a.b::t%0Ac")
    machine = msgspec.structs.replace(report, kind="machine")
    assert shown(machine, "github").startswith("::error title=")


@given(REPORTS)
def test_json_reads_back(report: Report) -> None:
    assert msgspec.json.decode(shown(report, "json"), type=Report) == clean(report)


@given(REPORTS)
def test_markdown_lets_nothing_through(report: Report) -> None:
    text = shown(report, "markdown")
    outside = re.sub(r"(?<![\\`])(`+)(?!`).*?(?<!`)\1(?!`)", "", re.sub(r"(?ms)^(`{3,})sh\n.*?^\1$", "", text))
    assert not re.findall(r"(?<!\\)<(?!/?details>|/?summary>|https://[^\s<>]*>)\w+", outside)
    assert not re.search(r"@\w", outside)
    assert not re.search(r"(?<!\\)\]\(", outside)


def lint(*args: str) -> int:
    return CliRunner().invoke(cli, ["lint", *args]).exit_code


REPOS = sorted(path for path in (ROOT / "fixtures" / "repos").iterdir())


@pytest.fixture(scope="module")
def _judged_once() -> Iterator[None]:
    """Each repository is read and judged once: formats differ in what comes after."""
    lint = judge.lint
    results: dict[Path, judge.Result] = {}

    def once(root: Path, *given: Any, **more: Any) -> judge.Result:
        if root not in results:
            results[root] = lint(root, *given, **more)
        return results[root]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judge, "lint", once)
        yield


@pytest.mark.usefixtures("_judged_once")
@pytest.mark.parametrize("fail_on", ["error", "warning", "note", "never"])
@pytest.mark.parametrize("repo", REPOS[::3], ids=lambda p: p.name)
def test_the_exit_code_is_the_same_for_every_format(repo: Path, fail_on: str, tmp_path: Path) -> None:
    args = [str(repo), "--gpu", "gfx906", "--rocm", "6.4", "--fail-on", fail_on]
    codes = {lint(*args, "--format", name) for name in FORMATS}
    many = [part for name in FORMATS for part in ("--format", name, "-o", str(tmp_path / f"all.{name}"))]
    assert codes == {lint(*args, *many)}
    assert all((tmp_path / f"all.{name}").stat().st_size > 0 for name in FORMATS)


def golden() -> Report:
    return Report(1, "0", "m", "ready", "s", (), (), Snapshot())


def test_an_empty_report_is_a_whole_document_in_every_format() -> None:
    for name in FORMATS:
        assert shown(golden(), name).endswith("\n")


def of(subject: str, place: str = "line 2", artifact: str = "Dockerfile") -> Report:
    reading = Reading(artifact, place, "ENV A=1")
    facts = {"smoke.failed": Fact(("memory_fault", "hang"), (reading,)), "env.": Fact(True, (reading,))}
    one = Finding("a.b", "run `fit` @here", "error", "high", "it is `x|y`, not <b>", subject=subject, evidence=(reading,))
    return Report(1, "0", "m", "problems", "see `fit`", (one,), (), Snapshot(facts))


def test_words_in_backticks_are_code_and_not_escaped_ones() -> None:
    assert "run `fit` `@here` in Dockerfile\n" in shown(of("Dockerfile"), "markdown")
    assert "it is `x|y`, not \\<b\\>" in shown(of("Dockerfile"), "markdown")


@pytest.mark.parametrize(("subject", "kind", "place", "expected"), [
    ("Dockerfile", "environment", "line 2", " in Dockerfile"), ("GPU 0 (gfx906)", "gpu", "line 2", " (GPU 0, gfx906)"),
    ("target gfx906", "target", "line 2", " on target gfx906"), ("torchvision", "package", "", " on torchvision"),
    ("GPU tests", "environment", "line 2", " in GPU tests"), ("fit", "environment", "line 2", ""),
])  # fmt: skip
def test_a_finding_is_in_a_file_and_on_a_gpu(subject: str, kind: SubjectKind, place: str, expected: str) -> None:
    report = of(subject, place)
    report = msgspec.structs.replace(
        report, findings=tuple(msgspec.structs.replace(f, subject_kind=kind) for f in report.findings)
    )
    for name in ("text", "markdown", "github", "junit"):
        line = next(line for line in shown(report, name).splitlines() if "here" in line)
        assert (expected in line.replace("\\", "")) if expected else "in fit" not in line
