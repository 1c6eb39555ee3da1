"""Compose files: one environment for each service, after `extends`, with what its build installs.

Reference: https://github.com/compose-spec/compose-spec/blob/main/05-services.md
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import UNKNOWN_LIST, Container, Environment, ReadProblem, Setting
from rocm_doctor.lint.readers import docker, expansion, mounts, overlays, uses, yamls
from rocm_doctor.lint.readers.files import Tree, folder_of, joined
from rocm_doctor.lint.readers.interpolation import environment, from_files, interpolated
from rocm_doctor.lint.readers.shell import Build, default_dockerfile
from rocm_doctor.lint.readers.yamls import Node

_GPU = regex(r"amdgpu|/dev/kfd|HIP_VISIBLE|HSA_|ROCR_|(?:^|[\s/])rocm/")
_LISTS = ("devices", "group_add", "environment", "env_file", "volumes", "security_opt", "cap_add", "profiles")
_MAX_EXTENDS = 10


def environments(tree: Tree, path: str, files: Sequence[str] = ()) -> Iterator[tuple[Environment, Build | None, bool]]:
    """One environment for each service, what it builds, and whether it needs no GPU by itself: it runs something else, another service
    of the file extends it, or one of `files` is merged over it and hands it the GPU.
    """
    if twice := yamls.repeated(tree, path):
        tree.problems.append(ReadProblem(twice, "Compose refuses a file in which one mapping has a key twice"))
    over = _handed_over(tree, path, files)
    elsewhere = {name for one in files if one != path and folder_of(one) == folder_of(path) for name in _outline(tree, one)}
    for document in yamls.load(tree, path):
        services = document.get("services")
        extended = [s.get("extends") for _, s in (services.items() if services else []) if isinstance(s.value, dict)]
        templates = {one.text() or _text(one, "service") for one in extended if one is not None and not _text(one, "file")}
        handed = set(_handed(tree, path, files, over))
        for name, service in services.items() if services else []:
            if isinstance(service.value, dict) and not _is_off(service):
                problems: list[ReadProblem] = []
                whole = _extended(tree, path, service, services, problems, 0)
                if document.get("include"):
                    problems.append(ReadProblem(yamls.place(tree, path, service.line), "other compose files are included"))
                made = _service(tree, path, name, whole, tuple(problems))
                made = _with_others(tree, path, made, whole, services)
                build = _build(tree, path, whole)
                made = _whether_built(tree, made, build, whole, name in elsewhere)
                made = _with_mounts(tree, path, made, build, whole)
                use = _use(tree, path, whole, build)
                beside = use != "yes" and bool(_command(whole)) and _source(tree, path, whole) in handed
                needs = use != "no" and not beside and docker.runs_on_gpu(_command(whole))
                aside = name in over or not (whole.get("devices") or needs)
                one = made.containers[0]
                kept = None if one.nvidia else overlays.kept(tree, path, name, service, files)
                needed = None if one.nvidia else overlays.needed(tree, path, name, files)
                one = msgspec.structs.replace(
                    one, gpu=one.gpu and not aside, sure=use == "yes", idle=use == "no", kept=kept, needed=needed
                )
                # What a template lacks, the services that extend it may add.
                yield msgspec.structs.replace(made, containers=(one,)), build, aside or name in templates


def _handed(tree: Tree, path: str, files: Sequence[str], over: Collection[str]) -> Iterator[tuple[str, ...]]:
    """What the services are started from that get /dev/kfd, in this file or one beside it, or in one that is merged over this one."""
    for file in {path, *(one for one in files if folder_of(one) == folder_of(path))}:
        for name, service in overlays.services(tree, file).items():
            if (file == path and name in over) or any("/dev/kfd" in d for d in _words(service.get("devices"))):
                yield _source(tree, file, service)


def _source(tree: Tree, path: str, service: Node) -> tuple[str, ...]:
    """What a service is started from: its image, and the folder and file that it is built from."""
    build = _build(tree, path, service)
    return (
        (build.context, build.dockerfile) if build else (_text(service, "image") or f"service at line {service.line} of {path}",)
    )


def _use(tree: Tree, path: str, service: Node, build: Build | None) -> uses.Use:
    """Whether what a service runs uses a GPU."""
    words = _argv(service.get("command"))
    entry = _argv(service.get("entrypoint"))
    mounted = (joined(folder_of(path), one.partition(":")[0]) for one in _words(service.get("volumes")))
    files = uses.Files(tree, (*((build.context,) if build else ()), folder_of(path), "", *filter(None, mounted)))
    if build is not None and tree.is_file(build.dockerfile) and not entry:
        return uses.of_start(tree.text(build.dockerfile, wanted=False) or "", words, files)
    return uses.of((*entry, *words), files) if entry or words else uses.of_image(_text(service, "image"), tree)


def _argv(node: Node | None) -> list[str]:
    return [] if node is None else uses.split(node.text()) if node.text() else _words(node)


def _with_others(tree: Tree, path: str, made: Environment, service: Node, services: Node | None) -> Environment:
    """A service of a profile that a text has its readers start, with the one for NVIDIA that has none and starts with every profile."""
    if not service.get("profiles") or services is None:
        return made
    names = "|".join(re.escape(one.text()) for one in _items(service.get("profiles")) if one.text())
    if not names or tree.mention(re.compile(rf"--profile[ =](?:{names})\b".encode()), (b"--profile",)) is None:
        return made
    always = next(
        (one for _, one in services.items() if isinstance(one.value, dict) and _nvidia(one) and not one.get("profiles")), None
    )
    if always is None:
        return made
    beside = yamls.place(tree, path, always.line)
    return msgspec.structs.replace(made, containers=tuple(msgspec.structs.replace(c, beside=beside) for c in made.containers))


def _items(node: Node | None) -> list[Node]:
    return (node.list() or [node]) if node else []


def _handed_over(tree: Tree, path: str, files: Sequence[str]) -> set[str]:
    """The services that get /dev/kfd in another file, which is merged over this one or includes it; those of a file that only adds to
    services of another one are judged with that.
    """
    own, folder, stem = _outline(tree, path), folder_of(path), path.rpartition(".")[0]
    beside = [one for one in files if one != path and folder_of(one) == folder]
    given = {
        name
        for one in beside
        for name, (whole, kfd) in _outline(tree, one).items()
        if kfd and (one.startswith(f"{stem}.") or not whole)
    }
    return (given & own.keys()) | {name for name, (whole, _) in own.items() if not whole}


def _outline(tree: Tree, path: str) -> dict[str, tuple[bool, bool]]:
    """By service, whether it says what it runs (one that does not only adds to that of another file), and whether it gets /dev/kfd."""
    if (key := f"services of {path}") not in tree.parsed:
        services = [document.get("services") for document in yamls.load(tree, path)]
        tree.parsed[key] = {
            name: (any(one.get(k) for k in _RUNS), any("/dev/kfd" in d for d in _words(one.get("devices"))))
            for some in services
            for name, one in (some.items() if some else ())
            if isinstance(one.value, dict)
        }
    found: dict[str, tuple[bool, bool]] = tree.parsed[key]
    return found


_RUNS = ("image", "build", "extends", "services")


def _extended(tree: Tree, path: str, service: Node, services: Node | None, problems: list[ReadProblem], depth: int) -> Node:
    """The service with what it takes over from the one that it extends; its own keys win, lists are joined."""
    extends = service.get("extends")
    if extends is None or depth > _MAX_EXTENDS:
        return service
    file, name = _text(extends, "file"), extends.text() or _text(extends, "service")
    where, among = path, services
    if file:
        where = joined(folder_of(path), file) or ""
        documents = yamls.load(tree, where) if where and tree.exists(where) else []
        among = documents[0].get("services") if documents else None
    base = among.get(name) if among else None
    if base is None:
        problems.append(
            ReadProblem(yamls.place(tree, path, extends.line), f"the service {name} that is extended is not in the repository")
        )
        return service
    below = _extended(tree, where, base, among, problems, depth + 1)
    return Node(_merged(below, service), service.line)


def _merged(below: Node, above: Node) -> dict[str, Node]:
    merged = dict(below.items())
    for key, node in above.items():
        old = merged.get(key)
        if key in _LISTS and old is not None and old.list() and node.list():
            merged[key] = Node([*old.list(), *node.list()], node.line)
        elif old is not None and isinstance(old.value, dict) and isinstance(node.value, dict):
            merged[key] = Node({**old.value, **node.value}, node.line)
        else:
            merged[key] = node
    return merged


def _service(tree: Tree, path: str, name: str, service: Node, unresolved: tuple[ReadProblem, ...]) -> Environment:
    at = yamls.place(tree, path, service.line)
    own = tuple(interpolated(tree, path, service.get("environment")))
    by_files = from_files(tree, path, service.get("env_file"))
    variables = (*own, *(s for s in by_files if s.name not in {o.name for o in own}))
    image_node = service.get("image")
    image = expansion.filled(image_node.text(), {}) if image_node else ""
    said = " ".join(node.text() for _, node in yamls.scalars(service)) + " ".join(s.name for s in variables)
    container = Container(
        name,
        image,
        at,
        devices=tuple(_words(service.get("devices"))),
        mounted=tuple(one for one in _words(service.get("volumes")) if one.startswith("/dev/")),
        groups=tuple(_words(service.get("group_add"))),
        shm=_text(service, "shm_size"),
        ipc=_text(service, "ipc"),
        privileged=_text(service, "privileged").lower() in ("true", "yes") or _by_toolkit(service) or _by_other_means(service),
        nvidia=_nvidia(service),
        reserved=_reserved(tree, service),
        gpu=bool(_GPU.search(said)) and "vulkan" not in image.lower(),
        service=True,
    )
    base = Setting("image", "" if "$" in image else image, yamls.place(tree, path, image_node.line)) if image_node else None
    profiles = service.get("profiles")
    labels = (name, *(node.text() for node in (profiles.list() if profiles else [])))
    return Environment(
        f"{path} service {name}", at, image=base, variables=variables, containers=(container,), sort="service", labels=labels,
        unresolved=unresolved, os="wsl" if any(one.startswith("/dev/dxg") for one in _words(service.get("devices"))) else "",
    )  # fmt: skip


def _build(tree: Tree, path: str, service: Node) -> Build | None:
    """The Dockerfile that a service builds; None for an image, and for a context that is not in the repository."""
    build = service.get("build")
    if build is None:
        return None
    context = joined(folder_of(path), build.text() or _text(build, "context") or ".")
    if context is None or "://" in (build.text() or ""):
        return None
    context = "" if context == "." else context
    named = _text(build, "dockerfile")
    dockerfile = joined(context, named) if named else default_dockerfile(tree, context)
    arguments = tuple(
        (s.name, expansion.filled(s.value, {})) for s in environment(tree, path, build.get("args")) if "$" not in s.value
    )
    return Build(dockerfile, context, arguments, _text(build, "target")) if dockerfile else None


def _whether_built(tree: Tree, made: Environment, build: Build | None, service: Node, elsewhere: bool) -> Environment:
    """The service; with a problem where it cannot be built from what is there, here or in another file of its folder: what it would hold,
    and whether anybody starts it, is not known.
    """
    said = service.get("build")
    if build is None or elsewhere or tree.is_file(build.dockerfile) or (said and said.get("dockerfile_inline")):
        return made
    problem = ReadProblem(made.place, f"{build.dockerfile}, which it is built from, {UNKNOWN_LIST}")
    return msgspec.structs.replace(made, unresolved=(*made.unresolved, problem))


def _with_mounts(tree: Tree, path: str, made: Environment, build: Build | None, service: Node) -> Environment:
    """The service; what it starts is not known where a folder is mounted over the program of its image."""
    volumes = _words(service.get("volumes"))
    lost = mounts.hidden(tree, path, made.place, volumes, build.dockerfile, _command(service)) if build and volumes else None
    return msgspec.structs.replace(made, open_ends=(*made.open_ends, lost)) if lost else made


def _drivers(service: Node) -> list[str]:
    """The drivers of the devices that a service reserves."""
    deploy = service.get("deploy")
    return [node.text() for key, node in yamls.scalars(deploy) if key.endswith("driver")] if deploy else []


def _reserved(tree: Tree, service: Node) -> str:
    """The driver of a reserved device that Docker does not have by itself; that of AMD's toolkit where no text of the repository names the toolkit."""
    drivers = _drivers(service)
    toolkit = _text(service, "runtime") == "amd" or "amd" not in drivers or tree.mention(_TOOLKIT, (b"amd-ctk", b"toolkit"))
    return next((one for one in drivers if one in ("rocm", "radeon", "amdgpu") or (one == "amd" and not toolkit)), "")


_TOOLKIT = re.compile(rb"amd-ctk|amd[- ]container[- ](?:runtime[- ])?toolkit|ROCm/container-toolkit", re.I)


def _by_toolkit(service: Node) -> bool:
    """True if AMD's container toolkit hands the GPUs over: by its runtime, or as devices of CDI."""
    devices = _words(service.get("devices"))
    return (
        _text(service, "runtime") == "amd"
        or bool({"amd", "cdi"} & {*_drivers(service)})
        or any("amd.com/gpu" in one for one in devices)
    )


def _by_other_means(service: Node) -> bool:
    """True if all devices are mounted, the control group lets them be opened, or variables name them."""
    return (
        any(one.startswith("/dev:") for one in _words(service.get("volumes")))
        or service.get("device_cgroup_rules") is not None
        or any("$" in one for one in _words(service.get("devices")))
    )


def _command(service: Node) -> str:
    """What a service runs; empty for what its image runs."""
    command = service.get("command") or service.get("entrypoint")
    return "" if command is None else command.text() or " ".join(_words(command))


def _nvidia(service: Node) -> str:
    """What asks for an NVIDIA card: the runtime, or a reserved device of that driver; or for one of any maker (`gpus`)."""
    return "nvidia" if "nvidia" in (*_drivers(service), _text(service, "runtime")) else "gpus" if _text(service, "gpus") else ""


def _is_off(service: Node) -> bool:
    """True for a service of which no container is started."""
    deploy = service.get("deploy")
    return "0" in (_text(service, "scale"), _text(deploy, "replicas") if deploy else "")


def _text(node: Node, key: str) -> str:
    found = node.get(key)
    return found.text() if found else ""


def _words(node: Node | None) -> list[str]:
    return [item.text() or _text(item, "path") or _text(item, "source") for item in node.list()] if node else []
