"""GitHub workflows and GitLab pipelines: each job with its container, its variables, and the commands that it runs."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_doctor.bounded import Unreadable
from rocm_doctor.lint.model import Environment, Image, Place, Reason, Unread, Variable, unread_environment
from rocm_doctor.lint.readers import shell
from rocm_doctor.lint.readers.commands import Commands
from rocm_doctor.lint.readers.compose import Node, load
from rocm_doctor.lint.tree import Tree

_HOSTED = ("ubuntu-", "macos-", "windows-")
_GITLAB = frozenset(
    ("stages", "variables", "include", "workflow", "default", "image", "cache", "before_script", "after_script", "pages")
)


def read(tree: Tree, path: str) -> list[Environment]:
    """Each job of a GitHub workflow that does not run on a machine of GitHub's."""
    text = tree.text(path) or ""
    if not shell.RELEVANT.search(text):
        return []
    try:
        root = load(text)
    except Unreadable as exc:
        return [unread_environment("job", path, exc.line)]
    jobs = root.get("jobs") if root else None
    found = []
    for name, job in jobs.items() if jobs else []:
        runs_on = job.get("runs-on")
        labels = [runs_on.text, *(one.text for one in runs_on.list())] if runs_on else []
        if any(label.startswith(_HOSTED) for label in labels):
            continue  # it has no GPU, and trains nothing
        container = job.get("container", "image") or job.get("container")
        steps = [step for one in (job.get("steps").list() if job.get("steps") else []) for step in _step(one)]  # type: ignore[union-attr]
        found.append(_job(tree, path, name, job, container, steps, [root, job], text))
    return found


def read_gitlab(tree: Tree, path: str) -> list[Environment]:
    """Each job of a GitLab pipeline."""
    text = tree.text(path) or ""
    if not shell.RELEVANT.search(text):
        return []
    try:
        root = load(text)
    except Unreadable as exc:
        return [unread_environment("job", path, exc.line)]
    found = []
    for name, job in root.items() if root else []:
        if name in _GITLAB or name.startswith(".") or not job.get("script"):
            continue
        image = job.get("image", "name") or job.get("image") or (root.get("image") if root else None)
        script = job.get("script")
        lines = script.list() or [script] if script else []
        found.append(_job(tree, path, name, job, image, [(one, one.text) for one in lines if one], [root, job], text))
    return found


def _step(step: Node) -> Iterator[tuple[Node, str]]:
    run = step.get("run")
    if run and run.text:
        yield run, run.text


def _job(
    tree: Tree,
    path: str,
    name: str,
    job: Node,
    image: Node | None,
    commands: list[tuple[Node, str]],
    scopes: list[Node | None],
    text: str,
) -> Environment:
    lines = text.split("\n")

    def place(node: Node) -> Place:
        return Place(path, node.line, lines[node.line - 1].strip()[:200])

    reading = Commands(tree, ["", path.rpartition("/")[0]])
    started = None
    if image and image.text:
        if "$" in image.text:
            reading.unread.append(Unread(place(image), Reason.EXPRESSION, True))
        else:
            started = Image(image.text, place(image))
    variables = []
    for scope in scopes:
        for key in ("env", "variables"):
            for key_name, node in scope.get(key).items() if scope and scope.get(key) else []:  # type: ignore[union-attr]
                if isinstance(node.value, str) and "$" not in node.text:
                    variables.append(Variable(key_name, node.text, place(node)))
    for node, body in commands:
        # A block begins on the line below its key.
        first = node.line + (1 if body.count("\n") or lines[node.line - 1].rstrip().endswith(("|", ">", "|-", ">-")) else 0)
        reading.take(shell.parse(_blank_expressions(body), path, first))
    reading.unread = [_expression_reason(one) for one in reading.unread]
    condition = job.get("if")
    unread = [Unread(place(condition), Reason.EXPRESSION)] if condition and reading.steps else []
    return Environment(
        "job", place(job), name, image=started, steps=tuple(reading.steps), variables=(*variables, *reading.variables),
        unread=(*reading.unread, *unread), files=(path, *reading.files), faults=tuple(reading.faults), builds=reading.builds, elsewhere=reading.elsewhere,
    )  # fmt: skip


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
