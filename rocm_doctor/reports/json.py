"""The report as JSON: the whole `Report`, for programs and for `check` to read again. Schema: schemas/report.json.

`schema_version` rises with every change that can break a reader; a new field does not. Reports of every earlier version can still be
read:

1: `commands` and `verify` were plain strings, `settle` a string. 2: each is an object with `run`, and its type where it is known.
"""

from __future__ import annotations

from typing import Any

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
    """The report of a JSON document of this or an earlier version. Raises Unreadable for anything else, and beyond LIMIT."""
    if len(data) > LIMIT:
        raise Unreadable(f"{len(data) / MIB:.0f} MiB, more than the {LIMIT // MIB} MiB that a report may have")
    try:
        return read_plain(jsons.decode(data, Any))
    except (msgspec.ValidationError, TypeError) as exc:
        raise Unreadable(str(exc)) from exc


def read_plain(plain: Any) -> Report:
    """The report in decoded JSON. Raises msgspec.ValidationError if it is not a report."""
    if isinstance(plain, dict) and plain.get("schema_version") == 1:
        plain = {**plain, "schema_version": 2, "findings": [_upgrade_finding(one) for one in plain.get("findings", ())]}
    return msgspec.convert(plain, Report)


def _upgrade_finding(finding: Any) -> Any:
    """A finding of version 1, with plain commands, as in version 2."""
    if not isinstance(finding, dict):
        return finding
    lists = {n: [{"run": c} if isinstance(c, str) else c for c in finding.get(n, ())] for n in ("commands", "verify")}
    settle = finding.get("settle") or None
    return {**finding, **lists, "settle": {"run": settle} if isinstance(settle, str) else settle}
