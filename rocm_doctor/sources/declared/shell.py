"""Shell text, of scripts, Dockerfiles and workflows: exports, and the installs and containers that its commands start.

No shell is emulated: lines are joined and cut at `&&`, `;`, `|`, each command is split into words, plain `$NAME`s that were
set above are filled in, and what stays unknown stays as it is written.
"""

from __future__ import annotations

import re
import shlex
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from rocm_doctor.declared import Container, Index, Place, Requirement, Role, Setting, Step
from rocm_doctor.sources.declared import requirements
from rocm_doctor.sources.declared.files import Tree, joined

_NAME = re.compile(r"\$(?:\{(\w+)(?::-([^}]*))?\}|(\w+))|%(\w+)%")
_SEPARATOR = re.compile(r"(?:&&|\|\||;|\|) ?")
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*")
_ASSIGN = re.compile(r"([A-Za-z_]\w*)=(.*)", re.S)
_INDEX_OPTIONS: dict[str, Role] = {
    "-i": "default", "--index-url": "default", "--default-index": "default", "--extra-index-url": "extra", "--index": "extra",
    "-f": "find-links", "--find-links": "find-links",
}  # fmt: skip
_WITH_VALUE = frozenset((
    "-t", "--target", "--prefix", "--root", "--python", "-p", "--platform", "--python-version", "--cache-dir", "--timeout", "--retries",
    "--no-binary", "--only-binary", "--trusted-host", "--proxy", "--src", "--progress-bar", "--config-settings", "-C", "--group", "--extra",
    "--torch-backend", "--index-strategy", "--prerelease", "--resolution", "--no-build-isolation-package", "--package", "--refresh-package",
))  # fmt: skip
_ENV_INDEX: dict[str, Role] = {
    "PIP_INDEX_URL": "default", "UV_INDEX_URL": "default", "UV_DEFAULT_INDEX": "default", "PIP_EXTRA_INDEX_URL": "extra",
    "UV_EXTRA_INDEX_URL": "extra", "UV_INDEX": "extra", "PIP_FIND_LINKS": "find-links", "UV_FIND_LINKS": "find-links",
}  # fmt: skip
MAX_LINE = 8000
MAX_COMMAND = 100_000
MAX_COMMANDS = 10_000
MAX_VALUE = 500


class Found(NamedTuple):
    """What a shell text sets and does, in order. `used`: files that it installs from, and the tool that reads them."""

    env: list[Setting]
    steps: list[Step]
    containers: list[Container]
    used: list[tuple[str, str]]


class Context(NamedTuple):
    """Where a text is run: its tree, the folder that relative names start from, variables, and folders copied into an image."""

    tree: Tree
    folder: str
    names: dict[str, str]
    copied: dict[str, str]

    def path(self, name: str) -> str | None:
        """A name of a command as a path of the repository: below a folder that was copied in, or beside the script."""
        inside = next((name[len(to) :].lstrip("/") for to in self.copied if name == to or name.startswith(to + "/")), None)
        if inside is not None:
            to = next(to for to in self.copied if name == to or name.startswith(to + "/"))
            return joined(self.copied[to], inside or ".")
        return joined(self.folder, name)


def new() -> Found:
    return Found([], [], [], [])


def commands(file: str, text: str, first: int = 1) -> Iterator[tuple[Place, str]]:
    """Single commands with their places: continued lines joined, comments dropped, cut at the shell's separators."""
    start, parts = 0, []
    for number, raw in enumerate(text.splitlines(), first):
        line = raw[:MAX_LINE].rstrip()
        start = start or number
        if not line.lstrip().startswith(("#", "::", "REM ", "rem ")):
            parts.append(line.removesuffix("\\").removesuffix("`"))
        if line.endswith(("\\", "`")):
            continue
        yield from _cut(Place(file, start), [(number - len(parts) + 1 + n, part) for n, part in enumerate(parts)])
        start, parts = 0, []


def _cut(place: Place, parts: list[tuple[int, str]]) -> Iterator[tuple[Place, str]]:
    """The commands of one logical line, each at the line on which it begins."""
    offsets, numbers, pieces, size = [], [], [], 0
    for number, part in parts:
        text = " ".join(_COMMENT.sub("", part).split())
        if text:
            offsets.append(size)
            numbers.append(number)
            pieces.append(text + " ")
            size += len(text) + 1
    whole = "".join(pieces)[:MAX_COMMAND]
    at = 0
    for end in [m.span() for m in _SEPARATOR.finditer(whole)] + [(len(whole), len(whole))]:
        piece = whole[at : end[0]].strip()
        if piece:
            yield Place(place.file, numbers[bisect_right(offsets, at) - 1], piece[:200]), piece
        at = end[1]


def words(command: str) -> list[str]:
    """The words of a command; of one with open quotes, its parts between blanks."""
    try:
        return shlex.split(command.replace("\\", "\\\\") if re.search(r"[A-Za-z]:\\", command) else command, posix=True)
    except ValueError:
        return command.split()


def filled(text: str, names: dict[str, str]) -> str:
    """`$NAME`, `${NAME:-default}` and `%NAME%` replaced where the name is known or has a default."""

    def value(m: re.Match[str]) -> str:
        name = m[1] or m[3] or m[4]
        return names.get(name, m[2] if m[2] is not None else m[0])

    return _NAME.sub(value, text)[:MAX_LINE]


def read(text: str, place: Place, context: Context, found: Found) -> None:
    """Read a text's commands, in order, into `found`; `place` is that of its first line."""
    for at, command in islice(commands(place.file, text, place.line), MAX_COMMANDS):
        _command(words(filled(command, context.names)), at, context, found)


def _command(argv: list[str], place: Place, context: Context, found: Found) -> None:
    argv = _without_prefixes(argv)
    while argv and (assigned := _ASSIGN.fullmatch(argv[0])):
        _set(assigned[1], assigned[2], place, context, found)
        argv = argv[1:]
    if not argv:
        return
    if argv[0] in ("export", "set", "setx", "declare", "typeset"):
        _exports(argv[1:], place, context, found)
    elif argv[0].lower().startswith("$env:"):
        name, _, value = " ".join(argv)[5:].partition("=")
        _set(name.strip(), value.strip(" \"'"), place, context, found)
    elif argv[0] in ("docker", "podman", "nerdctl") and "run" in argv[1:3]:
        found.containers.append(_container(argv[argv.index("run") + 1 :], place))
    else:
        step = _install(argv, place, context, found)
        found.steps.extend([step] if step else [])


def _without_prefixes(argv: list[str]) -> list[str]:
    while argv and argv[0] in (
        "sudo",
        "-E",
        "exec",
        "time",
        "nice",
        "env",
        "then",
        "do",
        "else",
        "if",
        "RUN",
        "srun",
        "call",
        "@",
    ):
        argv = argv[1:]
    return argv


def _exports(argv: list[str], place: Place, context: Context, found: Found) -> None:
    if len(argv) == 2 and "=" not in argv[0]:
        argv = ["=".join(argv)]
    for word in argv:
        if assigned := _ASSIGN.fullmatch(word):
            _set(assigned[1], assigned[2], place, context, found)


def _set(name: str, value: str, place: Place, context: Context, found: Found) -> None:
    context.names[name] = filled(value, context.names)[:MAX_VALUE]
    found.env.append(Setting(name, context.names[name], place))


def env_indexes(env: Iterable[Setting]) -> list[Index]:
    """The indexes that pip and uv take from the environment."""
    return [
        Index(url, _ENV_INDEX[s.name], s.place) for s in env if s.name in _ENV_INDEX for url in s.value.split() if "://" in url
    ]


def _install(argv: list[str], place: Place, context: Context, found: Found) -> Step | None:
    """The install that a command is: pip, python -m pip, uv pip, uv add, uv sync, poetry install, conda install."""
    text = " ".join(argv)
    if m := re.match(r"(?:\S*/)?(?:pip[\d.]*|python\S*(?: -\w)* -m pip|py(?: -[\d.]+)? -m pip|uv pip) install ", text + " "):
        return _pip(
            "uv" if m[0].startswith("uv") else "pip", words(text[m.end() :]) if m.end() < len(text) else [], place, context, found
        )
    if m := re.match(r"(?:\S*/)?pip[\d.]* config set global\.(index-url|extra-index-url|find-links) (\S+)", text):
        found.env.append(Setting("PIP_" + m[1].upper().replace("-", "_"), m[2], place))
    if re.match(r"uv add\b", text):
        return _pip("uv", argv[2:], place, context, found)
    if m := re.match(r"(uv|poetry|pdm) (?:sync|run|install)\b", text):
        found.used.append((m[1], joined(context.folder, "pyproject.toml") or ""))
    if m := re.match(r"(?:micromamba|mamba|conda) (?:install|create) ", text + " "):
        return _conda(words(text[m.end() :]) if m.end() < len(text) else [], place)
    if m := re.search(r"(?:conda|mamba) env (?:create|update).* (?:-f|--file)[ =](\S+)", text):
        found.used.append(("conda", context.path(m[1]) or ""))
    return None


def _pip(tool: str, argv: list[str], place: Place, context: Context, found: Found) -> Step:
    needed: list[Requirement] = []
    constraints: list[Requirement] = []
    indexes = env_indexes(found.env)
    options: dict[str, str] = {}
    rest = iter([part for word in argv for part in (word.split("=", 1) if word.startswith("--") and "=" in word else [word])])
    for word in rest:
        if word in _INDEX_OPTIONS:
            indexes.append(Index(next(rest, ""), _INDEX_OPTIONS[word], place))
        elif word in ("-r", "--requirement", "-c", "--constraint"):
            included = _file(next(rest, ""), context, found)
            needed += included.requirements if word in ("-r", "--requirement") else []
            constraints += included.constraints + (included.requirements if word in ("-c", "--constraint") else [])
            indexes += included.indexes
        elif word in _WITH_VALUE:
            options[word] = next(rest, "")
        elif word.startswith("-") and word not in ("-e", "--editable"):
            options[word] = "yes"
        elif re.match(r"\.(?:[/\\]|\[|$)|/", word):
            found.used.append((tool, context.path(re.sub(r"\[.*", "", word).rstrip("/") + "/pyproject.toml") or ""))
        else:
            needed += requirements.one(word, place)
    if options.get("--torch-backend"):
        indexes.append(
            Index("torch-backend:" + options["--torch-backend"], "bound", place, ("torch", "torchvision", "torchaudio"))
        )
    return Step(
        "uv" if tool == "uv" else "pip",
        place,
        tuple(needed),
        tuple(constraints),
        tuple(indexes),
        options.get("--index-strategy", ""),
        bool({"-U", "--upgrade", "--force-reinstall"} & options.keys()),
        "--no-deps" in options,
    )


def _file(name: str, context: Context, found: Found) -> requirements.Found:
    """A -r file of a command: beside the script, at the root, or wherever the one file of that name stands."""
    for path in (context.path(name), joined("", name), joined(context.folder, name.rsplit("/", 1)[-1]), name.rsplit("/", 1)[-1]):
        if path and context.tree.text(path, wanted=False) is not None:
            found.used.append(("pip", path))
            return requirements.read(context.tree, path)
    return requirements.Found([], [], [], [])


def _conda(argv: list[str], place: Place) -> Step:
    needed = [r for word in argv if re.match(r"[a-z][\w.-]*(?:[=<>!]|$)", word) for r in conda_requirement(word, place)]
    channels = [argv[n + 1] for n, word in enumerate(argv[:-1]) if word in ("-c", "--channel")]
    return Step(
        "conda", place, tuple(r for r in needed if r.name not in channels), (), tuple(Index(c, "extra", place) for c in channels)
    )


def conda_requirement(text: str, place: Place) -> list[Requirement]:
    """A conda match spec (`pytorch=2.4`, `python>=3.11`, `conda-forge::torch==2.5`) in pip's terms; conda's pytorch is torch."""
    text = text.split("::")[-1].strip()
    found = re.match(r"([A-Za-z][\w.-]*)\s*(.*)", text)
    if not found:
        return []
    name = {"pytorch": "torch", "pytorch-gpu": "torch"}.get(found[1], found[1])
    version = found[2].split("=")[1] if re.match(r"=[^=]", found[2]) else ""
    spec = f"=={version.rstrip('.*')}.*" if version else found[2].replace(" ", "")
    return [Requirement(name, spec, place, url="conda:" + text)] if re.fullmatch(r"[\w.,<>=!~*+ -]*", spec) else []


_GPU_WORDS = re.compile(r"rocm|pytorch|torch|amdgpu|/dev/kfd|/dev/dri|vllm|axolotl|llama", re.I)


def _container(argv: list[str], place: Place) -> Container:
    """A `docker run`."""
    pairs = [
        word.split("=", 1) if word.startswith("--") and "=" in word else [word, *argv[n + 1 : n + 2]]
        for n, word in enumerate(argv)
    ]
    options = [(p[0], p[1] if len(p) > 1 else "") for p in pairs if p[0].startswith("-")]
    devices = tuple(v for o, v in options if o == "--device")
    groups = tuple(v for o, v in options if o == "--group-add")
    single = dict(options)
    image = next((w for w in argv if re.fullmatch(r"[a-z0-9.]+(?::\d+)?/[\w./-]+(?:[:@][\w.:-]+)?|[a-z][\w.-]*:[\w.-]+", w)), "")
    return Container(
        image or "docker run",
        image,
        place,
        devices,
        groups,
        single.get("--shm-size", ""),
        single.get("--ipc", ""),
        "--privileged" in single,
        single.get("--gpus", "") or ("nvidia" if single.get("--runtime") == "nvidia" else ""),
        bool(devices) or bool(_GPU_WORDS.search(image)),
    )
