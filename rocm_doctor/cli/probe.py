"""`rocm-doctor probe`: the facts that were read, without judging them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rocm_doctor import pipeline
from rocm_doctor.cli.delivery import Printout, page_command, text_or_json
from rocm_doctor.cli.inputs import interpreter, load_matrix
from rocm_doctor.cli.machine import live, read_captures, was_interrupted
from rocm_doctor.cli.options import no_redact_option, paths_argument, python_option, sysroot_option
from rocm_doctor.cli.output import INTERRUPTED
from rocm_doctor.model import Fact, Snapshot
from rocm_doctor.reports.machine import fact_lines
from rocm_doctor.reports.neutral import clean


@click.command(epilog="Examples:  rocm-doctor probe;  rocm-doctor probe ticket.zip --format json")
@paths_argument
@python_option
@click.option("--values", is_flag=True, hidden=True, expose_value=False)  # JSON is the values; older scripts ask for them
@no_redact_option
@sysroot_option
@page_command("text", "json")
def command(paths: tuple[Path, ...], python: str | None, no_redact: bool, sysroot: Path | None) -> Printout:
    """Print the facts of this machine (no PATH) or of captured text, and where each was read.

    JSON has the values alone, redacted: no host, user or serials. `check --format json` has their readings.
    """
    python = interpreter(python) if python or not (paths or sysroot) else None
    matrix = load_matrix()
    artifacts = read_captures(paths) if paths else live(python, sysroot)
    snapshot = clean(pipeline.read_facts(artifacts, matrix))

    def values() -> dict[str, Any]:
        from rocm_doctor.redaction.shared import learn_artifacts, redact_snapshot

        return plain_values(snapshot if no_redact else redact_snapshot(snapshot, learn_artifacts(artifacts)))

    code = INTERRUPTED if not paths and was_interrupted(artifacts) else 0
    return text_or_json(lambda _: "\n".join(fact_lines(snapshot)), values, code)._replace(redact=not no_redact)


def plain_values(snapshot: Snapshot) -> dict[str, Any]:
    """The known values by name: `torch.version` becomes `{"torch": {"version": ...}}`; unknown ones are null.

    `pkg.*` is under `packages`, `env.*` under `env`; `gpus` is a list; `errors` has what could not be read.
    """
    values: dict[str, Any] = {
        "gpus": [{name: _value(fact) for name, fact in gpu.facts.items()} for gpu in snapshot.gpus],
        "packages": {},
        "env": {},
    }
    for name, fact in snapshot.facts.items():
        head, _, rest = name.partition(".")
        if rest:
            values.setdefault("packages" if head == "pkg" else head, {})[rest] = _value(fact)
        elif head == name:
            values[name] = _value(fact)
    values["errors"] = [f"{e.artifact} {e.place}: {e.quote}".replace(" :", ":") for e in snapshot.errors]
    return values


def _value(fact: Fact) -> Any:
    return fact.value if fact.known else None
