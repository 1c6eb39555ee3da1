"""`rocm-doctor fleet`: collect reports from many nodes, and judge them together."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from rocm_doctor.bounded import Unreadable
from rocm_doctor.cli.common import FAIL_ON, InputError, write_file
from rocm_doctor.fleet.engines import ENGINES
from rocm_doctor.fleet.formats import FORMATS, STATES


@click.group(name="fleet", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Check many nodes: collect a report from each (run), judge them together (judge)."""


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


@command.command(
    epilog="Example:  rocm-doctor fleet run --engine slurm --partition mi300x -- check --no-smoke | rocm-doctor fleet judge -"
)
@click.argument("asked", nargs=-1, required=True, metavar="check|smoke|bench [OPTIONS]")
@click.option("--engine", type=click.Choice(ENGINES), default="local", show_default=True, help="What starts it on the nodes.")
@click.option("--nodes", metavar="NODESET", help="mi300x-[001-120]; for Slurm, Ray and Kubernetes the default is all.")
@click.option("--hostfile", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="File with a host on each line.")
@click.option("--partition", default="", help="Slurm partition.")
@click.option(
    "--limit", type=click.FloatRange(1), default=120, show_default=True, metavar="SECONDS", help="Time limit of a node."
)
@click.option("--doctor", default="rocm-doctor", show_default=True, help="Command that starts the doctor on a node.")
@click.option(
    "--engine-arg", "extra", multiple=True, help="Option for srun, ssh or mpirun; repeatable. Ray: the Python that has it."
)
@click.option("--image", default="", help="Kubernetes: container image that has the doctor.")
@click.option("--manifest", is_flag=True, help="Kubernetes: print the Job for --nodes and stop.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="File for the lines. [default: standard output]")
@click.option("--strict", is_flag=True, help="Exit with 3 if a node did not answer.")
def run(
    asked: tuple[str, ...],
    engine: str,
    nodes: str | None,
    hostfile: Path | None,
    output: Path | None,
    strict: bool,
    doctor: str,
    manifest: bool,
    **options: Any,
) -> None:
    """Run a command of the doctor on every node; one JSON line for each: its report, or why there is none.

    Ctrl-C ends what was started, keeps the lines that came, and exits with 130.
    """
    import shlex

    from rocm_doctor.fleet.engines import EngineError, Request, plan
    from rocm_doctor.fleet.node import COMMANDS

    if asked[0] not in COMMANDS:
        raise InputError(f"`{asked[0]}`: nodes can run {', '.join(COMMANDS)}")
    try:
        request = Request(_hosts(nodes, hostfile), asked, doctor=shlex.split(doctor), **options)
        if manifest:
            click.echo(_manifest(request))
            return
        planned = plan(engine, request)
    except EngineError as exc:
        raise InputError(f"--engine {engine}: {exc}") from exc
    except Unreadable as exc:
        raise InputError(str(exc)) from exc
    try:
        with output.open("w", encoding="utf-8") if output else nullcontext() as file:
            silent = _collected(planned, request.limit, file)
    except OSError as exc:
        raise InputError(f"{exc.filename}: {exc.strerror}") from exc
    sys.exit(3 if strict and silent else 0)


def _manifest(request: Any) -> str:
    import msgspec

    from rocm_doctor.fleet.engines import named
    from rocm_doctor.fleet.engines.k8s import manifest

    return msgspec.json.format(msgspec.json.encode(manifest(request, named(request, "k8s"))), indent=1).decode()


def _collected(planned: Any, limit: float, file: Any) -> int:
    """Print the lines as they come; the number of nodes without a report."""
    from rocm_doctor.fleet.node import silent
    from rocm_doctor.fleet.run import expected, run

    owed = dict.fromkeys(expected(planned))
    count, missing = len(owed), 0
    answers = run(planned, limit)
    try:
        for answer in answers:
            del owed[answer.host]
            missing += bool(answer.why)
            click.echo(answer.line, file=file)
            click.echo(f"{count - len(owed)}/{count} {answer.host}: {answer.why or 'reported'}", err=True)
    except BaseException:
        answers.close()
        for host in owed:
            click.echo(silent(host, "interrupted"), file=file)
        raise
    return missing


def _hosts(nodes: str | None, hostfile: Path | None) -> list[str]:
    """Names of --nodes and of the lines of --hostfile."""
    from rocm_doctor.bounded import files
    from rocm_doctor.fleet.nodeset import expand

    lines = [line.partition("#")[0].split() for line in files.text(hostfile).splitlines()] if hostfile else []
    return expand(",".join([*([nodes] if nodes else []), *(line[0] for line in lines if line)]))


@command.command()
@click.argument("asked", nargs=-1, required=True, metavar="check|smoke|bench [OPTIONS]")
@click.option("--as", "host", default="", help="Name of this node. [default: the engine's, else the host name]")
@click.option("--limit", type=click.FloatRange(1), default=120, show_default=True, metavar="SECONDS", help="Time limit.")
@click.option("--plain", is_flag=True, help="Print the report as one line of JSON, not in pieces.")
def node(asked: tuple[str, ...], host: str, limit: float, plain: bool) -> None:
    """Run a command of the doctor on this node, for a launcher of your own: `pdsh rocm-doctor fleet node -- check`.

    Prints the report in short lines that a launcher may mix, label and cut; `fleet judge` puts them together. The exit code is 0:
    many launchers end a job whose first task fails.
    """
    from rocm_doctor.fleet.node import COMMANDS, answer, name
    from rocm_doctor.fleet.nodeset import valid
    from rocm_doctor.fleet.pieces import pieces

    host = host or name()
    if asked[0] not in COMMANDS or not valid(host):
        raise InputError(f"`{asked[0] if valid(host) else host}`: a node has a plain name and can run {', '.join(COMMANDS)}")
    line = answer(host, asked, limit)
    click.echo(line if plain else "\n".join(pieces(host, line)))


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


@command.command(
    epilog="Example:  srun -N4 --ntasks-per-node=1 rocm-doctor fleet across --nodes 4 --rendezvous n1:29400 --ranks 8"
)
@click.option("--ranks", type=click.IntRange(1), required=True, help="Ranks on each node: its number of GPUs.")
@click.option("--nodes", type=click.IntRange(1), default=1, show_default=True, help="Nodes; the command runs on each of them.")
@click.option("--rendezvous", default="", metavar="HOST:PORT", help="Where the nodes meet: one of them, and a free port.")
@click.option("--python", help="Interpreter that has torch.")
@click.option("--device", type=click.Choice(("auto", "cpu", "cuda")), default="auto", help="cpu: gloo. cuda: RCCL or NCCL.")
@click.option("--limit", type=click.FloatRange(1), default=60, show_default=True, metavar="SECONDS", help="Time limit of a step.")
@click.option("--format", "format_", type=click.Choice(("text", "json")), default="text", show_default=True)
@click.option("--prelude", type=click.Path(exists=True, dir_okay=False), hidden=True)
def across(nodes: int, rendezvous: str, python: str | None, format_: str, **options: Any) -> None:
    """Run collectives and exchanges over the ranks of all nodes with torchrun: numbers checked, bandwidth measured.

    A rank, a node or a pair that is slow or wrong is found by halving. Exit code 1 if there is one, or a rank died.
    """
    from rocm_doctor.cli.common import interpreter
    from rocm_doctor.fleet.across import across as run_across
    from rocm_doctor.fleet.across import lines

    if nodes > 1 and not rendezvous:
        raise InputError("--nodes above 1 needs --rendezvous HOST:PORT")
    found = run_across(nodes=nodes, rendezvous=rendezvous, python=interpreter(python), **options)
    if found is None:
        return
    if format_ == "json":
        import msgspec

        click.echo(msgspec.json.format(msgspec.json.encode(found), indent=1).decode())
    else:
        click.echo("\n".join(lines(found)))
    sys.exit(0 if found.sound else 1)
