"""Access, code for the card, the override, masks and an integrated GPU: each judgement from text to finding."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from machines import card, env, judge, named, open_nodes, serious, torch

from rocm_doctor.facts.derive import visible_indices
from rocm_doctor.matrix import load
from rocm_doctor.model import Artifact

RULES = Path(__file__).resolve().parents[1] / "rocm_doctor"


def container(kind: str = "docker") -> list[Artifact]:
    return [Artifact(".dockerenv", "bundle", "exists: yes\n")] if kind == "docker" else []


def missing(name: str) -> list[Artifact]:
    return [Artifact(name, "bundle", missing="absent-source")]


# access


def test_a_healthy_machine_gets_one_sentence() -> None:
    report = judge(open_nodes(), card("gfx1100"), torch("2.9.1+rocm6.4"))
    assert report.verdict == "ready"
    assert not report.findings


def test_no_gpu_and_no_driver_says_why() -> None:
    report = judge(missing("dev/kfd"), missing("sys/class/kfd"), missing("sys/module/amdgpu"), missing("sys/bus/pci/devices"))
    assert named(report, "access.no-gpu").title.startswith("no AMD GPU visible, because")


def test_a_container_without_the_node() -> None:
    assert named(judge(missing("dev/kfd"), container()), "access.container").severity == "error"


def test_a_closed_node_names_its_group() -> None:
    finding = named(judge(open_nodes(open="EACCES Permission denied"), card("gfx1100")), "access.permission")
    assert "render" in finding.commands[0].text
    assert any("gid" in r.quote or "Permission denied" in r.quote for r in finding.evidence)


def test_a_closed_node_in_a_container_gets_the_group_of_the_node() -> None:
    finding = named(judge(open_nodes(open="EACCES Permission denied"), container(), card("gfx1100")), "access.container")
    assert "--group-add $(stat -c %g /dev/kfd)" in finding.commands[0].text


def test_a_gpu_that_no_driver_has_claimed_follows_from_a_kernel_that_is_too_old() -> None:
    bus = [Artifact("sys/bus/pci/devices/0000:03:00.0/uevent", "bundle", "PCI_CLASS=30000\nPCI_ID=1002:7551\n")]
    module = [Artifact("sys/module/amdgpu/initstate", "bundle", "live\n"), *missing("sys/module/amdgpu/version")]
    kernel = [Artifact("proc/sys/kernel/osrelease", "bundle", "6.8.0-60-generic\n")]
    found = {f.id: f for f in judge(missing("dev/kfd"), bus, module, kernel).findings}
    assert found["access.driver-not-bound"].follows_from == found["version.kernel-too-old"].row
    assert "Without amdgpu" not in found["access.driver-not-bound"].cause


@pytest.mark.parametrize(
    ("second", "severity"), [("amdgpu", None), ("vfio-pci", "note"), ("pciback", "note")], ids=["amdgpu", "vfio", "another"]
)
def test_a_gpu_beside_one_of_amdgpu_may_be_set_aside(second: str, severity: str | None) -> None:
    """Training runs on the GPU that amdgpu has: the other is worth a note."""
    bus = [
        Artifact(f"sys/bus/pci/devices/0000:0{n}:00.0/uevent", "bundle", f"DRIVER={driver}\nPCI_CLASS=30000\nPCI_ID=1002:744C\n")
        for n, driver in enumerate(("amdgpu", second), 1)
    ]
    found = [f for f in judge(open_nodes(), card("gfx1100"), bus).findings if f.id == "access.driver-not-bound"]
    assert [f.severity for f in found] == ([severity] if severity else [])
    assert all(f.title.startswith(f"{second} has claimed the GPU") for f in found)


# code for the card


def test_a_build_without_the_card() -> None:
    finding = named(judge(open_nodes(), card("gfx1201"), torch("2.5.1+rocm6.2")), "arch.not-in-build")
    assert finding.severity == "error"
    assert any(c.text == "rocm-doctor plan" for c in finding.commands)


def test_listed_but_no_blas_kernels() -> None:
    report = judge(open_nodes(), card("gfx906"), torch("2.9.1+rocm6.4"))
    assert named(report, "arch.blas-missing").severity == "error"
    assert named(report, "arch.blas-missing").commands[0].text == "rocm-doctor plan", "which names the build of another ROCm"


def test_the_last_good_index_for_gfx906_is_clean() -> None:
    assert not serious(judge(open_nodes(), card("gfx906"), torch("2.9.1+rocm6.3", "6.3.42131-fa1d09cbd")))


def test_what_the_binary_holds_outranks_the_catalog() -> None:
    audit = [Artifact("paste/text", "paste", "")]
    assert not serious(judge(open_nodes(), card("gfx1100"), torch("2.9.1+rocm6.4"), audit))


# HSA_OVERRIDE_GFX_VERSION


@pytest.mark.parametrize(
    ("gfx", "build", "value", "id_", "severity"),
    [
        ("gfx1151", "2.10.0+rocm7.1", "11.5.1", "arch.override-pointless", "note"),
        ("gfx906", "2.9.1+rocm6.3", "9.0.6", "arch.override-pointless", "note"),
        ("gfx906", "2.9.1+rocm6.3", "10.3.0", "arch.override-wrong", "error"),
        ("gfx1100", "2.9.1+rocm6.4", "10.3.0", "arch.override-wrong", "error"),
        ("gfx1031", "2.9.1+rocm6.4", "10.3.0", "arch.override-in-use", "note"),
        ("gfx1100", "2.9.1+rocm6.4", "eleven", "arch.override-wrong", "error"),
    ],
)
def test_an_override_is_never_passed_over(gfx: str, build: str, value: str, id_: str, severity: str) -> None:
    report = judge(open_nodes(), card(gfx), torch(build), env(HSA_OVERRIDE_GFX_VERSION=value))
    assert named(report, id_).severity == severity


def test_an_override_that_is_needed_and_not_set() -> None:
    finding = named(judge(open_nodes(), card("gfx1031"), torch("2.9.1+rocm6.4")), "arch.override-needed")
    assert [c.text for c in finding.commands] == ["export HSA_OVERRIDE_GFX_VERSION=10.3.0"]


def test_an_override_for_an_unknown_chip_is_said_to_be_unjudged() -> None:
    assert named(judge(env(HSA_OVERRIDE_GFX_VERSION="10.3.0")), "arch.override-in-use").confidence == "low"


# masks


@pytest.mark.parametrize(
    ("masks", "bad"),
    [
        ({"HIP_VISIBLE_DEVICES": "0"}, False),
        ({"HIP_VISIBLE_DEVICES": "-1"}, True),
        ({"HIP_VISIBLE_DEVICES": ""}, True),
        ({"CUDA_VISIBLE_DEVICES": "1"}, True),
        ({"ROCR_VISIBLE_DEVICES": "0", "HIP_VISIBLE_DEVICES": "0"}, False),
        ({"ROCR_VISIBLE_DEVICES": "GPU-abc", "HIP_VISIBLE_DEVICES": "7"}, False),
    ],
)
def test_masks_over_one_card(masks: dict[str, str], bad: bool) -> None:
    report = judge(open_nodes(), card("gfx1100"), torch("2.9.1+rocm6.4"), env(**masks))
    assert ("access.visible-devices" in serious(report)) is bad


def test_the_same_list_twice_hides_what_the_first_renumbered() -> None:
    two = [*card("gfx1100", 1), *card("gfx1100", 2)]
    report = judge(open_nodes(), two, torch("2.9.1+rocm6.4"), env(ROCR_VISIBLE_DEVICES="1", HIP_VISIBLE_DEVICES="1"))
    assert "after ROCR_VISIBLE_DEVICES" in named(report, "access.visible-devices").title


@pytest.mark.parametrize(("mask", "left"), [("0,2", [0, 2]), ("0,-1,1", [0]), ("", []), ("GPU-1,0", None), (" 1 , 0 ", [1, 0])])
def test_a_mask_ends_at_the_first_that_is_no_index(mask: str, left: list[int] | None) -> None:
    assert visible_indices(mask) == left


# an integrated GPU


def test_an_integrated_gpu_beside_a_card_is_worth_a_note_and_no_more() -> None:
    report = judge(open_nodes(), [*card("gfx1100", 1), *card("gfx1036", 2)], torch("2.9.1+rocm6.4"))
    assert named(report, "arch.igpu-interferes").severity == "note"
    assert report.verdict == "ready"


@pytest.mark.parametrize(
    ("gfx", "severity", "verdict", "title"),
    [
        ("gfx1036", "error", "problems", "the processor's own GPU is device 0, and torch has no code for gfx1036"),
        ("gfx1151", "note", "ready", "the processor's own GPU is device 0"),
    ],
)
def test_an_integrated_gpu_that_is_device_0_takes_the_run(gfx: str, severity: str, verdict: str, title: str) -> None:
    report = judge(open_nodes(), [*card(gfx, 1), *card("gfx1100", 2)], torch("2.13.0+rocm7.2", "7.2.53211-e1a6bc5663"))
    found = named(report, "arch.igpu-interferes")
    assert (found.severity, found.title, report.verdict) == (severity, title, verdict)
    assert [c.text for c in found.commands] == ["export HIP_VISIBLE_DEVICES=1"]


def test_an_integrated_gpu_at_device_0_explains_the_failure_of_the_first_kernel() -> None:
    log = [Artifact("log/train.log", "bundle", "RuntimeError: HIP error: invalid device function\n")]
    report = judge(open_nodes(), [*card("gfx1036", 1), *card("gfx1100", 2)], torch("2.9.1+rocm6.4"), log)
    assert report.findings[0].id == "arch.igpu-interferes"
    assert {f.follows_from for f in report.findings if f.row == "sig-invalid-device-function"} == {"arch.igpu-interferes"}


def test_a_finding_on_several_gpus_is_one() -> None:
    report = judge(open_nodes(), [*card("gfx906", 1), *card("gfx906", 2), *card("gfx906", 3)], torch("2.9.1+rocm6.4"))
    assert [f.subject for f in report.findings if f.id == "arch.blas-missing"] == ["GPUs 0-2 (gfx906)"]
    mixed = judge(open_nodes(), [*card("gfx906", 1), *card("gfx1100", 2), *card("gfx906", 3)], torch("2.9.1+rocm6.4"))
    assert [f.subject for f in mixed.findings if f.id == "arch.blas-missing"] == ["GPUs 0, 2 (gfx906)"]


def test_a_mask_that_hides_it_silences_the_note() -> None:
    report = judge(open_nodes(), [*card("gfx1100", 1), *card("gfx1036", 2)], torch("2.9.1+rocm6.4"), env(HIP_VISIBLE_DEVICES="0"))
    assert "arch.igpu-interferes" not in [f.id for f in report.findings]


def test_a_cuda_torch_beside_an_integrated_gpu_and_an_nvidia_driver_is_right() -> None:
    modules = [Artifact("proc/modules", "bundle", "nvidia 62521344 1 - Live 0x0\namdgpu 19738624 0 - Live 0x0\n")]
    cuda = [Artifact("py/torch/version.py", "bundle", "__version__ = '2.9.1+cu128'\ncuda: Optional[str] = '12.8'\nhip = None\n")]
    assert not serious(judge(open_nodes(), card("gfx1036"), cuda, modules))
    assert "version.torch-not-rocm" in serious(judge(open_nodes(), card("gfx1100"), cuda, modules))


def test_a_card_that_a_mask_hides_is_not_trained_on() -> None:
    two = [*card("gfx1100", 1), *card("gfx1036", 2)]
    report = judge(open_nodes(), two, torch("2.9.1+rocm6.4"), env(HIP_VISIBLE_DEVICES="1"))
    assert report.snapshot.gpus[0].get("visible").value is False
    found = named(report, "arch.igpu-interferes")
    assert (found.title, [c.text for c in found.commands]) == (
        "HIP_VISIBLE_DEVICES=1 leaves only the processor's own GPU, and torch has no code for gfx1036",
        ["export HIP_VISIBLE_DEVICES=0"],
    )


def test_the_cases_of_the_catalog_are_those_that_rules_name() -> None:
    texts = [path.read_text("utf-8") for path in (*RULES.glob("rules/*.py"), *RULES.glob("lint/**/*.py"))]
    named = {found for text in texts for found in re.findall(r'f?"((?:[a-z]+\.[a-z-]+|\{one\.lacks\})/[a-z-]+)"', text)}
    known = {case.name.replace("*", "{one.lacks}") for case in load().cases.values()}
    assert named == known
    assert {name.partition("/")[0] for name in known} - {"{one.lacks}"} <= load().diagnoses.keys()
