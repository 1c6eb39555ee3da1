"""A report as short lines that survive what launchers do to output: `@rocm-doctor n7 4f0c 3/12 H4sI...`.

srun cuts labelled lines after 1 KiB and container runtimes after 16 KiB; both, and mpirun, pdsh and kubectl, mix the lines of all nodes.
So a node prints its report gzipped, in base64, in numbered lines that name the node. What a launcher puts in front of a line is ignored.
"""

from __future__ import annotations

import base64
import binascii
import io
import os
import re
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from rocm_doctor.bounded import Unreadable
from rocm_doctor.bounded.archives import Gunzipped, part
from rocm_doctor.reports.json import LIMIT

WIDTH = 700
LONGEST = 4_000
"""Bytes of a line that may be a piece, with what a launcher put in front."""
MOST = 10_000
"""Pieces of one report: 6 MiB that do not compress."""
WAITING = 256 << 20
"""Characters of reports that are not whole yet, all nodes together."""
_PIECE = re.compile(rb"@rocm-doctor ([\w.-]{1,253}) ([0-9a-f]{4,16}) (\d{1,5})/(\d{1,5}) ([A-Za-z0-9+/=]{0,1000})\s*$")


def pieces(host: str, body: bytes) -> Iterator[str]:
    """The lines, without their ends."""
    packed = zlib.compressobj(6, wbits=31)
    text = base64.b64encode(packed.compress(body) + packed.flush()).decode()
    parts = [text[at : at + WIDTH] for at in range(0, len(text), WIDTH)]
    run = os.urandom(4).hex()
    return (f"@rocm-doctor {host} {run} {n}/{len(parts)} {one}" for n, one in enumerate(parts, 1))


class Taken(NamedTuple):
    """What a piece made: a whole document, nothing yet, or a reason why not."""

    host: str
    whole: bytes = b""
    refused: str = ""


class Joiner:
    """Puts pieces together, in any order and mixed."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], dict[int, bytes]] = {}
        self._totals: dict[tuple[str, str], int] = {}
        self._held = 0

    def take(self, line: bytes, host: str = "") -> Taken | None:
        """The result of this line; None if it is not a piece. `host`: what a launcher calls the node that calls itself otherwise."""
        found = _PIECE.search(line) if len(line) < LONGEST and b"@rocm-doctor " in line else None
        if not found:
            return None
        host = host or found[1].decode()
        key, number, total = (host, found[2].decode()), int(found[3]), int(found[4])
        if not 1 <= number <= total <= MOST or self._totals.setdefault(key, total) != total:
            return Taken(host, refused="pieces that do not fit together")
        parts = self._open.setdefault(key, {})
        self._held += len(found[5]) if number not in parts else 0
        parts[number] = found[5]
        if self._held > WAITING:
            raise Unreadable(f"more than {WAITING >> 20} MiB of reports that are not whole")
        if len(parts) < total:
            return Taken(host)
        self._drop(key)
        return _whole(host, b"".join(parts[n] for n in range(1, total + 1)))

    def unfinished(self) -> list[tuple[str, str]]:
        """Host and reason for each report that lacks pieces."""
        return [(key[0], f"{len(parts)} of {self._totals[key]} pieces of its report") for key, parts in self._open.items()]

    def _drop(self, key: tuple[str, str]) -> None:
        self._held -= sum(map(len, self._open.pop(key).values()))
        del self._totals[key]


def _whole(host: str, text: bytes) -> Taken:
    try:
        packed = base64.b64decode(text, validate=True)
        body = part(Gunzipped(io.BytesIO(packed)), LIMIT + 1)
    except (Unreadable, binascii.Error) as exc:
        return Taken(host, refused=f"damaged report ({exc})")
    return Taken(host, body) if len(body) <= LIMIT else Taken(host, refused=f"more than {LIMIT >> 20} MiB")
