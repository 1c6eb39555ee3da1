"""GitHub workflows and GitLab pipelines: each job with its container, its variables, and the commands that it runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rocm_doctor.lint.model import Environment, Image, Place, Reason, Unread, Variable
from rocm_doctor.lint.readers import shell
from rocm_doctor.lint.readers.commands import Commands
from rocm_doctor.lint.readers.compose import Node, load
from rocm_doctor.lint.tree import Tree

_HOSTED = ("ubuntu-", "macos-", "windows-")
_GITLAB = frozenset(
    ("stages", "variables", "include", "workflow", "default", "image", "cache", "before_script", "after_script", "pages")
)


def read(tree: Tree, path: str) -> list[Environment]:
    """Each job of a GitLab pipeline, and each job of a GitHub workflow that does not run on a machine of GitHub's. Raises Unreadable."""
    text = tree.text(path) or ""
    root = load(text) if shell.RELEVANT.search(text) else None
    if root is None:
        return []
    jobs = _gitlab_jobs(root) if path.startswith(".gitlab") else _github_jobs(root)
    return [_environment(tree, path, root, one) for one in jobs]


class _Job(NamedTuple):
    """A job: its node, what names its image, and the nodes that hold its commands."""

    name: str
    node: Node
    image: Node | None
    commands: list[Node]


def _github_jobs(root: Node) -> Iterator[_Job]:
    for name, job in root.items("jobs"):
        runs_on = job.get("runs-on")
        labels = [runs_on.text, *(one.text for one in runs_on.list())] if runs_on else []
        if any(label.startswith(_HOSTED) for label in labels):
            continue  # it has no GPU, and trains nothing
        commands = [run for step in job.list("steps") if (run := step.get("run")) and run.text]
        yield _Job(name, job, job.get("container", "image") or job.get("container"), commands)


def _gitlab_jobs(root: Node) -> Iterator[_Job]:
    for name, job in root.items():
        if name not in _GITLAB and not name.startswith(".") and (script := job.get("script")):
            yield _Job(name, job, job.get("image", "name") or job.get("image") or root.get("image"), script.list() or [script])


def _environment(tree: Tree, path: str, root: Node, job: _Job) -> Environment:
    def place(node: Node) -> Place:
        return tree.place(path, node.line)

    reading = Commands(tree, ["", path.rpartition("/")[0]])
    started = None
    if job.image and job.image.text:
        if "$" in job.image.text:
            reading.unread.append(Unread(place(job.image), Reason.EXPRESSION, True))
        else:
            started = Image(job.image.text, place(job.image))
    stated = [one for scope in (root, job.node) for key in ("env", "variables") for one in scope.items(key)]
    variables = [
        Variable(name, node.text, place(node)) for name, node in stated if isinstance(node.value, str) and "$" not in node.text
    ]
    for node in job.commands:
        is_block = "\n" in node.text or place(node).quote.endswith(("|", ">", "|-", ">-"))
        reading.take(shell.parse(_blank_expressions(node.text), path, node.line + is_block))  # a block begins below its key
    reading.unread = [_expression_reason(one) for one in reading.unread]
    condition = job.node.get("if")
    unread = [Unread(place(condition), Reason.EXPRESSION)] if condition and reading.steps else []
    return reading.environment(
        "job", place(job.node), job.name, image=started, variables=(*variables, *reading.variables), unread=unread
    )


def _expression_reason(one: Unread) -> Unread:
    """What is not read because of an expression of the workflow, with that as the reason."""
    if "$EXPRESSION" not in one.place.quote:
        return one
    place = Place(one.place.file, one.place.line, one.place.quote.replace("$EXPRESSION", "${{ }}"))
    return Unread(place, Reason.EXPRESSION, one.installs)


def _blank_expressions(body: str) -> str:
    """The commands with each `${{ ... }}` as a variable, which is not read."""
    parts = body.split("${{")
    return parts[0] + "".join("$EXPRESSION" + part.partition("}}")[2] for part in parts[1:])
