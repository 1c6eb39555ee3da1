"""Compose files, workflow files and conda environments: YAML that starts containers, runs commands or lists packages."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocm_doctor.lint.declared import Container, Index, Requirement, Setting, Step, Unit
from rocm_doctor.lint.readers import installs, requirements, script, shell, yamls
from rocm_doctor.lint.readers.files import Tree
from rocm_doctor.lint.readers.yamls import Node

_GPU_SERVICE = re.compile(r"rocm|amdgpu|/dev/kfd|HIP_VISIBLE|HSA_|ROCR_|pytorch|torch", re.I)


def compose(tree: Tree, path: str) -> Iterator[Unit]:
    """One unit for each service: https://github.com/compose-spec/compose-spec/blob/main/05-services.md"""
    for document in yamls.load(tree, path):
        services = document.get("services")
        for name, service in services.items() if services else []:
            if isinstance(service.value, dict):
                yield _service(tree, path, name, service)


def _service(tree: Tree, path: str, name: str, service: Node) -> Unit:
    at = yamls.place(tree, path, service.line)
    env = tuple(_environment(tree, path, service.get("environment")))
    image = service.get("image")
    said = " ".join(node.text() for _, node in yamls.scalars(service)) + " ".join(s.name for s in env)
    container = Container(
        name,
        image.text() if image else "",
        at,
        devices=tuple(_words(service.get("devices"))),
        groups=tuple(_words(service.get("group_add"))),
        shm=_text(service, "shm_size"),
        ipc=_text(service, "ipc"),
        privileged=_text(service, "privileged").lower() in ("true", "yes"),
        nvidia=_nvidia(service),
        gpu=bool(_GPU_SERVICE.search(said)),
    )
    base = Setting("image", image.text(), yamls.place(tree, path, image.line)) if image else None
    return Unit(f"{path} service {name}", at, image=base, env=env, containers=(container,))


def _nvidia(service: Node) -> str:
    """What asks for an NVIDIA card: the runtime, or a reserved device of that driver."""
    deploy = service.get("deploy")
    drivers = [node.text() for key, node in yamls.scalars(deploy) if key.endswith("driver")] if deploy else []
    return "nvidia" if "nvidia" in (*drivers, _text(service, "runtime")) else ""


def _text(node: Node, key: str) -> str:
    found = node.get(key)
    return found.text() if found else ""


def _words(node: Node | None) -> list[str]:
    return [item.text() or _text(item, "path") for item in node.list()] if node else []


def _environment(tree: Tree, path: str, node: Node | None) -> Iterator[Setting]:
    """`environment:` as a mapping or as a list of NAME=value."""
    for name, value in node.items() if node else []:
        yield Setting(name, value.text(), yamls.place(tree, path, value.line))
    for item in node.list() if node else []:
        name, equals, text = item.text().partition("=")
        if equals:
            yield Setting(name.strip(), text.strip(), yamls.place(tree, path, item.line))


def workflow(tree: Tree, path: str) -> Iterator[tuple[Unit, list[tuple[str, str]]]]:
    """One unit for each job of a GitHub workflow or a GitLab pipeline, with the files that it installs from."""
    for document in yamls.load(tree, path):
        jobs = document.get("jobs")
        outer = list(_environment(tree, path, document.get("env") or document.get("variables")))
        for name, job in jobs.items() if jobs else document.items():
            if isinstance(job.value, dict) and (job.get("steps") or job.get("script")):
                yield _job(tree, path, name, job, outer)


def _job(tree: Tree, path: str, name: str, job: Node, outer: list[Setting]) -> tuple[Unit, list[tuple[str, str]]]:
    """A job's commands in the order of its steps; the shell starts at the repository's root."""
    env = [*outer, *_environment(tree, path, job.get("env") or job.get("variables"))]
    found = shell.Script([*env], [], [], [])
    context = shell.Context(tree, "", {s.name: s.value for s in env}, {})
    steps = job.get("steps")
    for step in steps.list() if steps else []:
        found.env.extend(_environment(tree, path, step.get("env")))
        _commands(tree, path, step.get("run"), context, found)
    for key in ("before_script", "script"):
        script = job.get(key)
        for line in script.list() or [script] if script else []:
            _commands(tree, path, line, context, found)
    container = job.get("container") or job.get("image")
    image = container.text() or _text(container, "image") if container else ""
    made = Unit(
        f"{path} job {name}",
        yamls.place(tree, path, job.line),
        steps=tuple(found.steps),
        env=tuple(found.env),
        containers=tuple(found.containers),
        image=Setting("container", image, yamls.place(tree, path, container.line)) if container else None,
        python=_python(tree, path, job),
        os=_os(_text(job, "runs-on")),
    )
    return made, found.used


def _commands(tree: Tree, path: str, node: Node | None, context: shell.Context, found: shell.Script) -> None:
    """A `run:` text. A block text starts on the line after its key."""
    if node is None or not node.text():
        return
    at = yamls.place(tree, path, node.line)
    block = re.search(r"[|>][+-]?\d?\s*$", at.quote) is not None
    script.read(node.text(), yamls.place(tree, path, node.line + 1) if block else at, context, found)


def _python(tree: Tree, path: str, job: Node) -> Setting | None:
    """The Python that setup-python or setup-uv is told to give, when it is one version."""
    for key, node in yamls.scalars(job):
        if key.endswith("python-version") and re.fullmatch(r"3\.\d+(\.\d+)?", node.text()):
            return Setting("python", node.text(), yamls.place(tree, path, node.line))
    return None


def _os(runner: str) -> str:
    return "windows" if "windows" in runner else "macos" if "macos" in runner else "linux" if "ubuntu" in runner else ""


def conda(tree: Tree, path: str) -> Unit | None:
    """An environment file: channels, conda packages, and the pip section as a second step."""
    documents = yamls.load(tree, path)
    listed = documents[0].get("dependencies") if documents else None
    if listed is None:
        return None
    channels_node = documents[0].get("channels")
    channels = tuple(
        Index(c.text(), "extra", yamls.place(tree, path, c.line)) for c in (channels_node.list() if channels_node else [])
    )
    needed: list[Requirement] = []
    steps: list[Step] = []
    for item in listed.list():
        at = yamls.place(tree, path, item.line)
        needed += installs.conda_requirement(item.text(), at)
        pip = item.get("pip")
        if pip:
            steps.append(_pip_section(tree, path, pip))
    python = next(
        (Setting("python", r.spec.removeprefix("=="), r.place) for r in needed if r.name == "python" and r.spec.startswith("==")),
        None,
    )
    first = Step("conda", yamls.place(tree, path, listed.line), tuple(needed), (), channels)
    return Unit(path, yamls.place(tree, path, listed.line), steps=(first, *steps), python=python)


def _pip_section(tree: Tree, path: str, pip: Node) -> Step:
    """conda hands this list to pip as a requirements file."""
    found = requirements.RequirementsFile([], [], [], [])
    requirements.read_lines(tree, [(yamls.place(tree, path, item.line), item.text()) for item in pip.list()], found)
    return Step(
        "pip", yamls.place(tree, path, pip.line), tuple(found.requirements), tuple(found.constraints), tuple(found.indexes)
    )
