"""A report of rocm-doctor that was handed in: its snapshot, with the readings that it was made from.

    ==> report/doctor.json <==
    {"snapshot": {"facts": {"rocm.version": {"value": "6.4.1"}}, "gpus_listed": true,
                  "gpus": [{"facts": {"gfx": {"value": "gfx1100"}}}]}}

>>> print(probe(sample))
rocm.version = 6.4.1
gpu 0 gfx = gfx1100
"""

from __future__ import annotations

import msgspec

from rocm_doctor.model import Snapshot
from rocm_doctor.probes.read.result import Artifacts, Listing, ProbeResult


class _Report(msgspec.Struct):
    snapshot: Snapshot


def probe(artifacts: Artifacts) -> ProbeResult:
    """Every fact and every GPU of the reports (`report/*`)."""
    result = ProbeResult()
    for artifact in (a for a in artifacts if a.missing and a.name.startswith("report/")):
        result.fail(artifact.name, artifact.note)
    for artifact in artifacts.like("report/*"):
        try:
            snapshot = msgspec.json.decode(artifact.text, type=_Report).snapshot
        except (msgspec.DecodeError, UnicodeEncodeError) as exc:
            result.fail(artifact.name, f"not a report that this version can read: {exc}")
            continue
        result.facts.update(snapshot.facts)
        result.errors += snapshot.errors
        if snapshot.gpus_listed:
            result.listings.append(Listing(gpus=[dict(gpu.facts) for gpu in snapshot.gpus]))
    return result
