"""rocm-doctor from Python: `check()` gives the report on this machine, `require()` ends a training script that would fail anyway.

    from rocm_doctor import require
    require(target="gfx1100", fail_on="error")

Nothing of torch is imported here, and nothing is run: both look at files only, so they may stand before `import torch`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rocm_doctor.model import Command, Report, Severity

_RANK: dict[str, int] = {"error": 0, "warning": 1, "note": 2}


class NotReady(RuntimeError):
    """This machine will not train as required. `report` holds the whole judgement, the text the findings that decided."""

    def __init__(self, report: Report, text: str) -> None:
        super().__init__(text)
        self.report = report


def check(*paths: str | Path, ignore: Sequence[str] = (), python: str | None = None) -> Report:
    """The report on this machine, or on captured text and bundles when paths are given. Nothing is run and nothing is redacted.

    Raises sources.bundle.BundleError for a path that cannot be read.
    """
    from rocm_doctor import pipeline
    from rocm_doctor.matrix import load

    if paths:
        artifacts = pipeline.from_paths([Path(p) for p in paths])
        return pipeline.judge(artifacts, load(), source=", ".join(map(str, paths)), kind="capture", ignore=ignore)
    from rocm_doctor.sources.live import collect

    return pipeline.judge(collect(python=python, tools=False), load(), ignore=ignore)


def require(
    *paths: str | Path, target: str | None = None, fail_on: Severity = "error", strict: bool = False, ignore: Sequence[str] = ()
) -> Report:
    """The report, when this machine (or what the paths captured) is fit to train; else NotReady with the findings.

    `target`: a GPU of this gfx target must be there. `fail_on`: the severity from which on a finding counts. `strict`: a verdict
    that stayed open counts too.
    """
    report = check(*paths, ignore=ignore)
    reasons = [
        _said(f.title, f.cause, f.commands) for f in report.findings if _RANK[f.severity] <= _RANK[fail_on] and not f.follows_from
    ]
    seen = [str(gpu.get("gfx").value) for gpu in report.snapshot.gpus if gpu.get("gfx").known]
    if target and target not in seen:
        reasons.insert(0, f"{target} is required, and {', '.join(seen) or 'no AMD GPU'} is what this machine has")
    if strict and report.verdict == "undetermined":
        reasons.append(report.summary)
    if reasons:
        raise NotReady(report, "rocm-doctor: not ready to train\n" + "\n".join(f"- {reason}" for reason in reasons))
    return report


def _said(title: str, cause: str, commands: Sequence[Command]) -> str:
    return "\n  ".join([title, cause, *(f"$ {c.text}" for c in commands)])
