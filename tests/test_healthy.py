"""What a healthy machine's report says: each part that was checked, notes on what it could do better, GPUs of one kind together."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from machines import card, judge
from tool_texts import ROCMINFO

from rocm_doctor import pipeline
from rocm_doctor.facts.enrich import enrich
from rocm_doctor.matrix import load
from rocm_doctor.model import Artifact, Fact, Gpu, Reading, Report, Snapshot, Value
from rocm_doctor.reports import RenderOptions, render
from rocm_doctor.reports.machine import gpu_lines
from rocm_doctor.reports.places import where
from rocm_doctor.rules import RULES
from rocm_doctor.rules.checks import PARTS
from rocm_doctor.rules.engine import judge as judge_rows
from rocm_doctor.rules.logs import Logs
from rocm_doctor.sources.bundle import read
from rocm_doctor.sources.paste import cut

FIXTURES = Path(__file__).parent.parent / "fixtures"
MATRIX = load()


def gpu(**facts: Value) -> Gpu:
    known: dict[str, Value] = {"gfx": "gfx942", "device_id": 0x74A1, "is_apu": False, **facts}
    return Gpu({name: Fact(value, (Reading("a", "", f"{name}={value}"),)) for name, value in known.items()})


def titles(*gpus: Gpu) -> list[str]:
    found, _ = judge_rows(enrich(Snapshot(gpus=gpus, gpus_listed=True), MATRIX), Logs(()), MATRIX, RULES)
    return [f"{f.subject}: {f.title}" for f in found if f.id in ("hw.below-capacity", "access.visible-devices")]


def words(report: Report) -> str:
    return render("text", report, RenderOptions(width=100, color=False, verbose=False, quiet=False))


def test_a_ready_machine_shows_each_part_with_a_tick() -> None:
    report = pipeline.judge(read(FIXTURES / "rx7900xtx-ready"), MATRIX)
    assert report.verdict == "ready"
    assert [(check.name, check.state) for check in report.checks] == [(name, "ok") for name, _, _ in PARTS]
    lines = [line for line in words(report).splitlines() if line.startswith("  ✓")]
    assert [line[4:15].strip() for line in lines] == [name for name, _, _ in PARTS]


def test_a_part_with_a_problem_has_no_tick() -> None:
    report = pipeline.judge(read(FIXTURES / "mi50-wrong-override"), MATRIX)
    assert "GPU code" not in [check.name for check in report.checks]


def test_a_whole_pasted_machine_is_ready() -> None:
    """rocminfo opened the device node to list the GPU: nothing has to be asked."""
    torch = (
        "$ python -c 'import torch; print(torch.__version__, torch.version.hip, torch.cuda.get_arch_list())'\n"
        "2.9.1+rocm6.4 6.4.43484 ['gfx1030', 'gfx1100', 'gfx1201']\n"
    )
    text = f"$ uname -r\n6.14.0-28-generic\n\n$ rocminfo\n{ROCMINFO}\n\n{torch}"
    report = pipeline.judge(cut(text, "ticket.md"), MATRIX)
    assert report.verdict == "ready", report.summary
    without = pipeline.judge(cut(torch, "ticket.md"), MATRIX)
    assert without.verdict == "undetermined"


@pytest.mark.parametrize(
    ("facts", "title"),
    [
        ({"link_width": 4, "link_max_width": 16}, "PCIe link is narrower than the GPU's"),
        ({"power_cap_watts": 550, "power_default_watts": 750}, "power limit is lowered"),
        ({"vram_bytes": 200 << 30, "vram_used_bytes": 180 << 30}, "memory is free"),
    ],
)
def test_what_takes_from_a_healthy_gpu_is_a_note(facts: dict[str, Value], title: str) -> None:
    [found] = titles(gpu(), gpu(**facts))
    assert found.startswith("GPU 1 (gfx942): ")
    assert title in found


def test_equal_notes_are_one() -> None:
    [found] = titles(*[gpu(link_width=8, link_max_width=16)] * 8)
    assert found.startswith("GPUs 0-7 (gfx942): ")


@pytest.mark.parametrize(
    "facts",
    [
        {"link_width": 16, "link_max_width": 16},
        {"link_width": 4},
        {"power_cap_watts": 750, "power_default_watts": 750},
        {"power_cap_watts": 800, "power_default_watts": 750},
        {"vram_bytes": 16 << 30, "vram_used_bytes": 2 << 30},
        {"is_apu": True, "link_width": 4, "link_max_width": 16},
    ],
)
def test_a_gpu_at_its_best_has_no_note(facts: dict[str, Value]) -> None:
    assert titles(gpu(**facts)) == []


ROCM_SMI = """Device  Node  IDs              Temp        Power     Partitions          SCLK    MCLK    Fan  Perf  PwrCap  VRAM%  GPU%
              (DID,     GUID)  (Junction)  (Socket)  (Mem, Compute, ID)
==========================================================================================================================
0       2     0x74a1,   28851  40.0°C      141.0W    NPS1, SPX, 0        132Mhz  900Mhz  0%   auto  {0}.0W  {1}%     0%
1       3     0x74a1,   51499  36.0°C      136.0W    NPS1, SPX, 0        132Mhz  900Mhz  0%   auto  750.0W  0%     0%
==========================================================================================================================
"""
ROCM_SMI_OLD = """GPU  Temp (DieEdge)  AvgPwr  SCLK    MCLK     Fan  Perf  PwrCap  VRAM%  GPU%
0    50.0c           352.0W  1700Mhz  1600Mhz  0%   auto  {0}.0W   {1}%   100%
1    50.0c           352.0W  1700Mhz  1600Mhz  0%   auto  750.0W   0%   100%
"""
AMD_SMI = """+------------------------------------------------------------------------------+
| AMD-SMI 26.0.0+37d158ab      amdgpu version: 6.14.14  ROCm version: 7.0.0    |
|-------------------------------------+----------------------------------------|
| BDF                        GPU-Name | Mem-Uti   Temp   UEC       Power-Usage |
| GPU  HIP-ID  OAM-ID  Partition-Mode | GFX-Uti    Fan               Mem-Usage |
|=====================================+========================================|
| 0000:83:00.0    AMD Instinct MI300X | 0 %      37 °C   0           135/{0} W |
|   0       0       0        SPX/NPS1 | 0 %        N/A        {2}/196288 MB |
| 0000:84:00.0    AMD Instinct MI300X | 0 %      37 °C   0           135/750 W |
|   1       1       1        SPX/NPS1 | 0 %        N/A           285/196288 MB |
+-------------------------------------+----------------------------------------+
"""
METRIC = "GPU: 0\n    MEM_USAGE:\n        TOTAL_VRAM: 196288 MB\n        USED_VRAM: {2} MB\n"
TABLES = {"rocm-smi": ROCM_SMI, "rocm-smi-old": ROCM_SMI_OLD, "amd-smi": AMD_SMI, "amd-smi metric": METRIC}
"""Tables with slots for power limit, percent and MB in use."""


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_a_printed_table_gives_the_memory_in_use(table: str) -> None:
    def notes(*values: int) -> list[str]:
        report = pipeline.judge(cut("$ amd-smi\n" * (table == AMD_SMI) + table.format(*values), "ticket.md"), MATRIX)
        return [f"{f.subject}: {f.title}" for f in report.findings if f.id == "hw.below-capacity"]

    assert notes(750, 3, 285) == []
    [note] = notes(550, 91, 180_000)
    assert note.startswith("GPU 0")


def test_partly_hidden_gpus_are_a_note() -> None:
    found = titles(gpu(visible=True), gpu(visible=False))
    assert found == [": 1 of 2 GPUs is visible"]
    assert titles(gpu(visible=True), gpu(visible=True)) == []


def test_numa_balancing_is_a_note_on_instinct_only() -> None:
    on = [Artifact("proc/sys/kernel/numa_balancing", "live", "1\n")]
    off = [Artifact("proc/sys/kernel/numa_balancing", "live", "0\n")]
    found = {
        (gfx, state[0].text): [f.severity for f in judge(state, card(gfx)).findings if f.row == "numa-balancing-instinct"]
        for gfx in ("gfx942", "gfx1100")
        for state in (on, off)
    }
    assert {key: severity for key, severity in found.items() if severity} == {("gfx942", "1\n"): ["note"]}


def test_gpus_of_one_kind_share_a_line() -> None:
    boards = [gpu(product="Instinct MI300X", compute_units=304, codename="Aqua Vanjaram")] * 8
    assert list(gpu_lines(Snapshot(gpus=tuple(boards)))) == [("GPU 0-7", "8 × Instinct MI300X (gfx942) 304 CUs")]


def test_evidence_names_the_users_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "a-rocminfo.txt").write_text(ROCMINFO, encoding="utf-8")
    (tmp_path / "train.log").write_text("\n\nRuntimeError: HIP error: invalid device function\n", encoding="utf-8")
    report = pipeline.judge(read(tmp_path), MATRIX)
    places = {(r.artifact, r.place) for f in report.findings for r in f.evidence}
    assert ("train.log", "line 3") in places
    assert not any(artifact.startswith("paste/") for artifact, _ in places)
    [card] = report.snapshot.gpus
    assert {r.artifact for r in card.get("gfx").readings} == {"a-rocminfo.txt"}


def test_a_hypothesis_on_a_line_that_is_explained_is_folded() -> None:
    report = pipeline.judge(read(FIXTURES / "r9700-lora-read-past-end"), MATRIX)
    [unknown] = [f for f in report.findings if f.row == "sig-kernel-fault-unknown"]
    assert unknown.follows_from


def test_a_missing_node_follows_from_a_missing_driver() -> None:
    said = "ROCk module is NOT loaded, possibly no GPU devices\nUnable to open /dev/kfd read-write: No such file or directory\n"
    report = pipeline.judge(cut(said, "ticket.md"), MATRIX)
    assert [f.id for f in report.findings if not f.follows_from and f.severity == "error"] == ["access.driver-not-loaded"]


def test_each_command_of_a_finding_is_said_once() -> None:
    """Over all rows: what is done is not told again as the check, nor as the question."""
    from rocm_doctor.model import THE_MACHINE
    from rocm_doctor.rules.findings import row_finding

    for row in MATRIX.rows:
        made = row_finding(row, MATRIX, (), "high", THE_MACHINE)
        said = [c.text for c in (*made.commands, *made.verify, *([made.settle] if made.settle else []))]
        assert len(said) == len(set(said)), row.key


def test_a_value_in_a_sentence_is_no_python_value() -> None:
    text = "GPU: gfx110X\n\nRuntimeError: HIP error: invalid device function\n"
    report = pipeline.judge(cut(text, "ticket.md"), MATRIX)
    said = [words for f in report.findings for words in (f.title, f.cause, f.advice)]
    assert not [words for words in said if "Unknown(" in words or "None" in words]


def test_a_title_does_not_name_its_target_twice() -> None:
    named = msgspec.structs.replace(
        next(iter(pipeline.judge(read(FIXTURES / "mi50-wrong-override"), MATRIX).findings)),
        subject="GPU 0 (gfx906)",
        subject_kind="gpu",
    )
    assert where(msgspec.structs.replace(named, title="AMD does not list gfx906 for ROCm 6.2")) == " (GPU 0)"
    assert where(msgspec.structs.replace(named, title="torch holds no code for it")) == " (GPU 0, gfx906)"


def test_the_same_note_on_several_gpus_is_one_line() -> None:
    on = [Artifact("proc/sys/kernel/numa_balancing", "live", "1\n")]
    report = judge(on, card("gfx942", 1), card("gfx942", 2))
    assert [line for line in words(report).splitlines() if "NUMA" in line and line.startswith("·")] == [
        "· the kernel balances memory between NUMA nodes (GPUs 0-1, gfx942) [numa-balancing-instinct]"
    ]


def test_a_kernel_from_before_the_gpu_is_named_where_the_node_is_missing() -> None:
    said = (
        "$ uname -r\n6.8.0-60-generic\n$ lspci -nn -d 1002:\n03:00.0 VGA compatible controller [0300]: Advanced Micro Devices, Inc. "
        "[AMD/ATI] Navi 48 [Radeon RX 9070/9070 XT/9070 GRE] [1002:7550] (rev c0)\n$ ls -l /dev/kfd\n"
        "ls: cannot access '/dev/kfd': No such file or directory\n"
    )
    report = pipeline.judge(cut(said, "ticket.md"), MATRIX)
    assert "sig-rdna4-on-old-kernel" in [f.row for f in report.findings if not f.follows_from]
