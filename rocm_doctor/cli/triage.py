"""`rocm-doctor triage`: the comment for an issue, from a saved event of GitHub."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import click
import msgspec

from rocm_doctor.bounded import files, jsons
from rocm_doctor.cli.delivery import write_file
from rocm_doctor.cli.inputs import input_errors, load_matrix
from rocm_doctor.cli.options import FILE
from rocm_doctor.integrations.triage import Comment, Event, Triage, triage

T = TypeVar("T")


@click.command(epilog="Example:  rocm-doctor triage event.json -o answer")
@click.argument("event", type=FILE)
@click.option("--comments", type=FILE, help="The comments of the issue, as GitHub's API lists them.")
@click.option(
    "--author", default="github-actions[bot]", show_default=True, help="The account that posts: its comment is replaced."
)
@click.option(
    "-o", "--output", type=click.Path(file_okay=False, path_type=Path), help="Write the bodies of the calls to this folder."
)
def command(
    event: Path,
    comments: Path | None,
    author: str,
    output: Path | None,
) -> None:
    """Answer an issue about an AMD GPU: print the comment to post, or say on standard error why there is none.

    With -o, the folder gets comment.md, comment.json (the body of the call to GitHub) and comment-id (the comment to replace), each only if there is something to post. Nothing is sent.
    """
    matrix = load_matrix()
    earlier = _read(comments, list[Comment]) if comments else []
    answer = triage(_read(event, Event), earlier, author, matrix)
    if output:
        _write(output, answer)
    elif answer.comment:
        click.echo(answer.comment.rstrip("\n"))
    click.echo(f"{'comment' if answer.comment else 'no comment'}: {answer.why}", err=True)


def _read(path: Path, kind: type[T]) -> T:
    with input_errors(f"{path}: not an event of GitHub's"):
        return jsons.decode(files.read(path), kind)


def _write(folder: Path, answer: Triage) -> None:
    with input_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    if answer.comment:
        write_file(folder / "comment.md", answer.comment.encode())
        write_file(folder / "comment.json", msgspec.json.encode({"body": answer.comment}))
    if answer.comment and answer.replaces:
        write_file(folder / "comment-id", str(answer.replaces).encode())
