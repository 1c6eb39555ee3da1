"""`rocm-doctor fleet`: the reports of many nodes, judged together."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from rocm_doctor.bounded import Unreadable
from rocm_doctor.cli.common import FAIL_ON, InputError, write_file
from rocm_doctor.fleet.formats import FORMATS, STATES


@click.group(name="fleet", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Judge the reports of many nodes together."""


@command.command(epilog="Example:  rocm-doctor fleet judge reports/ --expect 8xgfx942 --nodes 'mi300x-[001-120]'")
@click.argument("reports", nargs=-1, required=True, type=click.Path(exists=True, allow_dash=True, path_type=Path))
@click.option("--format", "formats", multiple=True, type=click.Choice(FORMATS), help="Repeatable. [default: text]")
@click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    type=click.Path(path_type=Path),
    help="File for the --format at the same position.",
)
@click.option("--like", type=click.Path(exists=True, path_type=Path), help="Compare with this report instead of the majority.")
@click.option("--since", type=click.Path(exists=True, path_type=Path), help="Show what changed since these earlier reports.")
@click.option("--expect", metavar="8xgfx942", help="GPUs that every node must have.")
@click.option("--nodes", metavar="NODESET", help="Nodes that must report: mi300x-[001-120].")
@click.option(
    "--policy", "policy_file", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Demands, YAML or TOML."
)
@click.option(
    "--select",
    "selected",
    multiple=True,
    type=click.Choice(STATES),
    help="For --format nodeset: nodes in this state; repeatable. [default: problems]",
)
@click.option(
    "--fail-on", type=click.Choice(FAIL_ON), default="error", show_default=True, help="Exit with 1 from this severity on."
)
@click.option("--strict", is_flag=True, help="Exit with 3 if a node is undetermined or did not report.")
def judge(
    reports: tuple[Path, ...],
    formats: tuple[str, ...],
    outputs: tuple[Path, ...],
    like: Path | None,
    since: Path | None,
    selected: tuple[str, ...],
    fail_on: str,
    strict: bool,
    **demands: Any,
) -> None:
    """Judge the reports of many nodes: folders, files of JSON lines, gzip, or - for standard input.

    An unmet policy is an error, a straggler a warning, a deviation a note.
    """
    from rocm_doctor.fleet.formats import render
    from rocm_doctor.fleet.judge import exit_code, filled, judged
    from rocm_doctor.fleet.table import Table

    policy = _policy(**demands)
    table = Table(policy.ignore)
    try:
        refused = filled(_documents(reports), table)
        found = judged(table, refused, policy, _golden(like), _earlier(since, policy.ignore))
    except OSError as exc:
        raise InputError(f"{exc.filename}: {exc.strerror}") from exc
    names = formats or ("text",)
    if len(outputs) > len(names):
        raise InputError(f"{len(outputs)} outputs but {len(names)} formats: give one --format for each -o")
    for number, name in enumerate(names):
        text = _nodes(found.rows, selected or ("problems",)) if name == "nodeset" else render(name, found)
        if number < len(outputs) and str(outputs[number]) != "-":
            write_file(outputs[number], text.encode())
        else:
            click.echo(text.rstrip("\n"))
    sys.exit(exit_code(found, fail_on, strict))


def _documents(paths: tuple[Path, ...]) -> Any:
    from rocm_doctor.fleet.documents import documents

    return documents(paths, sys.stdin.buffer)


def _nodes(rows: Any, states: tuple[str, ...]) -> str:
    from rocm_doctor.fleet.nodeset import fold

    return fold(row.host for row in rows if row.state in states) + "\n"


def _policy(policy_file: Path | None, expect: str | None, nodes: str | None) -> Any:
    """The policy of the file, with what the options say instead."""
    import msgspec

    from rocm_doctor.fleet.policy import Policy, checked, read

    try:
        policy = read(policy_file) if policy_file else Policy()
        said = {"expect": expect, "nodes": nodes}
        return checked(msgspec.structs.replace(policy, **{name: value for name, value in said.items() if value}))
    except (OSError, Unreadable) as exc:
        raise InputError(f"{policy_file}: {exc}" if policy_file else str(exc)) from exc


def _golden(path: Path | None) -> Any:
    """A table of the one report to compare with."""
    table = _earlier(path, ())
    if table and len(table.compared()) != 1:
        raise InputError(f"{path}: holds {len(table.compared())} reports; --like needs one")
    return table


def _earlier(path: Path | None, ignore: tuple[str, ...]) -> Any:
    from rocm_doctor.fleet.judge import filled
    from rocm_doctor.fleet.table import Table

    if path is None:
        return None
    table = Table(ignore)
    refused = filled(_documents((path,)), table)
    if not table.nodes:
        raise InputError(f"{path}: no report in it" + (f" ({refused[0].why})" if refused else ""))
    return table
