"""Facts of several tools become one snapshot: trust decides, disputes are kept, GPUs are matched and never counted twice."""

from __future__ import annotations

from typing import Any

import msgspec

from rocm_doctor import snapshot
from rocm_doctor.model import Fact, Reading, Snapshot, Unknown
from rocm_doctor.probes.notes import Notes


def notes(*gpus: dict[str, Any], complete: bool = True, tool: str = "kfd", **facts: Any) -> Notes:
    made = Notes()
    for key, value in facts.items():
        made.say(key.replace("__", "."), value, Reading(tool))
    if gpus:
        listing = made.listing(complete)
        for gpu in gpus:
            into = listing.gpu()
            for key, value in gpu.items():
                made.say(key, value, Reading(tool), into)
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
    empty = Notes()
    empty.listing()
    assert snapshot.build([Notes()]).gpus_listed is False
    assert snapshot.build([empty]).gpus_listed is True


def test_a_snapshot_survives_json() -> None:
    built = snapshot.build(
        [notes({"gfx": Unknown("ambiguous", candidates=("a", "b"))}, kernel=None, ram_bytes=3, user__groups=("x",))]
    )
    assert msgspec.json.decode(msgspec.json.encode(built), type=Snapshot) == built
    assert built.get("kernel") == Fact(None, (Reading("kfd"),))
