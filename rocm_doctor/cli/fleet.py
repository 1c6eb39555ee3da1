"""`rocm-doctor fleet`: collect reports from many nodes, and judge them together."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from rocm_doctor.bounded import Unreadable
from rocm_doctor.cli.common import FAIL_ON, InputError, page_options, print_page, write_file
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
@click.option("--expect", metavar="8xgfx942", help="GPUs that every node must have: number and target, or the number alone.")
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
    "--fail-on",
    type=click.Choice(("silent", *FAIL_ON)),
    default="error",
    show_default=True,
    help="Exit with 1 from this severity on; silent: also for a node without a report, which else is 3.",
)
@click.option("--strict", is_flag=True, help="Exit with 3 if a node is undetermined or a document cannot be judged, too.")
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
    from rocm_doctor.fleet.judge import exit_code, fill_table, judge_table
    from rocm_doctor.fleet.table import Table

    policy = _policy(**demands)
    table = Table(policy.ignore)
    try:
        refused = fill_table(_documents(reports), table)
        found = judge_table(table, refused, policy, _golden(like), _earlier(since, policy.ignore))
    except OSError as exc:
        raise InputError(f"{exc.filename}: {exc.strerror}") from exc
    names = formats or ("text",)
    if len(outputs) > len(names):
        raise InputError(f"{len(outputs)} outputs but {len(names)} formats: give one --format for each -o")
    for number, name in enumerate(names):
        text = render(name, found, selected or ("problems",))
        if number < len(outputs) and str(outputs[number]) != "-":
            write_file(outputs[number], text.encode())
        else:
            click.echo(text.rstrip("\n"))
    sys.exit(exit_code(found, fail_on, strict))


def _documents(paths: tuple[Path, ...]) -> Any:
    from rocm_doctor.fleet.reports import documents

    return documents(paths, sys.stdin.buffer)


def _policy(policy_file: Path | None, expect: str | None, nodes: str | None) -> Any:
    """The policy of the file, with what the options say instead."""
    import msgspec

    from rocm_doctor.fleet.policy import Policy, read, validate

    try:
        policy = read(policy_file) if policy_file else Policy()
        said = {"expect": expect, "nodes": nodes}
        return validate(msgspec.structs.replace(policy, **{name: value for name, value in said.items() if value}))
    except (OSError, Unreadable) as exc:
        raise InputError(f"{policy_file}: {exc}" if policy_file else str(exc)) from exc


def _golden(path: Path | None) -> Any:
    """A table of the one report to compare with."""
    table = _earlier(path, ())
    if table and len(table.compared()) != 1:
        raise InputError(f"{path}: holds {len(table.compared())} reports; --like needs one")
    return table


def _earlier(path: Path | None, ignore: tuple[str, ...]) -> Any:
    from rocm_doctor.fleet.judge import fill_table
    from rocm_doctor.fleet.table import Table

    if path is None:
        return None
    table = Table(ignore)
    refused = fill_table(_documents((path,)), table)
    if not table.nodes:
        raise InputError(f"{path}: no report in it" + (f" ({refused[0].why})" if refused else ""))
    return table


@command.command(
    epilog="Example:  rocm-doctor fleet run --engine slurm -o night.jsonl --resume -- check --no-smoke; rocm-doctor fleet judge night.jsonl"
)
@click.argument("asked", nargs=-1, required=True, metavar="check|smoke|bench [OPTIONS]")
@click.option("--engine", type=click.Choice(ENGINES), default="local", show_default=True, help="What starts it on the nodes.")
@click.option(
    "--nodes", metavar="NODESET", help="mi300x-[001-120], @group, a!b, [1-9/2]; for Slurm, Ray and Kubernetes the default is all."
)
@click.option("--hostfile", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="File with a host on each line.")
@click.option("--partition", default="", help="Slurm partition.")
@click.option(
    "--limit", type=click.FloatRange(1), default=120, show_default=True, metavar="SECONDS", help="Time limit of a node."
)
@click.option("--doctor", default="rocm-doctor", show_default=True, help="Command that starts the doctor on a node.")
@click.option(
    "--engine-arg",
    "extra",
    multiple=True,
    help="Option for srun, clush, mpirun or kubectl get nodes; repeatable. Ray: the Python that has it.",
)
@click.option("--image", default="", help="Kubernetes: container image that has the doctor.")
@click.option("--manifest", is_flag=True, help="Kubernetes: print the Job for --nodes and stop.")
@click.option("--fanout", type=click.IntRange(1, 1024), default=64, show_default=True, help="Nodes at a time.")
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="File for the lines. [default: standard output]"
)
@click.option("--resume", is_flag=True, help="Ask only nodes that have no report in the output file, and add to it.")
@click.option(
    "--fail-on",
    type=click.Choice(("silent", "never")),
    help="silent: exit with 1 if a node did not report; never: with 0. [default: 3]",
)
def run(
    asked: tuple[str, ...],
    engine: str,
    nodes: str | None,
    hostfile: Path | None,
    output: Path | None,
    resume: bool,
    fail_on: str | None,
    doctor: str,
    manifest: bool,
    **options: Any,
) -> None:
    """Run a command of the doctor on every node; one JSON line for each: its report, or why there is none.

    Ctrl-C ends what was started, keeps the lines that came, and exits with 130. Exit code 3 if a node did not report.
    """
    import shlex

    from rocm_doctor.fleet.engines import EngineError, Request, plan
    from rocm_doctor.fleet.node import COMMANDS
    from rocm_doctor.fleet.run import run as answers

    if asked[0] not in COMMANDS:
        raise InputError(f"`{asked[0]}`: nodes can run {', '.join(COMMANDS)}")
    if resume and not output:
        raise InputError("--resume needs -o FILE: the file of the run to go on with")
    try:
        skip = _nodes_with_report(output) if resume and output else set()
        request = Request(_hosts(nodes, hostfile), asked, doctor=shlex.split(doctor), skip=skip, **options)
        if manifest:
            click.echo(_manifest(request))
            return
        planned = plan(engine, request)
    except EngineError as exc:
        raise InputError(f"--engine {engine}: {exc}") from exc
    except Unreadable as exc:
        raise InputError(str(exc)) from exc
    try:
        with Lines(output, resume) as lines:
            silent = _collect(
                planned.nodes(),
                answers(planned, request.limit, request.fanout, lambda lost: plan(engine, request._replace(nodes=lost))),
                lines,
            )
    except OSError as exc:
        raise InputError(f"{exc.filename or output or 'standard output'}: {exc.strerror}") from exc
    sys.exit(0 if not silent or fail_on == "never" else 1 if fail_on else 3)


def _manifest(request: Any) -> str:
    import msgspec

    from rocm_doctor.fleet.engines import required_nodes
    from rocm_doctor.fleet.engines.k8s import manifest

    return msgspec.json.format(msgspec.json.encode(manifest(request, required_nodes(request, "k8s"))), indent=1).decode()


def _nodes_with_report(path: Path) -> set[str]:
    """Nodes with a report in an earlier output."""
    from rocm_doctor.fleet.judge import fill_table
    from rocm_doctor.fleet.table import Table

    table = Table()
    if path.exists():
        fill_table(_documents((path,)), table)
    return {node.host for node in table.nodes}


class Lines:
    """Lines to a file or to standard output. An existing file is replaced by the first report, not by the failure of all nodes."""

    def __init__(self, path: Path | None, resume: bool) -> None:
        self.path, self.mode, self.file = path, "ab" if resume else "wb", None if path else sys.stdout.buffer
        self.waiting: list[bytes] = []

    def add(self, line: bytes, report: bool) -> None:
        """Write a line."""
        self.waiting.append(line + b"\n")
        if report or self.file:
            self.write()

    def write(self) -> None:
        """Write what waits."""
        self.file = self.file or (self.path.open(self.mode) if self.path else sys.stdout.buffer)
        self.file.write(b"".join(self.waiting))
        self.file.flush()
        self.waiting.clear()

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *_: object) -> None:
        if self.waiting and self.path and self.path.exists() and self.path.stat().st_size and self.mode == "wb":
            click.echo(f"{self.path} is left as it was: no node reported", err=True)
        elif self.waiting:
            self.write()
        if self.path and self.file:
            self.file.close()


def _collect(nodes: list[str], answers: Any, lines: Lines) -> int:
    """Write the lines as they come; the number of nodes without a report."""
    from rocm_doctor.fleet.node import silent

    owed = dict.fromkeys(nodes)
    missing = 0
    try:
        for answer in answers:
            owed.pop(answer.host, None)
            missing += bool(answer.why)
            lines.add(answer.line, not answer.why)
            click.echo(f"{len(nodes) - len(owed)}/{len(nodes)} {answer.host}: {answer.why or 'reported'}", err=True)
    except BaseException:
        answers.close()
        for host in owed:
            lines.add(silent(host, "interrupted"), False)
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
@page_options("text", "json")
@click.option("--prelude", type=click.Path(exists=True, dir_okay=False), hidden=True)
def across(nodes: int, rendezvous: str, python: str | None, form: str, output: Path | None, **options: Any) -> None:
    """Run collectives and exchanges over the ranks of all nodes with torchrun: numbers checked, bandwidth measured.

    A rank, a node or a pair that is slow or wrong is found by halving. Exit code 1 if there is one, or a rank died.
    """
    from rocm_doctor.cli.common import interpreter
    from rocm_doctor.smoke.across import across as run_across
    from rocm_doctor.smoke.across import lines

    if nodes > 1 and not rendezvous:
        raise InputError("--nodes above 1 needs --rendezvous HOST:PORT")
    found = run_across(nodes=nodes, rendezvous=rendezvous, python=interpreter(python), **options)
    if found is None:
        return
    import msgspec

    print_page(
        msgspec.json.format(msgspec.json.encode(found), indent=1).decode() if form == "json" else "\n".join(lines(found)), output
    )
    sys.exit(0 if found.sound else 1)
