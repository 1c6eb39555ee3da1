"""Facts of several tools become one snapshot: trust decides, disputes are kept, GPUs are matched and never counted twice."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from rocm_doctor.facts import merge as snapshot
from rocm_doctor.fleet.deviations import show
from rocm_doctor.model import Fact, Reading, Snapshot, Unknown, Value
from rocm_doctor.probes.read.result import MOST, ProbeResult
from rocm_doctor.reports.machine import fact_lines
from rocm_doctor.rules.findings import fact_readings


def notes(*gpus: dict[str, Any], complete: bool = True, tool: str = "kfd", **facts: Any) -> ProbeResult:
    made = ProbeResult()
    for key, value in facts.items():
        made.record(key.replace("__", "."), value, Reading(tool))
    if gpus:
        listing = made.listing(complete)
        for gpu in gpus:
            into = listing.gpu()
            for key, value in gpu.items():
                made.record(key, value, Reading(tool), into)
    return made


def test_the_more_trusted_reading_wins_and_the_other_is_kept_as_a_dispute() -> None:
    built = snapshot.build([notes(kernel="6.8.0"), notes(kernel="5.15.0", tool="prose")])
    assert built.get("kernel").value == "6.8.0"
    assert [r.artifact for r in built.get("kernel").disputed] == ["prose"]


def test_an_unknown_gives_way_to_a_known_value_whatever_the_trust() -> None:
    built = snapshot.build([notes(kernel=Unknown("denied")), notes(kernel="6.8.0")])
    assert built.get("kernel").value == "6.8.0"


def test_equal_readings_join() -> None:
    built = snapshot.build([notes(kernel="6.8.0"), notes(kernel="6.8.0", tool="uname")])
    assert len(built.get("kernel").readings) == 2
    assert not built.get("kernel").disputed


def test_a_log_that_says_it_again_and_again_leaves_a_few_readings() -> None:
    lines = [notes(kernel="6.8.0", tool=f"log line {n}") for n in range(100)]
    assert len(snapshot.build(lines).get("kernel").readings) == MOST


def test_one_reading_is_kept_once() -> None:
    built = snapshot.build(
        [notes(kernel="6.8.0") for _ in range(100)] + [notes(kernel="5.15.0", tool="prose") for _ in range(100)]
    )
    assert [len(built.get("kernel").readings), len(built.get("kernel").disputed)] == [1, 1]


def test_more_gpus_than_any_machine_has_are_cut_off_and_said_to_be() -> None:
    built = snapshot.build([notes(*({"gfx": "gfx1100"} for _ in range(3000)))])
    assert len(built.gpus) == snapshot.MOST_GPUS
    assert [e.quote for e in built.errors] == ["3000 GPUs listed; only the first 256 were read"]


def test_gpus_are_matched_by_address_whatever_the_order() -> None:
    one = notes({"pci_bdf": "0000:03:00.0", "gfx": "gfx1100"}, {"pci_bdf": "0000:0a:00.0", "gfx": "gfx1036"})
    two = notes(
        {"pci_bdf": "0000:0A:00.0", "marketing_name": "iGPU"}, {"pci_bdf": "0000:03:00.0", "marketing_name": "card"}, tool="smi"
    )
    names = [g.get("marketing_name").value for g in snapshot.build([one, two]).gpus]
    assert names == ["card", "iGPU"]


def test_gpus_without_address_are_matched_in_order_when_nothing_contradicts() -> None:
    one = notes({"gfx": "gfx90a"}, {"gfx": "gfx90a"})
    two = notes({"vram_bytes": 1}, {"vram_bytes": 2}, tool="smi")
    assert [g.get("vram_bytes").value for g in snapshot.build([one, two]).gpus] == [1, 2]


XTX, IGPU = {"marketing_name": "Radeon RX 7900 XTX"}, {"marketing_name": "AMD Radeon Graphics"}


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ((XTX, IGPU), ({"marketing_name": "Raphael"}, {"marketing_name": "Navi 31 [Radeon RX 7900 XT/7900 XTX]"})),
        ((XTX | {"gfx": "gfx1100"}, IGPU | {"gfx": "gfx1036"}), ({"gfx": "gfx1036"}, {"gfx": "gfx1100"})),
        (({"device_id": 0x744C}, {"device_id": 0x13C0}), ({"device_id": 0x13C0}, {"device_id": 0x744C})),
        (({"uuid": "GPU-1"}, {"uuid": "GPU-2"}), ({"uuid": "gpu-2"}, {"uuid": "gpu-1"})),
        ((XTX, {"gfx": "gfx1036"}), ({"gfx": "gfx1036"}, {})),
    ],
)
@pytest.mark.parametrize("complete", [True, False])
def test_what_only_one_has_goes_before_the_order(ours: Any, theirs: Any, complete: bool) -> None:
    sized = [gpu | {"vram_bytes": size} for gpu, size in zip(theirs, (512, 24))]
    built = snapshot.build([notes(*ours), notes(*sized, tool="smi", complete=complete)])
    assert [g.get("vram_bytes").value for g in built.gpus] == [24, 512]


def test_order_does_not_join_two_models() -> None:
    one = notes({"marketing_name": "Radeon RX 7900 XTX"}, {"marketing_name": "Radeon RX 6800"})
    two = notes(
        {"marketing_name": "Radeon VII", "vram_bytes": 1}, {"marketing_name": "Radeon RX 6600", "vram_bytes": 2}, tool="smi"
    )
    assert [g.get("vram_bytes").known for g in snapshot.build([one, two]).gpus] == [False, False]


def test_two_like_cards_of_a_cut_text_keep_their_facts() -> None:
    """rocm_agent_enumerator lists both, and rocminfo's text breaks off behind the second: it is no complete list."""
    one = notes({"gfx": "gfx1100"}, {"gfx": "gfx1100"}, tool="rocm_agent_enumerator")
    two = notes({"gfx": "gfx1100", "vram_bytes": 1}, {"gfx": "gfx1100", "vram_bytes": 2}, complete=False, tool="rocminfo")
    for order in ([one, two], [two, one]):
        assert [g.get("vram_bytes").value for g in snapshot.build(order).gpus] == [1, 2]


def test_partitions_share_the_address_of_their_card() -> None:
    parts = [{"pci_bdf": f"0000:0{card}:00.0", "gfx": "gfx942"} for card in (1, 2) for _ in range(32)]
    built = snapshot.build(
        [
            notes(*parts),
            notes(*({"pci_bdf": part["pci_bdf"], "vram_bytes": n} for n, part in enumerate(parts)), tool="amd-smi"),
            notes({"pci_bdf": "0000:01:00.0", "partition": "a"}, {"pci_bdf": "0000:02:00.0", "partition": "b"}, tool="drm"),
        ]
    )
    assert [g.get("vram_bytes").value for g in built.gpus] == list(range(64))
    assert [g.get("partition").value for g in built.gpus] == ["a"] * 32 + ["b"] * 32


AT = {"pci_bdf": "0000:03:00.0"}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"device_id": 0x744C}, {"device_id": 0x66AF}),
        ({"uuid": "GPU-5f2a1b3c4d5e6f70"}, {"uuid": "GPU-5f2a1b3c4d5e6f71"}),
        (XTX, {"marketing_name": "AMD Radeon VII"}),
    ],
)
def test_two_cards_at_one_address_are_of_two_machines_in_pasted_text_only(first: Any, second: Any) -> None:
    def listed(*tools: str) -> Snapshot:
        gpus = (AT | first, AT | second, AT | first | {"vram_bytes": 5})
        return snapshot.build([notes(gpu, tool=tool) for gpu, tool in zip(gpus, tools)])

    pasted = listed("paste/1-rocminfo", "paste/2-rocminfo", "paste/3-rocm-smi")
    assert [g.get("vram_bytes").known for g in pasted.gpus] == [True, False]
    assert [(e.artifact, e.quote[:12]) for e in pasted.errors] == [("paste/2-rocminfo", "two machines")]
    assert len(listed("cmd/rocminfo", "cmd/rocm-smi", "kfd").gpus) == 1


def test_another_target_at_one_address_is_a_dispute() -> None:
    """HSA_OVERRIDE_GFX_VERSION was set for one of the two."""
    one = notes(AT | XTX | {"gfx": "gfx1031"}, tool="paste/1-rocminfo")
    built = snapshot.build([one, notes(AT | XTX | {"gfx": "gfx1030"}, tool="paste/2-rocminfo")])
    assert [len(g.get("gfx").disputed) for g in built.gpus] == [1]
    assert built.errors == ()


def test_a_tool_that_names_one_gpu_of_many_adds_none() -> None:
    one = notes({"gfx": "gfx1100"}, {"gfx": "gfx1036"})
    two = notes({"gfx": "gfx1100", "marketing_name": "card"}, complete=False, tool="collect_env")
    built = snapshot.build([two, one])
    assert [g.get("gfx").value for g in built.gpus] == ["gfx1100", "gfx1036"]
    assert built.gpus[0].get("marketing_name").value == "card"


def test_a_card_that_no_driver_claims_is_added_by_its_address() -> None:
    built = snapshot.build(
        [notes({"pci_bdf": "0000:03:00.0"}), notes({"pci_bdf": "0000:03:00.0"}, {"pci_bdf": "0000:2d:00.0"}, tool="pci")]
    )
    assert [g.get("pci_bdf").value for g in built.gpus] == ["0000:03:00.0", "0000:2d:00.0"]


def test_no_listing_is_not_an_empty_listing() -> None:
    empty = ProbeResult()
    empty.listing()
    assert snapshot.build([ProbeResult()]).gpus_listed is False
    assert snapshot.build([empty]).gpus_listed is True


def test_a_snapshot_survives_json() -> None:
    built = snapshot.build(
        [notes({"gfx": Unknown("ambiguous", candidates=("a", "b"))}, kernel=None, ram_bytes=3, user__groups=("x",))]
    )
    assert msgspec.json.decode(msgspec.json.encode(built), type=Snapshot) == built
    assert built.get("kernel") == Fact(None, (Reading("kfd"),))


def test_the_kernel_release_that_tools_print_is_no_driver_version() -> None:
    """With the in-tree amdgpu `rocm-smi --showdriverversion` prints the kernel: kept as printed, and left out before rules judge."""
    from rocm_doctor.facts.enrich import enrich
    from rocm_doctor.matrix import load
    from rocm_doctor.pipeline import read_facts
    from rocm_doctor.sources.paste import cut

    listing = "$ rocm-smi --showdriverversion\n====== ROCm System Management Interface ======\nDriver version: {}\n====== End of ROCm SMI Log ======\n"
    for version, judged in (("6.14.0-28-generic", None), ("6.12.12", "6.12.12")):
        printed = read_facts(cut(listing.format(version), "x"), load())
        assert printed.get("driver.version").value == version
        assert enrich(printed, load()).get("driver.version").value == judged


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (True, "yes"),
        (False, "no"),
        (None, "absent"),
        ((), "none"),
        (("gfx1100", "gfx942"), "gfx1100, gfx942"),
        (Unknown("ambiguous", ("gfx1100", "gfx1101")), "gfx1100 or gfx1101"),
        (Unknown("no-tool"), "tool missing"),
        (24, "24"),
    ],
)
def test_a_value_has_the_same_words_wherever_it_is_shown(value: Value, words: str) -> None:
    fact = Fact(value)
    probed = ProbeResult()
    probed.facts["kfd.nodes"] = fact
    assert str(probed) == f"kfd.nodes = {words}"
    assert list(fact_lines(Snapshot(facts={"kfd.nodes": fact}))) == [f"kfd.nodes: {words}"]
    assert show(value) == words
    assert fact_readings(fact, "kfd.nodes")[0].quote == f"kfd.nodes: {words}"
