"""Which code object a card can load."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from forge_binaries import code_object
from hypothesis import given
from hypothesis import strategies as st

from rocm_doctor.binaries.processors import GENERIC, MACH
from rocm_doctor.binaries.targets import (
    TargetId,
    covers,
    entry_target,
    flags_target,
    override_target,
    parse_target,
)

PROCESSORS = frozenset(name for name in MACH.values() if not name.endswith("-generic"))
EXACT = [
    ("gfx1100", "gfx1100", True),
    ("gfx1100", "gfx1101", False),
    ("gfx1030", "gfx1031", False),
    ("gfx906", "gfx9063", False),
    ("gfx1250", "gfx1250", True),
]
GENERICS = [
    ("gfx10-3-generic", "gfx1036", True),
    ("gfx10-3-generic", "gfx1010", False),
    ("gfx9-generic", "gfx906", True),
    ("gfx9-generic", "gfx90c", True),
    ("gfx9-generic", "gfx908", False),
    ("gfx9-generic", "gfx90a", False),
    ("gfx9-4-generic", "gfx942", True),
    ("gfx11-generic", "gfx1151", True),
    ("gfx11-generic", "gfx1201", False),
    ("gfx12-generic", "gfx1201", True),
    ("gfx12-5-generic", "gfx1250", True),
    ("gfx13-generic", "gfx1310", None),
]
FEATURES = [
    ("gfx90a", "gfx90a:sramecc+:xnack-", True),
    ("gfx90a:xnack-", "gfx90a:sramecc+:xnack-", True),
    ("gfx90a:xnack+", "gfx90a:sramecc+:xnack-", False),
    ("gfx90a:sramecc+:xnack-", "gfx90a:sramecc+:xnack-", True),
    ("gfx90a:sramecc-:xnack-", "gfx90a:sramecc+:xnack-", False),
    ("gfx90a:xnack+", "gfx90a", None),
    ("gfx9-generic:xnack+", "gfx906:sramecc-:xnack-", False),
    ("gfx9-4-generic:sramecc+", "gfx942:sramecc+:xnack-", True),
    ("gfx1100:xnack+", "gfx1100", False),
    ("gfx908+xnack", "gfx908:sramecc+:xnack+", True),
]
UNCERTAIN = [
    ("gfx110x", "gfx1101", None),
    ("gfx110x", "gfx1151", False),
    ("gfx11xx", "gfx1151", None),
    ("gfx11xx", "gfx90a", False),
    ("amdgcnspirv", "gfx1100", None),
    ("nonsense", "gfx1100", None),
    ("gfx1100", "Radeon", None),
]


@pytest.mark.parametrize(("code", "card", "expected"), EXACT + GENERICS + FEATURES + UNCERTAIN)
def test_loads(code: str, card: str, expected: bool | None) -> None:
    assert covers((code,), card) is expected


@pytest.mark.parametrize(
    ("code", "card", "override", "expected"),
    [
        ("gfx1030", "gfx1032", "10.3.0", True),
        ("gfx1032", "gfx1032", "10.3.0", False),
        ("gfx10-3-generic", "gfx1032", "10.3.0", True),
        ("gfx1100", "gfx1151", "11.0.0", True),
        ("gfx1151", "gfx1151", "11.5.1", True),
        ("gfx90a", "gfx906", "9.0.10", True),
        ("gfx1030", "gfx1032", "ten", None),
        ("gfx1030", "gfx1030", "", True),
    ],
)
def test_the_override_changes_what_the_loader_sees(code: str, card: str, override: str, expected: bool | None) -> None:
    assert covers((code,), card, override) is expected


@pytest.mark.parametrize(
    ("value", "processor"),
    [
        ("10.3.0", "gfx1030"),
        ("9.0.10", "gfx90a"),
        ("9.0.12", "gfx90c"),
        ("11.5.1", "gfx1151"),
        ("9.4.2", "gfx942"),
        (" 10.3.0 ", "gfx1030"),
        ("10.3", None),
        ("gfx1030", None),
        ("10.3.0.1", None),
        ("10,3,0", None),
        ("64.0.0", None),
        ("10.3.99", None),
        ("", None),
    ],
)
def test_override_values(value: str, processor: str | None) -> None:
    assert override_target(value) == processor


def test_two_objects_that_split_a_feature_serve_a_card_that_does_not_state_it() -> None:
    assert covers(("gfx90a:xnack+", "gfx90a:xnack-"), "gfx90a") is True
    assert covers(("gfx90a:xnack+",), "gfx90a") is None
    assert covers(("gfx90a:xnack+", "gfx1100"), "gfx1030") is False
    assert covers((), "gfx1100") is False


@pytest.mark.parametrize(
    ("entry", "target"),
    [
        ("hipv4-amdgcn-amd-amdhsa--gfx1100", "gfx1100"),
        ("hip-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-", "gfx90a:sramecc+:xnack-"),
        ("hip-amdgcn-amd-amdhsa-gfx803", "gfx803"),
        ("hipv4-amdgcn-amd-amdhsa-unknown-gfx908", "gfx908"),
        ("hipv4-amdgcn-amd-amdhsa--gfx9-4-generic", "gfx9-4-generic"),
        ("openmp-amdgcn-amd-amdhsa--gfx906", "gfx906"),
        ("host-x86_64-unknown-linux--", None),
        ("host-x86_64-unknown-linux-gnu-", None),
        ("openmp-nvptx64-nvidia-cuda--sm_80", None),
        ("hipv4-amdgcn-amd-amdhsa--", None),
        ("hipv4-amdgcn-amd-amdhsa--gfx", None),
        ("hipv4-amdgcn-amd-amdhsa--gfx1100\nfoo", None),
        ("", None),
    ],
)
def test_entry_ids(entry: str, target: str | None) -> None:
    assert entry_target(entry) == target


@pytest.mark.parametrize(
    ("flags", "abi", "target"),
    [
        (0x02F, 3, "gfx906"),
        (0x03F | 0x100 | 0x400, 3, "gfx90a"),
        (0x03F | 0x300 | 0x800, 3, "gfx90a:sramecc-:xnack+"),
        (0x030 | 0xC00 | 0x200, 2, "gfx908:sramecc+:xnack-"),
        (0x02F | 0x100, 1, "gfx906:xnack+"),
        (0x041, 4, "gfx1100"),
        (0x054 | 1 << 24, 4, "gfx11-generic"),
        (0x027, 3, None),
        (0x000, 3, None),
    ],
)
def test_targets_from_elf_flags(flags: int, abi: int, target: str | None) -> None:
    assert flags_target(flags, abi) == target


def test_the_table_of_processors_agrees_with_llvm(tmp_path: Path) -> None:
    """LLVM prints its own name for each number it knows; an older one does not know the newest."""
    readelf = next(filter(None, (shutil.which(f"llvm-readelf-{n}") for n in range(30, 17, -1))), None) or shutil.which(
        "llvm-readelf"
    )
    if readelf is None:
        pytest.skip("llvm-readelf is not installed")
    for number in MACH:
        (tmp_path / f"{number:02x}.co").write_bytes(code_object(number))
    files = [str(tmp_path / f"{number:02x}.co") for number in sorted(MACH)]
    said = subprocess.run([readelf, "-h", *files], capture_output=True, text=True, check=True).stdout
    known = {int(number, 16): name for number, name in re.findall(r"Flags:\s+(0x[0-9a-f]+), (gfx[\w-]+)", said)}
    if not known:
        pytest.skip(f"{readelf} is too old to name processors")
    assert len(known) > 40
    assert {number: MACH[number] for number in known} == known


def test_every_generic_member_is_a_known_processor() -> None:
    assert {m for members in GENERIC.values() for m in members} <= PROCESSORS


@given(st.sampled_from(sorted(PROCESSORS)), st.sets(st.sampled_from([("xnack", True), ("sramecc", False), ("cumode", True)])))
def test_target_ids_round_trip(processor: str, features: set[tuple[str, bool]]) -> None:
    target = TargetId(processor, tuple(sorted(features)))
    assert parse_target(str(target)) == target


@given(st.text(max_size=60), st.text(max_size=20), st.text(max_size=12))
def test_any_text_is_answered(code: str, card: str, override: str) -> None:
    assert covers((code,), card, override) in (True, False, None)
    assert entry_target("hipv4-amdgcn-amd-amdhsa--" + code) is None or code.startswith("gfx")


@given(st.sampled_from(sorted(PROCESSORS)), st.sampled_from(sorted(PROCESSORS)))
def test_concrete_code_serves_its_own_processor_only(code: str, card: str) -> None:
    assert covers((code,), card) is (code == card)
