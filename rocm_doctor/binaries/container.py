"""The GPU code sections of an ELF or PE file, and the ROCm libraries that it is linked to.

pyelftools and pefile find the sections (imported when the first file needs them); everything they read goes
through a bounded view, so a damaged file costs an `Unknown`, not memory.
"""

from __future__ import annotations

import struct
from typing import IO, Any, NamedTuple, cast

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
_MAX_DYNAMIC = 64 << 10
_DT_NULL, _DT_NEEDED, _DT_RPATH, _DT_RUNPATH = 0, 1, 15, 29
_ROCM_SONAME = regex(
    r"lib(?:amdhip64|hsa-runtime64|hip\w+|roc\w+|MIOpen|rccl|amd_comgr|hiprtc|magma|migraphx\w*|composable_kernel\w*|amd_smi)\.so(?:\.\d+)*"
    r"|(?:amdhip64|hiprtc|hip\w+|roc\w+|MIOpen|amd_comgr)[\w-]*\.dll"
)


class Missing(Exception):
    """A reader library is not installed; the message is its name."""


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
    runpath: str = ""
    target: str = ""


def names_gpu_code(view: View) -> bool:
    """False if an ELF file has neither GPU sections nor is a code object; True if it has, or if that is unknown. 20 us.

    An environment has hundreds of libraries and pyelftools takes 2 ms for each, so it gets only those that pass this test.
    """
    head = view.at(0, 64)
    if len(head) < 64 or head[4] != 2 or head[5] != 1 or head[18] == EM_AMDGPU:
        return True
    table, entry, count, names = struct.unpack_from("<40xQ10xHHH", head)
    if entry != 64 or not names < count <= MAX_SECTIONS:
        return True
    header = view.at(table + names * 64, 64)
    if len(header) < 64:
        return True
    offset, size = struct.unpack("<24xQQ24x", header)
    strings = view.at(offset, min(size, 1 << 20))
    return not strings or len(strings) != size or FATBIN.encode() in strings or KPACK_REF.encode() in strings


def elf_layout(view: View) -> Layout:
    """Sections, linked libraries and, for a code object, its target. Raises Damaged, Missing, view.Overread."""
    try:
        from elftools.common.exceptions import ELFError
        from elftools.elf.elffile import ELFFile
    except ImportError:
        raise Missing("pyelftools") from None
    try:
        return _elf_layout(ELFFile(cast("IO[bytes]", view)), view)
    except (ELFError, ValueError, LookupError, AttributeError, TypeError, AssertionError, ArithmeticError, struct.error) as error:
        raise Damaged(f"ELF: {type(error).__name__} {error}".strip()) from None


def _elf_layout(elf: Any, view: View) -> Layout:
    if elf.header["e_machine"] == "EM_AMDGPU":
        flags, abi = elf.header["e_flags"], elf.header["e_ident"]["EI_ABIVERSION"]
        target = flags_target(flags, abi)
        if target is None:
            raise Damaged(f"processor number {flags & 0xFF:#x} of the code object is unknown")
        return Layout(target=target)
    if elf.num_sections() > MAX_SECTIONS:
        raise Damaged(f"claims {elf.num_sections()} sections")
    spans = _spans(elf, view)
    needed, runpath = _dynamic(view, spans)
    return Layout(
        tuple(spans.get(FATBIN, ())),
        sum(s.size for s in spans.get(WRAPPERS, ())) // WRAPPER_SIZE,
        next(iter(spans.get(KPACK_REF, ())), None),
        needed,
        runpath,
    )


def _spans(elf: Any, view: View) -> dict[str, list[Span]]:
    """Sections by name. Headers only: pyelftools' section objects read whole hash tables (0.4 s for one TensorFlow library)."""
    from elftools.common.utils import struct_parse

    first, step, stream = elf["e_shoff"], elf["e_shentsize"], cast("IO[bytes]", view)
    headers = [struct_parse(elf.structs.Elf_Shdr, stream, first + n * step) for n in range(elf.num_sections())]
    if not headers:
        raise Damaged("no section table, which would name the GPU code")
    names, size = (headers[elf.get_shstrndx()][field] for field in ("sh_offset", "sh_size"))
    if not size:
        raise Damaged("the section table has no names")
    spans: dict[str, list[Span]] = {}
    for header in headers:
        name = view.at(names + header["sh_name"], 64).split(b"\0")[0].decode("latin-1")
        spans.setdefault(name, []).append(Span(header["sh_offset"], header["sh_size"], header["sh_type"] == "SHT_NOBITS"))
    return spans


def _dynamic(view: View, spans: dict[str, list[Span]]) -> tuple[tuple[str, ...], str]:
    """ROCm libraries of DT_NEEDED, and the search path. Strings are read in file order, so a zip member is inflated once."""
    if ".dynamic" not in spans or ".dynstr" not in spans:
        return (), ""
    table, strings = spans[".dynamic"][0], spans[".dynstr"][0]
    data = view.at(table.offset, min(table.size, _MAX_DYNAMIC))
    wanted: dict[int, int] = {}
    for tag, value in struct.iter_unpack("<qQ", data[: len(data) // 16 * 16]):
        if tag == _DT_NULL:
            break
        if tag in (_DT_NEEDED, _DT_RPATH, _DT_RUNPATH) and value < strings.size:
            wanted[value] = tag
    texts = {v: view.at(strings.offset + v, 512).split(b"\0")[0].decode("utf-8", "replace") for v in sorted(wanted)}
    needed = [texts[v] for v, tag in wanted.items() if tag == _DT_NEEDED]
    paths = [texts[v] for v, tag in wanted.items() if tag != _DT_NEEDED]
    return tuple(n for n in needed if _ROCM_SONAME.fullmatch(n)), ":".join(paths)


def pe_layout(view: View) -> Layout:
    """Sections of a DLL; its headers are within the first 64 KiB. Raises Damaged, Missing, view.Overread."""
    try:
        import pefile
    except ImportError:
        raise Missing("pefile") from None
    try:
        pe = pefile.PE(data=view.at(0, _PE_HEAD), fast_load=True)
        sections = [(s.Name.rstrip(b"\0").decode("latin-1"), s) for s in pe.sections]
    except (pefile.PEFormatError, ValueError, LookupError, AttributeError, TypeError, struct.error) as error:
        raise Damaged(f"PE: {error}") from None
    spans = [
        (name, Span(s.PointerToRawData, min(s.SizeOfRawData, s.Misc_VirtualSize), s.SizeOfRawData == 0)) for name, s in sections
    ]
    wrappers = sum(span.size for name, span in spans if name == PE_WRAPPERS) // WRAPPER_SIZE
    return Layout(tuple(span for name, span in spans if name == PE_FATBIN), wrappers)
