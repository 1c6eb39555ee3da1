"""Offload bundles: every variant of the format, and every kind of damage."""

from __future__ import annotations

import io
import struct
import tracemalloc

import pytest
from forge_binaries import HOST, MAGIC, PAGE, ccob, entry_ids, gpu_bundle, padded, plain
from hypothesis import given
from hypothesis import strategies as st

from rocm_doctor.binaries import bundle
from rocm_doctor.binaries.bundle import Bundle
from rocm_doctor.binaries.view import Overread, View

TARGETS = ("gfx906", "gfx90a:xnack-", "gfx1100", "gfx11-generic")
VERSIONS = (2, 3)


def view_of(data: bytes, limit: int = 64 << 20) -> View:
    return View(io.BytesIO(data), len(data), limit)


def walk(data: bytes) -> tuple[list[Bundle], str]:
    return bundle.walk(view_of(data), 0, len(data))


def test_plain_bundle() -> None:
    data = gpu_bundle(*TARGETS)
    found, problem = walk(data)
    assert problem == ""
    assert [(b.offset, b.size, b.encoding, b.targets) for b in found] == [(0, len(data), "plain", TARGETS)]


@pytest.mark.parametrize("version", VERSIONS)
def test_compressed_bundle(version: int) -> None:
    found, problem = walk(ccob(version, gpu_bundle(*TARGETS)))
    assert (problem, [b.targets for b in found]) == ("", [TARGETS])
    assert found[0].encoding == f"ccob{version}-zstd"


@pytest.mark.parametrize("version", VERSIONS)
def test_several_bundles_and_packings_in_one_section(version: int) -> None:
    one, two, three = gpu_bundle("gfx906", size=5000), ccob(version, gpu_bundle("gfx1100")), gpu_bundle("gfx1201")
    found, problem = walk(padded(one, two, three))
    assert problem == ""
    assert [b.targets for b in found] == [("gfx906",), ("gfx1100",), ("gfx1201",)]
    assert all(b.offset % PAGE == 0 for b in found)


@pytest.mark.parametrize("kind", ["hip", "hipv4"])
def test_both_kinds_of_entry_and_the_older_spelling(kind: str) -> None:
    ids = [*entry_ids(["gfx1030"], kind), "hip-amdgcn-amd-amdhsa-gfx803", "hip-spirv64-amd-amdhsa--amdgcnspirv"]
    assert walk(plain(ids))[0][0].targets == ("gfx1030", "gfx803", "amdgcnspirv")


def test_empty_objects_hosts_and_foreign_triples_are_no_targets() -> None:
    ids = [HOST, "hipv4-amdgcn-amd-amdhsa--gfx906", "openmp-nvptx64-nvidia-cuda--sm_80", "hipv4-amdgcn-amd-amdhsa--gfx1100"]
    spans = [(0, 0), (4096, 0), (4096, 64), (4160, 64)]
    assert walk(plain(ids, spans=spans))[0][0].targets == ("gfx1100",)


def test_zero_padding_after_the_last_bundle_is_no_damage() -> None:
    assert walk(padded(gpu_bundle("gfx906")) + bytes(3 * PAGE))[1] == ""


def test_an_empty_section_holds_nothing() -> None:
    assert walk(b"") == ([], "")
    assert walk(bytes(2 * PAGE)) == ([], "")


def test_targets_named_in_the_payload_do_not_count() -> None:
    decoy = b"hipv4-amdgcn-amd-amdhsa--gfx9063 gfx1100 " * 200
    data = plain(entry_ids(["gfx906"]), size=len(decoy))
    data = data[: -len(decoy)] + decoy
    assert walk(data)[0][0].targets == ("gfx906",)


DAMAGE = {
    "cut in the header": gpu_bundle("gfx906")[:28],
    "cut in the table": gpu_bundle("gfx906", "gfx1100")[:90],
    "cut in a code object": gpu_bundle("gfx906", size=9000)[:4096],
    "absurd number of entries": plain(entry_ids(["gfx906"]), count=1 << 40),
    "more entries than there are": plain(entry_ids(["gfx906"]), count=900),
    "absurd id length": MAGIC + struct.pack("<QQQQ", 1, 4096, 64, 1 << 60) + bytes(200),
    "object past the end": plain(entry_ids(["gfx906"]), spans=[(0, 0), (1 << 40, 64)]),
    "object of absurd size": plain(entry_ids(["gfx906"]), spans=[(0, 0), (4096, (1 << 64) - 1)]),
    "no bundle at all": b"\x7fsomething else entirely" * 40,
    "noise after a bundle": padded(gpu_bundle("gfx906"), b"\xff" * 64),
    "ccob cut in the header": ccob(3, gpu_bundle("gfx906"))[:20],
    "ccob cut in the payload": ccob(3, gpu_bundle("gfx906"))[:60],
    "ccob longer than the section": ccob(2, gpu_bundle("gfx906"), total=1 << 31),
    "ccob shorter than its header": ccob(2, gpu_bundle("gfx906"), total=10),
    "ccob of version 1": b"CCOB" + struct.pack("<HHIQ", 1, 1, 64, 1) + bytes(64),
    "ccob packed with zlib": b"CCOB" + struct.pack("<HH", 2, 0) + bytes(64),
    "ccob of unknown version": b"CCOB" + struct.pack("<HH", 9, 1) + bytes(64),
    "ccob whose payload is no zstd": ccob(3, gpu_bundle("gfx906"))[:32] + b"\xaa" * 60,
    "ccob that holds no bundle": ccob(3, b"just some text" * 30),
    "ccob that understates its size": ccob(3, gpu_bundle("gfx906"), plain_size=40),
    "ccob within ccob": ccob(3, ccob(3, gpu_bundle("gfx906"))),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_named_and_never_passes(name: str) -> None:
    assert walk(DAMAGE[name])[1], name


def test_what_stood_before_the_damage_is_kept() -> None:
    found, problem = walk(padded(gpu_bundle("gfx906"), plain(entry_ids(["gfx908"]), count=1 << 50)))
    assert [b.targets for b in found] == [("gfx906",)]
    assert "entries" in problem
    assert "4096" in problem


def test_section_that_runs_past_the_file() -> None:
    data = gpu_bundle("gfx906")
    assert "the file ends" in bundle.walk(view_of(data), 0, 1 << 40)[1]


def test_a_bomb_is_inflated_no_further_than_its_table() -> None:
    """64 MiB of zeros behind the table: the payload is a few KiB, and stays it."""
    ids = entry_ids(["gfx906"])
    data = ccob(3, plain(ids, size=32 << 20).ljust(65 << 20, b"\0"))
    tracemalloc.start()
    try:
        found, problem = walk(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (problem, found[0].targets) == ("", ("gfx906",))
    assert peak < 2 << 20


def test_a_bomb_that_claims_a_huge_table_stays_small() -> None:
    data = ccob(3, plain(entry_ids(["gfx906"]), count=1024) + bytes(32 << 20), plain_size=1 << 40)
    tracemalloc.start()
    try:
        _, problem = walk(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert problem
    assert peak < 4 << 20


def test_bytes_read_follow_the_headers_not_the_payload() -> None:
    sections = [gpu_bundle("gfx906", "gfx1100", size=1 << 20) for _ in range(8)]
    data = padded(*sections)
    view = view_of(data)
    assert len(bundle.walk(view, 0, len(data))[0]) == 8
    assert len(data) > 16 << 20
    assert view.bytes_read < 8 * 8192


def test_the_view_stops_a_reader_that_never_ends() -> None:
    view = view_of(bytes(1 << 20), limit=1 << 16)
    for _ in range(16):
        view.at(0, 4096)
    with pytest.raises(Overread):
        view.at(0, 4096)


SAMPLES = [padded(gpu_bundle(*TARGETS), ccob(v, gpu_bundle("gfx908", "gfx1201"))) for v in VERSIONS]


@given(
    st.sampled_from(SAMPLES),
    st.lists(st.tuples(st.integers(0, 1 << 14), st.integers(0, 255)), max_size=6),
    st.integers(0, 1 << 14),
)
def test_any_damage_is_an_answer_not_a_crash(data: bytes, changes: list[tuple[int, int]], cut: int) -> None:
    broken = bytearray(data)
    for at, value in changes:
        broken[at % len(broken)] = value
    found, problem = walk(bytes(broken[: max(1, cut % len(broken))]))
    assert isinstance(problem, str)
    assert len(found) <= 2


@given(
    st.binary(max_size=600),
    st.sampled_from([b"", MAGIC, b"CCOB\x02\x00\x00\x00", b"CCOB\x03\x00\x01\x00", b"CCOB\x01\x00\x00\x00"]),
)
def test_noise_is_an_answer_not_a_crash(noise: bytes, start: bytes) -> None:
    walk(start + noise)


@given(
    st.lists(st.lists(st.sampled_from(["gfx906", "gfx90a:xnack+", "gfx1100", "gfx1201"]), unique=True), max_size=5),
    st.sampled_from([None, *VERSIONS]),
    st.integers(1, 9000),
)
def test_round_trip(contents: list[list[str]], version: int | None, size: int) -> None:
    """What was put into a section is what is read out of it, bundle by bundle."""
    made = [gpu_bundle(*targets, size=size) for targets in contents]
    packed = made if version is None else [ccob(version, one) for one in made]
    found, problem = walk(padded(*packed))
    assert problem == ""
    assert [list(b.targets) for b in found] == contents
