"""Development containers: the image or Dockerfile, and what is installed when the container is made.

One that is for no one in particular is a place to edit the code in, which trains nothing: it is left out.

Reference: https://containers.dev/implementors/json_reference/
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from rocm_doctor.lint.declared import Container, Environment, Place, Purpose, Setting
from rocm_doctor.lint.environments.purpose import with_purpose
from rocm_doctor.lint.readers import dockerfile, script, shell, yamls
from rocm_doctor.lint.readers.docker import container
from rocm_doctor.lint.readers.files import Tree, folder_of, joined
from rocm_doctor.lint.readers.interpolation import environment
from rocm_doctor.lint.readers.shell import Build, Made
from rocm_doctor.lint.readers.yamls import Node

_COMMANDS = ("onCreateCommand", "updateContentCommand", "postCreateCommand")
_VARIABLES = ("containerEnv", "remoteEnv")


def environments(tree: Tree, path: str, built: set[str]) -> Iterator[Made]:
    """The environment of a devcontainer.json; a Dockerfile of its own folder goes to `built`. One of a compose service is read there."""
    text = tree.text(path)
    for root in yamls.parsed(tree, path, yamls.without_comments(text)) if text else ():
        image, build = root.get("image"), _build(path, root)
        if image is None and (build is None or not tree.is_file(build.dockerfile)):
            continue
        at = yamls.place(tree, path, image.line if image else root.line)
        found = _made(tree, path, root)
        one, used = Environment(path, at, sort="service"), list(found.used)
        if image:
            one = msgspec.structs.replace(one, image=Setting("image", image.text(), at))
        elif build and (made := list(dockerfile.environments(tree, build.dockerfile, build))):
            if f"{build.dockerfile}/".startswith(f"{folder_of(path)}/"):
                built.add(build.dockerfile)  # one of another folder is for others as well
            one, first = made[-1]
            used = [*first, *(file._replace(at=file.at + len(one.steps)) for file in used)]
        one = msgspec.structs.replace(
            one, name=path, labels=_labels(path, root), steps=(*one.steps, *found.steps), variables=(*one.variables, *found.variables),
            unresolved=(*one.unresolved, *found.problems), unsure=(*one.unsure, *found.unsure),
            containers=tuple(_container(tree, path, root, image)),
        )  # fmt: skip
        if with_purpose(one, frozenset()).purpose.kind == "neutral":
            one = msgspec.structs.replace(one, purpose=Purpose("optional", "a development container", Place(path, 1)))
        yield one, used


def _labels(path: str, root: Node) -> tuple[str, ...]:
    """Its name, its folder's, and the features that it adds."""
    name, features = root.get("name"), root.get("features")
    folder = folder_of(path).rpartition("/")[2]
    return tuple(filter(None, (name.text() if name else "", folder, *(key for key, _ in (features.items() if features else ())))))


def _build(path: str, root: Node) -> Build | None:
    build = root.get("build") or Node({}, 1)
    file = build.get("dockerfile") or root.get("dockerFile")
    if file is None:
        return None
    context, target = build.get("context") or root.get("context"), build.get("target")
    arguments = build.get("args")
    given = tuple((name, value.text()) for name, value in (arguments.items() if arguments else ()) if "$" not in value.text())
    folder = joined(folder_of(path), context.text() if context else ".")
    name = joined(folder_of(path), file.text())
    if folder is None or name is None:
        return None
    return Build(name, "" if folder == "." else folder, given, target.text() if target else "")


def _made(tree: Tree, path: str, root: Node) -> shell.Script:
    """The variables of the container, and what the commands that make it do in the repository's folder."""
    variables = [one for key in _VARIABLES for one in environment(tree, path, root.get(key)) if "${" not in one.value]
    found, context = shell.new(variables), shell.checkout(tree, "", {})
    for node in filter(None, map(root.get, _COMMANDS)):
        for command in [value for _, value in node.items()] or [node]:
            words = " ".join(word.text() for word in command.list()) or command.text()
            script.read(words, yamls.place(tree, path, command.line), context, found)
    return found


def _container(tree: Tree, path: str, root: Node, image: Node | None) -> Iterator[Container]:
    """The container that its options start. Without any device it may be for editing alone."""
    options = root.get("runArgs")
    if options and options.list():
        words = [word.text() for word in options.list()]
        made = container([*words, image.text() if image else path], yamls.place(tree, path, options.line))
        yield msgspec.structs.replace(made, name=path, gpu=bool(made.devices))
