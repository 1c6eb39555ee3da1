"""What a verdict may not say: ready where something needed was refused, crashed, contradicted or never read."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from rocm_doctor import pipeline
from rocm_doctor.api import NotReady, check, require
from rocm_doctor.cli.delivery import Reporting
from rocm_doctor.matrix import load
from rocm_doctor.model import Artifact, Report
from rocm_doctor.reports.answer import whole_findings
from rocm_doctor.sources.bundle import read

HEALTHY = Path(__file__).parent.parent / "fixtures" / "rx7900xtx-ready"
WINDOWS = Path(__file__).parent.parent / "fixtures" / "windows-cpu-wheel"
HSA_ERROR = "Call returned HSA_STATUS_ERROR: A generic error has occurred."
KFD = "sys/class/kfd/kfd/topology/nodes/1/properties"


def machine() -> dict[str, Artifact]:
    return {a.name: a for a in read(HEALTHY)}


def judged(*changes: Artifact, without: tuple[str, ...] = ()) -> Report:
    artifacts = machine() | {a.name: a for a in changes}
    return pipeline.judge([a for n, a in artifacts.items() if not n.startswith(without or ("\0",))], load())


def smoke(**results: str) -> Artifact:
    records = [{"kind": "header", "device": "hip", "name": "AMD"}]
    for stage in ("import", "device", "copy", "matmul"):
        records.append({"kind": "result", "stage": stage, "status": "passed"})
    for stage, value in results.items():
        status, _, reason = value.partition(":")
        records.append({"kind": "result", "stage": stage.replace("_", "-"), "status": status, "reason": reason})
    return Artifact("smoke/gpu0.jsonl", "smoke", "".join(json.dumps(r) + "\n" for r in records))


def test_the_machine_that_the_cases_start_from_is_ready() -> None:
    assert judged().verdict == "ready"


@pytest.mark.parametrize(
    "results", [{"bf16": "failed:nan", "blaslt": "failed:mismatch"}, {"bf16": "failed:nan", "lora_shapes": "died:SIGABRT"}]
)
def test_two_causes_that_name_each_other_still_count(results: dict[str, str]) -> None:
    report = judged(smoke(**results))
    assert report.verdict == "problems"
    assert any(not f.follows_from for f in report.findings if f.severity == "error")


def test_kfd_without_a_render_node_is_not_ready() -> None:
    assert judged(Artifact("dev/dri", "live", missing="absent-source"), without=("dev/dri/",)).verdict == "problems"


@pytest.mark.parametrize("probe", ["python.env", "kernel.kfd", "python.packages"])
def test_a_crashed_probe_is_not_a_pass(probe: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(artifacts: object) -> None:
        raise ValueError("broken on purpose")

    monkeypatch.setattr(f"rocm_doctor.probes.{probe}.probe", broken)
    report = judged()
    assert report.snapshot.errors
    assert report.verdict != "ready"


@pytest.mark.parametrize(
    "answer",
    [
        Artifact("cmd/rocminfo", "live", "", -11, 0.1, "crashed", "died by signal 11"),
        Artifact("cmd/rocminfo", "live", "", None, 5.0, "timeout", "ended after 5.0 s"),
        Artifact("cmd/rocminfo", "live", f"hsa api call failure at: rocminfo.cc:1282\n{HSA_ERROR}\n", 1, 0.1),
    ],
    ids=["signal", "hangs", "error"],
)
def test_a_runtime_that_does_not_come_up_is_not_ready(answer: Artifact) -> None:
    assert judged(answer).verdict != "ready"


@pytest.mark.parametrize(
    "lines", ["__version__ = '2.12.0a0+git1234567'\ncuda = None\nhip = '7.0.51831'\n", "__version__ = '2.9.1'\n"]
)
def test_a_torch_of_unknown_content_is_undetermined(lines: str) -> None:
    version = lines.split("'")[1]
    report = judged(Artifact("py/torch/version.py", "live", lines), Artifact("py/packages", "live", f"torch=={version}\n"))
    assert report.verdict == "undetermined"


def test_a_node_that_the_container_may_not_read_is_not_ready() -> None:
    assert judged(Artifact(KFD, "live", missing="denied")).verdict != "ready"


def test_wsl_is_told_nothing_of_kfd() -> None:
    release = "6.6.87.2-microsoft-standard-WSL2"
    report = judged(
        Artifact("proc/version", "live", f"Linux version {release} (root@x) #1 SMP\n"),
        Artifact("proc/sys/kernel/osrelease", "live", f"{release}\n"),
        Artifact("dev/dxg", "live", "exists: yes\n"),
        Artifact("dev/kfd", "live", missing="absent-source"),
        Artifact("dev/dri", "live", missing="absent-source"),
        without=("sys/", "dev/dri/", "opt/"),
    )
    assert "access.permission" not in {f.id for f in report.findings}
    assert "/dev/kfd" not in report.summary


def test_a_healthy_windows_machine_is_ready() -> None:
    text = "__version__ = '2.9.1+rocm7.2.1'\ncuda: Optional[str] = None\nhip: Optional[str] = '7.2.53211'\n"
    artifacts = [a for a in read(WINDOWS) if a.name in ("uname", "cmd/hipInfo", "py/interpreter")]
    report = pipeline.judge([*artifacts, Artifact("env", "live", ""), Artifact("py/torch/version.py", "live", text)], load())
    assert "/dev/kfd" not in report.summary


def test_what_followed_from_an_ignored_finding_is_shown_and_counted_in_its_place() -> None:
    """The verdict, the first finding on the page, `require` and the exit code are about one finding."""
    capture = str(HEALTHY.parent / "r9700-lora-read-past-end")
    before = check(capture)
    assert before.findings[0].row == "hipblaslt-lora-gfx12-old-torch"
    report = check(capture, ignore=["hipblaslt-lora-gfx12-old-torch"])
    assert report.verdict == "problems"
    assert report.summary.startswith(whole_findings(report)[0].title)
    with pytest.raises(NotReady, match=re.escape(report.findings[0].title)):
        require(capture, ignore=["hipblaslt-lora-gfx12-old-torch"])
    assert Reporting().exit_code(report) == 1


def test_an_ignored_note_leaves_the_verdict_and_its_sentence() -> None:
    noted = Artifact("env", "live", "HSA_ENABLE_SDMA=0\n")
    before = judged(noted)
    assert [f.severity for f in before.findings] == ["note"]
    report = pipeline.judge([*(machine() | {"env": noted}).values()], load(), ignore=[before.findings[0].id])
    assert (report.findings, report.verdict, report.summary) == ((), "ready", before.summary)


@pytest.mark.parametrize("form", ["{0.id}", "{0.row}", "{0.id}:{0.row}"])
def test_what_could_not_be_decided_is_ignored_in_each_form(form: str) -> None:
    unknown = judged(without=("py/",)).undecided[0]
    report = pipeline.judge([a for n, a in machine().items() if not n.startswith("py/")], load(), ignore=[form.format(unknown)])
    assert unknown not in report.undecided


def test_what_is_ignored_does_not_make_it_ready() -> None:
    wrong = Artifact("env", "live", "HSA_OVERRIDE_GFX_VERSION=9.0.6\n")
    found = judged(wrong)
    assert found.verdict == "problems"
    artifacts = machine() | {"env": wrong}
    ignored = pipeline.judge(list(artifacts.values()), load(), ignore=tuple(f.id for f in found.findings))
    assert not ignored.summary.startswith("ready to train on")
