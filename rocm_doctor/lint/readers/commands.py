"""What commands install, set and build. pip and uv are read; what another installer or a script does is not, nor is a command with a word that
is not literal."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from itertools import pairwise

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.model import (
    Environment,
    Fault,
    Image,
    Install,
    Kind,
    PackageIndex,
    Place,
    Requirement,
    Step,
    Tool,
    Unread,
    UnreadReason,
    Variable,
)
from rocm_doctor.lint.readers import pyproject, requirements
from rocm_doctor.lint.readers.options import ROLES, parse_options
from rocm_doctor.lint.readers.shell import ShellCommand
from rocm_doctor.lint.tree import Tree

_PREFIXES = frozenset(("sudo", "time", "nice", "env", "exec", "then", "command", "nohup"))
"""Programs that run the command behind them."""
_INSTALLERS = {
    **dict.fromkeys(("conda", "mamba", "micromamba"), ("install", "create", "update", "env")),
    **dict.fromkeys(("poetry", "pdm"), ("install", "sync", "add")),
}
"""Installers that are not read, with the subcommands that install."""
_SCRIPTS = frozenset((
    "sh", "bash", "zsh", "source", ".", "make", "just", "eval", "pixi", "pipx", "pipenv", "tox", "nox", "ansible-playbook",
))  # fmt: skip
"""Programs that run a text which may install anything."""
_BUILDERS = frozenset(("make", "cmake", "ninja", "meson", "bazel", "hipcc"))
_PYTHON = regex(r"python(?:\d(?:\.\d+)?)?$")
_PIP = regex(r"pip(?:\d(?:\.\d+)?)?$")
_REDIRECT = regex(r"=+\s*\d")
"""What is left of `torch>=2.4` where the shell took `>` for itself."""
_LIST_OF = regex(r"ARCH|TARGETS|CMAKE_ARGS")
"""Variables that a command is given for itself to build something."""
_OPTION_LIST = regex(
    r"(?:-D)?(\w*(?:ARCHS?|TARGETS?|ARCHITECTURES)|--offload-arch|--amdgpu-target)=(gfx[0-9a-f][:+\w-]*(?:[;,]gfx[0-9a-f][:+\w-]*)*[;,]?)$"
)
"""A list of GPUs in an option: `-DGPU_TARGETS=gfx942`, `--offload-arch=gfx942`."""


class CommandReader:
    """Reads the commands of one text. `folders`: where a relative path may lie, best first; `foreign`: the commands may run in a clone of
    another repository."""

    def __init__(self, tree: Tree, folders: Sequence[str]) -> None:
        self.tree, self.folders, self.foreign = tree, tuple(dict.fromkeys(folders)), False
        self.steps: list[Step] = []
        self.variables: list[Variable] = []
        self.faults: list[Fault] = []
        self.unread: list[Unread] = []
        self.files: list[str] = []
        self.has_torch_elsewhere = False
        self.builds = False

    def environment(
        self, kind: Kind, place: Place, label: str = "", *, image: Image | None = None, text: str = ""
    ) -> Environment:  # fmt: skip
        """The environment of what was read. `text`: all of the file, of which a comment may say that torch comes from elsewhere."""
        return Environment(
            kind, place, label, image=image, steps=tuple(self.steps), variables=tuple(self.variables), unread=tuple(self.unread),
            files=(place.file, *self.files), faults=tuple(self.faults), builds=self.builds,
            has_torch_elsewhere=self.has_torch_elsewhere or requirements.ELSEWHERE.search(text) is not None,
        )  # fmt: skip

    def take(self, commands: Iterator[ShellCommand | Unread]) -> None:
        """Add what the commands install and set."""
        for command in commands:
            if isinstance(command, Unread):
                self.skip(command)
            else:
                self._take(command)

    def skip(self, unread: Unread) -> None:
        self.unread.append(unread)
        if unread.installs:
            self.steps.append(unread)

    def _take(self, command: ShellCommand) -> None:
        self.builds = self.builds or bool(command.words and any(_LIST_OF.search(name) for name, _ in command.assignments))
        for name, value in command.assignments:
            if value is None:
                self.unread.append(Unread(command.place, UnreadReason.VARIABLE))
            else:
                self.variables.append(Variable(name, value, command.place))
        words = self._take_prefix(command)
        program = (words[0] or "").rsplit("/", 1)[-1] if words else ""
        options = [match for word in words if (match := _OPTION_LIST.match(word or ""))]
        self.variables += [Variable(option[1], option[2], command.place) for option in options]
        runs_local = program in _SCRIPTS and "./" in str(words[1:2])
        self.builds = self.builds or runs_local or program in _BUILDERS or words[1:2] == ["setup.py"]
        if _PYTHON.match(program) and words[1:3] == ["-m", "pip"]:
            self._take_installer("pip", words[3:], command)
        elif _PIP.match(program) or program == "uv":
            self._take_installer("uv" if program == "uv" else "pip", words[1:], command)
        elif program in ("docker", "podman") and "run" in words[1:3]:
            settings = [word for before, word in pairwise(words) if before in ("-e", "--env") and word and "=" in word]
            self._set_variables(settings, command.place)
        elif _runs_something_unread(program, words):
            self.skip(Unread(command.place, UnreadReason.SCRIPT, True))

    def _take_prefix(self, command: ShellCommand) -> list[str | None]:
        """The words of a command behind `sudo`, `env NAME=VALUE` and the like, whose variables are added."""
        words = list(command.words)
        while words and ((word := words[0] or "") in _PREFIXES or word.startswith("-") or "=" in word):
            if "=" in word and not word.startswith("-"):
                self._set_variables([word], command.place)
            words.pop(0)
        return words

    def _set_variables(self, words: Sequence[str], place: Place) -> None:
        """Add the variables of words such as `NAME=VALUE`."""
        for word in words:
            name, _, value = word.partition("=")
            self.variables.append(Variable(name, value, place))

    def _take_installer(self, tool: Tool, words: Sequence[str | None], command: ShellCommand) -> None:
        """A command of pip or uv: `install`, `uv pip install`, `uv add`; what `uv sync` and `uv run` install is not read."""
        if tool == "uv":
            words = [word for word in words if word not in ("-q", "--quiet", "-v", "--verbose")]
            words = words[1:] if words[:1] == ["pip"] else words
        verb = words[0] if words else ""
        if verb in ("install", "add"):
            self._install(tool, words[1:], command)
        elif verb == "wheel":
            self.builds = True
        elif verb in ("sync", "run") or (verb == "uninstall" and "torch" in words):
            self.skip(Unread(command.place, UnreadReason.SCRIPT, True))

    def _install(self, tool: Tool, words: Sequence[str | None], command: ShellCommand) -> None:
        place = command.place
        requests: list[Requirement] = []
        indexes: list[PackageIndex] = []
        flags: set[str] = set()
        for redirect in command.redirects:
            if _REDIRECT.match(redirect):
                self.faults.append(Fault(place, "redirect", f"the shell takes `>{redirect}` for a file, not for a version",
                                         "Without quotes the shell writes the output of the command to a file of that name, and pip takes any version."))  # fmt: skip
        for option, value in parse_options(words):
            if value is None:
                if option in ("", "--requirement", "--constraint", *ROLES):
                    self.skip(Unread(place, UnreadReason.VARIABLE, True))
                    return
            elif option in ROLES:
                indexes += [PackageIndex(url, ROLES[option], place) for url in value.split()]
            elif option == "--torch-backend" and value.startswith("rocm"):
                indexes.append(PackageIndex(f"https://download.pytorch.org/whl/{value}", "default", place, pyproject.TORCH))
            elif option == "--torch-backend":
                self.skip(Unread(place, UnreadReason.EXPRESSION, True))
            elif option == "--constraint":
                self.skip(Unread(place, UnreadReason.CONSTRAINT, True))
            elif option == "--requirement":
                self._add_file(value, command, requests, indexes)
            elif option in ("", "--editable"):
                self._add_word(value, command, requests)
            else:
                flags.add(option)
        step = Install(
            tool, place, tuple(requests), tuple(indexes), upgrade=bool(flags & {"--upgrade", "--force-reinstall"}),
            ignores_installed=bool(flags & {"--target", "--prefix", "--root", "--ignore-installed"}),
            without_dependencies="--no-deps" in flags,
        )  # fmt: skip
        if requests or indexes:
            self.steps.append(step)

    def _add_word(self, word: str, command: ShellCommand, requests: list[Requirement]) -> None:
        base, _, extras = word.partition("[")
        if base in (".", "./") or (base.startswith(("./", "../")) and not base.endswith(".whl")):
            self._add_project(base, extras.rstrip("]"), command, requests)
            return
        wanted = requirements.requirement(word, command.place)
        if isinstance(wanted, Requirement):
            requests.append(wanted)
            self.builds = self.builds or wanted.url.startswith("git+") or wanted.url.endswith((".tar.gz", ".zip"))
        else:
            self.builds = self.builds or "/" in word
            self.skip(Unread(command.place, UnreadReason.MISSING if "/" in word else wanted, True))

    def _add_project(self, folder: str, extras: str, command: ShellCommand, requests: list[Requirement]) -> None:
        """The dependencies of a project of the repository that is installed."""
        path = self._find_file(posixpath.join(folder, "pyproject.toml"), command)
        declared = pyproject.dependencies(self.tree, path, [e.strip() for e in extras.split(",") if e.strip()]) if path else None
        if declared is None:
            self.builds = self.builds or self.foreign or command.folder not in ("", None)
            self.skip(Unread(command.place, UnreadReason.SCRIPT, True))
        else:
            requests += declared
            self.files.append(str(path))

    def _add_file(self, value: str, command: ShellCommand, requests: list[Requirement], indexes: list[PackageIndex]) -> None:
        path = self._find_file(value, command)
        if path is None:
            self.skip(Unread(command.place, UnreadReason.MISSING, True))
            return
        file = requirements.read_file(self.tree, path)
        requests += file.requirements
        indexes += file.indexes
        self.files += file.files
        self.faults += file.faults
        self.has_torch_elsewhere = self.has_torch_elsewhere or file.has_torch_elsewhere
        for unread in file.unread:
            self.skip(unread)

    def _find_file(self, value: str, command: ShellCommand) -> str | None:
        """The file of the repository that a path in a command names; None where the shell's folder is not known, and in a clone."""
        if command.folder is None or "://" in value or self.foreign:
            return None
        inside = "" if command.folder.startswith("/") else command.folder
        name = posixpath.basename(value) if value.startswith("/") else value
        paths = (posixpath.normpath(posixpath.join(folder, inside, name)) for folder in self.folders)
        return next((path for path in paths if self.tree.has(path)), None)


def _runs_something_unread(program: str, words: Sequence[str | None]) -> bool:
    """True for a command that may install packages by what is not read: another installer, a script, a program of the repository."""
    first = (words[1] or "") if len(words) > 1 else ""
    if program in ("source", ".") and first.rsplit("/", 1)[-1] == "activate":
        return "env" not in first
    is_script = program in _SCRIPTS or program.endswith(".sh") or (words[0] or "").startswith("./") if words else False
    return is_script or first in _INSTALLERS.get(program, ()) or (_PYTHON.match(program) is not None and first.endswith(".py"))
