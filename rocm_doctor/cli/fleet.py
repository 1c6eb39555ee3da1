"""`rocm-doctor fleet`: collect reports from many nodes, and judge them together."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Any

import click

from rocm_doctor.cli.delivery import FAIL_ON, Printout, page_command
from rocm_doctor.cli.inputs import InputError, input_errors
from rocm_doctor.cli.options import FILE, OUTPUT, limit_option
from rocm_doctor.fleet.engines import ENGINES
from rocm_doctor.fleet.formats import FORMATS

ASKED = click.argument("asked", nargs=-1, required=True, metavar="check|smoke|bench [OPTIONS]")


@click.group(name="fleet")
def command() -> None:
    """Check many nodes: collect a report from each (run), judge them together (judge)."""


@command.command(epilog="Example:  rocm-doctor fleet judge reports/ --expect 8xgfx942 --nodes 'mi300x-[001-120]'")
@click.argument("reports", nargs=-1, required=True, type=click.Path(exists=True, allow_dash=True, path_type=Path))
@click.option("--expect", metavar="8xgfx942", help="GPUs that every node must have: number and target, or the number alone.")
@click.option("--nodes", metavar="NODESET", help="Nodes that must report: mi300x-[001-120].")
@click.option("--policy", "policy_file", type=FILE, help="Demands, YAML.")
@click.option(
    "--fail-on",
    type=click.Choice(FAIL_ON),
    default="error",
    show_default=True,
    help="Exit with 1 from this severity on; a node without a report is 3.",
)
@click.option("--strict", is_flag=True, help="Exit with 3 if a node is undetermined or a document cannot be judged, too.")
@page_command(*FORMATS)
def judge(reports: tuple[Path, ...], fail_on: str, strict: bool, **demands: Any) -> Printout:
    """Judge the reports of many nodes: folders, files of JSON lines, or - for standard input.

    An unmet policy is an error, a straggler a warning, a deviation a note.
    """
    from rocm_doctor.fleet.formats import render
    from rocm_doctor.fleet.judge import exit_code, judge_table

    policy = _policy(**demands)
    judged = judge_table(_table(reports, policy.ignore), policy)
    return Printout(lambda form, _: render(form, judged), exit_code(judged, fail_on, strict))


def _table(paths: tuple[Path, ...], ignore: tuple[str, ...] = ()) -> Any:
    """The table of the reports in these files. Raises InputError for one that cannot be read."""
    import gc

    from rocm_doctor.fleet.reports import read_lines
    from rocm_doctor.fleet.table import NodeTable

    table = NodeTable(ignore)
    gc.disable()  # nothing that is read points back at itself
    try:
        for line in read_lines(paths, sys.stdin.buffer):
            table.add(line)
        table.settle()
    except OSError as exc:
        raise InputError(f"{exc.filename}: {exc.strerror}") from exc
    finally:
        gc.enable()
    return table


def _policy(policy_file: Path | None, expect: str | None, nodes: str | None) -> Any:
    """The policy of the file, with what the options say instead."""
    import msgspec

    from rocm_doctor.fleet.policy import FleetPolicy, read, validate

    options = {name: value for name, value in (("expect", expect), ("nodes", nodes)) if value}
    with input_errors(policy_file or ", ".join(f"--{name}" for name in options)):
        return validate(msgspec.structs.replace(read(policy_file) if policy_file else FleetPolicy(), **options))


@command.command(
    epilog="Example:  rocm-doctor fleet run --engine slurm -o night.jsonl --resume -- check --no-smoke; rocm-doctor fleet judge night.jsonl"
)
@ASKED
@click.option("--engine", type=click.Choice(ENGINES), default="local", show_default=True, help="What starts it on the nodes.")
@click.option(
    "--nodes",
    default="",
    metavar="NODESET",
    help="mi300x-[001-120], @group, a!b, [1-9/2]; for Slurm the default is all.",
)
@click.option("--partition", default="", help="Slurm partition.")
@limit_option("Time limit of a node.", 120)
@click.option("--doctor", default="rocm-doctor", show_default=True, help="Command that starts the doctor on a node.")
@click.option("--engine-arg", "extra", multiple=True, help="Option for srun, ssh or mpirun; repeatable.")
@click.option("--fanout", type=click.IntRange(1, 1024), default=64, show_default=True, help="Nodes at a time.")
@click.option("-o", "--output", type=OUTPUT, help="File for the lines. [default: standard output]")
@click.option("--resume", is_flag=True, help="Ask only nodes that have no report in the output file, and add to it.")
def run(
    asked: tuple[str, ...],
    engine: str,
    nodes: str,
    output: Path | None,
    resume: bool,
    doctor: str,
    **options: Any,
) -> None:
    """Run a command of the doctor on every node; one JSON line for each: its report, or why there is none.

    Ctrl-C ends what was started, keeps the lines that came, and exits with 130. Exit code 3 if a node did not report.
    """
    import shlex

    from rocm_doctor.fleet.engines import EngineError, RunRequest, plan
    from rocm_doctor.fleet.nodeset import expand
    from rocm_doctor.fleet.run import run as answers

    _check_asked(asked)
    if resume and not output:
        raise InputError("--resume needs -o FILE: the file of the run to go on with")
    try:
        skip = {node.host for node in _table((output,)).nodes} if resume and output and output.exists() else set()
        request = RunRequest(expand(nodes), asked, doctor=shlex.split(doctor), skip=skip, **options)
        planned = plan(engine, request)
    except (EngineError, ValueError) as exc:
        raise InputError(f"--engine {engine}: {exc}" if isinstance(exc, EngineError) else str(exc)) from exc
    try:
        with output.open("ab" if resume else "wb") if output else contextlib.nullcontext(sys.stdout.buffer) as file:
            coming = answers(planned, request.limit, request.fanout, lambda lost: plan(engine, request._replace(nodes=lost)))
            silent = _collect(planned.nodes(), coming, file)
    except OSError as exc:
        raise InputError(f"{exc.filename or output or 'standard output'}: {exc.strerror}") from exc
    sys.exit(3 if silent else 0)


def _collect(nodes: list[str], answers: Any, file: Any) -> int:
    """Write the lines as they come, and after Ctrl-C one for each node that owes its own; the number of nodes without a report."""
    from rocm_doctor.fleet.node import silent_line

    owing = dict.fromkeys(nodes)
    silent = 0
    try:
        for answer in answers:
            owing.pop(answer.host, None)
            silent += bool(answer.why)
            file.write(answer.line + b"\n")
            file.flush()
            click.echo(f"{len(nodes) - len(owing)}/{len(nodes)} {answer.host}: {answer.why or 'reported'}", err=True)
    except BaseException:
        answers.close()
        file.writelines(silent_line(host, "interrupted") + b"\n" for host in owing)
        raise
    return silent


def _check_asked(asked: tuple[str, ...]) -> None:
    """Raises InputError for a command that nodes do not run."""
    from rocm_doctor.fleet.node import COMMANDS

    if asked[0] not in COMMANDS:
        raise InputError(f"`{asked[0]}`: nodes can run {', '.join(COMMANDS)}")


@command.command()
@ASKED
@click.option("--as", "host", default="", help="Name of this node. [default: the engine's, else the host name]")
@limit_option("Time limit.", 120)
def node(asked: tuple[str, ...], host: str, limit: float) -> None:
    """Run a command of the doctor on this node, for a launcher of your own: `pdsh rocm-doctor fleet node -- check`.

    Prints the report on one line, which a launcher may label. The exit code is 0: many launchers end a job whose first task fails.
    """
    from rocm_doctor.fleet.node import answer, name
    from rocm_doctor.fleet.nodeset import is_host_name

    host = host or name()
    _check_asked(asked)
    if not is_host_name(host):
        raise InputError(f"`{host}`: a node has a plain name; give one with --as")
    click.echo(answer(host, asked, limit))


@command.command()
@click.argument("name", required=False)
def files(name: str | None) -> None:
    """Print a file for another program: hooks for Slurm, node-problem-detector, node-feature-discovery, node_exporter."""
    from rocm_doctor.fleet.files import NAMES, text

    if name is None:
        click.echo("\n".join(NAMES))
    elif name in NAMES:
        click.echo(text(name), nl=False)
    else:
        raise InputError(f"unknown file `{name}`: {', '.join(NAMES)}")
