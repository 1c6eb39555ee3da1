"""Clang offload bundles, plain and compressed: the targets of a `.hip_fatbin` section.

Layout facts: LLVM's ClangOffloadBundler documentation; checked on released wheels (docs/binaries.md). All numbers little endian.
Only headers are read: a plain bundle's payload is stepped over, a compressed one is inflated no further than its list of entries. Of the
compressed ones those are read that released wheels hold: versions 2 and 3, packed with zstd.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from rocm_doctor.binaries.targets import entry_target
from rocm_doctor.binaries.view import View

MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
PACKED_MAGIC = b"CCOB"
ALIGN = 4096
MAX_ENTRIES = 1024
MAX_ID = 512
MAX_BUNDLES = 65536
_FIRST = 4096
_FEED = 16 << 10
_WINDOW_LOG = 27
_ZSTD = 1

_TABLE = len(MAGIC) + 8
_ROW = struct.Struct("<QQQ")

Prefix = Callable[[int], bytes]
Row = tuple[int, int, bytes]


class Damaged(Exception):
    """A malformed bundle; the message gives the reason."""


class NoDecoder(Exception):
    """The bundle is compressed with zstd and no decoder is installed."""


class Bundle(NamedTuple):
    """One bundle: offset in the section, size in bytes, encoding, targets."""

    offset: int
    size: int
    encoding: str
    targets: tuple[str, ...]


class Packed(NamedTuple):
    """Header of a compressed bundle: sizes in bytes of the header, of the whole bundle, and of what it inflates to."""

    version: int
    header: int
    total: int
    plain_size: int


def walk(view: View, start: int, size: int) -> tuple[list[Bundle], str]:
    """Every bundle of a section of `size` bytes at `start`, and the error that stopped the walk ("" at the end).

    Bundles start on 4096-byte boundaries of the section. Raises NoDecoder and view.Overread.
    """
    bundles: list[Bundle] = []
    pos = 0
    if start + size > view.size:
        return bundles, f"the section is {size} bytes long, the file ends after {max(0, view.size - start)} of them"
    while pos < size:
        head = view.at(start + pos, 32)
        if not head.startswith((MAGIC, PACKED_MAGIC)):
            if head.strip(b"\0"):
                return bundles, f"neither a bundle nor padding at offset {pos} of the section"
            pos += ALIGN
            continue
        try:
            bundle = _read(view, head, start, pos, size - pos)
        except Damaged as damage:
            return bundles, f"bundle at offset {pos} of the section: {damage}"
        bundles.append(bundle)
        if len(bundles) > MAX_BUNDLES:
            return bundles, f"more than {MAX_BUNDLES} bundles"
        pos += -(-max(bundle.size, 1) // ALIGN) * ALIGN
    return bundles, ""


def is_bundle(head: bytes) -> bool:
    """True if a file that begins with these bytes is a bundle (Tensile's `.co` files often are)."""
    return head.startswith((MAGIC, PACKED_MAGIC))


def _read(view: View, head: bytes, start: int, pos: int, room: int) -> Bundle:
    at = start + pos
    if not head.startswith(PACKED_MAGIC):
        ids, end = _entries(lambda n: view.at(at, min(n, room)), room)
        return Bundle(pos, end, "plain", ids)
    packed = packed_header(head[:room], room)
    ids, _ = _entries(
        lambda n: _inflate(view, at + packed.header, at + packed.total, min(n, packed.plain_size)), packed.plain_size
    )
    return Bundle(pos, packed.total, f"ccob{packed.version}-zstd", ids)


def packed_header(head: bytes, room: int) -> Packed:
    """The header of a `CCOB` bundle with `room` bytes left for it. Raises Damaged if it is cut off, claims more than `room`, or
    has a version or a compression that is not read."""
    layout = {2: "<IIQ", 3: "<QQQ"}
    if len(head) < 8:
        raise Damaged("cut off within the header")
    version, method = struct.unpack_from("<HH", head, 4)
    if version not in layout:
        raise Damaged(f"compressed-bundle version {version} is not read")
    if method != _ZSTD:
        raise Damaged(f"compression method {method} is not read")
    header = 8 + struct.calcsize(layout[version])
    if len(head) < header:
        raise Damaged("cut off within the header")
    total, plain_size, _hash = struct.unpack_from(layout[version], head, 8)
    if not header < total <= room:
        raise Damaged(f"claims {total} bytes where {room} are left")
    return Packed(version, header, total, plain_size)


def _entries(prefix: Prefix, room: int) -> tuple[tuple[str, ...], int]:
    """(targets of the entry table, end of the last code object). `prefix(n)` gives the bundle's first n bytes. Raises Damaged if
    the table is not one, is cut off, or names bytes beyond `room`."""
    table = prefix(_FIRST)
    if len(table) < _TABLE or not table.startswith(MAGIC):
        raise Damaged("contains no bundle header")
    count = int.from_bytes(table[len(MAGIC) : _TABLE], "little")
    if count > MAX_ENTRIES:
        raise Damaged(f"claims {count} entries")
    rows, end = _rows(table, count)
    if len(rows) < count:
        rows, end = _rows(prefix(_TABLE + count * (_ROW.size + MAX_ID)), count)
    if len(rows) < count:
        raise Damaged(f"cut off within entry {len(rows) + 1}")
    last = max((offset + size for offset, size, _ in rows), default=0)
    if last > room:
        raise Damaged(f"its code objects end at {last}, the bundle after {room}")
    targets = (_target(entry_id) for _, size, entry_id in rows if size)
    return tuple(dict.fromkeys(filter(None, targets))), max(end, last)


def _rows(table: bytes, count: int) -> tuple[list[Row], int]:
    """((offset, size, id) of each entry that the bytes hold, the offset behind them). Raises Damaged for an id that is too
    long."""
    rows: list[Row] = []
    pos = _TABLE
    while len(rows) < count and pos + _ROW.size <= len(table):
        offset, size, length = _ROW.unpack_from(table, pos)
        if length > MAX_ID:
            raise Damaged(f"entry {len(rows) + 1} claims an id of {length} bytes")
        end = pos + _ROW.size + length
        if end > len(table):
            break
        rows.append((offset, size, table[pos + _ROW.size : end]))
        pos = end
    return rows, pos


@lru_cache(maxsize=1024)
def _target(entry_id: bytes) -> str | None:
    """The id's target; a library repeats the same few ids in each of its bundles."""
    return entry_target(entry_id.decode("utf-8", "replace"))


def _inflate(view: View, at: int, end: int, wanted: int) -> bytes:
    """The first `wanted` inflated bytes of the payload between these offsets (fewer if it ends before). Never inflates more.
    Raises Damaged, or NoDecoder without a zstd module."""
    try:
        if sys.version_info >= (3, 14):
            import compression.zstd as zstd
        else:
            import backports.zstd as zstd
    except ImportError:
        raise NoDecoder from None
    # Clang compresses with long-distance matching, hence windows of up to 128 MiB, which the decoder reserves but rarely touches.
    decoder, out = zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: _WINDOW_LOG}), b""
    try:
        while len(out) < wanted and not decoder.eof:
            piece = view.at(at, min(_FEED, end - at)) if decoder.needs_input else b""
            if decoder.needs_input and not piece:
                break
            at += len(piece)
            out += decoder.decompress(piece, wanted - len(out))
    except (zstd.ZstdError, MemoryError) as error:
        raise Damaged(f"zstd: {error}") from None
    return out
