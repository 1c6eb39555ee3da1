"""The GPU code sections of an ELF or PE file, and the ROCm libraries that it is linked to.

Only headers are read, through a bounded view: a damaged file costs an `Unknown`, not memory.
"""

from __future__ import annotations

import itertools
import struct
from typing import NamedTuple

from rocm_doctor.binaries.bundle import Damaged
from rocm_doctor.binaries.targets import flags_target
from rocm_doctor.binaries.view import View
from rocm_doctor.bounded.patterns import regex

FATBIN, WRAPPERS, KPACK_REF = ".hip_fatbin", ".hipFatBinSegment", ".rocm_kpack_ref"
PE_FATBIN, PE_WRAPPERS = ".hip_fat", ".hipFatB"
WRAPPER_SIZE = 24
MAX_SECTIONS = 4096
EM_AMDGPU = 224
_PE_HEAD = 64 << 10
_MAX_NAMES = 1 << 20
_NOBITS = 8
_ELF = struct.Struct("<8xB9xH20xQI6xHHH")
"""ABI version, machine, offset of the section table, flags, size of its entries, their number, number of the names' section."""
_SECTION = struct.Struct("<II16xQQ24x")
"""Name, type, offset, size."""
_PE_SECTION = struct.Struct("<8sI4xII16x")
"""Name, bytes used, bytes in the file, offset."""
_MAX_DYNAMIC = 64 << 10
_DT_NULL, _DT_NEEDED = 0, 1
_ROCM_SONAME = regex(
    r"lib(?:amdhip64|hsa-runtime64|hip\w+|roc\w+|MIOpen|rccl|amd_comgr|hiprtc|magma|migraphx\w*|composable_kernel\w*|amd_smi)\.so(?:\.\d+)*"
    r"|(?:amdhip64|hiprtc|hip|roc|MIOpen|amd_comgr)[\w-]*\.dll"
)


class Span(NamedTuple):
    """A section: file offset and size in bytes; `empty`: it has no bytes in the file (NOBITS)."""

    offset: int
    size: int
    empty: bool = False


class Layout(NamedTuple):
    """The layout of a binary. `wrappers`: the number of fat binaries that its host code registers; 0 if unknown."""

    fatbins: tuple[Span, ...] = ()
    wrappers: int = 0
    kpack_ref: Span | None = None
    needed: tuple[str, ...] = ()
    target: str = ""


def elf_layout(view: View) -> Layout:
    """Sections, linked libraries and, for a code object, its target; nothing for a library without GPU code. Raises Damaged, view.Overread.

    Layout of header and section table: the System V ABI, ELF-64, little endian, which every code object and ROCm library has.
    """
    head = view.at(0, _ELF.size)
    if len(head) < _ELF.size or head[4] not in (1, 2) or head[5] not in (1, 2):
        raise Damaged("ELF: cut off, or of an unknown class")
    if head[4:6] != b"\x02\x01":
        return Layout()
    abi, machine, table, flags, entry, count, names = _ELF.unpack(head)
    if machine == EM_AMDGPU:
        target = flags_target(flags, abi)
        if target is None:
            raise Damaged(f"processor number {flags & 0xFF:#x} of the code object is unknown")
        return Layout(target=target)
    if not count:
        raise Damaged("no section table, which would name the GPU code")
    if count > MAX_SECTIONS or entry != _SECTION.size or names >= count:
        raise Damaged(f"claims {count} sections of {entry} bytes, with their names in number {names}")
    headers = view.at(table, count * entry)
    if len(headers) < count * entry:
        raise Damaged("cut off within the section table")
    *_, start, size = _SECTION.unpack_from(headers, names * entry)
    strings = view.at(start, min(size, _MAX_NAMES))
    if not strings or len(strings) < size:
        raise Damaged("the section table has no names")
    if FATBIN.encode() not in strings and KPACK_REF.encode() not in strings:
        return Layout()
    spans: dict[str, list[Span]] = {}
    for at, kind, offset, size in _SECTION.iter_unpack(headers):
        name = strings[at : at + 64].split(b"\0")[0].decode("latin-1")
        spans.setdefault(name, []).append(Span(offset, size, kind == _NOBITS))
    wrappers = sum(span.size for span in spans.get(WRAPPERS, ())) // WRAPPER_SIZE
    return Layout(tuple(spans.get(FATBIN, ())), wrappers, next(iter(spans.get(KPACK_REF, ())), None), _read_needed(view, spans))


def _read_needed(view: View, spans: dict[str, list[Span]]) -> tuple[str, ...]:
    """ROCm libraries of DT_NEEDED."""
    if ".dynamic" not in spans or ".dynstr" not in spans:
        return ()
    table, strings = spans[".dynamic"][0], spans[".dynstr"][0]
    data = view.at(table.offset, min(table.size, _MAX_DYNAMIC))
    entries = itertools.takewhile(lambda entry: entry[0] != _DT_NULL, struct.iter_unpack("<qQ", data[: len(data) // 16 * 16]))
    places = [value for tag, value in entries if tag == _DT_NEEDED and value < strings.size]
    names = [view.at(strings.offset + place, 512).split(b"\0")[0].decode("utf-8", "replace") for place in places]
    return tuple(name for name in names if _ROCM_SONAME.fullmatch(name))


def pe_layout(view: View) -> Layout:
    """Sections of a DLL; its headers are within the first 64 KiB. Raises Damaged, view.Overread. Layout: Microsoft's "PE Format"."""
    head = view.at(0, _PE_HEAD)
    try:
        (at,) = struct.unpack_from("<I", head, 60)
        count, optional = struct.unpack_from("<6xH12xH", head, at)
        table = [_PE_SECTION.unpack_from(head, at + 24 + optional + number * _PE_SECTION.size) for number in range(count)]
    except struct.error:
        raise Damaged("PE: cut off within the headers") from None
    if not head.startswith(b"PE\0\0", at):
        raise Damaged("PE: no header")
    spans = [(name.rstrip(b"\0").decode("latin-1"), Span(start, min(raw, used), raw == 0)) for name, used, raw, start in table]
    wrappers = sum(span.size for name, span in spans if name == PE_WRAPPERS) // WRAPPER_SIZE
    return Layout(tuple(span for name, span in spans if name == PE_FATBIN), wrappers)
