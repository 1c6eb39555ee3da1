"""Containers that a command starts, and images that it builds."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Container, Place, Setting
from rocm_doctor.lint.readers import shell, uses
from rocm_doctor.lint.readers.files import Tree, folder_of, joined

PROGRAMS = regex(r"docker|podman|nerdctl|buildah|\$\{?\w*(?:CONTAINER|DOCKER|PODMAN|ENGINE|RUNTIME)\w*\}?", re.I)
"""What starts a container, by its name or by a variable for it."""
_OF_GRAPHICS = regex(r"vulkan|vaapi|ffmpeg", re.I)
_GPU_WORDS = regex(r"rocm|amdgpu|gfx\d|strix", re.I)
# A command that uses the GPU, a script that may, or none: what else is run in a container (chown, ls, a build) needs no device.
_TRAINS = regex(r"^$|python|torchrun|accelerate|deepspeed|train|serve|vllm|llama|rocminfo|\.sh|^(?:/bin/)?(?:ba|z)?sh$|sleep|^\$")
# Options of `docker run` that take no value; all others take the next word where they have no `=`.
_FLAGS = frozenset((
    "--rm", "--privileged", "-d", "--detach", "-t", "--tty", "-i", "--interactive", "-P", "--publish-all", "--init", "--read-only",
    "--no-healthcheck", "--oom-kill-disable", "-q", "--quiet", "--sig-proxy",
))  # fmt: skip


class _Run(NamedTuple):
    """The words of a `docker run`: its options up to the image, the image, and what is run in it."""

    options: list[tuple[str, str]]
    image: str
    words: tuple[str, ...]

    @property
    def command(self) -> str:
        """What is run in it, as one text."""
        return " ".join(self.words)


def _run(argv: list[str]) -> _Run:
    """The options of a `docker run` up to the image, which is the first word that is not an option."""
    options: list[tuple[str, str]] = []
    rest = iter(argv)
    image = ""
    for word in rest:
        if word.startswith("--") and "=" in word:
            options.append((word.split("=", 1)[0], word.split("=", 1)[1]))
        elif word in _FLAGS or re.fullmatch(r"-[dtiPq]{2,4}", word):
            options.append((word, ""))
        elif word.startswith("-"):
            options.append((word, next(rest, "")))
        elif word.startswith("$"):
            options.append(("?", word))
            if re.search(r"image|img|tag|name", word, re.I):
                break
        else:
            # Behind a variable that is not known, a word that is not an image is the command: the variable was the image.
            image = word if re.search(r"[/:]", word) or not any(o == "?" for o, _ in options) else ""
            break
    return _Run(options, image, tuple(rest))


# Where pip and uv look for packages in a container is not where they look in the script that starts it.
_OF_INSTALLERS = regex(r"(?:PIP|UV)_")


def given(argv: list[str], place: Place) -> Iterator[Setting]:
    """The variables that a `docker run` sets in its container."""
    for option, value in _run(argv).options:
        name, equals, rest = value.partition("=")
        if option in ("-e", "--env") and equals and not _OF_INSTALLERS.match(name):
            yield Setting(name, rest.strip("\"'"), place)


def container(argv: list[str], place: Place) -> Container:
    """The container that a `docker run` starts."""
    run = _run(argv)
    options, image = run.options, run.image
    devices = tuple(v for o, v in options if o == "--device")
    volumes = [v for o, v in options if o in ("-v", "--volume", "--mount")]
    single = dict(options)
    # A variable among the options may bring devices: nothing is claimed to be missing then.
    opaque = any(o == "?" and not re.search(r"image|img|tag|name", v, re.I) for o, v in options) or any(
        v.startswith("$") for v in devices
    )
    by_toolkit = single.get("--runtime") == "amd" or any("amd.com/gpu" in v for v in devices)
    return Container(
        image or "docker run",
        image,
        place,
        devices,
        tuple(v for o, v in options if o == "--group-add"),
        single.get("--shm-size", ""),
        single.get("--ipc", ""),
        "--privileged" in single or opaque or by_toolkit or any(v.startswith("/dev:") for v in volumes),
        "nvidia"
        if single.get("--runtime") == "nvidia" or "nvidia.com" in " ".join(devices)
        else "gpus"
        if "--gpus" in single
        else "",
        _is_handed_a_gpu((*devices, *volumes), run) or needs_gpu(image, run.command),
        mounted=()
        if any(o == "--device-cgroup-rule" for o, _ in options)
        else tuple(v for v in volumes if v.startswith("/dev/")),
    )


def _is_handed_a_gpu(devices: Sequence[str], run: _Run) -> bool:
    """True if a container gets a GPU to compute on: the render nodes alone are for video and Vulkan as well."""
    renders = any(one.startswith("/dev/dri") for one in devices) and not _OF_GRAPHICS.search(f"{run.image} {run.command}")
    return any(one.startswith("/dev/kfd") for one in devices) or (renders and run.command != "" and runs_on_gpu(run.command))


def needs_gpu(image: str, command: str) -> bool:
    """True if an image for AMD is started for something that uses the GPU."""
    return _GPU_WORDS.search(image) is not None and (not image or runs_on_gpu(command))


def runs_on_gpu(command: str) -> bool:
    """True if a command uses the GPU, or may: what else is run in a container (chown, ls, a build) needs no device."""
    return _TRAINS.search(command) is not None and not uses.ASIDE.search(command)


def built(argv: list[str], context: shell.Context) -> Iterator[shell.Build]:
    """The Dockerfile that a `docker build` reads, with its arguments; one outside of the repository is left out."""
    given: dict[str, list[str]] = {}
    words = [
        part for word in argv for part in (word.split("=", 1) if re.match(r"--(?:file|target|tag|build-arg)=", word) else [word])
    ]
    for option, value in itertools.pairwise(words):
        if option in ("-f", "--file", "-t", "--tag", "--target", "--build-arg"):
            given.setdefault(option.lstrip("-")[0] if option != "--target" else "target", []).append(value)
    folder = context.path(words[-1]) if words and not words[-1].startswith("-") else None
    if folder is None:
        return
    folder = "" if folder == "." else folder
    file = context.path(given["f"][-1]) if "f" in given else shell.default_dockerfile(context.tree, folder)
    arguments = tuple((name, value) for name, equals, value in (one.partition("=") for one in given.get("b", ())) if equals)
    if not (file and context.tree.is_file(file)) and "f" in given and words[-1] == "." and not context.moved:
        file, folder = joined("", given["f"][-1]), ""  # called from the root
    if file and context.tree.is_file(file):
        yield shell.Build(file, folder, arguments, given.get("target", [""])[-1], given.get("t", [""])[-1])


# A Dockerfile that a command or a workflow names, whatever it is called.
_NAMED = regex(
    r"\b(?:build|buildx|bud)\b(?:[^;&|\n]|\\\n){0,400}?(?:\s-f|--file)[ =]+[\"']?([\w./${}()-]+)"
    r"|^[ \t-]*(?:file|dockerfile):[ \t]*[\"']?([\w./-]+)[\"']?[ \t]*$",
    re.I | re.M,
)
_MAY_NAME = regex(r"(?:docker|podman|buildah|nerdctl)")
_NAMING = ("workflow", "gitlab", "shell", "make", "readme", "compose")


def named_files(tree: Tree, listed: Sequence[tuple[str, str]]) -> Iterator[str]:
    """The Dockerfiles that are known by a command that builds them only."""
    known = {path for _, path in listed}
    for kind, path in listed:
        text = (tree.text(path, wanted=False) or "") if kind in _NAMING else ""
        if not _MAY_NAME.search(text):
            continue
        for name in (m[1] or m[2] for m in _NAMED.finditer(text)):
            for folder in ("", folder_of(path)):
                file = joined(folder, name)
                if file and file not in known and not file.endswith((".yml", ".yaml", ".toml", ".json")) and tree.is_file(file):
                    known.add(file)
                    yield file


_MAKES = regex(r"\bcmake\b|\bmake\b|bdist_wheel|pip3? wheel|-m build\b")


def with_use(one: Container, argv: list[str], builds: Iterable[shell.Build], context: shell.Context) -> Container:
    """A container with what is known of the use of a GPU by what it runs; one of an image that was built before, and only builds, needs none."""
    made = next((build for build in builds if build.tag and build.tag == one.image), None)
    text = (context.tree.text(made.dockerfile, wanted=False) or "") if made else ""
    run = [line for line in text.splitlines() if line.lstrip().upper().startswith(("CMD", "ENTRYPOINT"))]
    if any(map(_MAKES.search, run)):
        return msgspec.structs.replace(one, gpu=one.gpu and bool(one.devices))
    words = _run(argv).words
    files = uses.Files(context.tree, (*((made.context,) if made else ()), context.folder, ""))
    use = uses.of_start(text, words, files) if words or made else uses.of_image(one.image, context.tree)
    return msgspec.structs.replace(one, gpu=one.gpu and (use != "no" or bool(one.devices)), sure=use == "yes")


def with_program(argv: list[str], handed: str) -> list[str]:
    """The words of a command that starts a container, with the program that a here-document hands to Python."""
    words = argv[:-1] if argv[-1:] == ["-"] else argv  # the grammar may leave the dash out
    python = handed and words and re.fullmatch(r"(?:\S*/)?python[\d.]*", words[-1])
    return [*words, "-c", handed] if python and PROGRAMS.fullmatch(argv[0]) else argv
