"""The matrix of the distribution rocm-doctor-matrix, which is published more often than the tool and holds data alone.

rocm_doctor_matrix/VERSION        calendar version, `rows N`, `sha256 HEX` of the next, a line each
rocm_doctor_matrix/matrix.json    what the wheel of the tool carries as rocm_doctor/data/matrix.json
"""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path
from typing import NamedTuple

from rocm_doctor.bounded import Unreadable, files

SCHEMAS = (2,)
"""Row schemas that this tool reads, oldest first. A new field does not raise the number (a reader leaves out what it does not know); a
field that goes or means something else, and a new value of a closed list, do."""
NAME = "rocm-doctor-matrix"
FOLDER = "rocm_doctor_matrix"
_VERSION = re.compile(r"(\d{4}\.\d{1,2}\.\d{1,2}(?:\.\d+)?)\nrows (\d+)\nsha256 ([0-9a-f]{64})\n")
_HEAD = re.compile(rb'\{"version":"([\d.]+)","schema":')


class Unusable(Exception):
    """Why an installed matrix cannot be used, in one line."""


class Label(NamedTuple):
    """What VERSION says of the data beside it: calendar version, number of the row schema, and sha256 of matrix.json in hex."""

    version: str
    schema: int
    digest: str


def label(version: str, schema: int, data: bytes) -> str:
    """The text of VERSION for compiled data."""
    return f"{version}\nrows {schema}\nsha256 {hashlib.sha256(data).hexdigest()}\n"


def folder() -> Path | None:
    """The folder of the installed distribution, searched only in site-packages and dist-packages; None if it is not there."""
    places = (Path(entry) for entry in sys.path if entry.endswith(("site-packages", "dist-packages")))
    return next((at / FOLDER for at in places if (at / FOLDER).is_dir()), None)


def read_newer(at: Path, embedded: str) -> bytes | None:
    """The bytes of matrix.json in the folder `at` if its version is higher than `embedded`; None if it is not. Raises Unusable if
    the folder is not of this distribution, its row schema is not known, the file cannot be read, or its digest is another."""
    offered = read_label(at)
    if numbers(offered.version) <= numbers(embedded):
        return None
    if offered.schema not in SCHEMAS:
        readable = " and ".join(map(str, SCHEMAS))
        raise Unusable(
            f"{NAME} {offered.version} has row schema {offered.schema}, and this rocm-doctor reads {readable}: update rocm-doctor"
        )
    try:
        data = files.read(at / "matrix.json")
    except (OSError, Unreadable) as exc:
        raise Unusable(f"{NAME} in {at} cannot be read ({getattr(exc, 'strerror', None) or exc}): install it again") from exc
    if hashlib.sha256(data).hexdigest() != offered.digest:
        raise Unusable(f"{NAME} {offered.version} in {at} is damaged: install it again")
    return data


def read_label(at: Path) -> Label:
    """What VERSION in a folder says. Raises Unusable for a folder that is not of this distribution."""
    try:
        text = files.text(at / "VERSION", 1024)
    except (OSError, Unreadable):
        text = ""
    found = _VERSION.fullmatch(text)
    if found is None:
        raise Unusable(f"{at} is not the matrix of rocm-doctor: remove it, or install {NAME} again")
    return Label(found[1], int(found[2]), found[3])


def read_version(compiled: Path) -> str:
    """The version of compiled data, read from its first bytes; empty for another file."""
    found = _HEAD.match(files.head(compiled, 64))
    return found[1].decode() if found else ""


def numbers(version: str) -> tuple[int, ...]:
    """The numbers of a calendar version, which compare as versions do."""
    return tuple(int(part) for part in version.split(".") if part.isdigit())
