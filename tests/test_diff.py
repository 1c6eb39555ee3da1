"""Two reports side by side: what broke, and which of many differences can explain it, first."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from rocm_doctor import pipeline
from rocm_doctor.cli import cli
from rocm_doctor.matrix import load
from rocm_doctor.model import Fact, Finding, Gpu, Reading, Report, Snapshot
from rocm_doctor.reports import RenderOptions
from rocm_doctor.reports.diff import Diff, as_page, compare
from rocm_doctor.reports.page import render

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"


def report_of(path: Path) -> Report:
    return pipeline.judge(pipeline.read_paths([path]), load(), source=path.name)


def with_env(path: Path, **env: str) -> Report:
    artifacts = [a for a in pipeline.read_paths([path]) if a.name not in ("env", "log/train.log")]
    text = "".join(f"{k}={v}\n" for k, v in env.items())
    return pipeline.judge(
        [*artifacts, msgspec.structs.replace(artifacts[0], name="env", text=text, missing=None)], load(), source="after"
    )


def test_the_variable_that_broke_it_stands_first() -> None:
    good = with_env(FIXTURES / "rx7900xtx-ready", NAME="a")
    bad = with_env(FIXTURES / "rx7900xtx-ready", NAME="b", HSA_OVERRIDE_GFX_VERSION="10.3.0")
    diff = compare(good, bad, load())
    assert [f.id for f in diff.new if f.severity == "error"] == ["arch.override-wrong"]
    first = diff.differences[0]
    assert (first.name, first.after) == ("env.HSA_OVERRIDE_GFX_VERSION", "10.3.0")
    assert "arch.override-wrong" in first.explains[0]
    assert not compare(bad, good, load()).new
    assert compare(bad, good, load()).gone == diff.new


@pytest.mark.parametrize("name", ["rx7900xtx-ready", "mi50-wrong-override"])
def test_a_report_does_not_differ_from_itself(name: str) -> None:
    report = report_of(FIXTURES / name)
    diff = compare(report, report, load())
    assert (diff.new, diff.gone, diff.differences) == ((), (), ())
    assert "No difference in the facts" in as_text(diff)


def as_text(diff: Diff) -> str:
    return render("text", as_page(diff), RenderOptions())


NAMES = ["torch.version", "kernel", "env.A", "glibc", "pkg.x"]
SNAPSHOTS = st.dictionaries(
    st.sampled_from(NAMES), st.sampled_from(["1", "2", None]).map(lambda v: Fact(v, (Reading("a", "", str(v)),)))
)


def bare(facts: dict[str, Fact]) -> Report:
    return Report(1, "0", "m", "ready", "s", (), (), Snapshot(facts))


@pytest.mark.slow
@given(SNAPSHOTS, SNAPSHOTS)
def test_both_ways_name_the_same_facts(one: dict[str, Fact], other: dict[str, Fact]) -> None:
    there, back = compare(bare(one), bare(other), load()), compare(bare(other), bare(one), load())
    assert {(d.name, d.before, d.after) for d in there.differences} == {(d.name, d.after, d.before) for d in back.differences}


def test_gpus_are_told_apart_by_their_address() -> None:
    def gpu(address: str, gfx: str) -> Gpu:
        return Gpu({"pci_bdf": Fact(address), "gfx": Fact(gfx)})

    a, b = gpu("0000:03:00.0", "gfx1100"), gpu("0000:09:00.0", "gfx1036")
    one, other = bare({}), bare({})
    one = msgspec.structs.replace(one, snapshot=Snapshot({}, (a, b), True))
    other = msgspec.structs.replace(other, snapshot=Snapshot({}, (b, a), True))
    assert compare(one, other, load()).differences == ()


def test_the_command_reads_reports_and_bundles_and_ends_with_1_when_it_broke(tmp_path: Path) -> None:
    good, bad = FIXTURES / "rx7900xtx-ready", FIXTURES / "mi50-wrong-override"
    saved = tmp_path / "good.json"
    CliRunner().invoke(cli, ["check", str(good), "--format", "json", "-o", str(saved)])
    result = CliRunner().invoke(cli, ["diff", str(saved), str(bad)])
    assert result.exit_code == 1, result.output
    assert result.output.index("HSA_OVERRIDE_GFX_VERSION: ") < result.output.index("kernel: ")
    back = CliRunner().invoke(cli, ["diff", str(bad), str(saved), "--format", "json"])
    assert back.exit_code == 0
    assert json.loads(back.stdout)["gone"]


def test_a_file_that_is_no_report_is_a_usage_error(tmp_path: Path) -> None:
    other = tmp_path / "x.json"
    other.write_text("[]")
    result = CliRunner().invoke(cli, ["diff", str(other), str(other)])
    assert result.exit_code == 2
    assert "check --format json" in result.output


def listed(*gpus: dict[str, str]) -> Report:
    made = tuple(Gpu({k: Fact(v, (Reading("a", "", v),)) for k, v in facts.items()}) for facts in gpus)
    return msgspec.structs.replace(bare({}), snapshot=Snapshot({}, made, True))


def test_a_gpu_without_an_address_is_the_same_gpu() -> None:
    one = listed({"pci_bdf": "0000:03:00.0", "gfx": "gfx1100"}, {"pci_bdf": "0000:09:00.0", "gfx": "gfx1036"})
    other = listed({"gfx": "gfx1036"}, {"gfx": "gfx1100"})
    assert {d.name for d in compare(one, other, load()).differences} == {f"gpus[0000:0{n}:00.0].pci_bdf" for n in (3, 9)}


def test_another_card_in_another_slot_is_one_difference_a_fact() -> None:
    one, other = listed({"pci_bdf": "0000:03:00.0", "gfx": "gfx1100"}), listed({"pci_bdf": "0000:0a:00.0", "gfx": "gfx906"})
    found = {(d.name, d.before, d.after) for d in compare(one, other, load()).differences}
    assert found == {("gpus[0].pci_bdf", "0000:03:00.0", "0000:0a:00.0"), ("gpus[0].gfx", "gfx1100", "gfx906")}
    gone = compare(listed({"gfx": "gfx906"}, {"gfx": "gfx1100"}), listed({"gfx": "gfx1100"}), load()).differences
    assert [(d.before, d.after) for d in gone] == [("gfx906", "unknown")]


def test_a_lost_reading_explains_nothing() -> None:
    with_card, without = report_of(FIXTURES / "mi50-wrong-override"), bare({})
    lost, gained = compare(with_card, without, load()), compare(without, with_card, load())
    assert lost.gone
    assert not any(d.explains for d in lost.differences)
    assert any(d.explains for d in gained.differences)


def test_a_consequence_is_named_with_its_cause_and_breaks_nothing_anew(tmp_path: Path) -> None:
    cause = Finding("a.b", "cause", "error", "high", "c", row="r", fingerprint="1")
    after = Finding("c.d", "consequence", "error", "high", "c", follows_from="r", fingerprint="2")
    one, other = (msgspec.structs.replace(bare({}), findings=f) for f in ((cause,), (cause, after)))
    text = as_text(compare(one, other, load()))
    assert "follows from r: consequence (c.d)" in text
    for report, name in ((one, "a.json"), (other, "b.json")):
        (tmp_path / name).write_bytes(msgspec.json.encode(report))
    assert CliRunner().invoke(cli, ["diff", str(tmp_path / "a.json"), str(tmp_path / "b.json")]).exit_code == 0


def test_a_file_that_tells_of_no_machine_is_a_usage_error(tmp_path: Path) -> None:
    junk = tmp_path / "junk.bin"
    junk.write_bytes(b"a shopping list: milk\n" * 20)
    result = CliRunner().invoke(cli, ["diff", str(junk), str(FIXTURES / "rx7900xtx-ready")])
    assert result.exit_code == 2
    assert "junk.bin: neither a report nor a bundle" in result.output
