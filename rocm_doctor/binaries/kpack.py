"""`.kpack` archives: GPU code that ROCm's split packages keep outside of the libraries.

Layout facts: RFC 0008 of TheRock and the rocm-kpack reference (format version 1): 16-byte header (`KPAK`, version u32, offset of
the table of contents u64), blobs, then a MessagePack table that maps binary -> target -> blob. A split library has a
`.rocm_kpack_ref` section: a MessagePack map with the library's key in that table and the archives to search.
"""

from __future__ import annotations

import struct
from typing import TypeVar

import msgspec

from rocm_doctor.binaries.bundle import Damaged
from rocm_doctor.binaries.view import View

MAGIC = b"KPAK"
MAX_TOC = 8 << 20
MAX_REF = 64 << 10

_T = TypeVar("_T")


class KpackReference(msgspec.Struct, frozen=True):
    """The `.rocm_kpack_ref` section: the library's key in an archive."""

    kernel_name: str


class Contents(msgspec.Struct, frozen=True):
    """The table of contents, without the blobs' places: binary -> target -> (ignored)."""

    toc: dict[str, dict[str, msgspec.Raw]]

    def targets(self, key: str | None = None) -> tuple[str, ...]:
        """Targets held for one binary, or for all of them."""
        tables = self.toc.values() if key is None else [self.toc.get(key, {})]
        return tuple(sorted({target for table in tables for target in table}))


def read_contents(view: View) -> Contents:
    """The table of contents of an archive. Raises Damaged with the reason."""
    head = view.at(0, 16)
    if len(head) < 16 or not head.startswith(MAGIC):
        raise Damaged("not a kpack archive")
    version, offset = struct.unpack_from("<IQ", head, 4)
    if version != 1:
        raise Damaged(f"kpack format version {version} is unknown")
    if not 16 <= offset < view.size:
        raise Damaged(f"the table of contents should begin at {offset}, the archive ends at {view.size}")
    if view.size - offset > MAX_TOC:
        raise Damaged(f"the table of contents is {view.size - offset} bytes long")
    return _decode(view.at(offset, MAX_TOC), Contents)


def read_reference(view: View, offset: int, size: int) -> KpackReference:
    """The `.rocm_kpack_ref` section; padding after the map is ignored. Raises Damaged with the reason."""
    return _decode(view.at(offset, min(size, MAX_REF)).rstrip(b"\0"), KpackReference)


def _decode(data: bytes, kind: type[_T]) -> _T:
    try:
        return msgspec.msgpack.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Damaged(f"MessagePack: {error}") from None
