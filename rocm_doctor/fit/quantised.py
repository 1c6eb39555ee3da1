"""bitsandbytes wheels with the kernels that a run needs on a GPU, by the rows that `lint` and `plan` use."""

from __future__ import annotations

from typing import Literal

import msgspec

from rocm_doctor.facts.enrich import enrich
from rocm_doctor.fit.job import Job
from rocm_doctor.lint.wheels import rows_by_version
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Fact, Gpu, Row, Snapshot
from rocm_doctor.plan.catalog import Release, load_catalog
from rocm_doctor.rules.engine import judge
from rocm_doctor.rules.logs import Logs
from rocm_doctor.versions import contains, rocm_of_local

NAME = "bitsandbytes"


class Wheels(msgspec.Struct, frozen=True):
    """`missing`: no released wheel has code for the card. `partly`: some have, for the ROCm that `words` says. Else `held`, which
    includes that no row speaks of the card."""

    state: Literal["held", "partly", "missing"] = "held"
    words: str = ""


def needed_kernels(job: Job) -> str:
    """What of a run are kernels of bitsandbytes; empty for none."""
    if job.quant_bits:
        return f"{job.quant_bits}-bit layers"
    return f"the optimizer {job.optimizer}" if job.optimizer.startswith("paged") or job.optimizer.endswith("8bit") else ""


def find_wheels(gfx: str, torch: str | None, matrix: Matrix) -> Wheels:
    """The wheel that serves the GPU best, among the releases that go with this torch (None: any)."""
    package = load_catalog(matrix).packages.get(NAME)
    if package is None or gfx not in matrix.gfx:
        return Wheels()
    rows = tuple(row for row in rows_by_version(matrix, frozenset((NAME,))) if {f"pkg.{NAME}", "gpu.gfx"} <= row.when.keys())
    fewer = matrix.replace_rows(rows)
    fitting = [r for r in package.releases if torch is None or contains(r.torch, torch) is not False]
    found = [_release_wheels(release, gfx, torch, fewer) for release in fitting]
    best = {one.state: one for one in reversed(found)}
    return best.get("held") or best.get("partly") or best.get("missing") or Wheels()


def _release_wheels(release: Release, gfx: str, torch: str | None, matrix: Matrix) -> Wheels:
    facts = {"torch.build": Fact("rocm"), f"pkg.{NAME}": Fact(release.version)}
    rocm = rocm_of_local(torch) if torch else None
    if torch and rocm:
        facts |= {"torch.version": Fact(torch), "torch.rocm": Fact(rocm)}
    snapshot = enrich(Snapshot(facts, (Gpu({"gfx": Fact(gfx)}),), True), matrix)
    found, undecided = judge(snapshot, Logs(()), matrix, ())
    against = [row for one in found if (row := matrix.row(one.row)) and row.status == "unsupported"]
    if against:
        return Wheels("missing", _statement(against[0]))
    open_ = [row for one in undecided if one.row and (row := matrix.row(one.row)) and row.status == "unsupported"]
    return Wheels("partly", _statement(open_[0])) if open_ else Wheels()


def _statement(row: Row) -> str:
    return f"{row.title} ({row.grade}: {row.sources[0]})"
