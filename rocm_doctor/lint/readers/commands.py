"""What a command installs: pip and uv. A word that is not literal leaves the command unread."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from itertools import pairwise

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.model import (
    Environment,
    Fault,
    Image,
    Index,
    Install,
    Kind,
    Place,
    Reason,
    Requirement,
    Step,
    Tool,
    Unread,
    Variable,
)
from rocm_doctor.lint.readers import pyproject, requirements
from rocm_doctor.lint.readers.shell import Command
from rocm_doctor.lint.tree import Tree

_VALUED = frozenset((
    "-t", "--target", "--prefix", "--root", "-p", "--python", "--platform", "--python-version", "--implementation", "--abi", "--only-binary",
    "--no-binary", "--cache-dir", "--timeout", "--retries", "--trusted-host", "--progress-bar", "--log", "--src", "-d", "--upgrade-strategy",
    "--config-settings", "-C", "--global-option", "--proxy", "--cert", "--index-strategy", "--link-mode", "--exclude-newer", "--resolution",
    "--prerelease", "--group", "--report", "--root-user-action", "--no-build-isolation-package", "--reinstall-package", "--upgrade-package",
))  # fmt: skip
_ROLES = {"-i": "default", "--index-url": "default", "--default-index": "default", "--extra-index-url": "extra", "--index": "extra",
          "-f": "find-links", "--find-links": "find-links"}  # fmt: skip
_READ = ("-r", "--requirement", "-c", "--constraint", "-e", "--editable", "--extra", "--torch-backend")
_RUNNERS = frozenset(("sudo", "time", "nice", "env", "exec", "then", "command", "nohup"))
_PYTHON = regex(r"python(?:\d(?:\.\d+)?)?$")
_PIP = regex(r"pip(?:\d(?:\.\d+)?)?$")
_RUNS_SCRIPT = frozenset((
    "sh", "bash", "zsh", "source", ".", "make", "just", "eval", "pixi", "pipx", "pipenv", "tox", "nox", "ansible-playbook",
))  # fmt: skip
REDIRECT = regex(r"=+\s*\d")
_BUILDERS = frozenset(("make", "cmake", "ninja", "meson", "bazel", "hipcc"))
_LIST_OF = regex(r"ARCH|TARGETS|CMAKE_ARGS")
"""Variables that a command is given for itself to build something."""


class Commands:
    """Reads the commands of one text. `folders`: where a relative path may lie, best first; `foreign`: the commands run in a clone of
    another repository; `clones`: the folders of such clones; `workdir`: the folder of an image where they run; `copied`: what a COPY brought
    there, as (path in the image, path in the repository)."""

    def __init__(self, tree: Tree, folders: Sequence[str], *, foreign: bool = False) -> None:
        self.tree, self.folders, self.foreign = tree, tuple(dict.fromkeys(folders)), foreign
        self.steps: list[Step] = []
        self.variables: list[Variable] = []
        self.faults: list[Fault] = []
        self.unread: list[Unread] = []
        self.files: list[str] = []
        self.has_torch_elsewhere = False
        self.builds = False
        self.clones: set[str] = set()
        self.workdir = "/"
        self.copied: list[tuple[str, str]] = []

    def environment(
        self, kind: Kind, place: Place, label: str = "", *, image: Image | None = None, steps: Sequence[Step] = (),
        variables: Sequence[Variable] | None = None, unread: Sequence[Unread] = (), text: str = "",
    ) -> Environment:  # fmt: skip
        """The environment of what was read. `steps` come before the ones that were read; `variables` take the place of those that the
        commands set; `text`: all of the file, of which a comment may say that torch comes from elsewhere."""
        return Environment(
            kind, place, label, image=image, steps=(*steps, *self.steps), variables=tuple(self.variables if variables is None else variables),
            unread=(*unread, *self.unread), files=(place.file, *self.files), faults=tuple(self.faults), builds=self.builds,
            has_torch_elsewhere=self.has_torch_elsewhere or requirements.ELSEWHERE.search(text) is not None,
        )  # fmt: skip

    def take(self, commands: Iterator[Command | Unread]) -> None:
        """Add what the commands install and set."""
        for one in commands:
            if isinstance(one, Unread):
                self._skip(one)
            else:
                self._take(one)

    def _skip(self, one: Unread) -> None:
        self.unread.append(one)
        if one.installs:
            self.steps.append(one)

    def _take(self, one: Command) -> None:
        self.builds = self.builds or bool(one.words and any(_LIST_OF.search(name) for name, _ in one.assignments))
        for name, value in one.assignments:
            if value is None:
                self.unread.append(Unread(one.place, Reason.VARIABLE))
            else:
                self.variables.append(Variable(name, value, one.place))
        words = list(one.words)
        while words and (words[0] in _RUNNERS or (words[0] or "").startswith("-") or "=" in (words[0] or "")):
            if words[0] and "=" in words[0] and not words[0].startswith("-"):
                name, _, value = words[0].partition("=")
                self.variables.append(Variable(name, value, one.place))
            words.pop(0)
        program = (words[0] or "").rsplit("/", 1)[-1] if words else ""
        self._settings(words, one.place)
        runs_local = program in _RUNS_SCRIPT and "./" in str(words[1:2])
        self.builds = self.builds or runs_local or program in _BUILDERS or words[1:2] == ["setup.py"]
        if _PYTHON.match(program):
            if words[1:3] == ["-m", "pip"]:
                self._pip(words[3:], one)
            elif len(words) > 1 and (words[1] or "").endswith(".py"):
                self._skip(Unread(one.place, Reason.SCRIPT, True))
        elif _PIP.match(program):
            self._pip(words[1:], one)
        elif program == "uv":
            self._uv(words[1:], one)
        elif program in ("conda", "mamba", "micromamba"):
            if words[1:2] in (["install"], ["create"], ["update"], ["env"]):
                self._skip(Unread(one.place, Reason.SCRIPT, True))
        elif program in ("docker", "podman") and "run" in words[1:3]:
            self._container(words, one.place)
        elif program in ("poetry", "pdm"):
            if words[1:2] in (["install"], ["sync"], ["add"]):
                self._skip(Unread(one.place, Reason.SCRIPT, True))
        elif program in ("source", ".") and len(words) > 1 and (words[1] or "").rsplit("/", 1)[-1] == "activate":
            if not any(folder in (words[1] or "") for folder in ("venv", "env")):
                self._skip(Unread(one.place, Reason.SCRIPT, True))
        elif program in _RUNS_SCRIPT or (words and (words[0] or "").startswith("./")) or program.endswith(".sh"):
            self._skip(Unread(one.place, Reason.SCRIPT, True))

    def _container(self, words: Sequence[str | None], place: Place) -> None:
        """The variables that `docker run -e NAME=VALUE` sets."""
        for before, word in pairwise(words):
            if before in ("-e", "--env") and word and "=" in word:
                name, _, value = word.partition("=")
                self.variables.append(Variable(name, value, place))

    def _settings(self, words: Sequence[str | None], place: Place) -> None:
        """Lists of GPUs that a command names in an option: `-DGPU_TARGETS=gfx942`, `--offload-arch=gfx942`."""
        for word in words:
            if found := _OPTION_LIST.match(word or ""):
                self.variables.append(Variable(found[1], found[2], place))

    def _pip(self, words: Sequence[str | None], one: Command) -> None:
        if words[:1] == ["uninstall"] and "torch" in words:
            self._skip(Unread(one.place, Reason.SCRIPT, True))
        elif words and words[0] in ("install", "wheel"):
            self._install("pip", words[1:], one)

    def _uv(self, words: Sequence[str | None], one: Command) -> None:
        words = [w for w in words if w not in ("-q", "--quiet", "-v", "--verbose")]
        if words[:2] == ["pip", "install"]:
            self._install("uv", words[2:], one)
        elif words[:1] == ["add"]:
            self._install("uv", words[1:], one)
        elif words[:1] in (["run"], ["sync"]) or words[:2] == ["pip", "sync"]:
            self._skip(Unread(one.place, Reason.SCRIPT, True))

    def _install(self, tool: Tool, words: Sequence[str | None], one: Command) -> None:
        place = one.place
        asked: list[Requirement] = []
        indexes: list[Index] = []
        flags: set[str] = set()
        for written in one.redirects:
            if REDIRECT.match(written):
                self.faults.append(Fault(place, "redirect", f"the shell takes `>{written}` for a file, not for a version",
                                         "Without quotes the shell writes the output of the command to a file of that name, and pip takes any version."))  # fmt: skip
        waiting = ""
        for word in words:
            if word is None:
                if waiting in ("-r", "--requirement", "-c", "--constraint") or not waiting or waiting in _ROLES:
                    self._skip(Unread(place, Reason.VARIABLE, True))
                    return
                waiting = ""
                continue
            if waiting:
                option, value, waiting = waiting, word, ""
            elif word.startswith("-") and word not in ("-", "--"):
                option, _, value = word.partition("=")
                if not (option in _VALUED or option in _ROLES or option in _READ):
                    flags.add(option)
                    continue
                if not value and "=" not in word:
                    waiting = option
                    continue
            else:
                option, value = "", word
            if option in _ROLES:
                indexes += [Index(url, _ROLES[option], place) for url in value.split()]  # type: ignore[arg-type]
            elif option == "--torch-backend":
                if value.startswith("rocm"):
                    indexes.append(Index(f"https://download.pytorch.org/whl/{value}", "default", place, pyproject.TORCH))
                else:
                    self._skip(Unread(place, Reason.EXPRESSION, True))
            elif option in ("-r", "--requirement"):
                self._add_file(value, one, asked, indexes)
            elif option in ("-t", "--target", "--prefix", "--root"):
                flags.add("--target")
            elif option in ("", "-e", "--editable"):
                self._add_word(value, one, asked)
        step = Install(
            tool, place, tuple(asked), tuple(indexes), upgrade=bool(flags & {"-U", "--upgrade", "--force-reinstall"}),
            ignores_installed=bool(flags & {"--target", "--ignore-installed", "-I"}), without_dependencies="--no-deps" in flags,
        )  # fmt: skip
        if asked or indexes:
            self.steps.append(step)

    def _add_word(self, word: str, one: Command, asked: list[Requirement]) -> None:
        base, _, extras = word.partition("[")
        if base in (".", "./") or (base.startswith(("./", "../")) and not base.endswith(".whl")):
            self._add_project(base, extras.rstrip("]"), one, asked)
            return
        found = requirements.requirement(word, one.place)
        if isinstance(found, Requirement):
            asked.append(found)
            self.builds = self.builds or found.url.startswith("git+") or found.url.endswith((".tar.gz", ".zip"))
        else:
            self.builds = self.builds or "/" in word
            self._skip(Unread(one.place, Reason.MISSING if "/" in word else found, True))

    def _add_project(self, folder: str, extras: str, one: Command, asked: list[Requirement]) -> None:
        """The dependencies of a project of the repository that is installed."""
        path = self._find_file(posixpath.join(folder, "pyproject.toml"), one)
        declared = pyproject.dependencies(self.tree, path, [e.strip() for e in extras.split(",") if e.strip()]) if path else None
        if declared is None:
            self.builds = self.builds or self.foreign or one.folder not in ("", None)
            self._skip(Unread(one.place, Reason.SCRIPT, True))
        else:
            asked += declared
            self.files.append(str(path))

    def _add_file(self, value: str, one: Command, asked: list[Requirement], indexes: list[Index]) -> None:
        path = self._find_file(value, one)
        if path is None:
            self._skip(Unread(one.place, Reason.MISSING, True))
            return
        found = requirements.read_file(self.tree, path)
        asked += found.requirements
        indexes += found.indexes
        self.files += found.files
        self.faults += found.faults
        self.has_torch_elsewhere = self.has_torch_elsewhere or found.has_torch_elsewhere
        for one_unread in found.unread:
            self._skip(one_unread)

    def _find_file(self, value: str, one: Command) -> str | None:
        """The file of the repository that a path in a command names; None where that is not certain."""
        if one.folder is None or "://" in value:
            return None
        for to, source in reversed(self.copied):
            wanted = posixpath.normpath(posixpath.join(self.workdir, one.folder, value))
            inside = posixpath.relpath(wanted, to)
            for folder in () if inside.startswith("..") else self.folders:
                path = posixpath.normpath(posixpath.join(folder, source.lstrip("/"), inside))
                if self.tree.has(path):
                    return path
        if self.foreign:
            return None
        if not self.clones.isdisjoint(f"{one.folder}/{posixpath.dirname(value)}".split("/")):
            return None  # of another repository
        inside = one.folder.lstrip("/") if not one.folder.startswith("/") else ""
        name = posixpath.basename(value) if value.startswith("/") else value
        for folder in self.folders:
            path = posixpath.normpath(posixpath.join(folder, inside, name))
            if self.tree.has(path):
                return path
        return None


_OPTION_LIST = regex(
    r"(?:-D)?(\w*(?:ARCHS?|TARGETS?|ARCHITECTURES)|--offload-arch|--amdgpu-target)=(gfx[0-9a-f][:+\w-]*(?:[;,]gfx[0-9a-f][:+\w-]*)*[;,]?)$"
)
