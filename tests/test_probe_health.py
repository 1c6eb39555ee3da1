"""A node's health beyond its software: error counters, device memory that others hold, RDMA ports and limits, on simulated machines."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping

import pytest
from faketools import artifacts, write
from fleet_nodes import doctor, well

from rocm_doctor import pipeline
from rocm_doctor.matrix import load
from rocm_doctor.model import Artifact, Report
from rocm_doctor.probes.kernel import health
from rocm_doctor.probes.read.result import Artifacts
from rocm_doctor.probes.tools import failed_tools
from rocm_doctor.sources.live import collect

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sysfs")
MATRIX = load()
CARD = "sys/class/drm/card3/device"
PORT = "sys/class/infiniband/mlx5_0/ports/1"
ACTIVE = {"state": "4: ACTIVE\n", "phys_state": "5: LinkUp\n", "gids/0": "fe80:0000:0000:0000:0a3d:b4ff:fe00:0001\n"}
NO_GID = "0000:0000:0000:0000:0000:0000:0000:0000\n"
HEALTHY = {
    f"{CARD}/ras/umc_err_count": "ue: 0\nce: 0\nde: 0\n",
    f"{CARD}/ras/xgmi_wafl_err_count": "ue: 0\nce: 0\n",
    f"{CARD}/ras/gpu_vram_bad_pages": "",
    f"{CARD}/pcie_replay_count": "2\n",
    f"{CARD}/aer_dev_fatal": "Undefined 0\nDLP 0\nTOTAL_ERR_FATAL 0\n",
    f"{CARD}/aer_dev_nonfatal": "Undefined 0\nUnsupReq 4\nTOTAL_ERR_NONFATAL 4\n",
    "proc/uptime": "172800.25 1000.00\n",
    "sys/class/kfd/kfd/proc/4211/vram_20004": "4194304\n",
    **{f"{PORT}/{name}": text for name, text in ACTIVE.items()},
    "sys/class/infiniband/mlx5_1/ports/1/state": "1: DOWN\n",
    "sys/class/infiniband/mlx5_1/ports/1/phys_state": "3: Disabled\n",
}

LIMITS = ("limits/process", "dev/shm")
Judge = Callable[[Mapping[str, str]], Report]


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Judge:
    """The report on a node with eight MI300X and these files; its limits are those of a well-kept node."""
    root = tmp_path_factory.mktemp("nodes")
    doctor(root)

    def found(files: Mapping[str, str]) -> Report:
        well(root, "n1")
        made = collect(
            python=str(root / "train"),
            root=write(root / "n1", {**HEALTHY, **{name: text for name, text in files.items() if name not in LIMITS}}),
            tools=False,
            env={},
        )
        kept = {"limits/process": "memlock: -1\n", "dev/shm": f"exists: yes\nsize: {64 << 30}\n", **files}
        others = [one for one in made if one.name not in kept]
        return pipeline.judge([*others, *(Artifact(name, "live", kept[name]) for name in LIMITS)], MATRIX)

    return found


def rows(report: Report) -> dict[str, tuple[str, str]]:
    """Severity and subject by row, of what this file is about."""
    keys = {"numa-balancing-instinct"}
    return {one.row: (one.severity, one.subject) for one in report.findings if one.row not in keys}


def test_counters_at_nought_are_ready(judge: Judge) -> None:
    report = judge({})
    assert (report.verdict, rows(report)) == ("ready", {})
    facts = report.snapshot.gpus[3]
    assert [facts.get(name).value for name in ("ras_uncorrectable", "pcie_errors", "held_bytes", "retired_pages")] == [
        0, 0, 4194304, 0,
    ]  # fmt: skip
    assert report.snapshot.get("rdma.active").value == 1


PAGES = "0x00000001 : 0x00001000 : R\n0x00000002 : 0x00001000 : P\n"
DOWN = {
    "sys/class/infiniband/mlx5_2/ports/1/state": "1: DOWN\n",
    "sys/class/infiniband/mlx5_2/ports/1/phys_state": "2: Polling\n",
}


@pytest.mark.parametrize(
    ("files", "row", "severity"),
    [
        ({f"{CARD}/ras/umc_err_count": "ue: 12\nce: 3401\n"}, "ras-uncorrectable", "error"),
        ({f"{CARD}/ras/gfx_err_count": "ue: 1\nce: 0\n"}, "ras-uncorrectable", "error"),
        ({f"{CARD}/ras/umc_err_count": "ue: 0\nce: 3401\n"}, "ras-correctable-often", "note"),
        ({f"{CARD}/ras/gpu_vram_bad_pages": PAGES}, "retired-pages", "note"),
        ({f"{CARD}/ras/xgmi_wafl_err_count": "ue: 7\nce: 0\n"}, "ras-uncorrectable", "error"),
        ({f"{CARD}/aer_dev_fatal": "DLP 2\nTOTAL_ERR_FATAL 2\n"}, "pcie-errors", "warning"),
        ({f"{CARD}/pcie_replay_count": "4000\n"}, "pcie-replays-many", "note"),
        ({"sys/class/kfd/kfd/proc/4211/vram_20004": f"{180 << 30}\n"}, "vram-held", "warning"),
        (DOWN, "rdma-port-down", "warning"),
        ({f"{PORT}/state": "1: DOWN\n", f"{PORT}/phys_state": "2: Polling\n"}, "rdma-no-port-active", "note"),
        ({f"{PORT}/gids/0": NO_GID}, "rdma-port-without-gid", "warning"),
    ],
)
def test_a_fault_is_found(files: Mapping[str, str], row: str, severity: str, judge: Judge) -> None:
    report = judge(files)
    assert list(rows(report)) == [row]
    assert rows(report)[row][0] == severity
    assert report.verdict == ("ready" if severity == "note" else "problems")
    if "card3" in next(iter(files)) or row == "vram-held":
        assert rows(report)[row][1].startswith("GPU 3")


def test_a_rate_and_not_a_count(judge: Judge) -> None:
    """Three thousand corrected errors in a year are usual."""
    files = {f"{CARD}/ras/umc_err_count": "ue: 0\nce: 3401\n", "proc/uptime": f"{400 * 86400}.0 1.0\n"}
    assert rows(judge(files)) == {}


@pytest.mark.parametrize(
    ("name", "text", "row"),
    [
        ("limits/process", "memlock: 8388608\n", "memlock-below-rdma"),
        ("limits/process", "memlock: 68719476736\n", ""),
        ("dev/shm", "exists: yes\nsize: 67108864\n", "shm-below-collectives"),
    ],
)
def test_limits_below_what_many_gpus_need(name: str, text: str, row: str, judge: Judge) -> None:
    assert list(rows(judge({name: text}))) == ([row] if row else [])


def test_a_tool_that_answers_late() -> None:
    late = Artifact("cmd/rocm-smi", "live", "ok", seconds=9.0)
    assert failed_tools.probe(Artifacts([late, Artifact("cmd/rocminfo", "live", "ok", seconds=0.4)])).facts[
        "tools.slow"
    ].value == ("rocm-smi 9 s",)


def test_a_port_that_says_nothing() -> None:
    facts = health.probe(artifacts({"sys/class/infiniband": "mlx5_0/1 rate: 400 Gb/sec (4X NDR)\n"})).facts
    assert facts["rdma.down"].value == ("mlx5_0/1: None, None",)
