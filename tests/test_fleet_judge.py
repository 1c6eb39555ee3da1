"""`fleet judge`: planted deviations are found and nothing else is; bad lines are named and judged without."""

from __future__ import annotations

import copy
import gc
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jsonschema
import many_nodes
import msgspec
import pytest
from click.testing import CliRunner, Result
from test_way_out import PAYLOADS, harmless

from rocm_doctor.bounded import Unreadable
from rocm_doctor.cli.fleet import command
from rocm_doctor.fleet.nodeset import expand, fold, is_host_name

SCHEMA = json.loads((Path(__file__).parents[1] / "rocm_doctor/schemas/fleet.json").read_text())
MACHINE = many_nodes._machine()


def report(number: int, count: int = 10, **more: Any) -> dict[str, Any]:
    """A report without planted deviations."""
    made = many_nodes.report(2 * number + 1001, count + 100_000, MACHINE)
    return {**copy.deepcopy(made), "host": f"n{number}", **more}


def judge(tmp_path: Path, lines: Iterable[bytes | str | dict[str, Any]], *args: str) -> Result:
    path = tmp_path / "reports.jsonl"
    path.write_bytes(b"".join(_line(one) for one in lines))
    return CliRunner().invoke(command, ["judge", str(path), *args])


def _line(one: bytes | str | dict[str, Any]) -> bytes:
    return (one if isinstance(one, bytes) else one.encode() if isinstance(one, str) else msgspec.json.encode(one)) + b"\n"


def test_the_garbage_collector_runs_on_after_reports_were_read(tmp_path: Path) -> None:
    gc.enable()
    assert judge(tmp_path, [report(1), report(2)]).exit_code == 0
    assert gc.isenabled()
    assert judge(tmp_path, []).exit_code != 0
    assert gc.isenabled()


def plain(result: Result) -> dict[str, Any]:
    assert result.exit_code in (0, 1, 3), result.output
    found: dict[str, Any] = json.loads(result.stdout)
    jsonschema.validate(found, SCHEMA)
    return found


def silent(summary: dict[str, Any]) -> dict[str, str]:
    """Nodes without a report that can be judged, by why."""
    return {one["why"]: one["nodes"] for one in summary["groups"] if one["state"] == "silent"}


def found_is_planted(summary: dict[str, Any], count: int) -> None:
    """The 12 planted deviations, each with its nodes, the stragglers and the finding; nothing else."""
    deviations = {one["fact"]: expand(one["nodes"]) for one in summary["deviations"]}
    wanted = {
        name: [f"mi300x-{n + 1:05}" for n in (range(first, first + many) if many else range(0, count, 2))]
        for name, _, first, many in many_nodes._PLANTED
    }
    assert deviations.keys() == wanted.keys()
    for name, nodes in wanted.items():
        # Of two halves either may be the majority.
        assert deviations[name] == nodes or (name == "pkg.transformers" and len(deviations[name]) == count // 2), name
    assert len(summary["deviations"]) == 12
    assert [(one["id"], one["nodes"]) for one in summary["groups"] if one["state"] == "problems"] == [
        ("driver.firmware", "mi300x-[00101-00125]")
    ]
    assert {(one["node"], one["gpu"]) for one in summary["stragglers"]} == {("mi300x-00401", 5), ("mi300x-00411", None)}
    assert {one["fact"]: one["sick"] for one in summary["deviations"] if one["sick"] > 1 and one["count"] < 100} == {
        "firmware.mes": 25
    }
    assert silent(summary) == {}
    assert summary["refused"] == []


def test_planted_deviations_of_many_nodes(tmp_path: Path) -> None:
    result = judge(tmp_path, (one.rstrip() for one in many_nodes.lines(600)), "--format", "json")
    assert result.exit_code == 1
    found_is_planted(plain(result), 600)


def test_sound_nodes_have_no_deviation(tmp_path: Path) -> None:
    summary = plain(judge(tmp_path, map(report, range(40)), "--format", "json"))
    assert summary["deviations"] == summary["stragglers"] == []
    assert summary["groups"] == [
        {"state": "ready", "why": "", "count": 40, "nodes": "n[0-39]", "id": "", "row": "", "severity": ""}
    ]


def test_gpus_of_a_deviation(tmp_path: Path) -> None:
    lines = [report(n) for n in range(10)]
    for host, gpu in ((4, 3), (5, 3), (6, 0)):
        lines[host]["snapshot"]["gpus"][gpu]["facts"]["link_width"]["value"] = 4
    (one,) = plain(judge(tmp_path, lines, "--format", "json"))["deviations"]
    assert (one["value"], one["majority"], one["nodes"]) == ("4", "16", "n[4-6]")
    assert one["gpus"] == {"0": "n6", "3": "n[4-5]"}


def test_a_node_that_lacks_a_gpu_deviates_in_their_number_alone(tmp_path: Path) -> None:
    """The indexes of the GPUs behind it are other ones, and with them their addresses and links."""
    lines = [report(n) for n in range(10)]
    lines[3]["snapshot"]["gpus"].pop(2)
    (one,) = plain(judge(tmp_path, lines, "--format", "json"))["deviations"]
    assert (one["fact"], one["value"], one["majority"], one["nodes"]) == ("gpus", "7", "8", "n3")
    lines[4]["snapshot"]["gpus"][1]["facts"]["numa_node"]["value"] = 5
    found = plain(judge(tmp_path, lines, "--format", "json"))["deviations"]
    assert [(one["fact"], one["nodes"], one["gpus"]) for one in found] == [
        ("gpu.numa_node", "n4", {"1": "n4"}),
        ("gpus", "n3", {}),
    ]


def test_unknown_is_not_absent(tmp_path: Path) -> None:
    lines = [report(n) for n in range(10)]
    lines[1]["snapshot"]["facts"]["firmware.mes"]["value"] = {"type": "unknown", "why": "denied", "hint": "x"}
    del lines[2]["snapshot"]["facts"]["firmware.mes"]
    del lines[3]["snapshot"]["facts"]["pkg.numpy"]
    lines[4]["snapshot"]["facts"]["container"]["value"] = "docker"
    found = {(one["fact"], one["value"], one["nodes"]) for one in plain(judge(tmp_path, lines, "--format", "json"))["deviations"]}
    assert found == {
        ("firmware.mes", "permission denied", "n1"),
        ("firmware.mes", "not probed", "n2"),
        ("pkg.numpy", "absent", "n3"),
        ("container", "docker", "n4"),
    }


def test_faults_are_named_and_judged_without(tmp_path: Path) -> None:
    whole = msgspec.json.encode(report(3))
    lines: list[bytes | str | dict[str, Any]] = [
        report(0),
        report(1),
        {"host": "n2", "error": "timed out after 60 s"},
        whole[: len(whole) // 2],
        "Welcome to n4!",
        report(5, schema_version=7, verdict={"new": 1}),
        report(0),
        {"host": "n6", "error": "printed more than 8 MiB"},
        {"host": "<host-1>", **{k: v for k, v in report(7).items() if k != "host"}},
        report(1),
        "[" * 100_000,
        report(8, schema_version=1),
    ]
    summary = plain(judge(tmp_path, lines, "--nodes", "n[0-209]", "--format", "json", "--strict"))
    assert summary["nodes"] == 3
    whys = silent(summary)
    assert whys["timed out after 60 s"] == "n2"
    assert whys["printed more than 8 MiB"] == "n6"
    assert whys["schema_version 7; this version of rocm-doctor reads up to 2"] == "n5"
    assert whys["not in what was judged"] == "n[3-4,7,9-209]"
    assert [place for place, _ in summary["refused"]] == [
        "reports.jsonl:4",
        "reports.jsonl:5",
        "reports.jsonl:9",
        "reports.jsonl:11",
    ]
    assert summary["deviations"] == []


def test_the_newer_report_of_a_node_counts(tmp_path: Path) -> None:
    """A node that was repaired and asked again is not sick, and its old facts and figures are nobody's."""
    sick = report(0, verdict="problems", findings=[many_nodes._FINDING])
    sick["snapshot"]["facts"]["kernel"]["value"] = "5.15"
    slow, fast = (
        {"kind": "bench", "schema_version": 1, "host": "n0", "figures": [{"name": "x", "value": value}]} for value in (1, 100)
    )
    others = [{**fast, "host": f"n{n}"} for n in range(1, 9)]
    lines = [sick, slow, *map(report, range(1, 9)), *others, report(0), fast]
    summary = plain(judge(tmp_path, lines, "--format", "json"))
    assert (summary["nodes"], summary["deviations"], summary["stragglers"]) == (9, [], [])
    assert [one["state"] for one in summary["groups"]] == ["ready"]
    # By the collector's clock, in whichever order the files are given.
    lines = [{**report(0), "received": 2.0}, *map(report, range(1, 9)), {**sick, "received": 1.0}]
    assert plain(judge(tmp_path, lines, "--format", "json"))["deviations"] == []
    # A node that answered and is silent today was judged by its report.
    assert silent(plain(judge(tmp_path, [report(0), {"host": "n0", "error": "no answer"}], "--format", "json"))) == {}


def test_lists_of_nodes(tmp_path: Path) -> None:
    lines = [report(0), report(1, verdict="problems", findings=[many_nodes._FINDING]), {"host": "n2", "error": "no answer"}]
    assert judge(tmp_path, lines, "--format", "pass").stdout == "n0\n"
    failed = judge(tmp_path, lines, "--format", "fail").stdout
    assert failed == "n1\tproblems\tMES firmware hangs under load\nn2\tsilent\tno answer\n"


def test_the_documented_lines_drain_sick_and_silent_nodes_and_no_others(tmp_path: Path) -> None:
    page = (Path(__file__).parents[1] / "docs/fleet.md").read_text()
    documented = "\n".join(
        line for line in page.splitlines() if line.startswith(("bad=", "[ -z", 'scontrol update NodeName="$bad'))
    )
    (tmp_path / "scontrol").write_text(f'#!/bin/sh\necho "$2" >>{tmp_path}/drained\n')
    (tmp_path / "rocm-doctor").write_text(f'#!/bin/sh\nexec {sys.executable} -m rocm_doctor "$@"\n')
    for name in ("scontrol", "rocm-doctor"):
        (tmp_path / name).chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(Path(__file__).parents[1])}
    sound = [report(n) for n in range(3)]
    sick = report(3, verdict="problems", findings=[many_nodes._FINDING])
    drained = tmp_path / "drained"
    for lines, expected in ((sound, ""), ([*sound, sick, {"host": "n9", "error": "no answer"}], "NodeName=n3,n9\n")):
        (tmp_path / "nodes.jsonl").write_bytes(b"".join(map(_line, lines)))
        subprocess.run(["sh", "-ec", documented], cwd=tmp_path, env=env, timeout=60, check=True)
        assert (drained.read_text() if drained.exists() else "") == expected


def test_variables_of_a_launcher_are_no_deviation(tmp_path: Path) -> None:
    lines = [report(n) for n in range(10)]
    for n, name in enumerate(("env.RAY_RAYLET_PID", "env.SLURMD_NODENAME", "env.SLURM_JOB_ID", "env.OMPI_COMM_WORLD_RANK")):
        lines[n]["snapshot"]["facts"][name] = {"value": str(n)}
    assert plain(judge(tmp_path, lines, "--format", "json"))["deviations"] == []


def test_exit_codes(tmp_path: Path) -> None:
    good, sick = [report(n) for n in range(6)], [report(n) for n in range(5)] + [report(5, verdict="problems")]
    sick[5]["findings"] = [many_nodes._FINDING]
    silent = {"host": "n9", "error": "no answer"}
    odd = [*good[:5], report(5)]
    odd[5]["snapshot"]["facts"]["kernel"]["value"] = "6.1"
    for lines, args, code in (
        (good, (), 0),
        (sick, (), 1),
        (sick, ("--fail-on", "never"), 0),
        ([*good, silent], (), 3),
        ([*good, silent], ("--fail-on", "never"), 0),
        ([*sick, silent], (), 1),
        ([silent], ("--fail-on", "never"), 3),
        ([], (), 3),
        (good, ("--expect", "8"), 0),
        (good, ("--expect", "7"), 1),
        (odd, (), 0),
        (odd, ("--fail-on", "note"), 1),
        (good, ("--expect", "8xgfx942"), 0),
        (good, ("--expect", "8xgfx950"), 1),
        (good, ("--expect", "eight"), 2),
        (good, ("--nodes", "n[1-"), 2),
    ):
        assert judge(tmp_path, lines, *args).exit_code == code, (args, code)


def test_policy(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        'expect: 8xgfx942\nrequire: {driver.version: ">=6.14", gpu.link_width: "16", gpu.vram_bytes: ">=180GiB", iommu: pt}\nignore: [kernel]\n'
    )
    lines = [report(n) for n in range(8)]
    lines[1]["snapshot"]["facts"]["driver.version"]["value"] = "6.12.12"
    lines[2]["snapshot"]["gpus"].pop()
    lines[3]["snapshot"]["facts"]["kernel"]["value"] = "5.15"
    del lines[4]["snapshot"]["facts"]["iommu"]
    result = judge(tmp_path, lines, "--policy", str(policy), "--format", "json")
    assert result.exit_code == 1
    summary = plain(result)
    assert {(one["why"], one["nodes"]) for one in summary["groups"] if one["state"] == "problems"} == {
        ("driver.version must be >=6.14, is 6.12.12", "n1"),
        ("gpus must be 8, is 7", "n2"),
        ("iommu must be pt, is not probed", "n4"),
    }
    assert "kernel" not in {one["fact"] for one in summary["deviations"]}
    for text in ("require: {no.such: x}", "require: {gpu.link_width: wide}", "expected: 8xgfx942", "expect: [8]"):
        policy.write_text(text)
        assert judge(tmp_path, lines, "--policy", str(policy)).exit_code == 2, text


def test_folders_indented_and_labelled(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.json").write_bytes(msgspec.json.format(msgspec.json.encode(report(0)), indent=1) + b"\n")
    (folder / "c.jsonl").write_bytes(msgspec.json.encode(report(3)) + b"\n" + msgspec.json.encode(report(4)))
    (folder / "e.log").write_bytes(b"noise\nn5: " + msgspec.json.encode(report(5)) + b"\n")
    result = CliRunner().invoke(command, ["judge", str(folder), "--format", "pass"])
    assert (result.exit_code, result.stdout.split()) == (0, ["n0", "n3", "n4", "n5"])
    piped = CliRunner().invoke(command, ["judge", "-", "--format", "json"], input=(folder / "c.jsonl").read_bytes())
    assert plain(piped)["nodes"] == 2


def test_stragglers_in_either_direction(tmp_path: Path) -> None:
    def figures(n: int, latency: float) -> dict[str, Any]:
        value = {"gpu": 0, "name": "launch", "value": latency, "unit": "us", "better": "lower"}
        return {
            "kind": "bench",
            "schema_version": 1,
            "host": f"n{n}",
            "figures": [value],
            "gpus": [{"index": 0, "gfx": "gfx942"}],
        }

    lines = [figures(n, 5 + n % 3 / 100) for n in range(20)] + [figures(20, 9.0), figures(21, 2.0)]
    (one,) = plain(judge(tmp_path, lines, "--format", "json"))["stragglers"]
    assert (one["node"], one["figure"]) == ("n20", "launch")


@pytest.mark.slow
def test_a_stranger_cannot_steer_a_terminal_or_a_script(tmp_path: Path) -> None:
    lines = [report(n) for n in range(6)]
    for n, payload in enumerate(PAYLOADS.values()):
        evil = report(50 + n, verdict="problems")
        text = payload.encode("utf-8", "replace").decode()
        evil["findings"] = [{**many_nodes._FINDING, "title": text, "id": text}]
        evil["snapshot"]["facts"]["kernel"]["value"] = text
        evil["snapshot"]["facts"][f"pkg.{text}"] = {"value": text}
        lines.append(evil)
    lines += [report(80, host=host) for host in ("$(id)", "-x", "a b", "n1;reboot", "a" * 300, "<b>")]
    for name in ("text", "json", "prometheus", "pass", "fail"):
        result = judge(tmp_path, lines, "--format", name)
        harmless(result.stdout)
        assert "$(id)" not in result.stdout or name in ("text", "json", "fail")
    listed = judge(tmp_path, lines, "--format", "fail").stdout.splitlines()
    assert all(is_host_name(line.partition("\t")[0]) for line in listed)


def test_a_table_is_bounded(tmp_path: Path) -> None:
    many = report(0)
    many["snapshot"]["facts"] = {f"pkg.p{n}": {"value": str(n)} for n in range(6000)}
    (why,) = silent(plain(judge(tmp_path, [many], "--format", "json")))
    assert "more than the 5000" in why
    result = judge(tmp_path, [b'{"host": "n1", "x": "' + b"y" * (7 << 20) + b'"}', report(1)], "--format", "json")
    assert plain(result)["refused"] == [["reports.jsonl:1", "more than 6 MiB"]]
    assert plain(result)["nodes"] == 1


def test_prometheus_lint(tmp_path: Path) -> None:
    lines = [report(n) for n in range(4)] + [report(9, verdict="problems", findings=[many_nodes._FINDING])]
    text = judge(tmp_path, lines, "--format", "prometheus").stdout
    assert 'rocm_doctor_ready{node="n9",state="problems"} 0' in text
    if not (promtool := shutil.which("promtool")):
        pytest.skip("promtool is not installed")
    ran = subprocess.run([promtool, "check", "metrics"], input=text, text=True, capture_output=True, timeout=20, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize(
    ("names", "folded"),
    [
        ([f"mi300x-{n:03}" for n in (*range(1, 118), 120)], "mi300x-[001-117,120]"),
        (["n9", "n10", "n11"], "n[9-11]"),
        (["n099", "n100"], "n[099-100]"),
        (["a1.lan", "a2.lan", "b"], "a[1-2].lan,b"),
        (["n1"], "n1"),
        ([], ""),
    ],
)
def test_nodesets(names: list[str], folded: str) -> None:
    assert fold(names) == folded
    assert expand(folded) == names


def test_expressions_of_clustershell() -> None:
    assert expand("n[1-9/2]!n5") == ["n1", "n3", "n7", "n9"]
    assert expand("r[1-2]n[1-2]&r2n[1-9]") == ["r2n1", "r2n2"]
    with pytest.raises(Unreadable, match=r"groups.conf"):
        expand("@no-such-group")


@pytest.mark.parametrize(
    "text", ["n[1", "n]1", "n[1-a]", "n[3-1]", "n[1-999999]", "n 1", "-n", "n[1-9][1-9999][1-9999]", "$(id)"]
)
def test_expressions_that_are_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        expand(text)


def test_a_long_node_set_is_cut_for_people_and_whole_for_scripts(tmp_path: Path) -> None:
    lines = [report(n, 120) for n in range(1, 121)]
    for n in range(0, 120, 2):
        lines[n]["snapshot"]["facts"]["kernel"]["value"] = "6.8.0-1"
    text = judge(tmp_path, lines).stdout
    assert max(map(len, text.splitlines())) < 200
    assert ",…" in text
    every = next(
        one["nodes"] for one in plain(judge(tmp_path, lines, "--format", "json"))["deviations"] if one["fact"] == "kernel"
    )
    assert every not in text


def test_a_report_without_a_host_is_judged_under_the_name_of_its_file(tmp_path: Path) -> None:
    for name in ("node01.json", "node02.json", "not a host.json"):
        (tmp_path / name).write_bytes(msgspec.json.encode({**report(1), "host": ""}))
    found = plain(CliRunner().invoke(command, ["judge", str(tmp_path), "--format", "json"]))
    assert found["nodes"] == 2
    assert [where for where, _ in found["refused"]] == ["not a host.json:1"]


def test_silent_nodes_are_no_success(tmp_path: Path) -> None:
    assert judge(tmp_path, [report(n) for n in range(1, 4)], "--nodes", "n[1-12]").exit_code == 3
