"""The report as JSON: the whole `Report`, for programs and for `check` to read again. Schema: schemas/report.json.

`schema_version` rises with every change that can break a reader; a new field does not.
"""

from __future__ import annotations

import msgspec

from rocm_doctor.bounded import Unreadable, jsons
from rocm_doctor.bounded.files import MIB
from rocm_doctor.model import Report
from rocm_doctor.reports import RenderOptions

SCHEMA_VERSION = 2


def render(report: Report, look: RenderOptions) -> str:
    """One indented JSON document that ends with a newline."""
    return msgspec.json.format(msgspec.json.encode(report), indent=1).decode() + "\n"


LIMIT = 6 * MIB
"""Bytes of a report that is read: twice that of a machine with 64 GPUs."""


def read(data: bytes) -> Report:
    """The report of a JSON document. Raises Unreadable for anything else, and beyond LIMIT."""
    if len(data) > LIMIT:
        raise Unreadable(f"{len(data) / MIB:.0f} MiB, more than the {LIMIT // MIB} MiB that a report may have")
    return jsons.decode(data, Report)
