"""The whole report in one comment of an HTML or Markdown page, so that `check` can read the report back from the page."""

from __future__ import annotations

import base64
import zlib

import msgspec

from rocm_doctor.model import Report

MOST = 40_000
"""Characters of the comment, at most: a ticket holds 65,536 in all."""


def pack(report: Report) -> str:
    """The comment; empty if it would be too long."""
    data = base64.b64encode(zlib.compress(msgspec.json.encode(report), 9)).decode()
    return f"<!-- rocm-doctor report: {data} -->" if len(data) <= MOST else ""
