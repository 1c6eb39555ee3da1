"""Clang offload bundles, plain and compressed: the targets of a `.hip_fatbin` section.

Layout facts: LLVM's ClangOffloadBundler documentation; checked on released wheels (docs/binaries.md). All numbers little endian.
Only headers are read: a plain bundle's payload is stepped over, a compressed one is inflated no further than its list of entries.
"""

from __future__ import annotations

import itertools
import struct
import sys
import zlib
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

_TABLE = len(MAGIC) + 8
_ROW = struct.Struct("<QQQ")

Prefix = Callable[[int], bytes]
Row = tuple[int, int, bytes]


class Damaged(Exception):
    """A malformed bundle; the message gives the reason."""


class NoDecoder(Exception):
    """The bundle is compressed with zstd and no decoder is installed."""


class Bundle(NamedTuple):
    """One bundle: offset in the section, size in bytes (0 if the format does not state it), encoding, targets."""

    offset: int
    size: int
    encoding: str
    targets: tuple[str, ...]


class Packed(NamedTuple):
    """Header of a compressed bundle. `total` is 0 in version 1, which has no such field."""

    version: int
    method: str
    header: int
    total: int
    plain_size: int


def walk(view: View, start: int, size: int) -> tuple[list[Bundle], str]:
    """Every bundle of a section of `size` bytes at `start`, and the error that stopped the walk ("" at the end).

    Bundles start on 4096-byte boundaries of the section. Raises NoDecoder and view.Overread.
    """
    bundles: list[Bundle] = []
    pos, sized = 0, True
    if start + size > view.size:
        return bundles, f"the section is {size} bytes long, the file ends after {max(0, view.size - start)} of them"
    while pos < size:
        head = view.at(start + pos, 32)
        if not head.startswith((MAGIC, PACKED_MAGIC)):
            if sized and head.strip(b"\0"):
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
        sized = bundle.size > 0
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
    payload = (packed.total or room) - packed.header
    ids, _ = _entries(lambda n: _inflate(packed, view, at + packed.header, payload, n), packed.plain_size)
    return Bundle(pos, packed.total, f"ccob{packed.version}-{packed.method}", ids)


def packed_header(head: bytes, room: int) -> Packed:
    """The header of a `CCOB` bundle with `room` bytes left for it. Raises Damaged."""
    layout = {1: "<IQ", 2: "<IIQ", 3: "<QQQ"}
    if len(head) < 8:
        raise Damaged("cut off within the header")
    version, method = struct.unpack_from("<HH", head, 4)
    if version not in layout:
        raise Damaged(f"compressed-bundle version {version} is unknown")
    if method not in (0, 1):
        raise Damaged(f"compression method {method} is unknown")
    header = 8 + struct.calcsize(layout[version])
    if len(head) < header:
        raise Damaged("cut off within the header")
    *total, plain_size, _hash = struct.unpack_from(layout[version], head, 8)
    if total and not header < total[0] <= room:
        raise Damaged(f"claims {total[0]} bytes where {room} are left")
    return Packed(version, ("zlib", "zstd")[method], header, total[0] if total else 0, plain_size)


def _entries(prefix: Prefix, room: int) -> tuple[tuple[str, ...], int]:
    """Targets in the entry table, and the end of the last code object. `prefix(n)` gives the bundle's first n bytes."""
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
    _check_spans(rows, end)
    targets = (_target(entry_id) for _, size, entry_id in rows if size)
    return tuple(dict.fromkeys(filter(None, targets))), max(end, last)


def _rows(table: bytes, count: int) -> tuple[list[Row], int]:
    """Offset, size and id of each entry that the bytes hold, and the offset behind them."""
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


def _check_spans(rows: list[Row], table_end: int) -> None:
    """Raises Damaged for code objects that overlap in part or lie over the entry table; equal spans are allowed."""
    filled = sorted({(offset, size) for offset, size, _ in rows if size})
    if filled and filled[0][0] < table_end:
        raise Damaged("a code object overlaps the entry table")
    for (offset, size), (following, _) in itertools.pairwise(filled):
        if following < offset + size:
            raise Damaged("code objects overlap")


def _inflate(packed: Packed, view: View, at: int, size: int, wanted: int) -> bytes:
    """The first `wanted` inflated bytes of the payload (fewer if it ends before). Never inflates more."""
    wanted = min(wanted, packed.plain_size)
    return (_zlib if packed.method == "zlib" else _zstd)(_Feed(view, at, size), wanted)


class _Feed:
    """The payload as a bounded stream: a decoder cannot read past the bundle."""

    def __init__(self, view: View, at: int, size: int) -> None:
        self._view, self._at, self._end = view, at, at + size

    def read(self, size: int = _FEED) -> bytes:
        data = self._view.at(self._at, min(size, _FEED, self._end - self._at))
        self._at += len(data)
        return data


def _zlib(feed: _Feed, wanted: int) -> bytes:
    decoder, out = zlib.decompressobj(), b""
    try:
        while len(out) < wanted and not decoder.eof:
            piece = decoder.unconsumed_tail or feed.read()
            if not piece:
                break
            out += decoder.decompress(piece, wanted - len(out))
    except zlib.error as error:
        raise Damaged(f"zlib: {error}") from None
    return out


def _zstd(feed: _Feed, wanted: int) -> bytes:
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
            piece = feed.read() if decoder.needs_input else b""
            if decoder.needs_input and not piece:
                break
            out += decoder.decompress(piece, wanted - len(out))
    except (zstd.ZstdError, MemoryError) as error:
        raise Damaged(f"zstd: {error}") from None
    return out
