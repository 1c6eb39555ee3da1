"""ELF, PE and kpack files: where the GPU code lies, what they are linked to, and damage in every part of them."""

from __future__ import annotations

import io
import struct
import sys

import pytest
from forge_binaries import (
    ccob,
    code_object,
    elf,
    gpu_bundle,
    kpack,
    kpack_reference,
    library,
    padded,
    pe,
)
from hypothesis import given
from hypothesis import strategies as st

from rocm_doctor.binaries import inspect
from rocm_doctor.binaries.types import Holding
from rocm_doctor.binaries.view import READ_LIMIT, View


def view_of(data: bytes) -> View:
    return View(io.BytesIO(data), len(data))


def held(data: bytes) -> Holding | None:
    found = inspect.inspect(view_of(data), "lib", "lib.so")
    return found[0] if found else None


def sure(data: bytes) -> Holding:
    holding = held(data)
    assert holding is not None
    return holding


def test_elf_library() -> None:
    needed = ("libhipblas.so.3", "libc.so.6", "libamdhip64.so.7", "libstdc++.so.6", "libMIOpen.so.1")
    holding = sure(library(gpu_bundle("gfx1100", "gfx906"), ccob(3, gpu_bundle("gfx906")), needed=needed))
    assert (holding.kind, holding.targets, holding.partial) == ("fatbin", ("gfx906", "gfx1100"), ("gfx1100",))
    assert (holding.bundles, holding.encodings, holding.problem) == (2, ("ccob3-zstd", "plain"), "")
    assert holding.needed == ("libhipblas.so.3", "libamdhip64.so.7", "libMIOpen.so.1")


@pytest.mark.parametrize("sections", [("", ""), (".hip_fatbin",) * 2])
def test_elf_with_no_or_two_code_sections(sections: tuple[str, str]) -> None:
    whole = (
        elf({".text": b"code"}) if not sections[0] else elf({".hip_fatbin": padded(gpu_bundle("gfx906"), gpu_bundle("gfx1030"))})
    )
    holding = held(whole)
    assert (holding.targets if holding else None) == (("gfx906", "gfx1030") if sections[0] else None)


def test_of_host_libraries_the_headers_alone_are_read() -> None:
    view = view_of(elf({".text": b"code", ".rodata": bytes(100000)}))
    assert inspect.inspect(view, "lib", "lib.so") is None
    assert view.bytes_read < 2048


def test_pe_library_with_truncated_names_and_section_relative_bundles() -> None:
    data = pe({".text": b"host", ".hip_fat": padded(gpu_bundle("gfx1100"), gpu_bundle("gfx1201")), ".hipFatB": bytes(48)})
    assert (data.index(b"__CLANG")) % 4096 != 0
    holding = sure(data)
    assert (holding.kind, holding.targets, holding.bundles, holding.problem) == ("fatbin", ("gfx1100", "gfx1201"), 2, "")
    assert held(pe({".text": b"host"})) is None


@pytest.mark.parametrize("pack", [gpu_bundle("gfx1200"), ccob(2, gpu_bundle("gfx1200"))])
def test_a_bundle_on_its_own(pack: bytes) -> None:
    assert sure(pack).targets == ("gfx1200",)


@pytest.mark.parametrize(("flags", "target"), [(0x02F, "gfx906"), (0x03F | 0x300 | 0x800, "gfx90a:sramecc-:xnack+")])
def test_a_code_object_on_its_own(flags: int, target: str) -> None:
    holding = sure(code_object(flags))
    assert (holding.kind, holding.targets, holding.problem) == ("code-object", (target,), "")


def test_kpack_archive() -> None:
    holding = sure(kpack({"lib/a.so": {"gfx1100": {}, "gfx1101": {}}, "lib/b.so": {"gfx1100": {"ordinal": 3}}}))
    assert (holding.kind, holding.targets, holding.bundles) == ("kpack", ("gfx1100", "gfx1101"), 2)


def test_split_library_names_its_key() -> None:
    holding = sure(elf({".hip_fatbin": 1 << 20, ".rocm_kpack_ref": kpack_reference("lib/a.so") + bytes(50)}))
    assert (holding.kind, holding.key, holding.targets, holding.problem) == ("split", "lib/a.so", (), "")


def test_emptied_section_without_a_reference_is_not_taken_for_no_code() -> None:
    assert "empty" in sure(elf({".hip_fatbin": 1 << 20})).problem


def test_fewer_bundles_than_the_host_code_registers() -> None:
    assert "registers 3" in sure(library(gpu_bundle("gfx906"), wrappers=3)).problem


def test_text_and_archives_are_no_binaries() -> None:
    assert held(b"just text, gfx906 in it") is None
    assert held(b"") is None
    assert held(b"!<arch>\nsomething") is None


def _field(data: bytes, at: int, layout: str, value: int) -> bytes:
    return data[:at] + struct.pack(layout, value) + data[at + struct.calcsize(layout) :]


SOUND = library(gpu_bundle("gfx906"))
SHOFF = struct.unpack_from("<Q", SOUND, 40)[0]
DAMAGE = {
    "elf cut in its header": SOUND[:40],
    "elf cut before its section headers": SOUND[:SHOFF],
    "elf cut within its section headers": SOUND[: SHOFF + 100],
    "elf with 65535 sections": _field(SOUND, 60, "<H", 0xFFFF),
    "elf whose headers start past the end": _field(SOUND, 40, "<Q", 1 << 50),
    "elf whose names are in no section": _field(SOUND, 62, "<H", 200),
    "elf whose section is past the end": _field(SOUND, SHOFF + 2 * 64 + 24, "<Q", 1 << 60),
    "elf whose section is absurdly long": _field(SOUND, SHOFF + 2 * 64 + 32, "<Q", 1 << 62),
    "elf without a section table": SOUND[:40] + bytes(8) + SOUND[48:60] + bytes(4) + SOUND[64:],
    "elf whose section table is zeros": SOUND[:SHOFF] + bytes(len(SOUND) - SHOFF),
    "elf of an unknown class": _field(SOUND, 4, "<B", 9),
    "code object of an unknown processor": code_object(0x27),
    "kpack cut in its header": kpack({})[:12],
    "kpack of a later version": kpack({}, version=2),
    "kpack whose table is past the end": kpack({}, offset=1 << 40),
    "kpack whose table is noise": kpack({}, offset=20),
    "kpack with an absurd table": kpack({})[:128] + b"\xdf\xff\xff\xff\xff",
    "kpack nested without end": kpack({})[:128] + b"\x81\xa3toc" + b"\x91" * 5000,
    "pe cut in its header": pe({".hip_fat": gpu_bundle("gfx906")})[:70],
    "pe whose section is past the end": pe({".hip_fat": padded(gpu_bundle("gfx906", size=9000))})[:4000],
    "reference that is noise": elf({".rocm_kpack_ref": b"\xc1\xc1\xc1"}),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_named_and_never_taken_for_no_code(name: str) -> None:
    holding = sure(DAMAGE[name])
    assert holding.problem
    assert holding.why == "unparsed"


ZSTD = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"


def test_without_the_extra_it_is_unknown_and_the_remedy_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, ZSTD, None)
    holding = sure(library(ccob(3, gpu_bundle("gfx906"))))
    assert holding.why == "no-tool"
    assert "pip install backports.zstd" in holding.problem
    assert holding.targets == ()


SAMPLES = [
    SOUND,
    library(ccob(3, gpu_bundle("gfx906")), ccob(2, gpu_bundle("gfx1100"))),
    elf({".hip_fatbin": 4096, ".rocm_kpack_ref": kpack_reference("lib/a.so")}),
    pe({".text": b"x", ".hip_fat": gpu_bundle("gfx906"), ".hipFatB": bytes(24)}),
    kpack({"lib/a.so": {"gfx1100": {"ordinal": 1}}}),
    code_object(0x2F),
]


@given(
    st.sampled_from(SAMPLES),
    st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 255)), max_size=8),
    st.integers(0, 1 << 16),
)
def test_any_damage_is_an_answer_not_a_crash(data: bytes, changes: list[tuple[int, int]], cut: int) -> None:
    broken = bytearray(data)
    for at, value in changes:
        broken[at % len(broken)] = value
    view = view_of(bytes(broken[: len(broken) - cut % len(broken)] if cut % 3 == 0 else broken))
    inspect.inspect(view, "lib", "lib.so")
    assert view.bytes_read <= READ_LIMIT


@given(st.integers(0, 19), st.integers(0, 3), st.integers(0, (1 << 64) - 1))
def test_any_value_in_any_header_field(section: int, field: int, value: int) -> None:
    """Section headers are where a size or an offset can be anything: each 8-byte field of each of them, and of the ELF header."""
    at = 24 + 8 * field if section > 9 else SHOFF + 64 * (section % 6) + 24 + 8 * (field % 2)
    inspect.inspect(view_of(_field(SOUND, at, "<Q", value)), "lib", "lib.so")
