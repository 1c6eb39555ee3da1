"""`rocm-doctor triage`: the comment and the labels for an issue, from a saved event of GitHub."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import click
import msgspec

from rocm_doctor.bounded import Unreadable, files, jsons
from rocm_doctor.cli.common import InputError, load_matrix, write_file
from rocm_doctor.cli.reader import ask_reader, reader_options
from rocm_doctor.integrations.triage import Comment, Event, Triage, labels, triage

T = TypeVar("T")
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command(epilog="Example:  rocm-doctor triage event.json --labels .github/rocm-doctor-labels.yml -o answer")
@click.argument("event", type=_FILE)
@click.option("--comments", type=_FILE, help="The comments of the issue, as GitHub's API lists them.")
@click.option("--labels", "mapping", type=_FILE, help="YAML that maps diagnoses (arch.*, needs-information, amd) to labels.")
@click.option(
    "--author", default="github-actions[bot]", show_default=True, help="The account that posts: its comment is replaced."
)
@click.option(
    "-o", "--output", type=click.Path(file_okay=False, path_type=Path), help="Write the bodies of the calls to this folder."
)
@reader_options
def command(
    event: Path,
    comments: Path | None,
    mapping: Path | None,
    author: str,
    output: Path | None,
    reader_url: str,
    reader_model: str,
    reader_seconds: float,
) -> None:
    """Answer an issue about an AMD GPU: print the comment to post, or say on standard error why there is none.

    With -o, the folder gets comment.md, comment.json (the body of the call to GitHub), comment-id (the comment to replace) and
    labels.json, each only if there is something to post. Nothing is sent, but to the language model of --reader, and the comment says so.
    """
    matrix = load_matrix()
    try:
        wanted = labels.read(mapping, matrix.diagnoses) if mapping else {}
    except (OSError, Unreadable, ValueError) as exc:
        raise InputError(f"{mapping}: {exc}") from exc
    second = ask_reader(reader_url, reader_model, reader_seconds, matrix)
    said = _read(comments, list[Comment]) if comments else []
    found = triage(_read(event, Event), said, author, wanted, matrix, second)
    if output:
        _write(output, found)
    elif found.comment:
        click.echo(found.comment.rstrip("\n"))
    click.echo(f"{'comment' if found.comment else 'no comment'}: {found.why}", err=True)


def _read(path: Path, kind: type[T]) -> T:
    try:
        return jsons.decode(files.read(path), kind)
    except (OSError, Unreadable) as exc:
        raise InputError(f"{path}: not an event of GitHub's ({exc})") from exc


def _write(folder: Path, found: Triage) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if found.comment:
        write_file(folder / "comment.md", found.comment.encode())
        write_file(folder / "comment.json", msgspec.json.encode({"body": found.comment}))
    if found.comment and found.replaces:
        write_file(folder / "comment-id", str(found.replaces).encode())
    if found.labels:
        write_file(folder / "labels.json", msgspec.json.encode({"labels": found.labels}))
