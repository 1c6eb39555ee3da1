"""Jobs of GitHub workflows: one environment for each combination of a job's matrix.

Expressions are filled in where a matrix, a variable or an input's default gives their value; others become one word without
blanks, so that a command keeps its shape.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Environment, Setting
from rocm_doctor.lint.readers import built, script, shell, yamls
from rocm_doctor.lint.readers.files import Tree, joined
from rocm_doctor.lint.readers.image_python import one_of
from rocm_doctor.lint.readers.interpolation import environment
from rocm_doctor.lint.readers.shell import Build, Made, Used
from rocm_doctor.lint.readers.yamls import Node

Values = dict[str, str]
MAX_COMBINATIONS = 64
MAX_IMAGES = 16
_EXPRESSION = regex(r"\$\{\{\s*(.*?)\s*\}\}", re.S)
_COMPARED = regex(r"""(?:\$\{\{)?\s*'?([^'=!&|()]*?)'?\s*(==|!=)\s*'([^']*)'\s*(?:\}\})?""")


def environments(tree: Tree, path: str) -> Iterator[Made]:
    """The jobs of a file, with the files of the repository that they install from."""
    for document in yamls.load(tree, path):
        jobs = document.get("jobs")
        outer = list(environment(tree, path, document.get("env")))
        known = {f"env.{s.name}": s.value for s in outer} | _inputs(document)
        for name, job in jobs.items() if jobs else ():
            if isinstance(job.value, dict) and job.get("steps"):
                yield from _job_environments(tree, path, name, job, outer, known)


def _inputs(document: Node) -> Values:
    """The defaults of a workflow's inputs."""
    found: Values = {}
    triggers = document.get("on") or document.get("true")
    for _, trigger in triggers.items() if triggers else []:
        inputs = trigger.get("inputs")
        for name, one in inputs.items() if inputs else []:
            default = one.get("default")
            if default is not None and default.text():
                found[f"inputs.{name}"] = found[f"github.event.inputs.{name}"] = default.text()
    return found


def _job_environments(tree: Tree, path: str, name: str, job: Node, outer: list[Setting], known: Values) -> Iterator[Made]:
    """One environment for each combination of the matrix; those that differ in nothing that is read are one."""
    made: dict[object, tuple[Environment, list[Used]]] = {}
    builds: dict[Build, Environment] = {}
    for values in _matrix(job):
        whole = {**known, **{f"matrix.{k}": v for k, v in values.items()}}
        variables = [*outer, *environment(tree, path, job.get("env"))]
        whole |= {f"env.{s.name}": _filled(s.value, whole) for s in variables}
        one, used, images = _job(tree, path, name, job, variables, whole, values)
        for build in images:
            builds.setdefault(build, one)
        made.setdefault((one.steps, one.os, one.image, one.labels, one.variables, tuple(used)), (one, used))
    if len(made) == 1:
        one, used = next(iter(made.values()))
        yield _named(one, f"{path} job {name}"), used
    else:
        yield from made.values()
    for build, one in [*builds.items()][:MAX_IMAGES]:
        yield from built.images(tree, one, [build])


def _named(one: Environment, name: str) -> Environment:
    return msgspec.structs.replace(one, name=name)


def _job(
    tree: Tree, path: str, name: str, job: Node, variables: list[Setting], known: Values, values: Values
) -> tuple[Environment, list[Used], list[Build]]:
    """A job's commands in the order of its steps, and the images that it builds; the shell starts at the repository's root."""
    filled = [Setting(s.name, _filled(s.value, known), s.place) for s in variables]
    found = shell.new(filled)
    names = {s.name: s.value for s in filled}
    steps = job.get("steps")
    for step in steps.list() if steps else []:
        condition = step.get("if")
        if condition is not None and _false(_filled(condition.text(), known)):
            continue
        found.variables.extend(environment(tree, path, step.get("env")))
        folder = step.get("working-directory")
        at = shell.checkout(tree, _filled(folder.text(), known).strip("./") if folder else "", names)
        _commands(tree, path, step.get("run"), at, found, known)
        found.builds.extend(_image(tree, step, known))
    container = job.get("container")
    image = _filled(container.text() or _text(container, "image"), known) if container else ""
    runner = _runner(job.get("runs-on"), known)
    made = Environment(
        f"{path} job {name}" + (f" ({', '.join(values.values())})" if values else ""),
        yamls.place(tree, path, job.line),
        steps=tuple(found.steps),
        variables=tuple(found.variables),
        containers=tuple(found.containers),
        image=Setting("container", "" if "$" in image else image, yamls.place(tree, path, container.line)) if container else None,
        python=_python(tree, path, job, known) or one_of(found.pythons),
        os=_os(runner),
        sort="job",
        labels=(name, *runner, *values.values()),
        unresolved=tuple(found.problems),
        unsure=tuple(found.unsure),
    )
    return made, found.used, found.builds


_BUILDERS = ("docker/build-push-action", "redhat-actions/buildah-build")


def _image(tree: Tree, step: Node, known: Values) -> Iterator[Build]:
    """The image that a step builds by an action, with the arguments that it gives."""
    given = step.get("with")
    if given is None or not _text(step, "uses").startswith(_BUILDERS):
        return
    context = joined("", _filled(_text(given, "context") or ".", known))
    folder = "" if context in (None, ".") else str(context)
    named = _filled(_text(given, "file"), known)
    file = (joined("", named) or "") if named else shell.default_dockerfile(tree, folder)
    rows = (row.strip().partition("=") for row in _filled(_text(given, "build-args"), known).splitlines())
    arguments = tuple((name, value) for name, equals, value in rows if equals and "$" not in value)
    if context is not None and "${" not in file and tree.is_file(file):
        yield Build(file, folder, arguments, _filled(_text(given, "target"), known), _filled(_text(given, "tags"), known))


def _matrix(job: Node) -> list[Values]:
    """The combinations of a job's matrix, after exclude and include; one empty one where there is none."""
    strategy = job.get("strategy")
    matrix = strategy.get("matrix") if strategy else None
    if matrix is None or not isinstance(matrix.value, dict):
        return [{}]
    axes = [
        [_flat(name, item) for item in node.list()]
        for name, node in matrix.items()
        if name not in ("include", "exclude") and node.list()
    ]
    found = [
        {k: v for part in parts for k, v in part.items()}
        for parts in itertools.islice(itertools.product(*axes), MAX_COMBINATIONS)
    ] if axes else []  # fmt: skip
    exclude, include = matrix.get("exclude"), matrix.get("include")
    without = [_plain(item) for item in (exclude.list() if exclude else [])]
    found = [one for one in found if not any(all(one.get(k) == v for k, v in gone.items()) for gone in without)]
    names = {name for name, node in matrix.items() if node.list()}
    for more in (_plain(item) for item in (include.list() if include else [])):
        fits = [one for one in found if all(one.get(k) == v for k, v in more.items() if k.split(".")[0] in names)]
        for one in fits:
            one |= more
        found += [] if fits else [more]
    return found[:MAX_COMBINATIONS] or [{}]


def _flat(name: str, item: Node) -> Values:
    """One value of an axis: a text, or a mapping whose members are asked for by their dotted names."""
    if isinstance(item.value, dict):
        return {f"{name}.{key}": node.text() for key, node in yamls.scalars(item)}
    return {name: item.text()}


def _plain(item: Node) -> Values:
    return {key: node.text() for key, node in yamls.scalars(item)}


def _filled(text: str, known: Values) -> str:
    """Expressions by their values; one whose value is not known is a single word."""

    def value(m: re.Match[str]) -> str:
        for part in m[1].split("||"):
            if (name := part.strip()) in known:
                return known[name]
            if re.fullmatch(r"'[^']*'", name):
                return name[1:-1]
        return "${" + re.sub(r"\W+", "_", m[1]).strip("_")[:60] + "}"

    return _EXPRESSION.sub(value, text)


def _false(condition: str) -> bool:
    """True if a step's condition is a comparison of known texts that does not hold."""
    found = _COMPARED.fullmatch(condition.strip())
    if found is None or ("." in found[1] and re.fullmatch(r"[a-z]+\.[\w.-]+", found[1])):
        return False
    return (found[1] == found[3]) is (found[2] == "!=")


def _runner(node: Node | None, known: Values) -> tuple[str, ...]:
    """The labels of the machine that a job asks for."""
    if node is None:
        return ()
    found = [item.text() for item in node.list()] or [one.text() for _, one in node.items()] or [node.text()]
    return tuple(_filled(text, known) for text in found if text)


def _commands(tree: Tree, path: str, node: Node | None, context: shell.Context, found: shell.Script, known: Values) -> None:
    """A `run:` text."""
    if node is not None and node.text():
        script.read(_filled(node.text(), known), yamls.place_of_text(tree, path, node), context, found)


def _python(tree: Tree, path: str, job: Node, known: Values) -> Setting | None:
    """The Python that setup-python or setup-uv is told to give, when it is one version."""
    for key, node in yamls.scalars(job):
        value = _filled(node.text(), known)
        if key.endswith("python-version") and not key.startswith("strategy") and re.fullmatch(r"3\.\d+(\.\d+)?", value):
            return Setting("python", value, yamls.place(tree, path, node.line))
    return None


def _os(labels: tuple[str, ...]) -> str:
    said = " ".join(labels).lower()
    return (
        "windows" if "windows" in said else "macos" if "macos" in said else "linux" if "ubuntu" in said or "linux" in said else ""
    )


def _text(node: Node, key: str) -> str:
    found = node.get(key)
    return found.text() if found else ""
