"""Several machines stay several: a verdict each and one summary line; captures of one machine are one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from called import pages
from click.testing import CliRunner, Result
from tool_texts import ROCMINFO

from rocm_doctor.cli import cli
from rocm_doctor.matrix import load
from rocm_doctor.pipeline import judge, machines, read_paths
from rocm_doctor.redaction.shared import redact_report
from rocm_doctor.sources.bundle import read_each

MATRIX = load()
READY = Path(__file__).resolve().parents[1] / "fixtures" / "rx7900xtx-ready"


def check(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["check", *map(str, arguments)])


@pytest.fixture
def nodes(tmp_path: Path) -> list[Path]:
    """Three healthy nodes and one without /dev/kfd."""
    made = [Path(shutil.copytree(READY, tmp_path / f"node0{n}")) for n in range(1, 5)]
    (made[3] / "dev" / "kfd").unlink()
    kept = json.loads((made[3] / "artifacts.json").read_text()) if (made[3] / "artifacts.json").is_file() else []
    kept = [a for a in kept if a["name"] != "dev/kfd"] + [{"name": "dev/kfd", "origin": "bundle", "missing": "absent-source"}]
    (made[3] / "artifacts.json").write_text(json.dumps(kept))
    return made


def test_a_sick_node_among_healthy_ones_is_seen(nodes: list[Path]) -> None:
    done = check(*nodes)
    assert done.exit_code == 1
    assert done.stdout.rstrip().splitlines()[-1] == "4 machines: 3 ready, 1 with problems (node04)"


def test_a_folder_of_bundles_is_several_machines(nodes: list[Path]) -> None:
    assert "4 machines" in check(nodes[0].parent).stdout


def test_json_has_a_report_for_each(nodes: list[Path]) -> None:
    body = json.loads(check(*nodes, "--format", "json").stdout)
    assert [one["verdict"] for one in body["machines"]] == ["ready", "ready", "ready", "problems"]
    assert {k: body["summary"][k] for k in ("machines", "ready", "problems", "undetermined")} == {
        "machines": 4, "ready": 3, "problems": 1, "undetermined": 0,
    }  # fmt: skip


def test_json_of_several_is_read_back(nodes: list[Path], tmp_path: Path) -> None:
    path = tmp_path / "all.json"
    path.write_text(check(*nodes, "--format", "json").stdout)
    assert check(path).stdout.rstrip().splitlines()[-1].startswith("4 machines: 3 ready, 1 with problems")


def test_each_format_holds_every_machine(nodes: list[Path], tmp_path: Path) -> None:
    for form, page in pages(tmp_path, "check", "--no-redact", *map(str, nodes)).items():
        assert "/dev/kfd does not exist" in page, form  # the fault of one of them
        assert form in ("agent", "github") or all(node.name in page for node in nodes), form


def test_parts_of_one_machine_are_one(tmp_path: Path) -> None:
    """rocminfo's output, a log and pip's list, each in a file, as people hand them over."""
    (tmp_path / "rocminfo.txt").write_text(ROCMINFO)
    (tmp_path / "pip.txt").write_text("Package Version\n------- -------\ntorch 2.9.1+rocm6.4\npeft 0.18.1\nnumpy 2.0.0\n")
    (tmp_path / "train.log").write_text("RuntimeError: something\n")
    files = [tmp_path / name for name in ("rocminfo.txt", "pip.txt", "train.log")]
    assert len(machines([one for p in files for one in read_each(p)])) == 1
    assert len(machines(read_each(tmp_path))) == 1


def test_a_log_goes_with_its_bundle(nodes: list[Path], tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text("RuntimeError: something\n")
    assert len(machines([*read_each(nodes[0]), *read_each(tmp_path / "train.log")])) == 1


def test_a_host_keeps_its_pseudonym() -> None:
    """The name goes; a number made of the machine's own id is the same in each of its reports."""
    from rocm_doctor.model import Artifact

    base = read_paths([READY])
    reports = [judge([*base, Artifact("host", "live", f"name: {name}\nid: {id_}\n")], MATRIX)
               for name, id_ in (("node01", "1a2b3c4d"), ("node01", "1a2b3c4d"), ("node02", "99aabbcc"))]  # fmt: skip
    assert [r.host for r in reports] == ["node01", "node01", "node02"]
    assert [redact_report(r).host for r in reports] == ["host-1a2b3c4d", "host-1a2b3c4d", "host-99aabbcc"]
    assert "node01" not in str(redact_report(reports[0]))
