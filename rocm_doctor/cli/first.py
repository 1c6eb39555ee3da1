"""`rocm-doctor` alone: what this machine is, in one line, and the two commands that are of most use on it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import click

from rocm_doctor.cli.common import load_matrix
from rocm_doctor.model import Report
from rocm_doctor.rules.frameworks import amd_frameworks

_DECLARES = ("requirements*.txt", "pyproject.toml", "Dockerfile*", "environment.y*ml", "uv.lock")
"""Files of a repository that `lint` has something to say about."""


class Step(NamedTuple):
    """A command, and what it is good for."""

    command: str
    why: str


def first_steps() -> None:
    """Print the steps. Only files are read: no tool is started."""
    from rocm_doctor import pipeline
    from rocm_doctor.sources.live import collect

    report = pipeline.judge(collect(tools=False), load_matrix(None, ()))
    found = steps(report, _is_repository(Path()))
    wide = max(len(step.command) for step in found)
    click.echo(f"{report.summary}\n")
    for step in found:
        click.echo(f"  {step.command:<{wide}}  {step.why}")
    click.echo("\nrocm-doctor --help lists all commands.")


def steps(report: Report, repository: bool) -> tuple[Step, Step]:
    """The two commands for this machine, the more useful one first."""
    facts = report.snapshot
    lint = Step("rocm-doctor lint --gpu gfx1100 .", "check this repository for a GPU that is elsewhere; name yours")
    if facts.get("pci.gpus").value == 0 and not facts.gpus:
        text = Step("rocm-doctor check report.md", "judge a bug report or a log of another machine")
        return text, lint if repository else Step("rocm-doctor plan --gpu gfx1100", "what to install for a GPU; name yours")
    check = Step("rocm-doctor check", "why, with sources, and what to type")
    if report.verdict == "problems":
        of_torch = any(f.id == "version.torch-not-rocm" and not f.follows_from for f in report.findings)
        ticket = Step("rocm-doctor bundle", "pack this machine, redacted, for a bug report")
        return check, Step("rocm-doctor plan", "which torch to install for this GPU") if of_torch else ticket
    if not amd_frameworks(facts) and facts.get("torch.version").value is None:
        return Step("rocm-doctor plan", "what to install for this GPU"), check
    if report.verdict == "ready":
        smoke = Step("rocm-doctor smoke", "compute on the GPU: matmul, attention, a LoRA step")
        return smoke, lint if repository else Step(
            "rocm-doctor fit --model qwen2.5-7b", "does a fine-tuning run fit; name your model"
        )
    return check, Step("rocm-doctor check --ask", "the commands whose output would tell more")


def _is_repository(folder: Path) -> bool:
    return any(next(folder.glob(pattern), None) for pattern in _DECLARES)
