"""Jobs of GitLab pipelines: `extends`, `default`, `parallel: matrix`. A name that begins with a dot is a template."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from rocm_doctor.lint.declared import Environment, ReadProblem, Setting
from rocm_doctor.lint.readers import script, shell, yamls
from rocm_doctor.lint.readers.expansion import filled
from rocm_doctor.lint.readers.files import Tree
from rocm_doctor.lint.readers.interpolation import environment
from rocm_doctor.lint.readers.shell import Made
from rocm_doctor.lint.readers.yamls import Node

Values = dict[str, str]
MAX_COMBINATIONS = 64
_NOT_JOBS = frozenset(
    ("include", "stages", "variables", "default", "workflow", "image", "services", "cache", "before_script", "spec", "pages")
)


def environments(tree: Tree, path: str) -> Iterator[Made]:
    """The jobs of a file, with the files of the repository that they install from."""
    for document in yamls.load(tree, path):
        yield from _jobs(tree, path, document)


def _jobs(tree: Tree, path: str, document: Node) -> Iterator[Made]:
    default = document.get("default")
    for name, job in document.items():
        if name.startswith(".") or name in _NOT_JOBS or not isinstance(job.value, dict):
            continue
        problems: list[ReadProblem] = []
        whole = {**dict(default.items() if default else []), **_taken_over(tree, path, document, job, problems, 0)}
        if "script" not in whole:
            continue
        parallel = whole.get("parallel")
        matrix = parallel.get("matrix") if parallel else None
        for values in _combinations(matrix) if matrix else [{}]:
            yield _job(tree, path, name, document, Node(whole, job.line), values, problems)


def _combinations(matrix: Node) -> list[Values]:
    found: list[Values] = []
    for item in matrix.list():
        axes = [[(key, one.text()) for one in (node.list() or [node])] for key, node in item.items()]
        found += [dict(parts) for parts in itertools.islice(itertools.product(*axes), MAX_COMBINATIONS)]
    return found[:MAX_COMBINATIONS]


def _taken_over(tree: Tree, path: str, document: Node, job: Node, problems: list[ReadProblem], depth: int) -> dict[str, Node]:
    extends = job.get("extends")
    if extends is None or depth > 10:
        return dict(job.items())
    whole: dict[str, Node] = {}
    for name in [item.text() for item in extends.list()] or [extends.text()]:
        base = document.get(name)
        if base is None:
            problems.append(ReadProblem(yamls.place(tree, path, extends.line), f"{name}, which is extended, is not in this file"))
        else:
            whole |= _taken_over(tree, path, document, base, problems, depth + 1)
    return whole | dict(job.items())


def _job(tree: Tree, path: str, name: str, document: Node, job: Node, values: Values, problems: list[ReadProblem]) -> Made:
    settings = [*environment(tree, path, document.get("variables")), *environment(tree, path, job.get("variables"))]
    names = {**{s.name: s.value for s in settings}, **values}
    found = shell.new(settings)
    context = shell.checkout(tree, "", names)
    for key in ("before_script", "script"):
        lines = job.get(key) or (document.get(key) if key == "before_script" else None)
        for line in lines.list() or [lines] if lines else []:
            if line.text():
                script.read(line.text(), yamls.place_of_text(tree, path, line), context, found)
    container = job.get("image") or document.get("image")
    image = filled(container.text() or _name(container), names) if container else ""
    tags = job.get("tags")
    made = Environment(
        f"{path} job {name}" + (f" ({', '.join(values.values())})" if values else ""),
        yamls.place(tree, path, job.line),
        image=Setting("image", "" if "$" in image else image, yamls.place(tree, path, container.line)) if container else None,
        steps=tuple(found.steps),
        variables=tuple(found.variables),
        containers=tuple(found.containers),
        sort="job",
        labels=(name, *(t.text() for t in (tags.list() if tags else [])), *values.values()),
        unresolved=(*problems, *found.problems),
        unsure=tuple(found.unsure),
    )
    return made, found.used


def _name(image: Node) -> str:
    found = image.get("name")
    return found.text() if found else ""
