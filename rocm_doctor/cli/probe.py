"""`rocm-doctor probe`: the facts that were read, without judging them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from rocm_doctor import pipeline
from rocm_doctor.cli.check import live, read_captures, was_interrupted
from rocm_doctor.cli.common import (
    interpreter,
    load_matrix,
    no_redact_option,
    page_options,
    print_page,
    python_option,
    sysroot_option,
    to_json,
)
from rocm_doctor.model import Artifact, Fact, Snapshot
from rocm_doctor.reports.machine import fact_lines
from rocm_doctor.reports.neutral import clean


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@python_option
@page_options("text", "json")
@click.option(
    "--values", is_flag=True, hidden=True, expose_value=False
)  # JSON is the values; scripts of older versions ask for them
@no_redact_option
@sysroot_option
def command(
    paths: tuple[Path, ...],
    python: str | None,
    form: str,
    output: Path | None,
    no_redact: bool,
    sysroot: Path | None,
) -> None:
    """Print the facts of this machine (no PATH) or of captured text, and where each was read.

    JSON has the values alone, redacted: no host, user or serials. `check --format json` has their readings.
    """
    python = interpreter(python) if python or not (paths or sysroot) else None
    matrix = load_matrix()
    artifacts = read_captures(paths, (), False) if paths else live(python, sysroot, (), smoke=False)
    snapshot = clean(pipeline.read_facts(artifacts, matrix))
    if form == "json":
        shared = snapshot if no_redact else _redact(snapshot, artifacts)
        page = to_json(plain_values(shared))
    else:
        page = "\n".join(fact_lines(snapshot))
    print_page(page, output)
    if was_interrupted(artifacts):
        sys.exit(130)


def _redact(snapshot: Snapshot, artifacts: list[Artifact]) -> Snapshot:
    from rocm_doctor.redaction.shared import having_read, redact_snapshot

    return redact_snapshot(snapshot, having_read(artifacts))


def plain_values(snapshot: Snapshot) -> dict[str, Any]:
    """The known values by name: `torch.version` becomes `{"torch": {"version": ...}}`; unknown ones are null.

    `pkg.*` is under `packages`, `env.*` under `env`; `gpus` is a list; `errors` has what could not be read.
    """
    out: dict[str, Any] = {
        "gpus": [{k: _value(f) for k, f in gpu.facts.items()} for gpu in snapshot.gpus],
        "packages": {},
        "env": {},
    }
    for name, fact in snapshot.facts.items():
        if name.endswith("."):
            continue
        head, _, rest = name.partition(".")
        if not rest:
            out[name] = _value(fact)
        else:
            out.setdefault("packages" if head == "pkg" else head, {})[rest] = _value(fact)
    out["errors"] = [f"{e.artifact} {e.place}: {e.quote}".replace(" :", ":") for e in snapshot.errors]
    return out


def _value(fact: Fact) -> Any:
    return fact.value if fact.known else None
