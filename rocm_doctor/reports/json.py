"""The report as JSON: the whole `Report`, also for machines and for `check` to replay. Schema: schemas/report.json."""

from __future__ import annotations

import msgspec

from rocm_doctor.model import Report
from rocm_doctor.reports import RenderOptions


def render(report: Report, look: RenderOptions) -> str:
    """One indented JSON document that ends with a newline."""
    return msgspec.json.format(msgspec.json.encode(report), indent=1).decode() + "\n"
