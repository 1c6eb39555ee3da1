"""Tiny binaries made by hand: bundles, ELF, PE and kpack files with nothing in them but what the readers look at."""

from __future__ import annotations

import struct
import sys
from collections.abc import Mapping, Sequence

import msgspec

if sys.version_info >= (3, 14):
    import compression.zstd as zstd
else:
    import backports.zstd as zstd

HOST = "host-x86_64-unknown-linux-gnu-"
MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
PAGE = 4096
NOBITS = 8
PROGBITS = 1


def entry_ids(targets: Sequence[str], kind: str = "hipv4") -> list[str]:
    return [HOST, *(f"{kind}-amdgcn-amd-amdhsa--{t}" for t in targets)]


def plain(ids: Sequence[str], size: int = 64, spans: Sequence[tuple[int, int]] | None = None, count: int | None = None) -> bytes:
    """An uncompressed bundle; the host entry is empty, every other object `size` bytes long."""
    table = 32 + sum(24 + len(i) for i in ids)
    if spans is None:
        lengths = [0 if i.startswith("host") else size for i in ids]
        spans = [(table + 8 + sum(lengths[:n]), length) for n, length in enumerate(lengths)]
    head = MAGIC + struct.pack("<Q", len(ids) if count is None else count)
    for (offset, length), name in zip(spans, ids):
        head += struct.pack("<QQQ", offset, length, len(name)) + name.encode()
    end = max([len(head), *(o + s for o, s in spans if o + s < 1 << 27)])
    return head.ljust(end, b"\x5a")


def gpu_bundle(*targets: str, size: int = 64) -> bytes:
    return plain(entry_ids(targets), size)


def ccob(version: int, inner: bytes, total: int | None = None, plain_size: int | None = None) -> bytes:
    """A compressed bundle. `total` and `plain_size` overstate or understate what the header says."""
    payload = zstd.compress(inner)
    layout = {2: "<IIQ", 3: "<QQQ"}[version]
    whole = 8 + struct.calcsize(layout) + len(payload) if total is None else total
    size = len(inner) if plain_size is None else plain_size
    return b"CCOB" + struct.pack("<HH", version, 1) + struct.pack(layout, whole, size, 0x1122334455667788) + payload


def padded(*bundles: bytes) -> bytes:
    """Bundles as a section holds them: each on a boundary of 4096 bytes, the last one not padded."""
    out = b""
    for one in bundles:
        out = out.ljust(-(-len(out) // PAGE) * PAGE, b"\0") + one
    return out


def elf(sections: Mapping[str, bytes | int], needed: Sequence[str] = ()) -> bytes:
    """A 64-bit little-endian shared object of section headers and data. An int stands for a NOBITS section of that size."""
    strings, dynamic = b"\0", b""
    for text in needed:
        dynamic += struct.pack("<qQ", 1, len(strings))
        strings += text.encode() + b"\0"
    whole: dict[str, bytes | int] = {".dynstr": strings, **sections, ".dynamic": dynamic + bytes(16)}
    names = b"\0" + b"".join(n.encode() + b"\0" for n in [*whole, ".shstrtab"])
    body, headers = bytes(64), [bytes(64)]
    for name, data in [*whole.items(), (".shstrtab", names)]:
        align = PAGE if name == ".hip_fatbin" else 16
        body = body.ljust(-(-len(body) // align) * align, b"\0")
        kind, size = (NOBITS, data) if isinstance(data, int) else (PROGBITS, len(data))
        fields = (names.index(b"\0" + name.encode() + b"\0") + 1, kind, 2, len(body), len(body), size, 0, 0, align, 0)
        headers.append(struct.pack("<IIQQQQIIQQ", *fields))
        body += b"" if isinstance(data, int) else data
    body = body.ljust(-(-len(body) // 16) * 16, b"\0")
    ident = b"\x7fELF\x02\x01\x01" + bytes(9)
    head = ident + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 0, len(body), 0, 64, 56, 0, 64, len(headers), len(headers) - 1)
    return head + body[64:] + b"".join(headers)


def library(*bundles: bytes, needed: Sequence[str] = ("libamdhip64.so.7",), wrappers: int | None = None) -> bytes:
    """A shared object with GPU code, as a HIP compiler leaves it."""
    count = len(bundles) if wrappers is None else wrappers
    return elf({".hip_fatbin": padded(*bundles), ".hipFatBinSegment": bytes(24 * count)}, needed)


def code_object(flags: int, abi: int = 3) -> bytes:
    """The header of a code object for the GPU itself: an ELF file for machine 224 with the target in its flags."""
    ident = b"\x7fELF\x02\x01\x01\x40" + bytes([abi]) + bytes(7)
    return ident + struct.pack("<HHIQQQIHHHHHH", 3, 224, 1, 0, 0, 0, flags, 64, 56, 0, 64, 0, 0)


def pe(sections: Mapping[str, bytes]) -> bytes:
    """A 64-bit DLL of headers and sections, each at an odd multiple of 512: bundles are aligned in the section, not the file."""
    count = len(sections)
    dos = b"MZ".ljust(60, b"\0") + struct.pack("<I", 64)
    coff = b"PE\0\0" + struct.pack("<HHIIIHH", 0x8664, count, 0, 0, 0, 240, 0x2022)
    optional = struct.pack("<HBBIIIIIQIIHHHHHHIIIIHHQQQQII", 0x20B, 14, 0, 0, 0, 0, 0, 0x1000, 0x180000000, 0x1000, 512,
                           6, 0, 0, 0, 6, 0, 0, 0x10000, 0x400, 0, 2, 0, 1 << 20, 4096, 1 << 20, 4096, 0, 16)  # fmt: skip
    optional += bytes(240 - len(optional))
    at, address, table, body = 1536, 0x1000, b"", b""
    for name, data in sections.items():
        raw = -(-len(data) // 512) * 512
        fields = (name.encode()[:8].ljust(8, b"\0"), len(data), address, raw, at, 0, 0, 0, 0, 0x40000040)
        table += struct.pack("<8sIIIIIIHHI", *fields)
        body += data.ljust(raw, b"\0")
        at, address = at + raw, address + -(-len(data) // PAGE) * PAGE
    return (dos + coff + optional + table).ljust(1536, b"\0") + body


def kpack(toc: Mapping[str, Mapping[str, object]], version: int = 1, offset: int | None = None) -> bytes:
    """An archive whose blobs are noise; `toc` maps binary to target to anything."""
    blobs = b"\x07" * 112
    body = msgspec.msgpack.encode({"format_version": version, "gfx_arches": [], "toc": toc, "compression_scheme": "none"})
    return b"KPAK" + struct.pack("<IQ", version, 16 + len(blobs) if offset is None else offset) + blobs + body


def kpack_reference(key: str) -> bytes:
    return msgspec.msgpack.encode({"kernel_name": key, "kpack_search_paths": [".kpack/x.kpack"]})
