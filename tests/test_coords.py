"""coords.py against what probes record, on every packaged machine and on the corpora where they are beside the project."""

from __future__ import annotations

from pathlib import Path

import pytest
from recorded import misfit, misfits

from rocm_doctor import pipeline
from rocm_doctor.coords import COORDS, coord
from rocm_doctor.matrix import load
from rocm_doctor.model import Artifact, Fact, Gpu, Reading, Snapshot, Unknown
from rocm_doctor.probes.read.result import ProbeResult
from rocm_doctor.workers.smoke.table import STAGES

ROOT = Path(__file__).resolve().parents[1]
FIXTURES = sorted(path.parent for path in (ROOT / "fixtures").rglob("expected.yaml"))
CORPUS = ROOT.parent / "shared" / "corpus"
CAPTURES = sorted(path for path in (CORPUS / "captures").rglob("*") if path.is_file()) if CORPUS.is_dir() else []
HERE = Reading("file", "line 1", "words")


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.name)
def test_every_fixture_records_what_coords_defines(path: Path) -> None:
    assert misfits(pipeline.read_facts(pipeline.read_paths([path]), load())) == []


@pytest.mark.slow
@pytest.mark.skipif(not CAPTURES, reason="the corpus of captures is not beside the project")
def test_every_capture_records_what_coords_defines() -> None:
    matrix = load()
    wrong = {w for path in CAPTURES for w in misfits(pipeline.read_facts(pipeline.read_paths([path]), matrix))}
    assert wrong == set()


def test_a_fact_that_coords_does_not_define_fails_its_test() -> None:
    with pytest.raises(AssertionError, match=r"gpu.twins is not in coords.py"):
        ProbeResult().record("twins", 2, HERE, {})
    with pytest.raises(AssertionError, match=r"wsl is a flag in coords.py and was recorded as 'yes'"):
        ProbeResult().record("wsl", "yes", HERE)
    with pytest.raises(AssertionError, match=r"ram_bytes is a number in coords.py and was recorded as True"):
        ProbeResult().record("ram_bytes", True, HERE)


def test_a_crash_on_such_a_fact_is_not_swallowed_with_the_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    def probe(_: object) -> ProbeResult:
        result = ProbeResult()
        result.record("gpu_twins", 2, HERE)
        return result

    monkeypatch.setattr("rocm_doctor.probes.python.env.probe", probe)
    with pytest.raises(AssertionError, match=r"gpu_twins is not in coords.py"):
        pipeline.read_facts([Artifact("env", "bundle", "HOME=/root\n")], load())


def test_facts_that_were_never_recorded_are_seen_in_the_snapshot() -> None:
    snapshot = Snapshot({"twins": Fact(1), "env.": Fact(True)}, (Gpu({"gfx": Fact(906)}),))
    assert misfits(snapshot) == ["twins is not in coords.py", "gpu.gfx is a word in coords.py and was recorded as 906"]


@pytest.mark.parametrize("value", [None, Unknown("denied")])
def test_absent_and_unknown_fit_every_name(value: Unknown | None) -> None:
    assert [name for name in COORDS if not name.endswith(".") and misfit(name, value)] == []


def test_no_smoke_stage_has_the_name_of_a_fact_about_the_run() -> None:
    about = {name.removeprefix("smoke.") for name in COORDS if name.startswith("smoke.")} - {""}
    stages = {stage.name for stage in STAGES}
    assert "matmul" in stages
    assert stages & about == set()


def test_a_family_takes_any_member_and_is_no_name_itself() -> None:
    assert coord("env.ANY") == COORDS["env."]
    assert coord("env.") is None
    assert coord("environment") is None
